// model/arch.h - an architecture as data: which tensors it has with which shapes, and the operations of its layers.
//
// A new architecture is a new struct arch in a file arch_FAMILY.c, and a line in the table of arch.c. Nothing else knows it. Tensors and
// operations that many share are macros in arch_tensors.h and arch_ops.h. The tables refer to each other by these names:
//
//   enum dim     a width: of a tensor (tensor_spec.ne0 .. ne2), of a row buffer (the table in build.c), of an operation's heads. arch_dims()
//                computes them from the hyper-parameters, for each layer.
//   enum role    what a tensor is for: tensor_spec gives a role its name and shape, op_spec names the roles that it reads.
//   enum buf     a row buffer: op_spec names what it reads and writes.
//   enum factor  a number of the model that an op_spec multiplies by.
//
// A tensor_spec or op_spec holds in all layers, or says which: by .only and .unless (flags of the layer and the model), by .if_role and
// .unless_role (is a tensor there?). build.c writes the op_specs that hold as struct op (backend/program.h), layer by layer; a tensor that is
// optional and absent leaves out what reads it.
#ifndef RN_MODEL_ARCH_H
#define RN_MODEL_ARCH_H

#include "backend/program.h"
#include "formats/package.h"

// Widths that shapes and buffers are made of; where layers differ, each has its own.
enum dim {
    DIM_NONE,
    DIM_EMBD,
    DIM_VOCAB,
    DIM_CTX,       // positions that have an embedding of their own
    DIM_ROT_PAIRS, // rotated pairs of a head
    DIM_HEADS,
    DIM_HEADS_KV,
    DIM_HEAD, // numbers of a head's query and key
    DIM_Q,    // queries of all heads
    DIM_K,
    DIM_V,
    DIM_O,   // attention's results of all heads
    DIM_QKV, // queries, keys and values in one tensor
    DIM_FF,
    DIM_FF_TWICE, // gate and up in one tensor
    DIM_ONE,
    DIM_LAYERS,
    DIM_PLE,         // of the embedding that each layer gets of its own
    DIM_PLE_ALL,     // of all layers' side by side ..
    DIM_PLE_BEFORE,  // .. and where this layer's begins
    DIM_TEMPERATURE, // positions of a step of the queries' temperature
    DIM_Q_LORA,      // latent attention: of queries before they are spread to heads,
    DIM_KV_LORA,     // of the latent vector that keys and values are made of,
    DIM_NOPE,        // numbers of a head that are not rotated,
    DIM_ROT,         // and that are,
    DIM_Q_SPREAD,    // queries of all heads, both parts,
    DIM_HEAD_V,      // a head's results
    DIM_O_SPREAD,    // and those of all heads
    DIM_EXPERTS,
    DIM_CHOSEN,  // experts of a row
    DIM_CHOICES, // their weights and numbers
    DIM_FF_EXPERT,
    DIM_FF_EXPERT_TWICE,
    DIM_FF_SHARED, // of experts that every row goes to, as one
    DIM_PARTS_FF,  // rows of n_ff_expert and n_embd for each chosen expert, each padded (backend/program.h)
    DIM_PARTS_EMBD,
    DIM_Q_TWICE,   // queries and a gate for each head's results
    DIM_CONV_TAPS, // steps that a recurrent layer's convolution sees,
    DIM_CONV,      // and its channels
    DIM_CONV_THRICE,
    DIM_SSM_INNER, // results of all heads of a recurrent layer
    DIM_SSM_HEADS,
    DIM_SSM_HEADS_TWICE,
    DIM_SSM_HEAD,   // a head's results
    DIM_SSM_GROUPS, // pairs of keys,
    DIM_SSM_GROUP,  // results that go by one of them,
    DIM_SSM_SHARE,  // and heads
    DIM_SSM_IN,
    DIM_CLASSES, // scores of a reranker's head
    DIM_EMBD_TWICE,
    N_DIMS
};

// Do a layer's flags fit .only and .unless?
static inline bool flags_match(uint32_t flags, uint32_t only, uint32_t unless) {
    return (!only || (flags & only)) && !(flags & unless);
}

// Beside enum layer_flag, from the model's own numbers; .only and .unless may name them.
enum model_flag {
    MODEL_SEQUENTIAL = 1 << 16, // feed-forward reads what attention has been added to
    MODEL_QK_NORM = 1 << 17,    // llama4: queries and keys that are rotated are normed
    MODEL_Q_LORA = 1 << 18      // latent attention: queries come from a latent vector of their own
};

