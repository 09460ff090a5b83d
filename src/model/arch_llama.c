// model/arch_llama.c - the Llama family (Touvron et al. 2023, 2302.13971): pre-norm blocks, rotary positions, grouped queries, gated
// feed-forward; biases and an own head where the file has them.
#include "model/arch.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct tensor_spec tensors[] = {
    {ROLE_TOKEN_EMBD, "token_embd.weight", DIM_EMBD, DIM_VOCAB},
    {ROLE_OUTPUT_NORM, "output_norm.weight", DIM_EMBD},
    {ROLE_OUTPUT, "output.weight", DIM_EMBD, DIM_VOCAB, .optional = true, .fallback = ROLE_TOKEN_EMBD},
    {ROLE_ROPE_FREQS, "rope_freqs.weight", DIM_ROT_PAIRS, .optional = true},
    {ROLE_ATTN_NORM, "blk.%d.attn_norm.weight", DIM_EMBD},
    {ROLE_Q, "blk.%d.attn_q.weight", DIM_EMBD, DIM_Q},
    {ROLE_K, "blk.%d.attn_k.weight", DIM_EMBD, DIM_KV},
    {ROLE_V, "blk.%d.attn_v.weight", DIM_EMBD, DIM_KV},
    {ROLE_O, "blk.%d.attn_output.weight", DIM_Q, DIM_EMBD},
    {ROLE_Q_BIAS, "blk.%d.attn_q.bias", DIM_Q, .optional = true},
    {ROLE_K_BIAS, "blk.%d.attn_k.bias", DIM_KV, .optional = true},
    {ROLE_V_BIAS, "blk.%d.attn_v.bias", DIM_KV, .optional = true},
    {ROLE_O_BIAS, "blk.%d.attn_output.bias", DIM_EMBD, .optional = true},
    {ROLE_FFN_NORM, "blk.%d.ffn_norm.weight", DIM_EMBD},
    {ROLE_GATE, "blk.%d.ffn_gate.weight", DIM_EMBD, DIM_FF},
    {ROLE_UP, "blk.%d.ffn_up.weight", DIM_EMBD, DIM_FF},
    {ROLE_DOWN, "blk.%d.ffn_down.weight", DIM_FF, DIM_EMBD},
    {ROLE_GATE_BIAS, "blk.%d.ffn_gate.bias", DIM_FF, .optional = true},
    {ROLE_UP_BIAS, "blk.%d.ffn_up.bias", DIM_FF, .optional = true},
    {ROLE_DOWN_BIAS, "blk.%d.ffn_down.bias", DIM_EMBD, .optional = true},
};

static const struct buf_spec bufs[N_BUFS] = {
    [BUF_X] = {DIM_EMBD},
    [BUF_NORMED] = {DIM_EMBD},
    [BUF_Q] = {DIM_Q},
    [BUF_K] = {DIM_KV},
    [BUF_V] = {DIM_KV},
    [BUF_ATTENDED] = {DIM_Q},
    [BUF_GATE] = {DIM_FF},
    [BUF_UP] = {DIM_FF},
    [BUF_DELTA] = {DIM_EMBD},
    [BUF_LAST] = {DIM_EMBD, true},
    [BUF_HIDDEN] = {DIM_EMBD, true},
    [BUF_LOGITS] = {DIM_VOCAB, true},
};

static const struct op_spec begin[] = {
    {OP_EMBED, .src = BUF_NONE, .src2 = BUF_NONE, .dst = BUF_X, .matrix = ROLE_TOKEN_EMBD},
};
static const struct op_spec layer[] = {
    {OP_RMS_NORM, BUF_X, BUF_NONE, BUF_NORMED, .vec = ROLE_ATTN_NORM},
    {OP_LINEAR, BUF_NORMED, BUF_NONE, BUF_Q, ROLE_Q, ROLE_Q_BIAS},
    {OP_LINEAR, BUF_NORMED, BUF_NONE, BUF_K, ROLE_K, ROLE_K_BIAS},
    {OP_LINEAR, BUF_NORMED, BUF_NONE, BUF_V, ROLE_V, ROLE_V_BIAS},
    {OP_ROPE, BUF_NONE, BUF_NONE, BUF_Q, .heads = DIM_Q},
    {OP_ROPE, BUF_NONE, BUF_NONE, BUF_K, .heads = DIM_KV},
    {OP_STORE_KV, BUF_K, BUF_V, BUF_NONE},
    {OP_ATTEND, BUF_Q, BUF_NONE, BUF_ATTENDED},
    {OP_LINEAR, BUF_ATTENDED, BUF_NONE, BUF_DELTA, ROLE_O, ROLE_O_BIAS},
    {OP_ADD, BUF_DELTA, BUF_NONE, BUF_X},
    {OP_RMS_NORM, BUF_X, BUF_NONE, BUF_NORMED, .vec = ROLE_FFN_NORM},
    {OP_LINEAR, BUF_NORMED, BUF_NONE, BUF_GATE, ROLE_GATE, ROLE_GATE_BIAS},
    {OP_LINEAR, BUF_NORMED, BUF_NONE, BUF_UP, ROLE_UP, ROLE_UP_BIAS},
    {OP_SILU_MUL, BUF_GATE, BUF_UP, BUF_GATE},
    {OP_LINEAR, BUF_GATE, BUF_NONE, BUF_DELTA, ROLE_DOWN, ROLE_DOWN_BIAS},
    {OP_ADD, BUF_DELTA, BUF_NONE, BUF_X},
};
static const struct op_spec end[] = {
    {OP_GATHER, BUF_X, BUF_NONE, BUF_LAST},
    {OP_RMS_NORM, BUF_LAST, BUF_NONE, BUF_HIDDEN, .vec = ROLE_OUTPUT_NORM},
    {OP_LINEAR, BUF_HIDDEN, BUF_NONE, BUF_LOGITS, ROLE_OUTPUT},
};

const struct arch arch_llama = {
    .name = "llama",
    .tensors = tensors,
    .n_tensors = COUNT(tensors),
    .bufs = bufs,
    .begin = begin,
    .n_begin = COUNT(begin),
    .layer = layer,
    .n_layer = COUNT(layer),
    .end = end,
    .n_end = COUNT(end),
};
