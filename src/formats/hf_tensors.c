// formats/hf_tensors.c - see hf_tensors.h.
#include "formats/hf_tensors.h"
#include "base/checked.h"
#include <inttypes.h>
#include <string.h>

// A tensor of the folder, and whether a row has taken it.
struct found {
    const struct safetensors_record *t;
    size_t shard;
    bool used;
};
struct reader {
    struct package *p;
    const struct hf_config *c;
    struct name_index names; // without the architecture's prefix
    struct found *found;
    size_t n_found;
    size_t n_tensors, n_made; // of the whole package: counted before anything is made
    bool counts;
    rn_error *err;
};

// ---- names ----------------------------------------------------------------------------------------------------------

static const char *without_prefix(const struct hf_config *c, const char *name) {
    const size_t n = strlen(c->arch->prefix);
    return strncmp(name, c->arch->prefix, n) == 0 ? name + n : name;
}

// Puts the file and the tensor's own name in front of an error.
static rn_status in_tensor(const struct reader *r, const struct found *f, rn_status st) {
    if (st == RN_OK) return st;
    return package_in_file(r->p->files[f->shard].path, fail_in(r->err, st, "tensor %s", f->t->name), r->err);
}

static rn_status index_names(struct reader *r, const struct safetensors *shards) {
    struct package *p = r->p;
    size_t n = 0;
    for (size_t s = 0; s < p->n_files; s++) n += shards[s].n_records; // each is bounded, and so are shards
    r->found = arena_alloc(&p->arena, n * sizeof *r->found);
    if (!r->found || !name_index_init(&r->names, n, &p->arena))
        return fail(r->err, RN_E_NOMEM, "tensors: out of memory for %zu", n);
    for (size_t s = 0; s < p->n_files; s++)
        for (size_t i = 0; i < shards[s].n_records; i++) {
            struct found *f = &r->found[r->n_found];
            *f = (struct found){&shards[s].records[i], s, false};
            const char *name = without_prefix(r->c, f->t->name);
            const uint32_t k = (uint32_t)r->n_found; // at most SAFETENSORS_MAX_TENSORS
            const uint32_t first = name_index_add(&r->names, name, (uint32_t)strlen(name), k);
            if (first != k)
                return in_tensor(
                    r, f, fail(r->err, RN_E_FORMAT, "named twice (tensors %" PRIu32 " and %" PRIu32 ")", first, k));
            r->n_found++;
        }
    return RN_OK;
}

static struct found *look_up(const struct reader *r, const char *name) {
    const int64_t i = name_index_find(&r->names, name, strlen(name));
    return i < 0 ? NULL : &r->found[i];
}

// ---- conditions -----------------------------------------------------------------------------------------------------

// What holds of a layer, or of the model as a whole (-1).
static uint32_t holds_in(const struct hf_config *c, int32_t layer) {
    if (layer < 0) return c->traits;
    const struct layer_hparams *l = &c->raw.hp.layers[layer];
    const bool shares = (c->traits & HF_KEYS_ARE_VALUES) && !(l->flags & LAYER_SWA);
    uint32_t holds = c->traits | (l->flags & LAYER_RECURRENT ? HF_RECURS : HF_ATTENDS);
    holds |= l->flags & LAYER_EXPERTS ? HF_EXPERTS : HF_DENSE;
    if (!(l->flags & LAYER_SHARED_KV)) holds |= HF_OWN_KV;
    return shares ? holds : holds | HF_VALUES;
}

static uint32_t conditions(const struct hf_tensor_row *row) { return row->when & ~(uint32_t)HF_OPTIONAL; }

// The member of config.json that says the first of these traits; NULL: none does.
static const struct hf_trait *trait_of(const struct hf_config *c, uint32_t traits) {
    for (size_t i = 0; i < hf_n_traits; i++) {
        const char *only = hf_traits[i].gguf_name;
        if ((traits & hf_traits[i].trait) && (!only || strcmp(only, c->arch->gguf_name) == 0)) return &hf_traits[i];
    }
    return NULL;
}

static rn_status missing(const struct reader *r, const struct hf_tensor_row *row, int32_t layer, int32_t expert) {
    const struct hf_config *c = r->c;
    const struct hf_trait *trait = trait_of(c, conditions(row));
    const struct hf_name name = hf_name_of(row->name, layer, expert);
    const bool in_trunk = strncmp(row->name, "lm_head.", 8) != 0 && strncmp(row->name, "embed_out.", 10) != 0;
    return package_in_file(r->p->path,
                           fail(r->err, RN_E_FORMAT,
                                "tensor %s%s: missing, where config.json says %" PRId32 " layers%s%s%s",
                                in_trunk ? c->arch->prefix : "", name.text, c->raw.hp.n_layer, trait ? " and " : "",
                                trait ? trait->member : "",
                                !trait            ? ""
                                : trait->inverted ? " false"
                                                  : " true"),
                           r->err);
}

