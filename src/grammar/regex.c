// grammar/regex.c - see regex.h: from the tree of a regular expression (regex_tree.h) to an expression.
//
// What asserts nothing is translated piece by piece. ^, $ and lookaheads outside of repetitions are conditions on what follows
// (followed()). Else the text is cut at boundaries, which are told by what was read before (the class of the last character, and how far
// lookbehinds are) and by the class of the character after: a node's meaning is what follows it, an expression for each kind of boundary
// (along()); repetitions are systems of linear equations.
#include "grammar/regex.h"
#include "base/mem.h"
#include "grammar/regex_tree.h"
#include "text/utf8.h"

enum { MAX_CLASSES = 15, MAX_LEFTS = 32, MAX_BOUNDARIES = 64, MAX_UNROLLED = 2000 };

// What is on the left of a boundary: nothing, or a text, as far as assertions ask.
struct left {
    bool is_start, is_word, is_line_end;
    expr_id behinds[REGEX_MAX_BEHINDS]; // what they have still to read
    uint32_t to[MAX_CLASSES + 1];       // after one more character
};

struct rests { // by boundary: the texts that follow, which begin with a character of its right class
    expr_id at[MAX_BOUNDARIES];
};

struct maker {
    struct regex_tree *t;
    struct exprs *e;
    expr_id all, one;   // any text, any character
    bool failed;        // an assertion where followed() cannot translate it
    const char *why;    // not even along() can
    uint32_t n_classes; // of characters; class 0: none, at the end
    struct char_set class[MAX_CLASSES + 1];
    bool is_word[MAX_CLASSES + 1], is_line_end[MAX_CLASSES + 1];
    struct left lefts[MAX_LEFTS]; // the first one: the start
    uint32_t n_lefts;
    struct rests any; // all texts
};

static const char
    too_many[] = "more than 2000 repetitions beside a word boundary, or of ^ or $, are not supported",
    too_many_classes[] =
        "lookbehinds, or lookaheads within repetitions, that take more than 64 states are not supported";

static bool ok(const struct maker *m) { return m->e->status == RN_OK && m->t->st == RN_OK && !m->why; }

// ---- without assertions ----

static expr_id plain(struct maker *m, uint32_t at);

// The alternatives along the left side of a tree.
static expr_id plain_alt(struct maker *m, uint32_t at) {
    const struct regex_node *const nodes = m->t->nodes;
    uint32_t n = 1;
    for (uint32_t i = at; nodes[i].kind == R_ALT; i = nodes[i].a) n++;
    expr_id *const kids = mem_alloc(n * sizeof *kids);
    if (!kids) return m->e->status = RN_E_NOMEM, (expr_id)EXPR_NEVER;
    uint32_t k = n;
    for (; nodes[at].kind == R_ALT; at = nodes[at].a) kids[--k] = plain(m, nodes[at].b);
    kids[0] = plain(m, at);
    const expr_id x = expr_or(m->e, kids, n);
    mem_free(kids);
    return x;
}

static expr_id plain(struct maker *m, uint32_t at) {
    const struct regex_node *const nodes = m->t->nodes;
    expr_id rest = EXPR_EMPTY;
    for (; nodes[at].kind == R_CAT; at = nodes[at].a) rest = expr_cat(m->e, plain(m, nodes[at].b), rest);
    const struct regex_node x = nodes[at];
    if (x.kind == R_EMPTY) return rest;
    const expr_id y = x.kind == R_SET   ? x.a
                      : x.kind == R_ALT ? plain_alt(m, at)
                                        : expr_repeat(m->e, plain(m, x.a), x.min, x.max);
    return expr_cat(m->e, y, rest);
}

// ---- with ^, $ and lookaheads outside of repetitions ----

