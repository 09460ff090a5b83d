// formats/folder/folder.c - loads a Hugging Face folder into a package; see folder.h.
#include "formats/folder/folder.h"
#include "base/paths.h"
#include "formats/folder/config_json.h"
#include "formats/folder/hf_tensors.h"
#include "formats/folder/shard_index.h"
#include "formats/limits.h"
#include <stdio.h>
#include <string.h>

static const char config_name[] = "config.json", weights_name[] = "model.safetensors",
                  index_name[] = "model.safetensors.index.json";

// ---- files ----------------------------------------------------------------------------------------------------------

static const struct package_bytes *find_given(const struct folder *f, const char *name) {
    const size_t n_sub = f->sub ? strlen(f->sub) : 0;
    for (size_t i = 0; i < f->n_given; i++) {
        const char *given = f->given[i].name;
        if (f->sub && (strncmp(given, f->sub, n_sub) != 0 || given[n_sub] != '/')) continue;
        if (strcmp(f->sub ? given + n_sub + 1 : given, name) == 0) return &f->given[i];
    }
    return NULL;
}

static rn_status no_memory(const struct folder *f, rn_error *err) {
    return fail(err, RN_E_NOMEM, "%s: out of memory", package_shown_path(f->path));
}

// Makes the path of a file of the folder in the package's arena; *found is false if there is none.
static rn_status path_of(const struct folder *f, const char *name, const char **out, bool *found, rn_error *err) {
    char path[PATH_BYTES];
    if (f->given) {
        *found = find_given(f, name) != NULL;
        snprintf(path, sizeof path, "%s/%s%s%s", package_shown_path(f->path), f->sub ? f->sub : "", f->sub ? "/" : "",
                 name);
    } else {
        const rn_status st = path_in_folder(f->path, f->sub, name, path, found, err);
        if (st != RN_OK) return package_in_file(f->path, st, err);
    }
    *out = arena_strndup(&f->p->arena, path, strlen(path));
    return *out ? RN_OK : no_memory(f, err);
}

rn_status folder_open_text(const struct folder *f, const char *name, size_t max_bytes, struct package_file *out,
                           bool *found, rn_error *err) {
    *out = (struct package_file){.map = {.fd = -1}};
    rn_status st = path_of(f, name, &out->path, found, err);
    if (st != RN_OK || !*found) return st;
    const struct package_bytes *given = find_given(f, name);
    const uint64_t n = given ? given->n : path_file_bytes(out->path);
    if (n > max_bytes)
        return fail(err, RN_E_LIMIT, "%s: %llu bytes, limit %zu", package_shown_path(out->path),
                    (unsigned long long)n, max_bytes);
    if (given) {
        out->map = (struct file_map){.data = given->data, .size = given->n, .how = FILE_LOAD_READ, .fd = -1};
        return RN_OK;
    }
    struct package_text *t = arena_alloc(&f->p->arena, sizeof *t);
    if (!t) return no_memory(f, err);
    *t = (struct package_text){out->path, f->p->last_text};
    f->p->last_text = t;
    out->is_ours = true;
    return file_map_open(out->path, FILE_LOAD_READ, NULL, NULL, &out->map, err);
}

rn_status folder_open_json(const struct folder *f, const char *name, size_t max_bytes, struct package_file *out,
                           struct json_tree *tree, bool *found, rn_error *err) {
    const rn_status st = folder_open_text(f, name, max_bytes, out, found, err);
    if (st != RN_OK || !*found) return st;
    tree->takes_infinity = strcmp(name, config_name) == 0;
    return package_in_file(out->path, json_read(tree, (const char *)out->map.data, out->map.size, err), err);
}

// ---- config.json ----------------------------------------------------------------------------------------------------

static rn_status read_config(const struct folder *f, struct hf_config *c, rn_error *err) {
    struct package_file file;
    struct json_tree tree = {0};
    bool found;
    rn_status st = folder_open_json(f, config_name, FOLDER_MAX_CONFIG_BYTES, &file, &tree, &found, err);
    if (st == RN_OK && !found)
        st = fail(err, RN_E_IO, "%s: is a directory without %s, so not a model folder", package_shown_path(f->path),
                  config_name);
    else if (st == RN_OK)
        st = package_in_file(file.path, config_read(c, &tree, f->p, err), err);
    json_free(&tree);
    package_file_close(&file);
    return st;
}

