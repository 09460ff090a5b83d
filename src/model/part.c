// model/part.c - parts that stand on another model: next-token-prediction layers, Medusa heads,
// EAGLE heads.
//
// A part is built as a model is, from lists of tensors and operations. Its hyper-parameters are
// copied from the base model; what the shapes of the part's own tensors say replaces them.
#include "model/arch_ops.h"
#include "model/arch_tensors.h"
#include "model/model_private.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// Embedding and input vector are concatenated; a matrix makes a row of n_embd numbers of both.
#define OPS_CONCAT                                                                                                   \
    {OP_COPY, .src = BUF_NORMED, .dst = BUF_PAIR, .part = DIM_EMBD}, {                                               \
        OP_COPY, .src = BUF_DELTA, .dst = BUF_PAIR, .part = DIM_EMBD, .dst_at = DIM_EMBD                             \
    }
#define OPS_PAIR OPS_CONCAT, LINEAR(BUF_PAIR, BUF_X, ROLE_PART_PROJ, ROLE_PART_PROJ_BIAS)
#define OPS_READ                                                                                                     \
    {OP_EMBED, .dst = BUF_NORMED, .matrix = ROLE_TOKEN_EMBD, .factor = FACTOR_EMBD}, { OP_VECTOR, .dst = BUF_DELTA }

// DeepSeek-V3 (2412.19437, section 2.2), under the names of GGUF files. The layer itself is built
// like the base model's.
static const struct tensor_spec nextn_tensors[] = {
    {ROLE_TOKEN_EMBD, "blk.%n.nextn.embed_tokens.weight", DIM_EMBD, DIM_VOCAB, .optional = true},
    {ROLE_PART_EMBD_NORM, "blk.%n.nextn.enorm.weight", DIM_EMBD},
    {ROLE_PART_VECTOR_NORM, "blk.%n.nextn.hnorm.weight", DIM_EMBD},
    {ROLE_PART_PROJ, "blk.%n.nextn.eh_proj.weight", DIM_EMBD_TWICE, DIM_EMBD},
    {ROLE_OUTPUT_NORM, "blk.%n.nextn.shared_head_norm.weight", DIM_EMBD, .optional = true},
    {ROLE_OUTPUT, "blk.%n.nextn.shared_head_head.weight", DIM_EMBD, DIM_VOCAB, .optional = true},
};
static const struct op_spec nextn_begin[] = {OPS_READ, RMS_NORM(BUF_NORMED, BUF_NORMED, ROLE_PART_EMBD_NORM),
                                             RMS_NORM(BUF_DELTA, BUF_DELTA, ROLE_PART_VECTOR_NORM), OPS_PAIR};
static const struct op_spec nextn_end[] = {OPS_END_RMS};

// Medusa (2401.10774): residual blocks over the base model's hidden state, each a layer here, then
// a head of its own.
static const struct tensor_spec medusa_tensors[] = {
    {ROLE_PART_PROJ, "%n.%d.linear.weight", DIM_EMBD, DIM_EMBD},
    {ROLE_PART_PROJ_BIAS, "%n.%d.linear.bias", DIM_EMBD, .optional = true},
    {ROLE_OUTPUT, "%n.%p.weight", DIM_EMBD, DIM_VOCAB},
};
static const struct op_spec medusa_begin[] = {{OP_VECTOR, .dst = BUF_X}};
static const struct op_spec medusa_layer[] = {
    LINEAR(BUF_X, BUF_DELTA, ROLE_PART_PROJ, ROLE_PART_PROJ_BIAS),
    {OP_ACTIVATE, .src = BUF_DELTA, .dst = BUF_DELTA, .fn = ACT_FN_SILU},
    {OP_ADD, .src = BUF_DELTA, .dst = BUF_X},
};
static const struct op_spec medusa_end[] = {{OP_GATHER, .src = BUF_X, .dst = BUF_HIDDEN}, OPS_HEAD};
static const struct arch medusa = {TENSORS(medusa_tensors), BEGIN(medusa_begin), LAYER(medusa_layer),
                                   END(medusa_end)};

