// tests/decoding/ngram_cache_test.c - counts of what followed what against a search through the whole text, and chains of guesses against llama.cpp's
// rule, written down once more.
#include "base/mem.h"
#include "base/philox.h"
#include "decoding/draft/drafter.h"
#include "decoding/draft/ngram_counts.h"
#include "decoding/draft/ngram_table.h"
#include "decoding/draft/output_store.h"
#include "tests/check.h"
#include <string.h>

enum { MOST = 600, SYMBOLS = 12, OTHERS = 400 };

struct dice {
    uint64_t seed;
    uint32_t n;
};
static int32_t roll(struct dice *d, int32_t n) {
    return (int32_t)(philox_uniform(d->seed, 0, d->n++, PHILOX_TEST) * n);
}

// How often each token followed a string in a text; the sum of all.
static int64_t search(const int32_t *text, int32_t n_text, const int32_t *string, int32_t n,
                      int32_t counts[SYMBOLS]) {
    int64_t sum = 0;
    memset(counts, 0, SYMBOLS * sizeof *counts);
    for (int32_t i = n; i < n_text; i++)
        if (memcmp(text + i - n, string, (size_t)n * sizeof *string) == 0) counts[text[i]]++, sum++;
    return sum;
}

static int32_t highest(const int32_t counts[SYMBOLS]) {
    int32_t most = 0;
    for (int i = 0; i < SYMBOLS; i++) most = counts[i] > most ? counts[i] : most;
    return most;
}

// Texts over 1 to 12 symbols that grow and are cut at random places.
TEST(the_counts_are_those_of_a_search_of_the_whole_text) {
    int n_found = 0, n_cut = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct dice d = {seed, 0};
        int32_t text[MOST], n = 0, counts[SYMBOLS];
        const int32_t n_symbols = 1 + roll(&d, SYMBOLS);
        struct ngram_counts c;
        rn_error err = {0};
        if (!CHECK_OK(ngram_counts_init(&c, MOST, &err), &err)) return;
        for (int i = 0; i < 40; i++) {
            if (n > 0 && roll(&d, 4) == 0) {
                n = roll(&d, n + 1);
                ngram_counts_cut(&c, text, n);
                n_cut++;
            }
            const int32_t n_more = 1 + roll(&d, 14);
            for (int32_t k = 0; k < n_more; k++) text[n++] = roll(&d, n_symbols);
            if (!CHECK(ngram_counts_add(&c, text, n, MOST))) return;
            check_note("seed %d, step %d, %d tokens", (int)seed, i, n);
            for (int32_t k = 1; k <= NGRAM_ORDER; k++) {
                const int32_t at = k + roll(&d, n - k + 1 > 0 ? n - k + 1 : 1);
                if (at > n) continue;
                const int32_t string = ngram_counts_find(&c, text, text + at - k, k);
                const int64_t sum = search(text, n, text + at - k, k, counts);
                if (!CHECK((string < 0) == (sum == 0))) return;
                if (string < 0) continue;
                const struct ngram_best best = ngram_counts_best(&c, string);
                if (!CHECK_INT(best.sum, sum) || !CHECK_INT(best.count, highest(counts)) ||
                    !CHECK_INT(counts[best.token], best.count))
                    return;
                for (int32_t t = 0; t < SYMBOLS; t++)
                    if (!CHECK_INT(ngram_counts_of(&c, string, t), counts[t])) return;
                n_found++;
            }
        }
        ngram_counts_free(&c);
    }
    CHECK(n_found > 5000 && n_cut > 300);
}

TEST(a_long_prompt_is_counted_a_part_at_a_time_and_no_further_than_there_is_room) {
    const int32_t text[] = {1, 2, 1, 2, 1, 2, 1, 2};
    struct ngram_counts c;
    rn_error err = {0};
    if (!CHECK_OK(ngram_counts_init(&c, 6, &err), &err)) return;
    CHECK(!ngram_counts_add(&c, text, 8, 4));
    CHECK_INT(c.n, 4);
    CHECK(ngram_counts_add(&c, text, 8, 4));
    CHECK_INT(c.n, 6);
    CHECK_INT(ngram_counts_best(&c, ngram_counts_find(&c, text, text, 2)).sum, 2);
    ngram_counts_free(&c);
}

