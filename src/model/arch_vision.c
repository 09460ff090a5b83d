// model/arch_vision.c - vision towers and projectors. Tensors have llama.cpp's names (mmproj files).
#include "model/arch_ops.h"
#include "model/model_private.h"
#include <string.h>

// ---- vision transformers ----------------------------------------------------------------------------------------------
//
// ViT (2010.11929), as CLIP (2103.00020) and SigLIP (2303.15343) have it: norms before the blocks; CLIP has a class row and a norm before the
// layers, too.

#define NORM_AND_BIAS(role, name)                                                                                    \
    {role, name ".weight", DIM_EMBD}, { role##_BIAS, name ".bias", DIM_EMBD }
#define NORM_IF_ANY(role, name)                                                                                      \
    {role, name ".weight", DIM_EMBD, .optional = true}, { role##_BIAS, name ".bias", DIM_EMBD, .optional = true }
#define MATRIX_AND_BIAS(role, name, in, out)                                                                         \
    {role, name ".weight", in, out}, { role##_BIAS, name ".bias", out, .optional = true }

// Of a layer with queries, keys and values one by one.
#define VIT_LAYER_TENSORS                                                                                            \
    NORM_AND_BIAS(ROLE_ATTN_NORM, "v.blk.%d.ln1"), NORM_AND_BIAS(ROLE_FFN_NORM, "v.blk.%d.ln2"), VIT_LAYER_MATRICES
#define VIT_LAYER_MATRICES                                                                                           \
    MATRIX_AND_BIAS(ROLE_Q, "v.blk.%d.attn_q", DIM_EMBD, DIM_Q),                                                     \
        MATRIX_AND_BIAS(ROLE_K, "v.blk.%d.attn_k", DIM_EMBD, DIM_K),                                                 \
        MATRIX_AND_BIAS(ROLE_V, "v.blk.%d.attn_v", DIM_EMBD, DIM_V),                                                 \
        MATRIX_AND_BIAS(ROLE_O, "v.blk.%d.attn_out", DIM_O, DIM_EMBD),                                               \
        MATRIX_AND_BIAS(ROLE_UP, "v.blk.%d.ffn_up", DIM_EMBD, DIM_FF),                                               \
        MATRIX_AND_BIAS(ROLE_DOWN, "v.blk.%d.ffn_down", DIM_FF, DIM_EMBD)
static const struct tensor_spec vit_tensors[] = {
    {ROLE_PATCH, "v.patch_embd.weight", DIM_PATCH, DIM_EMBD},
    {ROLE_PATCH_BIAS, "v.patch_embd.bias", DIM_EMBD, .optional = true},
    {ROLE_CLASS_EMBD, "v.class_embd", DIM_EMBD, .optional = true},
    {ROLE_POS_EMBD, "v.position_embd.weight", DIM_EMBD, DIM_CTX},
    NORM_IF_ANY(ROLE_EMBD_NORM, "v.pre_ln"),
    NORM_IF_ANY(ROLE_OUTPUT_NORM, "v.post_ln"),
    VIT_LAYER_TENSORS,
};

#define LAYER_NORM_IF_ANY(from, to, role)                                                                            \
    {OP_LAYER_NORM, .src = from, .dst = to, .vec = role, .vec2 = role##_BIAS, .when.if_role = role}
static const struct op_spec vit_begin[] = {
    {OP_VECTOR, .dst = BUF_INPUT},
    LINEAR(BUF_INPUT, BUF_X, ROLE_PATCH, ROLE_NONE),
    {OP_EMBED, .dst = BUF_DELTA, .matrix = ROLE_ROW_KINDS, .when.if_role = ROLE_ROW_KINDS},
    {OP_ADD, .src = BUF_DELTA, .dst = BUF_X, .when.if_role = ROLE_ROW_KINDS},
    {OP_EMBED_POS, .dst = BUF_DELTA, .matrix = ROLE_POS_EMBD},
    {OP_ADD, .src = BUF_DELTA, .dst = BUF_X},
    LAYER_NORM_IF_ANY(BUF_X, BUF_X, ROLE_EMBD_NORM),
};
#define VIT_LAYER(fn)                                                                                                \
    LAYER_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM, ROLE_ATTN_NORM_BIAS), OPS_QKV(BUF_NORMED), OPS_ROPE, OPS_ATTEND,   \
        ADD(BUF_DELTA, BUF_X), LAYER_NORM(BUF_X, BUF_NORMED, ROLE_FFN_NORM, ROLE_FFN_NORM_BIAS),                     \
        OPS_FFN_PLAIN(BUF_NORMED, BUF_DELTA, fn), ADD(BUF_DELTA, BUF_X)
static const struct op_spec vit_end[] = {
    OPS_LAST,
    LAYER_NORM_IF_ANY(BUF_LAST, BUF_HIDDEN, ROLE_OUTPUT_NORM),
    {OP_COPY, .src = BUF_LAST, .dst = BUF_HIDDEN, .when.unless_role = ROLE_OUTPUT_NORM},
};

#define VIT(name, fn)                                                                                                \
    static const struct op_spec name##_layer[] = {VIT_LAYER(fn)};                                                    \
    static const struct arch name = {TENSORS(vit_tensors), BEGIN(vit_begin), LAYER(name##_layer), END(vit_end),      \
                                     .is_one_step = true}
VIT(vit_gelu, ACT_FN_GELU);
VIT(vit_gelu_tanh, ACT_FN_GELU_TANH);
VIT(vit_gelu_quick, ACT_FN_GELU_QUICK);

// InternViT (2312.14238): outputs of both blocks have a scale for each number, and queries and keys may have norms. The larger one's norms have no mean.
#define INTERNVIT_TENSORS                                                                                            \
    {ROLE_PATCH, "v.patch_embd.weight", DIM_PATCH, DIM_EMBD},                                                        \
        {ROLE_PATCH_BIAS, "v.patch_embd.bias", DIM_EMBD, .optional = true},                                          \
        {ROLE_CLASS_EMBD, "v.class_embd", DIM_EMBD}, {ROLE_POS_EMBD, "v.position_embd.weight", DIM_EMBD, DIM_CTX},   \
        NORM_IF_ANY(ROLE_OUTPUT_NORM, "v.post_ln"),                                                                  \
        {ROLE_Q_NORM, "v.blk.%d.attn_q_norm.weight", DIM_Q, .optional = true},                                       \
        {ROLE_K_NORM, "v.blk.%d.attn_k_norm.weight", DIM_K, .optional = true},                                       \
        {ROLE_ATTN_SCALE, "v.blk.%d.ls1.weight", DIM_EMBD}, {                                                        \
        ROLE_FFN_SCALE, "v.blk.%d.ls2.weight", DIM_EMBD                                                              \
    }
static const struct tensor_spec internvit_tensors[] = {INTERNVIT_TENSORS, VIT_LAYER_TENSORS};
static const struct tensor_spec internvit_rms_tensors[] = {INTERNVIT_TENSORS,
                                                           {ROLE_ATTN_NORM, "v.blk.%d.ln1.weight", DIM_EMBD},
                                                           {ROLE_FFN_NORM, "v.blk.%d.ln2.weight", DIM_EMBD},
                                                           VIT_LAYER_MATRICES};
#define INTERNVIT_QK_NORM(buf, role)                                                                                 \
    {OP_RMS_NORM, .src = buf, .dst = buf, .vec = role, .eps = 1e-6f, .when.if_role = role}
#define INTERNVIT_LAYER(attn_norm, ffn_norm)                                                                         \
    attn_norm, OPS_QKV(BUF_NORMED), INTERNVIT_QK_NORM(BUF_Q, ROLE_Q_NORM), INTERNVIT_QK_NORM(BUF_K, ROLE_K_NORM),    \
        OPS_ATTEND, {OP_MUL, .dst = BUF_DELTA, .vec = ROLE_ATTN_SCALE}, ADD(BUF_DELTA, BUF_X), ffn_norm,             \
        OPS_FFN_PLAIN(BUF_NORMED, BUF_DELTA, ACT_FN_GELU), {OP_MUL, .dst = BUF_DELTA, .vec = ROLE_FFN_SCALE},        \
        ADD(BUF_DELTA, BUF_X)
static const struct op_spec internvit_layer[] = {
    INTERNVIT_LAYER(LAYER_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM, ROLE_ATTN_NORM_BIAS),
                    LAYER_NORM(BUF_X, BUF_NORMED, ROLE_FFN_NORM, ROLE_FFN_NORM_BIAS))};
static const struct op_spec internvit_rms_layer[] = {
    INTERNVIT_LAYER(RMS_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM), RMS_NORM(BUF_X, BUF_NORMED, ROLE_FFN_NORM))};
static const struct arch internvit = {TENSORS(internvit_tensors), BEGIN(vit_begin), LAYER(internvit_layer),
                                      END(vit_end), .is_one_step = true};
static const struct arch internvit_rms = {TENSORS(internvit_rms_tensors), BEGIN(vit_begin),
                                          LAYER(internvit_rms_layer), END(vit_end), .is_one_step = true};

// Qwen2-VL's (2409.12191): no learned positions, heads are rotated by row and column.
// clang-format off
#define QWEN_VIT_LAYER_TENSORS \
    NORM_AND_BIAS(ROLE_OUTPUT_NORM, "v.post_ln"), \
    NORM_AND_BIAS(ROLE_ATTN_NORM, "v.blk.%d.ln1"), \
    NORM_AND_BIAS(ROLE_FFN_NORM, "v.blk.%d.ln2"), \
    {ROLE_QKV, "v.blk.%d.attn_qkv.weight", DIM_EMBD, DIM_QKV, \
     .parts = {{ROLE_Q, DIM_Q}, {ROLE_K, DIM_K}, {ROLE_V, DIM_V}}}, \
    {ROLE_QKV_BIAS, "v.blk.%d.attn_qkv.bias", DIM_QKV, \
     .parts = {{ROLE_Q_BIAS, DIM_Q}, {ROLE_K_BIAS, DIM_K}, {ROLE_V_BIAS, DIM_V}}}, \
    MATRIX_AND_BIAS(ROLE_O, "v.blk.%d.attn_out", DIM_O, DIM_EMBD), \
    MATRIX_AND_BIAS(ROLE_UP, "v.blk.%d.ffn_up", DIM_EMBD, DIM_FF), \
    MATRIX_AND_BIAS(ROLE_DOWN, "v.blk.%d.ffn_down", DIM_FF, DIM_EMBD)
// clang-format on
static const struct tensor_spec qwen2_vit_tensors[] = {
    {ROLE_PATCH, "v.patch_embd.weight", DIM_PATCH, DIM_EMBD},
    QWEN_VIT_LAYER_TENSORS,
};
static const struct tensor_spec qwen2_vit_split_tensors[] = {
    {ROLE_PATCH, "v.patch_embd.weight", DIM_PATCH, DIM_EMBD},
    NORM_AND_BIAS(ROLE_OUTPUT_NORM, "v.post_ln"),
    VIT_LAYER_TENSORS,
};
static const struct op_spec qwen2_vit_begin[] = {{OP_VECTOR, .dst = BUF_INPUT},
                                                 LINEAR(BUF_INPUT, BUF_X, ROLE_PATCH, ROLE_NONE)};
static const struct arch qwen2_vit = {
    TENSORS(qwen2_vit_tensors), BEGIN(qwen2_vit_begin), LAYER(vit_gelu_quick_layer), END(vit_end),
    .rope_halves = true,        .rope_grid = true,      .is_one_step = true};
static const struct arch qwen2_vit_split = { // as mmproj files have it
    TENSORS(qwen2_vit_split_tensors),
    BEGIN(qwen2_vit_begin),
    LAYER(vit_gelu_quick_layer),
    END(vit_end),
    .rope_halves = true,
    .rope_grid = true,
    .is_one_step = true};

// Qwen2.5-VL's (2502.13923): norms without a mean, a gate, and layers whose rows attend within windows of the picture.
#define QWEN25_VIT_MATRICES                                                                                          \
    MATRIX_AND_BIAS(ROLE_O, "v.blk.%d.attn_out", DIM_O, DIM_EMBD),                                                   \
        MATRIX_AND_BIAS(ROLE_GATE, "v.blk.%d.ffn_gate", DIM_EMBD, DIM_FF),                                           \
        MATRIX_AND_BIAS(ROLE_UP, "v.blk.%d.ffn_up", DIM_EMBD, DIM_FF),                                               \
        MATRIX_AND_BIAS(ROLE_DOWN, "v.blk.%d.ffn_down", DIM_FF, DIM_EMBD)
#define QWEN25_VIT_NORMS                                                                                             \
    {ROLE_PATCH, "v.patch_embd.weight", DIM_PATCH, DIM_EMBD}, {ROLE_OUTPUT_NORM, "v.post_ln.weight", DIM_EMBD},      \
        {ROLE_ATTN_NORM, "v.blk.%d.ln1.weight", DIM_EMBD}, {                                                         \
        ROLE_FFN_NORM, "v.blk.%d.ln2.weight", DIM_EMBD                                                               \
    }
static const struct tensor_spec qwen25_vit_tensors[] = {
    QWEN25_VIT_NORMS,
    {ROLE_QKV, "v.blk.%d.attn_qkv.weight", DIM_EMBD, DIM_QKV,
     .parts = {{ROLE_Q, DIM_Q}, {ROLE_K, DIM_K}, {ROLE_V, DIM_V}}},
    {ROLE_QKV_BIAS, "v.blk.%d.attn_qkv.bias", DIM_QKV,
     .parts = {{ROLE_Q_BIAS, DIM_Q}, {ROLE_K_BIAS, DIM_K}, {ROLE_V_BIAS, DIM_V}}},
    QWEN25_VIT_MATRICES,
};
static const struct tensor_spec qwen25_vit_split_tensors[] = {
    QWEN25_VIT_NORMS,
    MATRIX_AND_BIAS(ROLE_Q, "v.blk.%d.attn_q", DIM_EMBD, DIM_Q),
    MATRIX_AND_BIAS(ROLE_K, "v.blk.%d.attn_k", DIM_EMBD, DIM_K),
    MATRIX_AND_BIAS(ROLE_V, "v.blk.%d.attn_v", DIM_EMBD, DIM_V),
    QWEN25_VIT_MATRICES,
};
static const struct op_spec qwen25_vit_layer[] = {RMS_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM),
                                                  OPS_QKV(BUF_NORMED),
                                                  OPS_ROPE,
                                                  OPS_ATTEND,
                                                  ADD(BUF_DELTA, BUF_X),
                                                  RMS_NORM(BUF_X, BUF_NORMED, ROLE_FFN_NORM),
                                                  OPS_FFN_GATED(BUF_NORMED, BUF_DELTA, ACT_FN_SILU),
                                                  ADD(BUF_DELTA, BUF_X)};
static const struct op_spec qwen25_vit_end[] = {OPS_LAST, RMS_NORM(BUF_LAST, BUF_HIDDEN, ROLE_OUTPUT_NORM)};
#define QWEN25_VIT(name)                                                                                             \
    static const struct arch name = {TENSORS(name##_tensors), BEGIN(qwen2_vit_begin), LAYER(qwen25_vit_layer),       \
                                     END(qwen25_vit_end),     .rope_halves = true,    .rope_grid = true,             \
                                     .has_areas = true,       .is_one_step = true}
QWEN25_VIT(qwen25_vit);
QWEN25_VIT(qwen25_vit_split);

// Qwen3-VL's (2511.21631): Qwen2-VL's with learned places, which are interpolated: an input vector has them behind the patch.
static const struct tensor_spec qwen3_vit_tensors[] = {
    {ROLE_PATCH, "v.patch_embd.weight", DIM_PATCH, DIM_EMBD},
    {ROLE_PATCH_BIAS, "v.patch_embd.bias", DIM_EMBD, .optional = true},
    {ROLE_PLACES, "v.position_embd.weight", DIM_EMBD, DIM_CTX, .is_vector = true},
    QWEN_VIT_LAYER_TENSORS,
};
static const struct op_spec qwen3_vit_begin[] = {
    {OP_VECTOR, .dst = BUF_INPUT},
    LINEAR(BUF_INPUT, BUF_X, ROLE_PATCH, ROLE_NONE),
    {OP_EMBED, .dst = BUF_DELTA, .matrix = ROLE_ROW_KINDS, .when.if_role = ROLE_ROW_KINDS},
    {OP_ADD, .src = BUF_DELTA, .dst = BUF_X, .when.if_role = ROLE_ROW_KINDS},
    {OP_ADD_VECTOR, .dst = BUF_X, .vector_at = DIM_PATCH},
};
#define QWEN3_VIT(name, layers)                                                                                      \
    static const struct arch name = {                                                                                \
        TENSORS(qwen3_vit_tensors), BEGIN(qwen3_vit_begin), LAYER(layers),      END(vit_end),                        \
        .rope_halves = true,        .rope_grid = true,      .is_one_step = true}
QWEN3_VIT(qwen3_vit_gelu_tanh, vit_gelu_tanh_layer);
QWEN3_VIT(qwen3_vit_gelu, vit_gelu_layer);

// Pixtral's (2410.07073): norms without a mean, a gate, no biases. In mmproj files the pairs of heads stand side by side.
static const struct tensor_spec pixtral_vit_tensors[] = {
    {ROLE_PATCH, "v.patch_embd.weight", DIM_PATCH, DIM_EMBD},  {ROLE_EMBD_NORM, "v.pre_ln.weight", DIM_EMBD},
    {ROLE_ATTN_NORM, "v.blk.%d.ln1.weight", DIM_EMBD},         {ROLE_FFN_NORM, "v.blk.%d.ln2.weight", DIM_EMBD},
    {ROLE_Q, "v.blk.%d.attn_q.weight", DIM_EMBD, DIM_Q},       {ROLE_K, "v.blk.%d.attn_k.weight", DIM_EMBD, DIM_K},
    {ROLE_V, "v.blk.%d.attn_v.weight", DIM_EMBD, DIM_V},       {ROLE_O, "v.blk.%d.attn_out.weight", DIM_O, DIM_EMBD},
    {ROLE_GATE, "v.blk.%d.ffn_gate.weight", DIM_EMBD, DIM_FF}, {ROLE_UP, "v.blk.%d.ffn_up.weight", DIM_EMBD, DIM_FF},
    {ROLE_DOWN, "v.blk.%d.ffn_down.weight", DIM_FF, DIM_EMBD},
};
static const struct op_spec pixtral_vit_begin[] = {{OP_VECTOR, .dst = BUF_INPUT},
                                                   LINEAR(BUF_INPUT, BUF_X, ROLE_PATCH, ROLE_NONE),
                                                   RMS_NORM(BUF_X, BUF_X, ROLE_EMBD_NORM)};
#define PIXTRAL_VIT(name, fn, halves)                                                                                \
    static const struct op_spec name##_layer[] = {RMS_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM),                       \
                                                  OPS_QKV(BUF_NORMED),                                               \
                                                  OPS_ROPE,                                                          \
                                                  OPS_ATTEND,                                                        \
                                                  ADD(BUF_DELTA, BUF_X),                                             \
                                                  RMS_NORM(BUF_X, BUF_NORMED, ROLE_FFN_NORM),                        \
                                                  OPS_FFN_GATED(BUF_NORMED, BUF_DELTA, fn),                          \
                                                  ADD(BUF_DELTA, BUF_X)};                                            \
    static const struct arch name = {                                                                                \
        TENSORS(pixtral_vit_tensors), BEGIN(pixtral_vit_begin), LAYER(name##_layer),     END(vit_end),               \
        .rope_halves = halves,        .rope_grid = true,        .rope_grid_turns = true, .is_one_step = true}
PIXTRAL_VIT(pixtral_vit_silu, ACT_FN_SILU, true);
PIXTRAL_VIT(pixtral_vit_gelu, ACT_FN_GELU, true);
PIXTRAL_VIT(pixtral_vit_silu_pairs, ACT_FN_SILU, false);
PIXTRAL_VIT(pixtral_vit_gelu_pairs, ACT_FN_GELU, false);

// ---- projectors -------------------------------------------------------------------------------------------------------
//
// LLaVA-1.5's mlp2x_gelu (2310.03744), and VILA's, with a norm before it.

static const struct tensor_spec mlp_tensors[] = {
    {ROLE_EMBD_NORM, "mm.input_norm.weight", DIM_PATCH, .optional = true},
    {ROLE_EMBD_NORM_BIAS, "mm.input_norm.bias", DIM_PATCH, .optional = true},
    {ROLE_NEWLINE, "model.image_newline", DIM_EMBD,
     .optional = true}, // behind the lines of a map: no program reads it
    MATRIX_AND_BIAS(ROLE_UP, "mm.0", DIM_PATCH, DIM_FF),
    MATRIX_AND_BIAS(ROLE_DOWN, "mm.2", DIM_FF, DIM_EMBD),
};
static const struct op_spec mlp_end[] = {{OP_GATHER, .src = BUF_X, .dst = BUF_HIDDEN}};
#define MLP(name, fn)                                                                                                \
    static const struct op_spec name##_begin[] = {{OP_VECTOR, .dst = BUF_INPUT},                                     \
                                                  LAYER_NORM_IF_ANY(BUF_INPUT, BUF_INPUT, ROLE_EMBD_NORM),           \
                                                  OPS_FFN_PLAIN(BUF_INPUT, BUF_X, fn)};                              \
    static const struct arch name = {TENSORS(mlp_tensors), BEGIN(name##_begin), END(mlp_end)}
MLP(mlp_gelu, ACT_FN_GELU);
MLP(mlp_gelu_tanh, ACT_FN_GELU_TANH);

// Mistral 3's: a norm of each patch, merged ones to one row of a patch's width, then LLaVA's.
static const struct tensor_spec merge_mlp_tensors[] = {
    {ROLE_EMBD_NORM, "mm.input_norm.weight", DIM_HEAD},
    {ROLE_MERGER, "mm.patch_merger.weight", DIM_PATCH, DIM_Q_LORA},
    MATRIX_AND_BIAS(ROLE_UP, "mm.0", DIM_Q_LORA, DIM_FF),
    MATRIX_AND_BIAS(ROLE_DOWN, "mm.2", DIM_FF, DIM_EMBD),
};
#define MERGE_MLP(name, fn)                                                                                          \
    static const struct op_spec name##_begin[] = {                                                                   \
        {OP_VECTOR, .dst = BUF_INPUT},                                                                               \
        {OP_RMS_NORM, .src = BUF_INPUT, .dst = BUF_INPUT, .vec = ROLE_EMBD_NORM, .heads = DIM_HEADS},                \
        LINEAR(BUF_INPUT, BUF_LATENT, ROLE_MERGER, ROLE_NONE),                                                       \
        OPS_FFN_PLAIN(BUF_LATENT, BUF_X, fn)};                                                                       \
    static const struct arch name = {TENSORS(merge_mlp_tensors), BEGIN(name##_begin), END(mlp_end)}
MERGE_MLP(merge_mlp_gelu, ACT_FN_GELU);
MERGE_MLP(merge_mlp_gelu_tanh, ACT_FN_GELU_TANH);

// SmolVLM's (2504.05299).
static const struct tensor_spec linear_tensors[] = {MATRIX_AND_BIAS(ROLE_DOWN, "mm.2", DIM_PATCH, DIM_EMBD)};
static const struct op_spec linear_begin[] = {{OP_VECTOR, .dst = BUF_INPUT},
                                              LINEAR(BUF_INPUT, BUF_X, ROLE_DOWN, ROLE_DOWN_BIAS)};
static const struct arch linear = {TENSORS(linear_tensors), BEGIN(linear_begin), END(mlp_end)};

// Gemma 3's (2503.19786).
static const struct tensor_spec norm_linear_tensors[] = {{ROLE_EMBD_NORM, "mm.input_norm.weight", DIM_PATCH},
                                                         {ROLE_DOWN, "mm.2.weight", DIM_PATCH, DIM_EMBD}};
static const struct op_spec norm_linear_begin[] = {{OP_VECTOR, .dst = BUF_INPUT},
                                                   RMS_NORM(BUF_INPUT, BUF_INPUT, ROLE_EMBD_NORM),
                                                   LINEAR(BUF_INPUT, BUF_X, ROLE_DOWN, ROLE_NONE)};
static const struct arch norm_linear = {TENSORS(norm_linear_tensors), BEGIN(norm_linear_begin), END(mlp_end)};

// ---- the table --------------------------------------------------------------------------------------------------------

static const struct {
    const char *name;
    const struct arch *arch;
} rows[] = {
    {"qwen3_vit_gelu_tanh", &qwen3_vit_gelu_tanh},
    {"qwen3_vit_gelu", &qwen3_vit_gelu},
    {"qwen25_vit", &qwen25_vit},
    {"qwen25_vit_split", &qwen25_vit_split},
    {"pixtral_vit_silu", &pixtral_vit_silu},
    {"pixtral_vit_gelu", &pixtral_vit_gelu},
    {"pixtral_vit_silu_pairs", &pixtral_vit_silu_pairs},
    {"pixtral_vit_gelu_pairs", &pixtral_vit_gelu_pairs},
    {"merge_mlp_gelu", &merge_mlp_gelu},
    {"merge_mlp_gelu_tanh", &merge_mlp_gelu_tanh},
    {"vit_gelu", &vit_gelu},
    {"vit_gelu_tanh", &vit_gelu_tanh},
    {"vit_gelu_quick", &vit_gelu_quick},
    {"internvit", &internvit},
    {"internvit_rms", &internvit_rms},
    {"qwen2_vit", &qwen2_vit},
    {"mlp_gelu", &mlp_gelu},
    {"mlp_gelu_tanh", &mlp_gelu_tanh},
    {"linear", &linear},
    {"norm_linear", &norm_linear},
    {"qwen2_vit_split", &qwen2_vit_split},
};

const struct arch *arch_find_vision(const char *name) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0) return rows[i].arch;
    return NULL;
}

const float *model_newline(const struct model *m) { return m->bindings[ROLE_NEWLINE].vec; }
const float *model_places(const struct model *m) { return m->bindings[ROLE_PLACES].vec; }

// A row of a patch has the bias of the matrix, that of the class has the class embedding: a matrix with a row for each kind.
rn_status model_row_kinds(struct model *m, rn_error *err) {
    const float *const made_of[] = {m->bindings[ROLE_PATCH_BIAS].vec, m->bindings[ROLE_CLASS_EMBD].vec};
    enum { N_KINDS = sizeof made_of / sizeof *made_of };
    const size_t n = (size_t)m->h->n_embd, row_bytes = n * sizeof(float);
    if (!made_of[0] && !made_of[1]) return RN_OK;
    float *const to = arena_alloc(&m->mem, N_KINDS * row_bytes);
    if (!to) return model_no_memory(m, err);
    for (size_t i = 0; i < N_KINDS; i++) {
        if (made_of[i])
            memcpy(to + i * n, made_of[i], row_bytes);
        else
            memset(to + i * n, 0, row_bytes);
    }
    struct binding *const b = &m->bindings[ROLE_ROW_KINDS];
    b->present = true;
    b->matrix = (int32_t)m->p.n_matrices;
    m->matrices[m->p.n_matrices++] = (struct matrix){.name = "v.class_embd and v.patch_embd.bias",
                                                     .type = TENSOR_F32,
                                                     .k = n,
                                                     .n_out = N_KINDS,
                                                     .row_bytes = row_bytes,
                                                     .data = (const uint8_t *)to,
                                                     .n_slices = 1,
                                                     .slice_bytes = N_KINDS * row_bytes};
    return RN_OK;
}
