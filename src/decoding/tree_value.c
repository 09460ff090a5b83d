// decoding/tree_value.c - see tree_value.h.
#include "decoding/tree_value.h"
#include "decoding/tree.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    enum tree_value_kind kind;
    int32_t least, most; // of the number behind it
    bool needs_number;   // else it may have one, where most is above 0
} values[] = {{"likelihood", TREE_LIKELIHOOD, 0, 0, false},
              {"rollout", TREE_ROLLOUT, 1, TREE_DEEPEST - 1, true},
              {"model", TREE_MODEL, 0, STRATEGY_MAX_SLOTS - 1, false},
              {"callback", TREE_CALLBACK, 0, 0, false}};

// ":R" behind a name.
static bool read_number(const char *text, int32_t least, int32_t most, int32_t *number) {
    char *end = NULL;
    const long v = text[0] == ':' && text[1] >= '0' && text[1] <= '9' ? strtol(text + 1, &end, 10) : -1;
    *number = (int32_t)(v < most ? v : most);
    return end && *end == 0 && v >= least && v <= most;
}

rn_status tree_value_read(const char *text, struct tree_value *v, rn_error *err) {
    *v = (struct tree_value){TREE_LIKELIHOOD, 0};
    for (size_t i = 0; text && i < sizeof values / sizeof *values; i++) {
        const size_t n = strlen(values[i].name);
        if (strncmp(text, values[i].name, n) != 0) continue;
        v->kind = values[i].kind, v->number = 0;
        if (text[n] == 0 && !values[i].needs_number) return RN_OK;
        if (values[i].most > 0 && read_number(text + n, values[i].least, values[i].most, &v->number)) return RN_OK;
    }
    if (!text) return RN_OK;
    return fail(err, RN_E_ARG,
                "value: \"%.60s\" is neither likelihood nor rollout:R, R 1..%d, nor model, model:N, N 0..%d, nor "
                "callback",
                text, TREE_DEEPEST - 1, STRATEGY_MAX_SLOTS - 1);
}

rn_status tree_value_of_scores(const struct rowmath *rm, const float *scores, size_t n, bool softmax, double *value,
                               rn_error *err) {
    for (size_t i = 0; i < n; i++)
        if (!isfinite(scores[i])) return fail(err, RN_E_FORMAT, "value: score %zu of the model is not finite", i);
    const float most = rm->max(scores, n);
    *value = (double)(softmax ? exp_f32(scores[0] - most) / rm->sum_exp(scores, n, most) : scores[0]);
    return RN_OK;
}