// EAGLE-1 (2401.15077): a Llama layer whose attention reads its input without a norm. Rotary pairs
// are halves of a head, as in folders of transformers.
static const struct tensor_spec eagle_tensors[] = {
    {ROLE_TOKEN_EMBD, "embed_tokens.weight", DIM_EMBD, DIM_VOCAB, .optional = true},
    {ROLE_PART_PROJ, "fc.weight", DIM_EMBD_TWICE, DIM_EMBD},
    {ROLE_PART_PROJ_BIAS, "fc.bias", DIM_EMBD, .optional = true},
    {ROLE_Q, "layers.%d.self_attn.q_proj.weight", DIM_EMBD, DIM_Q},
    {ROLE_K, "layers.%d.self_attn.k_proj.weight", DIM_EMBD, DIM_K},
    {ROLE_V, "layers.%d.self_attn.v_proj.weight", DIM_EMBD, DIM_V},
    {ROLE_O, "layers.%d.self_attn.o_proj.weight", DIM_O, DIM_EMBD},
    {ROLE_FFN_NORM, "layers.%d.post_attention_layernorm.weight", DIM_EMBD},
    {ROLE_GATE, "layers.%d.mlp.gate_proj.weight", DIM_EMBD, DIM_FF},
    {ROLE_UP, "layers.%d.mlp.up_proj.weight", DIM_EMBD, DIM_FF},
    {ROLE_DOWN, "layers.%d.mlp.down_proj.weight", DIM_FF, DIM_EMBD},
};
static const struct op_spec eagle_begin[] = {OPS_READ, OPS_PAIR};
static const struct op_spec eagle_layer[] = {OPS_QKV(BUF_X),
                                             OPS_ROPE,
                                             OPS_ATTEND,
                                             ADD(BUF_DELTA, BUF_X),
                                             RMS_NORM(BUF_X, BUF_NORMED, ROLE_FFN_NORM),
                                             OPS_FFN_GATED(BUF_NORMED, BUF_DELTA, ACT_FN_SILU),
                                             ADD(BUF_DELTA, BUF_X)};
static const struct op_spec eagle_end[] = {{OP_GATHER, .src = BUF_X, .dst = BUF_HIDDEN}, OPS_HEAD};
static const struct arch eagle = {TENSORS(eagle_tensors), BEGIN(eagle_begin), LAYER(eagle_layer), END(eagle_end),
                                  .rope_halves = true};

// EAGLE-3: attention reads both, each with a norm of its own; what it makes is added to the vector.
// The final norm is the head's alone: the hidden state that a next row reads is without it.
static const struct tensor_spec eagle3_tensors[] = {
    {ROLE_TOKEN_EMBD, "embed_tokens.weight", DIM_EMBD, DIM_TOKENS, .optional = true},
    {ROLE_PART_EMBD_NORM, "%p.input_layernorm.weight", DIM_EMBD},
    {ROLE_PART_VECTOR_NORM, "%p.hidden_norm.weight", DIM_EMBD},
    {ROLE_Q, "%p.self_attn.q_proj.weight", DIM_EMBD_TWICE, DIM_Q},
    {ROLE_K, "%p.self_attn.k_proj.weight", DIM_EMBD_TWICE, DIM_K},
    {ROLE_V, "%p.self_attn.v_proj.weight", DIM_EMBD_TWICE, DIM_V},
    {ROLE_O, "%p.self_attn.o_proj.weight", DIM_O, DIM_EMBD},
    {ROLE_FFN_NORM, "%p.post_attention_layernorm.weight", DIM_EMBD},
    {ROLE_GATE, "%p.mlp.gate_proj.weight", DIM_EMBD, DIM_FF},
    {ROLE_UP, "%p.mlp.up_proj.weight", DIM_EMBD, DIM_FF},
    {ROLE_DOWN, "%p.mlp.down_proj.weight", DIM_FF, DIM_EMBD},
    {ROLE_OUTPUT_NORM, "norm.weight", DIM_EMBD},
    {ROLE_OUTPUT, "lm_head.weight", DIM_EMBD, DIM_VOCAB, .optional = true},
};
static const struct op_spec eagle3_begin[] = {
    {OP_EMBED, .dst = BUF_NORMED, .matrix = ROLE_TOKEN_EMBD, .factor = FACTOR_EMBD}, {OP_VECTOR, .dst = BUF_X}};
