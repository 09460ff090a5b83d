// model/arch_gemma4.c - Gemma 4: per-layer embeddings, layers that share keys and values, heads of two widths.
//
// Layers without a window have wider heads. Values are normed; where a layer has no values, the keys serve. The last layers attend to the
// keys and values of an earlier one. Each layer has an embedding of its own beside that of the model. As in transformers (models/gemma4/modeling_gemma4.py) and llama.cpp (src/models/gemma4.cpp).
#include "model/arch_ops.h"
#include "model/arch_tensors.h"
#include "model/archs.h"

// Files may hold keys and values of layers that share an earlier layer's: they are not used.
#define UNREAD .when.only = LAYER_SHARED_KV, .optional = true

static const struct tensor_spec tensors[] = {
    TENSORS_HEAD,
    {ROLE_PLE_EMBD, "per_layer_token_embd.weight", DIM_PLE_ALL, DIM_VOCAB},
    {ROLE_PLE_PROJ, "per_layer_model_proj.weight", DIM_EMBD, DIM_PLE_ALL},
    {ROLE_PLE_PROJ_NORM, "per_layer_proj_norm.weight", DIM_PLE},
    TENSORS_ATTN_NORM,
    {ROLE_Q, "blk.%d.attn_q.weight", DIM_EMBD, DIM_Q},
    {ROLE_K, "blk.%d.attn_k.weight", DIM_EMBD, DIM_K, .when.unless = LAYER_SHARED_KV},
    {ROLE_V, "blk.%d.attn_v.weight", DIM_EMBD, DIM_V, .when.unless = LAYER_SHARED_KV, .optional = true},
    TENSORS_ATTENTION_OUTPUT,
    TENSORS_QK_NORM_OF_HEADS,
    {ROLE_K, "blk.%d.attn_k.weight", DIM_EMBD, DIM_K, UNREAD},
    {ROLE_V, "blk.%d.attn_v.weight", DIM_EMBD, DIM_V, UNREAD},
    {ROLE_K_NORM, "blk.%d.attn_k_norm.weight", DIM_HEAD, UNREAD},
    TENSORS_FFN_NORM,
    TENSORS_FFN_GATED,
    TENSORS_POST_NORMS,
    TENSORS_EXPERTS,
    {ROLE_ROUTER_SCALE, "blk.%d.ffn_gate_inp.scale", DIM_EMBD, .when.only = LAYER_EXPERTS},
    {ROLE_EXPERTS_SCALE, "blk.%d.ffn_down_exps.scale", DIM_EXPERTS, .optional = true, .when.only = LAYER_EXPERTS},
    {ROLE_POST_DENSE_NORM, "blk.%d.post_ffw_norm_1.weight", DIM_EMBD, .when.only = LAYER_EXPERTS},
    {ROLE_EXPERTS_NORM, "blk.%d.pre_ffw_norm_2.weight", DIM_EMBD, .when.only = LAYER_EXPERTS},
    {ROLE_POST_EXPERTS_NORM, "blk.%d.post_ffw_norm_2.weight", DIM_EMBD, .when.only = LAYER_EXPERTS},
    {ROLE_PLE_GATE, "blk.%d.inp_gate.weight", DIM_EMBD, DIM_PLE},
    {ROLE_PLE_OUT, "blk.%d.proj.weight", DIM_PLE, DIM_EMBD},
    {ROLE_PLE_POST_NORM, "blk.%d.post_norm.weight", DIM_EMBD, .optional = true},
    {ROLE_LAYER_SCALE, "blk.%d.layer_output_scale.weight", DIM_ONE, .optional = true},
};

// Per-layer embeddings: those of the token plus a projection of the model's embedding, divided by sqrt(2).
static const struct op_spec begin[] = {
    OPS_EMBED,
    {OP_EMBED, .dst = BUF_PLE_ALL, .matrix = ROLE_PLE_EMBD, .factor = FACTOR_SQRT_PLE, .when.if_role = ROLE_PLE_EMBD},
    {OP_LINEAR, .src = BUF_X, .dst = BUF_PLE_PROJ, .matrix = ROLE_PLE_PROJ, .when.if_role = ROLE_PLE_EMBD},
    {OP_SCALE, .dst = BUF_PLE_PROJ, .factor = FACTOR_BY_SQRT_EMBD, .when.if_role = ROLE_PLE_EMBD},
    {OP_RMS_NORM, .src = BUF_PLE_PROJ, .dst = BUF_PLE_PROJ, .vec = ROLE_PLE_PROJ_NORM, .heads = DIM_LAYERS,
     .when.if_role = ROLE_PLE_EMBD},
    {OP_ADD, .src = BUF_PLE_PROJ, .dst = BUF_PLE_ALL, .when.if_role = ROLE_PLE_EMBD},
    {OP_SCALE, .dst = BUF_PLE_ALL, .factor = FACTOR_BY_SQRT_2, .when.if_role = ROLE_PLE_EMBD},
};

