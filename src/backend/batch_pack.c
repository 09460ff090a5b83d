// backend/batch_pack.c - see batch_pack.h. All numbers have 32 bits:
//
//   magic, version, n_groups, n_vector, n_rows, n_seqs, n_wanted, n_logits
//   each sequence: n_committed, is_far, n_adapters; of each adapter its number and scale; of each group the pages of its blocks
//   each row: token, pos, seq, see_to, area_first, area_end, flags and kind, coord[3], state.from, state.to; of each group store.page, store.slot;
//             its vector, if it has one; if it has a path, for each group page and slot of positions n_committed..pos
//   wanted[n_wanted]
#include "backend/batch_pack.h"
#include "base/checked.h"
#include "base/cursor.h"
#include "base/mem.h"
#include <string.h>

#define MAGIC   0x42544e52u // "RNTB"
#define VERSION 3u
enum { HAS_VECTOR = 1, ADDS = 2, HAS_PATH = 4, ALL_FLAGS = 7, KIND_SHIFT = 3 };

static size_t n_blocks(int32_t n_positions) { return ((size_t)n_positions + KV_PAGE - 1) / KV_PAGE; }

// Writing -----------------------------------------------------------------------------------------------------------------

struct writer {
    uint8_t *out; // NULL: counts only
    size_t n;
};

static void put(struct writer *w, uint32_t v) {
    for (int i = 0; w->out && i < 4; i++) w->out[w->n + (size_t)i] = (uint8_t)(v >> 8 * i);
    w->n += 4;
}

static void put_float(struct writer *w, float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    put(w, bits);
}

static void put_slot(struct writer *w, struct kv_slot at) { put(w, (uint32_t)at.page), put(w, (uint32_t)at.slot); }

static void put_seq(struct writer *w, const struct batch_seq *q, int32_t n_groups) {
    put(w, (uint32_t)q->n_committed);
    put(w, q->is_far);
    put(w, (uint32_t)q->n_adapters);
    for (int32_t i = 0; i < q->n_adapters; i++)
        put(w, (uint32_t)q->adapters[i].adapter), put_float(w, q->adapters[i].scale);
    for (int32_t g = 0; g < n_groups; g++)
        for (size_t i = 0; i < n_blocks(q->n_committed); i++) put(w, (uint32_t)q->pages[g][i]);
}

static void put_row(struct writer *w, const struct batch_row *r, const struct batch *b, const struct program *p) {
    const bool has_path = p->n_groups > 0 && r->path[0];
    put(w, (uint32_t)r->token), put(w, (uint32_t)r->pos), put(w, (uint32_t)r->seq), put(w, (uint32_t)r->see_to);
    put(w, (uint32_t)r->area_first), put(w, (uint32_t)r->area_end);
    put(w, (r->vector ? HAS_VECTOR : 0u) | (r->adds ? ADDS : 0u) | (has_path ? HAS_PATH : 0u) |
               (uint32_t)r->kind << KIND_SHIFT);
    for (int i = 0; i < PROGRAM_MAX_COORDS; i++) put(w, (uint32_t)r->coord[i]);
    put(w, (uint32_t)r->state.from), put(w, (uint32_t)r->state.to);
    for (int32_t g = 0; g < p->n_groups; g++) put_slot(w, r->store[g]);
    for (int32_t i = 0; r->vector && i < p->n_vector; i++) put_float(w, r->vector[i]);
    const int32_t n_path = has_path ? r->pos - b->seqs[r->seq].n_committed + 1 : 0;
    for (int32_t g = 0; g < p->n_groups; g++)
        for (int32_t i = 0; i < n_path; i++) put_slot(w, r->path[g][i]);
}

// A batch has no count of its sequences: there are as many as its rows refer to.
static size_t count_seqs(const struct batch *b) {
    int32_t last = -1;
    for (size_t i = 0; i < b->n_rows; i++)
        if (b->rows[i].seq > last) last = b->rows[i].seq;
    return (size_t)(last + 1);
}

static void put_batch(struct writer *w, const struct batch *b, const struct program *p) {
    const size_t n_seqs = count_seqs(b);
    const uint32_t head[] = {MAGIC,
                             VERSION,
                             (uint32_t)p->n_groups,
                             (uint32_t)p->n_vector,
                             (uint32_t)b->n_rows,
                             (uint32_t)n_seqs,
                             (uint32_t)b->n_wanted,
                             (uint32_t)b->n_logits};
    for (size_t i = 0; i < sizeof head / sizeof *head; i++) put(w, head[i]);
    for (size_t i = 0; i < n_seqs; i++) put_seq(w, &b->seqs[i], p->n_groups);
    for (size_t i = 0; i < b->n_rows; i++) put_row(w, &b->rows[i], b, p);
    for (size_t i = 0; i < b->n_wanted; i++) put(w, (uint32_t)b->wanted[i]);
}