// What a tensor is for.
enum role {
    ROLE_NONE,
    ROLE_TOKEN_EMBD,
    ROLE_POS_EMBD,
    ROLE_EMBD_NORM,
    ROLE_EMBD_NORM_BIAS,
    ROLE_OUTPUT_NORM,
    ROLE_OUTPUT_NORM_BIAS,
    ROLE_OUTPUT,
    ROLE_OUTPUT_BIAS,
    ROLE_ROPE_FREQS,
    ROLE_ROPE_SHORT, // longrope's factors
    ROLE_ROPE_LONG,
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
    ROLE_K_NORM,
    ROLE_SINKS,
    ROLE_POST_ATTN_NORM,
    ROLE_FFN_NORM,
    ROLE_FFN_NORM_BIAS,
    ROLE_GATE_UP,
    ROLE_GATE,
    ROLE_UP,
    ROLE_DOWN,
    ROLE_GATE_BIAS,
    ROLE_UP_BIAS,
    ROLE_DOWN_BIAS,
    ROLE_POST_FFN_NORM,
    ROLE_Q_LORA, // latent attention
    ROLE_Q_LORA_NORM,
    ROLE_Q_SPREAD,
    ROLE_KV_LORA,
    ROLE_KV_LORA_NORM,
    ROLE_K_HEADS,
    ROLE_V_HEADS,
    ROLE_PLE_EMBD, // embeddings of each layer's own
    ROLE_PLE_PROJ,
    ROLE_PLE_PROJ_NORM,
    ROLE_PLE_GATE,
    ROLE_PLE_OUT,
    ROLE_PLE_POST_NORM,
    ROLE_LAYER_SCALE,
    ROLE_ROUTER_SCALE, // gemma4: experts beside the dense feed-forward, each with norms of its own
    ROLE_EXPERTS_SCALE,
    ROLE_EXPERTS_NORM,
    ROLE_POST_EXPERTS_NORM,
    ROLE_POST_DENSE_NORM,
    ROLE_ROUTER,
    ROLE_ROUTER_BIAS,
    ROLE_CHOICE_BIAS,
    ROLE_GATE_UP_EXPERTS,
    ROLE_GATE_EXPERTS,
    ROLE_UP_EXPERTS,
    ROLE_DOWN_EXPERTS,
    ROLE_GATE_EXPERTS_BIAS,
    ROLE_UP_EXPERTS_BIAS,
    ROLE_DOWN_EXPERTS_BIAS,
    ROLE_GATE_SHARED,
    ROLE_UP_SHARED,
    ROLE_DOWN_SHARED,
    ROLE_SHARED_GATE,
    ROLE_SSM_IN, // recurrent layers
    ROLE_SSM_Z,
    ROLE_SSM_MIX,
    ROLE_SSM_DT,
    ROLE_SSM_DT_BIAS,
    ROLE_SSM_CONV,
    ROLE_SSM_CONV_BIAS,
    ROLE_SSM_A,
    ROLE_SSM_D,
    ROLE_SSM_NORM,
    ROLE_SSM_OUT,
    ROLE_SSM_BETA,
    ROLE_SSM_ALPHA,
    ROLE_SSM_BETA_ALPHA,
    ROLE_CONV_IN,
    ROLE_CONV_AFTER,
    ROLE_RANK, // a reranker's head: a hidden layer, which may be missing, and the scores
    ROLE_RANK_BIAS,
    ROLE_RANK_OUT,
    ROLE_RANK_OUT_BIAS,
    ROLE_PART_EMBD_NORM, // a draft head: norms of what it reads,
    ROLE_PART_VECTOR_NORM,
    ROLE_PART_PROJ, // and what makes one row of both
    ROLE_PART_PROJ_BIAS,
    N_ROLES
};

#define TENSOR_MAX_PARTS 3

struct tensor_spec {
    enum role role;
    // GGUF's; "%d" stands for the layer in names that have one. Of a part (model_build_part()), "%n" for
    // its number and "%p" for a name that its begin function sets.
    const char *name;
    enum dim ne0, ne1,
        ne2;        // ne1 DIM_NONE: a vector; ne2: DIM_NONE unless there are slices. One of 0 numbers: no such tensor
    bool is_vector; // bound as one vector, row behind row
    bool optional;  // no error where it is missing; neither is it where its role is bound already
    enum role fallback;    // optional and absent: this role's tensor serves (a tied head)
    uint32_t only, unless; // enum layer_flag: layers that have it (only 0: all), layers that have it not
    enum role
        parts[TENSOR_MAX_PARTS]; // it holds the rows of these, one behind the other: bound as if they were tensors
    enum dim part_rows[TENSOR_MAX_PARTS];
};

