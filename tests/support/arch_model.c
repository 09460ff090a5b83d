// tests/support/arch_model.c - see arch_model.h.
#include "tests/support/arch_model.h"
#include "base/hash.h"
#include "base/philox.h"
#include "formats/package.h"
#include "model/arch.h"
#include "tests/support/any_blocks.h"
#include "tests/support/tiny_model.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LAYERS = 64, VALUE_BYTES = 400 };

// ---- keys -----------------------------------------------------------------------------------------------------------

// [1101]: a bool for each layer; (0,2,0): an integer; {0.5,-1}: a float.
static void put_layers(struct gguf_builder *b, const char *key, const char *value) {
    uint8_t bools[MOST_LAYERS];
    int32_t ints[MOST_LAYERS];
    size_t n = 0;
    if (value[0] == '[') {
        for (const char *c = value + 1; *c && *c != ']' && n < MOST_LAYERS; c++) bools[n++] = *c == '1';
        gb_array(b, key, GB_BOOL, bools, n, 1);
        return;
    }
    for (const char *c = value; *c && *c != ')' && n < MOST_LAYERS; c += strcspn(c + 1, ",)") + 1)
        if (c[1] != ')') ints[n++] = (int32_t)strtol(c + 1, NULL, 10);
    gb_array(b, key, GB_I32, ints, n, sizeof *ints);
}

static void put_floats(struct gguf_builder *b, const char *key, const char *value) {
    float floats[MOST_LAYERS];
    size_t n = 0;
    for (const char *c = value; *c && *c != '}' && n < MOST_LAYERS; c += strcspn(c + 1, ",}") + 1)
        if (c[1] != '}') floats[n++] = strtof(c + 1, NULL);
    gb_array(b, key, GB_F32, floats, n, sizeof *floats);
}

static void put_key(struct gguf_builder *b, const char *arch, const char *name, const char *value) {
    char key[128];
    if (name[0] == '/')
        snprintf(key, sizeof key, "%s", name + 1);
    else
        snprintf(key, sizeof key, "%s.%s", arch, name);
    if (value[0] == '{') {
        put_floats(b, key, value);
    } else if (value[0] == '[' || value[0] == '(') {
        put_layers(b, key, value);
    } else if (value[0] == '"') {
        gb_str_n(b, key, value + 1, strcspn(value + 1, "\""));
    } else if (strcmp(value, "true") == 0 || strcmp(value, "false") == 0) {
        gb_bool(b, key, value[0] == 't');
    } else if (strpbrk(value, ".en")) {
        gb_f32(b, key, strtof(value, NULL));
    } else if (value[0] == '-') {
        gb_i32(b, key, (int32_t)strtol(value, NULL, 10));
    } else {
        gb_u32(b, key, (uint32_t)strtoul(value, NULL, 10));
    }
}

// change: NAME=VALUE, NULL: none.
static void put_keys(struct gguf_builder *b, const struct arch_model *m, const char *change) {
    char name[96], value[VALUE_BYTES], changed[96] = "", to[VALUE_BYTES] = "";
    bool is_new = change != NULL;
    int n;
    if (change) sscanf(change, "%95[^=]=%399s", changed, to);
    gb_str(b, "general.architecture", m->arch);
    for (const char *at = m->keys; sscanf(at, " %95[^=]=%399s%n", name, value, &n) == 2; at += n) {
        const bool is_it = strcmp(name, changed) == 0;
        put_key(b, m->arch, name, is_it ? to : value);
        is_new = is_new && !is_it;
    }
    if (is_new) put_key(b, m->arch, changed, to);
}

// ---- tensors --------------------------------------------------------------------------------------------------------

struct drawer {
    const struct arch_model *m;
    struct gguf_builder *b;
    uint32_t stream; // of this tensor: of its name, so that no table's order is in the numbers
};

static float draw(const struct drawer *d, uint64_t i, float mean, float spread) {
    return mean + spread * (float)(2 * philox_uniform(d->m->seed, d->stream, (uint32_t)i, PHILOX_TEST) - 1);
}