// Experts beside the dense feed-forward: each reads the residual stream through its own norm, as does the router, and the normed outputs of
// both are added.
#define NORM_IF_EXPERTS(from, to, weight) {OP_RMS_NORM, .src = from, .dst = to, .vec = weight, IF_EXPERTS}
#define OPS_EXPERTS_BESIDE                                                                                           \
    NORM_IF_EXPERTS(BUF_DELTA, BUF_DELTA, ROLE_POST_DENSE_NORM),                                                     \
        NORM_IF_EXPERTS(BUF_X, BUF_NORMED_2, ROLE_ROUTER_SCALE),                                                     \
        {OP_SCALE, .dst = BUF_NORMED_2, .factor = FACTOR_BY_SQRT_EMBD, IF_EXPERTS},                                  \
        LINEAR(BUF_NORMED_2, BUF_ROUTED, ROLE_ROUTER, ROLE_NONE),                                                    \
        {OP_ROUTE, .src = BUF_ROUTED, .dst = BUF_CHOICES, .vec2 = ROLE_EXPERTS_SCALE, IF_EXPERTS},                   \
        NORM_IF_EXPERTS(BUF_X, BUF_NORMED_2, ROLE_EXPERTS_NORM),                                                     \
        OPS_EXPERTS_GATED(BUF_NORMED_2, OP_GATE, ACT_FN_GELU_TANH, .reads_parts = false),                            \
        EXPERTS_SUM(BUF_DELTA_2, true), NORM_IF_EXPERTS(BUF_DELTA_2, BUF_DELTA_2, ROLE_POST_EXPERTS_NORM), {         \
        OP_ADD, .src = BUF_DELTA_2, .dst = BUF_DELTA, IF_EXPERTS                                                     \
    }

#define OWN_KV .when.unless = LAYER_SHARED_KV
static const struct op_spec layer[] = {
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM),
    LINEAR(BUF_NORMED, BUF_Q, ROLE_Q, ROLE_NONE),
    {OP_LINEAR, .src = BUF_NORMED, .dst = BUF_K, .matrix = ROLE_K, OWN_KV},
    {OP_LINEAR, .src = BUF_NORMED, .dst = BUF_V, .matrix = ROLE_V, .when.if_role = ROLE_V, OWN_KV},
    {OP_COPY, .src = BUF_K, .dst = BUF_V, .when.unless_role = ROLE_V, OWN_KV},
    {OP_RMS_NORM, .src = BUF_Q, .dst = BUF_Q, .vec = ROLE_Q_NORM, .heads = DIM_HEADS},
    {OP_RMS_NORM, .src = BUF_K, .dst = BUF_K, .vec = ROLE_K_NORM, .heads = DIM_HEADS_KV, OWN_KV},
    {OP_RMS_NORM, .src = BUF_V, .dst = BUF_V, .heads = DIM_HEADS_KV, OWN_KV},
    {OP_ROPE, .dst = BUF_Q, .heads = DIM_HEADS},
    {OP_ROPE, .dst = BUF_K, .heads = DIM_HEADS_KV, OWN_KV},
    OPS_ATTEND,
    RMS_NORM(BUF_DELTA, BUF_DELTA, ROLE_POST_ATTN_NORM),
    ADD(BUF_DELTA, BUF_X),
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_FFN_NORM),
    OPS_FFN_GATED(BUF_NORMED, BUF_DELTA, ACT_FN_GELU_TANH),
    OPS_EXPERTS_BESIDE,
    RMS_NORM(BUF_DELTA, BUF_DELTA, ROLE_POST_FFN_NORM),
    ADD(BUF_DELTA, BUF_X),
    // The layer's own embedding, gated by the residual stream.
    {OP_COPY, .src = BUF_PLE_ALL, .dst = BUF_PLE, .src_at = DIM_PLE_BEFORE, .when.if_role = ROLE_PLE_GATE},
    {OP_LINEAR, .src = BUF_X, .dst = BUF_PLE_GATE, .matrix = ROLE_PLE_GATE, .when.if_role = ROLE_PLE_GATE},
    {OP_GATE, .src = BUF_PLE_GATE, .src2 = BUF_PLE, .dst = BUF_PLE_GATE, .fn = ACT_FN_GELU_TANH, .is_ffn = true,
     .when.if_role = ROLE_PLE_GATE},
    {OP_LINEAR, .src = BUF_PLE_GATE, .dst = BUF_DELTA, .matrix = ROLE_PLE_OUT, .when.if_role = ROLE_PLE_GATE},
    {OP_RMS_NORM, .src = BUF_DELTA, .dst = BUF_DELTA, .vec = ROLE_PLE_POST_NORM, .when.if_role = ROLE_PLE_GATE},
    {OP_ADD, .src = BUF_DELTA, .dst = BUF_X, .when.if_role = ROLE_PLE_GATE},
    {OP_SCALE, .dst = BUF_X, .factor_role = ROLE_LAYER_SCALE},
};
static const struct op_spec end[] = {OPS_END_RMS};
const struct arch arch_gemma4 = {TENSORS(tensors), BEGIN(begin), LAYER(layer), END(end), .rope_halves = true};
