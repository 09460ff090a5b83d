// tests/engine/vocab_masks_test.c - masks against brute force over whole vocabularies: random grammars of every kind.
//
// Brute force is a second compiled grammar that is asked for each token by itself: its bytes one by one, without slices of the
// vocabulary and without states that share a mask. Every 4th of 500 grammars; all with RUNNEL_TEST_FULL=1.
#include "base/mem.h"
#include "engine/engine.h"
#include "grammar/grammar.h"
#include "tests/check.h"
#include "tests/support/any_grammar.h"
#include <stdlib.h>
#include <string.h>

enum { N_GRAMMARS = 500, N_TEXTS = 2, N_STEPS = 6 };

static uint64_t stride(void) {
#if defined(TESTS_SANITIZED)
    return 50;
#else
    return getenv("RUNNEL_TEST_FULL") ? 1 : 4;
#endif
}

static rn_model *open_vocabulary(const char *name) {
    char rel[128], path[512], command[1200];
    rn_error err = {0};
    rn_model *m = NULL;
    snprintf(rel, sizeof rel, "vectors/tokenizers/%s/vocab.gguf.gz", name);
    const char *packed = shared_path(rel);
    if (!packed) return test_skip("no shared material: set RUNNEL_SHARED"), NULL;
    snprintf(path, sizeof path, "%s/%s.gguf", temp_dir(), name);
    snprintf(command, sizeof command, "gzip -dc '%s' > '%s'", packed, path);
    if (system(command) != 0) return test_skip("no gzip"), NULL;
    CHECK_OK(rn_model_open(path, NULL, &m, &err), &err);
    remove(path);
    return m;
}

struct trial {
    const struct grammar_vocab *v;
    struct any_grammar g;
    uint64_t *mask, *want;
    int32_t *allowed; // [n_allowed]
    int32_t n_allowed;
    long n_masks, n_refused;
};

static bool brute_force(struct trial *t, struct grammar_cursor *c) {
    rn_error err = {0};
    memset(t->want, 0, t->v->trie.n_words * sizeof *t->want);
    t->n_allowed = 0;
    for (int32_t i = 0; i < t->v->n_tokens; i++) {
        bool is_allowed;
        const rn_status st = grammar_allows(c, i, &is_allowed, &err);
        if (st == RN_E_LIMIT) return t->n_refused++, false; // one token more than its automata can take
        if (!CHECK_OK(st, &err)) return false;
        if (!is_allowed) continue;
        t->want[i / 64] |= UINT64_C(1) << i % 64;
        t->allowed[t->n_allowed++] = i;
    }
    return true;
}

// One of the tokens that may follow: the shortest of a few in every second case, so that texts come to their ends.
static int32_t draw(struct trial *t) {
    int32_t best = t->allowed[any_grammar_roll(&t->g, (uint32_t)t->n_allowed)];
    for (int i = any_grammar_roll(&t->g, 2) ? 40 : 0; i > 0; i--) {
        const int32_t other = t->allowed[any_grammar_roll(&t->g, (uint32_t)t->n_allowed)];
        if (t->v->tokens[other].n < t->v->tokens[best].n) best = other;
    }
    return best;
}

static bool check_text(struct trial *t, grammar *g, grammar *reference) {
    struct grammar_cursor at, by_bytes;
    rn_error err = {0};
    bool is_whole, is_allowed, ok = true;
    if (!CHECK_OK(grammar_cursor_init(&at, g, &err), &err)) return false;
    if (!CHECK_OK(grammar_cursor_init(&by_bytes, reference, &err), &err)) return false;
    for (int step = 0; step < N_STEPS && ok; step++) {
        if (!brute_force(t, &by_bytes)) break;
        memset(t->mask, 0xff, t->v->trie.n_words * sizeof *t->mask);
        const rn_status st = grammar_mask(&at, t->mask, t->v->trie.n_words, &is_whole, &err);
        if (st == RN_E_LIMIT) {
            t->n_refused++;
            break;
        }
        ok = CHECK_OK(st, &err);
        for (size_t w = 0; w < t->v->trie.n_words && ok; w++) {
            if (t->mask[w] == t->want[w]) continue;
            const int32_t i = (int32_t)(w * 64) + __builtin_ctzll(t->mask[w] ^ t->want[w]);
            check_note("step %d, token %d '%.*s'\n%s", step, (int)i, (int)t->v->tokens[i].n, t->v->tokens[i].bytes,
                       t->g.text);
            ok = CHECK_INT(t->mask[w] >> i % 64 & 1, t->want[w] >> i % 64 & 1);
        }
        t->n_masks++;
        check_note("%s", t->g.text);
        if (!ok || !CHECK(t->n_allowed > 0 || is_whole) || t->n_allowed == 0) break;
        const int32_t token = draw(t);
        ok = CHECK_OK(grammar_take(&at, token, &is_allowed, &err), &err) && CHECK(is_allowed) &&
             CHECK_OK(grammar_take(&by_bytes, token, &is_allowed, &err), &err) && CHECK(is_allowed);
    }
    grammar_cursor_free(&at), grammar_cursor_free(&by_bytes);
    return ok;
}

