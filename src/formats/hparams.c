// formats/hparams.c - the table of hyper-parameters, and what must hold between them; see hparams.h.
#include "formats/hparams.h"
#include "formats/package_build.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define AT(field) offsetof(struct raw_hparams, field)
#define INT       HPARAM_INT
#define FLOAT     HPARAM_FLOAT
#define NO        {NULL, NULL, HPARAM_NOT_THERE}
#define OPT(...)  {__VA_ARGS__, HPARAM_OPTIONAL}
#define REQ(...)  {__VA_ARGS__, HPARAM_REQUIRED}

// Ranges are wide of every published model; they are here so that sums and products of sizes stay small.
// clang-format off
const struct hparam_row hparam_rows[] = {
    {AT(hp.n_layer), INT, 1, 1024, {REQ("block_count", NULL), REQ("num_hidden_layers", NULL)}},
    {AT(hp.n_ctx_train), INT, 1, 1 << 28, {REQ("context_length", NULL), REQ("max_position_embeddings", NULL)}},
    {AT(hp.n_embd), INT, 1, 1 << 18, {REQ("embedding_length", NULL), REQ("hidden_size", NULL)}},
    {AT(hp.n_ff), INT, 1, 1 << 22,
     {{"feed_forward_length", NULL, HPARAM_PER_LAYER}, REQ("intermediate_size", NULL)}},
    {AT(hp.n_head), INT, 1, 4096, {{"attention.head_count", NULL, HPARAM_PER_LAYER}, REQ("num_attention_heads", NULL)}},
    {AT(hp.n_head_kv), INT, 1, 4096,
     {{"attention.head_count_kv", NULL, HPARAM_PER_LAYER_OPTIONAL}, OPT("num_key_value_heads", NULL)}},
    {AT(hp.head_dim), INT, 1, 4096, {OPT("attention.key_length", NULL), OPT("head_dim", NULL)}},
    {AT(value_length), INT, 1, 4096, {OPT("attention.value_length", NULL), NO}},
    {AT(hp.norm_eps), FLOAT, 1e-20, 1,
     {REQ("attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon"), REQ("rms_norm_eps", NULL)}},
    {AT(hp.n_swa), INT, 1, 1 << 28, {OPT("attention.sliding_window", NULL), NO}},
    {AT(hp.n_rot), INT, 2, 4096, {OPT("rope.dimension_count", NULL), NO}},
    {AT(partial_rotary), FLOAT, 1, 1, {NO, OPT("rope.partial_rotary_factor", "partial_rotary_factor")}},
    {AT(hp.rope_theta), FLOAT, 1, 1e12, {OPT("rope.freq_base", NULL), OPT("rope.rope_theta", "rope_theta")}},
    {AT(hp.rope_factor), FLOAT, 1e-3, 1e6, {OPT("rope.scaling.factor", NULL), OPT("rope.factor", NULL)}},
    {AT(scale_linear), FLOAT, 1e-3, 1e6, {OPT("rope.scale_linear", NULL), NO}},
    {AT(hp.rope_n_ctx_orig), INT, 1, 1 << 28,
     {OPT("rope.scaling.original_context_length", NULL),
      OPT("original_max_position_embeddings", "rope.original_max_position_embeddings")}},
    {AT(hp.rope_beta_fast), FLOAT, 0, 1e6, {OPT("rope.scaling.yarn_beta_fast", NULL), OPT("rope.beta_fast", NULL)}},
    {AT(hp.rope_beta_slow), FLOAT, 0, 1e6, {OPT("rope.scaling.yarn_beta_slow", NULL), OPT("rope.beta_slow", NULL)}},
    {AT(hp.rope_attn_factor), FLOAT, 1e-3, 1e3, {OPT("rope.scaling.attn_factor", NULL), NO}},
    {AT(attention_factor), FLOAT, 1e-3, 1e3, {NO, OPT("rope.attention_factor", NULL)}},
    {AT(yarn_ext), FLOAT, 1, 1, {OPT("rope.scaling.yarn_ext_factor", NULL), NO}},
    {AT(hp.rope_mscale), FLOAT, 0, 1e3, {NO, OPT("rope.mscale", NULL)}},
    {AT(hp.rope_mscale_all), FLOAT, 0, 1e3, {OPT("rope.scaling.yarn_log_multiplier", NULL), OPT("rope.mscale_all_dim", NULL)}},
    {AT(low_freq), FLOAT, 1e-3, 1e6, {NO, OPT("rope.low_freq_factor", NULL)}},
    {AT(high_freq), FLOAT, 1e-3, 1e6, {NO, OPT("rope.high_freq_factor", NULL)}},
    {AT(vocab_size), INT, 1, 1 << 24, {OPT("vocab_size", NULL), REQ("vocab_size", NULL)}},
    {AT(hp.n_expert), INT, 0, 65536, {OPT("expert_count", NULL), NO}},
    {AT(hp.n_expert_used), INT, 0, 65536, {OPT("expert_used_count", NULL), NO}},
};
// clang-format on
const size_t hparam_n_rows = sizeof hparam_rows / sizeof *hparam_rows;

