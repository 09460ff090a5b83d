// tokenizer/windows.c - see windows.h.
#include "tokenizer/windows.h"
#include "base/hash.h"
#include "base/mem.h"
#include <string.h>

// A window's result counts up to an eighth of its bytes before its end: what follows the window rarely changes more. KEY_MORE: a
// symbol may reach so far behind the window.
enum { TAILS = 8, KEY_MORE = 8, N_KEPT = 16 };

struct segment {
    uint32_t pos, n; // from the window's begin; its own bytes
    int32_t id;
};

struct window {
    size_t n;          // bytes from its begin to its end
    size_t n_counted;  // bytes that count: the next window begins there
    size_t n_expected; // bytes of the segment behind them, as this window sees it; 0: nothing counts
    struct segment *segments;
    size_t n_segments, cap;
    // Of a window of the usual size that has others behind it; key NULL: none. In the word.
    const char *key;
    uint64_t hash;
};

struct windows {
    struct window kept[N_KEPT]; // in turn
    struct window large;
    size_t next;
};

void windows_free(struct windows *w) {
    if (!w) return;
    for (size_t i = 0; i < N_KEPT; i++) mem_free(w->kept[i].segments);
    mem_free(w->large.segments);
    mem_free(w);
}

struct run {
    struct merger *m;
    const struct window_rules *r;
    const char *word;
    size_t n, window;
    void *user;
};

// Merges word[begin..end); *end becomes where its last symbol ends.
static bool merge(const struct run *x, size_t begin, size_t *end) {
    if (!merger_begin(x->m, *end - begin + KEY_MORE)) return false;
    *end = x->r->add_symbols(x->r->rules, x->m, x->word, begin, *end, x->n);
    if (x->m->n_symbols) merger_run(x->m, x->word, x->r->joins, x->r->rules);
    return true;
}

static size_t end_of(const struct merger *m, const struct merge_symbol *s, size_t end) {
    return s->next >= 0 ? m->symbols[s->next].pos : end;
}

static bool add_segment(struct window *w, struct segment s) {
    if (w->n_segments == w->cap) {
        const size_t cap = w->cap ? 2 * w->cap : 64;
        struct segment *const grown = mem_realloc(w->segments, cap * sizeof *grown);
        if (!grown) return false;
        w->segments = grown;
        w->cap = cap;
    }
    w->segments[w->n_segments++] = s;
    return true;
}

static bool fill(const struct run *x, struct window *w, size_t begin, size_t size) {
    size_t end = size < x->n - begin ? begin + size : x->n;
    w->n_segments = 0;
    w->key = NULL;
    w->n_counted = w->n_expected = 0;
    if (!merge(x, begin, &end)) return false;
    const struct merger *const m = x->m;
    const size_t border = end == x->n ? end : end - size / TAILS;
    w->n = end - begin;
    for (int32_t i = m->n_symbols ? 0 : -1; i >= 0 && w->n_expected == 0; i = m->symbols[i].next) {
        const struct merge_symbol *const s = &m->symbols[i];
        const size_t behind = end_of(m, s, end);
        if (behind <= border) {
            if (!add_segment(w, (struct segment){(uint32_t)(s->pos - begin), s->n, s->id})) return false;
            w->n_counted = behind - begin;
        } else
            w->n_expected = behind - begin - w->n_counted;
    }
    if (end == x->n) w->n_counted = w->n;
    return true;
}

static struct window *find_equal(struct windows *all, const char *key, size_t n_key, uint64_t hash) {
    for (size_t i = 0; i < N_KEPT; i++)
        if (all->kept[i].key && all->kept[i].hash == hash && memcmp(all->kept[i].key, key, n_key) == 0)
            return &all->kept[i];
    return NULL;
}

// The window of the usual size at `begin`, not in place of `before`; NULL: out of memory.
static struct window *window_at(const struct run *x, size_t begin, const struct window *before) {
    struct windows *const all = x->m->windows;
    const char *const key = x->word + begin;
    const size_t n_key = x->window + KEY_MORE;
    const bool has_key = x->n - begin > n_key;
    const uint64_t hash = has_key ? hash_bytes(key, n_key, 0) : 0;
    struct window *w = has_key ? find_equal(all, key, n_key, hash) : NULL;
    if (w) return w;
    w = &all->kept[all->next++ % N_KEPT];
    if (w == before) w = &all->kept[all->next++ % N_KEPT];
    if (!fill(x, w, begin, x->window)) return NULL;
    w->key = has_key ? key : NULL;
    w->hash = hash;
    return w;
}

static size_t segment_end(const struct window *w, size_t i) {
    return i + 1 < w->n_segments ? w->segments[i + 1].pos : w->n_counted;
}

// Do the windows meet where the whole word has a boundary too? *is_boundary; false: out of memory.
static bool check_border(const struct run *x, const struct window *w, size_t begin, const struct window *next,
                         bool *is_boundary) {
    const size_t border = begin + w->n_counted;
    const size_t n_first = next->n_segments ? segment_end(next, 0) : 0;
    *is_boundary = w->n_segments > 0 && n_first > 0;
    if (!*is_boundary || n_first == w->n_expected) return true;
    size_t end = border + n_first;
    if (!merge(x, begin + w->segments[w->n_segments - 1].pos, &end)) return false;
    const struct merge_symbol *const s = x->m->symbols;
    *is_boundary = s->next >= 0 && s[s->next].pos == border && s[s->next].next < 0;
    return true;
}

static bool emit_window(const struct run *x, const struct window *w, size_t begin) {
    for (size_t i = 0; i < w->n_segments; i++) {
        const struct segment *const s = &w->segments[i];
        if (!x->r->emit(x->user, x->word, begin + s->pos, begin + segment_end(w, i), s->n, s->id)) return false;
    }
    return true;
}

static bool encode_long(const struct run *x) {
    struct windows *const all = x->m->windows;
    struct window *w = window_at(x, 0, NULL);
    for (size_t begin = 0; w;) {
        if (begin + w->n_counted == x->n) return emit_window(x, w, begin);
        struct window *const next = w->n_counted ? window_at(x, begin + w->n_counted, w) : NULL;
        bool is_boundary = false;
        if (w->n_counted && (!next || !check_border(x, w, begin, next, &is_boundary))) return false;
        if (is_boundary) {
            if (!emit_window(x, w, begin)) return false;
            begin += w->n_counted;
            w = next;
        } else
            w = fill(x, &all->large, begin, 2 * w->n) ? &all->large : NULL;
    }
    return false;
}

bool windows_encode(struct merger *m, const struct window_rules *r, const char *word, size_t n, size_t window,
                    void *user) {
    const struct run x = {m, r, word, n, window, user};
    size_t end = n;
    if (n > 2 * window) {
        if (!m->windows && !(m->windows = mem_calloc(1, sizeof *m->windows))) return false;
        for (size_t i = 0; i < N_KEPT; i++) m->windows->kept[i].key = NULL; // they are another word's
        return encode_long(&x);
    }
    if (!merge(&x, 0, &end)) return false;
    for (int32_t i = m->n_symbols ? 0 : -1; i >= 0; i = m->symbols[i].next) {
        const struct merge_symbol *const s = &m->symbols[i];
        if (!r->emit(user, word, s->pos, end_of(m, s, end), s->n, s->id)) return false;
    }
    return true;
}