// Norms and factors lie around 1 and above it, matrices have variance 1 / n_in, so that activations stay of order 1; embeddings that enter
// larger than that are drawn smaller. What states decay by is negative, so that they do.
static void put_tensor(struct drawer *d, const char *name, const uint64_t ne[4], bool is_vector, float spread) {
    const struct tensor_type_info *f32 = tensor_type_info(TENSOR_F32), *wanted = tensor_type_info(d->m->type);
    const struct tensor_type_info *type = is_vector || ne[0] % wanted->block_len != 0 ? f32 : wanted;
    const uint64_t n_rows = ne[1] * ne[2] * ne[3];
    const size_t row_bytes = ne[0] / type->block_len * type->block_bytes;
    const bool is_bias = strstr(name, ".bias") != NULL;
    const float mean = !is_vector || is_bias ? 0 : strstr(name, ".ssm_a") ? -1 : 1;
    float *row = malloc(ne[0] * sizeof *row);
    uint8_t *data = malloc(row_bytes * n_rows);
    if (!row || !data) abort();
    d->stream = (uint32_t)hash_bytes(name, strlen(name), 0);
    const bool any_bytes = any_blocks_only(type->type);
    if (any_bytes) {
        any_blocks(d->m->type, spread / sqrtf(3), d->m->seed + d->stream, data, ne[0] / type->block_len * n_rows);
    }
    for (uint64_t r = 0; !any_bytes && r < n_rows; r++) {
        for (uint64_t i = 0; i < ne[0]; i++) row[i] = draw(d, r * ne[0] + i, mean, spread);
        type->quantize_row(row, NULL, data + r * row_bytes, ne[0]);
    }
    gb_tensor(d->b, name, type->gguf_id,
              ne[3] > 1                 ? 4
              : ne[2] > 1               ? 3
              : ne[1] > 1 || !is_vector ? 2
                                        : 1,
              ne, data, row_bytes * n_rows);
    free(row);
    free(data);
}

// Does a name, behind its layer, begin with one of the words?
static bool is_listed(const char *name, const char *words) {
    static const char layer[] = "blk.%d.";
    const char *own = strncmp(name, layer, sizeof layer - 1) == 0 ? name + sizeof layer - 1 : name;
    char word[64];
    int n;
    for (const char *at = words; sscanf(at, " %63s%n", word, &n) == 1; at += n)
        if (strncmp(own, word, strlen(word)) == 0) return true;
    return false;
}

// Has the file a tensor that holds this role's rows beside others'?
static bool is_in_fused(const struct arch_model *m, enum role role) {
    const struct arch *a = arch_find(m->arch);
    for (size_t i = 0; m->optional && i < a->tensors.n; i++)
        for (size_t k = 0; k < sizeof a->tensors.at[i].parts / sizeof *a->tensors.at[i].parts; k++)
            if (role != ROLE_NONE && a->tensors.at[i].parts[k].role == role &&
                is_listed(a->tensors.at[i].name, m->optional))
                return true;
    return false;
}

static bool is_wanted(const struct arch_model *m, const struct tensor_spec *t) {
    if (is_in_fused(m, t->role)) return false;
    if (!t->optional) return true;
    // LongRoPE's factors make a model one of LongRoPE, which needs its original context length.
    if (strncmp(t->name, "rope_factors_", 13) == 0 && !strstr(m->keys, "original_context_length=")) return false;
    if (m->optional) return is_listed(t->name, m->optional);
    return !t->parts[0].role && !(m->without && strstr(t->name, m->without));
}

static float spread_of(const struct hparams *h, const char *name, bool is_vector, uint64_t n_in) {
    if (strncmp(name, "rope_", 5) == 0) return 0.5f;
    if (is_vector) return 0.25f;
    const bool is_scaled = strcmp(name, "token_embd.weight") == 0 && h->embd_scale > 1;
    return sqrtf(3.0f / (float)n_in) / (is_scaled ? h->embd_scale : 1);
}

