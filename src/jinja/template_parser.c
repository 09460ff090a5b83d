// jinja/template_parser.c - tokens, nodes and errors, for both parsers; see template_parser.h.
#include "jinja/template_parser.h"
#include "base/status.h"
#include <stdarg.h>
#include <stdio.h>

void *parse_fail(struct parser *p, size_t at, rn_status code, const char *fmt, ...) {
    char why[sizeof p->err->text];
    va_list ap;
    if (p->st != RN_OK) return NULL;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    p->st = template_fail_at(p->t, at, p->err, code, "%s", why);
    return NULL;
}

void *parse_no_memory(struct parser *p, size_t at) { return parse_fail(p, at, RN_E_NOMEM, "out of memory"); }

void *parse_unexpected(struct parser *p, const char *wanted) {
    static const char *const kinds[] = {
        [TOKEN_END] = "end of the template",
        [TOKEN_TEXT] = "text",
        [TOKEN_BLOCK_BEGIN] = "'{%'",
        [TOKEN_BLOCK_END] = "end of the tag",
        [TOKEN_PRINT_BEGIN] = "'{{'",
        [TOKEN_PRINT_END] = "end of the tag",
        [TOKEN_NAME] = NULL,
        [TOKEN_STRING] = "string",
        [TOKEN_NUMBER] = NULL,
        [TOKEN_OPERATOR] = NULL,
    };
    char word[64] = "";
    if (!kinds[p->now.kind]) snprintf(word, sizeof word, "'%.*s'", p->now.n < 40 ? (int)p->now.n : 40, p->now.s);
    return parse_fail(p, p->now.at, RN_E_FORMAT, "unexpected %s%s%s", word[0] ? word : kinds[p->now.kind],
                      wanted ? ", expected " : "", wanted ? wanted : "");
}

// ---- tokens -------------------------------------------------------------------------------------

bool parse_step(struct parser *p) {
    p->now = p->next;
    if (p->st == RN_OK) p->st = lexer_next(&p->lexer, &p->next);
    return p->st == RN_OK;
}

bool parse_op(struct parser *p, char op) {
    const char wanted[] = {'\'', op, '\'', 0};
    return at_op(p, op) ? parse_step(p) : parse_unexpected(p, wanted) != NULL;
}

bool parse_kind(struct parser *p, enum token_kind kind) {
    const char *const wanted = kind == TOKEN_NAME        ? "a name"
                               : kind == TOKEN_BLOCK_END ? "the end of the tag '%}'"
                                                         : "the end of the tag '}}'";
    return p->now.kind == kind ? parse_step(p) : parse_unexpected(p, wanted) != NULL;
}

bool parse_maybe_op(struct parser *p, char op, bool *found) {
    *found = at_op(p, op);
    return !*found || parse_step(p);
}

bool parse_maybe_name(struct parser *p, const char *name, bool *found) {
    *found = at_name(p, name);
    return !*found || parse_step(p);
}

// ---- nodes --------------------------------------------------------------------------------------

void *parse_alloc(struct parser *p, size_t n_bytes) {
    void *const mem = arena_alloc(&p->t->arena, n_bytes);
    return mem ? mem : parse_no_memory(p, p->now.at);
}

struct node *parse_node(struct parser *p, enum node_kind kind, size_t at) {
    struct node *const n = parse_alloc(p, sizeof *n);
    if (!n) return NULL;
    if (kind == NODE_FOR && !(n->loop = parse_alloc(p, sizeof *n->loop))) return NULL;
    n->kind = (uint8_t)kind;
    n->at = (uint32_t)at; // a source is far smaller than 4 GiB
    n->depth = 1;
    return n;
}

struct node *parse_block_node(struct parser *p, enum node_kind kind) {
    struct node *const n = parse_node(p, kind, p->now.at);
    return n && (n->block = parse_alloc(p, sizeof *n->block)) ? n : NULL;
}

bool parse_adopt(struct parser *p, struct node *parent, const struct node *child) {
    if (!child || child->depth < parent->depth) return true;
    parent->depth = (uint16_t)(child->depth + 1);
    if (parent->depth <= TEMPLATE_MAX_NESTING) return true;
    return parse_fail(p, parent->at, RN_E_LIMIT, "nested deeper than %d", TEMPLATE_MAX_NESTING);
}

bool parse_add(struct parser *p, struct node *parent, struct node_list *list, struct node *child) {
    if (!child || !parse_adopt(p, parent, child)) return false;
    if (list->last)
        list->last->next = child;
    else
        list->first = child;
    list->last = child;
    list->n++;
    return true;
}

const tval *parse_text(struct parser *p, const char *s, size_t n) {
    tval *const v = parse_alloc(p, sizeof *v);
    if (v) *v = (tval){.kind = TV_STRING, .is_ascii = tv_all_ascii(s, n), .str = {.s = n ? s : "", .n = n}};
    return v;
}

// Doubles the capacity; entries keep their ids.
static bool grow_names(struct parser *p) {
    struct tv_dict *const more = tv_dict_new(&p->t->arena, p->names ? 2 * p->names->cap : 64);
    if (!more) return parse_no_memory(p, p->now.at);
    for (uint32_t i = 0; p->names && i < p->names->n; i++)
        tv_dict_put(more, &p->names->entries[i].key, p->names->entries[i].value);
    p->names = more;
    return true;
}

static bool name_id(struct parser *p, const char *s, size_t n, uint32_t *id) {
    const tval name = {.kind = TV_STRING, .is_ascii = tv_all_ascii(s, n), .str = {.s = s, .n = n}};
    const struct tv_entry *e = p->names ? tv_dict_find(p->names, &name) : NULL;
    if (!e) {
        if ((!p->names || p->names->n == p->names->cap) && !grow_names(p)) return false;
        tv_dict_put(p->names, &name, &tv_none);
        e = &p->names->entries[p->names->n - 1];
    }
    *id = (uint32_t)(e - p->names->entries);
    return true;
}

// A macro receives a special name (caller, kwargs, varargs) only if its body reads it before
// assigning to it.
static void note_special(struct parser *p, const struct token *name, bool is_store) {
    static const struct {
        const char *name;
        uint8_t use;
    } special[] = {{"caller", USES_CALLER}, {"kwargs", USES_NAMED}, {"varargs", USES_MORE}};
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
        if (!token_is(name, special[i].name)) continue;
        if (is_store)
            p->assigns |= special[i].use;
        else if (!(p->assigns & special[i].use))
            p->uses |= special[i].use;
    }
}

struct node *parse_name_node(struct parser *p, const struct token *name, bool is_store) {
    struct node *const n = parse_node(p, NODE_NAME, name->at);
    if (!n || !name_id(p, name->s, name->n, &n->name.id)) return NULL;
    note_special(p, name, is_store);
    return n;
}