// Reads the end tokens from both files; generation_config.json may list more of them than
// config.json.
static rn_status read_end_ids(const struct folder *f, const struct hf_config *c, rn_error *err) {
    static const char *const names[] = {config_name, "generation_config.json"};
    int32_t *ids = arena_alloc(&f->p->arena, FOLDER_MAX_END_IDS * sizeof *ids);
    if (!ids) return no_memory(f, err);
    rn_status st = RN_OK;
    for (int i = 0; st == RN_OK && i < 2; i++) {
        struct package_file file;
        struct json_tree tree = {0};
        bool found;
        st = folder_open_json(f, names[i], FOLDER_MAX_CONFIG_BYTES, &file, &tree, &found, err);
        if (st == RN_OK && found)
            st = package_in_file(file.path, config_read_end_ids(&tree, c->raw.hp.n_vocab, ids, &f->p->vocab, err),
                                 err);
        json_free(&tree);
        package_file_close(&file);
    }
    return st;
}

// ---- weights --------------------------------------------------------------------------------------------------------

// The error for a folder without safetensors; names other weight files that it contains.
static rn_status no_weights(const struct folder *f, rn_error *err) {
    static const char *const pickles[] = {"pytorch_model.bin", "pytorch_model.bin.index.json", "consolidated.00.pth"};
    for (size_t i = 0; i < sizeof pickles / sizeof *pickles; i++) {
        const char *path;
        bool found;
        const rn_status st = path_of(f, pickles[i], &path, &found, err);
        if (st != RN_OK) return st;
        if (found)
            return fail(err, RN_E_UNSUPPORTED,
                        "%s: a Python pickle, which is not supported: save the model as safetensors",
                        package_shown_path(path));
    }
    return fail(err, RN_E_IO, "%s: holds neither %s nor %s", package_shown_path(f->path), weights_name, index_name);
}

// Lists the weight files: model.safetensors, or the files named by the index.
static rn_status list_weights(const struct folder *f, struct shard_index *x, rn_error *err) {
    static const char *one[] = {weights_name};
    const char *path;
    bool found;
    rn_status st = path_of(f, weights_name, &path, &found, err);
    if (st != RN_OK) return st;
    if (found) {
        *x = (struct shard_index){.shards = one, .n_shards = 1};
        return RN_OK;
    }
    struct package_file file;
    st = folder_open_text(f, index_name, FOLDER_MAX_INDEX_BYTES, &file, &found, err);
    if (st == RN_OK && !found)
        st = no_weights(f, err);
    else if (st == RN_OK)
        st = package_in_file(file.path,
                             shard_index_read(x, (const char *)file.map.data, file.map.size, &f->p->arena, err), err);
    package_file_close(&file);
    return st;
}

static rn_status open_weights(const struct folder *f, const struct shard_index *x, const struct package_options *o,
                              rn_error *err) {
    const char **paths = arena_alloc(&f->p->arena, x->n_shards * sizeof(const char *));
    struct package_bytes *given = arena_alloc(&f->p->arena, x->n_shards * sizeof *given);
    if (!paths || !given) return no_memory(f, err);
    for (size_t i = 0; i < x->n_shards; i++) {
        bool found;
        const rn_status st = path_of(f, x->shards[i], &paths[i], &found, err);
        if (st != RN_OK) return st;
        if (!found)
            return fail(err, RN_E_IO, "%s: missing, though %s names it", package_shown_path(paths[i]), index_name);
        if (f->given) {
            given[i] = *find_given(f, x->shards[i]);
            given[i].name = paths[i];
        }
    }
    return f->given ? package_take_bytes(f->p, given, x->n_shards, err)
                    : package_open_files(f->p, paths, x->n_shards, o, err);
}

static rn_status read_headers(const struct folder *f, struct shard_index *x, struct safetensors *shards,
                              rn_error *err) {
    struct package *p = f->p;
    size_t n_tensors = 0;
    for (size_t s = 0; s < p->n_files; s++) {
        const struct package_file *file = &p->files[s];
        rn_status st = safetensors_read(file->map.data, file->map.size, &p->arena, &shards[s], err);
        for (size_t i = 0; x->entries && st == RN_OK && i < shards[s].n_records; i++)
            st = shard_index_check(x, &shards[s].records[i], s, err);
        n_tensors += shards[s].n_records;
        if (st == RN_OK && n_tensors > SAFETENSORS_MAX_TENSORS)
            st = fail(err, RN_E_LIMIT, "%zu tensors with the files before it, limit %d", n_tensors,
                      SAFETENSORS_MAX_TENSORS);
        if (st != RN_OK) return package_in_file(file->path, st, err);
    }
    return package_in_file(f->path, shard_index_complete(x, err), err);
}

rn_status folder_open_weights(const struct folder *f, const struct package_options *o, struct safetensors **shards,
                              rn_error *err) {
    struct shard_index x = {0};
    rn_status st = list_weights(f, &x, err);
    if (st == RN_OK) st = open_weights(f, &x, o, err);
    if (st != RN_OK) return st;
    *shards = arena_alloc(&f->p->arena, x.n_shards * sizeof **shards);
    return *shards ? read_headers(f, &x, *shards, err) : no_memory(f, err);
}

