// formats/gguf/gguf_older.c - converts tensors of older GGUF files to the current form, so that all
// other code needs to know only that.
//
// Forms that take whole rows copy them in any type. A matrix of blocks that must be transposed
// becomes F32, because rows of blocks cannot be transposed; the numbers stay the same.
#include "base/checked.h"
#include "base/mem.h"
#include "formats/folder/hf_names.h"
#include "formats/package_build.h"
#include <inttypes.h>
#include <string.h>

static const struct renewal {
    const char *arch;      // NULL: any architecture with experts
    const char *from, *to; // "%d": the layer, "%e": the expert
    enum hf_form form;
} renewals[] = {
    // Until April 2024 each expert's matrices were tensors of their own.
    {NULL, "blk.%d.ffn_gate.%e.weight", "blk.%d.ffn_gate_exps.weight", HF_STACKED},
    {NULL, "blk.%d.ffn_up.%e.weight", "blk.%d.ffn_up_exps.weight", HF_STACKED},
    {NULL, "blk.%d.ffn_down.%e.weight", "blk.%d.ffn_down_exps.weight", HF_STACKED},
    // Until April 2025 keys and values of a latent vector were computed by one matrix.
    {"deepseek2", "blk.%d.attn_kv_b.weight", "blk.%d.attn_k_b.weight", HF_KEYS_OF_LATENT},
    {"deepseek2", "blk.%d.attn_kv_b.weight", "blk.%d.attn_v_b.weight", HF_VALUES_OF_LATENT},
    // In the first weeks of Qwen3-Next, queries, keys, values and gates were one tensor,
    // interleaved by key head.
    {"qwen3next", "blk.%d.ssm_in.weight", "blk.%d.attn_qkv.weight", HF_QKV_OF_QKVZ},
    {"qwen3next", "blk.%d.ssm_in.weight", "blk.%d.attn_gate.weight", HF_Z_OF_QKVZ},
};

struct renewing {
    struct package *p;
    const struct hparams *hp;
    const struct tensor_view *old; // [n_old] the tensors in the file
    size_t n_old;
    struct name_index old_names;
    bool *used; // [n_old] replaced by a converted tensor
    bool counts;
    size_t n_new, n_made;
    rn_error *err;
};

static const struct tensor_view *look_up(const struct renewing *r, const char *pattern, int32_t layer,
                                         int32_t expert) {
    const struct hf_name name = hf_name_of(pattern, layer, expert);
    const int64_t i = name_index_find(&r->old_names, name.text, strlen(name.text));
    return i < 0 ? NULL : &r->old[i];
}

static rn_status count(struct renewing *r, uint64_t n_bytes) {
    size_t n;
    r->n_new++;
    if (package_made_size(n_bytes, &n) && size_add(r->n_made, n, &r->n_made)) return RN_OK;
    return fail(r->err, RN_E_FORMAT, "tensors: the size of all overflows");
}

// Adds the new tensor under its name, with memory for its data.
static rn_status add(struct renewing *r, const struct renewal *w, int32_t layer, enum tensor_type type, int n_dims,
                     const uint64_t *ne) {
    const struct hf_name name = hf_name_of(w->to, layer, 0);
    const struct tensor_claim claim = {
        .name = name.text, .n_name = (uint32_t)strlen(name.text), .type = type, .n_dims = n_dims, .dims = ne};
    return package_add_tensor(r->p, &claim, r->err);
}

// ---- experts ------------------------------------------------------------------------------------

static rn_status check_expert(const struct renewing *r, const struct renewal *w, int32_t layer, int32_t expert,
                              const struct tensor_view *first) {
    const struct tensor_view *t = look_up(r, w->from, layer, expert);
    if (!t)
        return fail(r->err, RN_E_FORMAT, "tensor %s: missing, where there are %" PRId32 " experts",
                    hf_name_of(w->from, layer, expert).text, r->hp->n_expert);
    if (t->type == first->type && t->n_dims == 2 && t->ne[0] == first->ne[0] && t->ne[1] == first->ne[1])
        return RN_OK;
    return fail(r->err, RN_E_FORMAT, "tensor %s: has another shape or type than %s", t->name, first->name);
}

static rn_status stack(struct renewing *r, const struct renewal *w, int32_t layer, const struct tensor_view *first) {
    const int32_t n = r->hp->n_expert;
    const uint64_t ne[] = {first->ne[0], first->ne[1], (uint64_t)n};
    size_t n_bytes;
    rn_status st = RN_OK;
    for (int32_t e = 0; st == RN_OK && e < n; e++) st = check_expert(r, w, layer, e, first);
    if (st != RN_OK) return st;
    if (!size_mul(first->n_bytes, (size_t)n, &n_bytes))
        return fail(r->err, RN_E_FORMAT, "tensors: the size of all overflows");
    for (int32_t e = 0; e < n; e++) r->used[look_up(r, w->from, layer, e) - r->old] = true;
    if (r->counts) return count(r, n_bytes);
    if ((st = add(r, w, layer, first->type, 3, ne)) != RN_OK) return st;
    for (int32_t e = 0; e < n; e++)
        memcpy(package_made_data(r->p) + (size_t)e * first->n_bytes, look_up(r, w->from, layer, e)->data,
               first->n_bytes);
    return RN_OK;
}

