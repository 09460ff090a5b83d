// formats/hparams.c - the table of hyper-parameters: key, type, range, rule; and what must hold between them.
#include "formats/hparams.h"
#include "formats/gguf_meta.h"
#include "formats/package_build.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// What is read before it is judged: the parameters, and numbers that only take part in the checks.
struct raw {
    struct hparams hp;
    int32_t value_length;
    int32_t vocab_size;
    float scale_linear;
};

enum rule {
    OPTIONAL, // absent: 0, or the default that the checks below put there
    REQUIRED,
    PER_LAYER, // required; also as an array of n_layer equal values
    PER_LAYER_OPTIONAL
};
enum kind { INT, FLOAT };

// Ranges are wide of every published model; they are here so that sums and products of sizes stay small.
static const struct row {
    const char *key;     // after "{arch}."
    const char *alt_key; // an older spelling; NULL: none
    size_t at;           // in struct raw
    enum kind kind;
    enum rule rule;
    double min, max;
} rows[] = {
#define AT(field) offsetof(struct raw, field)
    {"block_count", NULL, AT(hp.n_layer), INT, REQUIRED, 1, 1024},
    {"context_length", NULL, AT(hp.n_ctx_train), INT, REQUIRED, 1, 1 << 28},
    {"embedding_length", NULL, AT(hp.n_embd), INT, REQUIRED, 1, 1 << 18},
    {"feed_forward_length", NULL, AT(hp.n_ff), INT, PER_LAYER, 1, 1 << 22},
    {"attention.head_count", NULL, AT(hp.n_head), INT, PER_LAYER, 1, 4096},
    {"attention.head_count_kv", NULL, AT(hp.n_head_kv), INT, PER_LAYER_OPTIONAL, 1, 4096},
    {"attention.key_length", NULL, AT(hp.head_dim), INT, OPTIONAL, 1, 4096},
    {"attention.value_length", NULL, AT(value_length), INT, OPTIONAL, 1, 4096},
    {"attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon", AT(hp.norm_eps), FLOAT, REQUIRED, 1e-20, 1},
    {"attention.sliding_window", NULL, AT(hp.n_swa), INT, OPTIONAL, 1, 1 << 28},
    {"rope.dimension_count", NULL, AT(hp.n_rot), INT, OPTIONAL, 2, 4096},
    {"rope.freq_base", NULL, AT(hp.rope_theta), FLOAT, OPTIONAL, 1, 1e12},
    {"rope.scaling.factor", NULL, AT(hp.rope_factor), FLOAT, OPTIONAL, 1e-3, 1e6},
    {"rope.scale_linear", NULL, AT(scale_linear), FLOAT, OPTIONAL, 1e-3, 1e6},
    {"rope.scaling.original_context_length", NULL, AT(hp.rope_n_ctx_orig), INT, OPTIONAL, 1, 1 << 28},
    {"vocab_size", NULL, AT(vocab_size), INT, OPTIONAL, 1, 1 << 24},
    {"expert_count", NULL, AT(hp.n_expert), INT, OPTIONAL, 0, 65536},
    {"expert_used_count", NULL, AT(hp.n_expert_used), INT, OPTIONAL, 0, 65536},
#undef AT
};

static const char *const known_archs[] = {"llama"};

static bool is_known_arch(const char *arch) {
    for (size_t i = 0; i < sizeof known_archs / sizeof *known_archs; i++)
        if (strcmp(arch, known_archs[i]) == 0) return true;
    return false;
}

struct key {
    char text[sizeof((struct hparams *)0)->arch + 64];
};
static struct key key_of(const struct raw *raw, const char *suffix) {
    struct key k;
    snprintf(k.text, sizeof k.text, "%s.%s", raw->hp.arch, suffix);
    return k;
}

// An array with a number for each layer: as long as there are layers, and all of them equal.
static rn_status read_per_layer(const struct gguf *g, const char *key, const struct row *row, int32_t n_layer,
                                int64_t *out, rn_error *err) {
    const struct gguf_pair *pair;
    const rn_status st = gguf_get_array(g, key, GGUF_I32, &pair, NULL, err);
    if (st != RN_OK) return st;
    if (pair->n != (uint64_t)n_layer)
        return fail(err, RN_E_FORMAT, "key %s: %" PRIu64 " values for %" PRId32 " layers", key, pair->n, n_layer);
    for (uint64_t i = 0; i < pair->n; i++) {
        const int64_t v = gguf_int_item(pair, i);
        if ((double)v < row->min || (double)v > row->max)
            return fail(err, RN_E_FORMAT, "key %s: item %" PRIu64 ": %" PRId64 " is outside %.0f..%.0f", key, i, v,
                        row->min, row->max);
        if (v != gguf_int_item(pair, 0))
            return fail(err, RN_E_UNSUPPORTED,
                        "key %s: layers that differ (%" PRId64 ", %" PRId64 ") are not supported", key,
                        gguf_int_item(pair, 0), v);
    }
    *out = gguf_int_item(pair, 0);
    return RN_OK;
}

