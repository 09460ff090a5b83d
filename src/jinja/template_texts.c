// jinja/template_texts.c - builds strings and keeps track of the origin of their bytes; see
// template_render.h.
#include "base/mem.h"
#include "jinja/py_chars.h"
#include "jinja/template_render.h"
#include "text/utf8.h"

// ---- origins ------------------------------------------------------------------------------------

// The run with the byte at `at`, an offset within the runs.
static size_t run_at(const struct tv_runs *runs, size_t at) {
    size_t low = 0, high = runs->n - 1;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (runs->run[mid].end > at)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

bool tv_is_content(const tval *s, size_t at, size_t *end) {
    const struct tv_runs *const runs = s->str.runs;
    *end = s->str.n;
    if (!runs) return s->is_content;
    const struct tv_run *const run = &runs->run[run_at(runs, runs->base + at)];
    if (run->end - runs->base < *end) *end = run->end - runs->base;
    return run->is_content;
}

bool tv_any_content(const tval *s) {
    for (size_t at = 0, end; at < s->str.n; at = end)
        if (tv_is_content(s, at, &end)) return true;
    return false;
}

// ---- output buffer ------------------------------------------------------------------------------

static bool has_room(struct render *r, size_t n) {
    if (r->n_cuts == 0) {
        if (n <= r->limits.output_bytes - r->text.n) return true;
        return tr_limit(r, "an output of more than %zu bytes", r->limits.output_bytes) != NULL;
    }
    const size_t used = r->text.n - r->first_cut + r->n_bytes;
    if (used <= r->limits.memory_bytes && n <= r->limits.memory_bytes - used) return true;
    return tr_limit(r, "values of more than %zu bytes", r->limits.memory_bytes) != NULL;
}

static bool end_segment(struct render *r, bool is_content) {
    if (r->n_segments > 0 && r->segments[r->n_segments - 1].is_content == is_content) {
        r->segments[r->n_segments - 1].end = r->text.n;
        return true;
    }
    if (r->n_segments == r->max_segments) {
        const size_t max = 2 * r->max_segments + 64;
        struct template_segment *const more = mem_realloc(r->segments, max * sizeof *more);
        if (!more) return tr_no_memory(r) != NULL;
        r->segments = more;
        r->max_segments = max;
    }
    r->segments[r->n_segments++] = (struct template_segment){.end = r->text.n, .is_content = is_content};
    return true;
}

bool tr_put(struct render *r, const char *s, size_t n, bool is_content) {
    if (n == 0) return r->st == RN_OK;
    if (r->st != RN_OK || !has_room(r, n) || !tr_work_bytes(r, n)) return false;
    text_buf_add(&r->text, s, n);
    if (r->text.failed) return tr_no_memory(r) != NULL;
    return end_segment(r, is_content);
}

bool tr_put_part(struct render *r, const tval *s, size_t from, size_t to) {
    bool ok = r->st == RN_OK;
    for (size_t end; ok && from < to; from = end) {
        const bool is_content = tv_is_content(s, from, &end);
        if (end > to) end = to;
        ok = tr_put(r, s->str.s + from, end - from, is_content);
    }
    return ok;
}

// Repeats the last n_unit bytes of the output until there are n, doubling the copied part each
// time.
static void repeat_end(struct text_buf *b, size_t n_unit, size_t n) {
    for (size_t done = n_unit; done < n;) {
        const size_t more = done < n - done ? done : n - done;
        memcpy(b->s + b->n, b->s + b->n - done, more);
        b->n += more;
        done += more;
    }
}

bool tr_put_times(struct render *r, const tval *s, size_t times) {
    if (s->str.n == 0 || times == 0) return r->st == RN_OK;
    if (times > SIZE_MAX / 2 / s->str.n) times = SIZE_MAX / 2 / s->str.n; // far over the limit in any case
    const size_t n = times * s->str.n;
    if (!has_room(r, n) || !tr_work_bytes(r, n)) return false;
    if (s->str.runs) {
        for (; times > 0 && tr_put_str(r, s); times--) {
        }
        return times == 0;
    }
    if (!text_buf_reserve(&r->text, n)) return tr_no_memory(r) != NULL;
    text_buf_add(&r->text, s->str.s, s->str.n);
    repeat_end(&r->text, s->str.n, n);
    return end_segment(r, s->is_content);
}

bool tr_put_char(struct render *r, uint32_t cp, bool is_content) {
    char s[4];
    return tr_put(r, s, (size_t)utf8_encode(cp, s), is_content);
}

size_t tr_begin(struct render *r) {
    if (r->n_cuts++ == 0) r->first_cut = r->text.n;
    return r->text.n;
}

void tr_drop(struct render *r, size_t begin) {
    struct template_segment *const seg = r->segments;
    while (r->n_segments > 0 && (r->n_segments > 1 ? seg[r->n_segments - 2].end : 0) >= begin) r->n_segments--;
    if (r->n_segments > 0 && seg[r->n_segments - 1].end > begin) seg[r->n_segments - 1].end = begin;
    r->text.n = begin;
    r->n_cuts--;
}

// The segment with the byte at `at`.
static size_t segment_at(const struct render *r, size_t at) {
    size_t low = 0, high = r->n_segments - 1;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (r->segments[mid].end > at)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

static bool set_origins(struct render *r, tval *v, size_t begin) {
    const size_t first = segment_at(r, begin), n = r->n_segments - first;
    v->is_content = r->segments[first].is_content;
    if (n == 1) return true;
    struct tv_runs *const runs = tr_alloc(r, 1, sizeof *runs);
    if (!runs || !(runs->run = tr_alloc(r, n, sizeof *runs->run))) return false;
    for (size_t i = 0; i < n; i++)
        runs->run[i] = (struct tv_run){r->segments[first + i].end - begin, r->segments[first + i].is_content};
    runs->n = n;
    v->str.runs = runs;
    return true;
}

const tval *tr_cut(struct render *r, size_t begin) {
    const size_t n = r->text.n - begin;
    if (r->st != RN_OK || n == 0) {
        tr_drop(r, begin);
        return r->st == RN_OK ? &tv_empty : NULL;
    }
    tval *const v = tr_new(r, TV_STRING);
    char *const s = v ? tr_alloc(r, n, 1) : NULL;
    if (s) {
        memcpy(s, r->text.s + begin, n);
        v->str = (struct tv_text){.s = s, .n = n};
        v->is_ascii = tv_all_ascii(s, n);
    }
    const bool ok = s && set_origins(r, v, begin);
    tr_drop(r, begin);
    return ok ? v : NULL;
}

const tval *tr_str(struct render *r, const tval *v) {
    if (tv_is_str(v)) return v;
    const size_t begin = tr_begin(r);
    tr_put_value(r, v);
    return tr_cut(r, begin);
}

// ---- substrings and concatenation ---------------------------------------------------------------

const tval *tr_part(struct render *r, const tval *s, size_t from, size_t to) {
    if (from >= to) return &tv_empty;
    if (from == 0 && to == s->str.n) return s;
    tval *const v = tr_new(r, TV_STRING);
    if (!v) return NULL;
    *v = *s;
    v->str.s += from;
    v->str.n = to - from;
    if (!s->str.runs) return v;
    size_t end;
    v->is_content = tv_is_content(s, from, &end);
    v->str.runs = NULL;
    if (end >= to) return v;
    struct tv_runs *const runs = tr_alloc(r, 1, sizeof *runs);
    if (!runs) return NULL;
    const size_t first = run_at(s->str.runs, s->str.runs->base + from);
    *runs = (struct tv_runs){s->str.runs->run + first, s->str.runs->n - first, s->str.runs->base + from};
    v->str.runs = runs;
    return v;
}

static size_t count_runs(const tval *s) {
    size_t n = 0;
    for (size_t at = 0, end; at < s->str.n; at = end, n++) (void)tv_is_content(s, at, &end);
    return n;
}

// Appends s's runs after the first n runs, which end at `base`.
static size_t append_runs(struct tv_run *run, size_t n, const tval *s, size_t base) {
    for (size_t at = 0, end; at < s->str.n; at = end) {
        const bool is_content = tv_is_content(s, at, &end);
        if (n > 0 && run[n - 1].is_content == is_content)
            run[n - 1].end = base + end;
        else
            run[n++] = (struct tv_run){base + end, is_content};
    }
    return n;
}

// Sets the origins of v = a + b, whose bytes are contiguous. If a's bytes were extended in place,
// its runs may be too: other strings that share the runs never read beyond their own end.
static bool join_origins(struct render *r, tval *v, const tval *a, const tval *b, bool grew) {
    struct growing *const g = &r->growing;
    if (!a->str.runs && !b->str.runs && a->is_content == b->is_content) return v->is_content = a->is_content, true;
    struct tv_runs *const runs = tr_alloc(r, 1, sizeof *runs);
    const size_t n_b = count_runs(b);
    if (!runs || !tr_work(r, n_b)) return false;
    if (grew && a->str.runs && a->str.runs->run + a->str.runs->n == g->run_end && n_b <= g->run_room) {
        const size_t n = a->str.runs->n;
        *runs = *a->str.runs;
        runs->run[n - 1].end = runs->base + a->str.n; // safe: strings that share it never read beyond their end
        runs->n = append_runs(runs->run, n, b, runs->base + a->str.n);
        g->run_room -= runs->n - n;
    } else {
        const size_t n_a = count_runs(a), room = 2 * (n_a + n_b) + 8;
        if (!tr_work(r, n_a) || !(runs->run = tr_alloc(r, room, sizeof *runs->run))) return false;
        runs->n = append_runs(runs->run, append_runs(runs->run, 0, a, 0), b, a->str.n);
        g->run_room = room - runs->n;
    }
    g->run_end = runs->run + runs->n;
    v->str.runs = runs;
    return true;
}

// A string that is built piece by piece, like a prompt, is not copied each time: the last result
// has spare room after its end and is extended in place.
const tval *tr_concat(struct render *r, const tval *a, const tval *b) {
    struct growing *const g = &r->growing;
    if (b->str.n == 0) return a;
    if (a->str.n == 0) return b;
    const size_t n = a->str.n + b->str.n;
    const bool grows = a->str.s + a->str.n == g->end && b->str.n <= g->room;
    tval *const v = tr_new(r, TV_STRING);
    if (!v || !tr_work_bytes(r, grows ? b->str.n : n)) return NULL;
    char *s = (char *)a->str.s;
    if (!grows) {
        const size_t room = n < 256 ? n : 2 * n;
        if (!(s = tr_alloc(r, room, 1))) return NULL;
        memcpy(s, a->str.s, a->str.n);
        g->room = room - n;
    } else {
        g->room -= b->str.n;
    }
    memcpy(s + a->str.n, b->str.s, b->str.n);
    g->end = s + n;
    v->str = (struct tv_text){.s = s, .n = n};
    v->is_ascii = a->is_ascii && b->is_ascii;
    return join_origins(r, v, a, b, grows) ? v : NULL;
}
