// fuzz/fuzz_mask.c - a grammar, and tokens of a vocabulary: each mask is what the tokens' bytes lead to, one by one.
//
// The first byte says what the grammar is. It ends with a zero byte, and so do the tokens after it; every byte is a token beside
// them. A token that may follow is taken, chosen by the input, and the next mask is looked at.
#include "base/mem.h"
#include "formats/json/json_tree.h"
#include "grammar/automata.h"
#include "grammar/mask.h"
#include "grammar/regex.h"
#include "grammar/schema/schema.h"
#include "grammar/text/grammar_text.h"
#include "walk_package.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { MAX_INPUT = 4096, MAX_EXPRS = 1 << 14, MAX_NODES = 1 << 15, MAX_SEARCH = 500, MAX_CONFIGS = 1 << 12 };
enum { MAX_TOKENS = 256 + 64, MAX_STEPS = 24, N_MASKS = 4 };

struct input {
    const char *s;
    size_t n;
    uint8_t what;
};

static bool is_special(void *user, uint32_t id) { return (void)user, (void)id, false; }
static int64_t find(void *user, const char *text, size_t n) { return (void)user, (void)text, (void)n, -1; }

static rn_status compile_schema(struct rules *r, const struct input *in, uint32_t *start, rn_error *err) {
    struct json_tree tree = {0};
    rn_status st = json_read(&tree, in->s, in->n, err);
    if (st == RN_OK)
        st = schema_compile(r, &tree, (struct json_texts){(enum json_space)(in->what / 4 % 3), in->what & 128}, start,
                            err);
    json_free(&tree);
    return st;
}

static rn_status compile(struct rules *r, const void *source, uint32_t *start, rn_error *err) {
    const struct input *const in = source;
    if (in->what % 4 == 0) return compile_schema(r, in, start, err);
    if (in->what % 4 == 1) {
        const struct regex_options o = {.match = in->what & 4 ? REGEX_SEARCH : REGEX_WHOLE,
                                        .dialect = (enum regex_dialect)(in->what / 8 % 3),
                                        .coding = in->what & 32 ? CODING_JSON : CODING_UTF8};
        expr_id x;
        const rn_status st = regex_compile(r->e, in->s, in->n, &o, &x, err);
        *start = rule_of_term(r, x);
        return st;
    }
    const struct grammar_tokens tokens = {MAX_TOKENS, is_special, find, NULL};
    const struct grammar_text_options o = {.tokens = &tokens, .json = {JSON_SPACE_DUMPS, false}};
    return (in->what % 4 == 2 ? gbnf_compile : lark_compile)(r, in->s, in->n, &o, start, err);
}

static int32_t read_tokens(struct token_bytes *tokens, const uint8_t *data, size_t n) {
    static const uint8_t bytes[256] = {
#define ROW(b)                                                                                                       \
    b, b + 1, b + 2, b + 3, b + 4, b + 5, b + 6, b + 7, b + 8, b + 9, b + 10, b + 11, b + 12, b + 13, b + 14, b + 15
        ROW(0),   ROW(16),  ROW(32),  ROW(48),  ROW(64),  ROW(80),  ROW(96),  ROW(112),
        ROW(128), ROW(144), ROW(160), ROW(176), ROW(192), ROW(208), ROW(224), ROW(240)};
    int32_t n_tokens = 256;
    for (int i = 0; i < 256; i++) tokens[i] = (struct token_bytes){(const char *)&bytes[i], 1};
    while (n > 0 && n_tokens < MAX_TOKENS) {
        const uint8_t *const zero = memchr(data, 0, n);
        const size_t n_token = zero ? (size_t)(zero - data) : n;
        tokens[n_tokens++] = (struct token_bytes){(const char *)data, (uint32_t)n_token};
        data += n_token + (zero != NULL), n -= n_token + (zero != NULL);
    }
    return n_tokens;
}

// by_bytes: the same grammar, whose recognizer is asked for each token.
static void walk(struct masker *m, struct recognizer *by_bytes, const struct token_bytes *tokens, int32_t n_tokens,
                 const struct input *in) {
    uint32_t at = m->p->first, other = by_bytes->first;
    for (size_t step = 0; step < MAX_STEPS; step++) {
        const uint64_t *const mask = masker_get(m, at);
        int32_t allowed[MAX_TOKENS], n_allowed = 0;
        if (!mask) return; // a limit
        for (int32_t i = 0; i < n_tokens; i++) {
            const bool want =
                tokens[i].n > 0 && recognizer_read(by_bytes, other, tokens[i].bytes, tokens[i].n) != CONFIG_DEAD;
            if (by_bytes->e->status != RN_OK) return;
            must((mask[i / 64] >> i % 64 & 1) == want);
            if (want) allowed[n_allowed++] = i;
        }
        must(recognizer_accepts(m->p, at) == recognizer_accepts(by_bytes, other));
        must(n_allowed > 0 || recognizer_accepts(m->p, at));
        if (n_allowed == 0) return;
        const struct token_bytes *const t = &tokens[allowed[(uint8_t)in->s[step % in->n] % n_allowed]];
        at = recognizer_read(m->p, at, t->bytes, t->n), other = recognizer_read(by_bytes, other, t->bytes, t->n);
        if (m->p->e->status != RN_OK || by_bytes->e->status != RN_OK) return;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static const struct automata_limits limits = {MAX_EXPRS, MAX_NODES, MAX_SEARCH, MAX_CONFIGS};
    const long live = mem_live();
    if (n < 2 || n > MAX_INPUT) return 0;
    const uint8_t *const zero = memchr(data + 1, 0, n - 1);
    const size_t n_source = zero ? (size_t)(zero - data) - 1 : n - 1;
    const struct input in = {(const char *)data + 1, n_source, data[0]};
    struct automata a, b;
    if (n_source == 0 || automata_make(&a, &limits, compile, &in, NULL) != RN_OK) {
        must(mem_live() == live);
        return 0;
    }
    struct token_bytes tokens[MAX_TOKENS];
    const int32_t n_tokens = zero ? read_tokens(tokens, zero + 1, n - n_source - 2) : read_tokens(tokens, NULL, 0);
    struct vocab_trie v;
    struct masker m;
    must(automata_make(&b, &limits, compile, &in, NULL) == RN_OK);
    must(vocab_trie_init(&v, tokens, n_tokens, NULL) == RN_OK);
    must(masker_init(&m, &a.recognizer, &v, N_MASKS, NULL) == RN_OK);
    walk(&m, &b.recognizer, tokens, n_tokens, &in);
    masker_free(&m), vocab_trie_free(&v), automata_free(&a), automata_free(&b);
    must(mem_live() == live);
    return 0;
}