// A tensor that no row has taken. A bias that config.json says is not there would be left out by transformers and used by
// converters: that is for the folder's maker to settle.
static rn_status judge_unused(const struct reader *r, const struct found *f) {
    const struct hf_config *c = r->c;
    int32_t layer;
    const struct hf_tensor_row *row = hf_find_tensor(c->arch, without_prefix(c, f->t->name), &layer);
    if (row && !row->gguf) return RN_OK;
    if (row && layer < 0 && (row->when & HF_UNTIED) && !(c->traits & HF_UNTIED)) return RN_OK;
    if (layer >= c->raw.hp.n_layer && layer < c->raw.hp.n_layer + c->raw.n_nextn) return RN_OK;
    const struct hf_trait *trait = row ? trait_of(c, conditions(row) & ~c->traits) : NULL;
    if (trait && layer < c->raw.hp.n_layer)
        return in_tensor(r, f,
                         fail(r->err, RN_E_FORMAT, "is there, but config.json's %s is %s", trait->member,
                              trait->inverted ? "true" : "false"));
    return in_tensor(r, f,
                     fail(r->err, RN_E_FORMAT,
                          "%s of %" PRId32
                          " layers has no use for it, so the folder holds a model that would run wrongly",
                          c->arch->class_name, c->raw.hp.n_layer));
}

// ---- one tensor -----------------------------------------------------------------------------------------------------

static struct hf_sizes sizes_of(const struct hf_config *c, int32_t layer) {
    const struct hparams *hp = &c->raw.hp;
    const struct layer_hparams *l = layer < 0 ? NULL : &hp->layers[layer];
    const int32_t value_dim = hp->ssm_n_head ? hp->ssm_d_inner / hp->ssm_n_head : 0;
    return (struct hf_sizes){.n_head = (uint64_t)hp->n_head,
                             .n_head_kv = (uint64_t)(l ? l->n_head_kv : hp->n_head_kv),
                             .head_dim = (uint64_t)(l ? l->head_dim : hp->head_dim),
                             .nope = (uint64_t)hp->head_dim_nope,
                             .value = (uint64_t)hp->mla_head_dim_v,
                             .n_expert = (uint64_t)hp->n_expert,
                             .key_heads = (uint64_t)hp->ssm_n_group,
                             .value_heads = (uint64_t)hp->ssm_n_head,
                             .key_dim = (uint64_t)hp->ssm_d_state,
                             .value_dim = (uint64_t)value_dim,
                             .groups = (uint64_t)hp->ssm_n_group};
}

static rn_status check_type(const struct reader *r, const struct found *f) {
    if (f->t->type->is_read) return RN_OK;
    return in_tensor(
        r, f, fail(r->err, RN_E_UNSUPPORTED, "type %s is not supported; F32, F16 and BF16 are", f->t->type->name));
}

static bool count_made(struct reader *r, uint64_t n_bytes) {
    size_t n;
    return package_made_size(n_bytes, &n) && size_add(r->n_made, n, &r->n_made);
}

static struct tensor_claim claim_of(const struct hf_name *name, enum tensor_type type, int n_dims,
                                    const uint64_t *ne) {
    return (struct tensor_claim){
        .name = name->text, .n_name = (uint32_t)strlen(name->text), .type = type, .n_dims = n_dims, .dims = ne};
}

// The numbers of a plan's result times bytes; false: overflow, which tensors of a file do not come to.
static bool plan_bytes(const struct hf_plan *p, enum tensor_type type, size_t *out) {
    size_t n = tensor_type_info(type)->block_bytes;
    for (int d = 0; d < p->n_dims; d++)
        if (!size_mul(n, (size_t)p->ne[d], &n)) return false;
    *out = n;
    return true;
}

static rn_status take(struct reader *r, const struct hf_tensor_row *row, int32_t layer, struct found *f) {
    const struct hf_sizes sizes = sizes_of(r->c, layer);
    const struct file_map *file = &r->p->files[f->shard].map;
    const struct safetensors_record *t = f->t;
    const enum tensor_type from = t->type->type;
    struct hf_plan plan;
    uint64_t first;
    size_t n_bytes;
    rn_status st = check_type(r, f);
    if (st != RN_OK) return st;
    st = in_tensor(r, f, hf_plan(row->form, &sizes, t, &plan, r->err));
    if (st != RN_OK) return st;
    const bool is_view = hf_plan_is_view(&plan, &first);
    const enum tensor_type type = hf_plan_type(&plan, from);
    f->used = true;
    if (r->counts) {
        r->n_tensors++;
        return is_view || (plan_bytes(&plan, type, &n_bytes) && count_made(r, n_bytes))
                   ? RN_OK
                   : fail(r->err, RN_E_FORMAT, "tensors: the size of all overflows");
    }
    const struct hf_name name = hf_name_of(row->gguf, layer, 0);
    struct tensor_claim claim = claim_of(&name, type, plan.n_dims, plan.ne);
    if (is_view) {
        claim.file = file;
        claim.offset = t->begin + first * tensor_type_info(from)->block_bytes;
    }
    if ((st = package_add_tensor(r->p, &claim, r->err)) != RN_OK) return in_tensor(r, f, st);
    if (is_view) return RN_OK;
    hf_plan_run(&plan, &sizes, from, file->data + t->begin, package_made_data(r->p));
    file_map_forget(file, (size_t)t->begin, (size_t)(t->end - t->begin)); // the copy is what will be used
    return RN_OK;
}

