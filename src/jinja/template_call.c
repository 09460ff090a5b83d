// jinja/template_call.c - evaluates arguments, and calls functions, methods and macros; see
// template_eval.h and template_items.h.
#include "jinja/template_eval.h"
#include "jinja/template_items.h"
#include "jinja/template_loop.h"

// ---- arguments ----------------------------------------------------------------------------------

static bool add_named(struct render *r, struct call *c, size_t room, const tval *name, const tval *value) {
    if (!tv_is_str(name)) return tr_raise(r, "TypeError", "keywords must be strings") != NULL;
    for (size_t i = 0; i < c->n_named; i++)
        if (c->names[i]->str.n == name->str.n && memcmp(c->names[i]->str.s, name->str.s, name->str.n) == 0)
            return tr_raise(r, "TypeError", "the argument '%.*s' is given twice", (int)name->str.n, name->str.s) !=
                   NULL;
    if (c->n_named == room) return tr_limit(r, "a call with more than %zu named arguments", room) != NULL;
    c->names[c->n_named] = name;
    c->named[c->n_named++] = value;
    return tr_work(r, c->n_named);
}

// Evaluates the arguments after * and **.
static bool eval_more(struct render *r, const struct arguments *args, const tval **more, const tval **more_named) {
    *more = *more_named = NULL;
    if (args->more && (!(*more = tr_eval(r, args->more)) || !(*more = tr_list_of(r, *more)))) return false;
    if (!args->more_named) return true;
    *more_named = tr_eval(r, args->more_named);
    if (!*more_named || (*more_named)->kind == TV_DICT) return *more_named != NULL;
    return tr_raise(r, "TypeError", "'%s' after ** is not a dictionary", tv_type_name(*more_named)) != NULL;
}

static bool make_room(struct render *r, struct call *c, size_t n_pos, size_t n_named, struct few_arguments *few) {
    c->pos = n_pos <= FEW_ARGUMENTS ? few->pos : tr_alloc(r, n_pos, sizeof *c->pos);
    c->names = n_named <= FEW_ARGUMENTS ? few->names : tr_alloc(r, n_named, sizeof *c->names);
    c->named = n_named <= FEW_ARGUMENTS ? few->named : tr_alloc(r, n_named, sizeof *c->named);
    return c->pos && c->names && c->named;
}

bool tr_arguments(struct render *r, const struct arguments *args, const tval *extra, struct few_arguments *few,
                  struct call *c) {
    static const tval caller = {.kind = TV_STRING, .is_ascii = true, .str = {.s = "caller", .n = 6}};
    const tval *more, *more_named;
    size_t n_named = args->n_named + (extra != NULL);
    c->n_pos = c->n_named = 0;
    c->pos = few->pos; // enough for most calls
    c->names = few->names;
    c->named = few->named;
    if (!args->more && !args->more_named && args->n_pos <= FEW_ARGUMENTS && n_named <= FEW_ARGUMENTS) {
        more = more_named = NULL;
    } else {
        if (!eval_more(r, args, &more, &more_named)) return false;
        n_named += more_named ? more_named->dict->n : 0;
        if (!make_room(r, c, args->n_pos + (more ? more->seq.n : 0), n_named, few)) return false;
    }
    for (const struct argument *a = args->first; a; a = a->next) {
        const tval *const v = tr_eval(r, a->value);
        if (!v || (a->name && !add_named(r, c, n_named, a->name, v))) return false;
        if (!a->name) c->pos[c->n_pos++] = v;
    }
    for (size_t i = 0; more && i < more->seq.n; i++) c->pos[c->n_pos++] = more->seq.items[i];
    for (uint32_t i = 0; more_named && i < more_named->dict->n; i++)
        if (!add_named(r, c, n_named, &more_named->dict->entries[i].key, more_named->dict->entries[i].value))
            return false;
    return !extra || add_named(r, c, n_named, &caller, extra);
}

// ---- matching arguments to parameters -----------------------------------------------------------

static int count_params(const char *params) {
    int n = *params != 0;
    for (; *params; params++) n += *params == ',';
    return n;
}

static int find_param(const char *params, const tval *name) {
    for (int i = 0; *params; i++) {
        const size_t n = strcspn(params, ",");
        if (n == name->str.n && memcmp(params, name->str.s, n) == 0) return i;
        params += n + (params[n] == ',');
    }
    return -1;
}