#define EAGLE3_REST                                                                                                  \
    OPS_CONCAT, OPS_QKV(BUF_PAIR), OPS_ROPE, OPS_ATTEND, ADD(BUF_DELTA, BUF_X),                                      \
        RMS_NORM(BUF_X, BUF_NORMED, ROLE_FFN_NORM), OPS_FFN_GATED(BUF_NORMED, BUF_DELTA, ACT_FN_SILU),               \
        ADD(BUF_DELTA, BUF_X)
static const struct op_spec eagle3_layer[] = {RMS_NORM(BUF_NORMED, BUF_NORMED, ROLE_PART_EMBD_NORM),
                                              RMS_NORM(BUF_X, BUF_DELTA, ROLE_PART_VECTOR_NORM), EAGLE3_REST};
// norm_before_residual: what is made is added to the vector after its norm.
static const struct op_spec eagle3_normed_layer[] = {RMS_NORM(BUF_NORMED, BUF_NORMED, ROLE_PART_EMBD_NORM),
                                                     RMS_NORM(BUF_X, BUF_X, ROLE_PART_VECTOR_NORM),
                                                     {OP_COPY, .src = BUF_X, .dst = BUF_DELTA, .part = DIM_EMBD},
                                                     EAGLE3_REST};
static const struct op_spec eagle3_end[] = {{OP_GATHER, .src = BUF_X, .dst = BUF_HIDDEN},
                                            RMS_NORM(BUF_HIDDEN, BUF_LAST, ROLE_OUTPUT_NORM),
                                            LINEAR(BUF_LAST, BUF_LOGITS, ROLE_OUTPUT, ROLE_NONE)};
static const struct arch eagle3 = {TENSORS(eagle3_tensors), BEGIN(eagle3_begin), LAYER(eagle3_layer), END(eagle3_end),
                                   .rope_halves = true};

static const struct tensor_spec eagle3_taps_tensors[] = {
    {ROLE_PART_TAPS, "fc.weight", DIM_EMBD_THRICE, DIM_EMBD},
    {ROLE_PART_VECTOR_NORM, "input_norm.weight", DIM_EMBD_THRICE, .optional = true}};
static const struct op_spec eagle3_taps_begin[] = {{OP_VECTOR, .dst = BUF_TAPS},
                                                   RMS_NORM_IF_ANY(BUF_TAPS, ROLE_PART_VECTOR_NORM),
                                                   LINEAR(BUF_TAPS, BUF_X, ROLE_PART_TAPS, ROLE_NONE)};
static const struct op_spec eagle3_taps_end[] = {{OP_GATHER, .src = BUF_X, .dst = BUF_HIDDEN}};
static const struct arch eagle3_taps = {TENSORS(eagle3_taps_tensors), BEGIN(eagle3_taps_begin), END(eagle3_taps_end)};

static const struct op_spec head_begin[] = {{OP_VECTOR, .dst = BUF_X}};
static const struct op_spec head_end[] = {{OP_GATHER, .src = BUF_X, .dst = BUF_HIDDEN},
                                          LINEAR(BUF_HIDDEN, BUF_LOGITS, ROLE_OUTPUT, ROLE_OUTPUT_BIAS)};
static const struct arch head_alone = {BEGIN(head_begin), END(head_end)};

// own: the prefix of the package's tensors that belong to the part.
static void set_own(struct model *m, const char *format, int32_t number) {
    m->number = number;
    snprintf(m->own, sizeof m->own, format, number);
}

