// tests/grammar/text_match.h - a grammar's text, compiled, and what it makes of texts.
#ifndef RN_TESTS_GRAMMAR_TEXT_MATCH_H
#define RN_TESTS_GRAMMAR_TEXT_MATCH_H

#include "grammar/recognizer.h"
#include "grammar/text/grammar_text.h"
#include "tests/check.h"
#include <stdio.h>
#include <string.h>

typedef rn_status (*text_compile)(struct rules *r, const char *s, size_t n, const struct grammar_text_options *o,
                                  uint32_t *start, rn_error *err);

struct text_match {
    struct exprs e;
    struct rules r;
    struct dfa d;
    struct recognizer p;
};

static inline void text_match_close(struct text_match *m) {
    recognizer_free(&m->p);
    dfa_free(&m->d);
    rules_free(&m->r);
    exprs_free(&m->e);
}

static inline rn_status text_match_open(struct text_match *m, text_compile compile, const char *s, size_t n,
                                        const struct grammar_text_options *o, rn_error *err) {
    uint32_t start = 0;
    *m = (struct text_match){0};
    rn_status st = exprs_init(&m->e, 1 << 18, err);
    if (st == RN_OK) st = rules_init(&m->r, &m->e, 1 << 18, err);
    if (st == RN_OK) st = compile(&m->r, s, n, o, &start, err);
    if (st == RN_OK) st = dfa_init(&m->d, &m->e, 100000, err);
    if (st == RN_OK) st = rules_compile(&m->r, start, &m->d, err);
    if (st == RN_OK) st = recognizer_init(&m->p, &m->r, &m->d, start, 1 << 18, err);
    if (st != RN_OK) text_match_close(m);
    return st;
}

// + it is whole, . it is a beginning, - it is neither
static inline char text_match_verdict(struct text_match *m, const char *s, size_t n) {
    const uint32_t c = recognizer_read(&m->p, m->p.first, s, n);
    return c == CONFIG_DEAD ? '-' : recognizer_accepts(&m->p, c) ? '+' : '.';
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
static const struct grammar_tokens text_match_tokens = {2000, text_match_is_special, text_match_find, NULL};

// A grammar and texts with their verdicts: "+whole", ".beginning", "-neither".
struct text_case {
    const char *grammar;
    const char *texts[16];
};

static inline void text_match_cases(text_compile compile, const struct text_case *cases, size_t n) {
    const struct grammar_text_options o = {.tokens = &text_match_tokens};
    for (size_t i = 0; i < n; i++) {
        struct text_match m;
        rn_error err = {0};
        check_note("%s", cases[i].grammar);
        if (!CHECK_OK(text_match_open(&m, compile, cases[i].grammar, strlen(cases[i].grammar), &o, &err), &err))
            continue;
        for (const char *const *t = cases[i].texts; *t; t++) {
            check_note("%s\ntext: %s", cases[i].grammar, *t);
            CHECK_INT(text_match_verdict(&m, *t + 1, strlen(*t + 1)), **t);
        }
        CHECK_INT(m.e.status, RN_OK);
        text_match_close(&m);
    }
}

struct text_error {
    const char *grammar, *why;
    rn_status status;
};

static inline void text_match_errors(text_compile compile, const struct text_error *cases, size_t n) {
    for (size_t i = 0; i < n; i++) {
        struct text_match m;
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
