// engine/prediction.c - a text that the answer is expected to repeat in large part, for drafters to look in.
#include "decoding/draft/drafts.h"
#include "engine/engine.h"
#include <string.h>

// So many tokens of the prompt's end stand before the prediction: where the answer's first token is the prediction's, that is the longest match.
enum { PROMPT_END = 8 };
static const int32_t end_mark = -1;

static rn_status append(struct id_list *v, const int32_t *ids, size_t n, rn_error *err) {
    if (id_list_append(v, ids, n)) return RN_OK;
    return fail(err, RN_E_NOMEM, "prediction: out of memory for %zu tokens", v->n + n);
}

rn_status stream_read_prediction(const rn_stream *s, const rn_request *r, const struct id_list *prompt,
                                 struct id_list *out, rn_error *err) {
    const size_t n = prompt->n < PROMPT_END ? prompt->n : PROMPT_END;
    if (r->n_prediction == 0) return RN_OK;
    rn_status st = append(out, prompt->ids + prompt->n - n, n, err);
    if (st == RN_OK)
        st = request_append_parts(s->model_slot, r, "prediction", r->prediction, r->n_prediction, out, NULL, err);
    if (st == RN_E_LIMIT || (st == RN_OK && out->n > (size_t)s->model_slot->n_ctx))
        return fail(err, RN_E_LIMIT, "prediction: longer than the context of %d tokens", s->model_slot->n_ctx);
    return st == RN_OK ? append(out, &end_mark, 1, err) : st;
}

rn_status stream_check_prediction(const rn_request *r, const struct drafter_choice *drafters, int32_t n,
                                  rn_error *err) {
    bool is_read = r->n_prediction == 0;
    for (int32_t i = 0; i < n; i++) is_read |= drafters[i].kind->reads_prediction;
    return is_read
               ? RN_OK
               : fail(err, RN_E_ARG, "prediction: has no effect without speculate ngram or suffix, which look in it");
}