size_t batch_packed_bytes(const struct batch *b, const struct program *p) {
    struct writer w = {0};
    put_batch(&w, b, p);
    return w.n;
}

void batch_pack(const struct batch *b, const struct program *p, uint8_t *out) {
    put_batch(&(struct writer){.out = out}, b, p);
}

// Reading -----------------------------------------------------------------------------------------------------------------

struct reader {
    cursor c;
    const struct program *p;
    const struct backend_sizes *s;
    size_t n_rows, n_seqs, n_wanted, n_logits;
    struct batch_row *rows;
    struct batch_seq *seqs;
    uint32_t *words, *words_end; // memory for what rows and sequences point to: as much as the bytes can hold
    rn_error *err;
};

static rn_status wrong(const struct reader *r, const char *what, size_t i, int64_t value, int64_t limit) {
    return fail(r->err, RN_E_FORMAT, "batch: %s %zu: %lld at byte %zu, limit %lld", what, i, (long long)value,
                r->c.pos, (long long)limit);
}
static rn_status cut_short(const struct reader *r) {
    return fail(r->err, RN_E_FORMAT, "batch: ends at byte %zu, within a record", r->c.size);
}

static int32_t get(struct reader *r) {
    uint32_t v = 0;
    cursor_u32(&r->c, &v);
    return (int32_t)v;
}

// The next n words, copied to the batch's memory; NULL: the bytes end before that.
static uint32_t *get_words(struct reader *r, size_t n) {
    if (n > (size_t)(r->words_end - r->words) || n > cursor_left(&r->c) / 4) {
        r->c.failed = true;
        return NULL;
    }
    uint32_t *const out = r->words;
    r->words += n;
    for (size_t i = 0; i < n; i++) out[i] = (uint32_t)get(r);
    return out;
}

static bool slot_is_there(const struct reader *r, int32_t g, struct kv_slot at) {
    return at.page >= 0 && at.page < r->s->n_pages[g] && at.slot >= 0 && at.slot < KV_PAGE;
}

static rn_status get_head(struct reader *r) {
    static const char *const names[] = {"magic", "version",   "groups",      "vector width",
                                        "rows",  "sequences", "wanted rows", "rows with logits"};
    uint32_t head[8];
    for (size_t i = 0; i < 8; i++) head[i] = (uint32_t)get(r);
    if (r->c.failed) return cut_short(r);
    const uint32_t exact[] = {MAGIC, VERSION, (uint32_t)r->p->n_groups, (uint32_t)r->p->n_vector};
    for (size_t i = 0; i < 4; i++)
        if (head[i] != exact[i])
            return fail(r->err, RN_E_FORMAT, "batch: %s: %u, expected %u", names[i], head[i], exact[i]);
    r->n_rows = head[4], r->n_seqs = head[5], r->n_wanted = head[6], r->n_logits = head[7];
    const size_t most_logits = r->s->n_logits && r->s->n_logits < r->n_wanted ? r->s->n_logits : r->n_wanted;
    const size_t most_wanted = r->s->n_wanted < r->n_rows ? r->s->n_wanted : r->n_rows;
    const size_t most[] = {r->s->n_batch, r->n_rows, most_wanted, most_logits};
    for (size_t i = 0; i < 4; i++)
        if (head[4 + i] > most[i])
            return fail(r->err, RN_E_FORMAT, "batch: %s: %u, limit %zu", names[4 + i], head[4 + i], most[i]);
    for (size_t i = 4; i < 6; i++)
        if (head[i] == 0) return fail(r->err, RN_E_FORMAT, "batch: %s: 0, at least 1 was expected", names[i]);
    return RN_OK;
}

_Static_assert(sizeof(struct batch_adapter) == 8, "an adapter is two words");

static rn_status get_adapters(struct reader *r, size_t seq, struct batch_seq *q) {
    if (q->n_adapters < 0 || q->n_adapters > BATCH_MAX_ADAPTERS)
        return wrong(r, "adapters of sequence", seq, q->n_adapters, BATCH_MAX_ADAPTERS);
    struct batch_adapter *const list = (struct batch_adapter *)(void *)get_words(r, 2 * (size_t)q->n_adapters);
    if (!list) return cut_short(r);
    const int64_t n = (int64_t)r->p->n_adapters;
    for (int64_t i = 0; i < q->n_adapters; i++) {
        const int64_t adapter = list[i].adapter;
        if (adapter < 0 || adapter >= n || (i > 0 && adapter <= list[i - 1].adapter))
            return wrong(r, "adapter of sequence", seq, adapter, n - 1);
    }
    q->adapters = list;
    return RN_OK;
}

