// app/file_names.c - see file_names.h.
#include "app/file_names.h"
#include "app/memory.h"
#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

char *file_name_meant(const char *typed) {
    const char *const home = getenv("HOME");
    const bool is_home = typed[0] == '~' && (typed[1] == '/' || !typed[1]);
    return is_home && home && *home ? app_text("%s%s", home, typed + 1) : app_copy_text(typed);
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static struct {
    char **names;
    size_t n;
} found;

static void forget(void) {
    for (size_t i = 0; i < found.n; i++) free(found.names[i]);
    free(found.names);
    found.names = NULL;
    found.n = 0;
}

// Hidden files are offered to those who typed their dot.
static bool is_like(const char *name, const char *begin) {
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return false;
    return strncmp(name, begin, strlen(begin)) == 0 && (name[0] != '.' || begin[0] == '.');
}

const char *const *file_names_like(const char *typed, size_t n) {
    forget();
    size_t n_folder = n; // of what was typed, with its last slash
    while (n_folder && typed[n_folder - 1] != '/') n_folder--;
    char *const as_typed = app_text("%.*s", (int)n_folder, typed), *const folder = file_name_meant(as_typed);
    char *const begin = app_text("%.*s", (int)(n - n_folder), typed + n_folder);
    DIR *const dir = opendir(*folder ? folder : ".");
    for (const struct dirent *e; dir && (e = readdir(dir));) {
        struct stat at;
        if (!is_like(e->d_name, begin)) continue;
        char *const path = app_text("%s%s", folder, e->d_name);
        const bool is_folder = stat(path, &at) == 0 && S_ISDIR(at.st_mode);
        found.names = app_realloc(found.names, (found.n + 2) * sizeof *found.names);
        found.names[found.n++] = app_text("%s%s%s", as_typed, e->d_name, is_folder ? "/" : "");
        free(path);
    }
    if (dir) closedir(dir);
    if (found.n) {
        qsort(found.names, found.n, sizeof *found.names, by_name);
        found.names[found.n] = NULL;
    }
    free(as_typed);
    free(folder);
    free(begin);
    return (const char *const *)found.names;
}
