// jinja/template_parse_statements.c - parses tags and the text between them; see template_parser.h.
#include "jinja/template_parser.h"

static bool parse_body(struct parser *p, struct node *parent, struct node_list *list, const char *const *ends);

// ---- targets ------------------------------------------------------------------------------------

static bool may_be_target(struct parser *p, const struct node *n) {
    static const char *const names[N_NODE_KINDS] = {
        [NODE_CONST] = "a constant", [NODE_LIST] = "a list", [NODE_DICT] = "a dictionary"};
    if (n->kind == NODE_NAME || n->kind == NODE_MEMBER) return true;
    if (n->kind != NODE_TUPLE)
        return parse_fail(p, n->at, RN_E_FORMAT, "cannot assign to %s",
                          names[n->kind] ? names[n->kind] : "an expression");
    for (const struct node *item = n->list.first; item; item = item->next)
        if (!may_be_target(p, item)) return false;
    return true;
}

static struct node *parse_target(struct parser *p, unsigned flags) {
    p->in_target = true;
    struct node *const n = parse_tuple(p, flags | TUPLE_SIMPLE);
    p->in_target = false;
    return n && may_be_target(p, n) ? n : NULL;
}

static struct node *parse_name_target(struct parser *p) {
    const struct token name = p->now;
    static const char *const reserved[] = {"true", "false", "none", "True", "False", "None"};
    if (!parse_kind(p, TOKEN_NAME)) return NULL;
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (token_is(&name, reserved[i]))
            return parse_fail(p, name.at, RN_E_FORMAT, "cannot assign to '%s'", reserved[i]);
    return parse_name_node(p, &name, true);
}

// Copies a target, so that it can be bound in another scope.
static struct node *copy_target(struct parser *p, const struct node *n) {
    struct node *const copy = parse_node(p, n->kind, n->at);
    if (!copy) return NULL;
    if (n->kind == NODE_NAME) {
        copy->name.id = n->name.id;
        return copy;
    }
    for (const struct node *item = n->list.first; item; item = item->next)
        if (!parse_add(p, copy, &copy->list, copy_target(p, item))) return NULL;
    return copy;
}

// ---- for, if ------------------------------------------------------------------------------------

static struct node *parse_for(struct parser *p) {
    struct node *const n = parse_node(p, NODE_FOR, p->now.at);
    bool has_test = false;
    if (!n || !parse_step(p) || !(n->loop->target = parse_target(p, 0))) return NULL;
    if (!at_name(p, "in")) return parse_unexpected(p, "'in'");
    if (!parse_step(p) || !(n->loop->iter = parse_tuple(p, TUPLE_NO_CHOICE))) return NULL;
    if (!parse_maybe_name(p, "if", &has_test)) return NULL;
    if (has_test &&
        (!(n->loop->test = parse_expression(p)) || !(n->loop->test_target = copy_target(p, n->loop->target))))
        return NULL;
    if (!parse_maybe_name(p, "recursive", &n->loop->recursive)) return NULL;
    if (!parse_adopt(p, n, n->loop->iter) || !parse_adopt(p, n, n->loop->test)) return NULL;
    p->n_loops++;
    const bool ok = parse_body(p, n, &n->loop->body, (const char *const[]){"endfor", "else", NULL});
    p->n_loops--;
    if (!ok) return NULL;
    if (at_name(p, "else") &&
        (!parse_step(p) || !parse_body(p, n, &n->loop->otherwise, (const char *const[]){"endfor", NULL})))
        return NULL;
    return parse_step(p) ? n : NULL;
}

// An elif is an if inside else. It counts as one level deeper for scopes, as in Jinja, but not for
// the nesting limit.
static struct node *parse_if(struct parser *p) {
    struct node *const first = parse_node(p, NODE_IF, p->now.at);
    for (struct node *n = first; n;) {
        if (!parse_step(p) || !(n->branch.test = parse_tuple(p, TUPLE_NO_CHOICE))) return NULL;
        if (!parse_adopt(p, first, n->branch.test)) return NULL;
        if (!parse_body(p, first, &n->branch.body, (const char *const[]){"elif", "else", "endif", NULL})) return NULL;
        if (at_name(p, "elif")) {
            struct node *const elif = parse_node(p, NODE_IF, p->now.at);
            if (!elif) return NULL;
            n->branch.otherwise = (struct node_list){.first = elif, .last = elif, .n = 1};
            n = elif;
            continue;
        }
        if (at_name(p, "else") &&
            (!parse_step(p) || !parse_body(p, first, &n->branch.otherwise, (const char *const[]){"endif", NULL})))
            return NULL;
        return parse_step(p) ? first : NULL;
    }
    return NULL;
}