// ---- the rule -------------------------------------------------------------------------------------------------------

struct world {
    int32_t text[MOST], n;            // of the stream
    int32_t others[OTHERS], n_others; // a finished answer
    int32_t corpus[OTHERS], n_corpus; // what the file was made of
    int32_t file_least, file_most;    // tokens of its strings
};

static const int32_t lax_sums[] = {2, 2, 1, 1}, lax_percents[] = {66, 50, 50, 50};
static const int32_t strict_sums[] = {4, 3, 2, 2}, strict_percents[] = {75, 66, 66, 66};

// Is the token one of those with the highest weighted count that qualify? *all: all of those qualify.
static bool may_be(const int32_t counts[SYMBOLS], int64_t sum, const int32_t weights[SYMBOLS], int32_t least_sum,
                   int32_t least_percent, int32_t token, bool *all) {
    int64_t most = 0;
    bool is_one = false;
    *all = true;
    for (int i = 0; i < SYMBOLS; i++) {
        const int64_t w = (int64_t)counts[i] * (weights[i] ? 100 * weights[i] : 1);
        most = w > most ? w : most;
    }
    for (int i = 0; i < SYMBOLS; i++) {
        if (counts[i] == 0 || (int64_t)counts[i] * (weights[i] ? 100 * weights[i] : 1) != most) continue;
        const bool qualifies = sum >= least_sum && 100 * counts[i] >= least_percent * sum;
        *all &= qualifies;
        is_one |= qualifies && i == token;
    }
    if (most == 0) *all = false;
    return is_one;
}

// May the token follow what was guessed so far? token -1: may the chain end there?
static bool follows(const struct world *w, const int32_t *tail, int32_t n_tail, int32_t token) {
    int32_t weights[SYMBOLS] = {0}, counts[SYMBOLS];
    bool all;
    const bool has_pairs = w->file_least <= 2 && w->file_most >= 2;
    const int64_t n_weights =
        has_pairs && n_tail >= 2 ? search(w->corpus, w->n_corpus, tail + n_tail - 2, 2, weights) : 0;
    const struct {
        const int32_t *text;
        int32_t n, least, most;
        const int32_t *sums, *percents;
    } sources[] = {{w->text, w->n, 1, 4, lax_sums, lax_percents},
                   {w->others, w->n_others, 1, 4, strict_sums, strict_percents},
                   {w->corpus, w->n_corpus, w->file_least, w->file_most, strict_sums, strict_percents}};
    for (int s = 0; s < 3; s++)
        for (int32_t n = n_tail < 4 ? n_tail : 4; n >= 1; n--) {
            if (n < sources[s].least || n > sources[s].most) continue;
            const int64_t sum = search(sources[s].text, sources[s].n, tail + n_tail - n, n, counts);
            // In finished answers a string also counts where the answer ends behind it.
            const int32_t *const end = sources[s].text + sources[s].n - n;
            const bool is_end =
                s == 1 && sources[s].n >= n && memcmp(end, tail + n_tail - n, (size_t)n * sizeof *tail) == 0;
            if (may_be(counts, sum + (sum > 0 && is_end), weights, sources[s].sums[n - 1], sources[s].percents[n - 1],
                       token, &all))
                return true;
            if (all) return false;
        }
    const int32_t most = highest(weights);
    const bool qualifies = n_weights >= 2 && 100 * (int64_t)most >= 50 * n_weights;
    return token < 0 ? !qualifies : qualifies && weights[token] == most;
}

static struct ngram_table *table_of(const struct world *w) {
    struct ngram_table *t;
    rn_error err = {0};
    if (!CHECK_OK(ngram_table_create(4 * OTHERS, 4 * OTHERS, &t, &err), &err)) return NULL;
    for (int32_t n = w->file_least; n <= w->file_most; n++)
        for (int32_t i = n; i < w->n_corpus; i++) {
            int32_t counts[SYMBOLS], string[NGRAM_ORDER] = {-1, -1, -1, -1}, n_pairs = 0;
            struct ngram_pair pairs[SYMBOLS];
            const int64_t sum = search(w->corpus, w->n_corpus, w->corpus + i - n, n, counts);
            memcpy(string, w->corpus + i - n, (size_t)n * sizeof *string);
            for (int32_t c = w->n_corpus; c > 0; c--)
                for (int32_t k = 0; k < SYMBOLS; k++)
                    if (counts[k] == c) pairs[n_pairs++] = (struct ngram_pair){k, c};
            CHECK(ngram_table_add(t, string, pairs, n_pairs, sum) || ngram_table_find(t, string, n));
        }
    return t;
}