static bool bind_arguments(struct render *r, const struct builtin *row, struct call *c) {
    const int n_params = count_params(row->params);
    memset(c->arg, 0, sizeof c->arg);
    if (c->n_pos > (size_t)n_params)
        return tr_raise(r, "TypeError", "%s() takes at most %d arguments, not %zu", row->name, n_params, c->n_pos) !=
               NULL;
    for (size_t i = 0; i < c->n_pos; i++) c->arg[i] = c->pos[i];
    for (size_t i = 0; i < c->n_named; i++) {
        const int at = row->flags & B_POSITIONAL ? -1 : find_param(row->params, c->names[i]);
        const int n_shown = c->names[i]->str.n < 80 ? (int)c->names[i]->str.n : 80;
        if (at < 0)
            return tr_raise(r, "TypeError", "%s() has no parameter '%.*s'", row->name, n_shown, c->names[i]->str.s) !=
                   NULL;
        if (c->arg[at])
            return tr_raise(r, "TypeError", "%s() gets '%.*s' twice", row->name, n_shown, c->names[i]->str.s) != NULL;
        c->arg[at] = c->named[i];
    }
    for (int i = 0; i < row->n_required; i++)
        if (!c->arg[i])
            return tr_raise(r, "TypeError", "%s() needs %d arguments", row->name, row->n_required) != NULL;
    return true;
}

const tval *tr_call_row(struct render *r, const struct builtin *row, const tval *self, struct call *c) {
    c->row = row;
    if (row->flags & B_NOT_RUN) return tr_unsupported(r, "'%s' is not supported", row->name);
    if (!(row->flags & B_ANY) && !bind_arguments(r, row, c)) return NULL;
    return row->fn(r, self, c);
}

bool arg_int(struct render *r, const struct call *c, int i, tv_int otherwise, tv_int *out) {
    *out = otherwise;
    if (!c->arg[i]) return true;
    if (c->arg[i]->kind == TV_UNDEFINED) return tr_undefined_used(r, c->arg[i]) != NULL;
    if (!tv_is_whole(c->arg[i]))
        return tr_raise(r, "TypeError", "%s(): '%s' is not an integer", c->row->name, tv_type_name(c->arg[i])) !=
               NULL;
    *out = tv_whole(c->arg[i]);
    return true;
}

bool arg_size(struct render *r, const struct call *c, int i, size_t otherwise, size_t *out) {
    tv_int v;
    if (!arg_int(r, c, i, (tv_int)otherwise, &v)) return false;
    *out = v < 0 ? 0 : v > (tv_int)(SIZE_MAX / 4) ? SIZE_MAX / 4 : (size_t)v;
    return true;
}

const tval *arg_str(struct render *r, const struct call *c, int i) {
    if (tv_is_str(c->arg[i])) return c->arg[i];
    return tr_raise(r, "TypeError", "%s(): '%s' is not a string", c->row->name, tv_type_name(c->arg[i]));
}

// ---- macros -------------------------------------------------------------------------------------

struct activation *tr_activation(struct render *r, const struct activation *outer, uint32_t n_slots) {
    struct activation *const a = tr_alloc(r, 1, sizeof *a);
    if (!a || !(a->slots = tr_alloc(r, n_slots, sizeof *a->slots))) return NULL;
    a->outer = outer;
    return a;
}

const tval *tr_new_macro(struct render *r, const struct macro *m) {
    struct tv_macro *const made = tr_alloc(r, 1, sizeof *made);
    tval *const v = made ? tr_new(r, TV_MACRO) : NULL;
    if (!v) return NULL;
    *made = (struct tv_macro){.macro = m, .outer = r->frame};
    v->macro = made;
    return v;
}

// Removes the argument of this name and returns its value; NULL: there is none.
static const tval *take_named(struct call *left, const tval *name) {
    for (size_t i = 0; i < left->n_named; i++) {
        if (left->names[i]->str.n != name->str.n || memcmp(left->names[i]->str.s, name->str.s, name->str.n) != 0)
            continue;
        const tval *const v = left->named[i];
        left->n_named--;
        memmove(left->names + i, left->names + i + 1, (left->n_named - i) * sizeof *left->names);
        memmove(left->named + i, left->named + i + 1, (left->n_named - i) * sizeof *left->named);
        return v;
    }
    return NULL;
}

static const tval *rest_named(struct render *r, const struct call *left) {
    tval *const d = tr_dict(r, left->n_named);
    for (size_t i = 0; d && i < left->n_named; i++)
        if (!tr_dict_set(r, d, left->names[i], left->named[i])) return NULL;
    return d;
}

static const tval *rest_positional(struct render *r, const struct call *left, size_t n_taken) {
    tval *const v = tr_items(r, TV_TUPLE, left->n_pos > n_taken ? left->n_pos - n_taken : 0);
    for (size_t i = n_taken; v && i < left->n_pos; i++)
        if (!tr_push(r, v, left->pos[i])) return NULL;
    return v;
}

