// tests/support/split_program.c - see split_program.h.
#include "tests/support/split_program.h"
#include "base/mem.h"
#include <string.h>

// dst is read too, or only a part of its row is written.
static bool keeps_dst(const struct program *p, const struct op *o) {
    static const bool in_place[OP_N_KINDS] = {
        [OP_ROPE] = true, [OP_ADD] = true,      [OP_SCALE] = true, [OP_SOFTCAP] = true, [OP_TEMPERATURE] = true,
        [OP_COPY] = true, [OP_SCALE_BY] = true, [OP_MUL] = true,   [OP_CLAMP] = true,   [OP_ADD_VECTOR] = true};
    return o->dst >= 0 && (in_place[o->kind] || (size_t)o->width < p->width[o->dst]);
}

// Row buffers that ops from `cut` on read before they write them, as ops before it left them.
static void find_live(const struct program *p, size_t cut, bool *live) {
    bool before[PROGRAM_MAX_BUFFERS] = {0}, after[PROGRAM_MAX_BUFFERS] = {0};
    for (size_t i = 0; i < cut; i++)
        if (p->ops[i].dst >= 0) before[p->ops[i].dst] = true;
    for (size_t i = cut; i < p->n_ops; i++) {
        const struct op *o = &p->ops[i];
        const int8_t reads[] = {o->src, o->src2, keeps_dst(p, o) ? o->dst : (int8_t)-1};
        for (size_t k = 0; k < sizeof reads; k++)
            if (reads[k] >= 0 && before[reads[k]] && !after[reads[k]]) live[reads[k]] = true;
        if (o->dst >= 0) after[o->dst] = true;
    }
}

static struct op copy_op(int32_t src, int32_t at, int32_t dst, int32_t dst_at, int32_t width) {
    return (struct op){.kind = OP_COPY,
                       .layer = -1,
                       .src = (int8_t)src,
                       .src2 = -1,
                       .dst = (int8_t)dst,
                       .width = width,
                       .heads = {.n = 1, .src.at = at, .dst.at = dst_at},
                       .weights.matrix = -1};
}

// One buffer more, as wide as all live ones, and the copies into it or out of it.
static size_t hand_over(const struct program *p, const bool *live, bool into, int32_t handed, struct op *ops) {
    size_t n = 0;
    for (int32_t i = 0, at = 0; i < p->n_buffers; i++) {
        if (!live[i]) continue;
        const int32_t width = (int32_t)p->width[i];
        ops[n++] = into ? copy_op(i, 0, handed, at, width) : copy_op(handed, at, i, 0, width);
        at += width;
    }
    return n;
}

static bool begin_part(const struct program *p, struct part_program *to) {
    to->p = *p;
    to->ops = mem_calloc(p->n_ops + PROGRAM_MAX_BUFFERS + 1, sizeof *to->ops);
    to->attention = mem_calloc((size_t)p->n_layer, sizeof *to->attention);
    if (!to->ops || !to->attention) return false;
    if (p->attention) memcpy(to->attention, p->attention, (size_t)p->n_layer * sizeof *to->attention);
    to->p.ops = to->ops, to->p.attention = to->attention, to->p.n_ops = 0;
    return true;
}

// Pages of a group hold the layers before the cut in the first part, the others in the second.
static rn_status split_groups(const struct program *p, int32_t cut, struct split_program *s, rn_error *err) {
    for (int32_t g = 0; g < p->n_groups; g++) {
        int32_t n_first = 0;
        for (int32_t l = 0; l < cut; l++) {
            const struct attention *a = &p->attention[l];
            if (a->kind >= 0 && a->group == g && a->layer_in_group >= n_first) n_first = a->layer_in_group + 1;
        }
        for (int32_t l = cut; l < p->n_layer; l++) {
            struct attention *a = &s->part[1].attention[l];
            if (a->kind < 0 || a->group != g) continue;
            if (a->layer_in_group < n_first)
                return fail(err, RN_E_UNSUPPORTED, "layer %d reads keys and values from before the cut", l);
            a->layer_in_group -= n_first;
        }
        if (n_first > p->groups[g].n_layer) n_first = p->groups[g].n_layer;
        s->part[0].p.groups[g].n_layer = n_first;
        s->part[1].p.groups[g].n_layer = p->groups[g].n_layer - n_first;
        s->part[1].first_layer[g] = n_first;
    }
    return RN_OK;
}

// A slot's bytes follow the order of layers.
static void split_states(const struct program *p, size_t cut, struct split_program *s) {
    size_t at = p->state_bytes / sizeof(float);
    for (size_t i = cut; i < p->n_ops; i++)
        if (op_has_state(p->ops[i].kind) && p->ops[i].state.at < at) at = p->ops[i].state.at;
    s->part[0].p.state_bytes = at * sizeof(float);
    s->part[1].p.state_bytes = p->state_bytes - at * sizeof(float);
    for (size_t i = 0; i < s->part[1].p.n_ops; i++)
        if (op_has_state(s->part[1].ops[i].kind)) s->part[1].ops[i].state.at -= at;
}

rn_status split_program(const struct program *p, int32_t layer, struct split_program *out, rn_error *err) {
    bool live[PROGRAM_MAX_BUFFERS] = {0};
    size_t cut = 0, width = 0;
    *out = (struct split_program){.handed = p->n_buffers};
    while (cut < p->n_ops && p->ops[cut].layer != layer) cut++;
    if (layer < 1 || layer >= p->n_layer || cut == p->n_ops || p->n_buffers == PROGRAM_MAX_BUFFERS)
        return fail(err, RN_E_UNSUPPORTED, "a program of %d layers cannot be cut before layer %d", p->n_layer, layer);
    for (size_t i = cut; i < p->n_ops; i++)
        if (p->ops[i].kind == OP_ADD_VECTOR)
            return fail(err, RN_E_UNSUPPORTED, "layer %d reads an input vector", p->ops[i].layer);
    struct part_program *const a = &out->part[0], *const b = &out->part[1];
    if (!begin_part(p, a) || !begin_part(p, b)) return fail(err, RN_E_NOMEM, "out of memory for a program");
    const rn_status st = split_groups(p, layer, out, err);
    if (st != RN_OK) return st;
    find_live(p, cut, live);
    for (int32_t i = 0; i < p->n_buffers; i++) width += live[i] ? p->width[i] : 0;
    for (int k = 0; k < 2; k++) {
        out->part[k].p.width[out->handed] = width;
        out->part[k].p.n_buffers++;
    }
    memcpy(a->ops, p->ops, cut * sizeof *a->ops);
    a->p.n_ops = cut + hand_over(p, live, true, out->handed, a->ops + cut);
    a->p.hidden = a->p.logits = out->handed, a->p.n_rank = 0;
    b->ops[0] = (struct op){.kind = OP_VECTOR,
                            .layer = -1,
                            .src = -1,
                            .src2 = -1,
                            .dst = (int8_t)out->handed,
                            .width = (int32_t)width,
                            .heads.n = 1,
                            .weights.matrix = -1};
    const size_t n = 1 + hand_over(p, live, false, out->handed, b->ops + 1);
    memcpy(b->ops + n, p->ops + cut, (p->n_ops - cut) * sizeof *b->ops);
    b->p.n_ops = n + p->n_ops - cut;
    b->p.n_vector = (int32_t)width, b->p.needs_vector = true;
    split_states(p, cut, out);
    return RN_OK;
}

void split_program_free(struct split_program *s) {
    for (int k = 0; k < 2; k++) {
        mem_free(s->part[k].ops);
        mem_free(s->part[k].attention);
    }
    *s = (struct split_program){0};
}
