// tests/support/left_behind.h - what a failed write leaves in a folder.
#ifndef RN_TESTS_LEFT_BEHIND_H
#define RN_TESTS_LEFT_BEHIND_H

// How many files of the folder have `part` in their name: the file itself, and temporary ones beside it.
int n_files_in(const char *folder, const char *part);

#endif