static bool has_begin(const struct regex_tree *t, uint32_t at) {
    for (;; at = t->nodes[at].a) {
        const struct regex_node x = t->nodes[at];
        if (x.kind == R_BEGIN) return true;
        if (!x.asserts || x.kind == R_END || x.kind == R_POSSESSIVE) return false;
        if ((x.kind == R_CAT || x.kind == R_ALT) && has_begin(t, x.b)) return true;
    }
}

static expr_id followed(struct maker *m, uint32_t at, expr_id rest, bool at_start);

// c*+ and the like: what follows does not begin with c unless c may occur no more.
static expr_id possessive(struct maker *m, struct regex_node x, expr_id rest) {
    const expr_id c = m->t->nodes[x.a].a;
    const expr_id other = expr_and2(m->e, rest, expr_not(m->e, expr_cat(m->e, c, m->all)));
    if (x.max == EXPR_NO_MAX) return expr_cat(m->e, expr_repeat(m->e, c, x.min, x.max), other);
    const expr_id most = expr_cat(m->e, expr_repeat(m->e, c, x.max, x.max), rest);
    if (x.max == x.min) return most;
    return expr_or2(m->e, most, expr_cat(m->e, expr_repeat(m->e, c, x.min, x.max - 1), other));
}

// The texts that the node matches and that go on with `rest`. at_start: nothing was consumed before.
static expr_id followed(struct maker *m, uint32_t at, expr_id rest, bool at_start) {
    const struct regex_node *const nodes = m->t->nodes;
    for (; nodes[at].kind == R_CAT && nodes[at].asserts; at = nodes[at].a) {
        const struct regex_node a = nodes[nodes[at].a];
        if (has_begin(m->t, nodes[at].b) && at_start && !a.is_bare && !a.consumes)
            m->failed = true; // it may or may not be the start
        rest = followed(m, nodes[at].b, rest, at_start && a.is_bare);
    }
    const struct regex_node x = nodes[at];
    if (!x.asserts) return expr_cat(m->e, plain(m, at), rest);
    switch (x.kind) {
    case R_BEGIN: return at_start ? rest : (expr_id)EXPR_NEVER;
    case R_END: return expr_nullable(m->e, rest) ? EXPR_EMPTY : EXPR_NEVER;
    case R_LOOK: return expr_and2(m->e, followed(m, x.a, m->all, at_start), rest);
    case R_NOT_LOOK: return expr_and2(m->e, expr_not(m->e, followed(m, x.a, m->all, at_start)), rest);
    case R_POSSESSIVE: return possessive(m, x, rest);
    case R_ALT: {
        expr_id y = EXPR_NEVER;
        for (; nodes[at].kind == R_ALT; at = nodes[at].a)
            y = expr_or2(m->e, y, followed(m, nodes[at].b, rest, at_start));
        return expr_or2(m->e, followed(m, at, rest, at_start), y);
    }
    case R_REPEAT:
        if (x.max == 0) return rest;
        if (x.max == 1)
            return expr_or2(m->e, x.min == 0 ? rest : (expr_id)EXPR_NEVER, followed(m, x.a, rest, at_start));
        break;
    default: break;
    }
    m->failed = true;
    return EXPR_NEVER;
}

// ---- with assertions anywhere: by boundaries ----

static uint32_t n_sides(const struct maker *m) { return m->n_classes + 1; }
static uint32_t n_boundaries(const struct maker *m) { return m->n_lefts * n_sides(m); }
static uint32_t boundary(const struct maker *m, uint32_t left, uint32_t right) { return left * n_sides(m) + right; }

static bool add_class(struct maker *m, struct char_set *s, bool is_word, bool is_line_end) {
    if (m->n_classes == MAX_CLASSES) {
        m->why = too_many_classes;
        return false;
    }
    m->n_classes++;
    m->class[m->n_classes] = *s;
    m->is_word[m->n_classes] = is_word, m->is_line_end[m->n_classes] = is_line_end;
    return true;
}

