// engine/token_gate.c - which tokens a stream may draw next: the mask that its strategy asks for before each draw.
#include "base/mem.h"
#include "engine/banned.h"
#include "engine/token_prefix.h"
#include "sampling/token_mask.h"
#include <string.h>

static const uint64_t *next_mask(void *user, uint32_t *n_tried) {
    rn_stream *s = user;
    const struct choice *c = &s->text.choices[0];
    const int32_t n_vocab = s->model_slot->lm->n_vocab;
    uint64_t *const mask = s->play.gate_mask;
    const size_t n_left = s->text.n_heal - c->n_healed;
    *n_tried = s->text.banned ? banned_rule_out(s->text.banned, c->n, NULL) : 0;
    if (n_left == 0 && *n_tried == 0) return NULL;
    if (n_left > 0)
        token_prefix_mask(s->model_slot->m, n_vocab, s->text.heal + c->n_healed, n_left, mask);
    else
        memset(mask, 0xff, token_mask_words(n_vocab) * sizeof *mask);
    if (*n_tried > 0) (void)banned_rule_out(s->text.banned, c->n, mask);
    return mask;
}

rn_status stream_gate_create(rn_stream *s, const rn_request *r, rn_error *err) {
    if (r->n_banned_strings == 0 && s->text.n_heal == s->text.n_heal_given) return RN_OK;
    s->play.gate = (struct token_gate){next_mask, s};
    s->play.gate_mask = mem_alloc(token_mask_words(s->model_slot->lm->n_vocab) * sizeof *s->play.gate_mask);
    return s->play.gate_mask ? RN_OK : fail(err, RN_E_NOMEM, "stream: out of memory for a token mask");
}