// layer -1: a tensor of the whole model.
static void put_spec(struct drawer *d, const struct hparams *h, const struct tensor_spec *t, int32_t layer) {
    const uint32_t flags = arch_model_flags(h) | (layer < 0 ? 0 : h->layers[layer].flags);
    const char *at = strstr(t->name, "%d");
    size_t dims[N_DIMS];
    char name[96];
    arch_dims(h, layer, dims);
    const uint64_t ne[4] = {dims[t->ne0], dims[t->ne1], dims[t->ne2], dims[t->ne3]};
    if (!flags_match(flags, &t->when) || ne[0] == 0 || ne[1] == 0 || ne[2] == 0 || ne[3] == 0) return;
    if (!is_wanted(d->m, t)) return;
    if (at)
        snprintf(name, sizeof name, "%.*s%d%s", (int)(at - t->name), t->name, layer, at + 2);
    else
        snprintf(name, sizeof name, "%s", t->name);
    const bool is_vector = t->is_vector || t->ne1 == DIM_NONE;
    put_tensor(d, name, ne, is_vector, spread_of(h, name, is_vector, ne[0]));
}

static void put_tensors(struct drawer *d, const struct hparams *h) {
    const struct arch *a = arch_find(d->m->arch);
    for (size_t i = 0; i < a->tensors.n; i++) {
        const bool per_layer = strstr(a->tensors.at[i].name, "%d") != NULL;
        for (int32_t l = per_layer ? 0 : -1; l < (per_layer ? h->n_layer : 0); l++)
            put_spec(d, h, &a->tensors.at[i], l);
    }
}

// ---- the whole ------------------------------------------------------------------------------------------------------

static int value_of(const char *keys, const char *name) {
    char wanted[64];
    snprintf(wanted, sizeof wanted, "%s=", name);
    const char *at = strstr(keys, wanted);
    return at ? atoi(at + strlen(wanted)) : 0;
}

// Some architectures tell by its router whether a layer has experts.
static void put_routers(struct gguf_builder *b, const struct arch_model *m) {
    const uint64_t ne[2] = {(uint64_t)value_of(m->keys, "embedding_length"),
                            (uint64_t)value_of(m->keys, "expert_count")};
    for (int l = 0; ne[1] > 0 && l < value_of(m->keys, "block_count"); l++) {
        char name[64];
        snprintf(name, sizeof name, "blk.%d.ffn_gate_inp.weight", l);
        gb_tensor(b, name, 0, 2, ne, NULL, ne[0] * ne[1] * sizeof(float));
    }
}

// What a file with no tensors but the embedding and routers says of itself: which tensors there are, and how wide, follows from that.
static package *read_keys(const struct arch_model *m, uint8_t **bytes) {
    const uint64_t ne[2] = {(uint64_t)value_of(m->keys, "embedding_length"), (uint64_t)m->n_vocab};
    struct gguf_builder b;
    package *p = NULL;
    rn_error err = {0};
    size_t n;
    gb_begin(&b, 3);
    put_keys(&b, m, NULL);
    gb_tensor(&b, "token_embd.weight", 0, 2, ne, NULL, ne[0] * ne[1] * sizeof(float));
    put_routers(&b, m);
    *bytes = gb_finish(&b, &n);
    if (package_from_bytes(m->arch, *bytes, n, &p, &err) != RN_OK) {
        fprintf(stderr, "a test's model: %s\n", err.text);
        abort();
    }
    return p;
}

void arch_model_put_tensors(const struct arch_model *m, struct gguf_builder *b) {
    uint8_t *keys;
    package *p = read_keys(m, &keys);
    struct drawer d = {m, b, 0};
    put_tensors(&d, package_hparams(p));
    package_close(p);
    free(keys);
}

uint8_t *arch_model_bytes_with(const struct arch_model *m, const struct gguf_builder *tensors, size_t *n_bytes) {
    struct gguf_builder b;
    gb_begin(&b, tensors->version);
    put_keys(&b, m, m->change);
    gb_put(&b.records, tensors->records.data, tensors->records.n);
    gb_put(&b.data, tensors->data.data, tensors->data.n);
    b.n_tensors = tensors->n_tensors;
    return gb_finish(&b, n_bytes);
}

uint8_t *arch_model_bytes(const struct arch_model *m, size_t *n_bytes) {
    struct gguf_builder b;
    gb_begin(&b, 3);
    put_keys(&b, m, m->change);
    if (m->has_vocab) tiny_vocab_put(TINY_BYTES, m->n_vocab, &b);
    if (m->more) m->more(&b);
    arch_model_put_tensors(m, &b);
    return gb_finish(&b, n_bytes);
}
