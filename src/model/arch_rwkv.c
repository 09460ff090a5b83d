// model/arch_rwkv.c - RWKV-7 (Peng et al. 2025, 2503.14456), alone and in Qwen 2's layers (ARWKV, 2501.15570), and RWKV-6 (2404.05892), alone
// and in those layers (QRWKV6).
//
// A row is mixed with the one before it, number by number, before each matrix reads it. Every number of a state's keys has a decay of its own,
// and in RWKV-7 a learning rate. Values after its first layer's are mixed with those; in RWKV-6 the shares of the row before follow from both.
#include "model/arch_ops.h"
#include "model/arch_tensors.h"
#include "model/archs.h"

// clang-format off
#define VECTOR(role, name) {role, "blk.%d." name ".weight", DIM_EMBD}
#define MIXES \
    {ROLE_WKV_MIX_R, DIM_EMBD}, {ROLE_WKV_MIX_W, DIM_EMBD}, {ROLE_WKV_MIX_K, DIM_EMBD}, {ROLE_WKV_MIX_V, DIM_EMBD}, \
    {ROLE_WKV_MIX_A, DIM_EMBD}
#define LOW(role_low, role_high, role_bias, name, rank) \
    {role_low, "blk.%d." name "1.weight", DIM_EMBD, rank}, \
    {role_high, "blk.%d." name "2.weight", rank, DIM_EMBD}, \
    VECTOR(role_bias, name "0")
#define TENSORS_TIME_MIX \
    {ROLE_NONE, "blk.%d.time_mix_lerp_fused.weight", DIM_EMBD, DIM_NONE, DIM_NONE, DIM_WKV_MIXES, .is_vector = true, \
     .parts = {MIXES, {ROLE_WKV_MIX_G, DIM_EMBD}}}, \
    {ROLE_NONE, "blk.%d.time_mix_lerp_fused.weight", DIM_EMBD, DIM_NONE, DIM_NONE, DIM_WKV_MIXES_UNGATED, \
     .is_vector = true, .parts = {MIXES}}, \
    {ROLE_WKV_R, "blk.%d.time_mix_receptance.weight", DIM_EMBD, DIM_EMBD}, \
    {ROLE_WKV_K, "blk.%d.time_mix_key.weight", DIM_EMBD, DIM_EMBD}, \
    {ROLE_WKV_V, "blk.%d.time_mix_value.weight", DIM_EMBD, DIM_EMBD}, \
    {ROLE_O, "blk.%d.time_mix_output.weight", DIM_EMBD, DIM_EMBD}, \
    LOW(ROLE_WKV_DECAY_LOW, ROLE_WKV_DECAY_HIGH, ROLE_WKV_DECAY, "time_mix_w", DIM_WKV_DECAY), \
    LOW(ROLE_WKV_RATE_LOW, ROLE_WKV_RATE_HIGH, ROLE_WKV_RATE, "time_mix_a", DIM_WKV_RATE), \
    LOW(ROLE_WKV_SHARE_LOW, ROLE_WKV_SHARE_HIGH, ROLE_WKV_SHARE, "time_mix_v", DIM_WKV_VALUE), \
    {ROLE_WKV_GATE_LOW, "blk.%d.time_mix_g1.weight", DIM_EMBD, DIM_WKV_GATE}, \
    {ROLE_WKV_GATE_HIGH, "blk.%d.time_mix_g2.weight", DIM_WKV_GATE, DIM_EMBD}, \
    VECTOR(ROLE_WKV_K_K, "time_mix_k_k"), \
    VECTOR(ROLE_WKV_K_A, "time_mix_k_a"), \
    VECTOR(ROLE_WKV_BONUS, "time_mix_r_k")

// BUF_DELTA_2 has the row before less this one.
#define MIXED(mix) MIXED_IF(mix, )
#define MIXED_IF(mix, ...) \
    {OP_COPY, .src = BUF_DELTA_2, .dst = BUF_NORMED_2, __VA_ARGS__}, \
    {OP_MUL, .dst = BUF_NORMED_2, .vec = mix, __VA_ARGS__}, \
    {OP_ADD, .src = BUF_NORMED, .dst = BUF_NORMED_2, __VA_ARGS__}
