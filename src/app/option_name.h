// app/option_name.h - names of options: as in JSON, top_p, and as on the command line, top-p.
#ifndef RN_APP_OPTION_NAME_H
#define RN_APP_OPTION_NAME_H

#include <stdbool.h>
#include <stddef.h>

// The name as on the command line, cut to n_out - 1 bytes.
void option_name_dashed(const char *name, char *out, size_t n_out);
// Is it this name, spelled in one way or the other?
bool option_name_is(const char *name, const char *typed);

#endif
