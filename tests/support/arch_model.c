// tests/support/arch_model.c - see arch_model.h.
#include "tests/support/arch_model.h"
#include "base/philox.h"
#include "formats/package.h"
#include "model/arch.h"
#include "tests/check.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LAYERS = 64 };

// ---- keys -----------------------------------------------------------------------------------------------------------

static void put_key(struct gguf_builder *b, const char *arch, const char *name, const char *value) {
    char key[128];
    snprintf(key, sizeof key, "%s.%s", arch, name);
    if (value[0] == '[') {
        uint8_t of_layers[MOST_LAYERS];
        size_t n = 0;
        for (const char *c = value + 1; *c != ']' && n < MOST_LAYERS; c++) of_layers[n++] = *c == '1';
        gb_array(b, key, GB_BOOL, of_layers, n, 1);
    } else if (strcmp(value, "true") == 0) {
        gb_bool(b, key, true);
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
    char name[96], value[96], changed[96] = "", to[96] = "";
    int n;
    if (change) sscanf(change, "%95[^=]=%95s", changed, to);
    gb_str(b, "general.architecture", m->arch);
    for (const char *at = m->keys; sscanf(at, " %95[^=]=%95s%n", name, value, &n) == 2; at += n)
        put_key(b, m->arch, name, strcmp(name, changed) == 0 ? to : value);
}

// ---- tensors --------------------------------------------------------------------------------------------------------

struct drawer {
    const struct arch_model *m;
    struct gguf_builder *b;
    uint32_t n_drawn;
};

static float draw(const struct drawer *d, uint64_t i, float mean, float spread) {
    return mean + spread * (float)(2 * philox_uniform(d->m->seed, d->n_drawn, (uint32_t)i, PHILOX_TEST) - 1);
}

// Norms and factors lie around 1 and above it, matrices have variance 1 / n_in, so that activations stay of order 1.
static void put_tensor(struct drawer *d, const char *name, const uint64_t ne[3], bool is_vector, bool is_factor) {
    const struct tensor_type_info *f32 = tensor_type_info(TENSOR_F32), *wanted = tensor_type_info(d->m->type);
    const struct tensor_type_info *type = is_vector || ne[0] % wanted->block_len != 0 ? f32 : wanted;
    const uint64_t n_rows = ne[1] * ne[2];
    const size_t row_bytes = ne[0] / type->block_len * type->block_bytes;
    const bool is_bias = strstr(name, ".bias") != NULL;
    const float mean = is_vector && !is_bias ? 1 : 0;
    const float spread = is_factor ? 0.5f : is_vector ? 0.25f : sqrtf(3.0f / (float)ne[0]);
    float *row = malloc(ne[0] * sizeof *row);
    uint8_t *data = malloc(row_bytes * n_rows);
    if (!row || !data) abort();
    for (uint64_t r = 0; r < n_rows; r++) {
        for (uint64_t i = 0; i < ne[0]; i++) row[i] = draw(d, r * ne[0] + i, mean, spread);
        type->quantize_row(row, NULL, data + r * row_bytes, ne[0]);
    }
    d->n_drawn++;
    gb_tensor(d->b, name, type->gguf_id,
              ne[2] > 1                 ? 3
              : ne[1] > 1 || !is_vector ? 2
                                        : 1,
              ne, data, row_bytes * n_rows);
    free(row);
    free(data);
}

// layer -1: a tensor of the whole model.
static void put_spec(struct drawer *d, const struct hparams *h, const struct tensor_spec *t, int32_t layer) {
    const uint32_t flags = arch_model_flags(h) | (layer < 0 ? 0 : h->layers[layer].flags);
    const char *at = strstr(t->name, "%d");
    size_t dims[N_DIMS];
    char name[96];
    arch_dims(h, layer, dims);
    const uint64_t ne[3] = {dims[t->ne0], dims[t->ne1], dims[t->ne2]};
    if (!flags_match(flags, t->only, t->unless) || ne[0] == 0 || ne[1] == 0 || ne[2] == 0) return;
    if (t->optional && (t->parts[0] || (d->m->without && strstr(t->name, d->m->without)))) return;
    if (at)
        snprintf(name, sizeof name, "%.*s%d%s", (int)(at - t->name), t->name, layer, at + 2);
    else
        snprintf(name, sizeof name, "%s", t->name);
    put_tensor(d, name, ne, t->is_vector || t->ne1 == DIM_NONE, strncmp(name, "rope_", 5) == 0);
}

static void put_tensors(struct drawer *d, const struct hparams *h) {
    const struct arch *a = arch_find(d->m->arch);
    for (size_t i = 0; i < a->n_tensors; i++) {
        const bool per_layer = strstr(a->tensors[i].name, "%d") != NULL;
        for (int32_t l = per_layer ? 0 : -1; l < (per_layer ? h->n_layer : 0); l++) put_spec(d, h, &a->tensors[i], l);
    }
}

// ---- the whole ------------------------------------------------------------------------------------------------------

static int value_of(const char *keys, const char *name) {
    char wanted[64];
    snprintf(wanted, sizeof wanted, "%s=", name);
    const char *at = strstr(keys, wanted);
    return at ? atoi(at + strlen(wanted)) : 0;
}

// What a file without tensors but the embedding says of itself: which tensors there are, and how wide, follows from that.
static package *read_keys(const struct arch_model *m, uint8_t **bytes) {
    const uint64_t ne[2] = {(uint64_t)value_of(m->keys, "embedding_length"), (uint64_t)m->n_vocab};
    struct gguf_builder b;
    package *p = NULL;
    rn_error err = {0};
    size_t n;
    gb_begin(&b, 3);
    put_keys(&b, m, NULL);
    gb_tensor(&b, "token_embd.weight", 0, 2, ne, NULL, ne[0] * ne[1] * sizeof(float));
    *bytes = gb_finish(&b, &n);
    CHECK_OK(package_from_bytes("keys", *bytes, n, &p, &err), &err);
    return p;
}

uint8_t *arch_model_bytes(const struct arch_model *m, size_t *n_bytes) {
    uint8_t *keys;
    package *p = read_keys(m, &keys);
    struct gguf_builder b;
    gb_begin(&b, 3);
    put_keys(&b, m, m->change);
    struct drawer d = {m, &b, 0};
    if (p) put_tensors(&d, package_hparams(p));
    package_close(p);
    free(keys);
    return gb_finish(&b, n_bytes);
}
