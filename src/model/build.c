// model/build.c - writes a model's program: the ops of its architecture, layer by layer, with the tensors bound.
#include "base/alike.h"
#include "base/mem.h"
#include "formats/refusals.h"
#include "kernels/rowmath.h"
#include "model/model_private.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

static const struct {
    enum dim width;
    enum op_rows rows;
} bufs[N_BUFS] = {
#define BUF(name, width, rows) [BUF_##name] = {DIM_##width, ROWS_##rows},
    BUFS(BUF)
#undef BUF
        [BUF_TAP... BUF_LAST_TAP] = {DIM_EMBD, ROWS_WANTED},
};

_Static_assert(N_BUFS - 1 <= PROGRAM_MAX_BUFFERS, "a program has room for every buffer and tap");

// Buffers are numbered from 0 in a program; BUF_NONE is -1 there.
static int8_t buffer(enum buf b) { return (int8_t)(b - 1); }

static rn_status refuse_arch(const struct model *m, rn_error *err) {
    char nearest[256];
    struct alike alike;
    const char *const reason = refusal_reason(m->h->arch, strlen(m->h->arch));
    if (reason)
        return fail(err, RN_E_UNSUPPORTED, "%s: architecture '%s' is not supported: %s", package_path(m->pkg),
                    m->h->arch, reason);
    alike_init(&alike, m->h->arch, strlen(m->h->arch));
    for (const char *const *name = arch_names(); *name; name++) alike_offer(&alike, *name);
    return fail(err, RN_E_UNSUPPORTED,
                "%s: architecture '%s' (general.type '%s') is not supported; %sdocs/models.md lists all %zu",
                package_path(m->pkg), m->h->arch, m->h->file_type, alike_text(&alike, nearest, sizeof nearest),
                alike.n_offered);
}

static rn_status check_arch(const struct model *m, rn_error *err) {
    if (package_vocab_only(m->pkg))
        return fail(err, RN_E_UNSUPPORTED,
                    "%s: holds only a vocabulary: it works with tokenize, detokenize and info only",
                    package_path(m->pkg));
    if (strcmp(m->h->file_type, "model") != 0)
        return fail(err, RN_E_UNSUPPORTED,
                    "%s: general.type is '%s', not a model that generates text (architecture '%s')",
                    package_path(m->pkg), m->h->file_type, m->h->arch);
    return m->arch && m->h->is_checked ? RN_OK : refuse_arch(m, err);
}

static rn_status fill_dims(struct model *m, rn_error *err) {
    m->dims = arena_alloc(&m->mem, ((size_t)m->h->n_layer + 1) * N_DIMS * sizeof *m->dims);
    if (!m->dims) return model_no_memory(m, err);
    for (int32_t l = -1; l < m->h->n_layer; l++) {
        size_t *dims = m->dims + (size_t)(l + 1) * N_DIMS;
        arch_dims(m->h, l, dims);
        dims[DIM_TOKENS] = (size_t)m->p.n_tokens;
    }
    return RN_OK;
}

// ---- operations -----------------------------------------------------------------------------------------------------

static float or_1(float factor) { return factor != 0 ? factor : 1; }
static float factor_value(const struct hparams *h, enum factor f) {
    const float values[N_FACTORS] = {
#define VALUE(name, value) [FACTOR_##name] = value,
        FACTORS(VALUE)
#undef VALUE
    };
    return values[f];
}
static float factor_of(const struct model *m, const struct op_spec *s, int32_t layer) {
    const float *times = s->factor_role ? model_binding(m, layer, s->factor_role)->vec : NULL;
    return factor_value(m->h, s->factor) * (times ? times[0] : 1);
}

// Of queries, keys and values without a bound; of time steps, which are positive, without any limit.
static bool clamps_nothing(const struct model *m, const struct op_spec *s) {
    const float least = factor_value(m->h, s->least), most = factor_value(m->h, s->factor);
    return least >= most || (least == 0 && most == INFINITY);
}

// Ops that do not apply to the layer, or would change nothing, are left out.
static bool is_wanted(const struct model *m, const struct op_spec *s, int32_t layer) {
    const uint32_t flags = model_flags(m, layer);
    if (!model_condition_holds(m, layer, &s->when)) return false;
    const bool recurs = flags & LAYER_RECURRENT, attends = layer_attends(flags);
    if (op_has_state(s->kind) || s->kind == OP_BONUS) return recurs;
    switch (s->kind) {
    case OP_LINEAR: return model_binding(m, layer, s->matrix)->present;
    case OP_ROPE: return attends && !(flags & LAYER_NO_ROPE) && m->h->layers[layer].n_rot > 0;
    case OP_STORE_KV: return attends && !(flags & LAYER_SHARED_KV);
    case OP_ATTEND: return attends;
    case OP_TEMPERATURE: return m->h->attn_temp_length > 0 && m->h->attn_temp_scale > 0;
    case OP_SCALE: return factor_of(m, s, layer) != 1;
    case OP_SOFTCAP: return factor_of(m, s, layer) != 0;
    case OP_CLAMP: return !clamps_nothing(m, s);
    default: return true;
    }
}