static rn_status read_weights(const struct folder *f, struct hf_config *c, const struct package_options *o,
                              rn_error *err) {
    struct safetensors *shards;
    const rn_status st = folder_open_weights(f, o, &shards, err);
    return st == RN_OK ? hf_add_tensors(f->p, c, shards, err) : st;
}

// ---- load ---------------------------------------------------------------------------------------

static rn_status describe_parts(const struct folder *f, rn_error *err) {
    static const char *const names[] = {[HF_PART_VISION] = "vision", [HF_PART_AUDIO] = "audio"};
    struct package *p = f->p;
    char text[1400]; // room for an error
    int n = 0;
    for (int i = 0; i < HF_PART_NEXTN; i++)
        if (p->n_aside[i] > 0)
            n += snprintf(text + n, sizeof text - (size_t)n, "%s%s part: %zu tensors", n > 0 ? ", " : "", names[i],
                          p->n_aside[i]);
    if (n > 0) n += snprintf(text + n, sizeof text - (size_t)n, ", not used yet");
    if (p->n_aside[HF_PART_NEXTN] == 0)
        p->nextn_left_out = NULL;
    else
        n += snprintf(text + n, sizeof text - (size_t)n, "%snext-token-prediction layers: %zu tensors, not used: %s",
                      n > 0 ? "; " : "", p->n_aside[HF_PART_NEXTN], p->nextn_left_out);
    if (n == 0) return RN_OK;
    p->left_out = arena_strndup(&p->arena, text, (size_t)n);
    return p->left_out ? RN_OK : no_memory(f, err);
}

static rn_status describe(const struct folder *f, const struct hf_config *c, rn_error *err) {
    struct package *p = f->p;
    char text[PATH_BYTES];
    int n = snprintf(text, sizeof text, "safetensors");
    if (p->n_files > 1) n += snprintf(text + n, sizeof text - (size_t)n, " in %zu shards", p->n_files);
    p->format = arena_strndup(&p->arena, text, (size_t)n);
    n = 0;
    text[0] = 0;
    if (c->foreign_code)
        n += snprintf(text, sizeof text,
                      "%s: member %s: the model needs Python code of its own, which runnel does not run", config_name,
                      c->foreign_code);
    if (c->is_trunk)
        n += snprintf(
            text + n, sizeof text - (size_t)n,
            "%s%s: a model without a head: use it for embeddings only, text that it generates is meaningless",
            n > 0 ? "; " : "", config_name);
    if (n > 0) p->note = arena_strndup(&p->arena, text, (size_t)n);
    if (!p->format || (n > 0 && !p->note)) return no_memory(f, err);
    snprintf(text, sizeof text, "%s", path_last_name(f->path));
    if (!f->given) path_folder_name(f->path, text);
    package_copy_text(p->hparams.name, sizeof p->hparams.name, (struct vocab_str){text, (uint32_t)strlen(text)});
    return describe_parts(f, err);
}

// VILA's folders hold the text model in llm/, the vision part beside it (formats/vision/).
static rn_status find_text(struct folder *f, rn_error *err) {
    struct package_file file;
    struct json_tree tree = {0};
    bool found;
    const rn_status st = folder_open_json(f, config_name, FOLDER_MAX_CONFIG_BYTES, &file, &tree, &found, err);
    if (st == RN_OK && found) {
        const struct json_node *const classes = json_member(&tree.nodes[0], "architectures");
        if (classes && classes->kind == JSON_ARRAY && classes->n_items > 0 &&
            json_is(json_first(classes), "LlavaLlamaModel"))
            f->sub = "llm";
    }
    json_free(&tree);
    package_file_close(&file);
    return st;
}

rn_status folder_load(const struct folder *given, const struct package_options *o, rn_error *err) {
    struct folder in = *given, *const f = &in;
    struct hf_config c;
    rn_status st = find_text(f, err);
    if (st == RN_OK) st = read_config(f, &c, err);
    if (st == RN_OK) st = read_weights(f, &c, o, err);
    if (st == RN_OK) st = package_folder_vocab(f, err);
    if (st == RN_OK) st = package_in_file(f->path, hparams_check_vocab(&c.raw, f->p, err), err);
    if (st == RN_OK) st = read_end_ids(f, &c, err);
    if (st == RN_OK) st = folder_read_template(f, err);
    if (st == RN_OK) st = folder_read_modules(f, &c.raw.hp, err);
    if (st != RN_OK) return st;
    f->p->hparams = c.raw.hp;
    f->p->hparams.is_checked = true;
    return describe(f, &c, err);
}
