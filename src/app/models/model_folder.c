// app/models/model_folder.c - see model_folder.h.
#include "app/models/model_folder.h"
#include "app/memory.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void add(folder_names *to, char *name) {
    if (to->n == to->n_room) {
        to->n_room = to->n_room ? 2 * to->n_room : 32;
        to->names = app_realloc(to->names, to->n_room * sizeof *to->names);
    }
    to->names[to->n++] = name;
}

static void walk(const char *folder, const char *below, int n_levels, bool folders, folder_names *to) {
    char *const here = below ? app_text("%s/%s", folder, below) : app_copy_text(folder);
    DIR *const dir = opendir(here);
    for (const struct dirent *e; dir && to->n < FOLDER_MAX_NAMES && (e = readdir(dir));) {
        struct stat st;
        if (e->d_name[0] == '.') continue;
        char *const name = below ? app_text("%s/%s", below, e->d_name) : app_copy_text(e->d_name);
        char *const path = app_text("%s/%s", folder, name);
        const bool is_there = stat(path, &st) == 0, is_folder = is_there && S_ISDIR(st.st_mode);
        if (is_folder && n_levels > 1) walk(folder, name, n_levels - 1, folders, to);
        free(path);
        if (is_there && (folders ? is_folder : S_ISREG(st.st_mode)))
            add(to, name);
        else
            free(name);
    }
    if (dir) closedir(dir);
    free(here);
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

void folder_names_read(const char *folder, int n_levels, bool folders, folder_names *to) {
    walk(folder, NULL, n_levels, folders, to);
    if (to->n) qsort(to->names, to->n, sizeof *to->names, by_name);
}

void folder_names_free(folder_names *list) {
    for (size_t i = 0; i < list->n; i++) free(list->names[i]);
    free(list->names);
    *list = (folder_names){0};
}
