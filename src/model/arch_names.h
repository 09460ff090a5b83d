// model/arch_names.h - the names that the tables of an architecture refer to each other by.
//
// Four vocabularies, each defined here and nowhere else: a new dimension, role, row buffer or
// factor is one line.
#ifndef RN_MODEL_ARCH_NAMES_H
#define RN_MODEL_ARCH_NAMES_H

#include "backend/program.h"
#include "formats/package.h"

// ---- dimensions ---------------------------------------------------------------------------------

// ROW(name, value): DIM_name is a width of tensors, row buffers or heads. Its value follows from h,
// the hyper-parameters of the model, l, those of a layer, i_layer, its index, and DIM(name) of rows
// above. arch_dims() computes them for the model as a whole and for each of its layers.
// clang-format off
#define DIMS(ROW) \
    ROW(ONE, 1) \
    ROW(EMBD, h->n_embd) \
    ROW(EMBD_TWICE, 2 * DIM(EMBD)) \
    ROW(EMBD_TOKEN, h->n_embd_token ? h->n_embd_token : h->n_embd) \
    ROW(EMBD_THRICE, 3 * DIM(EMBD)) \
    ROW(TOKENS, h->n_vocab) /* of rows: VOCAB but in draft heads with fewer logits (build.c) */ \
    ROW(VOCAB, h->n_vocab) \
    ROW(CTX, h->n_ctx_train)                       /* positions with an embedding of their own */ \
    ROW(LAYERS, h->n_layer) \
    ROW(TOKEN_TYPES, h->n_token_types) \
    ROW(CLASSES, h->n_class > 0 ? h->n_class : 1)  /* scores of a reranker */ \
    ROW(DENSE_2, h->n_dense_2)                     /* what is made of pooled rows */ \
    ROW(DENSE_3, h->n_dense_3) \
    ROW(HIDDEN_TOKEN, h->n_dense_2 ? h->n_dense_2 : h->n_embd_token ? h->n_embd_token : h->n_embd) \
    ROW(RANK_HIDDEN, h->n_dense_3 ? h->n_dense_3 : h->n_embd) \
    ROW(REL_BUCKETS, h->n_rel_bucket) \
    /* Attention. */ \
    ROW(HEADS, l->n_head) \
    ROW(HEADS_KV, l->n_head_kv) \
    ROW(HEAD, l->head_dim)                         /* query or key of a head */ \
    ROW(ROT, l->n_rot)                             /* of that, rotated */ \
    ROW(ROT_PAIRS, DIM(ROT) / 2) \
    ROW(Q, DIM(HEADS) * DIM(HEAD)) \
    ROW(K, DIM(HEADS_KV) * DIM(HEAD)) \
    ROW(V, DIM(HEADS_KV) * (size_t)l->head_dim_v) \
    ROW(O, DIM(HEADS) * (size_t)l->head_dim_v)     /* results of all heads */ \
    ROW(QKV, DIM(Q) + DIM(K) + DIM(V)) \
    ROW(Q_TWICE, 2 * DIM(Q))                       /* queries, and a gate for each head */ \
    /* Latent attention. */ \
    ROW(Q_LORA, h->q_lora_rank)                    /* latent vector of the queries */ \
    ROW(KV_LORA, h->kv_lora_rank)                  /* latent vector of keys and values */ \
    ROW(NOPE, h->head_dim_nope)                    /* of a head, not rotated */ \
    ROW(Q_SPREAD, DIM(HEADS) * (DIM(NOPE) + DIM(ROT)))  /* queries of all heads */ \
    ROW(HEAD_V, h->mla_head_dim_v)                 /* result of a head */ \
    ROW(O_SPREAD, DIM(HEADS) * DIM(HEAD_V)) \
    ROW(KV_SPREAD, DIM(HEADS) * (DIM(NOPE) + DIM(HEAD_V)))  /* keys, unrotated, and values of all heads */ \
    /* Feed-forward. */ \
    ROW(FF, l->n_ff) \
    ROW(FF_TWICE, 2 * DIM(FF))                     /* gate and up in one tensor */ \
    /* Experts; parts are the rows of the chosen experts side by side (backend/program.h). */ \
    ROW(EXPERTS, h->n_expert) \
    ROW(CHOSEN, h->n_expert_used)                  /* experts of a row */ \
    ROW(CHOICES, 2 * DIM(CHOSEN))                  /* their weights and numbers */ \
    ROW(FF_EXPERT, h->n_ff_expert) \
    ROW(FF_EXPERT_TWICE, 2 * DIM(FF_EXPERT)) \
    ROW(FF_SHARED, h->n_ff_shared)                 /* of the shared experts, as one */ \
    ROW(PARTS_FF, DIM(CHOSEN) * round_up(DIM(FF_EXPERT), PROGRAM_PART_ALIGN)) \
    ROW(PARTS_EMBD, DIM(CHOSEN) * round_up(DIM(EMBD), PROGRAM_PART_ALIGN)) \
    ROW(FF_CHUNK, h->n_ff_chunk)                   /* of what experts of a group share */ \
    ROW(CHUNKS, h->n_expert_per_chunk ? DIM(EXPERTS) / (size_t)h->n_expert_per_chunk : 0) \
    ROW(PARTS_CHUNK, DIM(CHOSEN) * round_up(DIM(FF_CHUNK), PROGRAM_PART_ALIGN)) \
    ROW(SIDE, DIM(PARTS_CHUNK) ? DIM(PARTS_CHUNK) : DIM(FF_SHARED))  /* beside the experts */ \
    /* Per-layer embeddings. */ \
    ROW(PLE, h->n_embd_per_layer) \
    ROW(PLE_ALL, DIM(LAYERS) * DIM(PLE))           /* of all layers side by side */ \
    ROW(PLE_BEFORE, (size_t)(i_layer > 0 ? i_layer : 0) * DIM(PLE))  /* where this layer's is */ \
    ROW(DEEPSTACK, (size_t)(i_layer + 1) * DIM(EMBD))  /* where an input vector has what is added behind the layer */ \
    ROW(PATCH, h->n_patch)                         /* what a vision part reads */ \
    ROW(INPUT, DIM(PATCH) ? DIM(PATCH) : DIM(EMBD_TOKEN)) \
    /* Recurrent layers. */ \
    ROW(SSM_INNER, h->ssm_d_inner)                 /* results of all heads */ \
    ROW(SSM_HEADS, h->ssm_n_head) \
    ROW(SSM_HEADS_TWICE, 2 * DIM(SSM_HEADS)) \
    ROW(SSM_HEAD, DIM(SSM_HEADS) ? DIM(SSM_INNER) / DIM(SSM_HEADS) : 0)  /* result of a head */ \
    ROW(SSM_GROUPS, h->ssm_n_group)                /* of heads that share keys */ \
    ROW(SSM_GROUP, DIM(SSM_GROUPS) ? DIM(SSM_INNER) / DIM(SSM_GROUPS) : 0)  /* its results */ \
    ROW(SSM_SHARE, DIM(SSM_GROUPS) ? DIM(SSM_HEADS) / DIM(SSM_GROUPS) : 0)  /* its heads */ \
    ROW(CONV_TAPS, h->ssm_d_conv)                  /* steps that the convolution covers */ \
    ROW(CONV, DIM(SSM_INNER) + 2 * DIM(SSM_GROUPS) * (size_t)h->ssm_d_state)  /* its channels */ \
    ROW(CONV_THRICE, 3 * DIM(CONV)) \
    ROW(SSM_IN, DIM(SSM_INNER) + DIM(CONV) + DIM(SSM_HEADS)) \
    /* Mamba. */ \
    ROW(SSM_INNER_TWICE, 2 * DIM(SSM_INNER)) \
    ROW(DT_RANK, h->ssm_dt_rank)                   /* what time steps are computed from */ \
    /* RWKV. */ \
    ROW(WKV_DECAY, h->wkv_decay_rank) \
    ROW(WKV_RATE, h->wkv_rate_rank) \
    ROW(WKV_VALUE, i_layer == 0 ? h->wkv_rate_rank : h->wkv_value_rank)  /* files have some for the first layer, unused */ \
    ROW(WKV_GATE, h->wkv_gate_rank) \
    ROW(WKV_MOST, largest_of(DIM(WKV_DECAY), DIM(WKV_RATE), DIM(WKV_VALUE), DIM(WKV_GATE))) \
    ROW(WKV_KEYS, h->ssm_n_group * h->wkv_head)    /* of all groups of heads */ \
    ROW(WKV_MIX, h->wkv_mix_rank)                  /* what a share of the row before is computed from */ \
    ROW(WKV_MIX_LOW, 5 * DIM(WKV_MIX)) \
    ROW(PAIR, (DIM(WKV_MIX) ? 5 : 2) * DIM(EMBD))  /* such shares, side by side; or two rows */ \
    ROW(TAPS, DIM(WKV_MIX) ? DIM(WKV_MIX_LOW) : 3 * DIM(EMBD)) \
    ROW(WKV_MIXES, h->wkv_head && DIM(WKV_GATE) ? 6 : 0)  /* what is mixed of a row and the one before */ \
    ROW(WKV_MIXES_UNGATED, h->wkv_head && !DIM(WKV_GATE) ? 5 : 0) \
    ROW(LATENT, DIM(Q_LORA) ? DIM(Q_LORA) : DIM(DT_RANK) ? DIM(DT_RANK) : DIM(WKV_MOST))  /* what queries, time steps or the like are computed from */ \
    ROW(SSM_STATE, h->ssm_d_state) \
    ROW(SSM_X, DIM(DT_RANK) + 2 * DIM(SSM_STATE)) \
    ROW(SCAN, h->wkv_head ? 6 * DIM(SSM_INNER) : DIM(SSM_INNER) + 2 * DIM(SSM_STATE))  /* what its states read */ \
    ROW(SCAN_C, DIM(SSM_INNER) + DIM(SSM_STATE)) \
    ROW(SCAN_1, DIM(SSM_INNER)) \
    ROW(SCAN_2, 2 * DIM(SSM_INNER)) \
    ROW(SCAN_VALUES, 2 * DIM(SSM_INNER) + DIM(WKV_KEYS)) \
    ROW(SCAN_3, 3 * DIM(SSM_INNER)) \
    ROW(SCAN_4, 4 * DIM(SSM_INNER)) \
    ROW(SCAN_5, 5 * DIM(SSM_INNER))
