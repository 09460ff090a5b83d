// formats/folder/hf_nextn.c - next-token-prediction layers of folders: which ones are there, and
// what their tensors are called. They follow the model's own layers, either with the next numbers
// (DeepSeek-V3: layers.61.) or under names of their own (Qwen3-Next: mtp.layers.0.). Quantizers and
// finetuning tools often leave some of their tensors out, change them, or forget to count them;
// the model itself runs without them.
#include "formats/folder/hf_reader.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_NEXTN = 64 }; // as the table of hyper-parameters has it

static const char layers[] = "layers.%d.";

// Do such layers become GGUF tensors in this architecture?
static bool are_read(const struct hf_arch *a) {
    for (size_t i = 0; i < a->n_tensors; i++)
        if (a->tensors[i].gguf && a->tensors[i].when & HF_NEXTN) return true;
    return false;
}

struct hf_name hf_tensor_name(const struct hf_reader *r, const char *pattern, int32_t layer, int32_t expert) {
    const char *own = r->c->arch->nextn_layers;
    const int32_t n_layer = r->c->raw.hp.n_layer;
    struct hf_name renamed;
    if (layer < n_layer || !own || strncmp(pattern, layers, sizeof layers - 1) != 0)
        return hf_name_of(pattern, layer, expert);
    const size_t n = strlen(own), n_rest = strlen(pattern) - (sizeof layers - 1);
    if (n + n_rest >= sizeof renamed.text) return hf_name_of(pattern, layer, expert); // longer than any row's name
    memcpy(renamed.text, own, n);
    memcpy(renamed.text + n, pattern + sizeof layers - 1, n_rest + 1);
    return hf_name_of(renamed.text, layer - n_layer, expert);
}

// The folder's tensor of a layer that becomes this GGUF tensor. NULL: none.
static const struct hf_found *tensor_of(const struct hf_reader *r, const char *gguf, int32_t layer) {
    const struct hf_arch *a = r->c->arch;
    for (size_t i = 0; i < a->n_tensors; i++)
        if (a->tensors[i].gguf && strcmp(a->tensors[i].gguf, gguf) == 0)
            return hf_look_up(r, hf_tensor_name(r, a->tensors[i].name, layer, 0).text);
    return NULL;
}

// Such a layer is like the last layer of the model that attends, one without a window if there is
// one.
static struct layer_hparams like_last(const struct hparams *hp) {
    const struct layer_hparams *best = &hp->layers[hp->n_layer - 1];
    for (int32_t l = 0; l < hp->n_layer; l++) {
        if (hp->layers[l].flags & LAYER_RECURRENT) continue;
        const bool worse = hp->layers[l].flags & LAYER_SWA && !(best->flags & (LAYER_SWA | LAYER_RECURRENT));
        if (!worse) best = &hp->layers[l];
    }
    struct layer_hparams like = *best;
    like.flags &= ~(uint32_t)(LAYER_SHARED_KV | LAYER_EXPERTS);
    return like;
}

// ---- which names are theirs ---------------------------------------------------------------------

// Layers that config.json does not count are such layers if they have one of their own tensors.
static bool has_own_tensor(const struct hf_reader *r, int32_t layer) {
    const struct hf_arch *a = r->c->arch;
    for (size_t i = 0; i < a->n_tensors; i++)
        if (a->tensors[i].gguf && a->tensors[i].when & HF_NEXTN &&
            hf_look_up(r, hf_tensor_name(r, a->tensors[i].name, layer, 0).text))
            return true;
    return false;
}

// The next-token-prediction layer that the tensor is of, from 0; MAX_NEXTN: of all. -1: of none.
static int32_t nextn_of(const struct hf_reader *r, const char *name) {
    const struct hf_config *c = r->c;
    const char *own = c->arch->nextn_layers;
    int32_t layer, k;
    if (own) {
        const size_t n_family = strcspn(own, ".") + 1, n_front = strcspn(own, "%"); // "mtp.", "mtp.layers."
        if (strncmp(name, own, n_family) != 0) return -1;
        const bool has_number = strncmp(name, own, n_front) == 0 && sscanf(name + n_front, "%9" SCNd32 ".", &k) == 1;
        return has_number && k >= 0 && k < MAX_NEXTN ? k : MAX_NEXTN;
    }
    const struct hf_tensor_row *row = hf_find_tensor(c->arch, name, &layer);
    if (row && !row->gguf && row->when & HF_NEXTN) return MAX_NEXTN;
    if (sscanf(name, "layers.%9" SCNd32 ".", &layer) != 1 || layer < c->raw.hp.n_layer) return -1;
    k = layer - c->raw.hp.n_layer;
    return k < c->raw.n_nextn || (k < MAX_NEXTN && has_own_tensor(r, layer)) ? k : -1;
}

