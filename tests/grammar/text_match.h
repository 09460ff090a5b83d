// tests/grammar/text_match.h - a grammar's text, compiled, and what it makes of texts.
#ifndef RN_TESTS_GRAMMAR_TEXT_MATCH_H
#define RN_TESTS_GRAMMAR_TEXT_MATCH_H

#include "grammar/automata.h"
#include "grammar/text/grammar_text.h"
#include "tests/check.h"
#include <stdio.h>
#include <string.h>

typedef rn_status (*text_compile)(struct rules *r, const char *s, size_t n, const struct grammar_text_options *o,
                                  uint32_t *start, rn_error *err);

// A text and how it is compiled, for automata_make().
struct text_source {
    text_compile compile;
    const char *s;
    size_t n;
    const struct grammar_text_options *o;
};

static inline rn_status text_source_compile(struct rules *r, const void *source, uint32_t *start, rn_error *err) {
    const struct text_source *const t = source;
    return t->compile(r, t->s, t->n, t->o, start, err);
}

static inline rn_status text_match_open(struct automata *a, text_compile compile, const char *s, size_t n,
                                        const struct grammar_text_options *o, rn_error *err) {
    static const struct automata_limits limits = {1 << 18, 1 << 18, 100000, 1 << 18};
    return automata_make(a, &limits, text_source_compile, &(struct text_source){compile, s, n, o}, err);
}

// + it is whole, . it is a beginning, - it is neither
static inline char text_match_verdict(struct automata *m, const char *s, size_t n) {
    const uint32_t c = recognizer_read(&m->recognizer, m->recognizer.first, s, n);
    return c == CONFIG_DEAD ? '-' : recognizer_accepts(&m->recognizer, c) ? '+' : '.';
}

// Tokens 1000 to 1009 are special; <think> is 1000 and </think> 1001.
static inline bool text_match_is_special(void *user, uint32_t id) {
    (void)user;
    return id >= 1000 && id < 1010;
}
static inline int64_t text_match_find(void *user, const char *text, size_t n) {
    (void)user;
    if (n == 7 && memcmp(text, "<think>", n) == 0) return 1000;
    if (n == 6 && memcmp(text, "</div>", n) == 0) return 7; // an ordinary one
    return n == 8 && memcmp(text, "</think>", n) == 0 ? 1001 : -1;
}
static const struct grammar_tokens text_match_tokens = {
    .n_vocab = 2000, .is_special = text_match_is_special, .find = text_match_find};

// A grammar and texts with their verdicts: "+whole", ".beginning", "-neither".
struct text_case {
    const char *grammar;
    const char *texts[16];
};

static inline void text_match_cases_with(text_compile compile, const struct grammar_text_options *o,
                                         const struct text_case *cases, size_t n) {
    for (size_t i = 0; i < n; i++) {
        struct automata m;
        rn_error err = {0};
        check_note("%s", cases[i].grammar);
        if (!CHECK_OK(text_match_open(&m, compile, cases[i].grammar, strlen(cases[i].grammar), o, &err), &err))
            continue;
        for (const char *const *t = cases[i].texts; *t; t++) {
            check_note("%s\ntext: %s", cases[i].grammar, *t);
            CHECK_INT(text_match_verdict(&m, *t + 1, strlen(*t + 1)), **t);
        }
        CHECK_INT(m.exprs.status, RN_OK);
        automata_free(&m);
    }
}

static inline void text_match_cases(text_compile compile, const struct text_case *cases, size_t n) {
    const struct grammar_text_options o = {.tokens = &text_match_tokens};
    text_match_cases_with(compile, &o, cases, n);
}

struct text_error {
    const char *grammar, *why;
    rn_status status;
};

static inline void text_match_errors(text_compile compile, const struct text_error *cases, size_t n) {
    for (size_t i = 0; i < n; i++) {
        struct automata m;
        rn_error err = {0};
        const struct grammar_text_options o = {.tokens = &text_match_tokens};
        check_note("%s", cases[i].grammar);
        if (CHECK_FAILS(text_match_open(&m, compile, cases[i].grammar, strlen(cases[i].grammar), &o, &err),
                        cases[i].status, &err))
            CHECK_STR(err.text, cases[i].why);
    }
}

// The same text n times between two others.
static inline char *text_match_repeated(const char *before, const char *s, size_t n, const char *after) {
    static char text[5 << 20];
    char *to = text;
    to += snprintf(to, 1000, "%s", before);
    for (size_t i = 0; i < n; i++) to += snprintf(to, 1000, "%s", s);
    snprintf(to, 1000, "%s", after);
    return text;
}

#endif