static bool check_grammar(struct trial *t, uint64_t seed, enum any_grammar_kind kind) {
    static const enum grammar_kind kinds[] = {[ANY_SCHEMA] = GRAMMAR_SCHEMA,
                                              [ANY_REGEX] = GRAMMAR_REGEX,
                                              [ANY_GBNF] = GRAMMAR_CFG,
                                              [ANY_LARK] = GRAMMAR_CFG};
    static const enum json_space spaces[] = {JSON_SPACE_DUMPS, JSON_SPACE_COMPACT, JSON_SPACE_FREE};
    rn_error err = {0};
    grammar *g, *reference;
    bool ok = true;
    any_grammar(&t->g, seed, kind);
    const struct grammar_source source = {.kind = kinds[kind],
                                          .text = {t->g.text, t->g.n},
                                          .json = {spaces[seed / ANY_N_KINDS % 3], seed / ANY_N_KINDS / 3 & 1}};
    const rn_status st = grammar_compile(&source, t->v, &g, &err);
    if (st != RN_OK) {
        check_note("%s: %s", err.text, t->g.text);
        return t->n_refused++, CHECK(st == RN_E_ARG || st == RN_E_UNSUPPORTED || st == RN_E_LIMIT);
    }
    ok = CHECK_OK(grammar_compile(&source, t->v, &reference, &err), &err);
    for (int i = 0; i < N_TEXTS && ok; i++) ok = check_text(t, g, reference);
    grammar_unref(g), grammar_unref(reference);
    return ok;
}

static void check_vocabulary(const char *name) {
    rn_error err = {0};
    rn_grammar *first;
    rn_grammar_source source;
    rn_model *const m = open_vocabulary(name);
    if (!m) return;
    rn_grammar_source_init(&source);
    source.kind = RN_GRAMMAR_REGEX, source.text = "a", source.n_text = 1;
    if (!CHECK_OK(rn_grammar_compile(m, &source, &first, &err), &err)) return; // puts the vocabulary in order
    static struct trial t;
    t = (struct trial){.v = &m->grammars->vocab};
    t.mask = mem_alloc(t.v->trie.n_words * sizeof *t.mask), t.want = mem_alloc(t.v->trie.n_words * sizeof *t.want);
    t.allowed = mem_alloc((size_t)t.v->n_tokens * sizeof *t.allowed);
    uint64_t n = 0;
    for (uint64_t seed = 0; seed < N_GRAMMARS; seed += stride(), n++)
        if (!check_grammar(&t, seed, (enum any_grammar_kind)(n % ANY_N_KINDS))) break;
    printf("# %s: %llu grammars, %ld refused, %ld masks\n", name, (unsigned long long)n, t.n_refused, t.n_masks);
    CHECK(t.n_refused * 4 < (long)n + 4 && t.n_masks > (long)n);
    mem_free(t.mask), mem_free(t.want), mem_free(t.allowed);
    rn_grammar_close(first);
    rn_model_close(m);
}

TEST(masks_of_a_byte_level_vocabulary_equal_brute_force) { check_vocabulary("llama-3"); }
TEST(masks_of_a_vocabulary_with_byte_fallback_equal_brute_force) { check_vocabulary("llama-2"); }
TEST(masks_of_a_vocabulary_of_262144_tokens_equal_brute_force) { check_vocabulary("gemma-3"); }