// The part's layers, all zero.
static rn_status set_layers(struct model *m, int32_t n_layer, rn_error *err) {
    m->part_layers = arena_alloc(&m->mem, (size_t)n_layer * sizeof *m->part_layers);
    if (!m->part_layers) return model_no_memory(m, err);
    m->part_h.n_layer = n_layer;
    m->part_h.n_layer_after = m->part_h.n_deepstack = 0;
    m->part_h.layers = m->part_layers;
    return RN_OK;
}

// The base model's last attention layer, preferably one without a window: layers of parts are built
// like it. NULL: the base has none.
static const struct layer_hparams *attending_layer(const struct hparams *h) {
    const struct layer_hparams *best = NULL;
    for (int32_t l = 0; l < h->n_layer; l++)
        if (layer_attends(h->layers[l].flags) &&
            !(best && !(best->flags & LAYER_SWA) && h->layers[l].flags & LAYER_SWA))
            best = &h->layers[l];
    return best;
}

static rn_status begin_layer(struct model *m, rn_error *err) {
    const struct layer_hparams *like = attending_layer(m->base->h);
    if (!like)
        return fail(err, RN_E_UNSUPPORTED, "%s: a part with attention, on a model without", package_path(m->pkg));
    const rn_status st = set_layers(m, 1, err);
    if (st != RN_OK) return st;
    *m->part_layers = *like;
    m->part_layers->kv_layer = 0;
    m->part_layers->flags &= ~(uint32_t)LAYER_SHARED_KV;
    return RN_OK;
}

// The part's own tensors, then those of one of the base's layers.
static rn_status add_layer_tensors(struct model *m, const struct arch *base, rn_error *err) {
    const size_t n_own = sizeof nextn_tensors / sizeof *nextn_tensors;
    struct tensor_spec *all = arena_alloc(&m->mem, (n_own + base->tensors.n) * sizeof *all);
    if (!all) return model_no_memory(m, err);
    size_t n = n_own;
    memcpy(all, nextn_tensors, sizeof nextn_tensors);
    for (size_t i = 0; i < base->tensors.n; i++)
        if (strstr(base->tensors.at[i].name, "%d")) all[n++] = base->tensors.at[i];
    m->part_arch = *base;
    m->part_arch.tensors = (struct tensor_list){all, n};
    m->part_arch.begin = (struct op_list){nextn_begin, COUNT(nextn_begin)};
    m->part_arch.end = (struct op_list){nextn_end, COUNT(nextn_end)};
    return RN_OK;
}

static rn_status begin_nextn(struct model *m, const struct part_spec *s, rn_error *err) {
    const struct hparams *base = m->base->h;
    const char *why = package_nextn_left_out(m->pkg);
    char router[64];
    if (s->number < 0 || s->number >= base->n_layer_after)
        return fail(err, RN_E_ARG, "%s: next-token layer %" PRId32 ": the file has %" PRId32 "%s%s",
                    package_path(m->pkg), s->number, base->n_layer_after, why ? " that can be used: " : "",
                    why ? why : "");
    rn_status st = begin_layer(m, err);
    if (st != RN_OK) return st;
    m->first_layer = base->n_layer + s->number;
    set_own(m, "blk.%" PRId32 ".", m->first_layer);
    snprintf(router, sizeof router, "blk.%" PRId32 ".ffn_gate_inp.weight", m->first_layer);
    if (package_tensor(m->pkg, router))
        m->part_layers->flags |= LAYER_EXPERTS;
    else
        m->part_layers->flags &= ~(uint32_t)LAYER_EXPERTS;
    return add_layer_tensors(m, m->base->arch, err);
}

// Residual blocks of a Medusa head: tensors "N.0.linear.weight", "N.1.linear.weight" and so on.
static int32_t medusa_blocks(const struct model *m, int32_t number) {
    char name[64];
    for (int32_t n = 0;; n++) {
        snprintf(name, sizeof name, "%" PRId32 ".%" PRId32 ".linear.weight", number, n);
        if (!package_tensor(m->pkg, name)) return n;
    }
}

