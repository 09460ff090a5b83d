// formats/package.c - opens and closes packages, and answers questions about them; readers fill them (package_build.h).
#include "formats/package.h"
#include "base/mem.h"
#include "formats/file_kind.h"
#include "formats/package_build.h"
#include <string.h>

enum { SHOWN_PATH_BYTES = 200 };

// Of a long path the end, so that an error has room for the rest of its sentence.
static const char *shown_path(const char *path) {
    const size_t n = strlen(path);
    if (n <= SHOWN_PATH_BYTES) return path;
    const char *s = path + n - SHOWN_PATH_BYTES;
    while (((unsigned char)*s & 0xc0) == 0x80) s++; // not inside a character
    return s;
}

static rn_status load(struct package *p, rn_error *err) {
    const struct file_kind kind = file_kind_of(p->file.data, p->file.size);
    const rn_status st =
        kind.is_gguf ? gguf_load(p, err)
                     : fail(err, RN_E_FORMAT, "not a GGUF file: it is %s (%zu bytes)", kind.what, p->file.size);
    return st == RN_OK ? RN_OK : fail_in(err, st, "%s", shown_path(p->path));
}

static rn_status create(const char *path, struct package **out, rn_error *err) {
    struct package *p = mem_calloc(1, sizeof *p);
    if (p) {
        p->file.fd = -1;
        p->path = arena_strndup(&p->arena, path, strlen(path));
    }
    if (!p || !p->path) {
        package_close(p);
        return fail(err, RN_E_NOMEM, "%s: out of memory", shown_path(path));
    }
    *out = p;
    return RN_OK;
}

rn_status package_open(const char *path, const struct package_options *opt, package **out, rn_error *err) {
    const struct package_options o = opt ? *opt : (struct package_options){.load = FILE_LOAD_MAP};
    struct package *p = NULL;
    *out = NULL;
    rn_status st = create(path, &p, err);
    if (st != RN_OK) return st;
    st = file_map_open(path, o.load, o.progress, o.progress_user, &p->file, err);
    if (st == RN_OK) {
        p->owns_file = true;
        st = load(p, err);
    }
    if (st == RN_OK)
        *out = p;
    else
        package_close(p);
    return st;
}

rn_status package_from_bytes(const char *name, const uint8_t *data, size_t n, package **out, rn_error *err) {
    struct package *p = NULL;
    *out = NULL;
    rn_status st = create(name, &p, err);
    if (st != RN_OK) return st;
    p->file = (struct file_map){.data = data, .size = n, .how = FILE_LOAD_READ, .fd = -1};
    st = load(p, err);
    if (st == RN_OK)
        *out = p;
    else
        package_close(p);
    return st;
}

void package_close(package *p) {
    if (!p) return;
    if (p->owns_file) file_map_close(&p->file);
    arena_free(&p->arena);
    mem_free(p);
}

const char *package_path(const package *p) { return p->path; }
const struct file_map *package_file(const package *p) { return &p->file; }
const char *package_format(const package *p) { return p->format; }
bool package_vocab_only(const package *p) { return p->n_tensors == 0; }
const struct hparams *package_hparams(const package *p) { return &p->hparams; }
const struct vocab *package_vocab(const package *p) { return &p->vocab; }
size_t package_n_tensors(const package *p) { return p->n_tensors; }
const struct tensor_view *package_tensor_at(const package *p, size_t i) { return &p->tensors[i]; }

const struct tensor_view *package_tensor(const package *p, const char *name) {
    const int64_t i = name_index_find(&p->tensor_names, name, strlen(name));
    return i < 0 ? NULL : &p->tensors[i];
}

const char *package_chat_template(const package *p, size_t *n) {
    *n = p->chat_template.n;
    return p->chat_template.s;
}
