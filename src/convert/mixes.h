// convert/mixes.h - the named mixes of types (Q4_K_M ...): a base type, and rules for matrices that get more bits.
//
// The rules follow llama.cpp (src/llama-quant.cpp), so that a name means the same types everywhere.
// Threads: pure functions over constant tables.
#ifndef RN_CONVERT_MIXES_H
#define RN_CONVERT_MIXES_H

#include "tensor/types.h"

// The role of a matrix, derived from its name.
enum part {
    PART_OTHER,
    PART_EMBD,
    PART_OUTPUT,
    PART_Q,
    PART_V,
    PART_K,
    PART_ATTN_OUT,
    PART_UP,
    PART_GATE,
    PART_DOWN,
    N_PARTS
};

// What the rules depend on, of a model.
struct model_facts {
    int32_t n_layer;
    int32_t n_gqa;    // query heads that share a key head
    int32_t n_expert; // 0: none
    int32_t n_v;      // layers with a matrix of PART_V
    bool is_tied;     // the embedding is the output matrix too
    bool has_imatrix;
};
// What the rules depend on, of a matrix.
struct matrix_facts {
    enum part part;
    int32_t layer; // -1: none. Of PART_V: its place among the layers that have one
    uint64_t row_len;
    bool is_experts; // of several matrices
};

struct mix {
    const char *name, *help;
    uint32_t file_type; // number of general.file_type in GGUF
    enum tensor_type base;
};

size_t mix_count(void);
const struct mix *mix_at(size_t i);
const struct mix *mix_find(const char *name); // ignores case; NULL: unknown

bool type_is_plain(enum tensor_type type); // F32, F16, BF16: single numbers, not blocks
enum part matrix_part(const char *name);
// False: matrices of this name are small or sensitive to rounding, and are not quantized.
bool matrix_is_quantized(const char *name);

// The type of a matrix that is quantized. If the row length is no multiple of the type's block, use mix_fallback(), repeatedly if
// needed; F16 accepts any length.
enum tensor_type mix_type(const struct mix *m, const struct model_facts *model, const struct matrix_facts *f);
enum tensor_type mix_fallback(enum tensor_type type);

// Types with so few bits that a matrix without an importance matrix is refused, as llama.cpp does; the embedding and the head are excepted.
bool needs_importance(enum tensor_type type, enum part part);

#endif