static rn_status read_int(const struct gguf *g, const char *key, const struct row *row, struct raw *raw, bool *found,
                          rn_error *err) {
    const struct gguf_pair *pair = gguf_find(g, key);
    const bool per_layer = row->rule == PER_LAYER || row->rule == PER_LAYER_OPTIONAL;
    int64_t v = 0;
    *found = pair != NULL;
    const rn_status st = per_layer && pair && pair->type == GGUF_ARRAY
                             ? read_per_layer(g, key, row, raw->hp.n_layer, &v, err)
                             : gguf_get_int(g, key, (int64_t)row->min, (int64_t)row->max, &v, found, err);
    const int32_t narrow = (int32_t)v; // max of every row fits
    if (st == RN_OK && *found) memcpy((char *)raw + row->at, &narrow, sizeof narrow);
    return st;
}

static rn_status read_float(const struct gguf *g, const char *key, const struct row *row, struct raw *raw,
                            bool *found, rn_error *err) {
    float v = 0;
    const rn_status st = gguf_get_float(g, key, row->min, row->max, &v, found, err);
    if (st == RN_OK && *found) memcpy((char *)raw + row->at, &v, sizeof v);
    return st;
}

static rn_status read_row(const struct gguf *g, const struct row *row, struct raw *raw, rn_error *err) {
    const char *const spellings[] = {row->key, row->alt_key};
    for (int i = 0; i < 2 && spellings[i]; i++) {
        const struct key key = key_of(raw, spellings[i]);
        bool found;
        const rn_status st = row->kind == INT ? read_int(g, key.text, row, raw, &found, err)
                                              : read_float(g, key.text, row, raw, &found, err);
        if (st != RN_OK || found) return st;
    }
    if (row->rule == REQUIRED || row->rule == PER_LAYER)
        return fail(err, RN_E_FORMAT, "key %s: missing", key_of(raw, row->key).text);
    return RN_OK;
}

static rn_status check_heads(struct raw *raw, rn_error *err) {
    struct hparams *hp = &raw->hp;
    if (hp->n_head_kv == 0) hp->n_head_kv = hp->n_head;
    if (hp->n_head % hp->n_head_kv != 0)
        return fail(err, RN_E_FORMAT, "key %s: %" PRId32 " does not divide head_count %" PRId32,
                    key_of(raw, "attention.head_count_kv").text, hp->n_head_kv, hp->n_head);
    if (hp->head_dim == 0) {
        if (hp->n_embd % hp->n_head != 0)
            return fail(err, RN_E_FORMAT,
                        "key %s: %" PRId32 " does not divide embedding_length %" PRId32
                        ", and there is no key_length",
                        key_of(raw, "attention.head_count").text, hp->n_head, hp->n_embd);
        hp->head_dim = hp->n_embd / hp->n_head;
    }
    if (raw->value_length != 0 && raw->value_length != hp->head_dim)
        return fail(err, RN_E_UNSUPPORTED, "key %s: %" PRId32 ", where keys have %" PRId32 ": both must be equal",
                    key_of(raw, "attention.value_length").text, raw->value_length, hp->head_dim);
    return RN_OK;
}

static rn_status check_rope(struct raw *raw, rn_error *err) {
    struct hparams *hp = &raw->hp;
    if (hp->n_rot == 0) hp->n_rot = hp->head_dim;
    if (hp->n_rot % 2 != 0 || hp->n_rot > hp->head_dim)
        return fail(err, RN_E_FORMAT, "key %s: %" PRId32 " is not even and at most the head's %" PRId32,
                    key_of(raw, "rope.dimension_count").text, hp->n_rot, hp->head_dim);
    if (hp->rope_theta == 0) hp->rope_theta = 10000;
    return RN_OK;
}

