// formats/package.c - opens and closes packages and looks up their contents; readers fill them
// (package_build.h).
#include "formats/package.h"
#include "base/mem.h"
#include "base/paths.h"
#include "base/process_memory.h"
#include "formats/folder/folder.h"
#include "formats/gguf/gguf_split.h"
#include "formats/package_build.h"
#include <string.h>

rn_status package_create(const char *path, struct package **out, rn_error *err) {
    struct package *p = mem_calloc(1, sizeof *p);
    if (p) p->path = arena_strndup(&p->arena, path, strlen(path));
    if (!p || !p->path) {
        package_close(p);
        return fail(err, RN_E_NOMEM, "%s: out of memory", package_shown_path(path));
    }
    *out = p;
    return RN_OK;
}

// Passes the finished package to the caller if st is RN_OK, else closes it.
static rn_status hand_over(struct package *p, rn_status st, package **out) {
    if (st == RN_OK)
        *out = p;
    else
        package_close(p);
    return st;
}

rn_status package_open(const char *path, const struct package_options *opt, package **out, rn_error *err) {
    const struct package_options o = opt ? *opt : (struct package_options){.load = FILE_LOAD_MAP};
    struct package *p = NULL;
    *out = NULL;
    rn_status st = package_create(path, &p, err);
    if (st != RN_OK) return st;
    if (path_is_folder(path)) {
        const struct folder f = {.p = p, .path = p->path};
        st = folder_load(&f, &o, err);
    } else {
        st = gguf_open_parts(p, &o, err);
        if (st == RN_OK) st = gguf_load(p, err);
    }
    return hand_over(p, st, out);
}

rn_status package_from_bytes(const char *name, const uint8_t *data, size_t n, package **out, rn_error *err) {
    struct package *p = NULL;
    *out = NULL;
    rn_status st = package_create(name, &p, err);
    if (st != RN_OK) return st;
    st = package_take_bytes(p, &(struct package_bytes){p->path, data, n}, 1, err);
    if (st == RN_OK) st = gguf_load(p, err);
    return hand_over(p, st, out);
}

rn_status package_from_folder_bytes(const char *name, const struct package_bytes *files, size_t n_files,
                                    package **out, rn_error *err) {
    struct package *p = NULL;
    *out = NULL;
    rn_status st = package_create(name, &p, err);
    if (st != RN_OK) return st;
    const struct folder f = {.p = p, .path = p->path, .given = files, .n_given = n_files};
    st = folder_load(&f, NULL, err);
    return hand_over(p, st, out);
}

rn_status package_open_part(const char *path, const struct package_options *opt, package **out, rn_error *err) {
    const struct package_options o = opt ? *opt : (struct package_options){.load = FILE_LOAD_MAP};
    struct package *p = NULL;
    *out = NULL;
    const rn_status st = package_create(path, &p, err);
    return st == RN_OK ? hand_over(p, part_file_load(p, &o, err), out) : st;
}

rn_status package_part_from_bytes(const char *name, const uint8_t *data, size_t n, package **out, rn_error *err) {
    struct package *p = NULL;
    *out = NULL;
    rn_status st = package_create(name, &p, err);
    if (st != RN_OK) return st;
    st = package_take_bytes(p, &(struct package_bytes){p->path, data, n}, 1, err);
    if (st == RN_OK) st = part_file_load(p, NULL, err);
    return hand_over(p, st, out);
}

void package_close(package *p) {
    if (!p) return;
    for (size_t i = 0; i < p->n_files; i++) package_file_close(&p->files[i]);
    if (p->made) mem_pages_free(p->made, p->max_made);
    arena_free(&p->arena);
    mem_free(p);
}

bool package_reads(const package *p, const char *path) {
    for (size_t i = 0; i < p->n_files; i++)
        if (path_is_same_file(p->files[i].path, path)) return true;
    for (const struct package_text *t = p->last_text; t; t = t->before)
        if (path_is_same_file(t->path, path)) return true;
    return false;
}

const struct file_map *package_file_of(const package *p, const uint8_t *data) {
    for (size_t i = 0; i < p->n_files; i++) {
        const struct file_map *const f = &p->files[i].map;
        if ((uintptr_t)data >= (uintptr_t)f->data && (uintptr_t)data - (uintptr_t)f->data < f->size) return f;
    }
    return NULL;
}

bool package_is_same(const package *a, const package *b) {
    if (a == b) return true;
    if (a->n_files == 0 || a->n_files != b->n_files || a->last_text || b->last_text) return false;
    for (size_t i = 0; i < a->n_files; i++)
        if (!file_map_is_same(&a->files[i].map, &b->files[i].map)) return false;
    return true;
}

rn_status package_check_files(const package *p, rn_error *err) {
    for (size_t i = 0; i < p->n_files; i++) {
        const rn_status st = file_map_check(&p->files[i].map, p->files[i].path, err);
        if (st != RN_OK) return st;
    }
    return RN_OK;
}

const char *package_path(const package *p) { return p->path; }
const char *package_format(const package *p) { return p->format; }
const int32_t *package_token_map(const package *p, size_t *n) {
    *n = p->n_token_map;
    return p->token_map;
}
const struct part_options *package_part_options(const package *p) { return &p->part; }
bool package_has_adjacent_rope(const package *p) { return p->has_adjacent_rope; }
const char *package_note(const package *p) { return p->note; }
const char *package_left_out(const package *p) { return p->left_out; }
const char *package_nextn_left_out(const package *p) { return p->nextn_left_out; }
size_t package_n_files(const package *p) { return p->n_files; }
const struct file_map *package_file_at(const package *p, size_t i) { return &p->files[i].map; }
size_t package_made_bytes(const package *p) { return p->n_made; }
size_t package_made_resident(const package *p) { return mem_resident(p->made, p->n_made); }
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

const char *package_rerank_template(const package *p, size_t *n) {
    *n = p->rerank_template.n;
    return p->rerank_template.s;
}

const struct package_prompt *package_prompts(const package *p, size_t *n) {
    *n = p->n_prompts;
    return p->prompts;
}

const char *package_default_prompt(const package *p) { return p->default_prompt; }