#define TO_SCAN(from, at) {OP_COPY, .src = from, .dst = BUF_SCAN, .part = DIM_SSM_INNER, .dst_at = at}
#define TO_LATENT(weight, rank, ...) \
    {OP_LINEAR, .src = BUF_NORMED_2, .dst = BUF_LATENT, .matrix = weight, .part = rank, __VA_ARGS__}
#define SIGMOID(buf, ...) {OP_ACTIVATE, .src = buf, .dst = buf, .fn = ACT_FN_SIGMOID, __VA_ARGS__}
#define LATER .when.unless = LAYER_FIRST
#define IF_GATE .when.if_role = ROLE_WKV_GATE_LOW
// From BUF_NORMED to BUF_DELTA, which in between has parts of what the state reads. Of a key k: e is k * k_k of length 1, b is e times the
// learning rate a, and the key itself becomes k + (a - 1) * k * k_a.
#define OPS_TIME_MIX \
    {OP_SHIFT, .src = BUF_NORMED, .dst = BUF_DELTA_2}, \
    MIXED(ROLE_WKV_MIX_R), \
    LINEAR(BUF_NORMED_2, BUF_SSM_Y, ROLE_WKV_R, ROLE_NONE), \
    TO_SCAN(BUF_SSM_Y, DIM_NONE), \
    MIXED(ROLE_WKV_MIX_W), \
    TO_LATENT(ROLE_WKV_DECAY_LOW, DIM_WKV_DECAY, ), \
    {OP_SOFTCAP, .dst = BUF_LATENT, .factor = FACTOR_ONE, .part = DIM_WKV_DECAY}, /* tanh */ \
    LINEAR(BUF_LATENT, BUF_SSM_Y, ROLE_WKV_DECAY_HIGH, ROLE_WKV_DECAY), \
    SIGMOID(BUF_SSM_Y, ), \
    {OP_SCALE, .dst = BUF_SSM_Y, .factor = FACTOR_WKV_DECAY}, \
    TO_SCAN(BUF_SSM_Y, DIM_SCAN_1), \
    MIXED(ROLE_WKV_MIX_V), \
    LINEAR(BUF_NORMED_2, BUF_SSM_Y, ROLE_WKV_V, ROLE_NONE), \
    {OP_COPY, .src = BUF_SSM_Y, .dst = BUF_INPUT, .when.only = LAYER_FIRST}, \
    TO_LATENT(ROLE_WKV_SHARE_LOW, DIM_WKV_VALUE, LATER), \
    {OP_LINEAR, .src = BUF_LATENT, .dst = BUF_SSM_Z, .matrix = ROLE_WKV_SHARE_HIGH, .vec = ROLE_WKV_SHARE, LATER}, \
    SIGMOID(BUF_SSM_Z, LATER), \
    {OP_COPY, .src = BUF_INPUT, .dst = BUF_DELTA, LATER}, \
    {OP_ADD, .src = BUF_SSM_Y, .dst = BUF_DELTA, .factor = FACTOR_LESS, LATER}, \
    {OP_MUL, .src = BUF_SSM_Z, .dst = BUF_DELTA, LATER}, \
    {OP_ADD, .src = BUF_DELTA, .dst = BUF_SSM_Y, LATER}, \
    TO_SCAN(BUF_SSM_Y, DIM_SCAN_5), \
    MIXED(ROLE_WKV_MIX_A), \
    TO_LATENT(ROLE_WKV_RATE_LOW, DIM_WKV_RATE, ), \
    LINEAR(BUF_LATENT, BUF_SSM_Z, ROLE_WKV_RATE_HIGH, ROLE_WKV_RATE), \
    SIGMOID(BUF_SSM_Z, ), \
    MIXED(ROLE_WKV_MIX_K), \
    LINEAR(BUF_NORMED_2, BUF_SSM_Y, ROLE_WKV_K, ROLE_NONE), \
    {OP_COPY, .src = BUF_SSM_Y, .dst = BUF_DELTA}, \
    {OP_MUL, .dst = BUF_DELTA, .vec = ROLE_WKV_K_K}, \
    {OP_RMS_NORM, .src = BUF_DELTA, .dst = BUF_DELTA, .heads = DIM_SSM_HEADS, .eps = 1e-24f}, \
    {OP_SCALE, .dst = BUF_DELTA, .factor = FACTOR_BY_SQRT_STATE}, \
    TO_SCAN(BUF_DELTA, DIM_SCAN_3), \
    {OP_MUL, .src = BUF_SSM_Z, .dst = BUF_DELTA}, \
    TO_SCAN(BUF_DELTA, DIM_SCAN_4), \
    {OP_COPY, .src = BUF_SSM_Y, .dst = BUF_DELTA}, \
    {OP_MUL, .dst = BUF_DELTA, .vec = ROLE_WKV_K_A}, \
    {OP_ADD, .src = BUF_DELTA, .dst = BUF_SSM_Y, .factor = FACTOR_LESS}, \
    {OP_MUL, .src = BUF_SSM_Z, .dst = BUF_DELTA}, \
    {OP_ADD, .src = BUF_DELTA, .dst = BUF_SSM_Y}, \
    TO_SCAN(BUF_SSM_Y, DIM_SCAN_2), \
    MIXED_IF(ROLE_WKV_MIX_G, IF_GATE), \
    TO_LATENT(ROLE_WKV_GATE_LOW, DIM_WKV_GATE, ), \
    SIGMOID(BUF_LATENT, .part = DIM_WKV_GATE, IF_GATE), \
    LINEAR(BUF_LATENT, BUF_SSM_Z, ROLE_WKV_GATE_HIGH, ROLE_NONE), \
    {OP_RANK_ONE, .src = BUF_SCAN, .dst = BUF_SSM_Y}, \
    {OP_LAYER_NORM, .src = BUF_SSM_Y, .dst = BUF_SSM_Y, .vec = ROLE_WKV_NORM, .vec2 = ROLE_WKV_NORM_BIAS, \
     .heads = DIM_SSM_HEADS, .vec_by_head = true, .eps = 64e-5f, .when.if_role = ROLE_WKV_NORM}, \
    {OP_BONUS, .src = BUF_SCAN, .dst = BUF_SSM_Y, .vec = ROLE_WKV_BONUS}, \
    {OP_MUL, .src = BUF_SSM_Z, .dst = BUF_SSM_Y, IF_GATE}, \
    LINEAR(BUF_SSM_Y, BUF_DELTA, ROLE_O, ROLE_NONE)
