// tests/serve/grammar_cache_test.c - compiled grammars that requests share: by what, how many, how many bytes, and across threads.
#include "app/grammar_cache.h"
#include "tests/check.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static rn_model *model;

static bool open_model(void) {
    rn_error err = {0};
    rn_model_options o;
    rn_model_options_init(&o);
    return CHECK_OK(rn_model_open(RUNNEL_SOURCE_DIR "/models/stories.gguf", &o, &model, &err), &err);
}

static rn_grammar_source source_of(rn_grammar_kind kind, const char *text) {
    rn_grammar_source s;
    rn_grammar_source_init(&s);
    s.kind = kind;
    s.text = text;
    s.n_text = text ? strlen(text) : 0;
    return s;
}

static kept_grammar *get(grammar_cache *c, uint64_t salt, const rn_grammar_source *s) {
    rn_error err = {0};
    kept_grammar *k;
    CHECK_OK(grammar_cache_get(c, model, salt, s, &k, &err), &err);
    return k;
}

// Is it the same grammar for a second request, while the first one has it and afterwards?
TEST(the_same_source_is_compiled_once) {
    if (!open_model()) return;
    grammar_cache *const c = grammar_cache_open(GRAMMAR_CACHE_MIB);
    const rn_grammar_source s = source_of(RN_GRAMMAR_REGEX, "[a-c]+");
    kept_grammar *const a = get(c, 0, &s), *const b = get(c, 0, &s);
    CHECK(a && a == b && kept_grammar_of(a));
    grammar_cache_give_back(c, a);
    grammar_cache_give_back(c, b);
    kept_grammar *const again = get(c, 0, &s);
    CHECK(again == a);
    grammar_cache_give_back(c, again);
    CHECK(kept_grammar_of(NULL) == NULL);
    grammar_cache_give_back(c, NULL);
    grammar_cache_close(c);
    rn_model_close(model);
}

TEST(what_differs_in_salt_kind_space_or_choices_is_not_shared) {
    static const char *const one[] = {"ab", "c"}, *const other[] = {"a", "bc"};
    static const size_t n_one[] = {2, 1};
    if (!open_model()) return;
    grammar_cache *const c = grammar_cache_open(GRAMMAR_CACHE_MIB);
    rn_grammar_source s[7];
    s[0] = source_of(RN_GRAMMAR_JSON_SCHEMA, "true");
    s[1] = s[0], s[1].json_space = RN_JSON_FREE;
    s[2] = source_of(RN_GRAMMAR_REGEX, "true");
    s[3] = source_of(RN_GRAMMAR_CHOICE, NULL), s[3].choices = one, s[3].n_choices = 2;
    s[4] = s[3], s[4].choices = other;
    s[5] = s[3], s[5].choice_bytes = n_one; // the same as s[3]
    s[6] = source_of(RN_GRAMMAR_JSON_OBJECT, NULL);
    kept_grammar *k[8];
    for (int i = 0; i < 7; i++) k[i] = get(c, 0, &s[i]);
    k[7] = get(c, 1, &s[0]);
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < i; j++) CHECK((k[i] == k[j]) == (i == 5 && j == 3));
    for (int i = 0; i < 8; i++) grammar_cache_give_back(c, k[i]);
    grammar_cache_close(c);
    rn_model_close(model);
}

// A grammar is known to be new by its memory, which a mask makes grow.
static uint64_t bytes_of(kept_grammar *k) { return rn_grammar_memory(kept_grammar_of(k)); }

static void use(kept_grammar *k) {
    rn_error err = {0};
    rn_matcher *m;
    uint64_t mask[4096 / 64];
    if (!CHECK_OK(rn_matcher_open((rn_grammar *)kept_grammar_of(k), &m, &err), &err)) return;
    CHECK_OK(rn_matcher_mask(m, mask, sizeof mask / sizeof *mask, &err), &err);
    rn_matcher_close(m);
}

