// grammar/text/lark_conditions.c - reads parameters of rules and conditions on them.
#include "grammar/text/lark_parser.h"

static uint32_t add(struct lark *l, struct param_node x) {
    struct param_list *const p = &l->t.params;
    if (!text_grow(&l->t, &p->nodes, p->n, &p->max, sizeof *p->nodes)) return 0;
    if (x.kind == PARAM_AND || x.kind == PARAM_OR || x.kind == PARAM_NOT) {
        const uint16_t a = p->nodes[x.a].depth, b = p->nodes[x.b].depth;
        x.depth = (uint16_t)((a > b ? a : b) + 1);
    }
    p->nodes[p->n] = x;
    return p->n++;
}

static uint64_t read_number(struct lark *l) {
    const struct lark_token x = l->tok;
    const uint64_t base = x.kind == LARK_HEX ? 16 : 10;
    uint64_t v = 0;
    if (x.kind != LARK_HEX && x.kind != LARK_NUMBER) return lark_expected(l, "a number"), 0;
    for (uint32_t i = x.kind == LARK_HEX ? 2 : 0; i < x.n; i++) {
        const char c = l->t.s[x.at + i];
        const uint64_t d = c <= '9' ? (uint64_t)(c - '0') : (uint64_t)((c | 0x20) - 'a' + 10);
        if (c < '0' || d >= base || v > (UINT64_MAX - d) / base)
            return text_stop(&l->t, RN_E_ARG, x.at, "%.*s is no number of 64 bits", (int)(x.n < 40 ? x.n : 40),
                             l->t.s + x.at),
                   0;
        v = v * base + d;
    }
    lark_next(l);
    return v;
}

static uint8_t read_bit(struct lark *l, uint8_t most) {
    const uint32_t at = l->tok.at;
    const uint64_t v = read_number(l);
    if (v > most)
        return text_stop(&l->t, RN_E_ARG, at, "bit %llu: the last one is %u", (unsigned long long)v, most),
               (uint8_t)0;
    return (uint8_t)v;
}

// _ or [from:to]
static void read_field(struct lark *l, struct param_node *x) {
    const uint32_t at = l->tok.at;
    x->from = 0, x->to = 64;
    if (lark_take(l, "_")) return;
    if (!lark_at(l, "[")) {
        lark_expected(l, "_ or [FROM:TO]");
        return;
    }
    lark_next(l);
    x->from = read_bit(l, 63);
    lark_want(l, ":");
    x->to = read_bit(l, 64);
    lark_want(l, "]");
    if (l->t.st == RN_OK && x->to <= x->from)
        text_stop(&l->t, RN_E_ARG, at, "bits %u to %u are none", x->from, x->to);
}

enum takes {
    TAKES_NOTHING,
    TAKES_FIELD,
    TAKES_VALUE,
    TAKES_BIT,
    TAKES_FIELD_VALUE,
    TAKES_FIELD_COUNT,
    TAKES_ONE,
    TAKES_TWO
};

struct function {
    const char *name;
    enum takes takes;
    uint8_t kind, relation;
};

static const struct function values[] = {
    {"incr", TAKES_FIELD, PARAM_INCR, 0},       {"decr", TAKES_FIELD, PARAM_DECR, 0},
    {"bit_and", TAKES_VALUE, PARAM_BIT_AND, 0}, {"bit_or", TAKES_VALUE, PARAM_BIT_OR, 0},
    {"set_bit", TAKES_BIT, PARAM_BIT_OR, 0},    {"clear_bit", TAKES_BIT, PARAM_BIT_AND, 0},
};

#define RELATIONS(prefix, takes, kind)                                                                               \
    {prefix "eq", takes, kind, PARAM_EQ}, {prefix "ne", takes, kind, PARAM_LT | PARAM_GT},                           \
        {prefix "lt", takes, kind, PARAM_LT}, {prefix "le", takes, kind, PARAM_LT | PARAM_EQ},                       \
        {prefix "gt", takes, kind, PARAM_GT}, {                                                                      \
        prefix "ge", takes, kind, PARAM_GT | PARAM_EQ                                                                \
    }

