// formats/folder/hf_tensors.c - see hf_tensors.h.
#include "formats/folder/hf_tensors.h"
#include "base/checked.h"
#include "formats/folder/hf_reader.h"
#include "formats/folder/hf_wrappers.h"
#include <inttypes.h>
#include <string.h>

// ---- names --------------------------------------------------------------------------------------

static const char *without_prefix(const struct hf_config *c, const char *name) {
    const size_t n = strlen(c->arch->prefix);
    if (c->is_wrapped) name = hf_text_name(name);
    return strncmp(name, c->arch->prefix, n) == 0 ? name + n : name;
}

// Adds the file and the tensor's name to the front of an error.
rn_status hf_in_tensor(const struct hf_reader *r, const struct hf_found *f, rn_status st) {
    if (st == RN_OK) return st;
    st = fail_in(r->err, st, "tensor %s", f->t->name);
    return r->tries ? st : package_in_file(r->p->files[f->shard].path, st, r->err);
}

static rn_status index_names(struct hf_reader *r, const struct safetensors *shards) {
    struct package *p = r->p;
    size_t n = 0;
    for (size_t s = 0; s < p->n_files; s++) n += shards[s].n_records; // both numbers are bounded
    r->found = arena_alloc(&p->arena, n * sizeof *r->found);
    if (!r->found || !name_index_init(&r->names, n, &p->arena))
        return fail(r->err, RN_E_NOMEM, "tensors: out of memory for %zu", n);
    for (size_t s = 0; s < p->n_files; s++)
        for (size_t i = 0; i < shards[s].n_records; i++) {
            struct hf_found *f = &r->found[r->n_found];
            *f = (struct hf_found){&shards[s].records[i], s, false};
            const char *name = without_prefix(r->c, f->t->name);
            const uint32_t k = (uint32_t)r->n_found; // at most SAFETENSORS_MAX_TENSORS
            const uint32_t first = name_index_add(&r->names, name, (uint32_t)strlen(name), k);
            if (first != k)
                return hf_in_tensor(
                    r, f, fail(r->err, RN_E_FORMAT, "named twice (tensors %" PRIu32 " and %" PRIu32 ")", first, k));
            r->n_found++;
        }
    return RN_OK;
}

const char *hf_name_in_index(const struct hf_reader *r, const struct hf_found *f) {
    return without_prefix(r->c, f->t->name);
}

struct hf_found *hf_look_up(const struct hf_reader *r, const char *name) {
    const int64_t i = name_index_find(&r->names, name, strlen(name));
    return i < 0 ? NULL : &r->found[i];
}

// How layers [from, to) store their experts.
static uint32_t expert_traits(const struct hf_reader *r, int32_t from, int32_t to) {
    const struct hf_found *f = NULL;
    for (int32_t l = from; l < to && !f; l++)
        f = hf_look_up(r, hf_tensor_name(r, "layers.%d.mlp.experts.gate_up_proj", l, 0).text);
    const bool in_rows = f && f->t->n_dims == 3 && f->t->dims[2] == (uint64_t)r->c->raw.hp.n_embd;
    return !f ? HF_EXPERTS_APART : in_rows ? HF_EXPERTS_IN_ROWS : HF_EXPERTS_IN_COLUMNS;
}

// The width of what groups of experts share, which config.json does not say: 128 in the code of the only model.
static rn_status find_chunk_width(const struct hf_reader *r, struct hparams *hp) {
    const int32_t most = (int32_t)hparam_row_at(offsetof(struct raw_hparams, hp.n_ff_chunk))->max;
    const struct hf_found *f = NULL;
    for (int32_t l = 0; r->c->raw.facts->has_chunks && l < hp->n_layer && !f; l++)
        f = hf_look_up(r, hf_tensor_name(r, "layers.%d.mlp.chunk_experts.0.gate_proj.weight", l, 0).text);
    if (!f) return RN_OK; // reported as missing
    if (f->t->n_dims != 2 || f->t->dims[0] == 0 || f->t->dims[0] > (uint64_t)most)
        return hf_in_tensor(r, f, fail(r->err, RN_E_FORMAT, "is no matrix of 1..%" PRId32 " rows", most));
    hp->n_ff_chunk = (int32_t)f->t->dims[0];
    return RN_OK;
}

