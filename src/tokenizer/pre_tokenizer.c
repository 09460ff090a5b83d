// tokenizer/pre_tokenizer.c - runs the splits of a tokenizer, each on the words of the previous one.
#include "tokenizer/pre_tokenizer.h"
#include "base/mem.h"
#include "text/utf8.h"
#include "tokenizer/pattern.h"
#include "tokenizer/pre_patterns.h"
#include <string.h>

struct step {
    pattern *pattern;
    enum split_behavior behavior;
    bool invert;
};

struct pre_tokenizer {
    const char *name; // for messages
    bool takes_whole_words;
    int n_steps;
    struct step *steps;
};

const char *const *pre_tokenizer_known(void) { return pre_names(); }

// Lists only the first name of each rule, since all names would not fit into a message.
static rn_status unknown_name(struct vocab_str name, rn_error *err) {
    char known[320] = "";
    size_t n_rules = 0, n_names = 0;
    for (const char *rule; (rule = pre_rule_name(n_rules)); n_rules++) {
        strncat(known, known[0] ? ", " : "", sizeof known - strlen(known) - 1);
        strncat(known, rule, sizeof known - strlen(known) - 1);
    }
    while (pre_names()[n_names]) n_names++;
    n_names -= n_rules;
    if (name.n == 0)
        return fail(err, RN_E_UNSUPPORTED,
                    "pre-tokenizer: tokenizer.ggml.pre is absent; known ones are %s, and %zu other names for these",
                    known, n_names);
    return fail(err, RN_E_UNSUPPORTED,
                "pre-tokenizer: \"%.*s\" is not known to runnel " RUNNEL_VERSION
                "; known ones are %s, and %zu other names for these",
                name.n < 64 ? (int)name.n : 64, name.s, known, n_names);
}

static rn_status add_step(pre_tokenizer *p, const struct split_step *s, rn_error *err) {
    struct step *const step = &p->steps[p->n_steps++];
    *step = (struct step){.behavior = s->behavior, .invert = s->invert};
    const rn_status st = s->on_bytes ? pattern_create_of_bytes(s->pattern, &step->pattern, err)
                                     : pattern_create(s->pattern, s->is_regex, &step->pattern, err);
    return st == RN_OK ? RN_OK : fail_in(err, st, "pre-tokenizer");
}

static rn_status add_row(pre_tokenizer *p, const struct pre_row *row, rn_error *err) {
    rn_status st = RN_OK;
    p->name = row->name;
    p->takes_whole_words = row->takes_whole_words;
    for (int i = 0; st == RN_OK && i < PRE_MAX_STEPS && row->patterns[i]; i++) {
        const struct split_step step = pre_row_step(row, i);
        st = add_step(p, &step, err);
    }
    return st;
}

static rn_status add_splits(pre_tokenizer *p, const struct vocab *v, rn_error *err) {
    rn_status st = RN_OK;
    p->name = "of the file";
    p->takes_whole_words = v->takes_whole_words;
    for (int32_t i = 0; st == RN_OK && i < v->n_splits; i++) st = add_step(p, &v->splits[i], err);
    return st;
}

rn_status pre_tokenizer_create(const struct vocab *v, pre_tokenizer **out, rn_error *err) {
    *out = NULL;
    const struct pre_row *const row = v->splits ? NULL : pre_row_find(v->pre);
    if (!v->splits && !row) return unknown_name(v->pre, err);

    pre_tokenizer *p = mem_calloc(1, sizeof *p);
    if (p) p->steps = mem_calloc(v->splits ? (size_t)v->n_splits + 1 : PRE_MAX_STEPS, sizeof *p->steps);
    rn_status st = p && p->steps ? RN_OK : fail(err, RN_E_NOMEM, "pre-tokenizer: out of memory");
    if (st == RN_OK) st = row ? add_row(p, row, err) : add_splits(p, v, err);
    if (st != RN_OK)
        pre_tokenizer_destroy(p);
    else
        *out = p;
    return st;
}

void pre_tokenizer_destroy(pre_tokenizer *p) {
    if (!p) return;
    for (int i = 0; i < p->n_steps; i++) pattern_destroy(p->steps[i].pattern);
    mem_free(p->steps);
    mem_free(p);
}

