// formats/adapter/adapter_file.c - opens adapters, and checks their matrices against the base model's; see adapter_file.h.
#include "base/checked.h"
#include "base/mem.h"
#include "base/paths.h"
#include "formats/adapter/adapter_build.h"
#include "formats/folder/folder.h"
#include "formats/limits.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char config_name[] = "adapter_config.json", weights_name[] = "adapter_model.safetensors";

rn_status adapter_no_memory(const struct adapter_file *f, rn_error *err) {
    (void)f;
    return fail(err, RN_E_NOMEM, "out of memory for matrices of the adapter");
}

// ---- pairs ----------------------------------------------------------------------------------------------------------

rn_status adapter_reserve(struct adapter_file *f, size_t n_pairs, rn_error *err) {
    f->max_pairs = n_pairs;
    f->pairs = arena_alloc(&f->arena, (n_pairs ? n_pairs : 1) * sizeof *f->pairs);
    return f->pairs ? RN_OK : adapter_no_memory(f, err);
}

const struct tensor_view *adapter_target(const struct adapter_file *f, const char *tensor) {
    const struct tensor_view *t = package_tensor(f->base, tensor);
    return !t && strcmp(tensor, "output.weight") == 0 ? package_tensor(f->base, "token_embd.weight") : t;
}

bool adapter_make(struct adapter_file *f, const char *name, enum tensor_type type, int n_dims, const uint64_t *ne,
                  struct tensor_view *out) {
    const struct tensor_type_info *info =
        tensor_type_info(type); // one number a block: the types of safetensors files
    *out = (struct tensor_view){.name = name, .type = type, .n_dims = n_dims, .ne = {1, 1, 1, 1}};
    size_t n = info->block_bytes;
    for (int d = 0; d < n_dims; d++) {
        out->ne[d] = ne[d];
        if (!size_mul(n, (size_t)ne[d], &n)) return false;
    }
    out->n_bytes = n;
    out->row_bytes = (size_t)ne[0] * info->block_bytes;
    return (out->data = arena_alloc(&f->arena, n)) != NULL;
}

static rn_status wrong_shape(const struct tensor_view *t, const char *want, rn_error *err) {
    return fail(err, RN_E_FORMAT, "tensor %s: shape [%" PRIu64 ", %" PRIu64 ", %" PRIu64 "], expected %s", t->name,
                t->ne[0], t->ne[1], t->ne[2], want);
}

// a against the base model's tensor t: k and the number of slices.
static rn_status check_a(const struct tensor_view *t, bool is_lookup, const struct tensor_view *a, uint64_t rank,
                         rn_error *err) {
    char want[160];
    const uint64_t ne0 = is_lookup ? rank : t->ne[0], ne1 = is_lookup ? t->ne[1] : rank;
    if (a->ne[0] == ne0 && a->ne[1] == ne1 && a->ne[2] == t->ne[2] && a->ne[3] == 1) return RN_OK;
    snprintf(want, sizeof want,
             "[%" PRIu64 ", %" PRIu64 ", %" PRIu64 "] of a matrix with shape [%" PRIu64 ", %" PRIu64 ", %" PRIu64
             "] in the model",
             ne0, ne1, t->ne[2], t->ne[0], t->ne[1], t->ne[2]);
    return wrong_shape(a, want, err);
}

static rn_status check_b(const struct tensor_view *t, bool is_lookup, const struct tensor_view *a,
                         const struct tensor_view *b, uint64_t rank, rn_error *err) {
    char want[160];
    const uint64_t n_out = is_lookup ? t->ne[0] : t->ne[1];
    if (b->ne[0] == rank && b->ne[1] == n_out && b->ne[2] == a->ne[2] && b->ne[3] == 1) return RN_OK;
    snprintf(want, sizeof want,
             "[%" PRIu64 ", %" PRIu64 ", %" PRIu64 "] of a matrix with shape [%" PRIu64 ", %" PRIu64 ", %" PRIu64
             "] in the model",
             rank, n_out, a->ne[2], t->ne[0], t->ne[1], t->ne[2]);
    return wrong_shape(b, want, err);
}