static rn_status begin_medusa(struct model *m, const struct part_spec *s, rn_error *err) {
    const int32_t n_blocks = medusa_blocks(m, s->number);
    if (n_blocks == 0)
        return fail(err, RN_E_ARG, "%s: no tensor %" PRId32 ".0.linear.weight: the file has no Medusa head %" PRId32,
                    package_path(m->pkg), s->number, s->number);
    set_own(m, "%" PRId32 ".", s->number);
    snprintf(m->own_name, sizeof m->own_name, "%" PRId32, n_blocks);
    m->part_arch = medusa;
    m->part_h.n_expert = 0;
    return set_layers(m, n_blocks, err);
}

// Rows of one of the package's matrices. 0: it is absent, which model_bind() reports.
static int32_t rows_of(const struct model *m, const char *name) {
    const struct tensor_view *t = package_tensor(m->pkg, name);
    return t && t->ne[1] <= INT32_MAX ? (int32_t)t->ne[1] : 0;
}

// Rows of a matrix of the part's layer.
static int32_t layer_rows(const struct model *m, const char *suffix) {
    char name[96];
    snprintf(name, sizeof name, "%s.%s.weight", m->own_name, suffix);
    return rows_of(m, name);
}

// A Llama layer whose tensors begin with m->own_name: widths from their shapes, heads as wide as
// the base's.
static rn_status begin_llama_layer(struct model *m, rn_error *err) {
    const rn_status st = begin_layer(m, err);
    if (st != RN_OK) return st;
    struct layer_hparams *l = m->part_layers;
    struct hparams *h = &m->part_h;
    l->flags = 0;
    l->n_rot = l->head_dim;
    l->head_dim_v = l->head_dim;
    if (layer_rows(m, "self_attn.q_proj") == 0)
        return fail(err, RN_E_FORMAT, "%s: no tensor %s.self_attn.q_proj.weight: the file has no EAGLE head",
                    package_path(m->pkg), m->own_name);
    l->n_ff = layer_rows(m, "mlp.up_proj");
    l->n_head = layer_rows(m, "self_attn.q_proj") / l->head_dim;
    l->n_head_kv = layer_rows(m, "self_attn.k_proj") / l->head_dim;
    if (l->n_head < 1 || l->n_head_kv < 1 || l->n_head % l->n_head_kv != 0)
        return fail(err, RN_E_FORMAT,
                    "%s: %" PRId32 " query heads over %" PRId32 " key heads of the base's width, %" PRId32,
                    package_path(m->pkg), l->n_head, l->n_head_kv, l->head_dim);
    h->n_head = l->n_head, h->n_head_kv = l->n_head_kv, h->n_ff = l->n_ff, h->n_rot = l->n_rot;
    h->head_dim = l->head_dim, h->head_dim_v = l->head_dim_v;
    h->n_expert = 0, h->q_lora_rank = h->kv_lora_rank = 0, h->residual_scale = h->embd_scale = 0;
    return RN_OK;
}

static rn_status check_only_head(const struct model *m, const struct part_spec *s, rn_error *err) {
    if (s->number == 0) return RN_OK;
    return fail(err, RN_E_ARG, "%s: EAGLE head %" PRId32 ": a file has one", package_path(m->pkg), s->number);
}

static rn_status begin_eagle(struct model *m, const struct part_spec *s, rn_error *err) {
    const rn_status st = check_only_head(m, s, err);
    if (st != RN_OK) return st;
    snprintf(m->own_name, sizeof m->own_name, "layers.0");
    m->part_arch = eagle;
    return begin_llama_layer(m, err);
}

