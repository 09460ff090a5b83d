// app/models/model_folder.h - the files below a folder, as sorted paths.
//
// Ownership: folder_names_free() frees the names.
// Threads:   any.
#ifndef RN_APP_MODEL_FOLDER_H
#define RN_APP_MODEL_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct folder_names {
    char **names; // paths below the folder
    size_t n, n_room;
} folder_names;

// Adds the regular files below the folder (what links lead to counts), or its subfolders if `folders` is true, down to n_levels levels.
// Names that begin with a dot are left out. A folder that cannot be read has none. At most FOLDER_MAX_NAMES names are added.
enum { FOLDER_MAX_NAMES = 100000 };
void folder_names_read(const char *folder, int n_levels, bool folders, folder_names *to);
void folder_names_free(folder_names *list);

#endif