bool hparams_known_arch(const char *arch) {
    static const char *const known[] = {"llama"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(arch, known[i]) == 0) return true;
    return false;
}

struct hparam_name hparam_name_of(const struct raw_hparams *raw, const char *spelling) {
    static const char rope[] = "rope.";
    struct hparam_name n;
    if (raw->source == HPARAMS_GGUF)
        snprintf(n.text, sizeof n.text, "key %s.%s", raw->hp.arch, spelling);
    else if (strncmp(spelling, rope, sizeof rope - 1) == 0)
        snprintf(n.text, sizeof n.text, "member %s.%s", raw->rope_object, spelling + sizeof rope - 1);
    else
        snprintf(n.text, sizeof n.text, "member %s", spelling);
    return n;
}

// The name of the number at an offset, in the format that the parameters come from.
static struct hparam_name name_at(const struct raw_hparams *raw, size_t at) {
    size_t i = 0;
    while (hparam_rows[i].at != at) i++; // offsets are written with AT() here: there is a row
    return hparam_name_of(raw, hparam_rows[i].in[raw->source].name);
}

void hparam_set_int(struct raw_hparams *raw, const struct hparam_row *row, int32_t v) {
    memcpy((char *)raw + row->at, &v, sizeof v);
}
void hparam_set_float(struct raw_hparams *raw, const struct hparam_row *row, float v) {
    memcpy((char *)raw + row->at, &v, sizeof v);
}

static rn_status check_heads(struct raw_hparams *raw, rn_error *err) {
    struct hparams *hp = &raw->hp;
    if (hp->n_head_kv == 0) hp->n_head_kv = hp->n_head;
    if (hp->n_head % hp->n_head_kv != 0)
        return fail(err, RN_E_FORMAT, "%s: %" PRId32 " does not divide the number of heads, %" PRId32,
                    name_at(raw, AT(hp.n_head_kv)).text, hp->n_head_kv, hp->n_head);
    if (hp->head_dim == 0) {
        if (hp->n_embd % hp->n_head != 0)
            return fail(err, RN_E_FORMAT,
                        "%s: %" PRId32 " does not divide the embedding's width, %" PRId32
                        ", and no head's width is given",
                        name_at(raw, AT(hp.n_head)).text, hp->n_head, hp->n_embd);
        hp->head_dim = hp->n_embd / hp->n_head;
    }
    if (raw->value_length != 0 && raw->value_length != hp->head_dim)
        return fail(err, RN_E_UNSUPPORTED, "%s: %" PRId32 ", where keys have %" PRId32 ": both must be equal",
                    name_at(raw, AT(value_length)).text, raw->value_length, hp->head_dim);
    return RN_OK;
}

static rn_status check_rotation(struct raw_hparams *raw, rn_error *err) {
    struct hparams *hp = &raw->hp;
    const size_t named = raw->source == HPARAMS_GGUF ? AT(hp.n_rot) : AT(hp.head_dim);
    if (hp->n_rot == 0) hp->n_rot = hp->head_dim;
    if (hp->n_rot % 2 != 0 || hp->n_rot > hp->head_dim)
        return fail(err, RN_E_FORMAT, "%s: %" PRId32 " is not even and at most the head's %" PRId32,
                    name_at(raw, named).text, hp->n_rot, hp->head_dim);
    if (hp->rope_theta == 0) hp->rope_theta = 10000;
    return RN_OK;
}