// The head's vocabulary: its own, where it has a map to the base's tokens.
static rn_status set_draft_vocab(struct model *m, rn_error *err) {
    const struct tensor_view *head = package_tensor(m->pkg, "lm_head.weight");
    const int32_t n_base = m->base->h->n_vocab, n_rows = rows_of(m, "lm_head.weight");
    size_t n;
    const int32_t *map = package_token_map(m->pkg, &n);
    if (!map) return RN_OK;
    if (!head || (uint64_t)n != head->ne[1])
        return fail(err, RN_E_FORMAT, "%s: tensor d2t: %zu tokens, lm_head.weight has %" PRId32, package_path(m->pkg),
                    n, n_rows);
    if (map[n - 1] >= n_base)
        return fail(err, RN_E_FORMAT, "%s: tensor d2t: token %" PRId32 " is outside the base model's 0..%" PRId32,
                    package_path(m->pkg), map[n - 1], n_base - 1);
    m->part_h.n_vocab = n_rows;
    m->p.token_map = map;
    return RN_OK;
}

static rn_status begin_eagle3(struct model *m, const struct part_spec *s, rn_error *err) {
    rn_status st = check_only_head(m, s, err);
    if (st != RN_OK) return st;
    // The names of the paper's own files, or those of other training code.
    const bool is_first = package_tensor(m->pkg, "midlayer.hidden_norm.weight") != NULL;
    snprintf(m->own_name, sizeof m->own_name, is_first ? "midlayer" : "layers.0");
    m->not_own[0] = "fc.", m->not_own[1] = "input_norm.";
    m->part_arch = eagle3;
    if (package_part_options(m->pkg)->norm_before_residual)
        m->part_arch.layer = (struct op_list){eagle3_normed_layer, COUNT(eagle3_normed_layer)};
    m->part_arch.rope_halves = !package_has_adjacent_rope(m->pkg);
    st = begin_llama_layer(m, err);
    return st == RN_OK ? set_draft_vocab(m, err) : st;
}

static rn_status begin_eagle3_taps(struct model *m, const struct part_spec *s, rn_error *err) {
    const rn_status st = check_only_head(m, s, err);
    if (st != RN_OK) return st;
    if (package_part_options(m->pkg)->norm_before_fc && !package_tensor(m->pkg, "input_norm.weight"))
        return fail(err, RN_E_FORMAT, "%s: tensor input_norm.weight: missing, where norm_before_fc is set",
                    package_path(m->pkg));
    snprintf(m->own, sizeof m->own, "fc.");
    m->part_arch = eagle3_taps;
    m->part_h.n_expert = 0;
    return set_layers(m, 0, err);
}

// An architecture whose embedding has a part for each layer reads it by the layer's place.
static bool has_parts_by_layer(const struct model *base) {
    for (size_t i = 0; i < base->arch->begin.n; i++)
        if (base->arch->begin.at[i].heads == DIM_LAYERS &&
            model_condition_holds(base, -1, &base->arch->begin.at[i].when))
            return true;
    return false;
}

static rn_status begin_layers(struct model *m, const struct part_spec *s, rn_error *err) {
    const struct hparams *h = m->base->h;
    int32_t *const numbers = arena_alloc(&m->mem, (size_t)(s->n_layers > 0 ? s->n_layers : 1) * sizeof *numbers);
    if (!numbers) return model_no_memory(m, err);
    if (s->n_layers < 1 || s->n_layers > h->n_layer)
        return fail(err, RN_E_ARG, "%s: %" PRId32 " of its %" PRId32 " layers, at least 1", package_path(m->pkg),
                    s->n_layers, h->n_layer);
    if (has_parts_by_layer(m->base))
        return fail(err, RN_E_UNSUPPORTED, "%s: its layers have embeddings of their own, none can be left out",
                    package_path(m->pkg));
    rn_status st = set_layers(m, s->n_layers, err);
    for (int32_t i = 0; i < s->n_layers && st == RN_OK; i++) {
        const int32_t number = numbers[i] = s->layers[i];
        if (number < 0 || number >= h->n_layer || (i > 0 && number <= numbers[i - 1]))
            return fail(err, RN_E_ARG,
                        "%s: layer %" PRId32 ": the model has 0..%" PRId32 ", each named once, in order",
                        package_path(m->pkg), number, h->n_layer - 1);
        struct layer_hparams *const l = &m->part_layers[i];
        *l = h->layers[number];
        int32_t of = 0; // whose keys and values it attends to
        while (of <= i && numbers[of] != l->kv_layer) of++;
        if (of > i)
            return fail(err, RN_E_UNSUPPORTED,
                        "%s: layer %" PRId32 " attends to keys of layer %" PRId32 ", which is left out",
                        package_path(m->pkg), number, l->kv_layer);
        l->kv_layer = of;
    }
    m->layers = numbers;
    m->part_arch = *m->base->arch;
    return st;
}

