// grammar/schema/write_array.c - the graph of an array: its first items by their own schemas, then the others.
#include "base/mem.h"
#include "grammar/schema/context.h"
#include <string.h>

enum { MAX_COUNTS = 4 };

struct array {
    struct context *c;
    const struct form *f;
    uint32_t rule;
    uint32_t n_first; // items that have schemas of their own
    uint64_t min, max;
    const struct list *counts[MAX_COUNTS];
    uint32_t n_counts, told[MAX_COUNTS]; // numbers of items that are told apart, for each condition
    uint32_t n_told;                     // all of them together
    uint32_t n_lengths;                  // lengths that are told apart: 0..n_lengths - 1, the last one with all above
};

static sym_id item(struct array *a, uint32_t index) {
    lit_id lits[SCHEMA_MAX_PART_LITS];
    const uint32_t n = schema_item_lits(a->c, a->f, index, lits);
    return schema_value(a->c, lits, n);
}

static uint32_t n_first_items(const struct list *layer) {
    const struct json_node *const first = layer->number == LAYER_REST ? NULL : schema_first_items(layer->node);
    return first ? first->n_items : 0;
}

static bool measure(struct array *a) {
    const struct form *const f = a->f;
    a->min = f->min_items, a->max = f->max_items;
    for (const struct list *l = f->arrays; l; l = l->next) {
        const struct list *of = l->number == LAYER_REST && l->from != UINT32_MAX ? a->c->rests[l->from].layers : NULL;
        const struct json_node *const others = l->number == LAYER_REST ? NULL : schema_other_items(l->node);
        uint32_t n = l->number == LAYER_REST ? 0 : n_first_items(l);
        for (; of; of = of->next)
            if (n_first_items(of) > n) n = n_first_items(of);
        if (n > a->n_first) a->n_first = n;
        if (others && others->kind == JSON_FALSE && a->max > n) a->max = n;
    }
    for (const struct list *l = f->items; l; l = l->next)
        if (l->number + 1 > a->n_first) a->n_first = l->number + 1;
    if (f->refused) return schema_stop(a->c, RN_E_UNSUPPORTED, f->refused->node, "cannot be negated");
    for (const struct list *l = f->counts; l; l = l->next) {
        if (l->number == 0 && l->most == UINT32_MAX) continue;
        if (a->n_counts == MAX_COUNTS)
            return schema_stop(a->c, RN_E_LIMIT, NULL, "more than %d conditions on how many items are alike",
                               MAX_COUNTS);
        if (l->from > a->n_first) a->n_first = l->from;
        a->counts[a->n_counts++] = l;
    }
    return true;
}

// Without conditions on how many: the first ones one by one, the others as a repetition.
static void write_plain(struct array *a) {
    struct context *const c = a->c;
    struct rules *const r = c->r;
    const uint32_t start = a->n_first + 2; // place i + 2: i items were read; the last place: all first ones
    rule_link(r, a->rule, 0, 2, c->now->marks.open_array);
    for (uint32_t i = 0; i <= a->n_first && schema_ok(c); i++) {
        if (i >= a->min && i <= a->max) rule_link(r, a->rule, i + 2, 1, c->now->marks.close_array);
        if (i < a->n_first && i < a->max)
            rule_link(r, a->rule, i + 2, i + 3,
                      sym_seq(r, (sym_id[]){i ? c->now->marks.comma : (sym_id)SYM_EMPTY, item(a, i)}, 2));
    }
    if (a->max <= a->n_first) return;
    const sym_id other = item(a, UINT32_MAX), next = sym_seq(r, (sym_id[]){c->now->marks.comma, other}, 2);
    const uint64_t is_first = a->n_first == 0, read = a->n_first + is_first;
    const uint64_t min = a->min > read ? a->min - read : 0, max = a->max == UINT64_MAX ? UINT64_MAX : a->max - read;
    const uint32_t least = min < EXPR_NO_MAX ? (uint32_t)min : EXPR_NO_MAX - 1,
                   most = max < EXPR_NO_MAX ? (uint32_t)max : EXPR_NO_MAX;
    const sym_id more = is_first ? sym_seq(r, (sym_id[]){other, sym_repeat(r, next, least, most)}, 2)
                                 : sym_repeat(r, next, least ? least : 1, most);
    rule_link(r, a->rule, start, 1, sym_seq(r, (sym_id[]){more, c->now->marks.close_array}, 2));
}