bool hf_is_of_nextn(const struct hf_reader *r, const char *name) { return nextn_of(r, name) >= 0; }

// ---- which layers can be used -------------------------------------------------------------------

// Is it a tensor that layers have and that needs no reading, such as frequencies?
static bool is_without_use(const struct hf_reader *r, const char *name, int32_t layer) {
    const struct hf_arch *a = r->c->arch;
    for (size_t i = 0; i < a->n_tensors; i++)
        if (!a->tensors[i].gguf && hf_has_layer(&a->tensors[i]) &&
            strcmp(hf_tensor_name(r, a->tensors[i].name, layer, 0).text, name) == 0)
            return true;
    return false;
}

// A layer with a tensor that nothing reads would predict wrongly.
static rn_status check_no_other(const struct hf_reader *r, int32_t k) {
    for (size_t i = 0; i < r->n_found; i++) {
        const struct hf_found *f = &r->found[i];
        if (f->used) continue;
        const char *name = hf_name_in_index(r, f);
        const int32_t of = nextn_of(r, name);
        if ((of == k || of == MAX_NEXTN) && !is_without_use(r, name, r->c->raw.hp.n_layer + k))
            return fail(r->err, RN_E_FORMAT, "tensor %s: %s does not use it", f->t->name, r->c->arch->class_name);
    }
    return RN_OK;
}

static bool is_there(const struct hf_reader *r, int32_t k) {
    for (size_t i = 0; i < r->n_found; i++) {
        const int32_t of = nextn_of(r, hf_name_in_index(r, &r->found[i]));
        if (of == k || (of == MAX_NEXTN && k == 0)) return true;
    }
    return false;
}

static rn_status try_layer(struct hf_reader *r, int32_t k) {
    const int32_t layer = r->c->raw.hp.n_layer + k;
    struct layer_hparams *l = &r->nextn[k];
    *l = like_last(&r->c->raw.hp);
    if (tensor_of(r, "blk.%d.ffn_gate_inp.weight", layer)) l->flags |= LAYER_EXPERTS;
    const rn_status st = hf_visit_layer(r, layer);
    return st == RN_OK ? check_no_other(r, k) : st;
}

static rn_status leave_out(struct hf_reader *r, const char *why) {
    r->p->nextn_left_out = arena_strndup(&r->p->arena, why, strlen(why));
    return r->p->nextn_left_out ? RN_OK : fail(r->err, RN_E_NOMEM, "out of memory for %zu bytes", strlen(why) + 1);
}

// Tries one layer after the other: those after one that cannot be used are left out too.
static rn_status try_layers(struct hf_reader *r, int32_t most) {
    rn_error *const err = r->err;
    rn_error why = {0};
    rn_status st = RN_OK;
    int32_t n = 0;
    r->err = &why, r->tries = true;
    while (n < most && is_there(r, n) && (st = try_layer(r, n)) == RN_OK) n++;
    r->err = err, r->tries = false;
    r->n_nextn = n, r->n_tensors = r->n_made = 0; // all is counted again, with the model's own layers
    for (size_t i = 0; i < r->n_found; i++) r->found[i].used = false;
    if (st == RN_E_NOMEM) return fail(err, st, "%s", why.text);
    return st == RN_OK ? RN_OK : leave_out(r, why.text);
}

rn_status hf_find_nextn(struct hf_reader *r) {
    const struct hf_config *c = r->c;
    const int32_t most = c->arch->nextn_layers ? MAX_NEXTN : c->raw.n_nextn;
    char why[64] = "their numbers do not follow each other";
    if (!are_read(c->arch)) return leave_out(r, "such layers of this architecture are not read");
    r->nextn = arena_alloc(&r->p->arena, (size_t)(most + 1) * sizeof *r->nextn);
    if (!r->nextn) return fail(r->err, RN_E_NOMEM, "out of memory for %d layers", most);
    const rn_status st = try_layers(r, most);
    if (st != RN_OK || r->p->nextn_left_out) return st;
    if (!c->arch->nextn_layers) snprintf(why, sizeof why, "config.json counts %" PRId32 " such layers", most);
    return leave_out(r, why);
}
