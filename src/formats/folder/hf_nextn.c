// formats/folder/hf_nextn.c - next-token-prediction layers of folders: which ones are there, and
// what their tensors are called. They come behind the model's own layers, either with the next
// numbers (DeepSeek-V3: layers.61.) or under names of their own (Qwen3-Next: mtp.layers.0.).
#include "formats/folder/hf_reader.h"
#include <string.h>

enum { MAX_NEXTN = 64 }; // as the table of hyper-parameters has it

static const char layers[] = "layers.%d.";

bool hf_has_nextn(const struct hf_arch *a) {
    for (size_t i = 0; i < a->n_tensors; i++)
        if (a->tensors[i].when & HF_NEXTN) return true;
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

rn_status hf_find_nextn(struct hf_reader *r) {
    const struct hf_config *c = r->c;
    const int32_t n_layer = c->raw.hp.n_layer, most = c->arch->nextn_layers ? MAX_NEXTN : c->raw.n_nextn;
    int32_t n = 0;
    if (!hf_has_nextn(c->arch)) return RN_OK;
    while (n < most && tensor_of(r, "blk.%d.attn_norm.weight", n_layer + n)) n++;
    if (n == 0) return RN_OK;
    r->nextn = arena_alloc(&r->p->arena, (size_t)n * sizeof *r->nextn);
    if (!r->nextn) return fail(r->err, RN_E_NOMEM, "out of memory for %d layers", n);
    for (int32_t k = 0; k < n; k++) {
        r->nextn[k] = like_last(&c->raw.hp);
        if (tensor_of(r, "blk.%d.ffn_gate_inp.weight", n_layer + k)) r->nextn[k].flags |= LAYER_EXPERTS;
    }
    r->n_nextn = n;
    return RN_OK;
}