// Derives traits from the tensors: is there a separate head, and how are experts stored?
static void find_traits(struct hf_reader *r) {
    r->traits = r->c->traits | expert_traits(r, 0, r->c->raw.hp.n_layer);
    if (!r->c->head_by_tensor) return;
    const bool has_head = hf_look_up(r, "lm_head.weight") != NULL;
    r->traits = has_head ? r->traits | HF_UNTIED : r->traits & ~(uint32_t)HF_UNTIED;
}

// ---- conditions ---------------------------------------------------------------------------------

// The conditions that hold in a layer, or in the model as a whole (-1).
static uint32_t holds_in(const struct hf_reader *r, int32_t layer) {
    if (layer < 0) return r->traits;
    const struct layer_hparams *l = hf_layer(r, layer);
    const bool shares = (r->traits & HF_KEYS_ARE_VALUES) && !(l->flags & LAYER_SWA);
    uint32_t holds = r->traits | (layer > 0 ? HF_LATER : 0);
    if (l->flags & LAYER_RECURRENT) holds |= HF_RECURS;
    if (layer_attends(l->flags)) holds |= HF_ATTENDS;
    if (!(l->flags & LAYER_NO_FFN)) holds |= l->flags & LAYER_EXPERTS ? HF_EXPERTS : HF_DENSE;
    if (!(l->flags & LAYER_SHARED_KV)) holds |= HF_OWN_KV;
    if (layer >= r->c->raw.hp.n_layer) {
        holds &= ~(uint32_t)(HF_EXPERTS_APART | HF_EXPERTS_IN_ROWS | HF_EXPERTS_IN_COLUMNS);
        holds |= HF_NEXTN | expert_traits(r, layer, layer + 1);
    }
    return shares ? holds : holds | HF_VALUES;
}

static uint32_t conditions(const struct hf_tensor_row *row) { return row->when & ~(uint32_t)HF_OPTIONAL; }

// The member of config.json that sets the first of these traits; NULL: none.
static const struct hf_trait *trait_of(const struct hf_config *c, uint32_t traits) {
    for (size_t i = 0; i < hf_n_traits; i++) {
        const char *only = hf_traits[i].gguf_name;
        if ((traits & hf_traits[i].trait) && (!only || strcmp(only, c->arch->gguf_name) == 0)) return &hf_traits[i];
    }
    return NULL;
}