// Of RWKV's own models: norms, then what both blocks have beside their mixing.
#define TENSORS_RWKV_NORMS \
    TENSORS_EMBD, \
    TENSORS_OUTPUT, \
    TENSORS_OUTPUT_NORM_BIAS, \
    {ROLE_EMBD_NORM, "token_embd_norm.weight", DIM_EMBD}, \
    {ROLE_EMBD_NORM_BIAS, "token_embd_norm.bias", DIM_EMBD}, \
    TENSORS_ATTN_NORM, \
    TENSORS_ATTN_NORM_BIAS, \
    {ROLE_ATTN_NORM_2, "blk.%d.attn_norm_2.weight", DIM_EMBD}, \
    {ROLE_ATTN_NORM_2_BIAS, "blk.%d.attn_norm_2.bias", DIM_EMBD}
#define TENSORS_RWKV_BLOCKS \
    VECTOR(ROLE_WKV_NORM, "time_mix_ln"), \
    {ROLE_WKV_NORM_BIAS, "blk.%d.time_mix_ln.bias", DIM_EMBD}, \
    VECTOR(ROLE_WKV_MIX_FFN, "channel_mix_lerp_k"), \
    {ROLE_UP, "blk.%d.channel_mix_key.weight", DIM_EMBD, DIM_FF}, \
    {ROLE_DOWN, "blk.%d.channel_mix_value.weight", DIM_FF, DIM_EMBD}
// clang-format on

