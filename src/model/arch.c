// model/arch.c - the table of architectures.
#include "model/arch.h"
#include "base/checked.h"
#include "model/archs.h"
#include <string.h>

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

const char *arch_list(void) {
#define NAME(name, id) ", " name
    static const char names[] = ARCHS(NAME);
#undef NAME
    return names + 2; // past the first comma
}

uint32_t arch_model_flags(const struct hparams *h) {
    uint32_t flags = 0;
    if (!h->parallel_residual) flags |= MODEL_SEQUENTIAL;
    if (h->qk_norm) flags |= MODEL_QK_NORM;
    if (h->q_lora_rank > 0) flags |= MODEL_Q_LORA;
    return flags;
}

void arch_dims(const struct hparams *h, int32_t layer, size_t *out) {
    const struct layer_hparams whole = {.n_head = h->n_head,
                                        .n_head_kv = h->n_head_kv,
                                        .head_dim = h->head_dim,
                                        .head_dim_v = h->head_dim_v,
                                        .n_rot = h->n_rot,
                                        .n_ff = h->n_ff};
    const struct layer_hparams *l = layer < 0 ? &whole : &h->layers[layer];
    const size_t n_head = (size_t)l->n_head, n_head_kv = (size_t)l->n_head_kv;
    const size_t n_used = (size_t)h->n_expert_used, n_ff_expert = (size_t)h->n_ff_expert;
    const size_t head_dim = (size_t)l->head_dim, head_dim_v = (size_t)l->head_dim_v, n_ff = (size_t)l->n_ff;
    const size_t inner = (size_t)h->ssm_d_inner, ssm_heads = (size_t)h->ssm_n_head, groups = (size_t)h->ssm_n_group,
                 conv = inner + 2 * groups * (size_t)h->ssm_d_state;
    const size_t dims[N_DIMS] = {
        [DIM_NONE] = 1,
        [DIM_EMBD] = (size_t)h->n_embd,
        [DIM_VOCAB] = (size_t)h->n_vocab,
        [DIM_CTX] = (size_t)h->n_ctx_train,
        [DIM_ROT_PAIRS] = (size_t)l->n_rot / 2,
        [DIM_HEADS] = n_head,
        [DIM_HEADS_KV] = n_head_kv,
        [DIM_HEAD] = head_dim,
        [DIM_Q] = n_head * head_dim,
        [DIM_K] = n_head_kv * head_dim,
        [DIM_V] = n_head_kv * head_dim_v,
        [DIM_O] = n_head * head_dim_v,
        [DIM_QKV] = n_head * head_dim + n_head_kv * (head_dim + head_dim_v),
        [DIM_FF] = n_ff,
        [DIM_FF_TWICE] = 2 * n_ff,
        [DIM_ONE] = 1,
        [DIM_LAYERS] = (size_t)h->n_layer,
        [DIM_PLE] = (size_t)h->n_embd_per_layer,
        [DIM_PLE_ALL] = (size_t)h->n_layer * (size_t)h->n_embd_per_layer,
        [DIM_PLE_BEFORE] = (size_t)(layer < 0 ? 0 : layer) * (size_t)h->n_embd_per_layer,
        [DIM_TEMPERATURE] = (size_t)h->attn_temp_length,
        [DIM_Q_LORA] = (size_t)h->q_lora_rank,
        [DIM_KV_LORA] = (size_t)h->kv_lora_rank,
        [DIM_NOPE] = (size_t)h->head_dim_nope,
        [DIM_ROT] = (size_t)l->n_rot,
        [DIM_Q_SPREAD] = n_head * (size_t)(h->head_dim_nope + l->n_rot),
        [DIM_HEAD_V] = (size_t)h->mla_head_dim_v,
        [DIM_O_SPREAD] = n_head * (size_t)h->mla_head_dim_v,
        [DIM_EXPERTS] = (size_t)h->n_expert,
        [DIM_CHOSEN] = n_used,
        [DIM_CHOICES] = 2 * n_used,
        [DIM_FF_EXPERT] = n_ff_expert,
        [DIM_FF_EXPERT_TWICE] = 2 * n_ff_expert,
        [DIM_FF_SHARED] = (size_t)h->n_ff_shared,
        [DIM_PARTS_FF] = n_used * round_up(n_ff_expert, PROGRAM_PART_ALIGN),
        [DIM_CLASSES] = (size_t)(h->n_class > 0 ? h->n_class : 1),
        [DIM_EMBD_TWICE] = 2 * (size_t)h->n_embd,
        [DIM_PARTS_EMBD] = n_used * round_up((size_t)h->n_embd, PROGRAM_PART_ALIGN),
        [DIM_Q_TWICE] = 2 * n_head * head_dim,
        [DIM_CONV_TAPS] = (size_t)h->ssm_d_conv,
        [DIM_CONV] = conv,
        [DIM_CONV_THRICE] = 3 * conv,
        [DIM_SSM_INNER] = inner,
        [DIM_SSM_HEADS] = ssm_heads,
        [DIM_SSM_HEADS_TWICE] = 2 * ssm_heads,
        [DIM_SSM_HEAD] = ssm_heads ? inner / ssm_heads : 0,
        [DIM_SSM_GROUPS] = groups,
        [DIM_SSM_GROUP] = groups ? inner / groups : 0,
        [DIM_SSM_SHARE] = groups ? ssm_heads / groups : 0,
        [DIM_SSM_IN] = inner + conv + ssm_heads,
    };
    memcpy(out, dims, sizeof dims);
}