static size_t buf_width(const struct model *m, int32_t layer, enum buf b) {
    return model_dims(m, layer)[bufs[b].width];
}

// Whether all heads of dst read the same row: experts, unless src has a part for each.
static bool heads_share_src(const struct op_spec *s) {
    return s->kind == OP_SPREAD || (s->kind == OP_EXPERTS && !s->reads_parts);
}

static struct op_head head_of(const struct model *m, int32_t layer, enum buf b, size_t n_heads, enum dim at) {
    if (b == BUF_NONE) return (struct op_head){0};
    return (struct op_head){(int32_t)(buf_width(m, layer, b) / n_heads), at ? (int32_t)model_dims(m, layer)[at] : 0};
}

// log(1 + exp(x)), of which nothing is left but x where that is large.
static float softplus(float x) { return x > 40 ? x : (float)log_f64(1 + exp_f64((double)x)); }

// What the op computes with, of what files say.
static struct xielu xielu_of(struct xielu x) {
    return (struct xielu){softplus(x.alpha_p), x.beta + softplus(x.alpha_n), x.beta, x.eps};
}

// Parameters that only some kinds of ops have.
static void set_parameters(const struct model *m, const struct op_spec *s, int32_t layer, struct op *o) {
    const float factor = factor_of(m, s, layer);
    switch (s->kind) {
    case OP_EMBED:
        o->embed.factor = factor;
        o->embed.takes_vector = s->matrix == ROLE_TOKEN_EMBD && !m->base;
        break;
    case OP_ADD_VECTOR: o->vector.at = s->vector_at ? (int32_t)model_dims(m, layer)[s->vector_at] : 0; break;
    case OP_LINEAR: o->linear.by_head = s->heads != DIM_NONE; break;
    case OP_RMS_NORM:
    case OP_LAYER_NORM: o->norm.eps = s->eps; break;
    case OP_ROPE: o->rope.table = m->p.n_ropes > 1 && model_flags(m, layer) & LAYER_SWA ? 1 : 0; break;
    case OP_ACTIVATE:
    case OP_GATE: o->activate.fn = s->is_ffn && m->h->ffn_act ? (enum act_fn)(m->h->ffn_act - 1) : s->fn; break;
    case OP_ADD:
    case OP_SCALE: o->scale.factor = factor; break;
    case OP_SOFTCAP: o->softcap.cap = factor; break;
    case OP_CLAMP:
        o->clamp.least = factor_value(m->h, s->least);
        o->clamp.most = factor;
        break;
    case OP_TEMPERATURE:
        o->temperature.weight = m->h->attn_temp_scale;
        o->temperature.period = m->h->attn_temp_length;
        o->temperature.offset = s->offset;
        break;
    case OP_XIELU: o->xielu = xielu_of(m->h->layers[layer].xielu); break;
    case OP_EXPERTS:
        o->experts.reads_parts = s->reads_parts;
        o->experts.per_slice = s->by_chunk ? m->h->n_expert_per_chunk : 0;
        break;
    case OP_EXPERTS_SUM: o->experts_sum.is_weighted = s->is_weighted; break;
    case OP_CONV:
    case OP_SSM:
    case OP_SCAN:
    case OP_RANK_ONE:
    case OP_DECAY:
    case OP_DELTA: o->state.at = model_state_at(m, s->kind, layer); break;
    case OP_SHIFT: o->state.at = model_state_at(m, s->kind, layer) + (size_t)(s->offset * o->width); break;
    default: break;
    }
}