static const struct tensor_spec rwkv7_tensors[] = {
    TENSORS_RWKV_NORMS,
    TENSORS_TIME_MIX,
    TENSORS_RWKV_BLOCKS,
};
static const struct op_spec rwkv_begin[] = {OPS_EMBED, LAYER_NORM(BUF_X, BUF_X, ROLE_EMBD_NORM, ROLE_EMBD_NORM_BIAS)};
static const struct op_spec rwkv7_layer[] = {
    LAYER_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM, ROLE_ATTN_NORM_BIAS),
    OPS_TIME_MIX,
    ADD(BUF_DELTA, BUF_X),
    LAYER_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM_2, ROLE_ATTN_NORM_2_BIAS),
    {OP_SHIFT, .src = BUF_NORMED, .dst = BUF_DELTA_2, .offset = 1},
    MIXED(ROLE_WKV_MIX_FFN),
    OPS_FFN_PLAIN(BUF_NORMED_2, BUF_DELTA, ACT_FN_RELU_SQUARED),
    ADD(BUF_DELTA, BUF_X),
};
static const struct op_spec rwkv_end[] = {OPS_END_LAYER};
const struct arch arch_rwkv7 = {TENSORS(rwkv7_tensors), BEGIN(rwkv_begin), LAYER(rwkv7_layer), END(rwkv_end)};

static const struct tensor_spec arwkv7_tensors[] = {
    TENSORS_EMBD,
    TENSORS_OUTPUT,
    TENSORS_ATTN_NORM,
    TENSORS_TIME_MIX,
    {ROLE_WKV_NORM, "blk.%d.time_mix_ln.weight", DIM_EMBD, .optional = true},
    {ROLE_WKV_NORM_BIAS, "blk.%d.time_mix_ln.bias", DIM_EMBD, .optional = true},
    TENSORS_FFN_NORM,
    TENSORS_FFN_GATED,
};
static const struct op_spec begin[] = {OPS_EMBED};
static const struct op_spec end[] = {OPS_END_RMS};
static const struct op_spec arwkv7_layer[] = {
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM),
    OPS_TIME_MIX,
    ADD(BUF_DELTA, BUF_X),
    OPS_FFN_HALF(OP_GATE, ACT_FN_SILU),
};
const struct arch arch_arwkv7 = {TENSORS(arwkv7_tensors), BEGIN(begin), LAYER(arwkv7_layer), END(end)};

// ---- RWKV-6 ---------------------------------------------------------------------------------------------------------

// clang-format off
#define MIXES_6 \
    {ROLE_WKV_MIX_W, DIM_EMBD}, {ROLE_WKV_MIX_K, DIM_EMBD}, {ROLE_WKV_MIX_V, DIM_EMBD}, {ROLE_WKV_MIX_R, DIM_EMBD}, \
    {ROLE_WKV_MIX_G, DIM_EMBD}
#define TENSORS_TIME_MIX_6 \
    {ROLE_WKV_MIX_LOW, "blk.%d.time_mix_w1.weight", DIM_EMBD, DIM_WKV_MIX_LOW}, \
    {ROLE_WKV_MIX_HIGH, "blk.%d.time_mix_w2.weight", DIM_WKV_MIX, DIM_EMBD, DIM_WKV_MIXES_UNGATED}, \
    VECTOR(ROLE_WKV_MIX_X, "time_mix_lerp_x"), \
    VECTOR(ROLE_WKV_DECAY, "time_mix_decay"), \
    {ROLE_WKV_DECAY_LOW, "blk.%d.time_mix_decay_w1.weight", DIM_EMBD, DIM_WKV_DECAY}, \
    {ROLE_WKV_DECAY_HIGH, "blk.%d.time_mix_decay_w2.weight", DIM_WKV_DECAY, DIM_EMBD}, \
    {ROLE_WKV_R, "blk.%d.time_mix_receptance.weight", DIM_EMBD, DIM_EMBD}, \
    {ROLE_WKV_K, "blk.%d.time_mix_key.weight", DIM_EMBD, DIM_WKV_KEYS}, \
    {ROLE_WKV_V, "blk.%d.time_mix_value.weight", DIM_EMBD, DIM_WKV_KEYS}, \
    {ROLE_WKV_GATE, "blk.%d.time_mix_gate.weight", DIM_EMBD, DIM_EMBD}, \
    {ROLE_O, "blk.%d.time_mix_output.weight", DIM_EMBD, DIM_EMBD}