// Cuts each class into what is in a set and what is not.
static void split_classes(struct maker *m, const struct regex_node *x) {
    const uint32_t n = m->n_classes;
    for (uint32_t k = 1; k <= n && ok(m); k++) {
        const struct char_set s = {.ranges = m->t->ranges + x->min, .n = x->max - x->min};
        struct char_set in = {0}, out = {0};
        char_set_add_set(&out, &s), char_set_invert(&out), char_set_and(&out, &m->class[k]);
        char_set_add_set(&in, &s), char_set_and(&in, &m->class[k]);
        if (in.failed || out.failed) m->e->status = RN_E_NOMEM;
        if (in.n && out.n && add_class(m, &out, m->is_word[k], m->is_line_end[k])) {
            char_set_free(&m->class[k]);
            m->class[k] = in;
        } else {
            char_set_free(&in), char_set_free(&out);
        }
    }
}

static void split_by_sets(struct maker *m, uint32_t at) {
    for (;; at = m->t->nodes[at].a) {
        const struct regex_node x = m->t->nodes[at];
        if (x.kind == R_SET) split_classes(m, &x);
        if (x.kind == R_CAT || x.kind == R_ALT) split_by_sets(m, x.b);
        if (x.kind != R_CAT && x.kind != R_ALT && x.kind != R_REPEAT) return;
    }
}

// The sets of which a lookahead wants the next character.
static void split_by_next(struct maker *m, uint32_t at) {
    for (;; at = m->t->nodes[at].a) {
        const struct regex_node x = m->t->nodes[at];
        if (x.kind == R_SET) split_classes(m, &x);
        if (x.kind == R_ALT) split_by_next(m, x.b);
        if (x.kind != R_CAT && x.kind != R_ALT && x.kind != R_REPEAT) return;
    }
}

// Within a repetition without end a lookahead cannot be an intersection; one for the next character needs none.
static void find_looped(struct maker *m, uint32_t at, bool is_looped) {
    for (;; at = m->t->nodes[at].a) {
        struct regex_node *const x = &m->t->nodes[at];
        if (!x->asserts || !ok(m)) return;
        if (x->kind == R_CAT || x->kind == R_ALT) find_looped(m, x->b, is_looped);
        if (x->kind == R_REPEAT) is_looped |= x->max == EXPR_NO_MAX;
        const bool looks = x->kind == R_LOOK || x->kind == R_NOT_LOOK;
        x->is_looped = looks && is_looped && m->t->nodes[x->a].is_next;
        if (x->is_looped) split_by_next(m, x->a);
        if (x->kind != R_CAT && x->kind != R_ALT && x->kind != R_REPEAT && !looks) return;
    }
}

// Word characters, line ends, and all others, as far as they have to be told apart; and whatever sets lookbehinds and lookaheads have.
static void make_classes(struct maker *m, uint32_t root) {
    struct char_set words = {0}, lines = {0}, others = {0};
    if (m->t->has_words) regex_add_word(m->t, &words, m->t->words_are_ascii);
    if (m->t->has_lines) regex_add_line_ends(&lines, m->t->dialect);
    char_set_add_set(&others, &words), char_set_add_set(&others, &lines);
    char_set_invert(&others);
    char_set_settle(&words), char_set_settle(&lines);
    if (words.failed || lines.failed || others.failed) m->e->status = RN_E_NOMEM;
    add_class(m, &others, false, false);
    if (m->t->has_words) add_class(m, &words, true, false);
    if (m->t->has_lines) add_class(m, &lines, false, true);
    for (uint32_t i = 0; i < m->t->n_behinds && ok(m); i++) split_by_sets(m, m->t->behinds[i].inner);
    find_looped(m, root, false);
}

// Texts that end with what the node matches.
static expr_id ending(struct maker *m, uint32_t at) {
    const expr_id begin = has_begin(m->t, at) ? expr_cat(m->e, m->one, m->all) : m->all;
    return expr_or2(m->e, followed(m, at, EXPR_EMPTY, true),
                    expr_cat(m->e, begin, followed(m, at, EXPR_EMPTY, false)));
}

