// fuzz/fuzz_grammar_text.c - compiles any bytes as GBNF, Lark or a regular expression, and reads its own bytes with what comes out.
//
// The first byte says as what. A state that is alive must lead to a whole text, unless a limit is reached first.
#include "base/mem.h"
#include "grammar/recognizer.h"
#include "grammar/regex.h"
#include "grammar/text/grammar_text.h"
#include "walk_package.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { MAX_EXPRS = 20000, MAX_CONFIGS = 4000, MAX_SEEN = 500 };

static bool is_special(void *user, uint32_t id) { return (void)user, id > 990; }
static int64_t find(void *user, const char *text, size_t n) {
    (void)user;
    return n == 7 && memcmp(text, "<think>", n) == 0 ? 995 : n == 3 ? 5 : -1;
}

static rn_status compile(uint8_t what, struct rules *r, const char *s, size_t n, uint32_t *start, rn_error *err) {
    const struct grammar_tokens tokens = {1000, is_special, find, NULL};
    const struct grammar_text_options o = {.tokens = &tokens, .space = what & 1 ? JSON_SPACE_FREE : JSON_SPACE_DUMPS};
    if (what % 4 < 2)
        return (grammar_text_kind(s, n) == GRAMMAR_TEXT_GBNF ? gbnf_compile : lark_compile)(r, s, n, &o, start, err);
    const struct regex_options ro = {.match = what & 4 ? REGEX_SEARCH : REGEX_WHOLE,
                                     .dialect = (enum regex_dialect)(what / 8 % 3),
                                     .coding = what & 1 ? CODING_JSON : CODING_UTF8};
    expr_id x;
    const rn_status st = regex_compile(r->e, s, n, &ro, &x, err);
    *start = rule_new(r);
    rule_define(r, *start, sym_term(r, x));
    return st;
}

// A whole text follows from every state, which a search finds unless it grows too large.
static void must_end(struct recognizer *p, uint32_t config) {
    uint32_t seen[MAX_SEEN] = {config}, n_seen = 1;
    for (uint32_t i = 0; i < n_seen; i++) {
        if (recognizer_accepts(p, seen[i])) return;
        for (uint32_t c = 0; c < p->e->n_classes; c++) {
            const uint32_t to = recognizer_next(p, seen[i], p->e->class_byte[c]);
            uint32_t k = 0;
            if (p->e->status != RN_OK || n_seen == MAX_SEEN) return;
            while (k < n_seen && seen[k] != to) k++;
            if (to != CONFIG_DEAD && k == n_seen) seen[n_seen++] = to;
        }
    }
    must(false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    const long live = mem_live();
    const char *const s = (const char *)data + 1;
    struct exprs e;
    struct rules r = {0};
    struct dfa d = {0};
    struct recognizer p = {0};
    uint32_t start = 0;
    rn_error err = {0};
    if (n == 0 || n > 4096) return 0;
    rn_status st = exprs_init(&e, MAX_EXPRS, &err);
    if (st == RN_OK) st = rules_init(&r, &e, MAX_EXPRS, &err);
    if (st == RN_OK) st = compile(data[0], &r, s, n - 1, &start, &err);
    if (st == RN_OK) st = dfa_init(&d, &e, MAX_EXPRS, &err);
    if (st == RN_OK) st = rules_compile(&r, start, &d, &err);
    if (st == RN_OK) st = recognizer_init(&p, &r, &d, start, MAX_CONFIGS, &err);
    must((st == RN_OK) == (err.text[0] == 0));
    must(st == RN_OK || st == RN_E_ARG || st == RN_E_UNSUPPORTED || st == RN_E_LIMIT || st == RN_E_FORMAT);
    if (st == RN_OK) {
        uint32_t config = p.first;
        must_end(&p, config);
        for (size_t i = 0; i + 1 < n && config != CONFIG_DEAD && i < 16 && e.status == RN_OK; i++) {
            config = recognizer_next(&p, config, (uint8_t)s[i]);
            if (config != CONFIG_DEAD) must_end(&p, config);
        }
    }
    recognizer_free(&p);
    dfa_free(&d);
    rules_free(&r);
    exprs_free(&e);
    must(mem_live() == live);
    return 0;
}
