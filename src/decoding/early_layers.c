// decoding/early_layers.c - see early_layers.h.
#include "decoding/early_layers.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// Every second layer of [first, end).
static void take_range(int32_t first, int32_t end, int32_t *layers, int32_t *n) {
    for (int32_t l = first; l < end; l += 2) layers[(*n)++] = l;
}

// As `dola_layers` of transformers' generate(): of deep models 20 layers are looked at.
static void take_low(int32_t n_layer, bool ties_head, int32_t *layers, int32_t *n) {
    const int32_t first = !ties_head ? 0 : n_layer > 2 ? 2 : n_layer - 1, end = n_layer > 40 ? 20 : n_layer / 2;
    take_range(first, end, layers, n);
    if (*n == 0) layers[(*n)++] = first; // of models with few layers
}

static rn_status take_numbers(const char *text, int32_t n_layer, int32_t *layers, int32_t *n, rn_error *err) {
    for (const char *at = text; at; at = strchr(at, ','), at += at != NULL) {
        char *end;
        const long v = *at >= '0' && *at <= '9' ? strtol(at, &end, 10) : -1;
        if (v < 0 || (*end && *end != ','))
            return fail(err, RN_E_ARG, "dola_layers: \"%.60s\" is neither low nor high nor a list of layers", text);
        if (v >= n_layer) return fail(err, RN_E_ARG, "dola_layers: layer %ld is outside 0..%" PRId32, v, n_layer - 1);
        for (int32_t i = 0; i < *n; i++)
            if (layers[i] == v) return fail(err, RN_E_ARG, "dola_layers: layer %ld is named twice", v);
        if (*n == EARLY_LAYERS_MOST)
            return fail(err, RN_E_ARG, "dola_layers: more than %d layers", EARLY_LAYERS_MOST);
        layers[(*n)++] = (int32_t)v;
    }
    return RN_OK;
}

rn_status early_layers_read(const char *text, int32_t n_layer, bool ties_head, int32_t layers[EARLY_LAYERS_MOST],
                            int32_t *n, rn_error *err) {
    *n = 0;
    if (strcmp(text, "low") == 0)
        take_low(n_layer, ties_head, layers, n);
    else if (strcmp(text, "high") == 0)
        take_range(n_layer > 40 ? n_layer - 20 : n_layer / 2, n_layer, layers, n);
    else
        return take_numbers(text, n_layer, layers, n, err);
    return RN_OK;
}