static bool bind_special(struct render *r, const struct macro *m, struct activation *a, struct call *left) {
    static const tval caller = {.kind = TV_STRING, .str = {.s = "caller", .n = 6}};
    if (m->uses & USES_CALLER) {
        const tval *v = take_named(left, &caller);
        if (!v || v->kind == TV_NONE) v = tr_no_item(r, "there is no caller");
        if (!(a->slots[m->caller.slot] = v)) return false;
    }
    if (m->uses & USES_NAMED) {
        if (!(a->slots[m->named.slot] = rest_named(r, left))) return false;
    } else if (left->n_named > 0) {
        return tr_raise(r, "TypeError", "the macro has no parameter '%.*s'",
                        left->names[0]->str.n < 80 ? (int)left->names[0]->str.n : 80, left->names[0]->str.s) != NULL;
    }
    if (m->uses & USES_MORE) return (a->slots[m->more.slot] = rest_positional(r, left, m->params.n)) != NULL;
    if (left->n_pos <= m->params.n) return true;
    return tr_raise(r, "TypeError", "the macro takes at most %u arguments, not %zu", m->params.n, left->n_pos) !=
           NULL;
}

static bool bind_params(struct render *r, const struct macro *m, struct activation *a, const struct call *c) {
    struct call left = *c;
    struct few_arguments room;
    if (!make_room(r, &left, 0, c->n_named, &room)) return false; // a copy, from which arguments are removed
    left.pos = c->pos;
    if (c->n_named) memcpy(left.names, c->names, c->n_named * sizeof *left.names);
    if (c->n_named) memcpy(left.named, c->named, c->n_named * sizeof *left.named);
    size_t i = 0;
    for (const struct node *p = m->params.first; p; p = p->next, i++)
        a->slots[p->name.place.slot] = i < c->n_pos ? c->pos[i] : take_named(&left, r->t->names[p->name.id]);
    return bind_special(r, m, a, &left);
}

// Sets parameters without argument to their defaults, which may use earlier parameters.
static bool set_defaults(struct render *r, const struct macro *m, const struct activation *a) {
    uint32_t i = 0;
    for (const struct node *p = m->params.first; p; p = p->next, i++) {
        const uint32_t first = m->params.n - m->n_defaults;
        const tval **const slot = &a->slots[p->name.place.slot];
        if (*slot) continue;
        *slot = i >= first ? tr_eval(r, m->defaults[i - first]) : tr_undefined(r, NULL, r->t->names[p->name.id]);
        if (!*slot) return false;
    }
    return true;
}

static const tval *run_macro(struct render *r, const struct macro *m, const struct activation *a) {
    if (!tr_load(r, &m->scope) || !set_defaults(r, m, a)) return NULL;
    const size_t begin = tr_begin(r);
    tr_run(r, &m->body);
    return tr_cut(r, begin);
}

static const tval *call_macro(struct render *r, const struct tv_macro *m, const struct call *c) {
    struct activation *const a = tr_activation(r, m->outer, m->macro->n_slots);
    if (!a || !bind_params(r, m->macro, a, c) || !tr_enter(r)) return NULL;
    const struct activation *const frame = r->frame;
    r->frame = a;
    const tval *const text = run_macro(r, m->macro, a);
    r->frame = frame;
    tr_leave(r);
    return text;
}

// ---- calls --------------------------------------------------------------------------------------

static const tval *call_joiner(struct render *r, struct tv_joiner *j, const struct call *c) {
    if (c->n_pos + c->n_named > 0) return tr_raise(r, "TypeError", "a joiner takes no arguments");
    if (j->used) return j->separator;
    j->used = true;
    return &tv_empty;
}

// Any callable value; c->row is not read.
static const tval *call_value(struct render *r, const tval *f, struct call *c) {
    switch ((enum tv_kind)f->kind) {
    case TV_FUNCTION: return tr_call_row(r, f->fn.row, f->fn.self, c);
    case TV_MACRO: return call_macro(r, f->macro, c);
    case TV_LOOP: return tr_loop_call(r, f->loop, c);
    case TV_JOINER: return call_joiner(r, f->joiner, c);
    case TV_UNDEFINED: return tr_undefined_used(r, f);
    default: return tr_raise(r, "TypeError", "'%s' cannot be called", tv_type_name(f));
    }
}

const tval *tr_eval_call(struct render *r, const struct node *n, const tval *caller) {
    struct few_arguments room;
    struct call c;
    const tval *const f = tr_eval(r, n->call.of);
    if (!f || !tr_arguments(r, n->call.args, caller, &room, &c)) return NULL;
    r->at = n;
    return call_value(r, f, &c);
}