// The share of the row before: what is the same for all rows, then what follows from these two. Uses BUF_DELTA.
#define MIXED_6(mix, at) \
    MIXED(mix), \
    {OP_COPY, .src = BUF_PAIR, .dst = BUF_DELTA, .part = DIM_EMBD, .src_at = at}, \
    {OP_MUL, .src = BUF_DELTA_2, .dst = BUF_DELTA}, \
    {OP_ADD, .src = BUF_DELTA, .dst = BUF_NORMED_2}
#define KEYS_TO_SCAN(weight, bias, at) \
    {OP_LINEAR, .src = BUF_NORMED_2, .dst = BUF_SSM_Y, .matrix = weight, .vec = bias, .part = DIM_WKV_KEYS}, \
    {OP_COPY, .src = BUF_SSM_Y, .dst = BUF_SCAN, .part = DIM_WKV_KEYS, .dst_at = at}
// From BUF_NORMED to BUF_SSM_Y, and the gate in BUF_SSM_Z.
#define OPS_TIME_MIX_6(scale, own, gate) \
    {OP_SHIFT, .src = BUF_NORMED, .dst = BUF_DELTA_2}, \
    MIXED(ROLE_WKV_MIX_X), \
    LINEAR(BUF_NORMED_2, BUF_TAPS, ROLE_WKV_MIX_LOW, ROLE_NONE), \
    {OP_SOFTCAP, .dst = BUF_TAPS, .factor = FACTOR_ONE}, /* tanh */ \
    {OP_LINEAR, .src = BUF_TAPS, .dst = BUF_PAIR, .matrix = ROLE_WKV_MIX_HIGH, \
     .heads = DIM_WKV_MIXES_UNGATED}, \
    MIXED_6(ROLE_WKV_MIX_W, DIM_NONE), \
    TO_LATENT(ROLE_WKV_DECAY_LOW, DIM_WKV_DECAY, ), \
    {OP_SOFTCAP, .dst = BUF_LATENT, .factor = FACTOR_ONE, .part = DIM_WKV_DECAY}, \
    LINEAR(BUF_LATENT, BUF_SSM_Y, ROLE_WKV_DECAY_HIGH, ROLE_WKV_DECAY), \
    TO_SCAN(BUF_SSM_Y, DIM_SCAN_1), \
    MIXED_6(ROLE_WKV_MIX_K, DIM_SCAN_1), \
    KEYS_TO_SCAN(ROLE_WKV_K, ROLE_K_BIAS, DIM_SCAN_2), \
    MIXED_6(ROLE_WKV_MIX_V, DIM_SCAN_2), \
    KEYS_TO_SCAN(ROLE_WKV_V, ROLE_V_BIAS, DIM_SCAN_VALUES), \
    MIXED_6(ROLE_WKV_MIX_R, DIM_SCAN_3), \
    LINEAR(BUF_NORMED_2, BUF_SSM_Y, ROLE_WKV_R, ROLE_Q_BIAS), \
    {OP_SCALE, .dst = BUF_SSM_Y, .factor = scale}, \
    TO_SCAN(BUF_SSM_Y, DIM_NONE), \
    MIXED_6(ROLE_WKV_MIX_G, DIM_SCAN_4), \
    LINEAR(BUF_NORMED_2, BUF_SSM_Z, ROLE_WKV_GATE, ROLE_NONE), \
    {OP_ACTIVATE, .src = BUF_SSM_Z, .dst = BUF_SSM_Z, .fn = gate}, \
    {OP_DECAY, .src = BUF_SCAN, .dst = BUF_SSM_Y, .vec = own}
#define OPS_TIME_MIX_OUT_6 \
    {OP_MUL, .src = BUF_SSM_Z, .dst = BUF_SSM_Y}, \
    LINEAR(BUF_SSM_Y, BUF_DELTA, ROLE_O, ROLE_NONE)
// clang-format on

