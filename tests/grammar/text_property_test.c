// tests/grammar/text_property_test.c - random grammars, written as GBNF and as Lark, against the definition of what they derive.
//
// Two letters and at most five of them make 63 texts, so that a language is a set of bits and the definition is a fixed point over sets.
#include "base/mem.h"
#include "base/philox.h"
#include "tests/grammar/text_match.h"

enum { MAX_LEN = 5, N_TEXTS = 63, N_RULES = 3, N_TERMINALS = 3, MAX_NODES = 400, MAX_KIDS = 3 };
static const char *const letters[2] = {"a", "é"};
typedef uint64_t lang;
#define EMPTY ((lang)1)
#define ALL   (((lang)1 << N_TEXTS) - 1)

static int text_len(int t) {
    int n = 0;
    for (; t >= 1 << n; n++) t -= 1 << n;
    return n;
}
static int text_bits(int t) { // of the letters, the first one highest
    for (int n = 0; t >= 1 << n; n++) t -= 1 << n;
    return t;
}
static int number_of(int n, int bits) { return (1 << n) - 1 + bits; }
static size_t text_of(int t, char *s) {
    const int n = text_len(t), bits = text_bits(t);
    *s = 0;
    for (int i = n; i-- > 0;) strcat(s, letters[bits >> i & 1]);
    return strlen(s);
}

static lang cat(lang a, lang b) {
    lang c = 0;
    for (int i = 0; i < N_TEXTS; i++)
        for (int k = 0; a >> i & 1 && k < N_TEXTS; k++) {
            const int n = text_len(i), m = text_len(k);
            if (b >> k & 1 && n + m <= MAX_LEN) c |= (lang)1 << number_of(n + m, text_bits(i) << m | text_bits(k));
        }
    return c;
}

static lang repeat(lang a, int min, int max) {
    lang power = EMPTY, all = min == 0 ? EMPTY : 0;
    for (int i = 1; i <= min + MAX_LEN + 1 && (max < 0 || i <= max); i++) {
        power = cat(power, a);
        if (i >= min) all |= power;
    }
    return all;
}

// ---- a grammar ----

enum kind { LITERAL, CLASS, RULE, TERMINAL, SEQ, ALT, AND, NOT, REPEAT };
struct part {
    enum kind kind;
    int what, n, kids[MAX_KIDS], min, max;
};
struct random {
    uint64_t seed;
    uint32_t n;
    bool is_lark, skips;
    struct part nodes[MAX_NODES];
    int n_nodes;
    int rules[N_RULES], terminals[N_TERMINALS];
};

static int roll(struct random *g, int below) {
    return (int)(philox_uniform(g->seed, 0, g->n++, PHILOX_SAMPLE) * below);
}

static int add(struct random *g, struct part x) {
    g->nodes[g->n_nodes] = x;
    return g->n_nodes++;
}

// terminal: the number of the terminal whose body this is, which names only later ones; -1: a rule's
static int any_node(struct random *g, int depth, int terminal) {
    static const int most[] = {0, 1, 2, 3, -1};
    const int k = roll(g, 20);
    struct part x = {.kind = k < 5    ? LITERAL
                             : k < 8  ? CLASS
                             : k < 11 ? RULE
                             : k < 13 ? SEQ
                             : k < 16 ? ALT
                             : k < 18 ? REPEAT
                                      : NOT};
    if (x.kind >= SEQ && (depth == 0 || g->n_nodes > MAX_NODES - 40)) x.kind = LITERAL;
    if (x.kind == RULE && (terminal >= 0 || (g->is_lark && roll(g, 2)))) x.kind = TERMINAL;
    if (x.kind == TERMINAL && terminal + 1 >= N_TERMINALS) x.kind = CLASS;
    if (x.kind == NOT && (!g->is_lark || terminal < 0)) x.kind = SEQ;
    if (x.kind == NOT && roll(g, 2)) x.kind = AND;
    switch (x.kind) {
    case LITERAL: x.what = roll(g, 7); break; // at most two letters
    case CLASS: x.what = 1 + roll(g, 3); break;
    case RULE: x.what = roll(g, N_RULES); break;
    case TERMINAL: x.what = terminal + 1 + roll(g, N_TERMINALS - terminal - 1); break;
    case NOT: x.n = 1; break;
    case REPEAT:
        x.n = 1, x.max = most[roll(g, 5)];
        x.min = roll(g, (x.max < 0 ? 2 : x.max) + 1);
        break;
    default: x.n = 1 + roll(g, MAX_KIDS); break;
    }
    for (int i = 0; i < x.n; i++) x.kids[i] = any_node(g, depth - 1, terminal);
    return add(g, x);
}

static void any_grammar(struct random *g, uint64_t seed, bool is_lark) {
    *g = (struct random){.seed = seed, .is_lark = is_lark};
    g->skips = is_lark && roll(g, 3) == 0;
    for (int i = 0; i < N_TERMINALS && is_lark; i++) g->terminals[i] = any_node(g, 2, i);
    for (int i = 0; i < N_RULES; i++) g->rules[i] = any_node(g, 3, -1);
}

// ---- what it derives ----

