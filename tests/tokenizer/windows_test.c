// tests/tokenizer/windows_test.c - a long word in windows is what one run over it gives, for any rules.
#include "base/hash.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tokenizer/id_list.h"
#include "tokenizer/windows.h"
#include <string.h>

// Random tokens over few letters, with ranks that are often equal and do not grow with the length: merges at one end of a word change
// what happens far away.
enum { N_TOKENS = 60, MAX_TOKEN = 14, WORD = 3000, MAX_CHAR = 3 };
struct vocabulary {
    char text[N_TOKENS][MAX_TOKEN + 1];
    uint32_t rank[N_TOKENS];
    uint64_t seed;
    bool skips; // 'z' is no symbol
};

static uint64_t draw(uint64_t *seed, uint64_t n) { return hash_u64(++*seed, 11) % n; }

static void make(struct vocabulary *v, uint64_t seed) {
    *v = (struct vocabulary){.seed = seed, .skips = seed % 3 == 0};
    for (int i = 0; i < N_TOKENS; i++) {
        const size_t n = 2 + draw(&seed, MAX_TOKEN - 1);
        for (size_t k = 0; k < n; k++) v->text[i][k] = (char)('a' + draw(&seed, 2));
        v->rank[i] = (uint32_t)draw(&seed, 12);
    }
    // Every token can be reached: its prefixes are tokens too, in the rows that are left.
    for (int i = 0; i + 1 < N_TOKENS; i += 2) {
        const size_t n = strlen(v->text[i]);
        memcpy(v->text[i + 1], v->text[i], n);
        v->text[i + 1][n > 2 ? n - 1 : n] = '\0';
    }
}

static bool joins(const void *rules, const char *word, const struct merge_symbol *left,
                  const struct merge_symbol *right, uint32_t *rank, int32_t *id) {
    const struct vocabulary *const v = rules;
    const size_t n = (size_t)left->n + right->n;
    if (left->pos + left->n != right->pos) return false;
    for (int32_t i = 0; i < N_TOKENS; i++)
        if (strlen(v->text[i]) == n && memcmp(v->text[i], word + left->pos, n) == 0) {
            *rank = v->rank[i], *id = i;
            return true;
        }
    return false;
}

// A symbol is a letter, "xxx" as a whole, or with `skips` not even that.
static size_t add_symbols(const void *rules, struct merger *m, const char *word, size_t begin, size_t end, size_t n) {
    const struct vocabulary *const v = rules;
    size_t i = begin;
    for (size_t len; i < end; i += len) {
        len = word[i] == 'x' && n - i >= MAX_CHAR ? MAX_CHAR : 1;
        if (!(v->skips && word[i] == 'z')) merger_add(m, (uint32_t)i, (uint32_t)len, -1);
    }
    return i;
}

static bool emit(void *user, const char *word, size_t pos, size_t end, size_t n, int32_t id) {
    struct id_list *const l = user;
    (void)word;
    return id_list_add(l, (int32_t)pos) && id_list_add(l, (int32_t)end) && id_list_add(l, (int32_t)n) &&
           id_list_add(l, id);
}

static struct id_list encode(struct merger *m, const struct vocabulary *v, const char *word, size_t n,
                             size_t window) {
    const struct window_rules rules = {v, add_symbols, joins, emit};
    struct id_list l = {0};
    CHECK(windows_encode(m, &rules, word, n, window, &l));
    return l;
}

static void make_word(uint64_t seed, char *word, size_t n) {
    const size_t period = seed % 4 ? n : 1 + draw(&seed, 40); // every fourth word repeats itself
    for (size_t i = 0; i < n; i++)
        word[i] = i >= period            ? word[i - period]
                  : draw(&seed, 90) == 0 ? "xz"[draw(&seed, 2)]
                                         : (char)('a' + draw(&seed, 2));
    for (size_t i = 0; i + MAX_CHAR <= n; i++) // "xxx" only
        if (word[i] == 'x') memset(word + i, 'x', MAX_CHAR), i += MAX_CHAR - 1;
}

TEST(a_long_word_in_windows_is_what_one_run_over_it_gives) {
    static const size_t windows[] = {16, 33, 64, 200};
    static char word[WORD];
    static struct vocabulary v;
    for (uint64_t seed = 1; seed <= 120; seed++) {
        const size_t n = WORD - draw(&(uint64_t){seed}, WORD / 2);
        struct merger one = {0}, in_windows = {0};
        make(&v, seed);
        make_word(seed, word, n);
        const struct id_list want = encode(&one, &v, word, n, WORD);
        for (size_t k = 0; k < sizeof windows / sizeof *windows; k++) {
            const struct id_list got = encode(&in_windows, &v, word, n, windows[k]);
            check_note("seed %d, %zu bytes, windows of %zu: %zu numbers, %zu at once", (int)seed, n, windows[k],
                       got.n, want.n);
            if (CHECK_INT(got.n, want.n)) CHECK(memcmp(got.ids, want.ids, want.n * sizeof *want.ids) == 0);
            mem_free(got.ids);
        }
        mem_free(want.ids);
        merger_free(&one);
        merger_free(&in_windows);
    }
}