// clang-format on

enum dim {
    DIM_NONE,
#define NAME(name, value) DIM_##name,
    DIMS(NAME)
#undef NAME
        N_DIMS
};

// ---- roles --------------------------------------------------------------------------------------

// What a tensor is for.
enum role {
    ROLE_NONE,
    ROLE_TOKEN_EMBD,
    ROLE_POS_EMBD,
    ROLE_TOKEN_TYPES, // embeddings of the parts of a pair of texts; the first is that of a text by itself
    ROLE_EMBD_IN,     // from narrower embeddings to rows, and back for the head
    ROLE_EMBD_OUT,
    ROLE_EMBD_NORM,
    ROLE_EMBD_NORM_BIAS,
    ROLE_OUTPUT_NORM,
    ROLE_OUTPUT_NORM_BIAS,
    ROLE_OUTPUT,
    ROLE_OUTPUT_BIAS,
    // Factors of rotary frequencies: Llama 3's, and LongRoPE's for short and for long texts.
    ROLE_ROPE_FREQS,
    ROLE_ROPE_SHORT,
    ROLE_ROPE_LONG,
    // Attention. The second norm is that of models whose blocks read norms of their own.
    ROLE_ATTN_NORM,
    ROLE_ATTN_NORM_BIAS,
    ROLE_ATTN_NORM_2,
    ROLE_ATTN_NORM_2_BIAS,
    ROLE_QKV,
    ROLE_QKV_BIAS,
    ROLE_Q,
    ROLE_K,
    ROLE_V,
    ROLE_O,
    ROLE_Q_BIAS,
    ROLE_K_BIAS,
    ROLE_V_BIAS,
    ROLE_O_BIAS,
    ROLE_Q_NORM,
    ROLE_Q_NORM_BIAS,
    ROLE_K_NORM,
    ROLE_K_NORM_BIAS,
    ROLE_SINKS,
    ROLE_ATTN_GATE, // of what attention results in
    ROLE_ATTN_SUB_NORM,
    ROLE_POST_ATTN_NORM,
    // Feed-forward.
    ROLE_FFN_NORM,
    ROLE_FFN_NORM_BIAS,
    ROLE_GATE_UP,
    ROLE_GATE_UP_BIAS,
    ROLE_GATE,
    ROLE_UP,
    ROLE_DOWN,
    ROLE_GATE_BIAS,
    ROLE_UP_BIAS,
    ROLE_DOWN_BIAS,
    ROLE_POST_FFN_NORM,
    ROLE_FFN_SUB_NORM,
    // Latent attention.
    ROLE_Q_LORA,
    ROLE_Q_LORA_BIAS,
    ROLE_Q_LORA_NORM,
    ROLE_Q_SPREAD,
    ROLE_KV_LORA,
    ROLE_KV_LORA_BIAS,
    ROLE_KV_LORA_NORM,
    ROLE_K_HEADS,
    ROLE_V_HEADS,
    ROLE_KV_HEADS, // both in one, head by head, which they are made of (latent.c)
    // Per-layer embeddings (Gemma 4).
    ROLE_PLE_EMBD,
    ROLE_PLE_PROJ,
    ROLE_PLE_PROJ_NORM,
    ROLE_PLE_GATE,
    ROLE_PLE_OUT,
    ROLE_PLE_POST_NORM,
    ROLE_LAYER_SCALE,
    // Experts. Gemma 4 has them next to a dense feed-forward, each with norms of its own.
    ROLE_ROUTER,
    ROLE_ROUTER_BIAS,
    ROLE_ROUTER_SCALE,
    ROLE_CHOICE_BIAS,
    ROLE_GATE_UP_EXPERTS,
    ROLE_GATE_EXPERTS,
    ROLE_UP_EXPERTS,
    ROLE_DOWN_EXPERTS,
    ROLE_GATE_EXPERTS_BIAS,
    ROLE_UP_EXPERTS_BIAS,
    ROLE_DOWN_EXPERTS_BIAS,
    ROLE_EXPERTS_BIAS, // of their sum
    ROLE_EXPERTS_SCALE,
    ROLE_EXPERTS_NORM,
    ROLE_POST_EXPERTS_NORM,
    ROLE_POST_DENSE_NORM,
    ROLE_GATE_SHARED,
    ROLE_GATE_SHARED_BIAS,
    ROLE_UP_SHARED,
    ROLE_UP_SHARED_BIAS,
    ROLE_DOWN_SHARED,
    ROLE_DOWN_SHARED_BIAS,
    ROLE_SHARED_GATE,
    ROLE_GATE_CHUNKS, // of groups of experts
    ROLE_UP_CHUNKS,
    ROLE_DOWN_CHUNKS,
    // Recurrent layers.
    ROLE_SSM_IN,
    ROLE_SSM_Z,
    ROLE_SSM_MIX,
    ROLE_SSM_DT,
    ROLE_SSM_DT_BIAS,
    ROLE_SSM_IN_BIAS,
    ROLE_SSM_Z_BIAS,
    ROLE_SSM_MIX_BIAS,
    ROLE_SSM_DT_IN_BIAS,
    ROLE_SSM_OUT_BIAS,
    ROLE_SSM_CONV,
    ROLE_SSM_CONV_BIAS,
    ROLE_SSM_A,
    ROLE_SSM_D,
    ROLE_SSM_NORM,
    ROLE_SSM_OUT,
    ROLE_SSM_BETA,
    ROLE_SSM_ALPHA,
    ROLE_SSM_BETA_ALPHA,
    ROLE_SSM_X,
    ROLE_SSM_DT_LOW,
    ROLE_SSM_B,
    ROLE_SSM_C,
    ROLE_SSM_DT_NORM,
    ROLE_SSM_B_NORM,
    ROLE_SSM_C_NORM,
    // RWKV: shares of the row before in what is read for each of these, and what they are computed from and with.
    ROLE_WKV_MIX_R,
    ROLE_WKV_MIX_W,
    ROLE_WKV_MIX_K,
    ROLE_WKV_MIX_V,
    ROLE_WKV_MIX_A,
    ROLE_WKV_MIX_G,
    ROLE_WKV_R,
    ROLE_WKV_K,
    ROLE_WKV_V,
    ROLE_WKV_DECAY,
    ROLE_WKV_DECAY_LOW,
    ROLE_WKV_DECAY_HIGH,
    ROLE_WKV_RATE,
    ROLE_WKV_RATE_LOW,
    ROLE_WKV_RATE_HIGH,
    ROLE_WKV_SHARE,
    ROLE_WKV_SHARE_LOW,
    ROLE_WKV_SHARE_HIGH,
    ROLE_WKV_GATE_LOW,
    ROLE_WKV_GATE_HIGH,
    ROLE_WKV_K_K,
    ROLE_WKV_K_A,
    ROLE_WKV_BONUS,
    ROLE_WKV_NORM,
    ROLE_WKV_NORM_BIAS,
    ROLE_WKV_MIX_FFN,
    ROLE_WKV_MIX_FFN_R,
    ROLE_WKV_FFN_R,
    ROLE_WKV_MIX_X, // of what shares are computed from
    ROLE_WKV_MIX_LOW,
    ROLE_WKV_MIX_HIGH,
    ROLE_WKV_GATE,
    ROLE_CONV_IN,
    ROLE_CONV_IN_BIAS,
    ROLE_CONV_AFTER,
    ROLE_CONV_AFTER_BIAS,
    // A reranker's head: a hidden layer, which may be missing, and the scores.
    ROLE_RANK,
    ROLE_RANK_BIAS,
    ROLE_RANK_NORM,
    ROLE_RANK_NORM_BIAS,
    ROLE_RANK_OUT,
    ROLE_RANK_OUT_BIAS,
    // sentence-transformers' Dense modules.
    ROLE_DENSE_2,
    ROLE_DENSE_3,
    ROLE_REL_BIAS, // of scores, by distance and head
    // Draft heads: norms of what they read, and the projection of it to one row.
    ROLE_PART_EMBD_NORM,
    ROLE_PART_VECTOR_NORM,
    ROLE_PART_PROJ,
    ROLE_PART_PROJ_BIAS,
    ROLE_PART_TAPS, // of three taps
    // Vision towers: the matrix of the patches, what is added to it by kind of row, and what that is made of.
    ROLE_PATCH,
    ROLE_PATCH_BIAS,
    ROLE_CLASS_EMBD,
    ROLE_ROW_KINDS,
    ROLE_PLACES,     // embeddings of a square of places, which no program reads: they are interpolated
    ROLE_ATTN_SCALE, // of a layer's outputs, number by number
    ROLE_FFN_SCALE,
    ROLE_MERGER,  // of a projector: patches to one row
    ROLE_NEWLINE, // of a projector
    N_ROLES
};