static struct node *parse_jump(struct parser *p) {
    struct node *const n = parse_node(p, at_name(p, "break") ? NODE_BREAK : NODE_CONTINUE, p->now.at);
    if (p->n_loops == 0)
        return parse_fail(p, p->now.at, RN_E_FORMAT, "'%.*s' outside of a loop", (int)p->now.n, p->now.s);
    return n && parse_step(p) ? n : NULL;
}

// ---- assignments --------------------------------------------------------------------------------

static struct node *parse_set(struct parser *p) {
    struct node *const n = parse_node(p, NODE_SET, p->now.at);
    bool has_value = false;
    if (!n || !parse_step(p)) return NULL;
    struct node *const target = parse_target(p, TUPLE_MEMBERS);
    if (!target || !parse_maybe_op(p, '=', &has_value)) return NULL;
    if (has_value) {
        n->a = target;
        return (n->b = parse_tuple(p, 0)) && parse_adopt(p, n, n->b) ? n : NULL;
    }
    struct node *const captured = parse_node(p, NODE_CAPTURED, p->now.at);
    if (!captured) return NULL;
    n->kind = NODE_SET_BLOCK;
    if (!(n->block = parse_alloc(p, sizeof *n->block))) return NULL;
    n->block->target = target;
    n->block->filter = parse_filters(p, captured, false);
    if (!n->block->filter || !parse_adopt(p, n, n->block->filter)) return NULL;
    return parse_body(p, n, &n->block->body, (const char *const[]){"endset", NULL}) && parse_step(p) ? n : NULL;
}

static struct node *parse_with(struct parser *p) {
    struct node *const n = parse_block_node(p, NODE_WITH);
    if (!n || !parse_step(p)) return NULL;
    while (p->now.kind != TOKEN_BLOCK_END) {
        if (n->block->targets.n > 0 && !parse_op(p, ',')) return NULL;
        if (!parse_add(p, n, &n->block->targets, parse_target(p, 0)) || !parse_op(p, '=')) return NULL;
        if (!parse_add(p, n, &n->block->values, parse_expression(p))) return NULL;
    }
    return parse_body(p, n, &n->block->body, (const char *const[]){"endwith", NULL}) && parse_step(p) ? n : NULL;
}

static struct node *parse_filter_block(struct parser *p) {
    struct node *const n = parse_block_node(p, NODE_FILTER_BLOCK);
    struct node *const captured = parse_node(p, NODE_CAPTURED, p->now.at);
    if (!n || !captured || !parse_step(p)) return NULL;
    n->block->filter = parse_filters(p, captured, true);
    if (!n->block->filter || !parse_adopt(p, n, n->block->filter)) return NULL;
    return parse_body(p, n, &n->block->body, (const char *const[]){"endfilter", NULL}) && parse_step(p) ? n : NULL;
}

// ---- macros -------------------------------------------------------------------------------------

static bool parse_parameters(struct parser *p, struct node *of, struct macro *m) {
    struct node_list defaults = {0};
    if (!parse_op(p, '(')) return false;
    while (!at_op(p, ')')) {
        bool has_default = false;
        if (m->params.n > 0 && !parse_op(p, ',')) return false;
        if (!parse_add(p, of, &m->params, parse_name_target(p)) || !parse_maybe_op(p, '=', &has_default))
            return false;
        if (has_default && !parse_add(p, of, &defaults, parse_expression(p))) return false;
        if (!has_default && defaults.n > 0)
            return parse_fail(p, p->now.at, RN_E_FORMAT, "a parameter without a default after one with a default");
    }
    m->n_defaults = defaults.n;
    m->defaults = parse_alloc(p, defaults.n * sizeof *m->defaults);
    if (!m->defaults) return false;
    uint32_t i = 0;
    for (const struct node *d = defaults.first; d; d = d->next) m->defaults[i++] = d;
    return parse_op(p, ')');
}

// Parses the body of a function. Surrounding loops are not visible to break in it, and its uses of
// special names are its own.
static bool parse_function_body(struct parser *p, struct node *of, struct macro *m, const char *end) {
    const uint8_t uses = p->uses, assigns = p->assigns;
    const int n_loops = p->n_loops;
    p->uses = p->assigns = 0;
    p->n_loops = 0;
    const bool ok = parse_body(p, of, &m->body, (const char *const[]){end, NULL}) && parse_step(p);
    m->uses = p->uses;
    p->uses = uses | (uint8_t)(p->uses & ~assigns);
    p->assigns |= assigns;
    p->n_loops = n_loops;
    return ok;
}