static rn_status begin_head(struct model *m, const struct part_spec *s, rn_error *err) {
    (void)s;
    snprintf(m->own, sizeof m->own, "."); // it has no tensors of its own
    m->part_arch = head_alone;
    m->part_h.n_expert = 0;
    return set_layers(m, 0, err);
}

rn_status part_begin(struct model *m, const struct part_spec *spec, rn_error *err) {
    static rn_status (*const begin[])(struct model *, const struct part_spec *, rn_error *) = {
        [PART_NEXTN] = begin_nextn,   [PART_MEDUSA] = begin_medusa,           [PART_EAGLE] = begin_eagle,
        [PART_EAGLE3] = begin_eagle3, [PART_EAGLE3_TAPS] = begin_eagle3_taps, [PART_LAYERS] = begin_layers,
        [PART_HEAD] = begin_head};
    size_t n;
    if (spec->kind < PART_EAGLE3 && package_token_map(m->pkg, &n))
        return fail(err, RN_E_FORMAT, "%s: tensor d2t: only an EAGLE-3 head has one", package_path(m->pkg));
    m->part_h = *m->base->h;
    m->h = &m->part_h;
    m->arch = &m->part_arch;
    return begin[spec->kind](m, spec, err);
}

// Is the role's matrix read before or after the layers? What is not is not borrowed: backends would
// hold it for nothing.
static bool reads(const struct arch *a, enum role matrix) {
    for (size_t i = 0; i < a->begin.n; i++)
        if (a->begin.at[i].matrix == matrix) return true;
    for (size_t i = 0; i < a->end.n; i++)
        if (a->end.at[i].matrix == matrix) return true;
    return false;
}

void part_borrow(struct model *m) {
    static const enum role matrices[PART_MOST_BORROWED] = {ROLE_TOKEN_EMBD, ROLE_OUTPUT};
    static const struct {
        enum role role;
        bool by_pair; // it has a number for each pair that the base's heads rotate
    } vectors[] = {{ROLE_OUTPUT_NORM},
                   {ROLE_OUTPUT_BIAS},
                   {ROLE_ROPE_FREQS, true},
                   {ROLE_ROPE_SHORT, true},
                   {ROLE_ROPE_LONG, true}};
    const struct model *base = m->base;
    const bool has_head = m->bindings[ROLE_OUTPUT].present, same_pairs = m->h->n_rot == base->h->n_rot;
    for (size_t i = 0; m->layers && i < m->p.n_matrices; i++) m->matrices[i].is_borrowed = true;
    if (m->layers) return;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct binding *const b = &m->bindings[vectors[i].role];
        if (b->present || (vectors[i].by_pair && !same_pairs)) continue;
        if (!(vectors[i].role == ROLE_OUTPUT_BIAS && has_head)) *b = base->bindings[vectors[i].role];
    }
    for (size_t i = 0; i < PART_MOST_BORROWED; i++) {
        struct binding *b = &m->bindings[matrices[i]];
        if (b->present || !base->bindings[matrices[i]].present || !reads(m->arch, matrices[i])) continue;
        *b = base->bindings[matrices[i]];
        m->matrices[m->p.n_matrices] = base->matrices[b->matrix];
        m->matrices[m->p.n_matrices].is_borrowed = true;
        b->matrix = (int32_t)m->p.n_matrices++;
    }
}
