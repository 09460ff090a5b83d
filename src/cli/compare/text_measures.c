// cli/compare/text_measures.c - see text_measures.h.
#include "cli/compare/text_measures.h"
#include "app/bytes.h"
#include "app/memory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- words ----------------------------------------------------------------------------------------------------------

enum kind { KIND_SPACE, KIND_LETTER, KIND_ALONE };

static const struct {
    uint32_t last; // of a range that begins behind the previous one
    enum kind kind;
} ranges[] = {
    {0x20, KIND_SPACE},    {0x2F, KIND_ALONE},   {0x39, KIND_LETTER},  {0x40, KIND_ALONE},     {0x5A, KIND_LETTER},
    {0x60, KIND_ALONE},    {0x7A, KIND_LETTER},  {0x7F, KIND_ALONE},   {0xA0, KIND_SPACE},     {0xBF, KIND_ALONE},
    {0x1FFF, KIND_LETTER}, {0x200B, KIND_SPACE}, {0x2027, KIND_ALONE}, {0x2029, KIND_SPACE},   {0x2BFF, KIND_ALONE},
    {0x2DFF, KIND_LETTER}, {0x2FFF, KIND_ALONE}, {0x3000, KIND_SPACE}, {0x10FFFF, KIND_ALONE},
};

static uint32_t code_of(const char *text, size_t n) {
    static const unsigned char masks[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    uint32_t c = (unsigned char)text[0] & masks[n];
    for (size_t i = 1; i < n; i++) c = c << 6 | ((unsigned char)text[i] & 0x3F);
    return c;
}

static enum kind kind_of(const char *text, size_t n, size_t *n_bytes) {
    *n_bytes = character_length(text, n);
    if (*n_bytes == 0) {
        *n_bytes = 1;
        return KIND_LETTER;
    }
    const uint32_t c = code_of(text, *n_bytes);
    size_t i = 0;
    while (c > ranges[i].last) i++;
    return ranges[i].kind;
}

// The words met so far, by their hash (open addressing; the number of places is a power of two).
struct dictionary {
    text_span *words; // [n]
    int32_t *places;  // [n_places] numbers of words; -1: free
    size_t n, n_places;
};

static size_t find_place(const struct dictionary *d, text_span word) {
    uint64_t hash = 14695981039346656037U; // FNV-1a
    for (size_t i = 0; i < word.n; i++) hash = (hash ^ (unsigned char)word.text[i]) * 1099511628211U;
    for (size_t at = (size_t)hash;; at++) {
        const int32_t i = d->places[at & (d->n_places - 1)];
        if (i < 0 || (d->words[i].n == word.n && memcmp(d->words[i].text, word.text, word.n) == 0))
            return at & (d->n_places - 1);
    }
}

static int32_t number_of(struct dictionary *d, text_span word) {
    const size_t place = find_place(d, word);
    if (d->places[place] < 0) {
        d->words[d->n] = word;
        d->places[place] = (int32_t)d->n++;
    }
    return d->places[place];
}

static void cut(struct dictionary *d, text_span text, text_words *to) {
    to->ids = app_alloc((text.n + 1) * sizeof *to->ids);
    for (size_t at = 0, n; at < text.n;) {
        const size_t from = at;
        const enum kind kind = kind_of(text.text + at, text.n - at, &n);
        at += n;
        while (kind == KIND_LETTER && at < text.n && kind_of(text.text + at, text.n - at, &n) == KIND_LETTER) at += n;
        if (kind != KIND_SPACE) to->ids[to->n++] = number_of(d, (text_span){text.text + from, at - from});
    }
}

void text_words_make(const text_span *texts, size_t n, text_words *words) {
    struct dictionary d = {.n_places = 64};
    size_t n_bytes = 1;
    for (size_t i = 0; i < n; i++) n_bytes += texts[i].n;
    while (d.n_places < 2 * n_bytes) d.n_places *= 2; // a word has a byte at least
    d.words = app_alloc(n_bytes * sizeof *d.words);
    d.places = app_alloc(d.n_places * sizeof *d.places);
    memset(d.places, 0xFF, d.n_places * sizeof *d.places);
    for (size_t i = 0; i < n; i++) {
        words[i] = (text_words){0};
        cut(&d, texts[i], &words[i]);
    }
    free(d.words);
    free(d.places);
}

void text_words_free(text_words *words, size_t n) {
    for (size_t i = 0; i < n; i++) free(words[i].ids);
}

// ---- n-grams --------------------------------------------------------------------------------------------------------

// The n-grams of a text in order: equal ones stand together.
struct grams {
    const int32_t **at; // [n] their first words
    size_t n, order;
};

static int compare_grams(const void *a, const void *b, void *order) {
    const int32_t *const x = *(const int32_t *const *)a, *const y = *(const int32_t *const *)b;
    for (size_t i = 0; i < *(const size_t *)order; i++)
        if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
    return 0;
}

static struct grams grams_make(const text_words *w, size_t order) {
    struct grams g = {.n = w->n < order ? 0 : w->n - order + 1, .order = order};
    g.at = app_alloc((g.n + 1) * sizeof *g.at);
    for (size_t i = 0; i < g.n; i++) g.at[i] = w->ids + i;
    if (g.n) qsort_r(g.at, g.n, sizeof *g.at, compare_grams, &g.order);
    return g;
}

// The end of the n-grams that equal the one at `from`.
static size_t grams_end(const struct grams *g, size_t from) {
    size_t order = g->order, to = from;
    while (to < g->n && compare_grams(&g->at[from], &g->at[to], &order) == 0) to++;
    return to;
}

// How often an n-gram of another text occurs in this one.
static size_t grams_count(const struct grams *g, const int32_t *gram) {
    size_t low = 0, high = g->n, order = g->order;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (compare_grams(&g->at[middle], &gram, &order) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < g->n && compare_grams(&g->at[low], &gram, &order) == 0 ? grams_end(g, low) - low : 0;
}

double text_distinct(const text_words *w, size_t order) {
    const struct grams g = grams_make(w, order);
    size_t n_distinct = 0;
    for (size_t at = 0; at < g.n; at = grams_end(&g, at)) n_distinct++;
    free(g.at);
    return g.n ? (double)n_distinct / (double)g.n : NAN;
}

double text_repetition(const text_words *w) { return 1 - text_distinct(w, REPETITION_ORDER); }

// ---- BLEU -----------------------------------------------------------------------------------------------------------

// n-grams of text i that occur in another text, each at most as often as in the one that has it most often; *total: all of its n-grams.
static size_t matches(const text_words *words, size_t n, size_t i, size_t order, size_t *total) {
    struct grams *const all = app_alloc(n * sizeof *all);
    size_t n_matches = 0;
    for (size_t k = 0; k < n; k++) all[k] = grams_make(&words[k], order);
    const struct grams *const own = &all[i];
    *total = own->n;
    for (size_t from = 0, to; from < own->n; from = to) {
        size_t most = 0;
        to = grams_end(own, from);
        for (size_t k = 0; k < n; k++) {
            const size_t count = k == i ? 0 : grams_count(&all[k], own->at[from]);
            if (count > most) most = count;
        }
        n_matches += most < to - from ? most : to - from;
    }
    for (size_t k = 0; k < n; k++) free(all[k].at);
    free(all);
    return n_matches;
}

// The length among the other texts that is closest to this one's; of two the shorter one.
static size_t closest_length(const text_words *words, size_t n, size_t i) {
    size_t best = SIZE_MAX, best_off = SIZE_MAX;
    for (size_t k = 0; k < n; k++) {
        const size_t a = words[k].n, b = words[i].n, off = a < b ? b - a : a - b;
        if (k != i && (off < best_off || (off == best_off && a < best))) best = a, best_off = off;
    }
    return best;
}

double text_bleu(const text_words *words, size_t n, size_t i) {
    double sum = 0;
    if (n < 2 || words[i].n == 0) return NAN;
    for (size_t order = 1; order <= BLEU_ORDER; order++) {
        size_t total;
        const size_t found = matches(words, n, i, order, &total), more = order > 1;
        if (found + more == 0) return 0;
        sum += log((double)(found + more) / (double)(total + more));
    }
    const double own = (double)words[i].n, other = (double)closest_length(words, n, i);
    return exp(sum / BLEU_ORDER + (own < other ? 1 - other / own : 0));
}

size_t text_common(text_span a, text_span b) {
    size_t n = 0;
    while (n < a.n && n < b.n && a.text[n] == b.text[n]) n++;
    // Back to the beginning of a character.
    while (n > 0 && ((n < a.n && ((unsigned char)a.text[n] & 0xC0) == 0x80) ||
                     (n < b.n && ((unsigned char)b.text[n] & 0xC0) == 0x80)))
        n--;
    return n;
}