// Defaults of yarn where a number is absent or 0: YaRN (Peng et al. 2023), as transformers and llama.cpp have them.
static rn_status check_yarn(struct raw_hparams *raw, rn_error *err) {
    struct hparams *hp = &raw->hp;
    if (hp->rope_n_ctx_orig == 0) hp->rope_n_ctx_orig = hp->n_ctx_train;
    if (hp->rope_beta_fast == 0) hp->rope_beta_fast = 32;
    if (hp->rope_beta_slow == 0) hp->rope_beta_slow = 1;
    if (hp->rope_beta_fast < hp->rope_beta_slow)
        return fail(err, RN_E_FORMAT, "%s: %g is below beta_slow, %g", name_at(raw, AT(hp.rope_beta_fast)).text,
                    (double)hp->rope_beta_fast, (double)hp->rope_beta_slow);
    if (hp->rope_theta <= 1)
        return fail(err, RN_E_FORMAT, "%s: %g, where yarn needs more than 1", name_at(raw, AT(hp.rope_theta)).text,
                    (double)hp->rope_theta);
    if (raw->source == HPARAMS_CONFIG && (hp->rope_mscale == 0 || hp->rope_mscale_all == 0)) // only as a pair
        hp->rope_mscale = hp->rope_mscale_all = 0;
    if (hp->rope_mscale == 0) hp->rope_mscale = 1;
    if (raw->attention_factor != 0) { // the whole factor is given: nothing follows from rope_factor
        hp->rope_attn_factor = raw->attention_factor;
        hp->rope_mscale = hp->rope_mscale_all = 0;
    }
    return RN_OK;
}

static rn_status check_scaling(struct raw_hparams *raw, rn_error *err) {
    struct hparams *hp = &raw->hp;
    if (hp->rope_factor == 0 || hp->rope_scaling == ROPE_SCALING_NONE) hp->rope_factor = 1;
    if (hp->rope_attn_factor == 0) hp->rope_attn_factor = 1;
    if (hp->rope_scaling == ROPE_SCALING_YARN) return check_yarn(raw, err);
    hp->rope_n_ctx_orig = 0;
    hp->rope_beta_fast = hp->rope_beta_slow = hp->rope_mscale = hp->rope_mscale_all = 0;
    return RN_OK;
}

static rn_status check_experts(const struct raw_hparams *raw, rn_error *err) {
    const struct hparams *hp = &raw->hp;
    const int32_t least = hp->n_expert > 0 ? 1 : 0;
    if (hp->n_expert_used < least || hp->n_expert_used > hp->n_expert)
        return fail(err, RN_E_FORMAT, "%s: %" PRId32 " of %" PRId32 " experts",
                    name_at(raw, AT(hp.n_expert_used)).text, hp->n_expert_used, hp->n_expert);
    return RN_OK;
}

rn_status hparams_fill_layers(struct raw_hparams *raw, struct package *p, rn_error *err) {
    struct hparams *hp = &raw->hp;
    struct layer_hparams *layers = arena_alloc(&p->arena, (size_t)hp->n_layer * sizeof *layers);
    if (!layers) return fail(err, RN_E_NOMEM, "out of memory for %" PRId32 " layers", hp->n_layer);
    hp->head_dim_v = hp->head_dim;
    for (int32_t l = 0; l < hp->n_layer; l++)
        layers[l] = (struct layer_hparams){0,         hp->n_head, hp->n_head_kv, hp->head_dim, hp->head_dim_v,
                                           hp->n_rot, hp->n_ff,   l};
    hp->layers = layers;
    return RN_OK;
}

rn_status hparams_check(struct raw_hparams *raw, rn_error *err) {
    rn_status st = check_heads(raw, err);
    if (st == RN_OK) st = check_rotation(raw, err);
    if (st == RN_OK) st = check_scaling(raw, err);
    if (st == RN_OK) st = check_experts(raw, err);
    return st;
}

// n_vocab is what the embedding holds: GGUF files may pad it beyond the token list, never cut it short.
rn_status hparams_check_vocab(struct raw_hparams *raw, const struct package *p, rn_error *err) {
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
    const int32_t least = raw->source == HPARAMS_CONFIG ? raw->hp.n_vocab : p->vocab.n_tokens;
    if (raw->vocab_size != 0 && (raw->vocab_size > raw->hp.n_vocab || raw->vocab_size < least))
        return fail(err, RN_E_FORMAT, "%s: %" PRId32 ", with %" PRId32 " tokens and %" PRId32 " rows of %s",
                    name_at(raw, AT(vocab_size)).text, raw->vocab_size, p->vocab.n_tokens, raw->hp.n_vocab, name);
    return RN_OK;
}
