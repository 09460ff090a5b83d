// jinja/template_parse_expr.c - parses expressions; see template_parser.h.
#include "jinja/template_builtin.h"
#include "jinja/template_parser.h"

// Precedence, lowest first. In Jinja ~ is between + and *, and ** is left-associative.
enum level {
    LEVEL_NONE,
    LEVEL_OR,
    LEVEL_AND,
    LEVEL_NOT,
    LEVEL_COMPARE,
    LEVEL_ADD,
    LEVEL_CONCAT,
    LEVEL_MULTIPLY,
    LEVEL_POWER
};

static struct node *parse_level(struct parser *p, enum level min);
static struct node *parse_unary(struct parser *p, bool with_filters);

static bool enter(struct parser *p) {
    if (++p->depth <= 4 * TEMPLATE_MAX_NESTING) return true; // about four calls for each bracket
    return parse_fail(p, p->now.at, RN_E_LIMIT, "nested deeper than %d", TEMPLATE_MAX_NESTING);
}

// ---- arguments ----------------------------------------------------------------------------------

enum { MAX_NAMED = 255 }; // in one call; each is compared with all others

static bool add_argument(struct parser *p, struct node *of, struct arguments *args, const tval *name,
                         struct node *value) {
    struct argument *const a = parse_alloc(p, sizeof *a);
    if (!a || !parse_adopt(p, of, value)) return false;
    *a = (struct argument){.value = value, .name = name};
    if (args->last)
        args->last->next = a;
    else
        args->first = a;
    args->last = a;
    ++*(name ? &args->n_named : &args->n_pos);
    return true;
}

static bool is_given(const struct arguments *args, const struct token *name) {
    for (const struct argument *a = args->first; a; a = a->next)
        if (a->name && a->name->str.n == name->n && memcmp(a->name->str.s, name->s, name->n) == 0) return true;
    return false;
}

static bool parse_named_argument(struct parser *p, struct node *of, struct arguments *args) {
    const struct token name = p->now;
    if (args->n_named == MAX_NAMED)
        return parse_fail(p, name.at, RN_E_LIMIT, "more than %d named arguments", MAX_NAMED);
    if (is_given(args, &name))
        return parse_fail(p, name.at, RN_E_FORMAT, "argument '%.*s' is given twice", (int)name.n, name.s);
    const tval *const text = parse_text(p, name.s, name.n);
    if (!text || !parse_step(p) || !parse_step(p)) return false;
    struct node *const value = parse_expression(p);
    return value && add_argument(p, of, args, text, value);
}

static bool parse_argument(struct parser *p, struct node *of, struct arguments *args) {
    const bool more = at_op(p, '*'), more_named = at_op(p, 'p');
    const bool named = p->now.kind == TOKEN_NAME && p->next.kind == TOKEN_OPERATOR && p->next.op == '=';
    const bool ordered =
        more_named || named ? !args->more_named : !args->more && !args->more_named && (more || args->n_named == 0);
    if (!ordered) return parse_fail(p, p->now.at, RN_E_FORMAT, "arguments out of order");
    if (named) return parse_named_argument(p, of, args);
    if ((more || more_named) && !parse_step(p)) return false;
    struct node *const value = parse_expression(p);
    if (!value) return false;
    if (!more && !more_named) return add_argument(p, of, args, NULL, value);
    *(more ? &args->more : &args->more_named) = value;
    return parse_adopt(p, of, value);
}

static struct arguments *parse_arguments(struct parser *p, struct node *of) {
    struct arguments *const args = parse_alloc(p, sizeof *args);
    if (!args || !parse_op(p, '(')) return NULL;
    for (bool first = true; !at_op(p, ')'); first = false) {
        if (!first && !parse_op(p, ',')) return NULL;
        if (!first && at_op(p, ')')) break;
        if (!parse_argument(p, of, args)) return NULL;
    }
    return parse_op(p, ')') ? args : NULL;
}

// ---- literals and names -------------------------------------------------------------------------

static struct node *parse_const(struct parser *p, const tval *value) {
    struct node *const n = value ? parse_node(p, NODE_CONST, p->now.at) : NULL;
    if (!n) return NULL;
    n->value = value;
    return parse_step(p) ? n : NULL;
}