// ---- row buffers --------------------------------------------------------------------------------

// ROW(name, width, rows): BUF_name holds DIM_width floats for each of those rows (enum op_rows). A program has room for
// PROGRAM_MAX_BUFFERS, taps included: what no architecture has both of shares a buffer.
// clang-format off
#define BUFS(ROW) \
    ROW(X, EMBD, ALL)               /* the residual stream */ \
    ROW(NORMED, EMBD, ALL)          /* what a block reads */ \
    ROW(NORMED_2, EMBD, ALL) \
    ROW(DELTA, EMBD, ALL)           /* what a block adds */ \
    ROW(DELTA_2, EMBD, ALL) \
    ROW(Q, Q, ALL) \
    ROW(K, K, ALL) \
    ROW(V, V, ALL) \
    ROW(ATTENDED, O, ALL) \
    ROW(Q_TWICE, Q_TWICE, ALL) \
    ROW(Q_GATE, Q, ALL) \
    ROW(LATENT, LATENT, ALL) \
    ROW(Q_SPREAD, Q_SPREAD, ALL) \
    ROW(O_SPREAD, O_SPREAD, ALL) \
    ROW(GATE, FF, ALL) \
    ROW(UP, FF, ALL) \
    ROW(ROUTED, EXPERTS, ALL)       /* the router's logits */ \
    ROW(CHOICES, CHOICES, ALL) \
    ROW(PARTS_IN, PARTS_EMBD, ALL)  /* one part for each chosen expert */ \
    ROW(PARTS_GATE, PARTS_FF, ALL) \
    ROW(PARTS_UP, PARTS_FF, ALL) \
    ROW(PARTS_DOWN, PARTS_EMBD, ALL) \
    ROW(GATE_SHARED, SIDE, ALL)     /* or parts of what groups share */ \
    ROW(UP_SHARED, SIDE, ALL) \
    ROW(SHARED_GATE, ONE, ALL) \
    ROW(PLE_ALL, PLE_ALL, ALL) \
    ROW(PLE_PROJ, PLE_ALL, ALL) \
    ROW(PLE, PLE, ALL) \
    ROW(PLE_GATE, PLE, ALL) \
    ROW(SSM_Z, SSM_INNER, ALL)      /* gate of a recurrent layer */ \
    ROW(SSM_MIX, CONV, ALL) \
    ROW(SSM_CONV, CONV, ALL)        /* what its heads read */ \
    ROW(SSM_STEP, SSM_HEADS, ALL)   /* how far each head moves: its time step, or its beta */ \
    ROW(SSM_ALPHA, SSM_HEADS, ALL) \
    ROW(SSM_BETA_ALPHA, SSM_HEADS_TWICE, ALL) \
    ROW(SSM_Y, SSM_INNER, ALL)      /* their results */ \
    ROW(SSM_KEY, SSM_STATE, ALL)    /* of all channels, and then their query */ \
    ROW(SCAN, SCAN, ALL) \
    ROW(PAIR, PAIR, ALL)            /* of a draft head: embedding, then input vector; or RWKV-6's shares of the row before */ \
    ROW(TAPS, TAPS, ALL)            /* and three taps of its base model; or what such shares are computed from */ \
    ROW(INPUT, INPUT, ALL)          /* narrow embeddings, the input vector of a vision part, or values of the first layer */ \
    ROW(LAST, EMBD, WANTED)         /* the residual stream after the last layer */ \
    ROW(HIDDEN, EMBD, WANTED)       /* and its final norm */ \
    ROW(HIDDEN_TOKEN, HIDDEN_TOKEN, WANTED) /* or what the first Dense module makes */ \
    ROW(RANK_HIDDEN, RANK_HIDDEN, WANTED)   /* or what the second one makes */ \
    ROW(RANK, CLASSES, WANTED) \
    ROW(LOGITS, VOCAB, LOGITS)