static struct node *parse_macro(struct parser *p) {
    struct node *const n = parse_node(p, NODE_MACRO, p->now.at);
    struct macro *const m = parse_alloc(p, sizeof *m);
    if (!n || !m || !parse_step(p)) return NULL;
    n->macro.macro = m;
    m->name = parse_text(p, p->now.s, p->now.n);
    if (!m->name || !(n->macro.target = parse_name_target(p)) || !parse_parameters(p, n, m)) return NULL;
    return parse_function_body(p, n, m, "endmacro") ? n : NULL;
}

static struct node *parse_call_block(struct parser *p) {
    struct node *const n = parse_node(p, NODE_CALL_BLOCK, p->now.at);
    struct macro *const m = parse_alloc(p, sizeof *m);
    if (!n || !m || !parse_step(p)) return NULL;
    n->macro.macro = m;
    if (at_op(p, '(')) {
        if (!parse_parameters(p, n, m)) return NULL;
    } else if (!(m->defaults = parse_alloc(p, 0))) {
        return NULL;
    }
    if (!(n->macro.call = parse_expression(p)) || !parse_adopt(p, n, n->macro.call)) return NULL;
    if (n->macro.call->kind != NODE_CALL) return parse_fail(p, n->at, RN_E_FORMAT, "a call block without a call");
    return parse_function_body(p, n, m, "endcall") ? n : NULL;
}

// ---- other tags ---------------------------------------------------------------------------------

static struct node *parse_print(struct parser *p) {
    struct node *const n = parse_node(p, NODE_PRINT, p->now.at);
    if (!n || !parse_step(p)) return NULL;
    while (p->now.kind != TOKEN_BLOCK_END) {
        if (n->list.n > 0 && !parse_op(p, ',')) return NULL;
        if (!parse_add(p, n, &n->list, parse_expression(p))) return NULL;
    }
    return n;
}

static struct node *parse_generation(struct parser *p) {
    struct node *const n = parse_block_node(p, NODE_SCOPE);
    const int n_loops = p->n_loops;
    if (!n || !parse_step(p)) return NULL;
    p->n_loops = 0; // in transformers this is a function of its own
    const bool ok = parse_body(p, n, &n->block->body, (const char *const[]){"endgeneration", NULL}) && parse_step(p);
    p->n_loops = n_loops;
    return ok ? n : NULL;
}

static struct node *parse_autoescape(struct parser *p) {
    struct node *const n = parse_block_node(p, NODE_SCOPE);
    if (!n || !parse_step(p)) return NULL;
    const struct node *const on = parse_expression(p);
    if (!on) return NULL;
    if (on->kind != NODE_CONST || on->value != &tv_false)
        return parse_fail(p, n->at, RN_E_UNSUPPORTED,
                          "'autoescape' is supported only with false: the output is not HTML");
    return parse_body(p, n, &n->block->body, (const char *const[]){"endautoescape", NULL}) && parse_step(p) ? n
                                                                                                            : NULL;
}

static struct node *parse_block(struct parser *p) {
    struct node *const n = parse_block_node(p, NODE_BLOCK);
    const int n_loops = p->n_loops;
    if (!n || !parse_step(p)) return NULL;
    const struct token name = p->now;
    n->block->name = parse_text(p, name.s, name.n);
    if (!n->block->name || !parse_kind(p, TOKEN_NAME)) return NULL;
    if (!parse_maybe_name(p, "scoped", &n->block->is_scoped)) return NULL;
    if (!parse_maybe_name(p, "required", &n->block->is_required)) return NULL;
    p->n_loops = 0;
    const bool ok = parse_body(p, n, &n->block->body, (const char *const[]){"endblock", NULL}) && parse_step(p);
    p->n_loops = n_loops;
    const bool is_named = p->now.kind == TOKEN_NAME && p->now.n == name.n && memcmp(p->now.s, name.s, name.n) == 0;
    return ok && (!is_named || parse_step(p)) ? n : NULL;
}

// include, import, from, extends: not supported, because there are no other templates.
static struct node *parse_foreign(struct parser *p) {
    struct node *const n = parse_node(p, NODE_FOREIGN, p->now.at);
    char *const word = parse_alloc(p, p->now.n + 1);
    if (!n || !word) return NULL;
    memcpy(word, p->now.s, p->now.n);
    n->word = word;
    while (p->now.kind != TOKEN_BLOCK_END) {
        if (p->now.kind == TOKEN_END) return parse_unexpected(p, "the end of the tag '%}'");
        if (!parse_step(p)) return NULL;
    }
    return n;
}

