// app/file_names.h - names of files as people type them where no shell reads them: `~` and Tab.
//
// Threads: one at a time.
#ifndef RN_APP_FILE_NAMES_H
#define RN_APP_FILE_NAMES_H

#include <stddef.h>

// The path that is meant: a leading `~` or `~/` is $HOME. Freed with free().
char *file_name_meant(const char *typed);
// Names that begin as typed[0..n), sorted, those of folders with a slash behind them; terminated by NULL and valid until the next call.
const char *const *file_names_like(const char *typed, size_t n);

#endif