static struct op op_of(const struct model *m, const struct op_spec *s, int32_t layer) {
    const size_t *dims = model_dims(m, layer);
    const enum buf made = s->dst ? s->dst : s->src;
    const size_t n_heads = s->heads ? dims[s->heads] : 1;
    const size_t width = s->part ? n_heads * dims[s->part] : buf_width(m, layer, made);
    struct op o = {
        .kind = s->kind,
        .layer = layer,
        .rows = bufs[made].rows,
        .src = buffer(s->src),
        .src2 = buffer(s->src2),
        .dst = buffer(s->dst),
        .width = (int32_t)width,
        .heads = {.n = (int32_t)n_heads,
                  .src = head_of(m, layer, heads_share_src(s) ? BUF_NONE : s->src, n_heads, s->src_at),
                  .dst = head_of(m, layer, s->dst, n_heads, s->dst_at)},
        .weights = {.matrix = s->matrix ? model_binding(m, layer, s->matrix)->matrix : -1,
                    .vec = s->vec ? model_binding(m, layer, s->vec)->vec : NULL,
                    .vec2 = s->vec2 ? model_binding(m, layer, s->vec2)->vec : NULL,
                    .vec_by_head = s->vec_by_head},
    };
    set_parameters(m, s, layer, &o);
    return o;
}

static void write_ops(struct model *m, const struct op_list *list, int32_t layer) {
    for (size_t i = 0; i < list->n; i++)
        if (is_wanted(m, &list->at[i], layer)) m->ops[m->p.n_ops++] = op_of(m, &list->at[i], layer);
}

static void write_taps(struct model *m, int32_t layer) {
    for (int32_t k = 0; k < m->p.n_taps; k++)
        if (m->p.taps[k].layer == layer) {
            const struct op_spec tap = {OP_GATHER, .src = BUF_X, .dst = (enum buf)(BUF_TAP + k)};
            write_ops(m, &(struct op_list){&tap, 1}, layer);
        }
}

// DeepStack (2406.04334): a picture's row brings more vectors, which are added to what the first layers make, one each.
static void write_deepstack(struct model *m, int32_t layer) {
    static const struct op_spec add = {OP_ADD_VECTOR, .dst = BUF_X, .vector_at = DIM_DEEPSTACK};
    if (layer < m->h->n_deepstack) write_ops(m, &(struct op_list){&add, 1}, layer);
}

static rn_status write_all_ops(struct model *m, rn_error *err) {
    const struct arch *a = m->arch;
    const size_t n = a->begin.n + (size_t)m->h->n_layer * (a->layer.n + 1) + (size_t)m->p.n_taps + a->end.n;
    m->ops = arena_alloc(&m->mem, n * sizeof *m->ops);
    if (!m->ops) return model_no_memory(m, err);
    write_ops(m, &a->begin, -1);
    write_taps(m, -1);
    for (int32_t l = 0; l < m->h->n_layer; l++) {
        write_ops(m, &a->layer, l);
        write_deepstack(m, l);
        write_taps(m, l);
    }
    write_ops(m, &a->end, -1);
    m->p.ops = m->ops;
    return RN_OK;
}

// ---- programs -------------------------------------------------------------------------------------------------------

static bool reads_vector(const struct op *o) {
    return o->embed.takes_vector || o->kind == OP_VECTOR || o->kind == OP_ADD_VECTOR;
}

static void fill_buffers(struct model *m) {
    struct program *p = &m->p;
    p->n_buffers = N_BUFS - 1;
    for (size_t i = 0; i < p->n_ops; i++) {
        const int8_t touched[] = {p->ops[i].src, p->ops[i].src2, p->ops[i].dst};
        for (int k = 0; k < 3; k++) {
            if (touched[k] < 0) continue;
            const enum buf b = (enum buf)(touched[k] + 1);
            const size_t width = model_dims(m, p->ops[i].layer)[bufs[b].width];
            if (p->width[touched[k]] < width) p->width[touched[k]] = width;
            p->rows[touched[k]] = bufs[b].rows;
        }
        if (reads_vector(&p->ops[i]) && p->n_vector < p->ops[i].vector.at + p->ops[i].width)
            p->n_vector = p->ops[i].vector.at + p->ops[i].width;
        if (p->ops[i].kind == OP_VECTOR) p->needs_vector = true;
    }
    p->hidden = buffer(model_binding(m, -1, ROLE_DENSE_3)->present   ? BUF_RANK_HIDDEN
                       : model_binding(m, -1, ROLE_DENSE_2)->present ? BUF_HIDDEN_TOKEN
                                                                     : BUF_HIDDEN);
    p->logits = buffer(BUF_LOGITS);
    p->rank = buffer(BUF_RANK), p->n_rank = (int32_t)p->width[p->rank];
    p->rank_softmax = m->arch->rank_softmax;
}