static uint32_t find_left(struct maker *m, const struct left *x) {
    const uint32_t n = m->t->n_behinds;
    for (uint32_t i = 0; i < m->n_lefts; i++) {
        const struct left *const y = &m->lefts[i];
        if (x->is_start == y->is_start && x->is_word == y->is_word && x->is_line_end == y->is_line_end &&
            memcmp(x->behinds, y->behinds, n * sizeof *x->behinds) == 0)
            return i;
    }
    if (m->n_lefts == MAX_LEFTS || (m->n_lefts + 1) * n_sides(m) > MAX_BOUNDARIES)
        return m->why = too_many_classes, 0;
    m->lefts[m->n_lefts] = *x;
    return m->n_lefts++;
}

static void make_lefts(struct maker *m) {
    struct left start = {.is_start = true, .is_line_end = true};
    m->failed = false;
    for (uint32_t i = 0; i < m->t->n_behinds; i++) start.behinds[i] = ending(m, m->t->behinds[i].inner);
    if (m->failed) m->why = "a ^ that may or may not be at the start of a lookbehind is not supported";
    if (ok(m)) find_left(m, &start);
    for (uint32_t i = 0; i < m->n_lefts && ok(m); i++)
        for (uint32_t k = 1; k <= m->n_classes && ok(m); k++) {
            struct left next = {.is_word = m->is_word[k], .is_line_end = m->is_line_end[k]};
            for (uint32_t j = 0; j < m->t->n_behinds && m->class[k].n; j++)
                next.behinds[j] =
                    chars_derive(m->e, m->lefts[i].behinds[j], m->class[k].ranges[0].from, m->t->coding);
            const uint32_t to = find_left(m, &next);
            m->lefts[i].to[k] = to;
        }
}

static void make_boundaries(struct maker *m, uint32_t root) {
    make_classes(m, root);
    if (ok(m)) make_lefts(m);
    for (uint32_t left = 0; left < m->n_lefts && ok(m); left++)
        for (uint32_t right = 0; right < n_sides(m); right++)
            m->any.at[boundary(m, left, right)] =
                right == 0 ? (expr_id)EXPR_EMPTY
                           : expr_cat(m->e, chars_expr(m->e, &m->class[right], m->t->coding), m->all);
}

static expr_id part_of_set(struct maker *m, const struct regex_node *x, uint32_t class) {
    struct char_set part = {0};
    const struct char_set s = {.ranges = m->t->ranges + x->min, .n = x->max - x->min};
    char_set_add_set(&part, &s);
    char_set_and(&part, &m->class[class]);
    const expr_id e = chars_expr(m->e, &part, m->t->coding);
    char_set_free(&part);
    return e;
}

// All that may follow what is on the left.
static expr_id after_left(struct maker *m, const struct rests *r, uint32_t left) {
    return expr_or(m->e, r->at + boundary(m, left, 0), n_sides(m));
}

static void along(struct maker *m, uint32_t at, struct rests *r);

static void along_set(struct maker *m, const struct regex_node *x, struct rests *r) {
    struct rests y = {{0}};
    expr_id after[MAX_LEFTS];
    for (uint32_t left = 0; left < m->n_lefts; left++) after[left] = after_left(m, r, left);
    for (uint32_t class = 1; class <= m->n_classes; class ++) {
        const expr_id part = part_of_set(m, x, class);
        for (uint32_t left = 0; left < m->n_lefts; left++)
            y.at[boundary(m, left, class)] = expr_cat(m->e, part, after[m->lefts[left].to[class]]);
    }
    *r = y;
}

