// jinja/template_tests.c - the tests after `is`.
#include "jinja/template_builtin.h"
#include "jinja/template_items.h"

#define KIND_TEST(name, condition)                                                                                   \
    static const tval *name(struct render *r, const tval *v, const struct call *c) {                                 \
        return (void)r, (void)c, tv_bool(condition);                                                                 \
    }
KIND_TEST(defined, v->kind != TV_UNDEFINED)
KIND_TEST(undefined, v->kind == TV_UNDEFINED)
KIND_TEST(none, v->kind == TV_NONE)
KIND_TEST(boolean, v->kind == TV_BOOL)
KIND_TEST(is_true, v->kind == TV_BOOL && v->b)
KIND_TEST(is_false, v->kind == TV_BOOL && !v->b)
KIND_TEST(integer, v->kind == TV_INT)
KIND_TEST(float_, v->kind == TV_FLOAT)
KIND_TEST(number, tv_is_number(v))
KIND_TEST(string, v->kind == TV_STRING)
KIND_TEST(mapping, v->kind == TV_DICT)
KIND_TEST(iterable, tv_is_iterable(v))
KIND_TEST(escaped, v->kind == TV_STRING && v->is_html)
KIND_TEST(sequence, v->kind == TV_STRING || v->kind == TV_BYTES || v->kind == TV_LIST || v->kind == TV_TUPLE ||
                        v->kind == TV_DICT || v->kind == TV_RANGE || v->kind == TV_UNDEFINED)
KIND_TEST(callable, v->kind == TV_FUNCTION || v->kind == TV_MACRO || v->kind == TV_LOOP || v->kind == TV_JOINER ||
                        v->kind == TV_UNDEFINED)
#undef KIND_TEST

// ---- numbers ------------------------------------------------------------------------------------

static const tval *rest_is(struct render *r, const tval *v, const tval *divisor, tv_int wanted) {
    const tval want = {.kind = TV_INT, .i = wanted};
    const tval *const rest = tr_binary(r, '%', v, divisor);
    bool equal;
    return rest && tr_equal(r, rest, &want, &equal) ? tv_bool(equal) : NULL;
}

static const tval two = {.kind = TV_INT, .i = 2};
static const tval *odd(struct render *r, const tval *v, const struct call *c) {
    return (void)c, rest_is(r, v, &two, 1);
}
static const tval *even(struct render *r, const tval *v, const struct call *c) {
    return (void)c, rest_is(r, v, &two, 0);
}
static const tval *divisibleby(struct render *r, const tval *v, const struct call *c) {
    return rest_is(r, v, c->arg[0], 0);
}

// ---- comparisons --------------------------------------------------------------------------------

static const tval *equals(struct render *r, const tval *a, const tval *b, bool wanted) {
    bool equal;
    return tr_equal(r, a, b, &equal) ? tv_bool(equal == wanted) : NULL;
}
static const tval *ordered(struct render *r, char op, const tval *a, const tval *b) {
    bool holds;
    return tr_ordered(r, op, a, b, &holds) ? tv_bool(holds) : NULL;
}
static const tval *eq(struct render *r, const tval *v, const struct call *c) { return equals(r, v, c->arg[0], true); }
static const tval *ne(struct render *r, const tval *v, const struct call *c) {
    return equals(r, v, c->arg[0], false);
}
static const tval *gt(struct render *r, const tval *v, const struct call *c) { return ordered(r, '>', v, c->arg[0]); }
static const tval *ge(struct render *r, const tval *v, const struct call *c) { return ordered(r, 'g', v, c->arg[0]); }
static const tval *lt(struct render *r, const tval *v, const struct call *c) { return ordered(r, '<', v, c->arg[0]); }
static const tval *le(struct render *r, const tval *v, const struct call *c) { return ordered(r, 'l', v, c->arg[0]); }

static const tval *in(struct render *r, const tval *v, const struct call *c) {
    bool found;
    return tr_contains(r, c->arg[0], v, &found) ? tv_bool(found) : NULL;
}

// Python tests for identity. Here: the same value, or equal values of types that Python interns.
static const tval *sameas(struct render *r, const tval *v, const struct call *c) {
    const tval *const other = c->arg[0];
    const bool is_plain = v->kind == TV_NONE || v->kind == TV_BOOL || v->kind == TV_INT || v->kind == TV_STRING;
    return v->kind == other->kind && is_plain ? equals(r, v, other, true) : tv_bool(v == other);
}

// ---- strings ------------------------------------------------------------------------------------

static const tval *by_method(struct render *r, const tval *v, const char *method) {
    const tval *const s = tr_str(r, v);
    return s ? template_method(TV_STRING, method, strlen(method))->fn(r, s, NULL) : NULL;
}
static const tval *lower(struct render *r, const tval *v, const struct call *c) {
    return (void)c, by_method(r, v, "islower");
}
static const tval *upper(struct render *r, const tval *v, const struct call *c) {
    return (void)c, by_method(r, v, "isupper");
}

static const tval *filter(struct render *r, const tval *v, const struct call *c) {
    (void)r, (void)c;
    return tv_bool(tv_is_str(v) && template_filter(v->str.s, v->str.n));
}
static const tval *test(struct render *r, const tval *v, const struct call *c) {
    (void)r, (void)c;
    return tv_bool(tv_is_str(v) && template_test(v->str.s, v->str.n));
}

static const struct builtin rows[] = {
    {"defined", defined, "", 0, 0},
    {"undefined", undefined, "", 0, 0},
    {"none", none, "", 0, 0},
    {"boolean", boolean, "", 0, 0},
    {"true", is_true, "", 0, 0},
    {"false", is_false, "", 0, 0},
    {"integer", integer, "", 0, 0},
    {"float", float_, "", 0, 0},
    {"number", number, "", 0, 0},
    {"string", string, "", 0, 0},
    {"mapping", mapping, "", 0, 0},
    {"sequence", sequence, "", 0, 0},
    {"iterable", iterable, "", 0, 0},
    {"callable", callable, "", 0, 0},
    {"escaped", escaped, "", 0, 0},
    {"odd", odd, "", 0, 0},
    {"even", even, "", 0, 0},
    {"divisibleby", divisibleby, "num", 1, 0},
    {"eq", eq, "b", 1, 0},
    {"==", eq, "b", 1, 0},
    {"equalto", eq, "b", 1, 0},
    {"ne", ne, "b", 1, 0},
    {"!=", ne, "b", 1, 0},
    {"gt", gt, "b", 1, 0},
    {">", gt, "b", 1, 0},
    {"greaterthan", gt, "b", 1, 0},
    {"ge", ge, "b", 1, 0},
    {">=", ge, "b", 1, 0},
    {"lt", lt, "b", 1, 0},
    {"<", lt, "b", 1, 0},
    {"lessthan", lt, "b", 1, 0},
    {"le", le, "b", 1, 0},
    {"<=", le, "b", 1, 0},
    {"in", in, "seq", 1, 0},
    {"sameas", sameas, "other", 1, 0},
    {"lower", lower, "", 0, 0},
    {"upper", upper, "", 0, 0},
    {"filter", filter, "", 0, 0},
    {"test", test, "", 0, 0},
};

const struct builtin *template_test(const char *name, size_t n) {
    static const struct builtin_table table = {rows, sizeof rows / sizeof *rows};
    return builtin_find(&table, 1, name, n);
}