rn_status adapter_add(struct adapter_file *f, const char *tensor, const struct tensor_view *a,
                      const struct tensor_view *b, float scale, rn_error *err) {
    const struct tensor_view *t = adapter_target(f, tensor);
    if (!t)
        return fail(err, RN_E_FORMAT,
                    "tensor %s: changes %s, which the model does not have: it is another model's adapter", a->name,
                    tensor);
    if (t->n_dims < 2)
        return fail(err, RN_E_UNSUPPORTED, "tensor %s: changes %s, which is no matrix", a->name, tensor);
    const bool is_lookup = strcmp(tensor, "token_embd.weight") == 0;
    const uint64_t rank = is_lookup ? a->ne[0] : a->ne[1];
    if (rank < 1 || rank > ADAPTER_MAX_RANK)
        return fail(err, RN_E_LIMIT, "tensor %s: rank %" PRIu64 " is outside 1..%d", a->name, rank, ADAPTER_MAX_RANK);
    rn_status st = check_a(t, is_lookup, a, rank, err);
    if (st == RN_OK) st = check_b(t, is_lookup, a, b, rank, err);
    if (st != RN_OK) return st;
    f->pairs[f->n_pairs++] = (struct adapter_pair){.tensor = tensor, .a = *a, .b = *b, .rank = rank, .scale = scale};
    return RN_OK;
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct adapter_pair *)a)->tensor, ((const struct adapter_pair *)b)->tensor);
}

static rn_status finish(struct adapter_file *f, rn_error *err) {
    if (f->n_pairs == 0) return fail(err, RN_E_FORMAT, "holds no matrices of an adapter");
    qsort(f->pairs, f->n_pairs, sizeof *f->pairs, by_name);
    for (size_t i = 1; i < f->n_pairs; i++)
        if (by_name(&f->pairs[i - 1], &f->pairs[i]) == 0)
            return fail(err, RN_E_FORMAT, "tensor %s: changes %s a second time", f->pairs[i].a.name,
                        f->pairs[i].tensor);
    return RN_OK;
}

// ---- files ----------------------------------------------------------------------------------------------------------

static rn_status create(const char *path, const package *base, struct adapter_file **out, rn_error *err) {
    struct adapter_file *f = mem_calloc(1, sizeof *f);
    *out = NULL;
    if (f) f->path = arena_strndup(&f->arena, path, strlen(path));
    if (!f || !f->path) {
        adapter_file_close(f);
        return fail(err, RN_E_NOMEM, "%s: out of memory", package_shown_path(path));
    }
    f->base = base;
    *out = f;
    return RN_OK;
}

static rn_status hand_over(struct adapter_file *f, rn_status st, struct adapter_file **out, rn_error *err) {
    if (st == RN_OK) st = package_in_file(f->path, finish(f, err), err);
    *out = st == RN_OK ? f : NULL;
    if (st != RN_OK) adapter_file_close(f);
    return st;
}

// adapter_config.json of the folder whose tensors f->pkg holds.
static rn_status read_peft(struct adapter_file *f, const struct folder *folder, rn_error *err) {
    struct package_file file = {.map = {.fd = -1}};
    struct json_tree tree = {0};
    bool found;
    rn_status st = folder_open_json(folder, config_name, FOLDER_MAX_CONFIG_BYTES, &file, &tree, &found, err);
    if (st == RN_OK && !found)
        st = fail(err, RN_E_IO, "%s: %s is missing, which says how the adapter is scaled",
                  package_shown_path(folder->path), config_name);
    else if (st == RN_OK)
        st = package_in_file(f->path, adapter_read_peft(f, &tree, err), err);
    json_free(&tree);
    package_file_close(&file);
    return st;
}

static bool ends_with(const char *s, const char *end) {
    const size_t n = strlen(s), n_end = strlen(end);
    return n >= n_end && strcmp(s + n - n_end, end) == 0;
}

// The folder of a file's path: all before the last slash.
static void folder_of(const char *path, char *out, size_t size) {
    const size_t n = (size_t)(path_last_name(path) - path);
    if (n == 0)
        snprintf(out, size, ".");
    else
        snprintf(out, size, "%.*s", (int)n, path);
}