rn_status hf_missing(const struct hf_reader *r, const struct hf_tensor_row *row, int32_t layer, int32_t expert) {
    const struct hf_config *c = r->c;
    const struct hf_trait *trait = trait_of(c, conditions(row));
    const struct hf_name name = hf_tensor_name(r, row->name, layer, expert);
    const bool in_trunk = strncmp(name.text, "lm_head.", 8) != 0 && strncmp(name.text, "embed_out.", 10) != 0 &&
                          strncmp(name.text, "mtp.", 4) != 0;
    if (r->tries)
        return fail(r->err, RN_E_FORMAT, "tensor %s%s: missing", in_trunk ? c->arch->prefix : "", name.text);
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

// Decides about a tensor that no row uses. A bias that contradicts config.json is an error:
// transformers would ignore it and converters would use it, so only the folder's author can tell
// which is right.
static rn_status judge_unused(struct hf_reader *r, const struct hf_found *f) {
    const struct hf_config *c = r->c;
    const enum hf_part part = c->is_wrapped ? hf_part_of(f->t->name) : HF_N_PARTS;
    int32_t layer;
    if (part != HF_N_PARTS) {
        r->p->n_aside[part]++;
        return RN_OK;
    }
    const char *name = hf_name_in_index(r, f);
    const struct hf_tensor_row *row = hf_find_tensor(c->arch, name, &layer);
    if (hf_is_of_nextn(r, name)) {
        r->p->n_aside[HF_PART_NEXTN]++;
        return RN_OK;
    }
    if (row && !row->gguf) return RN_OK;
    if (row && layer < 0 && (row->when & HF_UNTIED) && !(r->traits & HF_UNTIED)) return RN_OK;
    const struct hf_trait *trait = row ? trait_of(c, conditions(row) & ~r->traits) : NULL;
    if (trait && layer < c->raw.hp.n_layer)
        return hf_in_tensor(r, f,
                            fail(r->err, RN_E_FORMAT, "is there, but config.json's %s is %s", trait->member,
                                 trait->inverted ? "true" : "false"));
    return hf_in_tensor(r, f,
                        fail(r->err, RN_E_FORMAT,
                             "%s of %" PRId32 " layers does not use it, so the model would run wrongly",
                             c->arch->class_name, c->raw.hp.n_layer));
}

// ---- one tensor ---------------------------------------------------------------------------------

// What is added to a layer is halved after every nth one: what comes to it is, too (rwkv6).
static double rescale_of(const struct hparams *hp, const struct layer_hparams *l) {
    double by = 1;
    for (const struct layer_hparams *at = hp->layers; l && hp->wkv_halved_every && at < l; at++)
        if (at->flags & LAYER_HALVED) by /= 2;
    return by;
}

struct hf_sizes hf_sizes_of(const struct hparams *hp, const struct layer_hparams *l) {
    const int32_t value_dim = hp->ssm_n_head ? hp->ssm_d_inner / hp->ssm_n_head : 0;
    return (struct hf_sizes){.n_head = (uint64_t)(l ? l->n_head : hp->n_head),
                             .n_head_kv = (uint64_t)(l ? l->n_head_kv : hp->n_head_kv),
                             .head_dim = (uint64_t)(l ? l->head_dim : hp->head_dim),
                             .n_rot = (uint64_t)(l ? l->n_rot : hp->n_rot),
                             .nope = (uint64_t)hp->head_dim_nope,
                             .value = (uint64_t)hp->mla_head_dim_v,
                             .n_expert = (uint64_t)hp->n_expert,
                             .n_embd = (uint64_t)hp->n_embd,
                             .mix_rank = (uint64_t)hp->wkv_mix_rank,
                             .rescale = rescale_of(hp, l),
                             .key_heads = (uint64_t)hp->ssm_n_group,
                             .value_heads = (uint64_t)hp->ssm_n_head,
                             .key_dim = (uint64_t)hp->ssm_d_state,
                             .value_dim = (uint64_t)value_dim,
                             .groups = (uint64_t)hp->ssm_n_group};
}

rn_status hf_check_type(const struct hf_reader *r, const struct hf_found *f) {
    if (f->t->n_dims > PACKAGE_MAX_DIMS)
        return hf_in_tensor(r, f,
                            fail(r->err, RN_E_FORMAT, "%d dimensions, limit %d", f->t->n_dims, PACKAGE_MAX_DIMS));
    if (f->t->type->is_read) return RN_OK;
    return hf_in_tensor(
        r, f, fail(r->err, RN_E_UNSUPPORTED, "type %s is not supported; F32, F16 and BF16 are", f->t->type->name));
}

static rn_status too_large(rn_error *err) { return fail(err, RN_E_FORMAT, "tensors: the size of all overflows"); }

rn_status hf_count(struct hf_reader *r, uint64_t n_made) {
    size_t n;
    r->n_tensors++;
    return package_made_size(n_made, &n) && size_add(r->n_made, n, &r->n_made) ? RN_OK : too_large(r->err);
}

struct tensor_claim hf_claim_of(const struct hf_name *name, enum tensor_type type, int n_dims, const uint64_t *ne) {
    return (struct tensor_claim){
        .name = name->text, .n_name = (uint32_t)strlen(name->text), .type = type, .n_dims = n_dims, .dims = ne};
}

// Bytes of a plan's result; false: overflow, which cannot happen for tensors of a file.
static bool plan_bytes(const struct hf_plan *p, enum tensor_type type, size_t *out) {
    size_t n = tensor_type_info(type)->block_bytes;
    for (int d = 0; d < p->n_dims; d++)
        if (!size_mul(n, (size_t)p->ne[d], &n)) return false;
    *out = n;
    return true;
}

static rn_status take(struct hf_reader *r, const struct hf_tensor_row *row, int32_t layer, struct hf_found *f) {
    struct hf_sizes sizes = hf_sizes_of(&r->c->raw.hp, hf_layer(r, layer));
    const struct file_map *file = &r->p->files[f->shard].map;
    const struct safetensors_record *t = f->t;
    const enum tensor_type from = t->type->type;
    struct hf_plan plan;
    uint64_t first;
    size_t n_bytes;
    sizes.head_is_normed = r->c->head_is_normed;
    sizes.factors = r->c->factors;
    rn_status st = hf_check_type(r, f);
    if (st != RN_OK) return st;
    st = hf_in_tensor(r, f, hf_plan(row->form, &sizes, t, &plan, r->err));
    if (st != RN_OK) return st;
    const bool is_view = hf_plan_is_view(&plan, &first);
    const enum tensor_type type = hf_plan_type(&plan, from);
    f->used = true;
    if (!is_view && !plan_bytes(&plan, type, &n_bytes)) return too_large(r->err);
    if (r->counts) return hf_count(r, is_view ? 0 : n_bytes);
    const struct hf_name name = hf_name_of(row->gguf, layer, 0);
    struct tensor_claim claim = hf_claim_of(&name, type, plan.n_dims, plan.ne);
    if (is_view) {
        claim.file = file;
        claim.offset = t->begin + first * tensor_type_info(from)->block_bytes;
    }
    if ((st = package_add_tensor(r->p, &claim, r->err)) != RN_OK) return hf_in_tensor(r, f, st);
    if (is_view) return RN_OK;
    hf_plan_run(&plan, &sizes, from, file->data + t->begin, package_made_data(r->p));
    file_map_forget(file, (size_t)t->begin, (size_t)(t->end - t->begin)); // the copy is used from here on
    return RN_OK;
}

// ---- all tensors --------------------------------------------------------------------------------

static rn_status visit(struct hf_reader *r, const struct hf_tensor_row *row, int32_t layer) {
    if (conditions(row) & ~holds_in(r, layer)) return RN_OK;
    if (row->form >= HF_STACKED && row->form <= HF_STACKED_KEYS) return hf_stack(r, row, layer);
    if (row->form >= HF_MXFP4) return hf_take_mxfp4(r, row, layer);
    struct hf_found *f = hf_look_up(r, hf_tensor_name(r, row->name, layer, 0).text);
    if (!f && row->or_else) f = hf_look_up(r, row->or_else);
    if (f) return take(r, row, layer, f);
    return row->when & HF_OPTIONAL ? RN_OK : hf_missing(r, row, layer, 0);
}

rn_status hf_visit_layer(struct hf_reader *r, int32_t layer) {
    const struct hf_arch *a = r->c->arch;
    rn_status st = RN_OK;
    for (size_t i = 0; st == RN_OK && i < a->n_tensors; i++)
        if (a->tensors[i].gguf && hf_has_layer(&a->tensors[i])) st = visit(r, &a->tensors[i], layer);
    return st;
}

static rn_status visit_all(struct hf_reader *r) {
    const struct hf_arch *a = r->c->arch;
    rn_status st = RN_OK;
    for (size_t i = 0; st == RN_OK && i < a->n_tensors; i++) {
        const struct hf_tensor_row *row = &a->tensors[i];
        if (!row->gguf) continue;
        if (!hf_has_layer(row)) {
            st = visit(r, row, -1);
            continue;
        }
        for (int32_t l = 0; st == RN_OK && l < r->c->raw.hp.n_layer + r->n_nextn; l++) st = visit(r, row, l);
    }
    return st;
}

rn_status hf_add_tensors(struct package *p, struct hf_config *c, const struct safetensors *shards, rn_error *err) {
    struct hf_reader r = {.p = p, .c = c, .counts = true, .err = err};
    size_t n_rope;
    rn_status st = index_names(&r, shards);
    if (st == RN_OK) find_traits(&r);
    if (st == RN_OK) st = find_chunk_width(&r, &c->raw.hp);
    if (st == RN_OK) st = hf_find_nextn(&r);
    c->raw.hp.n_layer_after = r.n_nextn;
    if (st == RN_OK) st = hf_read_xielu(&r, c->raw.layers);
    if (st == RN_OK) st = visit_all(&r);
    for (size_t i = 0; st == RN_OK && i < r.n_found; i++)
        if (!r.found[i].used) st = judge_unused(&r, &r.found[i]);
    if (st == RN_OK && (!hf_rope_bytes(c, &n_rope) || !size_add(r.n_made, n_rope, &r.n_made))) st = too_large(err);
    if (st == RN_OK) st = package_reserve_tensors(p, r.n_tensors + HF_MAX_FACTOR_TENSORS + PACKAGE_MORE_FILES, err);
    if (st == RN_OK) st = package_reserve_made(p, r.n_made, err);
    r.counts = false;
    if (st == RN_OK) st = visit_all(&r);
    return st == RN_OK ? package_in_file(p->path, hf_add_rope_factors(p, c, err), err) : st;
}
