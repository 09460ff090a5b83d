// model/arch.c - the table of architectures.
#include "model/arch.h"
#include "base/checked.h"
#include "model/archs.h"
#include <string.h>

static size_t larger_of(size_t a, size_t b) { return a > b ? a : b; }
static size_t largest_of(size_t a, size_t b, size_t c, size_t d) {
    return larger_of(larger_of(a, b), larger_of(c, d));
}

static const struct {
    const char *name;
    const struct arch *arch;
} rows[] = {
#define ROW(name, id) {name, &arch_##id},
    ARCHS(ROW)
#undef ROW
};

const struct arch *arch_find(const char *name) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0) return rows[i].arch;
    return NULL;
}

const char *const *arch_names(void) {
#define NAME(name, id) name,
    static const char *const names[] = {ARCHS(NAME) NULL};
#undef NAME
    return names;
}

uint32_t arch_model_flags(const struct hparams *h) {
    uint32_t flags = 0;
    if (!h->parallel_residual) flags |= MODEL_SEQUENTIAL;
    if (h->qk_norm) flags |= MODEL_QK_NORM;
    if (h->q_lora_rank > 0) flags |= MODEL_Q_LORA;
    if (h->residual_of_norm) flags |= MODEL_RESIDUAL_OF_NORM;
    if (h->norms_after) flags |= MODEL_NORMS_AFTER;
    if (h->ssm_norms) flags |= MODEL_SSM_NORMS;
    if (h->rank_pooling == RANK_OF_MEAN) flags |= MODEL_RANK_OF_MEAN;
    if (h->ssm_norm_first) flags |= MODEL_SSM_NORM_FIRST;
    return flags;
}

void arch_dims(const struct hparams *h, int32_t i_layer, size_t *out) {
    const struct layer_hparams whole = {.n_head = h->n_head,
                                        .n_head_kv = h->n_head_kv,
                                        .head_dim = h->head_dim,
                                        .head_dim_v = h->head_dim_v,
                                        .n_rot = h->n_rot,
                                        .n_ff = h->n_ff};
    const struct layer_hparams *l = i_layer < 0 ? &whole : &h->layers[i_layer];
    out[DIM_NONE] = 1;
#define DIM(name)         out[DIM_##name]
#define FILL(name, value) DIM(name) = (size_t)(value);
    DIMS(FILL)
#undef FILL
#undef DIM
}
