// decoding/draft/ngram_cache_drafter.c - see ngram_cache_drafter.h.
//
// The rule is that of llama.cpp's common_ngram_cache_draft(). A chain grows token by token: from the text's own counts, longest string first, with
// lax thresholds; else from finished answers, then from the file, with strict ones; else from what followed the last two tokens in the file, with
// lax ones. Counts of the text, of answers and of the file are weighted by what followed the last two tokens in the file. llama.cpp has two files, a
// dynamic and a static one: here one is both, which gives the same guesses for one that has strings of two tokens only.
#include "decoding/draft/ngram_cache_drafter.h"
#include "base/mem.h"
#include "decoding/draft/ngram_counts.h"
#include "decoding/draft/ngram_table.h"
#include "decoding/draft/output_store.h"
#include <string.h>

enum {
    MOST_ADDED = 2048,  // tokens of a long prompt that one draft counts
    STORE_WORK = 32,    // tokens of finished answers that one draft indexes
    STATIC_ORDER = 2,   // tokens of a string that weighs the others
    STATIC_WEIGHT = 100 // of a count there
};

// What a string must have been followed by, by the number of its tokens - 1: times at least, and per cent of them by the token that is guessed.
struct thresholds {
    int32_t sums[NGRAM_ORDER], percents[NGRAM_ORDER];
};
static const struct thresholds lax = {{2, 2, 1, 1}, {66, 50, 50, 50}}, strict = {{4, 3, 2, 2}, {75, 66, 66, 66}};

// Guesses are of classes by their source, the string's tokens, and how sure the counts are; shares before any was seen.
enum { OF_TEXT, OF_OTHERS, OF_PAIRS = 2, N_CLASSES = 2 * 2 * NGRAM_ORDER + 2 };
static const float first_shares[N_CLASSES] = {
    0.05F, 0.1F,  0.1F,  0.2F,
    0.15F, 0.3F,  0.25F, 0.45F, // of the text: behind 1, 2, 3, 4 tokens, each unsure and sure
    0.1F,  0.25F, 0.2F,  0.35F,
    0.3F,  0.5F,  0.4F,  0.65F, // of answers and the file
    0.15F, 0.35F,               // of the file, behind two tokens
};
_Static_assert((int)N_CLASSES <= (int)DRAFT_CLASSES, "classes of all guesses");
// A chain ends where it is right so far less often than this.
static const double least_reach = 0.02;

struct ngram_cache_drafter {
    drafter base;
    struct ngram_counts own;
    const int32_t *text;            // lent
    const struct ngram_table *file; // lent; NULL: none
    struct output_view outputs;     // lent; its store NULL: there is none
};

// The end of the text with what was guessed behind it, and where the last look was.
struct look {
    const struct ngram_cache_drafter *d;
    int32_t tail[NGRAM_ORDER], n_tail;
    const struct ngram_pair *weights; // what followed the last two tokens in the file
    int32_t n_weights, root;
    int32_t own;                     // a string of the text
    const struct ngram_entry *entry; // of the file
    struct suffix_walk walk;         // in finished answers
};

// A place to look in: what followed the last n tokens, sum 0 if nothing did; then how often a token did.
struct source {
    struct ngram_best (*best)(struct look *l, int32_t n);
    int32_t (*count)(const struct look *l, int32_t token);
    const struct thresholds *least;
    int32_t class;
};

static const int32_t *last(const struct look *l, int32_t n) { return l->tail + l->n_tail - n; }

static struct ngram_best best_of_text(struct look *l, int32_t n) {
    l->own = ngram_counts_find(&l->d->own, l->d->text, last(l, n), n);
    return l->own < 0 ? (struct ngram_best){0} : ngram_counts_best(&l->d->own, l->own);
}
static int32_t count_of_text(const struct look *l, int32_t token) {
    return ngram_counts_of(&l->d->own, l->own, token);
}

static struct ngram_best best_of_answers(struct look *l, int32_t n) {
    struct ngram_best best = {0};
    int32_t of;
    if (l->root == SUFFIX_NONE) return best;
    const struct suffix_trie *const trie = output_store_trie(l->d->outputs.store);
    if (suffix_walk_begin(trie, l->root, last(l, n), n, &l->walk) &&
        suffix_walk_best(trie, &l->walk, &best.token, &best.count, &of))
        best.sum = of;
    return best;
}
static int32_t count_of_answers(const struct look *l, int32_t token) {
    return suffix_walk_count(output_store_trie(l->d->outputs.store), &l->walk, token);
}

static struct ngram_best best_of_file(struct look *l, int32_t n) {
    l->entry = l->d->file ? ngram_table_find(l->d->file, last(l, n), n) : NULL;
    if (!l->entry) return (struct ngram_best){0};
    const struct ngram_pair *const p = ngram_table_pairs(l->d->file, l->entry);
    return (struct ngram_best){p->token, p->count, l->entry->sum};
}
static int32_t count_of_file(const struct look *l, int32_t token) {
    const struct ngram_pair *const p = ngram_table_pairs(l->d->file, l->entry);
    for (int32_t i = 0; i < l->entry->n; i++)
        if (p[i].token == token) return p[i].count;
    return 0;
}