static void any_text(struct dice *d, int32_t *text, int32_t n, int32_t n_symbols) {
    for (int32_t i = 0; i < n; i++) // some of it repeats
        text[i] = i > 4 && roll(d, 3) ? text[i - 4 + roll(d, 2)] : roll(d, n_symbols);
}

// Where all shares are 1, so that chains end where no token qualifies.
TEST(chains_are_those_of_llama_cpps_rule) {
    int n_guesses = 0, n_empty = 0, n_long = 0;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct dice d = {seed, 0};
        struct world w = {.n = roll(&d, 90)};
        const int32_t n_symbols = 2 + roll(&d, SYMBOLS - 1);
        if (roll(&d, 2)) w.n_others = 1 + roll(&d, OTHERS - 1);
        if (roll(&d, 2)) w.n_corpus = 1 + roll(&d, OTHERS - 1);
        w.file_least = 1 + roll(&d, 4), w.file_most = w.file_least + roll(&d, 5 - w.file_least);
        any_text(&d, w.text, w.n, n_symbols);
        any_text(&d, w.others, w.n_others, n_symbols);
        any_text(&d, w.corpus, w.n_corpus, n_symbols);

        rn_error err = {0};
        drafter *x;
        struct output_view view = {.owner = {1, 2, 3}};
        struct ngram_table *const table = w.n_corpus ? table_of(&w) : NULL;
        if (w.n_others) {
            if (!CHECK_OK(output_store_create(OUTPUT_STORE_LEAST, &view.store, &err), &err)) return;
            output_store_add(view.store, &view.owner, w.others, w.n_others);
            while (output_store_work(view.store, 1000)) continue;
        }
        const struct drafter_kind *const kind = drafter_find("ngram-cache", strlen("ngram-cache"));
        const struct drafter_spec spec = {.text = w.text,
                                          .n_text_most = MOST,
                                          .n_prompt = w.n,
                                          .n_vocab = SYMBOLS,
                                          .outputs = w.n_others ? &view : NULL,
                                          .ngrams = table};
        if (!CHECK(kind) || !CHECK_OK(kind->create(&spec, &x, &err), &err)) return;
        for (int i = 0; i < DRAFT_CLASSES; i++) x->odds.right[i] = x->odds.seen[i];
        struct draft out;
        x->ops->draft(x, w.n, &out);
        int32_t tail[4 + DRAFT_MOST], n_tail = w.n < 4 ? w.n : 4;
        memcpy(tail, w.text + w.n - n_tail, (size_t)n_tail * sizeof *tail);
        for (int32_t i = 0; i < out.n; i++) {
            check_note("seed %d, guess %d", (int)seed, i);
            CHECK_INT(out.parents[i], i - 1);
            if (!CHECK(follows(&w, tail, n_tail, out.tokens[i]))) return;
            tail[n_tail++] = out.tokens[i];
        }
        check_note("seed %d, the end after %d", (int)seed, out.n);
        if (out.n < DRAFT_MOST && !CHECK(follows(&w, tail, n_tail, -1))) return;
        n_guesses += out.n, n_empty += out.n == 0, n_long += out.n == DRAFT_MOST;
        x->ops->destroy(x);
        ngram_table_destroy(table);
        output_store_destroy(view.store);
    }
    CHECK(n_guesses > 2000 && n_empty > 40 && n_long > 20);
}

TEST(what_does_not_fit_in_memory_is_said) {
    rn_error err = {0};
    struct ngram_counts c;
    struct ngram_table *t;
    const long live = mem_live();
    for (long n = 1; n <= 4; n++) {
        mem_fail_after(n);
        CHECK_INT(ngram_counts_init(&c, 100, &err), RN_E_NOMEM);
        mem_fail_after(n);
        CHECK_INT(ngram_table_create(100, 100, &t, &err), RN_E_NOMEM);
        mem_fail_after(0);
        CHECK_INT(mem_live(), live);
    }
}
