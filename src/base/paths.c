// base/paths.c - see paths.h.
#include "base/paths.h"
#include "base/file_sys.h"
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

_Static_assert(PATH_BYTES == PATH_MAX, "realpath() writes PATH_MAX bytes");

bool path_is_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

uint64_t path_file_bytes(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
}

bool path_is_same_file(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

const char *path_last_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_plain_name(const char *name) {
    return *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

// Does `path` begin with the folder `root`, whose length is n_root? What follows its slash; NULL: no.
static const char *below(const char *path, const char *root, size_t n_root) {
    return strncmp(path, root, n_root) == 0 && path[n_root] == '/' ? path + n_root + 1 : NULL;
}

// root: REPO/snapshots/REVISION, file: REPO/blobs/NAME.
static bool is_cache_blob(const char *file, const char *root) {
    static const char snapshots[] = "/snapshots", blobs[] = "/blobs/";
    const size_t n_root = (size_t)(path_last_name(root) - root);
    const size_t n_snapshots = sizeof snapshots - 1, n_blobs = sizeof blobs - 1;
    if (n_root < n_snapshots + 1 || memcmp(root + n_root - 1 - n_snapshots, snapshots, n_snapshots) != 0)
        return false;
    const size_t n_repo = n_root - 1 - n_snapshots;
    return strncmp(file, root, n_repo) == 0 && strncmp(file + n_repo, blobs, n_blobs) == 0 &&
           !strchr(file + n_repo + n_blobs, '/');
}

rn_status path_in_folder(const char *folder, const char *sub, const char *name, char out[PATH_BYTES], bool *found,
                         rn_error *err) {
    char root[PATH_BYTES], real[PATH_BYTES];
    struct stat st;
    *found = false;
    if (sub && !is_plain_name(sub)) return fail(err, RN_E_FORMAT, "\"%.100s\" is not a plain folder name", sub);
    if (!is_plain_name(name)) return fail(err, RN_E_FORMAT, "\"%.100s\" is not a plain file name", name);
    const int n = snprintf(out, PATH_BYTES, "%s/%s%s%s", folder, sub ? sub : "", sub ? "/" : "", name);
    if (n < 0 || n >= PATH_BYTES)
        return fail(err, RN_E_LIMIT, "%.100s: its path has %d bytes, limit %d", name, n, PATH_BYTES - 1);
    if (!realpath(folder, root)) return file_sys_fail(folder, "cannot be examined", errno, err);
    if (!realpath(out, real)) {
        if (errno != ENOENT) return file_sys_fail(out, "cannot be examined", errno, err);
        if (lstat(out, &st) == 0) return fail(err, RN_E_FORMAT, "%.100s: is a symbolic link to a missing file", name);
        return RN_OK;
    }
    const size_t n_root = strcmp(root, "/") == 0 ? 0 : strlen(root);
    if (!below(real, root, n_root) && !is_cache_blob(real, root))
        return fail(err, RN_E_FORMAT, "%.100s: is a symbolic link that leaves the folder", name);
    *found = true;
    return RN_OK;
}

void path_folder_name(const char *folder, char out[PATH_BYTES]) {
    char real[PATH_BYTES];
    snprintf(out, PATH_BYTES, "%s", realpath(folder, real) ? path_last_name(real) : "");
}

static bool begins_and_ends(const char *name, const char *front, const char *end) {
    const size_t n = strlen(name), n_front = strlen(front), n_end = strlen(end);
    return n >= n_front + n_end && memcmp(name, front, n_front) == 0 && memcmp(name + n - n_end, end, n_end) == 0;
}

rn_status path_find_in_folder(const char *folder, const char *front, const char *end, char out[PATH_BYTES],
                              bool *found, rn_error *err) {
    char one[NAME_MAX + 1] = "", path[PATH_BYTES];
    DIR *const list = opendir(folder);
    *found = false;
    if (!list) return fail(err, RN_E_IO, "%s: %s", folder, strerror(errno));
    rn_status st = RN_OK;
    for (const struct dirent *e; st == RN_OK && (e = readdir(list)) != NULL;) {
        if (!begins_and_ends(e->d_name, front, end)) continue;
        if (*found)
            st = fail(err, RN_E_ARG, "%s: has several files %s*%s: %s and %s", folder, front, end, one, e->d_name);
        snprintf(one, sizeof one, "%s", e->d_name);
        *found = true;
    }
    closedir(list);
    const size_t n = strlen(folder);
    const char *const slash = n && folder[n - 1] == '/' ? "" : "/";
    if (st == RN_OK && (size_t)snprintf(path, sizeof path, "%s%s%s", folder, slash, one) >= sizeof path)
        st = fail(err, RN_E_LIMIT, "%s: the path is longer than %d bytes", folder, PATH_BYTES - 1);
    if (st == RN_OK && *found) memcpy(out, path, sizeof path);
    return st;
}
