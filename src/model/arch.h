// model/arch.h - an architecture as data: tensors with their shapes, and the ops of its layers.
//
// A new architecture is a struct arch in a file arch_FAMILY.c and a line in archs.h; no other code
// knows it. Lists of tensors and ops that many architectures share are macros of arch_tensors.h and
// arch_ops.h. The tables refer to dimensions, roles, row buffers and factors by the names of
// arch_names.h. bind.c finds the tensors in a package; build.c writes the ops as struct op
// (backend/program.h), layer by layer.
#ifndef RN_MODEL_ARCH_H
#define RN_MODEL_ARCH_H

#include "model/arch_names.h"

// Flags of a model, in addition to those of its layers (enum layer_flag of formats/package.h).
enum model_flag {
    MODEL_SEQUENTIAL = 1 << 16,       // the feed-forward block reads what attention has been added to
    MODEL_QK_NORM = 1 << 17,          // llama4: queries and keys that are rotated are normed
    MODEL_Q_LORA = 1 << 18,           // latent attention: queries come from a latent vector of their own
    MODEL_RESIDUAL_OF_NORM = 1 << 19, // what a block adds is added to what it read
    MODEL_NORMS_AFTER = 1 << 20,      // opt: a block's norm is behind it
    MODEL_SSM_NORMS = 1 << 21,        // hparams.ssm_norms
    MODEL_RANK_OF_MEAN = 1 << 22,     // an encoder's head reads the mean of all rows
    MODEL_SSM_NORM_FIRST = 1 << 23    // hparams.ssm_norm_first
};

// Where a tensor or an op is present. Fields that are 0 do not restrict it.
struct condition {
    uint32_t only, unless;          // flags of the layer and the model: any of these; none of these
    enum role if_role, unless_role; // the model has this tensor; it does not
};

#define TENSOR_MAX_PARTS 6

struct tensor_spec {
    enum role role;
    const char *name;       // in GGUF files; "%d": the layer. In parts (model.h): "%n", "%p"
    enum dim ne0, ne1, ne2; // a vector: ne0 alone; ne2: slices. No tensor where one of them is 0
    enum dim ne3;           // of a vector: as many pieces
    bool is_vector;         // a matrix that is bound as one vector, row after row
    bool optional;          // may be missing, and is not used where its role is bound already
    enum role fallback;     // bound instead where an optional tensor is missing (a tied head)
    struct condition when;
    // The tensor holds the rows of several roles, one after the other: each is bound by itself.
    struct {
        enum role role;
        enum dim rows;
    } parts[TENSOR_MAX_PARTS];
};

// struct op by names. An op whose matrix is missing is left out.
struct op_spec {
    enum op_kind kind;
    enum buf src, src2, dst;
    enum role matrix, vec, vec2; // a vector that is missing is NULL
    bool vec_by_head;
    enum dim heads;          // head by head; DIM_NONE: the row as a whole
    enum dim part;           // of each head only so many floats; DIM_NONE: all of it
    enum dim src_at, dst_at; // the op begins at this float of each head of src, of dst
    enum act_fn fn;
    bool is_ffn; // the model may say another fn
    enum factor factor;
    enum factor least;     // of OP_CLAMP, whose factor is the most
    enum role factor_role; // a tensor of one number that the factor is multiplied by, where present
    float eps;             // of norms; 0: the model's
    int32_t offset;        // of OP_TEMPERATURE; OP_SHIFT: which of a layer's
    enum dim vector_at;    // of OP_ADD_VECTOR
    bool reads_parts, is_weighted;
    bool by_chunk; // of OP_EXPERTS: experts of a group have one slice (hparams.n_expert_per_chunk)
    struct condition when;
};

struct tensor_list {
    const struct tensor_spec *at;
    size_t n;
};
struct op_list {
    const struct op_spec *at;
    size_t n;
};

struct arch {
    struct tensor_list tensors;
    struct op_list begin, layer, end; // before the layers, of each layer, after them

    // Conventions that no key of a file states.

    // Rotary pairs are i and i + n_rot / 2, else 2i and 2i + 1. sections_halves: the former only in
    // files with rope sections (a picture's coordinates). sections_interleaved: the coordinates
    // take turns among the pairs (Qwen3-VL), else each has consecutive pairs.
    bool rope_halves, sections_halves, sections_interleaved;
    // Heads are rotated by a patch's place in its grid: the first half of the pairs by its row, coordinate 2, the others by its
    // column, coordinate 3, each half with the frequencies of half as many dimensions (Qwen2-VL's tower).
    bool rope_grid;
    // Then the halves take turns among the frequencies of all dimensions, the row the first one (Pixtral's).
    bool rope_grid_turns;
    // Rows bring the areas that they attend to in layers of LAYER_SWA (struct lm_input).
    bool has_areas;
    // All rows of a sequence are one step, after which nothing reads its keys and values: layers take turns on the pages of one.
    bool is_one_step;
    bool tiled_heads;  // struct recurrence: is_tiled
    bool rank_softmax; // a reranker's scores are the softmax of what its head computes
};

// NULL: unknown.
const struct arch *arch_find(const char *name);
// All names, NULL behind the last one.
const char *const *arch_names(void);

// Those of vision parts, which are no models by themselves (arch_vision.c). NULL: unknown.
const struct arch *arch_find_vision(const char *name);

// The enum model_flag bits that follow from a model's hyper-parameters.
uint32_t arch_model_flags(const struct hparams *h);
// out: [N_DIMS] dimensions of a layer; layer -1: of the model as a whole.
void arch_dims(const struct hparams *h, int32_t layer, size_t *out);

// Whether flags of a layer and its model fit a condition's only and unless.
static inline bool flags_match(uint32_t flags, const struct condition *c) {
    return (!c->only || (flags & c->only)) && !(flags & c->unless);
}

#endif