// ---- experts that lie one by one --------------------------------------------------------------------------------------

static bool is_like(const struct safetensors_record *a, const struct safetensors_record *b) {
    return a->n_dims == 2 && b->n_dims == 2 && a->dims[0] == b->dims[0] && a->dims[1] == b->dims[1] &&
           a->type == b->type;
}

// All experts' matrices, or the error that names the one that does not go with the others; *first is the first one.
static rn_status check_stack(struct reader *r, const struct hf_tensor_row *row, int32_t layer, struct found **first) {
    for (int32_t e = 0; e < r->c->raw.hp.n_expert; e++) {
        struct found *f = look_up(r, hf_name_of(row->name, layer, e).text);
        if (!f) return missing(r, row, layer, e);
        if (e == 0) *first = f;
        const rn_status st = check_type(r, f);
        if (st != RN_OK) return st;
        if (!is_like((*first)->t, f->t))
            return in_tensor(r, f,
                             fail(r->err, RN_E_FORMAT, "is of another shape or type than %s", (*first)->t->name));
        f->used = true;
    }
    return RN_OK;
}

static rn_status stack(struct reader *r, const struct hf_tensor_row *row, int32_t layer) {
    struct found *first = NULL;
    const int32_t n = r->c->raw.hp.n_expert;
    rn_status st = check_stack(r, row, layer, &first);
    if (st != RN_OK) return st;
    const size_t n_each = (size_t)(first->t->end - first->t->begin);
    size_t n_bytes;
    if (!size_mul(n_each, (size_t)n, &n_bytes))
        return fail(r->err, RN_E_FORMAT, "tensors: the size of all overflows");
    if (r->counts) {
        r->n_tensors++;
        return count_made(r, n_bytes) ? RN_OK : fail(r->err, RN_E_FORMAT, "tensors: the size of all overflows");
    }
    const struct hf_name name = hf_name_of(row->gguf, layer, 0);
    const uint64_t ne[] = {first->t->dims[1], first->t->dims[0], (uint64_t)n};
    const struct tensor_claim claim = claim_of(&name, first->t->type->type, 3, ne);
    if ((st = package_add_tensor(r->p, &claim, r->err)) != RN_OK) return in_tensor(r, first, st);
    for (int32_t e = 0; e < n; e++) {
        const struct found *f = look_up(r, hf_name_of(row->name, layer, e).text);
        const struct file_map *file = &r->p->files[f->shard].map;
        memcpy(package_made_data(r->p) + (size_t)e * n_each, file->data + f->t->begin, n_each);
        file_map_forget(file, (size_t)f->t->begin, n_each);
    }
    return RN_OK;
}

// ---- all of them ----------------------------------------------------------------------------------------------------

static rn_status visit(struct reader *r, const struct hf_tensor_row *row, int32_t layer) {
    if (conditions(row) & ~holds_in(r->c, layer)) return RN_OK;
    if (row->form == HF_STACKED) return stack(r, row, layer);
    struct found *f = look_up(r, hf_name_of(row->name, layer, 0).text);
    if (f) return take(r, row, layer, f);
    return row->when & HF_OPTIONAL ? RN_OK : missing(r, row, layer, 0);
}

static rn_status visit_all(struct reader *r) {
    const struct hf_arch *a = r->c->arch;
    rn_status st = RN_OK;
    for (size_t i = 0; st == RN_OK && i < a->n_tensors; i++) {
        const struct hf_tensor_row *row = &a->tensors[i];
        if (!row->gguf) continue;
        if (!hf_has_layer(row)) {
            st = visit(r, row, -1);
            continue;
        }
        for (int32_t l = 0; st == RN_OK && l < r->c->raw.hp.n_layer; l++) st = visit(r, row, l);
    }
    return st;
}

rn_status hf_add_tensors(struct package *p, const struct hf_config *c, const struct safetensors *shards,
                         rn_error *err) {
    struct reader r = {.p = p, .c = c, .counts = true, .err = err};
    size_t n_rope;
    rn_status st = index_names(&r, shards);
    if (st == RN_OK) st = visit_all(&r);
    for (size_t i = 0; st == RN_OK && i < r.n_found; i++)
        if (!r.found[i].used) st = judge_unused(&r, &r.found[i]);
    if (st == RN_OK && (!hf_rope_bytes(c, &n_rope) || !size_add(r.n_made, n_rope, &r.n_made)))
        st = fail(err, RN_E_FORMAT, "tensors: the size of all overflows");
    if (st == RN_OK) st = package_reserve_tensors(p, r.n_tensors + HF_MAX_FACTOR_TENSORS, err);
    if (st == RN_OK) st = package_reserve_made(p, r.n_made, err);
    r.counts = false;
    if (st == RN_OK) st = visit_all(&r);
    return st == RN_OK ? package_in_file(p->path, hf_add_rope_factors(p, c, err), err) : st;
}
