// convert/type_plan.c - see type_plan.h.
#include "convert/type_plan.h"
#include "base/checked.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOTE_BYTES = 128, MAX_LAYERS = 65536 };

struct planner {
    const package *p;
    const struct plan_request *r;
    struct arena *into;
    struct model_facts facts;
    int32_t *n_v_before;      // [facts.n_layer + 1] number of layers before this one with a PART_V matrix
    bool *rule_used;          // [r->n_rules]
    size_t n_known, n_guided; // tensors in the importance matrix; of these, tensors quantized with it
    rn_error *err;
};

bool pattern_matches(const char *pattern, const char *name) {
    const char *star = NULL, *retry = NULL; // the last `*`, and where the text that it matches may end next
    while (*name) {
        if (*pattern == '*') {
            star = pattern++;
            retry = name;
        } else if (*pattern == '?' || *pattern == *name) {
            pattern++;
            name++;
        } else if (star) {
            pattern = star + 1;
            name = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*') pattern++;
    return *pattern == 0;
}

// ---- facts derived from names and shapes --------------------------------------------------------

// 12 for "blk.12.attn_v.weight"; -1: not in a layer.
static int32_t layer_of(const char *name) {
    char *end;
    if (strncmp(name, "blk.", 4) != 0 || name[4] < '0' || name[4] > '9') return -1;
    const long n = strtol(name + 4, &end, 10);
    return *end == '.' && n < MAX_LAYERS ? (int32_t)n : -1;
}

// The number of query heads per key head; all heads have the same width.
static int32_t count_gqa(const package *p) {
    const struct tensor_view *q = package_tensor(p, "blk.0.attn_q.weight"),
                             *k = package_tensor(p, "blk.0.attn_k.weight");
    return q && k ? (int32_t)(q->ne[1] / k->ne[1] % INT32_MAX) : 1;
}

static rn_status find_facts(struct planner *l) {
    struct model_facts *f = &l->facts;
    f->n_gqa = count_gqa(l->p);
    f->is_tied = package_tensor(l->p, "output.weight") == NULL;
    f->has_imatrix = l->r->imatrix != NULL;
    for (size_t i = 0; i < package_n_tensors(l->p); i++) {
        const struct tensor_view *t = package_tensor_at(l->p, i);
        const int32_t layer = layer_of(t->name);
        if (layer >= f->n_layer) f->n_layer = layer + 1;
        if (strstr(t->name, "ffn_down_exps") && t->ne[2] < INT32_MAX) f->n_expert = (int32_t)t->ne[2];
    }
    l->n_v_before = arena_alloc(l->into, ((size_t)f->n_layer + 1) * sizeof *l->n_v_before);
    l->rule_used = arena_alloc(l->into, l->r->n_rules);
    if (!l->n_v_before || !l->rule_used) return fail(l->err, RN_E_NOMEM, "plan: out of memory");
    for (size_t i = 0; i < package_n_tensors(l->p); i++) {
        const struct tensor_view *t = package_tensor_at(l->p, i);
        const int32_t layer = layer_of(t->name);
        if (layer >= 0 && matrix_part(t->name) == PART_V) l->n_v_before[layer + 1] = 1;
    }
    for (int32_t i = 1; i <= f->n_layer; i++) l->n_v_before[i] += l->n_v_before[i - 1];
    f->n_v = l->n_v_before[f->n_layer];
    return RN_OK;
}

static struct matrix_facts facts_of(const struct planner *l, const struct tensor_view *t) {
    struct matrix_facts f = {matrix_part(t->name), layer_of(t->name), t->ne[0], t->ne[2] > 1};
    if (f.part == PART_V && f.layer >= 0) f.layer = l->n_v_before[f.layer];
    return f;
}

// ---- one tensor ---------------------------------------------------------------------------------

static bool row_fits(const struct tensor_view *t, enum tensor_type type) {
    return t->ne[0] % tensor_type_info(type)->block_len == 0;
}

__attribute__((format(printf, 3, 4))) static rn_status set_note(struct planner *l, struct tensor_plan *plan,
                                                                const char *fmt, ...) {
    char text[NOTE_BYTES];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    plan->note = arena_strndup(l->into, text, strlen(text));
    return plan->note ? RN_OK : fail(l->err, RN_E_NOMEM, "plan: out of memory");
}

// Finds the last rule that matches the matrix; *type is NULL if there is none.
static rn_status by_rule(struct planner *l, const struct tensor_view *t, const struct tensor_type_info **type) {
    *type = NULL;
    for (size_t i = 0; i < l->r->n_rules; i++) {
        if (!pattern_matches(l->r->rules[i].pattern, t->name)) continue;
        l->rule_used[i] = true;
        *type = tensor_type_by_name(l->r->rules[i].type); // a known name: checked by check_rules()
    }
    if (*type && !row_fits(t, (*type)->type))
        return fail(l->err, RN_E_ARG, "keep: %s cannot be %s: its rows of %" PRIu64 " are not a multiple of %" PRIu32,
                    t->name, (*type)->name, t->ne[0], (*type)->block_len);
    return RN_OK;
}

static rn_status by_mix(struct planner *l, const struct tensor_view *t, struct tensor_plan *plan) {
    const struct matrix_facts f = facts_of(l, t);
    enum tensor_type type = mix_type(l->r->mix, &l->facts, &f);
    const uint32_t wanted = tensor_type_info(type)->block_len;
    plan->type = type;
    while (!row_fits(t, plan->type)) plan->type = mix_fallback(plan->type);
    if (plan->type == type) return RN_OK;
    return set_note(l, plan, "its rows of %" PRIu64 " are not a multiple of %" PRIu32, t->ne[0], wanted);
}

static rn_status choose_type(struct planner *l, const struct tensor_view *t, struct tensor_plan *plan) {
    const bool is_matrix = t->n_dims >= 2;
    const struct tensor_type_info *ruled = NULL;
    plan->type = l->r->is_convert && !is_matrix ? TENSOR_F32 : t->type;
    if (!is_matrix) return RN_OK;
    const rn_status st = by_rule(l, t, &ruled);
    if (st != RN_OK) return st;
    if (ruled) {
        plan->type = ruled->type;
        return RN_OK;
    }
    if (matrix_is_quantized(t->name)) return l->r->mix ? by_mix(l, t, plan) : RN_OK;
    if (l->r->is_convert) plan->type = TENSOR_F32;
    return RN_OK;
}

// Block types have been rounded once already. Converting them to F32 loses nothing.
static rn_status check_requantize(const struct planner *l, const struct tensor_plan *plan) {
    const enum tensor_type from = plan->t->type;
    if (from == plan->type || type_is_plain(from) || plan->type == TENSOR_F32 || l->r->allow_requantize) return RN_OK;
    return fail(l->err, RN_E_ARG,
                "tensor %s: is %s already; quantizing it again to %s loses more than quantizing the "
                "original would; to do it anyway: --allow-requantize",
                plan->t->name, tensor_type_info(from)->name, tensor_type_info(plan->type)->name);
}

// NVFP4 is only read (docs/quantize.md). A factor of a matrix (model/bind.c) would be one of the change, too; gemma4's is of the expert's
// output with all that adapters add.
static rn_status check_written(const struct planner *l, const struct tensor_plan *plan) {
    const struct tensor_type_info *const type = tensor_type_info(plan->type);
    const char *const name = plan->t->name, *const end = strstr(name, ".weight");
    char scale[128];
    if ((plan->is_merged || plan->type != plan->t->type) && !type->quantize_row)
        return fail(l->err, RN_E_UNSUPPORTED,
                    "tensor %s: %s is read, but not written: choose another type for it (--keep)", name, type->name);
    if (!plan->is_merged || !end || strcmp(package_hparams(l->p)->arch, "gemma4") == 0) return RN_OK;
    snprintf(scale, sizeof scale, "%.*s.scale", (int)(end - name), name);
    if (!package_tensor(l->p, scale)) return RN_OK;
    return fail(l->err, RN_E_UNSUPPORTED, "tensor %s: has the factor %s, and cannot be merged with an adapter", name,
                scale);
}

static rn_status find_importance(struct planner *l, struct tensor_plan *plan) {
    const struct tensor_view *t = plan->t;
    const struct imatrix_entry *e = l->r->imatrix ? imatrix_find(l->r->imatrix, t->name) : NULL;
    if (!e && (plan->is_merged || plan->type != t->type) && needs_importance(plan->type, matrix_part(t->name)))
        return fail(l->err, RN_E_ARG, "tensor %s: %s needs an importance matrix%s", t->name,
                    tensor_type_info(plan->type)->name,
                    l->r->imatrix ? ", and the one given does not have it: choose another type for it (--keep)"
                                  : ": runnel imatrix makes one, runnel quantize --imatrix takes it");
    if (!l->r->imatrix || t->n_dims < 2) return RN_OK;
    if (!e) { // not measured: the embedding is looked up, not multiplied; neither is the head
        const bool expected = layer_of(t->name) >= 0 && !type_is_plain(plan->type) && plan->type != t->type;
        return expected && !plan->note ? set_note(l, plan, "the importance matrix does not have it") : RN_OK;
    }
    l->n_known++;
    const uint64_t n_mats = t->ne[2] * t->ne[3];
    if (e->k != t->ne[0] || (e->n != 1 && e->n != n_mats))
        return fail(l->err, RN_E_ARG,
                    "imatrix: %s has %" PRIu64 " x %" PRIu64 " columns there and %" PRIu64 " x %" PRIu64
                    " in the model: it is of another model",
                    t->name, e->k, e->n, t->ne[0], n_mats);
    if (type_is_plain(plan->type) || plan->type == t->type) return RN_OK;
    l->n_guided++;
    plan->importance = e->mean;
    plan->n_importance = e->n;
    return RN_OK;
}

// ---- all tensors --------------------------------------------------------------------------------

static rn_status check_rules(const struct plan_request *r, rn_error *err) {
    for (size_t i = 0; i < r->n_rules; i++) {
        if (!r->rules[i].pattern || !r->rules[i].type)
            return fail(err, RN_E_ARG, "keep[%zu]: a pattern and a type are needed", i);
        const struct tensor_type_info *type = tensor_type_by_name(r->rules[i].type);
        if (!type)
            return fail(err, RN_E_ARG, "keep: %s: %s is not a type of weights", r->rules[i].pattern,
                        r->rules[i].type);
    }
    return RN_OK;
}

static rn_status check_all_used(const struct planner *l) {
    for (size_t i = 0; i < l->r->n_rules; i++)
        if (!l->rule_used[i]) return fail(l->err, RN_E_ARG, "keep: no matrix matches %s", l->r->rules[i].pattern);
    if (!l->r->imatrix || l->n_guided) return RN_OK;
    return fail(l->err, RN_E_ARG, "imatrix: %s",
                l->n_known ? "no matrix that it knows is rounded to blocks" : "it knows no matrix of this model");
}

rn_status plan_types(const package *p, const struct plan_request *r, struct arena *into, struct tensor_plan **plans,
                     rn_error *err) {
    struct planner l = {.p = p, .r = r, .into = into, .err = err};
    const size_t n = package_n_tensors(p);
    rn_status st = check_rules(r, err);
    if (st == RN_OK) st = find_facts(&l);
    if (st != RN_OK) return st;
    *plans = arena_alloc(into, n * sizeof **plans);
    if (!*plans) return fail(err, RN_E_NOMEM, "plan: out of memory for %zu tensors", n);
    for (size_t i = 0; st == RN_OK && i < n; i++) {
        struct tensor_plan *plan = &(*plans)[i];
        plan->t = package_tensor_at(p, i);
        st = choose_type(&l, plan->t, plan);
        // A matrix that an adapter changes is written anew, also where its type stays.
        plan->is_merged = r->merges && merges_change(r->merges, plan->t->name);
        if (st == RN_OK) st = check_requantize(&l, plan);
        if (st == RN_OK) st = check_written(&l, plan);
        if (st == RN_OK) st = find_importance(&l, plan);
    }
    return st == RN_OK ? check_all_used(&l) : st;
}