static const struct tensor_spec rwkv6_tensors[] = {
    TENSORS_RWKV_NORMS,
    TENSORS_TIME_MIX_6,
    {ROLE_NONE, "blk.%d.time_mix_lerp_fused.weight", DIM_EMBD, DIM_NONE, DIM_NONE, DIM_WKV_MIXES_UNGATED,
     .is_vector = true, .optional = true, .parts = {MIXES_6}}, // one by one in files of before 2025
    VECTOR(ROLE_WKV_MIX_W, "time_mix_lerp_w"),
    VECTOR(ROLE_WKV_MIX_K, "time_mix_lerp_k"),
    VECTOR(ROLE_WKV_MIX_V, "time_mix_lerp_v"),
    VECTOR(ROLE_WKV_MIX_R, "time_mix_lerp_r"),
    VECTOR(ROLE_WKV_MIX_G, "time_mix_lerp_g"),
    {ROLE_WKV_BONUS, "blk.%d.time_mix_first.weight", DIM_SSM_STATE, DIM_SSM_HEADS, .is_vector = true},
    TENSORS_RWKV_BLOCKS,
    VECTOR(ROLE_WKV_MIX_FFN_R, "channel_mix_lerp_r"),
    {ROLE_WKV_FFN_R, "blk.%d.channel_mix_receptance.weight", DIM_EMBD, DIM_EMBD},
};
static const struct op_spec rwkv6_layer[] = {
    LAYER_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM, ROLE_ATTN_NORM_BIAS),
    OPS_TIME_MIX_6(FACTOR_ONE, ROLE_WKV_BONUS, ACT_FN_SILU),
    {OP_LAYER_NORM, .src = BUF_SSM_Y, .dst = BUF_SSM_Y, .vec = ROLE_WKV_NORM, .vec2 = ROLE_WKV_NORM_BIAS,
     .heads = DIM_SSM_HEADS, .vec_by_head = true, .eps = 64e-5f},
    OPS_TIME_MIX_OUT_6,
    ADD(BUF_DELTA, BUF_X),
    LAYER_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM_2, ROLE_ATTN_NORM_2_BIAS),
    {OP_SHIFT, .src = BUF_NORMED, .dst = BUF_DELTA_2, .offset = 1},
    MIXED(ROLE_WKV_MIX_FFN_R),
    LINEAR(BUF_NORMED_2, BUF_SSM_Z, ROLE_WKV_FFN_R, ROLE_NONE),
    SIGMOID(BUF_SSM_Z, ),
    MIXED(ROLE_WKV_MIX_FFN),
    OPS_FFN_PLAIN(BUF_NORMED_2, BUF_DELTA, ACT_FN_RELU_SQUARED),
    {OP_MUL, .src = BUF_SSM_Z, .dst = BUF_DELTA},
    ADD(BUF_DELTA, BUF_X),
    {OP_SCALE, .dst = BUF_X, .factor = FACTOR_HALF, .when.only = LAYER_HALVED},
};
const struct arch arch_rwkv6 = {TENSORS(rwkv6_tensors), BEGIN(rwkv_begin), LAYER(rwkv6_layer), END(rwkv_end)};

static const struct tensor_spec rwkv6qwen2_tensors[] = {
    TENSORS_EMBD,
    TENSORS_OUTPUT,
    TENSORS_ATTN_NORM,
    TENSORS_TIME_MIX_6,
    {ROLE_NONE, "blk.%d.time_mix_lerp_fused.weight", DIM_EMBD, DIM_NONE, DIM_NONE, DIM_WKV_MIXES_UNGATED,
     .is_vector = true, .parts = {MIXES_6}},
    {ROLE_Q_BIAS, "blk.%d.time_mix_receptance.bias", DIM_EMBD, .optional = true},
    {ROLE_K_BIAS, "blk.%d.time_mix_key.bias", DIM_WKV_KEYS, .optional = true},
    {ROLE_V_BIAS, "blk.%d.time_mix_value.bias", DIM_WKV_KEYS, .optional = true},
    TENSORS_FFN_NORM,
    TENSORS_FFN_GATED,
};
static const struct op_spec rwkv6qwen2_layer[] = {
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM),
    OPS_TIME_MIX_6(FACTOR_BY_SQRT_STATE, ROLE_NONE, ACT_FN_SIGMOID),
    OPS_TIME_MIX_OUT_6,
    ADD(BUF_DELTA, BUF_X),
    OPS_FFN_HALF(OP_GATE, ACT_FN_SILU),
};
const struct arch arch_rwkv6qwen2 = {TENSORS(rwkv6qwen2_tensors), BEGIN(begin), LAYER(rwkv6qwen2_layer), END(end)};
