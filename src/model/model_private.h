// model/model_private.h - a model and the steps of building it, shared by the files of this folder.
#ifndef RN_MODEL_MODEL_PRIVATE_H
#define RN_MODEL_MODEL_PRIVATE_H

#include "base/arena.h"
#include "model/arch.h"
#include "model/model.h"

// The tensor of a role: an index into matrices, or a vector of floats.
struct binding {
    int32_t matrix;   // -1: not a matrix
    const float *vec; // NULL: not a vector, or absent
    bool present;
};

struct model {
    const package *pkg;
    const struct hparams *h;
    const struct arch *arch;
    uint32_t flags; // enum model_flag
    // The model that a part stands on; NULL: this is not a part. What follows up to mem is of parts.
    const struct model *base;
    int32_t number;      // what "%n" in names of tensors stands for
    char own_name[32];   // what "%p" stands for
    int32_t first_layer; // what its layer 0 is called
    const int32_t
        *layers;  // [h->n_layer] what its layers are called, where they do not follow each other; NULL: they do
    char own[32]; // every tensor whose name begins with this must be used,
    const char *not_own[2]; // but for those that begin so: another part's; NULL: none
    struct arch part_arch;
    struct hparams part_h;
    struct layer_hparams *part_layers; // [part_h.n_layer]
    arena mem;
    struct program p;
    size_t *dims;             // [1 + n_layer][N_DIMS]: row 0 is the whole model's
    struct binding *bindings; // [1 + n_layer][N_ROLES]: row 0 is for tensors without a layer
    struct op *ops;
    struct matrix *matrices;
};

static inline const size_t *model_dims(const struct model *m, int32_t layer) {
    return m->dims + (size_t)(layer + 1) * N_DIMS;
}
// The binding of a layer; that of the whole model for layer -1, or where the layer has none of its
// own.
static inline const struct binding *model_binding(const struct model *m, int32_t layer, enum role role) {
    const struct binding *own = &m->bindings[(size_t)(layer + 1) * N_ROLES + role];
    return layer >= 0 && own->present ? own : &m->bindings[role];
}
// Bits of enum layer_flag and enum model_flag; layer -1: of the latter only.
static inline uint32_t model_flags(const struct model *m, int32_t layer) {
    return m->flags | (layer < 0 ? 0 : m->h->layers[layer].flags);
}
// Roles count as present once their tensors are bound.
static inline bool model_condition_holds(const struct model *m, int32_t layer, const struct condition *c) {
    return flags_match(model_flags(m, layer), c) && (!c->if_role || model_binding(m, layer, c->if_role)->present) &&
           !(c->unless_role && model_binding(m, layer, c->unless_role)->present);
}

rn_status model_no_memory(const struct model *m, rn_error *err);
// Binds every tensor of the package to its role and checks the shapes. After dims are filled.
rn_status model_bind(struct model *m, rn_error *err);

// Sets the architecture and hyper-parameters of a part whose package and base are set. RN_E_ARG,
// RN_E_FORMAT: no such part.
rn_status part_begin(struct model *m, const struct part_spec *spec, rn_error *err);
// Takes what the part lacks from its base. After model_bind().
void part_borrow(struct model *m);
enum { PART_MOST_BORROWED = 2 }; // matrices

// Makes the matrix of what kinds of rows a tower adds, where the package has some of it. After model_bind().
rn_status model_row_kinds(struct model *m, rn_error *err);
enum { VISION_MOST_MADE = 1 }; // matrices

// Makes the matrices of latent attention where files have keys and values in one. After model_bind(), which left room.
rn_status model_latent(struct model *m, rn_error *err);

// Binds the adapters of a spec to the program's ops, which have been written.
rn_status model_adapters(struct model *m, const struct model_spec *s, rn_error *err);
// Fills the program's routing. RN_E_LIMIT: the rows of chosen experts are too wide.
rn_status model_experts(struct model *m, rn_error *err);
// Fills the program's rotary tables. RN_E_FORMAT: a factor is out of range.
rn_status model_ropes(struct model *m, rn_error *err);
// Fills the program's attention and page groups. After model_bind().
rn_status model_attention(struct model *m, rn_error *err);

// Fills the program's recurrence and state size, and transposes convolution taps. After
// model_bind().
rn_status model_states(struct model *m, rn_error *err);
// Where the part of a recurrent op begins in a sequence's state, in floats; 0 for other kinds.
size_t model_state_at(const struct model *m, enum op_kind kind, int32_t layer);

#endif