static bool holds(const struct maker *m, const struct regex_node *x, const struct left *left, uint32_t right) {
    switch (x->kind) {
    case R_BEGIN: return left->is_start;
    case R_END: return right == 0;
    case R_LINE_BEGIN: return left->is_line_end;
    case R_LINE_END: return right == 0 || m->is_line_end[right];
    case R_WORD: return left->is_word != m->is_word[right];
    case R_BEHIND: return expr_nullable(m->e, left->behinds[x->min]);
    case R_NOT_BEHIND: return !expr_nullable(m->e, left->behinds[x->min]);
    default: return left->is_word == m->is_word[right];
    }
}

static void along_assertion(struct maker *m, const struct regex_node *x, struct rests *r) {
    for (uint32_t left = 0; left < m->n_lefts; left++)
        for (uint32_t right = 0; right < n_sides(m); right++)
            if (!holds(m, x, &m->lefts[left], right)) r->at[boundary(m, left, right)] = EXPR_NEVER;
}

// Is the character on the right, or the end, one that the node begins with?
static bool is_next(const struct maker *m, uint32_t at, uint32_t right) {
    for (;; at = m->t->nodes[at].a) {
        const struct regex_node x = m->t->nodes[at];
        if (x.kind == R_END) return right == 0;
        if (x.kind == R_ALT && is_next(m, x.b, right)) return true;
        if (x.kind != R_SET) continue;
        for (uint32_t i = x.min; i < x.max && right > 0; i++) { // the class is in it, or no part of it is
            const struct char_range c = m->t->ranges[i];
            const uint32_t cp = m->class[right].n ? m->class[right].ranges[0].from : 0;
            if (c.from <= cp && cp <= c.to) return true;
        }
        return false;
    }
}

static void along_next(struct maker *m, const struct regex_node *x, struct rests *r) {
    for (uint32_t left = 0; left < m->n_lefts; left++)
        for (uint32_t right = 0; right < n_sides(m); right++)
            if (is_next(m, x->a, right) != (x->kind == R_LOOK)) r->at[boundary(m, left, right)] = EXPR_NEVER;
}

static void along_look(struct maker *m, const struct regex_node *x, struct rests *r) {
    struct rests y = m->any;
    if (x->is_looped) {
        along_next(m, x, r);
        return;
    }
    along(m, x->a, &y);
    for (uint32_t i = 0; i < n_boundaries(m); i++)
        r->at[i] = expr_and2(m->e, r->at[i], x->kind == R_LOOK ? y.at[i] : expr_not(m->e, y.at[i]));
}

// x = a x | r, solved by elimination: a's rows are boundaries before a round, its columns those after it.
static void along_star(struct maker *m, uint32_t body, struct rests *r) {
    const uint32_t n = n_boundaries(m);
    struct rests *const a = mem_calloc(n, sizeof *a); // [to].at[from]
    if (!a) m->e->status = RN_E_NOMEM;
    for (uint32_t to = 0; to < n && ok(m); to++) {
        a[to].at[to] = EXPR_EMPTY;
        along(m, body, &a[to]);
    }
    for (uint32_t i = 0; i < n && ok(m); i++) {
        const expr_id loop = expr_repeat(m->e, a[i].at[i], 0, EXPR_NO_MAX);
        a[i].at[i] = EXPR_NEVER;
        r->at[i] = expr_cat(m->e, loop, r->at[i]);
        for (uint32_t to = i + 1; to < n; to++) a[to].at[i] = expr_cat(m->e, loop, a[to].at[i]);
        for (uint32_t from = i + 1; from < n; from++) {
            const expr_id via = a[i].at[from];
            r->at[from] = expr_or2(m->e, r->at[from], expr_cat(m->e, via, r->at[i]));
            for (uint32_t to = i + 1; to < n; to++)
                a[to].at[from] = expr_or2(m->e, a[to].at[from], expr_cat(m->e, via, a[to].at[i]));
        }
    }
    for (uint32_t i = n; i-- > 0 && ok(m);)
        for (uint32_t from = 0; from < i; from++)
            r->at[from] = expr_or2(m->e, r->at[from], expr_cat(m->e, a[i].at[from], r->at[i]));
    mem_free(a);
}