static rn_status write_program(struct model *m, rn_error *err) {
    m->p.n_layer = m->h->n_layer;
    m->p.norm_eps = m->h->norm_eps;
    m->p.n_row_kinds = model_binding(m, -1, ROLE_TOKEN_TYPES)->present ? m->h->n_token_types : 0;
    m->p.matrices = m->matrices;
    rn_status st = model_experts(m, err);
    if (st == RN_OK) st = model_attention(m, err);
    if (st == RN_OK) st = model_states(m, err);
    if (st == RN_OK) st = model_ropes(m, err);
    if (st == RN_OK) st = write_all_ops(m, err);
    if (st == RN_OK) fill_buffers(m);
    return st;
}

static rn_status set_taps(struct model *m, const struct model_spec *s, rn_error *err) {
    if (s->n_taps < 0 || s->n_taps > PROGRAM_MAX_TAPS)
        return fail(err, RN_E_ARG, "taps: %d layers, 0..%d are possible", s->n_taps, PROGRAM_MAX_TAPS);
    for (int32_t k = 0; k < s->n_taps; k++) {
        if (s->taps[k] < -1 || s->taps[k] >= m->h->n_layer)
            return fail(err, RN_E_ARG, "taps: layer %d is outside -1..%d", s->taps[k], m->h->n_layer - 1);
        m->p.taps[k].layer = s->taps[k];
        m->p.taps[k].buffer = buffer((enum buf)(BUF_TAP + k));
    }
    m->p.n_taps = s->n_taps;
    return RN_OK;
}

// Common to models and parts; the architecture and hyper-parameters are set.
static rn_status build(struct model *m, const struct model_spec *spec, rn_error *err) {
    m->flags = arch_model_flags(m->h);
    m->p.n_tokens = (m->base ? m->base->h : m->h)->n_vocab;
    rn_status st = set_taps(m, spec, err);
    if (st == RN_OK) st = fill_dims(m, err);
    if (st == RN_OK) st = model_bind(m, err);
    if (st == RN_OK && m->base) part_borrow(m);
    if (st == RN_OK) st = model_row_kinds(m, err);
    if (st == RN_OK) st = model_latent(m, err);
    if (st == RN_OK) st = write_program(m, err);
    if (st == RN_OK) st = model_adapters(m, spec, err);
    return st == RN_OK ? program_check(&m->p, err) : st;
}

static rn_status create(const package *pkg, struct model **out, rn_error *err) {
    *out = mem_calloc(1, sizeof **out);
    if (!*out) return fail(err, RN_E_NOMEM, "%s: out of memory", package_path(pkg));
    (*out)->pkg = pkg;
    return RN_OK;
}

static rn_status hand_over(struct model *m, rn_status st, struct model **out) {
    if (st == RN_OK)
        *out = m;
    else
        model_destroy(m);
    return st;
}

rn_status model_build(const package *pkg, struct model **out, rn_error *err) {
    return model_build_with(pkg, &(struct model_spec){0}, out, err);
}

rn_status model_build_with(const package *pkg, const struct model_spec *spec, struct model **out, rn_error *err) {
    struct model *m;
    *out = NULL;
    rn_status st = create(pkg, &m, err);
    if (st != RN_OK) return st;
    m->h = package_hparams(pkg);
    m->arch = arch_find(m->h->arch);
    st = check_arch(m, err);
    if (st == RN_OK) st = build(m, spec, err);
    return hand_over(m, st, out);
}

rn_status model_build_part(const package *pkg, const struct part_spec *spec, const struct model *base,
                           struct model **out, rn_error *err) {
    struct model *m;
    *out = NULL;
    rn_status st = create(pkg ? pkg : base->pkg, &m, err);
    if (st != RN_OK) return st;
    m->base = base;
    st = part_begin(m, spec, err);
    if (st == RN_OK) st = build(m, &spec->model, err);
    return hand_over(m, st, out);
}

rn_status model_build_vision(const package *pkg, const int32_t *taps, int32_t n_taps, struct model **out,
                             rn_error *err) {
    struct model *m;
    *out = NULL;
    rn_status st = create(pkg, &m, err);
    if (st != RN_OK) return st;
    m->h = package_hparams(pkg);
    m->arch = arch_find_vision(m->h->arch);
    if (!m->arch)
        st = fail(err, RN_E_UNSUPPORTED, "%s: vision part '%s' is not supported", package_path(pkg), m->h->arch);
    if (st == RN_OK) st = build(m, &(struct model_spec){.taps = taps, .n_taps = n_taps}, err);
    return hand_over(m, st, out);
}

void model_destroy(struct model *m) {
    if (!m) return;
    arena_free(&m->mem);
    mem_free(m);
}

const struct program *model_program(const struct model *m) { return &m->p; }
const struct hparams *model_hparams(const struct model *m) { return m->h; }
