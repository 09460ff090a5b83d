// engine/banned.c - see banned.h.
#include "engine/banned.h"
#include "base/mem.h"
#include <string.h>

enum {
    MOST_TEXT_OF_CHAR = 4,
    MORE_TOKENS = 16, // held back that have no text, such as control tokens
    RING = 512        // places remembered
};
_Static_assert(RING >= BANNED_MAX_FOLDED + MOST_TEXT_OF_CHAR, "a string's beginning is remembered until its end");

// What the next token's text depends on.
struct text_state {
    size_t n_healed;
    utf8_assembler utf8;
    stop_matcher matcher;
    banned_place place;
    int32_t char_from; // token in which the assembler's unfinished character began; -1: there is none
};

struct banned {
    banned_set *set;
    banned_place place;
    int32_t char_from;
    int32_t from[RING]; // the token in which the character at a place began, by place modulo RING
    int32_t first;      // the first held token
    int32_t most_held;
    uint32_t *n_text;         // [most_held + 1] bytes of each held token's text
    struct text_state before; // the first held token
    struct {
        int32_t at, token;
    } out[BANNED_MAX_TRIES + 1]; // ruled out, in order of `at`, none of them released
    int32_t n_out, n_tries;
    int32_t found; // the string completed last
};

static struct text_state get_state(const struct banned *b, const struct choice *c) {
    return (struct text_state){c->n_healed, c->utf8, c->matcher, b->place, b->char_from};
}

static void set_state(struct banned *b, struct choice *c, const struct text_state *t) {
    c->n_healed = t->n_healed, c->utf8 = t->utf8, c->matcher = t->matcher;
    b->place = t->place, b->char_from = t->char_from;
}

rn_status banned_create(rn_stream *s, const rn_request *r, rn_error *err) {
    size_t n_bytes[BANNED_MAX_STRINGS] = {0};
    rn_status st;
    if (r->n_banned_strings == 0) return RN_OK;
    if (!r->banned_strings)
        return fail(err, RN_E_ARG, "banned_strings: NULL with n_banned_strings %zu", r->n_banned_strings);
    if (r->n_banned_strings > BANNED_MAX_STRINGS)
        return fail(err, RN_E_ARG, "banned_strings: %zu strings, limit %d", r->n_banned_strings, BANNED_MAX_STRINGS);
    if ((st = model_need_tokenizer(s->model_slot->m, err)) != RN_OK) return fail_in(err, st, "banned_strings");
    if (r->want_logits)
        return fail(err, RN_E_UNSUPPORTED,
                    "banned_strings: excludes want_logits, whose rows are too large to be held back");
    for (size_t i = 0; i < r->n_banned_strings; i++) {
        if (!r->banned_strings[i]) return fail(err, RN_E_ARG, "banned_strings[%zu]: NULL", i);
        n_bytes[i] = r->banned_string_bytes ? r->banned_string_bytes[i] : strlen(r->banned_strings[i]);
    }
    struct banned *b = s->text.banned = mem_calloc(1, sizeof *b);
    if (!b) return fail(err, RN_E_NOMEM, "banned_strings: out of memory");
    if ((st = banned_set_create(r->banned_strings, n_bytes, r->n_banned_strings, r->banned_match_case, &b->set,
                                err)) != RN_OK)
        return st;
    b->most_held = (int32_t)(MOST_TEXT_OF_CHAR * banned_set_longest(b->set)) + MORE_TOKENS;
    b->n_text = mem_calloc((size_t)b->most_held + 1, sizeof *b->n_text);
    if (!b->n_text) return fail(err, RN_E_NOMEM, "banned_strings: out of memory for %d tokens", b->most_held);
    b->char_from = -1;
    b->before = get_state(b, &s->text.choices[0]);
    return RN_OK;
}

void banned_destroy(struct banned *b) {
    if (!b) return;
    banned_set_destroy(b->set);
    mem_free(b->n_text);
    mem_free(b);
}

// Of the held tokens all but the first lie inside a possible string; the first may be of any length, and one more is being looked at.
void banned_add_sizes(const struct banned *b, struct outbox_sizes *z) {
    z->n_held = (uint32_t)b->most_held + 1;
    z->held_text = 2 * z->token_text + UTF8_ASSEMBLER_MAX_OUT(MOST_TEXT_OF_CHAR * banned_set_longest(b->set));
}

// The token that a place of the text is in. Before the held tokens nothing can be taken back.
static int32_t token_of(const struct banned *b, uint64_t place) {
    const int32_t token = place < b->before.place.n ? b->first : b->from[place % RING];
    return token < b->first ? b->first : token; // its character may have begun before, and be another one now
}