static kept_grammar *get_nth(grammar_cache *c, int n) {
    char text[32];
    snprintf(text, sizeof text, "a{%d}", n + 1);
    const rn_grammar_source s = source_of(RN_GRAMMAR_REGEX, text);
    return get(c, 0, &s);
}

TEST(sixty_four_are_kept_and_the_one_used_least_lately_goes) {
    if (!open_model()) return;
    grammar_cache *const c = grammar_cache_open(GRAMMAR_CACHE_MIB);
    kept_grammar *first = get_nth(c, 0);
    const uint64_t n_new = bytes_of(first);
    use(first);
    const uint64_t n_used = bytes_of(first);
    CHECK(n_used > n_new);
    grammar_cache_give_back(c, first);
    for (int i = 1; i < GRAMMAR_CACHE_GRAMMARS; i++) grammar_cache_give_back(c, get_nth(c, i));
    first = get_nth(c, 0);
    CHECK(bytes_of(first) >= n_used);
    grammar_cache_give_back(c, first);
    grammar_cache_give_back(c, get_nth(c, GRAMMAR_CACHE_GRAMMARS)); // instead of number 1
    first = get_nth(c, 0);
    CHECK(bytes_of(first) >= n_used);
    // What is dropped while it is used stays with its user, and the next request gets another one.
    for (int i = 1; i <= GRAMMAR_CACHE_GRAMMARS; i++) grammar_cache_give_back(c, get_nth(c, i));
    CHECK(bytes_of(first) >= n_used);
    kept_grammar *const second = get_nth(c, 0);
    CHECK(second != first);
    CHECK(bytes_of(second) < n_used);
    grammar_cache_give_back(c, first);
    grammar_cache_give_back(c, second);
    grammar_cache_close(c);
    rn_model_close(model);
}

// Large sources whose bytes together are beyond the limit.
TEST(what_takes_more_bytes_than_the_limit_goes) {
    enum { EACH = 3 << 20, N = (GRAMMAR_CACHE_MIB << 20) / EACH + 1 };
    static char text[EACH + 1];
    if (!open_model()) return;
    grammar_cache *const c = grammar_cache_open(GRAMMAR_CACHE_MIB);
    memset(text, ' ', EACH);
    uint64_t n_used = 0;
    for (int i = 0; i <= N; i++) {
        snprintf(text, 64, "{\"enum\":[%d]}", i % N);
        text[strlen(text)] = ' ';
        const rn_grammar_source s = source_of(RN_GRAMMAR_JSON_SCHEMA, text);
        kept_grammar *const k = get(c, 0, &s);
        if (i == 0) {
            use(k);
            n_used = bytes_of(k);
        } else if (i == N) {
            CHECK(bytes_of(k) < n_used); // number 0 was dropped
        }
        grammar_cache_give_back(c, k);
    }
    grammar_cache_close(c);
    rn_model_close(model);
}

TEST(what_is_wrong_is_not_kept) {
    if (!open_model()) return;
    grammar_cache *const c = grammar_cache_open(GRAMMAR_CACHE_MIB);
    const rn_grammar_source s = source_of(RN_GRAMMAR_REGEX, "(");
    for (int i = 0; i < 2; i++) {
        rn_error err = {0};
        kept_grammar *k = (kept_grammar *)c;
        CHECK_INT(grammar_cache_get(c, model, 0, &s, &k, &err), RN_E_ARG);
        CHECK(k == NULL);
        CHECK(strstr(err.text, "(at character") != NULL);
    }
    grammar_cache_close(c);
    rn_model_close(model);
}

enum { ROUNDS = 300 };
static void *work(void *cache) {
    for (int i = 0; i < ROUNDS; i++) {
        kept_grammar *const k = get_nth(cache, i * 7 % (GRAMMAR_CACHE_GRAMMARS * 2));
        if (i % 16 == 0) use(k);
        grammar_cache_give_back(cache, k);
    }
    return NULL;
}

TEST(threads_share_it) {
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    if (!open_model()) return;
    grammar_cache *const c = grammar_cache_open(GRAMMAR_CACHE_MIB);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, work, c) == 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    grammar_cache_close(c);
    rn_model_close(model);
}
