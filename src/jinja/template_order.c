// jinja/template_order.c - equality, order and sorting; see template_items.h.
#include "jinja/template_items.h"
#include <math.h>

// Compares an integer of up to 127 bits with a double exactly.
static int compare_mixed(tv_int i, double d) {
    if (isnan(d)) return 3;
    if (d >= 0x1p126) return -1;
    if (d <= -0x1p126) return 1;
    const tv_int whole = (tv_int)d; // truncated
    if (i != whole) return i < whole ? -1 : 1;
    const double rest = d - (double)whole;
    return rest > 0 ? -1 : rest < 0 ? 1 : 0;
}

// -1, 0, 1; 2: one of them is no number; 3: one is NaN.
static int compare_numbers(const tval *a, const tval *b) {
    if (!tv_is_number(a) || !tv_is_number(b)) return 2;
    if (tv_is_whole(a) && tv_is_whole(b)) return tv_whole(a) < tv_whole(b) ? -1 : tv_whole(a) > tv_whole(b);
    if (a->kind == TV_FLOAT && b->kind == TV_FLOAT) return a->d < b->d ? -1 : a->d > b->d ? 1 : a->d == b->d ? 0 : 3;
    if (tv_is_whole(a)) return compare_mixed(tv_whole(a), b->d);
    const int c = compare_mixed(tv_whole(b), a->d);
    return c == 3 ? 3 : -c;
}

// ---- equality -----------------------------------------------------------------------------------

static bool equal_items(struct render *r, const tval *a, const tval *b, bool *equal) {
    *equal = a->seq.n == b->seq.n;
    for (size_t i = 0; *equal && i < a->seq.n; i++)
        if (!tr_work(r, 1) || !tr_equal(r, a->seq.items[i], b->seq.items[i], equal)) return false;
    return true;
}

static bool equal_dicts(struct render *r, const tval *a, const tval *b, bool *equal) {
    *equal = a->dict->n == b->dict->n;
    for (uint32_t i = 0; *equal && i < a->dict->n; i++) {
        const struct tv_entry *const e = &a->dict->entries[i], *const other = tv_dict_find(b->dict, &e->key);
        if (!other) return *equal = false, true;
        if (!tr_work(r, 1) || !tr_equal(r, e->value, other->value, equal)) return false;
    }
    return true;
}

static bool equal_ranges(const struct tv_range *a, const struct tv_range *b) {
    const size_t n = tv_range_n(a);
    return n == tv_range_n(b) && (n == 0 || (a->start == b->start && (n == 1 || a->step == b->step)));
}

bool tr_equal(struct render *r, const tval *a, const tval *b, bool *equal) {
    const int c = compare_numbers(a, b);
    *equal = a == b;
    if (c != 2) return *equal = c == 0, true;
    if (a->kind != b->kind || *equal) return true;
    switch ((enum tv_kind)a->kind) {
    case TV_UNDEFINED:
    case TV_NONE: return *equal = true;
    case TV_STRING:
    case TV_BYTES:
        *equal = a->str.n == b->str.n && memcmp(a->str.s, b->str.s, a->str.n) == 0;
        return tr_work_bytes(r, *equal ? a->str.n : 0);
    case TV_LIST:
    case TV_TUPLE:
    case TV_VIEW:
    case TV_DICT: break;
    case TV_RANGE: return *equal = equal_ranges(&a->range, &b->range), true;
    default: return true;
    }
    if (!tr_enter(r)) return false;
    const bool ok = a->kind == TV_DICT ? equal_dicts(r, a, b, equal) : equal_items(r, a, b, equal);
    tr_leave(r);
    return ok;
}

// ---- order --------------------------------------------------------------------------------------

static bool holds_for(char op, int c) {
    return op == '<' ? c < 0 : op == 'l' ? c <= 0 : op == '>' ? c == 1 : c == 0 || c == 1; // 3: unordered (NaN)
}

