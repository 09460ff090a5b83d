// engine/token_gate.c - which tokens a stream may draw next: the mask that its strategy asks for before each draw.
#include "base/mem.h"
#include "engine/banned.h"
#include "engine/token_prefix.h"
#include "sampling/token_mask.h"
#include <string.h>

static rn_status next_mask(void *user, const uint64_t **out, uint32_t *n_tried, rn_error *err) {
    rn_stream *s = user;
    const struct choice *c = &s->text.choices[0];
    uint64_t *const mask = s->play.gate_mask;
    const size_t n_left = s->text.n_heal - c->n_healed, n_words = s->play.n_gate_words;
    rn_status st = RN_OK;
    *out = NULL;
    *n_tried = s->text.banned ? banned_rule_out(s->text.banned, c->n, NULL) : 0;
    if (n_left == 0 && *n_tried == 0 && !s->grammar.g) return RN_OK;
    memset(mask, 0xff, n_words * sizeof *mask);
    if (n_left > 0)
        token_prefix_mask(s->model_slot->m, s->model_slot->lm->n_vocab, s->text.heal + c->n_healed, n_left, mask);
    if (s->grammar.g) st = stream_grammar_mask(s, mask, n_words, err);
    if (*n_tried > 0) (void)banned_rule_out(s->text.banned, c->n, mask);
    *out = mask;
    return st;
}

rn_status stream_gate_create(rn_stream *s, const rn_request *r, rn_error *err) {
    const int32_t n_vocab = package_vocab(s->model_slot->m->pkg)->n_tokens, n_logits = s->model_slot->lm->n_vocab;
    if (r->n_banned_strings == 0 && s->text.n_heal == s->text.n_heal_given && !s->grammar.g) return RN_OK;
    s->play.gate =
        (struct token_gate){next_mask, s->grammar.g && stream_may_force(r) ? stream_forced_tokens : NULL, s};
    s->play.n_gate_words = token_mask_words(n_vocab > n_logits ? n_vocab : n_logits);
    s->play.gate_mask = mem_alloc(2 * s->play.n_gate_words * sizeof *s->play.gate_mask); // the second one: scratch
    return s->play.gate_mask ? RN_OK : fail(err, RN_E_NOMEM, "stream: out of memory for a token mask");
}