// Rounds of a set, and then no character of it unless there were as many rounds as may be.
static void along_possessive(struct maker *m, const struct regex_node *x, struct rests *r) {
    const struct regex_node set = m->t->nodes[x->a];
    const expr_id other = expr_not(m->e, expr_cat(m->e, set.a, m->all));
    const uint32_t rounds = x->max == EXPR_NO_MAX ? x->min : x->max;
    struct rests stop = *r;
    if (rounds > MAX_UNROLLED) m->why = too_many;
    for (uint32_t i = 0; i < n_boundaries(m); i++) stop.at[i] = expr_and2(m->e, r->at[i], other);
    if (x->max == EXPR_NO_MAX) {
        *r = stop;
        along_star(m, x->a, r);
    }
    for (uint32_t n = rounds; n-- > 0 && ok(m);) {
        along_set(m, &set, r);
        for (uint32_t i = 0; x->max != EXPR_NO_MAX && n >= x->min && i < n_boundaries(m); i++)
            r->at[i] = expr_or2(m->e, r->at[i], stop.at[i]);
    }
}

static void along_repeat(struct maker *m, const struct regex_node *x, struct rests *r) {
    const uint32_t rounds = x->max == EXPR_NO_MAX ? x->min : x->max;
    const struct rests end = *r;
    if (x->max == EXPR_NO_MAX && m->t->nodes[x->a].looks)
        m->why = "a lookahead for more than one character within a repetition without end is not supported";
    if (rounds > MAX_UNROLLED) m->why = too_many;
    if (!ok(m)) return;
    if (x->max == EXPR_NO_MAX) along_star(m, x->a, r);
    for (uint32_t n = rounds; n-- > 0 && ok(m);) {
        along(m, x->a, r);
        for (uint32_t i = 0; x->max != EXPR_NO_MAX && n >= x->min && i < n_boundaries(m); i++)
            r->at[i] = expr_or2(m->e, r->at[i], end.at[i]);
    }
}

// Replaces what may follow a node by what may follow the boundary before it.
static void along(struct maker *m, uint32_t at, struct rests *r) {
    const struct regex_node *const nodes = m->t->nodes;
    for (; nodes[at].kind == R_CAT; at = nodes[at].a) along(m, nodes[at].b, r);
    const struct regex_node x = nodes[at];
    if (!ok(m)) return;
    switch (x.kind) {
    case R_EMPTY: return;
    case R_SET: along_set(m, &x, r); return;
    case R_REPEAT: along_repeat(m, &x, r); return;
    case R_POSSESSIVE: along_possessive(m, &x, r); return;
    case R_LOOK:
    case R_NOT_LOOK: along_look(m, &x, r); return;
    case R_ALT: {
        const struct rests end = *r;
        struct rests y = {{0}};
        for (bool last = false; !last && ok(m); at = nodes[at].a) {
            last = nodes[at].kind != R_ALT;
            struct rests z = end;
            along(m, last ? at : nodes[at].b, &z);
            for (uint32_t i = 0; i < n_boundaries(m); i++) y.at[i] = expr_or2(m->e, y.at[i], z.at[i]);
        }
        *r = y;
        return;
    }
    default: along_assertion(m, &x, r); return;
    }
}