static int compare_bytes(const tval *a, const tval *b) {
    const size_t n = a->str.n < b->str.n ? a->str.n : b->str.n;
    const int c = memcmp(a->str.s, b->str.s, n); // the byte order of UTF-8 is the order of code points
    return c != 0 ? (c < 0 ? -1 : 1) : a->str.n < b->str.n ? -1 : a->str.n > b->str.n;
}

// The first pair of items that differ decides, else the lengths.
static bool ordered_items(struct render *r, char op, const tval *a, const tval *b, bool *holds) {
    size_t i = 0;
    for (bool equal = true; i < a->seq.n && i < b->seq.n; i++) {
        if (!tr_work(r, 1) || !tr_equal(r, a->seq.items[i], b->seq.items[i], &equal)) return false;
        if (!equal) return tr_ordered(r, op, a->seq.items[i], b->seq.items[i], holds);
    }
    *holds = holds_for(op, a->seq.n < b->seq.n ? -1 : a->seq.n > b->seq.n);
    return true;
}

bool tr_ordered(struct render *r, char op, const tval *a, const tval *b, bool *holds) {
    const int c = compare_numbers(a, b);
    if (c != 2) return *holds = c == 3 ? false : holds_for(op, c), true;
    if (a->kind == TV_STRING && b->kind == TV_STRING) {
        *holds = holds_for(op, compare_bytes(a, b));
        return tr_work_bytes(r, a->str.n < b->str.n ? a->str.n : b->str.n);
    }
    if (a->kind == TV_UNDEFINED) return tr_undefined_used(r, a) != NULL;
    if (b->kind == TV_UNDEFINED) return tr_undefined_used(r, b) != NULL;
    if (a->kind == b->kind && (a->kind == TV_LIST || a->kind == TV_TUPLE)) {
        if (!tr_enter(r)) return false;
        const bool ok = ordered_items(r, op, a, b, holds);
        tr_leave(r);
        return ok;
    }
    return tr_raise(r, "TypeError", "'%s' and '%s' have no order", tv_type_name(a), tv_type_name(b)) != NULL;
}

// ---- sorting ------------------------------------------------------------------------------------

struct merge {
    struct render *r;
    const tval **items, **keys, **spare_items, **spare_keys;
    bool reverse; // descending; equal items keep their order nevertheless
};

// Merges the sorted halves of [begin, end) by means of the spare arrays.
static bool merge_halves(const struct merge *m, size_t begin, size_t mid, size_t end) {
    size_t a = begin, b = mid;
    for (size_t to = begin; to < end; to++) {
        bool takes_b = a == mid;
        if (!takes_b && b < end) {
            const bool ok = m->reverse ? tr_ordered(m->r, '<', m->keys[a], m->keys[b], &takes_b)
                                       : tr_ordered(m->r, '<', m->keys[b], m->keys[a], &takes_b);
            if (!ok || !tr_work(m->r, 1)) return false;
        }
        const size_t from = takes_b ? b++ : a++;
        m->spare_items[to] = m->items[from];
        m->spare_keys[to] = m->keys[from];
    }
    memcpy(m->items + begin, m->spare_items + begin, (end - begin) * sizeof *m->items);
    memcpy(m->keys + begin, m->spare_keys + begin, (end - begin) * sizeof *m->keys);
    return true;
}

bool tr_sort(struct render *r, const tval **items, const tval **keys, size_t n, bool reverse) {
    struct merge m = {.r = r, .items = items, .keys = keys, .reverse = reverse};
    m.spare_items = tr_alloc(r, n, sizeof *items);
    m.spare_keys = tr_alloc(r, n, sizeof *keys);
    if (!m.spare_items || !m.spare_keys) return false;
    for (size_t width = 1; width < n; width *= 2)
        for (size_t begin = 0; begin + width < n; begin += 2 * width) {
            const size_t end = begin + 2 * width < n ? begin + 2 * width : n;
            if (!merge_halves(&m, begin, begin + width, end)) return false;
        }
    return true;
}