static struct node *parse_statement(struct parser *p) {
    static const struct {
        const char *name;
        struct node *(*parse)(struct parser *);
    } tags[] = {
        {"if", parse_if},
        {"set", parse_set},
        {"for", parse_for},
        {"macro", parse_macro},
        {"break", parse_jump},
        {"continue", parse_jump},
        {"call", parse_call_block},
        {"filter", parse_filter_block},
        {"with", parse_with},
        {"print", parse_print},
        {"generation", parse_generation},
        {"block", parse_block},
        {"include", parse_foreign},
        {"import", parse_foreign},
        {"from", parse_foreign},
        {"extends", parse_foreign},
        {"autoescape", parse_autoescape},
    };
    if (p->now.kind != TOKEN_NAME) return parse_unexpected(p, "a tag's name");
    const struct token name = p->now;
    const char *const open_tag = p->open_tag;
    const size_t n_open_tag = p->n_open_tag, open_tag_at = p->open_tag_at;
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        if (!at_name(p, tags[i].name)) continue;
        p->open_tag = name.s;
        p->n_open_tag = name.n;
        p->open_tag_at = name.at;
        struct node *const n = tags[i].parse(p);
        p->open_tag = open_tag;
        p->n_open_tag = n_open_tag;
        p->open_tag_at = open_tag_at;
        return n;
    }
    const int n_shown = name.n < 40 ? (int)name.n : 40;
    if (!open_tag) return parse_fail(p, name.at, RN_E_FORMAT, "unknown tag '%.*s'", n_shown, name.s);
    size_t line, column;
    template_position(p->t, open_tag_at, &line, &column);
    return parse_fail(p, name.at, RN_E_FORMAT, "unknown tag '%.*s' within '%.*s' of line %zu", n_shown, name.s,
                      (int)n_open_tag, open_tag, line);
}

static struct node *parse_text_node(struct parser *p) {
    struct node *const n = parse_node(p, NODE_TEXT, p->now.at);
    if (!n || !(n->value = parse_text(p, p->now.s, p->now.n))) return NULL;
    return parse_step(p) ? n : NULL;
}

static struct node *parse_print_tag(struct parser *p) {
    struct node *const n = parse_node(p, NODE_PRINT, p->now.at);
    if (!n || !parse_step(p) || !parse_add(p, n, &n->list, parse_tuple(p, 0))) return NULL;
    return parse_kind(p, TOKEN_PRINT_END) ? n : NULL;
}

static bool at_any(const struct parser *p, const char *const *names) {
    for (; *names; names++)
        if (at_name(p, *names)) return true;
    return false;
}

// Parses text and tags up to the name of an end tag, which is then the current token. ends: NULL:
// up to the end of the template.
static bool parse_pieces(struct parser *p, struct node *parent, struct node_list *list, const char *const *ends) {
    for (;;) {
        struct node *n = NULL;
        if (p->now.kind == TOKEN_END) break;
        if (p->now.kind == TOKEN_TEXT) {
            n = parse_text_node(p);
        } else if (p->now.kind == TOKEN_PRINT_BEGIN) {
            n = parse_print_tag(p);
        } else {
            if (!parse_step(p)) return false;
            if (ends && at_any(p, ends)) return true;
            n = parse_statement(p);
            if (n && !parse_kind(p, TOKEN_BLOCK_END)) return false;
        }
        if (!parse_add(p, parent, list, n)) return false;
    }
    if (!ends) return true;
    size_t line, column;
    template_position(p->t, p->open_tag_at, &line, &column);
    return parse_fail(p, p->now.at, RN_E_FORMAT,
                      "the template ends within '%.*s' of line %zu, which '%s' would close", (int)p->n_open_tag,
                      p->open_tag, line, ends[0]);
}

static bool parse_body(struct parser *p, struct node *parent, struct node_list *list, const char *const *ends) {
    bool has_colon;
    if (!parse_maybe_op(p, ':', &has_colon) || !parse_kind(p, TOKEN_BLOCK_END)) return false;
    if (++p->depth > 4 * TEMPLATE_MAX_NESTING)
        return parse_fail(p, p->now.at, RN_E_LIMIT, "nested deeper than %d", TEMPLATE_MAX_NESTING);
    const bool ok = parse_pieces(p, parent, list, ends);
    p->depth--;
    return ok;
}

rn_status template_parse(chat_template *t, rn_error *err) {
    struct parser p = {.t = t, .err = err};
    struct node root = {.depth = 1};
    lexer_begin(&p.lexer, t, err);
    if (!parse_step(&p) || !parse_step(&p) || !parse_pieces(&p, &root, &t->body, NULL)) return p.st;
    t->n_names = p.names ? p.names->n : 0;
    t->names = parse_alloc(&p, t->n_names * sizeof *t->names);
    if (!t->names) return p.st;
    for (uint32_t i = 0; i < t->n_names; i++) t->names[i] = &p.names->entries[i].key;
    return RN_OK;
}
