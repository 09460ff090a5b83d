// fuzz/fuzz_grammar_text.c - compiles any bytes as GBNF, Lark, a regular expression or structural tags, and reads its own bytes with what comes out.
//
// The first byte says as what. A state that is alive must lead to a whole text, unless a limit is reached first.
#include "base/mem.h"
#include "grammar/automata.h"
#include "grammar/regex.h"
#include "grammar/tags/structural_tag.h"
#include "walk_package.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { IS_TAGS = 64, MAX_EXPRS = 20000, MAX_CONFIGS = 4000, MAX_SEEN = 500 };

static bool is_special(void *user, uint32_t id) { return (void)user, id > 990; }
static int64_t find(void *user, const char *text, size_t n) {
    (void)user;
    return n == 7 && memcmp(text, "<think>", n) == 0 ? 995 : n == 3 ? 5 : -1;
}

static int64_t match(void *user, const char *s, size_t n, size_t *n_token) {
    return *n_token = 7, n >= 7 && memcmp(s, "<think>", 7) == 0 ? find(user, s, 7) : -1;
}
static bool is_end(void *user, uint32_t id) { return (void)user, id == 999; }

struct input {
    const char *s;
    size_t n;
    uint8_t what;
};

static rn_status compile(struct rules *r, const void *source, uint32_t *start, rn_error *err) {
    const char *const s = ((const struct input *)source)->s;
    const size_t n = ((const struct input *)source)->n;
    const uint8_t what = ((const struct input *)source)->what;
    const struct grammar_tokens tokens = {1000, is_special, find, match, is_end, NULL};
    const struct grammar_text_options o = {.tokens = &tokens,
                                           .json = {what & 1 ? JSON_SPACE_FREE : JSON_SPACE_DUMPS, false}};
    if (what & IS_TAGS) {
        struct json_tree tree = {0};
        rn_status st = json_read(&tree, s, n, err);
        if (st == RN_OK) st = structural_tag_compile(r, &tree, &o, start, err);
        json_free(&tree);
        return st;
    }
    if (what % 4 < 2)
        return (grammar_text_kind(s, n) == GRAMMAR_TEXT_GBNF ? gbnf_compile : lark_compile)(r, s, n, &o, start, err);
    const struct regex_options ro = {.match = what & 4 ? REGEX_SEARCH : REGEX_WHOLE,
                                     .dialect = (enum regex_dialect)(what / 8 % 3),
                                     .coding = what & 1 ? CODING_JSON : CODING_UTF8};
    expr_id x;
    const rn_status st = regex_compile(r->e, s, n, &ro, &x, err);
    *start = rule_of_term(r, x);
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
    static const struct automata_limits limits = {MAX_EXPRS, MAX_EXPRS, MAX_EXPRS, MAX_CONFIGS};
    const struct input in = {(const char *)data + 1, n ? n - 1 : 0, n ? data[0] : 0};
    struct automata a;
    rn_error err = {0};
    if (n == 0 || n > 4096) return 0;
    const rn_status st = automata_make(&a, &limits, compile, &in, &err);
    must((st == RN_OK) == (err.text[0] == 0));
    must(st == RN_OK || st == RN_E_ARG || st == RN_E_UNSUPPORTED || st == RN_E_LIMIT || st == RN_E_FORMAT);
    if (st == RN_OK) {
        struct recognizer *const p = &a.recognizer;
        uint32_t config = p->first;
        must_end(p, config);
        for (size_t i = 0; i < in.n && config != CONFIG_DEAD && i < 16 && a.exprs.status == RN_OK; i++) {
            config = recognizer_next(p, config, (uint8_t)in.s[i]);
            if (config != CONFIG_DEAD) must_end(p, config);
        }
    }
    automata_free(&a);
    must(mem_live() == live);
    return 0;
}
