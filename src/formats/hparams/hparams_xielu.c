// formats/hparams/hparams_xielu.c - the parameters of xIELU, four numbers of each layer; see hparams.h.
//
// GGUF has a list of each, under keys without the architecture in front; a number by itself is that of all layers.
#include "formats/gguf/gguf_meta.h"
#include "formats/hparams/hparams.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

const struct xielu_part xielu_parts[XIELU_N_PARTS] = {
    {"alpha_p", "xielu.alpha_p", offsetof(struct xielu, alpha_p)},
    {"alpha_n", "xielu.alpha_n", offsetof(struct xielu, alpha_n)},
    {"beta", "xielu.beta", offsetof(struct xielu, beta)},
    {"eps", "xielu.eps", offsetof(struct xielu, eps)},
};

static rn_status read_part(const struct gguf *g, struct raw_hparams *raw, const struct xielu_part *part,
                           rn_error *err) {
    const struct gguf_pair *pair = gguf_find(g, part->key);
    const bool is_list = pair && pair->type == GGUF_ARRAY;
    float x = 0;
    const rn_status st = is_list ? gguf_get_array(g, part->key, GGUF_F32, &pair, NULL, err)
                                 : gguf_get_float(g, part->key, -XIELU_MOST, XIELU_MOST, &x, NULL, err);
    if (st != RN_OK) return st;
    if (is_list && pair->n < (uint64_t)raw->hp.n_layer)
        return fail(err, RN_E_FORMAT, "key %s: %" PRIu64 " values for %" PRId32 " layers", part->key, pair->n,
                    raw->hp.n_layer);
    for (int32_t l = 0; l < raw->hp.n_layer; l++) {
        if (is_list) x = gguf_f32_item(pair, (uint64_t)l);
        if (!(fabsf(x) <= XIELU_MOST))
            return fail(err, RN_E_FORMAT, "key %s: item %" PRId32 ": %g is outside -%g..%g", part->key, l, (double)x,
                        XIELU_MOST, XIELU_MOST);
        memcpy((char *)&raw->layers[l].xielu + part->at, &x, sizeof x);
    }
    return RN_OK;
}

rn_status hparams_read_xielu(const struct gguf *g, struct raw_hparams *raw, rn_error *err) {
    rn_status st = RN_OK;
    for (int i = 0; st == RN_OK && raw->facts->has_xielu && i < XIELU_N_PARTS; i++)
        st = read_part(g, raw, &xielu_parts[i], err);
    return st;
}