static lang of_node(const struct random *g, int at, const lang *rules, const lang *terminals, bool in_terminal) {
    const struct part *const x = &g->nodes[at];
    const lang skip = g->skips && !in_terminal ? repeat((lang)1 << number_of(1, 1), 0, -1) : EMPTY;
    lang y = 0;
    switch (x->kind) {
    case LITERAL: return x->what == 0 ? EMPTY : cat((lang)1 << x->what, skip);
    case CLASS: return cat((lang)x->what << 1, skip);
    case RULE: return rules[x->what];
    case TERMINAL: return cat(terminals[x->what], skip);
    case NOT: return ALL & ~of_node(g, x->kids[0], rules, terminals, true);
    case REPEAT: return repeat(of_node(g, x->kids[0], rules, terminals, in_terminal), x->min, x->max);
    case SEQ:
        y = EMPTY;
        for (int i = 0; i < x->n; i++) y = cat(y, of_node(g, x->kids[i], rules, terminals, in_terminal));
        return y;
    case ALT:
        for (int i = 0; i < x->n; i++) y |= of_node(g, x->kids[i], rules, terminals, in_terminal);
        return y;
    case AND:
        y = ALL;
        for (int i = 0; i < x->n; i++) y &= of_node(g, x->kids[i], rules, terminals, in_terminal);
        return y;
    }
    return y;
}

static lang derived(const struct random *g) {
    lang rules[N_RULES] = {0}, terminals[N_TERMINALS] = {0};
    for (int i = N_TERMINALS; i-- > 0 && g->is_lark;)
        terminals[i] = of_node(g, g->terminals[i], rules, terminals, true);
    for (bool grows = true; grows;) {
        grows = false;
        for (int i = 0; i < N_RULES; i++) {
            const lang y = of_node(g, g->rules[i], rules, terminals, false);
            grows |= y != rules[i];
            rules[i] = y;
        }
    }
    return rules[0];
}

// ---- as text ----

static void put(char *to, const char *s) { strcat(to, s); }

static void put_bounds(char *to, const struct part *x) {
    char s[32];
    if (x->max < 0 && x->min < 2)
        put(to, x->min ? "+" : "*");
    else if (x->min == 0 && x->max == 1)
        put(to, "?");
    else if (x->max < 0)
        sprintf(s, "{%d,}", x->min), put(to, s);
    else
        sprintf(s, x->min == x->max ? "{%d}" : "{%d,%d}", x->min, x->max), put(to, s);
}

static void put_node(const struct random *g, int at, char *to) {
    const struct part *const x = &g->nodes[at];
    static const char *const classes[2][4] = {{"", "[a-a]", "[^a]", "."}, {"", "/[a-c]/", "/[^a]/", "/./"}};
    char s[32];
    switch (x->kind) {
    case LITERAL:
        put(to, "\"");
        text_of(x->what, to + strlen(to));
        put(to, "\"");
        break;
    case CLASS: put(to, classes[g->is_lark][x->what]); break;
    case RULE:
        sprintf(s, g->is_lark && x->what == 0 ? "start" : x->what == 0 ? "root" : "r%d", x->what), put(to, s);
        break;
    case TERMINAL: sprintf(s, "T%d", x->what), put(to, s); break;
    case NOT:
    case REPEAT:
        put(to, x->kind == NOT ? "~(" : "(");
        put_node(g, x->kids[0], to);
        put(to, ")");
        if (x->kind == REPEAT) put_bounds(to, x);
        break;
    default:
        put(to, "(");
        for (int i = 0; i < x->n; i++) {
            if (i > 0) put(to, x->kind == SEQ ? " " : x->kind == ALT ? " | " : " & ");
            put_node(g, x->kids[i], to);
        }
        put(to, ")");
    }
}

static void put_grammar(const struct random *g, char *to) {
    char s[32];
    *to = 0;
    for (int i = 0; i < N_RULES; i++) {
        sprintf(s, i ? "r%d" : g->is_lark ? "start" : "root", i);
        put(to, s), put(to, g->is_lark ? ": " : " ::= ");
        put_node(g, g->rules[i], to);
        put(to, "\n");
    }
    for (int i = 0; i < N_TERMINALS && g->is_lark; i++) {
        sprintf(s, "T%d: ", i), put(to, s);
        put_node(g, g->terminals[i], to);
        put(to, "\n");
    }
    if (g->skips) put(to, "%ignore \"é\"\n");
}

// ---- both ----

static void compare(bool is_lark, uint64_t n_seeds) {
    static struct random g;
    static char text[1 << 16];
    int n_empty = 0, n_members = 0, n_large = 0;
    for (uint64_t seed = 1; seed <= n_seeds; seed++) {
        struct automata m;
        rn_error err = {0};
        any_grammar(&g, seed, is_lark);
        put_grammar(&g, text);
        const lang want = derived(&g);
        check_note("seed %llu:\n%s", (unsigned long long)seed, text);
        const rn_status st =
            text_match_open(&m, is_lark ? lark_compile : gbnf_compile, text, strlen(text), NULL, &err);
        if (st == RN_E_FORMAT) { // it matches nothing
            n_empty++;
            if (!CHECK_INT(want, 0)) return;
            continue;
        }
        if (!CHECK_OK(st, &err)) return;
        for (int t = 0; t < N_TEXTS && m.exprs.status == RN_OK; t++) {
            char s[2 * MAX_LEN + 1];
            const size_t n = text_of(t, s);
            const bool is_in = want >> t & 1;
            const char verdict = text_match_verdict(&m, s, n);
            if (m.exprs.status != RN_OK) break;
            check_note("seed %llu, text '%s':\n%s", (unsigned long long)seed, s, text);
            if (!CHECK_INT(verdict == '+', is_in)) return;
            n_members += is_in;
            for (size_t k = 0; k < n && is_in; k++)
                if (!CHECK(text_match_verdict(&m, s, k) != '-')) return;
        }
        n_large += m.exprs.status != RN_OK;
        automata_free(&m);
    }
    check_note("%d match nothing, %d texts are whole, %d reached a limit", n_empty, n_members, n_large);
    CHECK(n_empty > 5 && n_members > (int)n_seeds && n_large < (int)n_seeds / 100);
}

TEST(random_gbnf_grammars_accept_what_they_derive) { compare(false, 2000); }
TEST(random_lark_grammars_accept_what_they_derive) { compare(true, 2000); }