static rn_status get_seq(struct reader *r, size_t i) {
    struct batch_seq *q = &r->seqs[i];
    const int32_t n = get(r), is_far = get(r);
    const int32_t n_adapters = get(r);
    const int64_t most = r->p->n_groups > 0 ? (int64_t)r->s->n_pages[0] * KV_PAGE : INT32_MAX;
    if (r->c.failed) return cut_short(r);
    if (n < 0 || n > most) return wrong(r, "positions of sequence", i, n, most);
    if (is_far != 0 && is_far != 1) return wrong(r, "rotation of sequence", i, is_far, 1);
    *q = (struct batch_seq){.n_committed = n, .is_far = is_far, .n_adapters = n_adapters};
    const rn_status st = get_adapters(r, i, q);
    if (st != RN_OK) return st;
    for (int32_t g = 0; g < r->p->n_groups; g++) {
        int32_t *pages = (int32_t *)get_words(r, n_blocks(n));
        if (!pages) return cut_short(r);
        for (size_t b = 0; b < n_blocks(n); b++)
            if (pages[b] != KV_NONE && (pages[b] < 0 || pages[b] >= r->s->n_pages[g]))
                return wrong(r, "page of sequence", i, pages[b], r->s->n_pages[g] - 1);
        q->pages[g] = pages;
    }
    return RN_OK;
}

// The first position that a row attends to in a group.
static int32_t first_seen(const struct program *p, int32_t g, const struct batch_row *row) {
    const int32_t window = p->groups[g].window,
                  first = window > 0 && row->pos - window + 1 > 0 ? row->pos - window + 1 : 0;
    return row->area_end > 0 && row->area_first < first ? row->area_first : first;
}

static rn_status check_pages(const struct reader *r, size_t i, const struct batch_row *row) {
    const struct batch_seq *q = &r->seqs[row->seq];
    const int32_t sees = row->see_to > row->pos ? row->see_to : row->pos, last = row->path[0] ? q->n_committed - 1
                                                                                 : row->area_end > sees
                                                                                     ? row->area_end - 1
                                                                                     : sees;
    for (int32_t g = 0; g < r->p->n_groups; g++) {
        if (!slot_is_there(r, g, row->store[g])) return wrong(r, "slot of row", i, row->store[g].page, 0);
        for (int32_t b = first_seen(r->p, g, row) / KV_PAGE; b <= last / KV_PAGE && last >= 0; b++)
            if (q->pages[g][b] == KV_NONE) return wrong(r, "missing page that is seen by row", i, b, 0);
    }
    return RN_OK;
}

static rn_status check_state(const struct reader *r, size_t i, struct batch_state at) {
    const int32_t n = r->p->state_bytes ? r->s->n_states : 0, lowest = n ? 0 : KV_NONE;
    if (at.from < KV_NONE || at.from >= n) return wrong(r, "state read by row", i, at.from, n - 1);
    if (at.to < lowest || at.to >= (n ? n : 0)) return wrong(r, "state written by row", i, at.to, n - 1);
    return RN_OK;
}

static rn_status get_path(struct reader *r, size_t i, struct batch_row *row) {
    const int32_t committed = r->seqs[row->seq].n_committed;
    if (row->pos < committed) return wrong(r, "position of scratch row", i, row->pos, committed);
    const size_t n = (size_t)(row->pos - committed) + 1;
    for (int32_t g = 0; g < r->p->n_groups; g++) {
        struct kv_slot *path = (struct kv_slot *)get_words(r, 2 * n);
        if (!path) return cut_short(r);
        for (size_t k = 0; k < n; k++)
            if (!slot_is_there(r, g, path[k])) return wrong(r, "path of row", i, path[k].page, r->s->n_pages[g] - 1);
        row->path[g] = path;
    }
    return RN_OK;
}

