// formats/folder/hf_xielu.c - the parameters of xIELU, which a folder holds as tensors of one number, and GGUF files as keys.
#include "formats/folder/hf_reader.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static rn_status read_part(struct hf_reader *r, struct layer_hparams *layer, int32_t l,
                           const struct xielu_part *part) {
    char pattern[64];
    snprintf(pattern, sizeof pattern, "layers.%%d.mlp.act_fn.%s", part->name);
    const struct hf_name name = hf_tensor_name(r, pattern, l, 0);
    struct hf_found *const f = hf_look_up(r, name.text);
    float x;
    if (!f)
        return package_in_file(
            r->p->path, fail(r->err, RN_E_FORMAT, "tensor %s%s: missing", r->c->arch->prefix, name.text), r->err);
    const rn_status st = hf_check_type(r, f);
    if (st != RN_OK) return st;
    const struct tensor_type_info *const type = tensor_type_info(f->t->type->type);
    if (f->t->end - f->t->begin != type->block_bytes)
        return hf_in_tensor(r, f, fail(r->err, RN_E_FORMAT, "is not one number"));
    type->dequantize_row(r->p->files[f->shard].map.data + f->t->begin, &x, 1);
    if (!(fabsf(x) <= XIELU_MOST))
        return hf_in_tensor(r, f,
                            fail(r->err, RN_E_FORMAT, "%g is outside -%g..%g", (double)x, XIELU_MOST, XIELU_MOST));
    memcpy((char *)&layer->xielu + part->at, &x, sizeof x);
    f->used = true;
    return RN_OK;
}

rn_status hf_read_xielu(struct hf_reader *r, struct layer_hparams *layers) {
    rn_status st = RN_OK;
    for (int32_t l = 0; r->c->raw.facts->has_xielu && l < r->c->raw.hp.n_layer; l++)
        for (int i = 0; st == RN_OK && i < XIELU_N_PARTS; i++) st = read_part(r, &layers[l], l, &xielu_parts[i]);
    return st;
}
