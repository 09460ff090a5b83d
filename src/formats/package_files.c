// formats/package_files.c - opens and closes the files of a package and names them in errors; see
// package_build.h.
#include "base/paths.h"
#include "formats/package_build.h"
#include <string.h>

enum { SHOWN_PATH_BYTES = 200 };

const char *package_shown_path(const char *path) {
    const size_t n = strlen(path);
    if (n <= SHOWN_PATH_BYTES) return path;
    const char *s = path + n - SHOWN_PATH_BYTES;
    while (((unsigned char)*s & 0xc0) == 0x80) s++; // do not begin within a UTF-8 character
    return s;
}

rn_status package_in_file(const char *path, rn_status st, rn_error *err) {
    return st == RN_OK ? RN_OK : fail_in(err, st, "%s", package_shown_path(path));
}

void package_copy_text(char *dst, size_t size, struct vocab_str s) {
    size_t n = s.n < size ? s.n : size - 1;
    while (n > 0 && n < s.n && ((unsigned char)s.s[n] & 0xc0) == 0x80) n--;
    if (n > 0) memcpy(dst, s.s, n);
    dst[n] = 0;
}

// Allocates the list of files; call it before the first file is added.
static rn_status reserve(struct package *p, size_t n, rn_error *err) {
    p->files = arena_alloc(&p->arena, (n + PACKAGE_MORE_FILES) * sizeof *p->files);
    if (!p->files) return fail(err, RN_E_NOMEM, "%s: out of memory", package_shown_path(p->path));
    return RN_OK;
}

// Combines the progress of several files into one: adds the bytes of the files before to what
// file_map_open() reports.
struct sum {
    file_progress fn;
    void *user;
    uint64_t before, total;
};
static bool report(void *user, uint64_t done, uint64_t total) {
    const struct sum *s = user;
    (void)total;
    return s->fn(s->user, s->before + done, s->total);
}

rn_status package_open_files(struct package *p, const char *const *paths, size_t n, const struct package_options *o,
                             rn_error *err) {
    struct sum sum = {.fn = o->progress, .user = o->progress_user};
    rn_status st = reserve(p, n, err);
    for (size_t i = 0; i < n; i++) sum.total += path_file_bytes(paths[i]);
    for (size_t i = 0; st == RN_OK && i < n; i++) {
        struct package_file *f = &p->files[p->n_files];
        *f = (struct package_file){.path = paths[i], .is_ours = true};
        st = file_map_open(paths[i], o->load, o->progress ? report : NULL, &sum, &f->map, err);
        if (st != RN_OK) return st;
        sum.before += f->map.size;
        p->n_files++;
    }
    return st;
}

rn_status package_take_bytes(struct package *p, const struct package_bytes *files, size_t n, rn_error *err) {
    const rn_status st = reserve(p, n, err);
    for (size_t i = 0; st == RN_OK && i < n; i++)
        p->files[p->n_files++] =
            (struct package_file){.map = {.data = files[i].data, .size = files[i].n, .how = FILE_LOAD_READ, .fd = -1},
                                  .path = files[i].name};
    return st;
}

void package_file_close(struct package_file *f) {
    if (f->is_ours) file_map_close(&f->map);
    *f = (struct package_file){.map = {.fd = -1}};
}
