// tests/tokenizer/tokenizer_random_test.c - random texts: equal to a naive search, and back again.
#include "base/mem.h"
#include "base/philox.h"
#include "tests/check.h"
#include "tests/tokenizer/small_vocab.h"
#include "tokenizer/tokenizer.h"

static struct small_vocab sv; // the running test's

static tokenizer *make(void) {
    tokenizer *t = NULL;
    rn_error err = {0};
    CHECK_OK(tokenizer_create(&sv.v, &t, &err), &err);
    return t;
}

#define SP "\xE2\x96\x81" // U+2581, how SPM vocabularies write a space

// What the heap must equal: again and again join the best pair, the leftmost of equals, found by looking at all of them.
struct naive_symbol {
    size_t pos, n;
};

static int32_t normal_token(const char *s, size_t n) {
    for (int32_t i = 0; i < sv.v.n_tokens; i++)
        if (sv.tokens[i].kind == TOKEN_NORMAL && sv.tokens[i].text.n == n && memcmp(sv.tokens[i].text.s, s, n) == 0)
            return i;
    return -1;
}

static size_t naive_spm(const char *text, size_t n, int32_t *ids) {
    struct naive_symbol sym[256];
    size_t n_sym = 0, n_ids = 0;
    for (size_t i = 0; i < n; i += sym[n_sym++].n)
        sym[n_sym] = (struct naive_symbol){i, (size_t)utf8_char_len(text + i, n - i)};
    for (;;) {
        size_t best = n_sym;
        float best_score = 0;
        for (size_t i = 0; i + 1 < n_sym; i++) {
            const int32_t id = normal_token(text + sym[i].pos, sym[i].n + sym[i + 1].n);
            if (id >= 0 && (best == n_sym || sv.tokens[id].score > best_score))
                best = i, best_score = sv.tokens[id].score;
        }
        if (best == n_sym) break;
        sym[best].n += sym[best + 1].n;
        memmove(&sym[best + 1], &sym[best + 2], (n_sym - best - 2) * sizeof *sym);
        n_sym--;
    }
    for (size_t i = 0; i < n_sym; i++) {
        const int32_t id = normal_token(text + sym[i].pos, sym[i].n);
        if (id >= 0) ids[n_ids++] = id;
        for (size_t k = 0; id < 0 && k < sym[i].n; k++) ids[n_ids++] = SPM_BYTE_0 + (uint8_t)text[sym[i].pos + k];
    }
    return n_ids;
}

static void compare_with_naive(const tokenizer *t, uint32_t rounds) {
    static const char *const alphabet[] = {"a", "b", "c", "d", SP, SP, "s", "<", "\xC3\xA9", "z"};
    for (uint32_t round = 0; round < rounds; round++) {
        char text[160] = SP; // the space in front, written as the vocabulary has it
        const size_t n_chars = round % 40, letters = 2 + round / 40 % 9;
        for (size_t i = 0; i < n_chars; i++)
            strcat(text, alphabet[(size_t)(philox_uniform(3, round, (uint32_t)i, PHILOX_TEST) * (double)letters)]);
        int32_t want[256], *ids = NULL;
        size_t n_ids = 0;
        const size_t n_want = n_chars ? naive_spm(text, strlen(text), want) : 0;
        CHECK_OK(tokenizer_encode(t, text + 3, strlen(text + 3), false, false, &ids, &n_ids, NULL, NULL), NULL);
        check_note("text \"%s\"", text);
        const bool same = CHECK_INT(n_ids, n_want) && (n_ids == 0 || CHECK_MEM(ids, want, n_ids * sizeof *ids));
        mem_free(ids);
        if (!same) return;
    }
}

TEST(spm_equals_a_naive_search_for_the_best_pair_on_random_texts) {
    small_spm(&sv);
    tokenizer *t = make();
    compare_with_naive(t, 3000);
    tokenizer_destroy(t);
    small_spm(&sv);
    small_add(&sv, "b" SP, -1.5f, TOKEN_NORMAL); // a space inside a token: words can no longer be taken one by one
    small_add(&sv, "b" SP "a", -1.2f, TOKEN_NORMAL);
    small_add(&sv, "-0", -0.0f, TOKEN_NORMAL);
    t = make();
    compare_with_naive(t, 3000);
    tokenizer_destroy(t);
}

TEST(byte_level_bpe_equals_a_naive_search_for_the_best_merge_on_random_words) {
    small_bpe(&sv, "gpt-2");
    tokenizer *t = make();
    for (uint32_t round = 0; round < 3000; round++) {
        char text[40];
        int32_t want[40], *ids = NULL;
        size_t n = 1 + round % 39, n_ids = 0;
        for (size_t i = 0; i < n; i++)
            want[i] =
                (uint8_t)(text[i] =
                              "theandoirsgl"[(size_t)(philox_uniform(4, round, (uint32_t)i, PHILOX_TEST) * 12)]);
        CHECK_OK(tokenizer_encode(t, text, n, false, false, &ids, &n_ids, NULL, NULL), NULL);
        for (int32_t m = 0; m < sv.v.n_merges;
             m++) { // after rank m no earlier pair can come up: each makes a new token
            char joined[16], *space;
            snprintf(joined, sizeof joined, "%s", sv.merges[m].s);
            space = strchr(joined, ' ');
            const int32_t left = normal_token(joined, (size_t)(space - joined)),
                          right = normal_token(space + 1, strlen(space + 1));
            for (size_t i = 0; i + 1 < n; i++)
                if (want[i] == left && want[i + 1] == right) {
                    want[i] = 256 + m;
                    memmove(&want[i + 1], &want[i + 2], (n - i - 2) * sizeof *want);
                    n--;
                }
        }
        if (!CHECK_INT(n_ids, n) || !CHECK_MEM(ids, want, n * sizeof *ids)) round = 3000;
        mem_free(ids);
    }
    tokenizer_destroy(t);
}

TEST(detokenize_of_tokenize_is_the_text_for_random_valid_utf_8) {
    static const uint32_t tops[] = {0x7F, 0x7F, 0xFF, 0x7FF, 0xFFFF, 0x10FFFF};
    static const char *const pres[] = {NULL, "gpt-2", "smollm", "llama-bpe"}; // NULL: SPM
    for (size_t k = 0; k < sizeof pres / sizeof *pres; k++) {
        if (pres[k])
            small_bpe(&sv, pres[k]);
        else
            small_spm(&sv);
        tokenizer *t = make();
        for (uint32_t round = 0; round < 2000; round++) {
            char text[200], *back = NULL;
            size_t n = 0, n_ids = 0, n_dropped = 0, n_back = 0;
            int32_t *ids = NULL;
            for (uint32_t i = 0; i < round % 40; i++) {
                uint32_t cp =
                    (uint32_t)(philox_uniform(5, round, 2 * i, PHILOX_TEST) * (tops[(round + i) % 6] + 1.0));
                if ((cp >= 0xD800 && cp <= 0xDFFF) || cp == 0x2581) cp = ' ';
                n += (size_t)utf8_encode(cp, text + n);
            }
            CHECK_OK(tokenizer_encode(t, text, n, round & 1, false, &ids, &n_ids, &n_dropped, NULL), NULL);
            CHECK_OK(tokenizer_decode(t, ids, n_ids, false, &back, &n_back, NULL), NULL);
            CHECK_INT(n_dropped, 0);
            if (!CHECK_INT(n_back, n) || !CHECK_MEM(back, text, n)) round = 2000;
            mem_free(ids);
            mem_free(back);
        }
        tokenizer_destroy(t);
    }
}
