// engine/negative_prompt.c - classifier-free guidance: the tokens of the negative prompt, and how long an answer beside it may be.
#include "engine/engine.h"

static rn_status append(struct id_list *v, const int32_t *ids, size_t n, rn_error *err) {
    if (id_list_append(v, ids, n)) return RN_OK;
    return fail(err, RN_E_NOMEM, "negative_prompt: out of memory for %zu tokens", v->n + n);
}

// The negative prompt, or the prompt's last token, and the reply. The answer ends where either sequence is at the end of the context,
// or where the two together take all keys and values.
rn_status stream_guidance_create(rn_stream *s, const rn_request *r, rn_error *err) {
    const struct model_slot *const l = s->model_slot;
    const size_t n_prompt = (size_t)s->n_prompt - r->n_reply;
    struct id_list v = {0};
    rn_status st = RN_OK;
    if (r->guidance_scale == 1) return RN_OK;
    if (r->n_negative_prompt)
        st = request_append_parts(l, r, "negative_prompt", r->negative_prompt, r->n_negative_prompt, &v, NULL, err);
    else
        st = append(&v, s->tokens + n_prompt - 1, 1, err);
    if (st == RN_OK && v.n == 0)
        st = fail(err, RN_E_ARG, "negative_prompt: empty, and the model has no begin token to start from");
    if (st == RN_OK) st = append(&v, r->reply, r->n_reply, err);
    if (st == RN_OK && v.n >= (size_t)l->n_ctx)
        st = fail(err, RN_E_LIMIT, "negative_prompt: %zu tokens leave no room in the context of %d", v.n, l->n_ctx);
    s->play.negative = v.ids;
    if (st != RN_OK) return st;
    s->play.guidance = (struct guidance){v.ids, (int32_t)v.n, s->tokens[s->n_prompt - 1], r->guidance_scale};
    const int64_t pages = l->n_kv / KV_PAGE, both = s->n_prompt + (int64_t)v.n;
    int64_t most = l->n_ctx - (int64_t)(v.n > (size_t)s->n_prompt ? v.n : (size_t)s->n_prompt);
    if (most > (pages * KV_PAGE - both) / 2) most = (pages * KV_PAGE - both) / 2;
    if (most < 1)
        return fail(
            err, RN_E_LIMIT,
            "negative_prompt: %zu tokens beside the prompt's %d leave no room in %lld positions of keys and values",
            v.n, s->n_prompt, (long long)l->n_kv);
    if (s->n_limit - s->n_prompt > most) {
        s->n_limit = s->n_prompt + (int32_t)most;
        s->room_binds = "room beside the negative prompt";
    }
    const int32_t n_answer = s->n_limit - s->n_prompt;
    s->play.n_seq_limit = (int32_t)v.n + n_answer;
    return RN_OK;
}