static expr_id by_boundaries(struct maker *m, uint32_t root, enum regex_match match) {
    struct rests r = {{0}};
    make_boundaries(m, root);
    if (match == REGEX_SEARCH)
        r = m->any;
    else
        for (uint32_t left = 0; left < m->n_lefts; left++) r.at[boundary(m, left, 0)] = EXPR_EMPTY;
    if (ok(m)) along(m, root, &r);
    if (ok(m) && match == REGEX_SEARCH) { // it begins anywhere
        const struct regex_node any = {.kind = R_SET, .min = m->t->n_ranges, .max = m->t->n_ranges + 1};
        const uint32_t one = regex_node(m->t, any);
        if (m->t->n_ranges == m->t->max_ranges) {
            struct char_range *const q = mem_realloc(m->t->ranges, (m->t->max_ranges + 1) * sizeof *q);
            if (!q) return m->e->status = RN_E_NOMEM, (expr_id)EXPR_NEVER;
            m->t->ranges = q, m->t->max_ranges++;
        }
        m->t->ranges[m->t->n_ranges++] = (struct char_range){0, CHAR_MAX_CP};
        if (ok(m)) along_star(m, one, &r);
    }
    for (uint32_t i = 1; i <= m->n_classes; i++) char_set_free(&m->class[i]);
    return ok(m) ? after_left(m, &r, 0) : (expr_id)EXPR_NEVER;
}

// ---- all ----

static expr_id by_parts(struct maker *m, uint32_t root, enum regex_match match) {
    const expr_id rest = match == REGEX_SEARCH ? m->all : (expr_id)EXPR_EMPTY;
    expr_id x = followed(m, root, rest, true);
    if (match == REGEX_SEARCH) { // and further on
        const expr_id later = followed(m, root, rest, false);
        x = expr_or2(m->e, x, expr_cat(m->e, has_begin(m->t, root) ? expr_cat(m->e, m->one, m->all) : m->all, later));
    }
    return x;
}

rn_status regex_compile(struct exprs *e, const char *s, size_t n, const struct regex_options *o, expr_id *out,
                        rn_error *err) {
    struct regex_tree t = {.e = e,
                           .s = s,
                           .n = n,
                           .coding = o->coding,
                           .dialect = o->dialect,
                           .err = err,
                           .flags = {o->ignore_case, o->dot_all, o->multi_line, o->verbose, false}};
    const uint32_t root = regex_parse(&t);
    struct maker m = {.t = &t, .e = e};
    *out = EXPR_NEVER;
    if (t.st == RN_OK) {
        m.one = chars_any(e, o->coding), m.all = expr_repeat(e, m.one, 0, EXPR_NO_MAX);
        const bool needs_left = t.has_words || t.has_lines || t.n_behinds;
        if (!needs_left) *out = by_parts(&m, root, o->match);
        if (m.failed || needs_left) *out = by_boundaries(&m, root, o->match);
    }
    if (t.st == RN_OK && e->status != RN_OK) t.st = exprs_status(e, err);
    if (t.st == RN_OK && m.why) t.st = fail(err, RN_E_UNSUPPORTED, "%s", m.why);
    if (t.st != RN_OK) *out = EXPR_NEVER;
    regex_tree_free(&t);
    return t.st;
}

rn_status regex_expr(struct exprs *e, const char *s, size_t n, enum regex_match match, enum coding coding,
                     expr_id *out, rn_error *err) {
    return regex_compile(e, s, n, &(struct regex_options){.match = match, .coding = coding}, out, err);
}

rn_status regex_any_case(struct exprs *e, const char *s, size_t n, expr_id *out, rn_error *err) {
    struct unicode_cases cases;
    if (!unicode_cases_init(&cases)) return fail(err, RN_E_NOMEM, "out of memory");
    expr_id x = EXPR_EMPTY;
    while (n > 0) {
        size_t begin = n - 1;
        while (begin > 0 && ((uint8_t)s[begin] & 0xc0) == 0x80) begin--;
        int len;
        const uint32_t cp = utf8_decode(s + begin, n - begin, &len);
        struct char_set set = {0};
        char_set_add(&set, cp, cp);
        unicode_fold(&cases, &set);
        x = expr_cat(e, chars_expr(e, &set, CODING_UTF8), x);
        char_set_free(&set);
        n = begin;
    }
    unicode_cases_free(&cases);
    *out = x;
    return exprs_status(e, err);
}
