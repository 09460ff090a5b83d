// engine/token_gate.c - which tokens a stream may draw next: the mask that its strategy asks for before each draw.
#include "base/mem.h"
#include "engine/banned.h"
#include "sampling/token_mask.h"
#include <string.h>

static const uint64_t *next_mask(void *user, uint32_t *n_tried) {
    rn_stream *s = user;
    const int32_t at = s->text.choices[0].n;
    *n_tried = s->text.banned ? banned_rule_out(s->text.banned, at, NULL) : 0;
    if (*n_tried == 0) return NULL;
    memset(s->play.gate_mask, 0xff, token_mask_words(s->model_slot->lm->n_vocab) * sizeof *s->play.gate_mask);
    (void)banned_rule_out(s->text.banned, at, s->play.gate_mask);
    return s->play.gate_mask;
}

rn_status stream_gate_create(rn_stream *s, const rn_request *r, rn_error *err) {
    if (r->n_banned_strings == 0) return RN_OK;
    s->play.gate = (struct token_gate){next_mask, s};
    s->play.gate_mask = mem_alloc(token_mask_words(s->model_slot->lm->n_vocab) * sizeof *s->play.gate_mask);
    return s->play.gate_mask ? RN_OK : fail(err, RN_E_NOMEM, "stream: out of memory for a token mask");
}
