// model/arch.h - an architecture as data: which tensors it has with which shapes, and the operations of its layers.
//
// A new architecture is a new row (a file arch_NAME.c with one struct arch) in the table of arch.c. Nothing else knows it.
#ifndef RN_MODEL_ARCH_H
#define RN_MODEL_ARCH_H

#include "backend/program.h"
#include "formats/package.h"

// Widths that shapes and buffers are made of.
enum dim { DIM_NONE, DIM_EMBD, DIM_FF, DIM_Q, DIM_KV, DIM_VOCAB, DIM_ROT_PAIRS, N_DIMS };

// What a tensor is for.
enum role {
    ROLE_NONE,
    ROLE_TOKEN_EMBD,
    ROLE_OUTPUT_NORM,
    ROLE_OUTPUT,
    ROLE_ROPE_FREQS,
    ROLE_ATTN_NORM,
    ROLE_Q,
    ROLE_K,
    ROLE_V,
    ROLE_O,
    ROLE_Q_BIAS,
    ROLE_K_BIAS,
    ROLE_V_BIAS,
    ROLE_O_BIAS,
    ROLE_FFN_NORM,
    ROLE_GATE,
    ROLE_UP,
    ROLE_DOWN,
    ROLE_GATE_BIAS,
    ROLE_UP_BIAS,
    ROLE_DOWN_BIAS,
    N_ROLES
};

struct tensor_spec {
    enum role role;
    const char *name;  // GGUF's; "%d" stands for the layer in names that have one
    enum dim ne0, ne1; // ne1 DIM_NONE: a vector
    bool optional;
    enum role fallback; // optional and absent: this role's tensor serves (a tied head)
};

// Row buffers by use.
enum buf {
    BUF_NONE = -1,
    BUF_X,
    BUF_NORMED,
    BUF_Q,
    BUF_K,
    BUF_V,
    BUF_ATTENDED,
    BUF_GATE,
    BUF_UP,
    BUF_DELTA,
    BUF_LAST,
    BUF_HIDDEN,
    BUF_LOGITS,
    N_BUFS
};
struct buf_spec {
    enum dim width;
    bool wanted_rows;
};

struct op_spec {
    enum op_kind kind;
    enum buf src, src2, dst;
    enum role matrix, vec; // ROLE_NONE: none; an optional vec that is absent is left out
    enum dim heads;        // OP_ROPE: DIM_Q or DIM_KV
};

struct arch {
    const char *name; // general.architecture
    const struct tensor_spec *tensors;
    size_t n_tensors;
    const struct buf_spec *bufs;               // [N_BUFS]
    const struct op_spec *begin, *layer, *end; // before the layers, of each layer, after them
    size_t n_begin, n_layer, n_end;
};

const struct arch *arch_find(const char *name); // NULL: unknown
const char *arch_list(void);                    // names, separated by ", "
extern const struct arch arch_llama;

#endif