static rn_status get_row(struct reader *r, size_t i, int64_t n_vocab) {
    struct batch_row *row = &r->rows[i];
    *row = (struct batch_row){.token = get(r), .pos = 0};
    row->pos = get(r), row->seq = get(r), row->see_to = get(r);
    row->area_first = get(r), row->area_end = get(r);
    const uint32_t word = (uint32_t)get(r), flags = word & ALL_FLAGS, kind = word >> KIND_SHIFT;
    for (int k = 0; k < PROGRAM_MAX_COORDS; k++) row->coord[k] = get(r);
    row->state.from = get(r), row->state.to = get(r);
    for (int32_t g = 0; g < r->p->n_groups; g++) row->store[g].page = get(r), row->store[g].slot = get(r);
    if (r->c.failed) return cut_short(r);
    if (row->token < 0 || row->token >= n_vocab) return wrong(r, "token of row", i, row->token, n_vocab - 1);
    if (row->seq < 0 || (size_t)row->seq >= r->n_seqs)
        return wrong(r, "sequence of row", i, row->seq, (int64_t)r->n_seqs - 1);
    if (kind > 0 && kind >= (uint32_t)r->p->n_row_kinds)
        return wrong(r, "kind of row", i, kind, r->p->n_row_kinds > 0 ? r->p->n_row_kinds - 1 : 0);
    row->kind = (int32_t)kind;
    if ((flags & HAS_VECTOR) && r->p->n_vector == 0) return wrong(r, "vector of row", i, 1, 0);
    if (!(flags & HAS_VECTOR) && r->p->needs_vector) return wrong(r, "missing vector of row", i, 0, 0);
    row->adds = flags & ADDS;
    if ((flags & HAS_VECTOR) && !(row->vector = (float *)(void *)get_words(r, (size_t)r->p->n_vector)))
        return cut_short(r);
    const int32_t committed = r->seqs[row->seq].n_committed;
    const bool has_path = (flags & HAS_PATH) != 0;
    if (row->pos < 0 || (!has_path && row->pos >= committed))
        return wrong(r, "position of row", i, row->pos, committed - 1);
    if (row->see_to < -1 || row->see_to > (has_path ? row->pos : committed - 1))
        return wrong(r, "span of row", i, row->see_to, committed - 1);
    if (row->area_end && (row->area_first < 0 || row->area_first > row->pos || row->area_end <= row->pos ||
                          has_path || row->area_end > committed))
        return wrong(r, "area of row", i, row->area_end, committed);
    rn_status st = has_path ? get_path(r, i, row) : RN_OK;
    if (st == RN_OK) st = check_pages(r, i, row);
    return st == RN_OK ? check_state(r, i, row->state) : st;
}

// First the rows with logits, then the others, each in ascending order.
static rn_status get_wanted(struct reader *r, int32_t **out) {
    int32_t *wanted = (int32_t *)get_words(r, r->n_wanted);
    if (!wanted) return cut_short(r);
    for (size_t i = 0; i < r->n_wanted; i++) {
        const int32_t least = i == 0 || i == r->n_logits ? 0 : wanted[i - 1] + 1;
        if (wanted[i] < least || (size_t)wanted[i] >= r->n_rows)
            return wrong(r, "wanted row", i, wanted[i], (int64_t)r->n_rows - 1);
    }
    *out = wanted;
    return RN_OK;
}

// Number of tokens that can be looked up: the rows of the smallest embedding.
static int64_t vocab_of(const struct program *p) {
    int64_t n = INT32_MAX;
    for (size_t i = 0; i < p->n_ops; i++)
        if (p->ops[i].kind == OP_EMBED && p->ops[i].weights.matrix >= 0 &&
            (int64_t)p->matrices[p->ops[i].weights.matrix].n_out < n)
            n = (int64_t)p->matrices[p->ops[i].weights.matrix].n_out;
    return n;
}

static rn_status take_memory(struct reader *r, size_t n_bytes, struct batch_unpacked *u) {
    const size_t rows = r->n_rows * sizeof *r->rows, seqs = r->n_seqs * sizeof *r->seqs;
    const size_t words = n_bytes / 4, room = rows + seqs + words * 4;
    if (room > u->room) {
        void *const memory = mem_alloc(room);
        if (!memory) return fail(r->err, RN_E_NOMEM, "batch: out of memory for %zu rows", r->n_rows);
        mem_free(u->memory);
        u->memory = memory, u->room = room;
    }
    r->rows = u->memory;
    r->seqs = (struct batch_seq *)(void *)((uint8_t *)u->memory + rows);
    r->words = (uint32_t *)(void *)((uint8_t *)u->memory + rows + seqs);
    r->words_end = r->words + words;
    return RN_OK;
}

rn_status batch_unpack(const uint8_t *bytes, size_t n, const struct program *p, const struct backend_sizes *s,
                       struct batch_unpacked *u, rn_error *err) {
    struct reader r = {.c = {.data = bytes, .size = n}, .p = p, .s = s, .err = err};
    const int64_t n_vocab = vocab_of(p);
    int32_t *wanted = NULL;
    u->batch = (struct batch){0};
    rn_status st = get_head(&r);
    if (st == RN_OK) st = take_memory(&r, n, u);
    for (size_t i = 0; st == RN_OK && i < r.n_seqs; i++) st = get_seq(&r, i);
    for (size_t i = 0; st == RN_OK && i < r.n_rows; i++) st = get_row(&r, i, n_vocab);
    if (st == RN_OK) st = get_wanted(&r, &wanted);
    if (st == RN_OK && cursor_left(&r.c) > 0)
        st = fail(err, RN_E_FORMAT, "batch: %zu bytes after its end", cursor_left(&r.c));
    if (st == RN_OK) u->batch = (struct batch){r.rows, r.n_rows, r.seqs, wanted, r.n_wanted, r.n_logits};
    return st;
}

void batch_unpacked_free(struct batch_unpacked *u) {
    mem_free(u->memory);
    *u = (struct batch_unpacked){0};
}