// A factor without a type means linear: files made before there was a type have only the factor.
static rn_status read_rope_scaling(const struct gguf *g, struct raw *raw, rn_error *err) {
    static const struct {
        const char *name;
        enum rope_scaling scaling;
    } names[] = {{"none", ROPE_SCALING_NONE}, {"linear", ROPE_SCALING_LINEAR}, {"yarn", ROPE_SCALING_YARN}};
    struct hparams *hp = &raw->hp;
    const struct key key = key_of(raw, "rope.scaling.type");
    struct vocab_str s;
    bool found;
    const rn_status st = gguf_get_string(g, key.text, &s, &found, err);
    if (st != RN_OK) return st;
    if (hp->rope_factor == 0) hp->rope_factor = raw->scale_linear;
    size_t i = 0;
    if (!found)
        i = hp->rope_factor == 0 ? 0 : 1;
    else
        while (i < 3 && (strlen(names[i].name) != s.n || memcmp(names[i].name, s.s, s.n) != 0)) i++;
    if (i == 3)
        return fail(err, RN_E_UNSUPPORTED, "key %s: \"%.*s\" is not known; none, linear and yarn are", key.text,
                    gguf_shown(s.s, s.n), s.s);
    hp->rope_scaling = names[i].scaling;
    if (hp->rope_factor == 0 || hp->rope_scaling == ROPE_SCALING_NONE) hp->rope_factor = 1;
    if (hp->rope_scaling != ROPE_SCALING_YARN)
        hp->rope_n_ctx_orig = 0;
    else if (hp->rope_n_ctx_orig == 0)
        hp->rope_n_ctx_orig = hp->n_ctx_train;
    return RN_OK;
}

static rn_status check_experts(const struct raw *raw, rn_error *err) {
    const struct hparams *hp = &raw->hp;
    const int32_t least = hp->n_expert > 0 ? 1 : 0;
    if (hp->n_expert_used < least || hp->n_expert_used > hp->n_expert)
        return fail(err, RN_E_FORMAT, "key %s: %" PRId32 " of %" PRId32 " experts",
                    key_of(raw, "expert_used_count").text, hp->n_expert_used, hp->n_expert);
    return RN_OK;
}

// n_vocab is what the embedding holds: files may pad it beyond the token list, never cut it short.
static rn_status check_vocab(struct raw *raw, const struct package *p, rn_error *err) {
    static const char name[] = "token_embd.weight";
    const struct tensor_view *t = package_tensor(p, name);
    const int64_t max = 1 << 24;
    if (!t)
        return fail(err, RN_E_FORMAT, "tensor %s: missing; its rows are the vocabulary of %s", name, raw->hp.arch);
    if (t->n_dims != 2 || t->ne[0] != (uint64_t)raw->hp.n_embd)
        return fail(err, RN_E_FORMAT,
                    "tensor %s: %d dimensions, rows of %" PRIu64 "; must be 2 and embedding_length %" PRId32, name,
                    t->n_dims, t->ne[0], raw->hp.n_embd);
    if (t->ne[1] > (uint64_t)max)
        return fail(err, RN_E_LIMIT, "tensor %s: %" PRIu64 " rows, limit %" PRId64, name, t->ne[1], max);
    raw->hp.n_vocab = (int32_t)t->ne[1];
    if (p->vocab.n_tokens > raw->hp.n_vocab)
        return fail(err, RN_E_FORMAT, "tensor %s: %" PRId32 " rows for %" PRId32 " tokens of the vocabulary", name,
                    raw->hp.n_vocab, p->vocab.n_tokens);
    if (raw->vocab_size != 0 && (raw->vocab_size > raw->hp.n_vocab || raw->vocab_size < p->vocab.n_tokens))
        return fail(err, RN_E_FORMAT, "key %s: %" PRId32 ", with %" PRId32 " tokens and %" PRId32 " rows of %s",
                    key_of(raw, "vocab_size").text, raw->vocab_size, p->vocab.n_tokens, raw->hp.n_vocab, name);
    return RN_OK;
}

rn_status hparams_read(const struct gguf *g, struct package *p, rn_error *err) {
    if (p->n_tensors == 0 || strcmp(p->hparams.file_type, "model") != 0 || !is_known_arch(p->hparams.arch))
        return RN_OK;
    struct raw raw = {.hp = p->hparams};
    rn_status st = RN_OK;
    for (size_t i = 0; st == RN_OK && i < sizeof rows / sizeof *rows; i++) st = read_row(g, &rows[i], &raw, err);
    if (st == RN_OK) st = check_heads(&raw, err);
    if (st == RN_OK) st = check_rope(&raw, err);
    if (st == RN_OK) st = read_rope_scaling(g, &raw, err);
    if (st == RN_OK) st = check_experts(&raw, err);
    if (st == RN_OK) st = check_vocab(&raw, p, err);
    if (st != RN_OK) return st;
    p->hparams = raw.hp;
    p->hparams.is_checked = true;
    return RN_OK;
}