// ---- matrices that are split --------------------------------------------------------------------

static bool is_plain(enum tensor_type type) { return tensor_type_info(type)->block_len == 1; }

// Copies rows in another order; their type does not matter.
static void copy_rows(const struct hf_plan *plan, const struct hf_sizes *sizes, const struct tensor_view *t,
                      uint8_t *to) {
    for (uint64_t m = 0; m < plan->n_mats; m++)
        for (uint64_t i = 0; i < plan->rows_taken; i++, to += t->row_bytes) {
            const uint64_t row = m * plan->n_rows + plan->row_from + (plan->row_of ? plan->row_of(sizes, i) : i);
            memcpy(to, t->data + row * t->row_bytes, t->row_bytes);
        }
}

static rn_status turn_blocks(struct renewing *r, const struct hf_plan *plan, const struct hf_sizes *sizes,
                             const struct tensor_view *t, uint8_t *to) {
    const size_t n = (size_t)(t->ne[0] * t->ne[1]);
    size_t n_bytes;
    float *numbers = size_mul(n, sizeof *numbers, &n_bytes) ? mem_alloc(n_bytes) : NULL;
    if (!numbers) return fail(r->err, RN_E_NOMEM, "tensor %s: out of memory for %zu numbers", t->name, n);
    tensor_type_info(t->type)->dequantize_row(t->data, numbers, n);
    hf_plan_run(plan, sizes, TENSOR_F32, (const uint8_t *)numbers, to);
    mem_free(numbers);
    return RN_OK;
}

static rn_status take(struct renewing *r, const struct renewal *w, int32_t layer, const struct tensor_view *t) {
    const struct hf_sizes sizes = hf_sizes_of(r->hp, layer < 0 ? NULL : &r->hp->layers[layer]);
    const struct safetensors_record record = {.n_dims = t->n_dims,
                                              .dims = {t->ne[1], t->ne[0]}}; // the last is contiguous there
    struct hf_plan plan;
    size_t n_bytes = 0;
    if (t->n_dims != 2) return fail(r->err, RN_E_FORMAT, "tensor %s: %d dimensions, must be 2", t->name, t->n_dims);
    rn_status st = hf_plan(w->form, &sizes, &record, &plan, r->err);
    if (st != RN_OK) return fail_in(r->err, st, "tensor %s", t->name);
    const bool turns_blocks = plan.turned && !is_plain(t->type);
    const enum tensor_type type = turns_blocks ? TENSOR_F32 : t->type;
    r->used[t - r->old] = true;
    if (r->counts) {
        uint64_t n_rows = plan.ne[1];
        size_t row_bytes;
        const bool fits = tensor_row_bytes(type, plan.ne[0], &row_bytes) && size_mul(row_bytes, n_rows, &n_bytes) &&
                          size_mul(n_bytes, plan.ne[2], &n_bytes);
        return fits ? count(r, n_bytes) : fail(r->err, RN_E_FORMAT, "tensor %s: its size overflows", t->name);
    }
    if ((st = add(r, w, layer, type, plan.n_dims, plan.ne)) != RN_OK) return st;
    uint8_t *to = package_made_data(r->p);
    if (turns_blocks) return turn_blocks(r, &plan, &sizes, t, to);
    if (plan.turned)
        hf_plan_run(&plan, &sizes, t->type, t->data, to);
    else
        copy_rows(&plan, &sizes, t, to);
    return RN_OK;
}

// ---- all tensors --------------------------------------------------------------------------------

static rn_status visit(struct renewing *r, const struct renewal *w, int32_t layer) {
    const bool of_experts = w->form == HF_STACKED;
    const struct tensor_view *t = look_up(r, w->from, layer, 0);
    if (!t || look_up(r, w->to, layer, 0)) return RN_OK;
    return of_experts ? stack(r, w, layer, t) : take(r, w, layer, t);
}

static rn_status visit_all(struct renewing *r) {
    rn_status st = RN_OK;
    for (size_t i = 0; i < sizeof renewals / sizeof *renewals; i++) {
        const struct renewal *w = &renewals[i];
        if (w->arch ? strcmp(w->arch, r->hp->arch) != 0 : r->hp->n_expert == 0) continue;
        for (int32_t l = 0; st == RN_OK && l < r->hp->n_layer; l++) st = visit(r, w, l);
    }
    return st;
}

rn_status gguf_renew(struct package *p, const struct hparams *hp, rn_error *err) {
    struct renewing r = {.p = p,
                         .hp = hp,
                         .old = p->tensors,
                         .n_old = p->n_tensors,
                         .old_names = p->tensor_names,
                         .counts = true,
                         .err = err};
    r.used = arena_alloc(&p->arena, p->n_tensors * sizeof *r.used);
    if (!r.used) return fail(err, RN_E_NOMEM, "tensors: out of memory for %zu", p->n_tensors);
    rn_status st = visit_all(&r);
    if (st != RN_OK || r.n_new == 0) return st;
    st = package_begin_anew(p, r.n_old + r.n_new, err);
    for (size_t i = 0; st == RN_OK && i < r.n_old; i++)
        if (!r.used[i]) package_keep_tensor(p, &r.old[i]);
    if (st == RN_OK) st = package_reserve_made(p, r.n_made, err);
    r.counts = false;
    return st == RN_OK ? visit_all(&r) : st;
}
