// tests/support/left_behind.c - see left_behind.h.
#include "tests/support/left_behind.h"
#include <dirent.h>
#include <string.h>

int n_files_in(const char *folder, const char *part) {
    int n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) n += strstr(e->d_name, part) != NULL;
    if (d) closedir(d);
    return n;
}