static rn_status open_peft(struct adapter_file *f, const char *folder_path, const char *weights,
                           const struct package_options *opt, rn_error *err) {
    char path[PATH_BYTES];
    bool found = true;
    rn_status st = RN_OK;
    if (!weights) {
        st = path_in_folder(folder_path, NULL, weights_name, path, &found, err);
        if (st != RN_OK) return package_in_file(f->path, st, err);
        weights = path;
    }
    if (!found)
        return fail(
            err, RN_E_IO,
            "%s: holds no %s: it is no adapter's folder, or the adapter was saved as a Python pickle: save it as "
            "safetensors",
            package_shown_path(f->path), weights_name);
    st = package_open_part(weights, opt, &f->pkg, err);
    return st == RN_OK ? read_peft(f, &(struct folder){.p = f->pkg, .path = folder_path}, err) : st;
}

rn_status adapter_file_open(const char *path, const package *base, const struct package_options *opt,
                            struct adapter_file **out, rn_error *err) {
    struct adapter_file *f;
    rn_status st = create(path, base, &f, err);
    *out = NULL;
    if (st != RN_OK) return st;
    if (path_is_folder(path)) {
        st = open_peft(f, f->path, NULL, opt, err);
    } else if (ends_with(path, ".safetensors")) {
        char folder[PATH_BYTES];
        folder_of(path, folder, sizeof folder);
        st = open_peft(f, folder, f->path, opt, err);
    } else {
        st = package_open(path, opt, &f->pkg, err);
        if (st == RN_OK) st = package_in_file(f->path, adapter_read_gguf(f, err), err);
    }
    return hand_over(f, st, out, err);
}

rn_status adapter_file_from_bytes(const char *name, const struct package_bytes *files, size_t n_files,
                                  const package *base, struct adapter_file **out, rn_error *err) {
    struct adapter_file *f;
    rn_status st = create(name, base, &f, err);
    *out = NULL;
    if (st != RN_OK) return st;
    const struct package_bytes *weights = NULL;
    for (size_t i = 0; i < n_files; i++)
        if (strcmp(files[i].name, weights_name) == 0) weights = &files[i];
    if (weights) {
        st = package_part_from_bytes(name, weights->data, weights->n, &f->pkg, err);
        if (st == RN_OK)
            st =
                read_peft(f, &(struct folder){.p = f->pkg, .path = f->path, .given = files, .n_given = n_files}, err);
    } else {
        st = n_files == 1 ? package_from_bytes(name, files[0].data, files[0].n, &f->pkg, err)
                          : fail(err, RN_E_IO, "%s: holds no %s", name, weights_name);
        if (st == RN_OK) st = package_in_file(f->path, adapter_read_gguf(f, err), err);
    }
    return hand_over(f, st, out, err);
}

void adapter_file_close(struct adapter_file *f) {
    if (!f) return;
    package_close(f->pkg);
    arena_free(&f->arena);
    mem_free(f);
}

// ---- contents -------------------------------------------------------------------------------------------------------

const char *adapter_file_path(const struct adapter_file *f) { return f->path; }
const char *adapter_file_format(const struct adapter_file *f) { return f->format; }
size_t adapter_file_n_pairs(const struct adapter_file *f) { return f->n_pairs; }
const struct adapter_pair *adapter_file_pair(const struct adapter_file *f, size_t i) { return &f->pairs[i]; }
const package *adapter_file_package(const struct adapter_file *f) { return f->pkg; }

const struct adapter_pair *adapter_file_find(const struct adapter_file *f, const char *tensor) {
    return bsearch(&(struct adapter_pair){.tensor = tensor}, f->pairs, f->n_pairs, sizeof *f->pairs, by_name);
}

uint64_t adapter_file_rank(const struct adapter_file *f) {
    uint64_t most = 0;
    for (size_t i = 0; i < f->n_pairs; i++)
        if (f->pairs[i].rank > most) most = f->pairs[i].rank;
    return most;
}

static uint64_t numbers(const struct tensor_view *t) { return t->ne[0] * t->ne[1] * t->ne[2]; }

uint64_t adapter_file_n_params(const struct adapter_file *f) {
    uint64_t n = 0;
    for (size_t i = 0; i < f->n_pairs; i++) n += numbers(&f->pairs[i].a) + numbers(&f->pairs[i].b);
    return n;
}
