// engine/heal_prompt.c - token healing: takes tokens off the prompt's end, so that the answer may cut its text into other tokens.
#include "base/mem.h"
#include "engine/engine.h"
#include "engine/token_prefix.h"
#include <string.h>

static rn_status take_bytes(rn_stream *s, const int32_t *ids, size_t n, rn_error *err) {
    size_t n_all = 0;
    for (size_t i = 0; i < n; i++) {
        size_t n_piece;
        (void)model_piece(s->model_slot->m, ids[i], false, &n_piece);
        n_all += n_piece;
    }
    if (!(s->text.heal = mem_alloc(n_all)))
        return fail(err, RN_E_NOMEM, "token_healing: out of memory for %zu bytes", n_all);
    for (size_t i = 0; i < n; i++) {
        size_t n_piece;
        const char *piece = model_piece(s->model_slot->m, ids[i], false, &n_piece);
        memcpy(s->text.heal + s->text.n_heal, piece, n_piece);
        s->text.n_heal += n_piece;
    }
    return RN_OK;
}

// The reply's tokens begin with these bytes, as far as they go.
static rn_status read_reply(rn_stream *s, const rn_request *r, rn_error *err) {
    for (size_t i = 0; i < r->n_reply && s->text.n_heal_given < s->text.n_heal; i++) {
        size_t n;
        const char *piece = model_piece(s->model_slot->m, r->reply[i], false, &n);
        const size_t n_left = s->text.n_heal - s->text.n_heal_given, n_same = n < n_left ? n : n_left;
        if (n == 0 || memcmp(piece, s->text.heal + s->text.n_heal_given, n_same) != 0)
            return fail(err, RN_E_ARG,
                        "token_healing: reply[%zu] does not go on with the %zu bytes at the prompt's end "
                        "that are taken back",
                        i, s->text.n_heal);
        s->text.n_heal_given += n_same;
    }
    return RN_OK;
}

rn_status stream_heal_prompt(rn_stream *s, const rn_request *r, struct id_list *ids, rn_error *err) {
    const struct model_slot *const l = s->model_slot;
    const size_t n_prompt = ids->n - r->n_reply, n_matched = (size_t)s->prefix.n_matched,
                 n_kept = n_matched > 0 ? n_matched : 1; // a prompt has one token at least
    rn_status st = model_need_tokenizer(l->m, err);
    if (st != RN_OK) return fail_in(err, st, "token_healing");
    if (n_prompt <= n_kept) return RN_OK;
    const size_t n =
        token_prefix_to_heal(l->m, l->lm->n_vocab, ids->ids + n_kept, n_prompt - n_kept, s->text.heal_most);
    if (n == 0) return RN_OK;
    if ((st = take_bytes(s, ids->ids + n_prompt - n, n, err)) != RN_OK) return st;
    memmove(ids->ids + n_prompt - n, ids->ids + n_prompt, r->n_reply * sizeof *ids->ids);
    ids->n -= n;
    return read_reply(s, r, err);
}
