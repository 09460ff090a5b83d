// formats/folder/shard_index.c - see shard_index.h.
#include "formats/folder/shard_index.h"
#include "formats/json/json_tree.h"
#include "formats/limits.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static rn_status no_memory(size_t n, rn_error *err) {
    return fail(err, RN_E_NOMEM, "out of memory for %zu tensors", n);
}

// Copies the name of a tensor or file, terminated; NULL with an error if it is not valid.
static rn_status copy_name(const char *s, uint32_t n, struct arena *mem, const char **out, rn_error *err) {
    if (n == 0 || n > SAFETENSORS_MAX_NAME_BYTES)
        return fail(err, RN_E_LIMIT, "a name of %" PRIu32 " bytes: 1..%d", n, SAFETENSORS_MAX_NAME_BYTES);
    if (memchr(s, 0, n)) return fail(err, RN_E_FORMAT, "a NUL byte in a name");
    *out = arena_strndup(mem, s, n);
    return *out ? RN_OK : no_memory(1, err);
}

static int by_name(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

// Reads one entry of weight_map. files: index of the shards' names found so far.
static rn_status read_entry(struct shard_index *x, const struct json_node *v, struct name_index *files,
                            struct arena *mem, rn_error *err) {
    struct shard_entry *e = &x->entries[x->n_entries];
    rn_status st = copy_name(v->name, v->n_name, mem, &e->tensor, err);
    if (st != RN_OK) return st;
    if (v->kind != JSON_STRING)
        return fail(err, RN_E_FORMAT, "%s: is %s, must be a file name", e->tensor, json_kind_name(v));
    int64_t shard = name_index_find(files, v->text, v->n_text);
    if (shard < 0) {
        if (x->n_shards == SAFETENSORS_MAX_SHARDS)
            return fail(err, RN_E_LIMIT, "%s: more than %d shards", e->tensor, SAFETENSORS_MAX_SHARDS);
        const char **file = &x->shards[x->n_shards];
        if ((st = copy_name(v->text, v->n_text, mem, file, err)) != RN_OK) return fail_in(err, st, "%s", e->tensor);
        shard = (int64_t)x->n_shards++;
        name_index_add(files, *file, v->n_text, (uint32_t)shard);
    }
    e->shard = (uint32_t)shard;
    name_index_add(&x->names, e->tensor, v->n_name, (uint32_t)x->n_entries++);
    return RN_OK;
}

// Sorts the shards by name, so that the package does not depend on the order of the index.
static rn_status sort_shards(struct shard_index *x, struct arena *mem, rn_error *err) {
    const char **sorted = arena_alloc(mem, x->n_shards * sizeof(const char *));
    uint32_t *place = arena_alloc(mem, x->n_shards * sizeof *place);
    if (!sorted || !place) return no_memory(x->n_entries, err);
    memcpy(sorted, x->shards, x->n_shards * sizeof(const char *));
    qsort(sorted, x->n_shards, sizeof *sorted, by_name);
    for (size_t i = 0; i < x->n_shards; i++) {
        const char **at = bsearch(&x->shards[i], sorted, x->n_shards, sizeof *sorted, by_name);
        place[i] = (uint32_t)(at - sorted);
    }
    for (size_t i = 0; i < x->n_entries; i++) x->entries[i].shard = place[x->entries[i].shard];
    x->shards = sorted;
    return RN_OK;
}

static rn_status read_map(struct shard_index *x, const struct json_node *map, struct arena *mem, rn_error *err) {
    struct name_index files;
    if (!map || map->kind != JSON_OBJECT || map->n_items == 0)
        return fail(err, RN_E_FORMAT, "member weight_map: missing, empty, or no object");
    if (map->n_items > SAFETENSORS_MAX_TENSORS)
        return fail(err, RN_E_LIMIT, "member weight_map: %" PRIu32 " tensors, limit %d", map->n_items,
                    SAFETENSORS_MAX_TENSORS);
    x->entries = arena_alloc(mem, map->n_items * sizeof *x->entries);
    x->shards = arena_alloc(mem, SAFETENSORS_MAX_SHARDS * sizeof(const char *));
    if (!x->entries || !x->shards || !name_index_init(&x->names, map->n_items, mem) ||
        !name_index_init(&files, SAFETENSORS_MAX_SHARDS, mem))
        return no_memory(map->n_items, err);
    const struct json_node *v = json_first(map);
    for (uint32_t i = 0; i < map->n_items; i++, v = json_next(v)) {
        const rn_status st = read_entry(x, v, &files, mem, err);
        if (st != RN_OK) return fail_in(err, st, "member weight_map");
    }
    return sort_shards(x, mem, err);
}

rn_status shard_index_read(struct shard_index *x, const char *text, size_t n, struct arena *mem, rn_error *err) {
    struct json_tree tree = {0};
    rn_status st = json_read(&tree, text, n, err);
    if (st == RN_OK) st = read_map(x, json_member(&tree.nodes[0], "weight_map"), mem, err);
    json_free(&tree);
    return st;
}

rn_status shard_index_check(struct shard_index *x, const struct safetensors_record *t, size_t shard, rn_error *err) {
    const int64_t i = name_index_find(&x->names, t->name, t->n_name);
    if (i < 0) return fail(err, RN_E_FORMAT, "tensor %s: the index does not list it", t->name);
    if (x->entries[i].shard != shard)
        return fail(err, RN_E_FORMAT, "tensor %s: the index says that it lies in %s", t->name,
                    x->shards[x->entries[i].shard]);
    x->entries[i].seen = true;
    return RN_OK;
}

rn_status shard_index_complete(const struct shard_index *x, rn_error *err) {
    for (size_t i = 0; i < x->n_entries; i++)
        if (!x->entries[i].seen)
            return fail(err, RN_E_FORMAT, "tensor %s: listed in %s, which does not hold it", x->entries[i].tensor,
                        x->shards[x->entries[i].shard]);
    return RN_OK;
}
