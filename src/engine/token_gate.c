// engine/token_gate.c - which tokens a stream may draw next: what its strategy asks in each draw.
#include "base/mem.h"
#include "engine/banned.h"
#include "engine/token_prefix.h"
#include "sampling/token_mask.h"
#include <string.h>

static size_t n_to_heal(const rn_stream *s) { return s->text.n_heal - s->text.choices[0].n_healed; }

static bool begin(void *user, uint32_t *n_tried) {
    rn_stream *const s = user;
    s->play.gate_is_made = false;
    *n_tried = s->text.banned ? banned_rule_out(s->text.banned, s->text.choices[0].n, NULL) : 0;
    s->play.gate_n_tried = *n_tried;
    return n_to_heal(s) > 0 || *n_tried > 0 || s->grammar.g;
}

// By the grammar, where it is, and by what is left to heal behind n_healed bytes.
static rn_status fill_mask(rn_stream *s, size_t n_healed, rn_error *err) {
    uint64_t *const mask = s->play.gate_mask;
    const size_t n_left = s->text.n_heal - n_healed, n_words = s->play.n_gate_words;
    memset(mask, 0xff, n_words * sizeof *mask);
    if (n_left > 0)
        token_prefix_mask(s->model_slot->m, s->model_slot->lm->n_vocab, s->text.heal + n_healed, n_left, mask);
    return s->grammar.g ? stream_grammar_mask(s, mask, n_words, err) : RN_OK;
}

static rn_status make_mask(void *user, const uint64_t **out, rn_error *err) {
    rn_stream *const s = user;
    const struct choice *c = &s->text.choices[0];
    *out = s->play.gate_mask;
    if (s->play.gate_is_made) return RN_OK;
    const rn_status st = fill_mask(s, c->n_healed, err);
    if (s->play.gate_n_tried > 0) (void)banned_rule_out(s->text.banned, c->n, s->play.gate_mask);
    s->play.gate_is_made = st == RN_OK;
    return st;
}

// The grammar goes on and comes back. An end token is none of its tokens.
static rn_status look(void *user, const int32_t *tokens, int32_t n, const uint64_t **out, bool *ends, rn_error *err) {
    rn_stream *const s = user;
    const struct choice *const c = &s->text.choices[0];
    struct choice ahead = *c;
    rn_status st = RN_OK;
    s->play.gate_is_made = false;
    *out = s->play.gate_mask, *ends = false;
    for (int32_t i = 0; i < n && st == RN_OK && !*ends; i++) {
        if ((*ends = stream_ends_at(s, tokens[i]))) break;
        (void)stream_pass_token(s, &ahead, tokens[i]);
        if (s->grammar.g) st = stream_grammar_take(s, tokens[i], ends, err);
    }
    if (st == RN_OK && !*ends) st = fill_mask(s, ahead.n_healed, err);
    stream_grammar_keep(s, c->tokens, c->n);
    return st;
}

// A mask takes longer than a look at one token, where the grammar alone decides.
static rn_status allows(void *user, int32_t token, bool *is_allowed, rn_error *err) {
    rn_stream *const s = user;
    const uint64_t *mask;
    const bool is_grammars = s->grammar.g && n_to_heal(s) == 0 && s->play.gate_n_tried == 0;
    if (is_grammars && !s->play.gate_is_made && stream_grammar_knows(s, token))
        return stream_grammar_allows(s, token, is_allowed, err);
    const rn_status st = make_mask(s, &mask, err);
    *is_allowed = st == RN_OK && token_mask_has(mask, token);
    return st;
}

// What comes of it is left to the draw, errors included.
void stream_gate_look_ahead(rn_stream *s) {
    bool is_whole;
    if (s->thinking.phase == THINKING_PAST && !s->grammar_is_over && n_to_heal(s) == 0)
        (void)grammar_mask(&s->grammar, s->play.gate_mask, s->play.n_gate_words, &is_whole, NULL);
}

rn_status stream_gate_create(rn_stream *s, const rn_request *r, rn_error *err) {
    const int32_t n_vocab = package_vocab(s->model_slot->m->pkg)->n_tokens, n_logits = s->model_slot->lm->n_vocab;
    if (r->n_banned_strings == 0 && s->text.n_heal == s->text.n_heal_given && !s->grammar.g) return RN_OK;
    s->play.gate = (struct token_gate){.begin = begin,
                                       .rule = {allows, make_mask, s},
                                       .forced = s->grammar.g && stream_may_force(r) ? stream_forced_tokens : NULL,
                                       .look = look,
                                       .user = s};
    s->play.n_gate_words = token_mask_words(n_vocab > n_logits ? n_vocab : n_logits);
    s->play.gate_mask = mem_alloc(2 * s->play.n_gate_words * sizeof *s->play.gate_mask); // the second one: scratch
    if (!s->play.gate_mask) return fail(err, RN_E_NOMEM, "stream: out of memory for a token mask");
    return s->grammar.g ? masks_ahead_need(&s->engine->masks_ahead, err) : RN_OK;
}