// clang-format on

enum buf {
    BUF_NONE,
#define NAME(name, width, rows) BUF_##name,
    BUFS(NAME)
#undef NAME
    // The residual stream of the wanted rows after each tapped layer.
    BUF_TAP,
    BUF_LAST_TAP = BUF_TAP + PROGRAM_MAX_TAPS - 1,
    N_BUFS
};

// ---- factors ------------------------------------------------------------------------------------

// ROW(name, value): FACTOR_name is a number that an op multiplies by; h: the model's
// hyper-parameters.
// clang-format off
#define FACTORS(ROW) \
    ROW(ONE, 1) \
    ROW(EMBD, or_1(h->embd_scale)) \
    ROW(RESIDUAL, or_1(h->residual_scale)) \
    ROW(LOGITS, or_1(h->logit_scale)) \
    ROW(LOGIT_CAP, h->logit_softcap)  /* 0: none */ \
    ROW(QKV_LEAST, -h->clamp_qkv) \
    ROW(QKV_MOST, h->clamp_qkv)       /* 0: none */ \
    ROW(DT_LEAST, h->ssm_dt_least) \
    ROW(DT_MOST, h->ssm_dt_most != 0 ? h->ssm_dt_most : INFINITY) \
    ROW(SQRT_PLE, sqrtf((float)h->n_embd_per_layer)) \
    ROW(BY_SQRT_EMBD, 1 / sqrtf((float)h->n_embd)) \
    ROW(LESS, -1) \
    ROW(HALF, 0.5f) \
    ROW(WKV_DECAY, -0.60653065971263342f) /* -exp(-1/2) */ \
    ROW(BY_SQRT_STATE, 1 / sqrtf((float)h->ssm_d_state)) \
    ROW(CHUNKS, h->expert_chunk_scale) \
    ROW(VALUES, or_1(h->value_scale)) \
    ROW(ROUTER_CAP, h->router_softcap)  /* 0: none */ \
    ROW(BY_SQRT_2, 0.70710678118654752f)
// clang-format on

enum factor {
#define NAME(name, value) FACTOR_##name,
    FACTORS(NAME)
#undef NAME
        N_FACTORS
};

#endif