// Reads the text of token `i`. Returns the end of the first banned string in it, in bytes; SIZE_MAX: there is none.
static size_t read_text(struct banned *b, const struct choice *c, int32_t i, const char *text, size_t n,
                        uint64_t *begins) {
    size_t end = SIZE_MAX;
    for (size_t at = 0; at < n;) {
        const uint64_t place = b->place.n;
        int found;
        at += banned_set_read(b->set, &b->place, text + at, n - at, &found);
        // The first character may have begun in a token before.
        const int32_t from = b->char_from >= 0 ? b->char_from : i;
        for (uint64_t k = place; k < b->place.n; k++) b->from[k % RING] = from;
        b->char_from = -1;
        if (found < 0 || end != SIZE_MAX) continue;
        size_t n_found;
        (void)banned_set_string(b->set, found, &n_found);
        *begins = b->place.n - n_found;
        b->found = found;
        end = at;
    }
    if (c->utf8.n_held == 0)
        b->char_from = -1;
    else if (b->char_from < 0)
        b->char_from = i;
    return end;
}

bool banned_completes(rn_stream *s, const struct choice *c, const struct passed_text *p, int32_t *at) {
    struct banned *b = s->text.banned;
    uint64_t begins = 0;
    const size_t end = read_text(b, c, c->n, s->text.a, p->n_text, &begins);
    if (end == SIZE_MAX || end >= p->stop_end) return false;
    *at = token_of(b, begins);
    return true;
}

// The state before the first held token, then that after those before index n.
static void restore(rn_stream *s, struct choice *c, int32_t n) {
    struct banned *b = s->text.banned;
    uint64_t begins;
    set_state(b, c, &b->before);
    for (int32_t i = b->first; i < n; i++) {
        const struct passed_text p = stream_pass_token(s, c, c->tokens[i]);
        (void)read_text(b, c, i, s->text.a, p.n_text, &begins);
    }
}

rn_status banned_take_back(rn_stream *s, struct choice *c, int32_t at, int32_t token, rn_error *err) {
    struct banned *b = s->text.banned;
    uint32_t n_text = 0;
    for (int32_t i = at; i < c->n; i++) n_text += b->n_text[i - b->first];
    outbox_take_back(&s->out, (uint32_t)(c->n - at), n_text);
    while (b->n_out > 0 && b->out[b->n_out - 1].at > at) b->n_out--;
    b->out[b->n_out].at = at;
    b->out[b->n_out++].token = at < c->n ? c->tokens[at] : token;
    restore(s, c, at);
    s->play.n_taken_back += c->n - at + 1;
    if (++b->n_tries <= BANNED_MAX_TRIES) return RN_OK;
    size_t n;
    const char *string = banned_set_string(b->set, b->found, &n);
    return fail(err, RN_E_LIMIT,
                "banned_strings: %d tokens were ruled out after token %d without a way on, limit %d; the last "
                "one completed \"%.*s\"",
                b->n_tries, b->first, BANNED_MAX_TRIES, (int)n, string);
}

// Moves the held tokens before index `to` into chunks; those from there on stay.
static void release_to(rn_stream *s, const struct choice *c, int32_t to) {
    struct banned *b = s->text.banned;
    const int32_t n = to - b->first;
    for (int32_t i = 0; i < n; i++) {
        if (outbox_chunk_is_full(&s->out)) outbox_close_chunk(&s->out);
        outbox_release(&s->out, 1, b->n_text[i]);
    }
    memmove(b->n_text, b->n_text + n, (size_t)(c->n - to) * sizeof *b->n_text);
    int32_t n_gone = 0;
    while (n_gone < b->n_out && b->out[n_gone].at < to) n_gone++;
    b->n_out -= n_gone;
    memmove(b->out, b->out + n_gone, (size_t)b->n_out * sizeof *b->out);
    b->n_tries = b->n_out;
}

rn_status banned_release(rn_stream *s, struct choice *c, size_t n_text, rn_error *err) {
    struct banned *b = s->text.banned;
    const uint64_t place = banned_set_from(b->set, &b->place);
    int32_t to = place < b->place.n ? token_of(b, place) : c->n;
    if (b->char_from >= 0 && b->char_from < to) to = b->char_from;
    b->n_text[c->n - 1 - b->first] = (uint32_t)n_text;
    if (to > b->first) {
        const struct text_state now = get_state(b, c);
        if (to < c->n) restore(s, c, to);
        b->before = get_state(b, c);
        set_state(b, c, &now);
        release_to(s, c, to);
        b->first = to;
    }
    if (c->n - b->first <= b->most_held) return RN_OK;
    return fail(err, RN_E_LIMIT,
                "banned_strings: %d tokens are held back whose text may become a banned string, limit %d",
                c->n - b->first, b->most_held);
}

void banned_release_all(rn_stream *s, struct choice *c) {
    release_to(s, c, c->n);
    s->text.banned->first = c->n;
    outbox_end_holding(&s->out);
}

uint32_t banned_rule_out(const struct banned *b, int32_t at, uint64_t *mask) {
    uint32_t n = 0;
    for (int32_t i = b->n_out; i > 0 && b->out[i - 1].at >= at; i--) {
        if (b->out[i - 1].at != at) continue;
        n++;
        const int32_t token = b->out[i - 1].token;
        if (mask) mask[token / 64] &= ~(UINT64_C(1) << token % 64);
    }
    return n;
}