bool pre_tokenizer_takes_whole_words(const pre_tokenizer *p) { return p->takes_whole_words; }

struct split {
    const pre_tokenizer *p;
    const char *text;
    pattern_match *match;
    word_fn fn;
    void *user;
};

// Collects the words of one step from its matches and the text between them. A word is held back
// while the next part may be joined to it.
struct cutter {
    const struct split *s;
    int step;
    size_t begin, end; // held
    bool is_held, was_match;
};

static rn_status split_by(const struct split *s, int step, size_t pos, size_t n, rn_error *err);

static rn_status hand_on(struct cutter *c, rn_error *err) {
    if (!c->is_held) return RN_OK;
    c->is_held = false;
    return split_by(c->s, c->step + 1, c->begin, c->end - c->begin, err);
}

static bool joins_held(const struct cutter *c, enum split_behavior behavior, bool is_match) {
    switch (behavior) {
    case SPLIT_MERGED_WITH_PREVIOUS: return is_match && !c->was_match;
    case SPLIT_MERGED_WITH_NEXT: return !is_match && c->was_match;
    case SPLIT_CONTIGUOUS: return is_match == c->was_match;
    case SPLIT_ISOLATED:
    case SPLIT_REMOVED: break;
    }
    return false;
}

static rn_status add_part(struct cutter *c, size_t begin, size_t end, bool is_match, rn_error *err) {
    const struct step *const step = &c->s->p->steps[c->step];
    is_match ^= step->invert;
    rn_status st = RN_OK;
    if (c->is_held && joins_held(c, step->behavior, is_match)) {
        c->end = end;
    } else {
        st = hand_on(c, err);
        c->is_held = !(step->behavior == SPLIT_REMOVED && is_match);
        c->begin = begin, c->end = end;
    }
    c->was_match = is_match;
    return st;
}

static size_t char_len_at(const char *s, size_t n) {
    const int len = utf8_char_len(s, n);
    return len > 0 ? (size_t)len : 1;
}

// Splits text[pos..pos+n) by the steps from `step` on; recursion is as deep as the number of steps.
// The subject ends with the word of the previous step, since look-ahead must not see past it.
static rn_status split_by(const struct split *s, int step, size_t pos, size_t n, rn_error *err) {
    if (n == 0) return RN_OK;
    if (step == s->p->n_steps) return s->fn(s->user, pos, n, err);
    struct cutter c = {.s = s, .step = step};
    const char *const text = s->text + pos;
    size_t done = 0, from = 0; // from: where the next match may begin
    bool after_match = false;
    rn_status st = RN_OK;
    while (st == RN_OK && from <= n) {
        struct pattern_hit hit;
        st = pattern_find(s->p->steps[step].pattern, s->match, text, n, from, &hit, err);
        if (st != RN_OK) return fail_in(err, st, "text: byte %zu: pre-tokenizer %s", pos + from, s->p->name);
        if (!hit.found) break;
        if (hit.begin == hit.end && after_match && hit.begin == done) { // a second empty match at the same position
            from = done < n ? done + char_len_at(text + done, n - done) : n + 1;
            after_match = false;
            continue;
        }
        if (hit.begin > done) st = add_part(&c, pos + done, pos + hit.begin, false, err);
        if (st == RN_OK) st = add_part(&c, pos + hit.begin, pos + hit.end, true, err);
        done = from = hit.end;
        after_match = true;
    }
    if (st == RN_OK && done < n) st = add_part(&c, pos + done, pos + n, false, err);
    return st == RN_OK ? hand_on(&c, err) : st;
}

rn_status pre_tokenizer_split(const pre_tokenizer *p, const char *text, size_t n, word_fn fn, void *user,
                              rn_error *err) {
    struct split s = {.p = p, .text = text, .fn = fn, .user = user};
    s.match = pattern_match_create();
    if (!s.match) return fail(err, RN_E_NOMEM, "text: out of memory for matching");
    const rn_status st = split_by(&s, 0, 0, n, err);
    pattern_match_destroy(s.match);
    return st;
}