static const struct function conditions[] = {
    {"true", TAKES_NOTHING, PARAM_TRUE, 0},
    RELATIONS("", TAKES_FIELD_VALUE, PARAM_COMPARE),
    RELATIONS("bit_count_", TAKES_FIELD_COUNT, PARAM_COUNT),
    {"and", TAKES_TWO, PARAM_AND, 0},
    {"or", TAKES_TWO, PARAM_OR, 0},
    {"not", TAKES_ONE, PARAM_NOT, 0},
    {"bit_clear", TAKES_BIT, PARAM_COMPARE, PARAM_EQ},
    {"bit_set", TAKES_BIT, PARAM_COMPARE, PARAM_EQ},
    {"is_zeros", TAKES_FIELD, PARAM_COMPARE, PARAM_EQ},
    {"is_ones", TAKES_FIELD, PARAM_COMPARE, PARAM_EQ},
};

static const struct function *find(struct lark *l, const struct function *of, size_t n, const char *what) {
    const struct lark_token x = l->tok;
    if (x.kind != LARK_RULE) return lark_expected(l, what), NULL;
    for (size_t i = 0; i < n; i++)
        if (lark_is(&l->t, x, of[i].name)) return lark_next(l), &of[i];
    return text_stop(&l->t, RN_E_ARG, x.at, "\"%.*s\" is unknown where %s is expected", (int)(x.n < 40 ? x.n : 40),
                     l->t.s + x.at, what),
           NULL;
}

static void read_bit_argument(struct lark *l, const struct function *f, struct param_node *x) {
    const uint8_t bit = read_bit(l, 63);
    if (f->kind == PARAM_COMPARE) {
        x->from = bit, x->to = (uint8_t)(bit + 1), x->value = strcmp(f->name, "bit_set") == 0;
        return;
    }
    x->value = (uint64_t)1 << bit;
    if (f->kind == PARAM_BIT_AND) x->value = ~x->value;
}

static uint32_t read_call(struct lark *l, const struct function *f) {
    struct param_node x = {.kind = f->kind, .relation = f->relation, .to = 64};
    if (f->takes == TAKES_NOTHING) {
        if (lark_take(l, "(")) lark_want(l, ")");
        return add(l, x);
    }
    lark_want(l, "(");
    if (f->takes == TAKES_FIELD || f->takes == TAKES_FIELD_VALUE || f->takes == TAKES_FIELD_COUNT) read_field(l, &x);
    if (f->takes == TAKES_FIELD && strcmp(f->name, "is_ones") == 0)
        x.value = UINT64_MAX >> (64 - (x.to > x.from ? x.to - x.from : 1));
    if (f->takes == TAKES_FIELD_VALUE || f->takes == TAKES_FIELD_COUNT) lark_want(l, ",");
    if (f->takes == TAKES_VALUE || f->takes == TAKES_FIELD_VALUE) x.value = read_number(l);
    if (f->takes == TAKES_FIELD_COUNT) x.value = read_bit(l, 63);
    if (f->takes == TAKES_BIT) read_bit_argument(l, f, &x);
    if (f->takes == TAKES_ONE || f->takes == TAKES_TWO) {
        if (++l->t.nested > GRAMMAR_TEXT_MAX_NESTED)
            text_stop(&l->t, RN_E_LIMIT, l->tok.at, "more than %d conditions within each other",
                      GRAMMAR_TEXT_MAX_NESTED);
        x.a = x.b = l->t.st == RN_OK ? lark_condition(l) : 0;
        if (f->takes == TAKES_TWO) {
            lark_want(l, ",");
            x.b = l->t.st == RN_OK ? lark_condition(l) : 0;
        }
        l->t.nested--;
    }
    lark_want(l, ")");
    return l->t.st == RN_OK ? add(l, x) : 0;
}

uint32_t lark_param(struct lark *l) {
    if (lark_take(l, "_")) return add(l, (struct param_node){.kind = PARAM_SELF, .to = 64});
    if (l->tok.kind == LARK_NUMBER || l->tok.kind == LARK_HEX) {
        const uint64_t v = read_number(l);
        return add(l, (struct param_node){.kind = PARAM_CONST, .to = 64, .value = v});
    }
    const struct function *const f = find(l, values, sizeof values / sizeof *values, "a parameter");
    return f ? read_call(l, f) : 0;
}

uint32_t lark_condition(struct lark *l) {
    const struct function *const f = find(l, conditions, sizeof conditions / sizeof *conditions, "a condition");
    return f ? read_call(l, f) : 0;
}
