// base/paths.h - what is at a path: a folder or a file, its size, and whether a file of a folder really lies in it.
//
// Threads: any.
#ifndef RN_BASE_PATHS_H
#define RN_BASE_PATHS_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PATH_BYTES = 4096 }; // room for a path and its terminator: what the system takes at most

bool path_is_folder(const char *path);
uint64_t path_file_bytes(const char *path);           // 0 if it is missing or cannot be examined
bool path_is_same_file(const char *a, const char *b); // do both lead to one file that is there?
const char *path_last_name(const char *path);         // the part after the last slash: "model.gguf"

// The path of the file `name` in a folder, or in its subfolder `sub` (NULL: none); *found: whether it
// exists. Both names are untrusted: they must be plain names, and the file must lie in the folder.
// A symbolic link may lead out of it in one case: from a snapshot in a Hugging Face cache
// (REPO/snapshots/REVISION) to REPO/blobs, where the cache keeps every file's bytes.
// Errors: RN_E_FORMAT (no plain name, a link that leaves the folder, a link to nothing), RN_E_LIMIT (path too long), RN_E_IO.
rn_status path_in_folder(const char *folder, const char *sub, const char *name, char out[PATH_BYTES], bool *found,
                         rn_error *err);

// The path of the one file of a folder whose name begins and ends so; *found: whether there is one. RN_E_ARG: several, which are named; RN_E_LIMIT,
// RN_E_IO. out may be the folder's own text.
rn_status path_find_in_folder(const char *folder, const char *front, const char *end, char out[PATH_BYTES],
                              bool *found, rn_error *err);
// The folder's own name, with links and dots resolved: "SmolLM2-135M" for "." too. "" if it cannot be determined.
void path_folder_name(const char *folder, char out[PATH_BYTES]);

#endif