// Adjacent string literals are joined.
static struct node *parse_strings(struct parser *p) {
    const struct token first = p->now;
    struct text_buf whole = {0};
    text_buf_add(&whole, first.s, first.n);
    bool ok = true;
    while (ok && p->next.kind == TOKEN_STRING) {
        ok = parse_step(p);
        if (ok) text_buf_add(&whole, p->now.s, p->now.n);
    }
    const char *const s = ok && !whole.failed ? arena_strndup(&p->t->arena, whole.s, whole.n) : NULL;
    const size_t n = whole.n;
    text_buf_free(&whole);
    if (!s) return parse_no_memory(p, first.at);
    struct node *const made = parse_const(p, parse_text(p, s, n));
    if (made) made->at = (uint32_t)first.at;
    return made;
}

static struct node *parse_word(struct parser *p, bool members) {
    static const struct {
        const char *name;
        const tval *value;
    } words[] = {{"true", &tv_true}, {"false", &tv_false}, {"none", &tv_none},
                 {"True", &tv_true}, {"False", &tv_false}, {"None", &tv_none}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (at_name(p, words[i].name)) return parse_const(p, words[i].value);
    const struct token name = p->now;
    const bool is_member = members && p->next.kind == TOKEN_OPERATOR && p->next.op == '.';
    struct node *const n = parse_name_node(p, &name, p->in_target && !is_member);
    if (!n || !parse_step(p) || !is_member) return p->st == RN_OK ? n : NULL;
    struct node *const m = parse_node(p, NODE_MEMBER, name.at);
    if (!m || !parse_step(p)) return NULL;
    m->member.of = n;
    m->member.name = parse_text(p, p->now.s, p->now.n);
    return m->member.name && parse_adopt(p, m, n) && parse_kind(p, TOKEN_NAME) ? m : NULL;
}

// [a, b] and {a: b}: items up to `close`, separated by commas; a trailing comma is allowed.
static struct node *parse_display(struct parser *p, enum node_kind kind, char close) {
    struct node *const n = parse_node(p, kind, p->now.at);
    if (!n || !parse_step(p)) return NULL;
    while (!at_op(p, close)) {
        if (n->list.n > 0 && !parse_op(p, ',')) return NULL;
        if (at_op(p, close)) break;
        if (!parse_add(p, n, &n->list, parse_expression(p))) return NULL;
        if (kind == NODE_LIST) continue;
        if (!parse_op(p, ':') || !parse_add(p, n, &n->list, parse_expression(p))) return NULL;
    }
    return parse_op(p, close) ? n : NULL;
}

static struct node *parse_primary(struct parser *p, bool members) {
    switch (p->now.kind) {
    case TOKEN_NAME: return parse_word(p, members);
    case TOKEN_STRING: return parse_strings(p);
    case TOKEN_NUMBER: return parse_const(p, p->now.value);
    default: break;
    }
    if (at_op(p, '(')) {
        if (!parse_step(p)) return NULL;
        struct node *const n = parse_tuple(p, TUPLE_IN_BRACKETS);
        return n && parse_op(p, ')') ? n : NULL;
    }
    if (at_op(p, '[')) return parse_display(p, NODE_LIST, ']');
    if (at_op(p, '{')) return parse_display(p, NODE_DICT, '}');
    return parse_unexpected(p, NULL);
}

static bool ends_tuple(const struct parser *p) {
    return p->now.kind == TOKEN_PRINT_END || p->now.kind == TOKEN_BLOCK_END || at_op(p, ')');
}

struct node *parse_tuple(struct parser *p, unsigned flags) {
    struct node *const n = parse_node(p, NODE_TUPLE, p->now.at);
    bool is_tuple = false;
    while (n) {
        if (n->list.n > 0 && !parse_op(p, ',')) return NULL;
        if (ends_tuple(p)) break;
        struct node *const item = flags & TUPLE_SIMPLE      ? parse_primary(p, flags & TUPLE_MEMBERS)
                                  : flags & TUPLE_NO_CHOICE ? parse_level(p, LEVEL_OR)
                                                            : parse_expression(p);
        if (!parse_add(p, n, &n->list, item)) return NULL;
        if (!at_op(p, ',')) break;
        is_tuple = true;
    }
    if (!n || is_tuple) return n;
    if (n->list.n == 1) return n->list.first;
    return flags & TUPLE_IN_BRACKETS ? n : parse_unexpected(p, "an expression");
}

// ---- attributes, items, calls, filters ----------------------------------------------------------

static struct node *parse_attribute(struct parser *p, struct node *of) {
    struct node *const n = parse_node(p, NODE_ATTRIBUTE, p->now.at);
    if (!n || !parse_step(p) || !parse_adopt(p, n, of)) return NULL;
    if (p->now.kind == TOKEN_NUMBER && p->now.value->kind == TV_INT) {
        n->kind = NODE_ITEM;
        n->a = of;
        return (n->b = parse_const(p, p->now.value)) ? n : NULL;
    }
    if (p->now.kind != TOKEN_NAME) return parse_unexpected(p, "a name or a number");
    n->attribute.of = of;
    n->attribute.name = parse_text(p, p->now.s, p->now.n);
    n->attribute.of_string = template_method(TV_STRING, p->now.s, p->now.n);
    n->attribute.of_dict = template_method(TV_DICT, p->now.s, p->now.n);
    return n->attribute.name && parse_step(p) ? n : NULL;
}

// Parses one of the up to three parts of a slice; *part is NULL if it is empty.
static bool parse_slice_part(struct parser *p, struct node *slice, struct node **part) {
    *part = NULL;
    if (at_op(p, ':') || at_op(p, ']') || at_op(p, ',')) return true;
    return (*part = parse_expression(p)) && parse_adopt(p, slice, *part);
}

// Parses the rest of a slice from its first colon on. from: the expression before the colon, or
// NULL.
static struct node *parse_slice(struct parser *p, struct node *of, struct node *from) {
    struct node *const n = parse_node(p, NODE_SLICE, p->now.at);
    bool has_step = false;
    if (!n || !parse_op(p, ':') || !parse_adopt(p, n, of) || !parse_adopt(p, n, from)) return NULL;
    n->slice.of = of;
    n->slice.from = from;
    if (!parse_slice_part(p, n, &n->slice.to) || !parse_maybe_op(p, ':', &has_step)) return NULL;
    if (has_step && !parse_slice_part(p, n, &n->slice.step)) return NULL;
    return parse_op(p, ']') ? n : NULL;
}

static struct node *parse_item(struct parser *p, struct node *of) {
    struct node *const n = parse_node(p, NODE_ITEM, p->now.at);
    if (!n || !parse_step(p)) return NULL;
    if (at_op(p, ':')) return parse_slice(p, of, NULL);
    struct node *index = at_op(p, ']') ? parse_node(p, NODE_TUPLE, p->now.at) : parse_expression(p);
    if (!index) return NULL;
    if (at_op(p, ':')) return parse_slice(p, of, index);
    if (at_op(p, ',')) {
        struct node *const tuple = parse_node(p, NODE_TUPLE, index->at);
        if (!tuple || !parse_add(p, tuple, &tuple->list, index)) return NULL;
        while (!at_op(p, ']'))
            if (!parse_op(p, ',') || !parse_add(p, tuple, &tuple->list, parse_expression(p))) return NULL;
        index = tuple;
    }
    n->a = of;
    n->b = index;
    return parse_adopt(p, n, of) && parse_adopt(p, n, index) && parse_op(p, ']') ? n : NULL;
}

static struct node *parse_call(struct parser *p, struct node *of) {
    struct node *const n = parse_node(p, NODE_CALL, of->at);
    if (!n) return NULL;
    n->call.of = of;
    n->call.args = parse_arguments(p, n);
    return n->call.args && parse_adopt(p, n, of) ? n : NULL;
}

// The name of a filter or test, which may contain dots.
static const tval *parse_dotted(struct parser *p) {
    const struct token first = p->now;
    if (!parse_kind(p, TOKEN_NAME)) return NULL;
    if (!at_op(p, '.')) return parse_text(p, first.s, first.n);
    size_t end = 0;
    while (at_op(p, '.')) {
        if (!parse_step(p)) return NULL;
        end = p->now.at + p->now.n;
        if (!parse_kind(p, TOKEN_NAME)) return NULL;
    }
    return parse_text(p, first.s, end - first.at);
}

struct node *parse_filters(struct parser *p, struct node *on, bool starts) {
    while (at_op(p, '|') || starts) {
        if (!starts && !parse_step(p)) return NULL;
        starts = false;
        struct node *const n = parse_node(p, NODE_FILTER, p->now.at);
        if (!n || !(n->call.name = parse_dotted(p))) return NULL;
        n->call.of = on;
        n->call.args = at_op(p, '(') ? parse_arguments(p, n) : parse_alloc(p, sizeof *n->call.args);
        if (!n->call.args || !parse_adopt(p, n, on)) return NULL;
        on = n;
    }
    return on;
}

static bool begins_argument(const struct parser *p) {
    const enum token_kind k = p->now.kind;
    if (k == TOKEN_NAME) return !at_name(p, "else") && !at_name(p, "or") && !at_name(p, "and");
    return k == TOKEN_STRING || k == TOKEN_NUMBER || at_op(p, '[') || at_op(p, '{');
}

static struct node *parse_postfix(struct parser *p, struct node *n) {
    while (n) {
        if (at_op(p, '.'))
            n = parse_attribute(p, n);
        else if (at_op(p, '['))
            n = parse_item(p, n);
        else if (at_op(p, '('))
            n = parse_call(p, n);
        else
            break;
    }
    return n;
}

static struct node *parse_test(struct parser *p, struct node *of) {
    bool negated = false;
    if (!parse_step(p) || !parse_maybe_name(p, "not", &negated)) return NULL;
    struct node *const n = parse_node(p, NODE_TEST, p->now.at);
    if (!n || !(n->call.name = parse_dotted(p))) return NULL;
    n->op = negated;
    n->call.of = of;
    n->call.args = at_op(p, '(') ? parse_arguments(p, n) : parse_alloc(p, sizeof *n->call.args);
    if (!n->call.args || !parse_adopt(p, n, of)) return NULL;
    if (n->call.args->n_pos + n->call.args->n_named > 0 || !begins_argument(p)) return n;
    if (at_name(p, "is")) return parse_fail(p, p->now.at, RN_E_FORMAT, "tests cannot be chained with 'is'");
    struct node *const value = parse_postfix(p, parse_primary(p, false));
    return value && add_argument(p, n, n->call.args, NULL, value) ? n : NULL;
}

static struct node *parse_filters_and_tests(struct parser *p, struct node *n) {
    while (n) {
        if (at_op(p, '|'))
            n = parse_filters(p, n, false);
        else if (at_name(p, "is"))
            n = parse_test(p, n);
        else if (at_op(p, '('))
            n = parse_call(p, n);
        else
            break;
    }
    return n;
}

// ---- operators ----------------------------------------------------------------------------------

static struct node *parse_signed(struct parser *p) {
    struct node *const n = parse_node(p, p->now.op == '-' ? NODE_NEGATE : NODE_PLUS, p->now.at);
    if (!n || !parse_step(p) || !(n->a = parse_unary(p, false))) return NULL;
    return parse_adopt(p, n, n->a) ? n : NULL;
}

static struct node *parse_unary(struct parser *p, bool with_filters) {
    if (!enter(p)) return NULL;
    struct node *n = at_op(p, '-') || at_op(p, '+') ? parse_signed(p) : parse_primary(p, false);
    n = parse_postfix(p, n);
    if (with_filters) n = parse_filters_and_tests(p, n);
    p->depth--;
    return n;
}

static bool at_not_in(const struct parser *p) { return at_name(p, "not") && token_is(&p->next, "in"); }

static enum level level_now(const struct parser *p) {
    if (p->now.kind == TOKEN_NAME) {
        if (at_name(p, "or")) return LEVEL_OR;
        if (at_name(p, "and")) return LEVEL_AND;
        return at_name(p, "in") || at_not_in(p) ? LEVEL_COMPARE : LEVEL_NONE;
    }
    if (p->now.kind != TOKEN_OPERATOR) return LEVEL_NONE;
    switch (p->now.op) {
    case 'e':
    case 'n':
    case '<':
    case 'l':
    case '>':
    case 'g': return LEVEL_COMPARE;
    case '+':
    case '-': return LEVEL_ADD;
    case '~': return LEVEL_CONCAT;
    case '*':
    case '/':
    case 'f':
    case '%': return LEVEL_MULTIPLY;
    case 'p': return LEVEL_POWER;
    default: return LEVEL_NONE;
    }
}

// a < b in c is one node, because each operand is evaluated once.
static struct node *parse_comparison(struct parser *p, struct node *left) {
    struct node *const n = parse_node(p, NODE_COMPARE, p->now.at);
    char *ops = NULL;
    uint32_t room = 0;
    if (!n || !parse_adopt(p, n, left)) return NULL;
    n->compare.of = left;
    while (level_now(p) == LEVEL_COMPARE) {
        const uint32_t i = n->compare.operands.n;
        if (i == room) {
            char *const more = parse_alloc(p, room = 2 * room + 2);
            if (!more) return NULL;
            if (i) memcpy(more, ops, i);
            n->compare.ops = ops = more;
        }
        const bool is_not = at_not_in(p);
        ops[i] = p->now.kind == TOKEN_NAME ? (is_not ? '!' : 'i') : p->now.op;
        if (!parse_step(p) || (is_not && !parse_step(p))) return NULL;
        if (!parse_add(p, n, &n->compare.operands, parse_level(p, LEVEL_ADD))) return NULL;
    }
    return n;
}

static struct node *parse_concat(struct parser *p, struct node *left) {
    struct node *const n = parse_node(p, NODE_CONCAT, p->now.at);
    if (!n || !parse_add(p, n, &n->list, left)) return NULL;
    while (at_op(p, '~'))
        if (!parse_step(p) || !parse_add(p, n, &n->list, parse_level(p, LEVEL_MULTIPLY))) return NULL;
    return n;
}

static struct node *parse_binary(struct parser *p, struct node *left, enum level level) {
    const enum node_kind kind = level == LEVEL_OR ? NODE_OR : level == LEVEL_AND ? NODE_AND : NODE_BINARY;
    struct node *const n = parse_node(p, kind, p->now.at);
    if (!n) return NULL;
    n->op = (uint8_t)p->now.op;
    n->a = left;
    if (!parse_step(p) || !(n->b = parse_level(p, level + 1))) return NULL;
    return parse_adopt(p, n, left) && parse_adopt(p, n, n->b) ? n : NULL;
}

static struct node *parse_not(struct parser *p) {
    struct node *const n = parse_node(p, NODE_NOT, p->now.at);
    if (!n || !parse_step(p) || !(n->a = parse_level(p, LEVEL_NOT))) return NULL;
    return parse_adopt(p, n, n->a) ? n : NULL;
}

static struct node *parse_level(struct parser *p, enum level min) {
    if (!enter(p)) return NULL;
    struct node *n = min <= LEVEL_NOT && at_name(p, "not") ? parse_not(p) : parse_unary(p, true);
    for (enum level level; n && (level = level_now(p)) != LEVEL_NONE && level >= min;)
        n = level == LEVEL_COMPARE  ? parse_comparison(p, n)
            : level == LEVEL_CONCAT ? parse_concat(p, n)
                                    : parse_binary(p, n, level);
    p->depth--;
    return n;
}

struct node *parse_expression(struct parser *p) {
    if (!enter(p)) return NULL;
    struct node *n = parse_level(p, LEVEL_OR);
    while (n && at_name(p, "if")) {
        struct node *const choice = parse_node(p, NODE_CHOICE, p->now.at);
        bool has_else = false;
        if (!choice || !parse_step(p) || !(choice->a = parse_level(p, LEVEL_OR))) return NULL;
        choice->b = n;
        if (!parse_maybe_name(p, "else", &has_else)) return NULL;
        if (has_else && !(choice->c = parse_expression(p))) return NULL;
        if (!parse_adopt(p, choice, choice->a) || !parse_adopt(p, choice, n) || !parse_adopt(p, choice, choice->c))
            return NULL;
        n = choice;
    }
    p->depth--;
    return n;
}