static uint32_t place(const struct array *a, uint32_t length, uint32_t told) {
    return length == 0 && told == 0 ? 2 : 3 + length * a->n_told + told;
}

// An item that meets just the conditions in `met`; what need not be counted exactly may be met beside.
static void link_item(struct array *a, uint32_t length, uint32_t told, uint32_t met) {
    struct context *const c = a->c;
    lit_id lits[SCHEMA_MAX_PART_LITS + MAX_COUNTS];
    const uint32_t index = length < a->n_first ? length : UINT32_MAX;
    uint32_t n = schema_item_lits(c, a->f, index, lits), unit = 1, to = 0;
    for (uint32_t i = 0; i < a->n_counts; i++) {
        const struct list *const l = a->counts[i];
        uint32_t have = told / unit % a->told[i];
        const bool is_met = met >> i & 1, is_exact = l->most < UINT32_MAX;
        if (length < l->from && is_met) return;
        if (is_met) {
            lits[n++] = l->lit;
            if (have + 1 < a->told[i]) have++;
            if (is_exact && have > l->most) return;
        } else if (is_exact && length >= l->from) {
            lits[n++] = schema_not(l->lit);
        }
        to += have * unit;
        unit *= a->told[i];
    }
    const uint32_t more = length + 1 < a->n_lengths ? length + 1 : length;
    const sym_id text =
        sym_seq(c->r, (sym_id[]){length ? c->now->marks.comma : (sym_id)SYM_EMPTY, schema_value(c, lits, n)}, 2);
    rule_link(c->r, a->rule, place(a, length, told), place(a, more, to), text);
}

static void write_counted(struct array *a) {
    struct context *const c = a->c;
    a->n_told = 1;
    for (uint32_t i = 0; i < a->n_counts; i++) {
        const struct list *const l = a->counts[i];
        const uint64_t told = (l->most < UINT32_MAX ? (uint64_t)l->most + 1 : l->number) + 1;
        a->told[i] = told < SCHEMA_MAX_PLACES ? (uint32_t)told : SCHEMA_MAX_PLACES;
        a->n_told = a->n_told * a->told[i] < SCHEMA_MAX_PLACES ? a->n_told * a->told[i] : SCHEMA_MAX_PLACES;
    }
    uint64_t lengths = a->min > a->n_first ? a->min : a->n_first;
    if (a->max != UINT64_MAX && a->max + 1 > lengths) lengths = a->max + 1;
    lengths = (lengths > 1 ? lengths : 1) + 1;
    if (lengths * a->n_told > SCHEMA_MAX_PLACES) {
        schema_stop(c, RN_E_LIMIT, NULL,
                    "an array with `contains` and bounds on its items that needs more than %d states",
                    SCHEMA_MAX_PLACES);
        return;
    }
    a->n_lengths = (uint32_t)lengths;
    rule_link(c->r, a->rule, 0, 2, c->now->marks.open_array);
    for (uint32_t length = 0; length < a->n_lengths && schema_ok(c); length++)
        for (uint32_t told = 0; told < (length ? a->n_told : 1) && schema_ok(c); told++) {
            bool may_end = length >= a->min && length <= a->max;
            uint32_t unit = 1;
            for (uint32_t i = 0; i < a->n_counts; i++, unit *= a->told[i - 1]) {
                const uint32_t have = told / unit % a->told[i];
                may_end &= have >= a->counts[i]->number && have <= a->counts[i]->most;
            }
            if (may_end) rule_link(c->r, a->rule, place(a, length, told), 1, c->now->marks.close_array);
            for (uint32_t met = 0; met < 1u << a->n_counts && length < a->max; met++) link_item(a, length, told, met);
        }
}

void schema_write_array(struct context *c, const struct form *f, uint32_t rule) {
    struct array a = {.c = c, .f = f, .rule = rule};
    if (!measure(&a)) return;
    if (a.min > a.max) return;
    if (a.n_first > SCHEMA_MAX_FIRST)
        schema_stop(c, RN_E_LIMIT, NULL, "more than %d items with schemas of their own", SCHEMA_MAX_FIRST);
    else if (f->unique && a.max > 1 && a.n_counts)
        schema_stop(c, RN_E_UNSUPPORTED, f->unique->node, "is not supported beside `contains`");
    else if (f->unique && a.max > 1)
        schema_write_unique(c, f, rule, a.n_first, a.max);
    else if (a.n_counts)
        write_counted(&a);
    else
        write_plain(&a);
}