static const struct source sources[] = {
    {best_of_text, count_of_text, &lax, OF_TEXT},
    {best_of_answers, count_of_answers, &strict, OF_OTHERS},
    {best_of_file, count_of_file, &strict, OF_OTHERS},
};

static bool is_enough(const struct thresholds *t, int32_t n, int64_t count, int64_t sum) {
    return sum >= t->sums[n - 1] && 100 * count >= t->percents[n - 1] * sum;
}

// The token with the highest count times weight. Of those without a weight it can only be the most frequent one.
static struct ngram_best weigh(const struct look *l, const struct source *s, struct ngram_best best) {
    struct ngram_best heaviest = best;
    int64_t most = -1;
    for (int32_t i = 0; i < l->n_weights; i++) {
        const int32_t count = s->count(l, l->weights[i].token);
        const int64_t weight = (int64_t)count * l->weights[i].count * STATIC_WEIGHT;
        if (count > 0 && weight > most) most = weight, heaviest.token = l->weights[i].token, heaviest.count = count;
    }
    return most >= best.count ? heaviest : best;
}

static int32_t class_of(int32_t source, int32_t n, const struct ngram_best *b) {
    const bool is_sure = b->sum >= 3 && 10 * (int64_t)b->count >= 9 * b->sum;
    return 2 * (NGRAM_ORDER * source + n - 1) + is_sure;
}

// Returns the class of the token that follows; -1: none does often enough.
static int32_t guess_next(struct look *l, int32_t *token) {
    const struct ngram_entry *const pair = l->d->file && l->n_tail >= STATIC_ORDER
                                               ? ngram_table_find(l->d->file, last(l, STATIC_ORDER), STATIC_ORDER)
                                               : NULL;
    l->weights = pair ? ngram_table_pairs(l->d->file, pair) : NULL;
    l->n_weights = pair ? pair->n : 0;
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        for (int32_t n = l->n_tail; n >= 1; n--) {
            struct ngram_best b = sources[i].best(l, n);
            if (b.sum == 0 || !is_enough(sources[i].least, n, b.count, b.sum)) continue; // then no token is
            b = weigh(l, &sources[i], b);
            if (!is_enough(sources[i].least, n, b.count, b.sum)) continue;
            *token = b.token;
            return class_of(sources[i].class, n, &b);
        }
    if (!pair || !is_enough(&lax, STATIC_ORDER, l->weights[0].count, pair->sum)) return -1;
    const struct ngram_best b = {l->weights[0].token, l->weights[0].count, pair->sum};
    *token = b.token;
    return class_of(OF_PAIRS, 1, &b);
}

static void go_on(struct look *l, int32_t token) {
    if (l->n_tail == NGRAM_ORDER) memmove(l->tail, l->tail + 1, (size_t)--l->n_tail * sizeof *l->tail);
    l->tail[l->n_tail++] = token;
}

static void draft(drafter *base, int32_t n, struct draft *out) {
    struct ngram_cache_drafter *d = (struct ngram_cache_drafter *)base;
    struct look l = {.d = d, .root = SUFFIX_NONE};
    double reach = 1;
    out->n = 0;
    if (d->outputs.store) {
        output_store_work(d->outputs.store, STORE_WORK);
        l.root = output_store_root(d->outputs.store, &d->outputs.owner);
    }
    if (!ngram_counts_add(&d->own, d->text, n, MOST_ADDED)) return;
    for (int32_t i = n < NGRAM_ORDER ? 0 : n - NGRAM_ORDER; i < n; i++) go_on(&l, d->text[i]);
    while (out->n < DRAFT_MOST) {
        int32_t token;
        const int32_t class = guess_next(&l, &token);
        if (class < 0) return;
        reach *= (double)draft_odds_of(&base->odds, class);
        if (out->n > 0 && reach < least_reach) return;
        draft_add(out, token, out->n - 1, class);
        go_on(&l, token);
    }
}

static void cut(drafter *base, int32_t n) {
    struct ngram_cache_drafter *d = (struct ngram_cache_drafter *)base;
    ngram_counts_cut(&d->own, d->text, n);
}

static void destroy(drafter *base) {
    ngram_counts_free(&((struct ngram_cache_drafter *)base)->own);
    mem_free(base);
}

static const struct drafter_ops ops = {.draft = draft, .cut = cut, .destroy = destroy};

rn_status ngram_cache_drafter_create(const struct drafter_spec *spec, drafter **out, rn_error *err) {
    struct ngram_cache_drafter *d = mem_calloc(1, sizeof *d);
    *out = NULL;
    if (!d) return fail(err, RN_E_NOMEM, "ngram-cache: out of memory");
    d->base.ops = &ops;
    d->text = spec->text;
    d->file = spec->ngrams;
    if (spec->outputs) d->outputs = *spec->outputs;
    draft_odds_init(&d->base.odds, first_shares, N_CLASSES);
    const rn_status st = ngram_counts_init(&d->own, spec->n_text_most, err);
    if (st == RN_OK)
        *out = &d->base;
    else
        mem_free(d);
    return st;
}
