// tests/support/draft_heads.c - see draft_heads.h.
#include "tests/support/draft_heads.h"
#include "base/philox.h"
#include "tests/support/folder_builder.h"
#include "tests/support/gguf_builder.h"
#include <stdio.h>
#include <stdlib.h>

// Logits of tokens 0..MADE_LIKELY-1 are random, all others are 0.
static void put_head(struct st_builder *b, const char *name, uint64_t seed, uint64_t n_vocab, uint64_t n_embd) {
    float *const w = calloc(n_vocab * n_embd, sizeof *w);
    char shape[48];
    snprintf(shape, sizeof shape, "%d,%d", (int)n_vocab, (int)n_embd);
    for (uint64_t i = 0; i < MADE_LIKELY * n_embd; i++)
        w[i] = (float)philox_uniform(seed, 0, (uint32_t)i, PHILOX_TEST) - 0.5F;
    st_bytes(b, name, "F32", shape, w, n_vocab * n_embd * sizeof *w);
    free(w);
}

uint8_t *made_medusa(const package *model, int n_heads, uint64_t seed, size_t *n_bytes) {
    const struct hparams *const h = package_hparams(model);
    const uint64_t n_embd = (uint64_t)h->n_embd;
    struct st_builder b;
    st_begin(&b);
    for (int i = 0; i < n_heads; i++) {
        const uint64_t first = seed + 3 * (uint64_t)i;
        char name[3][32];
        snprintf(name[0], sizeof name[0], "%d.0.linear.weight", i);
        snprintf(name[1], sizeof name[1], "%d.0.linear.bias", i);
        snprintf(name[2], sizeof name[2], "%d.1.weight", i);
        st_random(&b, name[0], first, n_embd, n_embd);
        st_random(&b, name[1], first + 1, n_embd, 0);
        put_head(&b, name[2], first + 2, (uint64_t)h->n_vocab, n_embd);
    }
    return st_finish(&b, n_bytes);
}

struct matrix_row {
    const char *name;
    uint64_t n_out, n_in; // n_in 0: a vector
};

static void add_rows(struct st_builder *b, const char *prefix, const struct matrix_row *rows, size_t n,
                     uint64_t seed) {
    for (size_t i = 0; i < n; i++) {
        char name[96];
        snprintf(name, sizeof name, "%s%s.weight", prefix, rows[i].name);
        st_random(b, name, seed + i, rows[i].n_out, rows[i].n_in);
    }
}

uint8_t *made_eagle(const package *model, bool own, uint64_t seed, size_t *n_bytes) {
    const struct hparams *const h = package_hparams(model);
    const uint64_t n = (uint64_t)h->n_embd, q = (uint64_t)(2 * h->head_dim), kv = (uint64_t)h->head_dim, ff = 96;
    const struct matrix_row layer[] = {{"self_attn.q_proj", q, n},  {"self_attn.k_proj", kv, n},
                                       {"self_attn.v_proj", kv, n}, {"self_attn.o_proj", n, q},
                                       {"mlp.gate_proj", ff, n},    {"mlp.up_proj", ff, n},
                                       {"mlp.down_proj", n, ff},    {"post_attention_layernorm", n, 0}};
    struct st_builder b;
    st_begin(&b);
    st_random(&b, "fc.weight", seed, n, 2 * n);
    st_random(&b, "fc.bias", seed + 1, n, 0);
    if (own) st_random(&b, "embed_tokens.weight", seed + 2, (uint64_t)h->n_vocab, n);
    add_rows(&b, "layers.0.", layer, sizeof layer / sizeof *layer, seed + 3);
    return st_finish(&b, n_bytes);
}

uint8_t *made_eagle3(const package *model, uint64_t seed, size_t *n_bytes) {
    const struct hparams *const h = package_hparams(model);
    const uint64_t n = (uint64_t)h->n_embd, q = (uint64_t)(2 * h->head_dim), kv = (uint64_t)h->head_dim, ff = 96;
    const struct matrix_row layer[] = {{"self_attn.q_proj", q, 2 * n},  {"self_attn.k_proj", kv, 2 * n},
                                       {"self_attn.v_proj", kv, 2 * n}, {"self_attn.o_proj", n, q},
                                       {"mlp.gate_proj", ff, n},        {"mlp.up_proj", ff, n},
                                       {"mlp.down_proj", n, ff},        {"input_layernorm", n, 0},
                                       {"hidden_norm", n, 0},           {"post_attention_layernorm", n, 0}};
    // every third token of the model has one of the head's
    const uint64_t n_draft = (uint64_t)h->n_vocab / 3;
    struct st_builder b;
    st_begin(&b);
    st_random(&b, "fc.weight", seed, n, 3 * n);
    add_rows(&b, "midlayer.", layer, sizeof layer / sizeof *layer, seed + 1);
    st_random(&b, "norm.weight", seed + 20, n, 0);
    st_random(&b, "lm_head.weight", seed + 21, n_draft, n);
    int64_t *const d2t = malloc(n_draft * sizeof *d2t);
    char shape[32];
    snprintf(shape, sizeof shape, "%d", (int)n_draft);
    for (uint64_t i = 0; i < n_draft; i++) d2t[i] = (int64_t)(2 * i);
    st_bytes(&b, "d2t", "I64", shape, d2t, n_draft * sizeof *d2t);
    free(d2t);
    return st_finish(&b, n_bytes);
}

void made_nextn(struct gguf_builder *b, int layer) {
    static const struct {
        const char *name;
        uint64_t ne0, ne1;
    } rows[] = {{"enorm.weight", MADE_NEXTN_EMBD, 0},
                {"hnorm.weight", MADE_NEXTN_EMBD, 0},
                {"shared_head_norm.weight", MADE_NEXTN_EMBD, 0},
                {"eh_proj.weight", 2 * MADE_NEXTN_EMBD, MADE_NEXTN_EMBD}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[80];
        const uint64_t n = rows[i].ne0 * (rows[i].ne1 ? rows[i].ne1 : 1);
        float *const data = calloc(n, sizeof *data);
        for (uint64_t k = 0; k < n; k++) {
            const float u = 2 * (float)philox_uniform(77, (uint32_t)i, (uint32_t)k, PHILOX_TEST) - 1;
            data[k] = rows[i].ne1 ? u / 8 : 1 + u / 4;
        }
        snprintf(name, sizeof name, "blk.%d.nextn.%s", layer, rows[i].name);
        gb_tensor(b, name, 0, rows[i].ne1 ? 2 : 1, (uint64_t[]){rows[i].ne0, rows[i].ne1}, data, n * sizeof *data);
        free(data);
    }
}