// Row buffers by use; their widths are in the table of build.c.
enum buf {
    BUF_NONE,
    BUF_X,      // the residual stream
    BUF_NORMED, // what a block reads
    BUF_NORMED_2,
    BUF_Q,
    BUF_K,
    BUF_V,
    BUF_ATTENDED,
    BUF_GATE,
    BUF_UP,
    BUF_DELTA, // what a block adds
    BUF_DELTA_2,
    BUF_Q_LORA,
    BUF_Q_SPREAD,
    BUF_O_SPREAD,
    BUF_PLE_ALL,
    BUF_PLE_PROJ,
    BUF_PLE,
    BUF_PLE_GATE,
    BUF_ROUTED, // the router's logits
    BUF_CHOICES,
    BUF_PARTS_IN, // of each chosen expert
    BUF_PARTS_GATE,
    BUF_PARTS_UP,
    BUF_PARTS_DOWN,
    BUF_GATE_SHARED,
    BUF_UP_SHARED,
    BUF_SHARED_GATE,
    BUF_Q_TWICE,
    BUF_Q_GATE,
    BUF_SSM_Z, // recurrent layers: a gate,
    BUF_SSM_MIX,
    BUF_SSM_CONV, // what heads read,
    BUF_SSM_DT,
    BUF_SSM_BETA,
    BUF_SSM_ALPHA,
    BUF_SSM_BETA_ALPHA,
    BUF_SSM_Y, // and make
    BUF_PAIR,  // a draft head: embedding and input vector side by side
    BUF_LAST,
    BUF_HIDDEN,
    BUF_RANK_HIDDEN,
    BUF_RANK,
    BUF_LOGITS,
    BUF_TAP, // the residual stream after a tapped layer; the next ones are of the other taps
    BUF_LAST_TAP = BUF_TAP + PROGRAM_MAX_TAPS - 1,
    N_BUFS
};

// Numbers of the model that an op multiplies by.
enum factor {
    FACTOR_ONE,
    FACTOR_EMBD,         // hparams.embd_scale
    FACTOR_RESIDUAL,     // hparams.residual_scale
    FACTOR_LOGITS,       // hparams.logit_scale
    FACTOR_LOGIT_CAP,    // hparams.logit_softcap
    FACTOR_TEMPERATURE,  // hparams.attn_temp_scale
    FACTOR_SQRT_PLE,     // sqrt(n_embd_per_layer)
    FACTOR_BY_SQRT_EMBD, // 1 / sqrt(n_embd)
    FACTOR_BY_SQRT_2,
    N_FACTORS
};

struct op_spec {
    enum op_kind kind;
    enum buf src, src2, dst;
    enum role matrix, vec, vec2; // ROLE_NONE: none; an optional one that is absent is left out
    enum dim heads;              // DIM_HEADS, DIM_HEADS_KV: head by head; DIM_NONE: the row as one
    enum dim part;               // of each head only so many numbers; DIM_NONE: all of it
    enum dim src_at, dst_at;     // the op begins at this number of each head of src, of dst
    bool vec_by_head;            // each head has its own part of vec
    enum act_fn fn;
    enum factor factor;
    enum dim period; // of OP_TEMPERATURE
    int32_t offset;
    bool reads_parts, is_weighted; // as in struct op
    enum role factor_role; // a tensor of one number that the factor is multiplied by; ROLE_NONE, or absent: none
    enum role if_role, unless_role; // ROLE_NONE, or: only where this tensor is there, is not there
    uint32_t only, unless;          // enum layer_flag and model_flag, as of tensors
};

struct arch {
    const struct tensor_spec *tensors;
    size_t n_tensors;
    const struct op_spec *begin, *layer, *end; // before the layers, of each layer, after them
    size_t n_begin, n_layer, n_end;
    bool tiled_heads;  // of recurrent layers: head h goes by pair of keys h % n_group, else by h / (n_head / n_group)
    bool rank_softmax; // a reranker's scores are softmax of what its head gives
    bool rope_halves;  // rotates number i of a head with i + n_rot / 2, else 2i with 2i + 1
    bool sections_halves;      // the former where the file has sections for a picture's coordinates
    bool sections_interleaved; // such coordinates take turns among the pairs (Qwen3-VL); else each has a run of pairs
};

const struct arch *arch_find(const char *name); // NULL: unknown
const char *arch_list(void);                    // names, separated by ", "

// enum model_flag.
uint32_t arch_model_flags(const struct hparams *h);
// Widths for a layer, of the whole model for layer -1. out: [N_DIMS].
void arch_dims(const struct hparams *h, int32_t layer, size_t *out);

#endif
