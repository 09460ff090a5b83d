// model/recurrence.c - recurrent layers: their shape, and the layout of a sequence's state.
//
// A sequence's state holds, for each recurrent layer in order, the last inputs of its convolution, then the states of its heads.
#include "model/model_private.h"

static size_t conv_floats(const struct recurrence *q) { return (size_t)(q->d_conv - 1) * (size_t)q->n_channel; }
static size_t layer_floats(const struct recurrence *q) {
    return conv_floats(q) + (size_t)q->n_head * (size_t)q->v_dim * (size_t)q->key_dim;
}
static size_t recurrent_layers(const struct hparams *h, int32_t before) {
    size_t n = 0;
    for (int32_t l = 0; l < before; l++) n += (h->layers[l].flags & LAYER_RECURRENT) != 0;
    return n;
}

size_t model_state_at(const struct model *m, enum op_kind kind, int32_t layer) {
    const struct recurrence *q = &m->p.recurrence;
    return recurrent_layers(m->h, layer) * layer_floats(q) +
           (kind == OP_CONV || kind == OP_SHIFT ? 0 : conv_floats(q));
}

// Transposes the taps: files store them channel by channel, a step reads one tap of many channels.
static rn_status transpose_taps(struct model *m, int32_t layer, rn_error *err) {
    const size_t d_conv = (size_t)m->p.recurrence.d_conv, n = (size_t)m->p.recurrence.n_channel;
    struct binding *b = &m->bindings[(size_t)(layer + 1) * N_ROLES + ROLE_SSM_CONV];
    if (!b->vec) return RN_OK; // RWKV keeps the row before as it is
    float *taps = arena_alloc(&m->mem, d_conv * n * sizeof *taps);
    if (!taps) return model_no_memory(m, err);
    for (size_t c = 0; c < n; c++)
        for (size_t k = 0; k < d_conv; k++) taps[k * n + c] = b->vec[c * d_conv + k];
    b->vec = taps;
    return RN_OK;
}

// Mamba: files store a channel by channel, a step reads that of many channels for one state.
static rn_status transpose_decay(struct model *m, int32_t layer, rn_error *err) {
    const size_t d_state = (size_t)m->h->ssm_d_state, n = (size_t)m->h->ssm_d_inner;
    struct binding *b = &m->bindings[(size_t)(layer + 1) * N_ROLES + ROLE_SSM_A];
    if (m->h->ssm_dt_rank == 0) return RN_OK;
    float *a = arena_alloc(&m->mem, d_state * n * sizeof *a);
    if (!a) return model_no_memory(m, err);
    for (size_t c = 0; c < n; c++)
        for (size_t s = 0; s < d_state; s++) a[s * n + c] = b->vec[c * d_state + s];
    b->vec = a;
    return RN_OK;
}

// Mamba-2 with biases: that of the projection to time steps comes on top of their own.
static rn_status add_dt_bias(struct model *m, int32_t layer, rn_error *err) {
    const struct binding *more = &m->bindings[(size_t)(layer + 1) * N_ROLES + ROLE_SSM_DT_IN_BIAS];
    struct binding *own = &m->bindings[(size_t)(layer + 1) * N_ROLES + ROLE_SSM_DT_BIAS];
    const size_t n = (size_t)m->p.recurrence.n_head;
    if (!more->present) return RN_OK;
    float *sum = arena_alloc(&m->mem, n * sizeof *sum);
    if (!sum) return model_no_memory(m, err);
    for (size_t i = 0; i < n; i++) sum[i] = own->vec[i] + more->vec[i];
    own->vec = sum;
    return RN_OK;
}

rn_status model_states(struct model *m, rn_error *err) {
    const struct hparams *h = m->h;
    const size_t n_layers = recurrent_layers(h, h->n_layer), *dims = model_dims(m, -1);
    if (n_layers == 0) return RN_OK;
    m->p.recurrence = (struct recurrence){.d_conv = h->ssm_d_conv,
                                          .n_channel = h->n_shift ? h->n_shift * h->n_embd : (int32_t)dims[DIM_CONV],
                                          .n_head = h->ssm_n_head,
                                          .v_dim = (int32_t)dims[DIM_SSM_HEAD],
                                          .n_group = h->ssm_n_group,
                                          .key_dim = h->ssm_d_state,
                                          .is_tiled = m->arch->tiled_heads};
    m->p.state_bytes = n_layers * layer_floats(&m->p.recurrence) * sizeof(float);
    rn_status st = RN_OK;
    for (int32_t l = 0; st == RN_OK && l < h->n_layer; l++)
        if (h->layers[l].flags & LAYER_RECURRENT) st = transpose_taps(m, l, err);
    for (int32_t l = 0; st == RN_OK && l < h->n_layer; l++)
        if (h->layers[l].flags & LAYER_RECURRENT) st = transpose_decay(m, l, err);
    for (int32_t l = 0; st == RN_OK && l < h->n_layer; l++)
        if (h->layers[l].flags & LAYER_RECURRENT) st = add_dt_bias(m, l, err);
    return st;
}
