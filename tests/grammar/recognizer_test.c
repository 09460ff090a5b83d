// tests/grammar/recognizer_test.c - random grammars against the definition of what they derive, and masks against brute force.
#include "base/mem.h"
#include "base/philox.h"
#include "grammar/automata.h"
#include "grammar/chars.h"
#include "grammar/mask.h"
#include "tests/check.h"
#include <stdlib.h>
#include <string.h>

// A grammar as plain data: rules of alternatives of parts. A part is a byte 'a'..'c', a rule, or one of these repeated.
enum {
    N_RULES = 4,
    MAX_ALTS = 3,
    MAX_PARTS = 3,
    MAX_LEN = 6,
    N_LETTERS = 3,
    MAX_CONFIGS = 1 << 14,
    MOST_CONFIGS = 1 << 20
};
struct part {
    bool is_rule;
    int what;     // letter or rule
    int min, max; // times; max -1: without end
};
struct alt {
    struct part parts[MAX_PARTS];
    int n;
};
struct plain {
    struct alt alts[N_RULES][MAX_ALTS];
    int n_alts[N_RULES];
};

struct dice {
    uint64_t seed;
    uint32_t n;
};
static int roll(struct dice *d, int below) {
    return (int)(philox_uniform(d->seed, 0, d->n++, PHILOX_SAMPLE) * below);
}

static struct plain any_grammar(struct dice *d) {
    static const int most[] = {1, 1, 2, 3, -1};
    struct plain g = {0};
    for (int r = 0; r < N_RULES; r++) {
        g.n_alts[r] = 1 + roll(d, MAX_ALTS);
        for (int a = 0; a < g.n_alts[r]; a++) {
            struct alt *const alt = &g.alts[r][a];
            alt->n = roll(d, MAX_PARTS + 1);
            for (int k = 0; k < alt->n; k++) {
                struct part *const p = &alt->parts[k];
                p->is_rule = roll(d, 2) == 0;
                p->what = roll(d, p->is_rule ? N_RULES : N_LETTERS);
                p->min = p->max = 1;
                if (roll(d, 4) == 0) {
                    p->max = most[roll(d, 5)];
                    p->min = roll(d, (p->max < 0 ? 2 : p->max) + 1);
                }
            }
        }
    }
    return g;
}

// ---- the definition: which texts of at most MAX_LEN letters a rule derives, by a fixed point over their numbers ----

enum { N_SHORT = 1 + 3 + 9 + 27, N_TEXTS = N_SHORT + 81 + 243 + 729 };
static int text_len(int t) {
    int n = 0;
    for (int first = 0, count = 1; t >= first + count; first += count, count *= N_LETTERS) n++;
    return n;
}
static void text_of(int t, char *s) {
    int first = 0, count = 1, n = 0;
    for (; t >= first + count; first += count, count *= N_LETTERS) n++;
    for (int i = n, v = t - first; i-- > 0; v /= N_LETTERS) s[i] = (char)('a' + v % N_LETTERS);
    s[n] = 0;
}
static int number_of(const char *s, int n) {
    int first = 0, count = 1, v = 0;
    for (int i = 0; i < n; i++) first += count, count *= N_LETTERS, v = v * N_LETTERS + (s[i] - 'a');
    return first + v;
}

static bool derives[N_RULES][N_TEXTS];

// Do parts k.. derive s[0..n)? times: of part k so far.
static bool parts_derive(const struct alt *alt, int k, int times, const char *s, int n) {
    if (k == alt->n) return n == 0;
    const struct part *const p = &alt->parts[k];
    if (times >= p->min && parts_derive(alt, k + 1, 0, s, n)) return true;
    if (p->max >= 0 && times >= p->max) return false;
    for (int m = 0; m <= n; m++) {
        // A round of no letters only counts: it is not taken for ever.
        if (m == 0 && times >= p->min) continue;
        const bool fits = p->is_rule ? derives[p->what][number_of(s, m)] : m == 1 && s[0] == 'a' + p->what;
        if (fits && parts_derive(alt, k, times + 1, s + m, n - m)) return true;
    }
    return false;
}

static void derive_all(const struct plain *g) {
    memset(derives, 0, sizeof derives);
    for (bool grows = true; grows;) {
        grows = false;
        for (int r = 0; r < N_RULES; r++)
            for (int t = 0; t < N_TEXTS; t++) {
                char s[MAX_LEN + 1];
                if (derives[r][t]) continue;
                text_of(t, s);
                for (int a = 0; a < g->n_alts[r] && !derives[r][t]; a++)
                    derives[r][t] = parts_derive(&g->alts[r][a], 0, 0, s, text_len(t));
                grows |= derives[r][t];
            }
    }
}

// ---- the same grammar, compiled ----

static rn_status compile_plain(struct rules *r, const void *source, uint32_t *start, rn_error *err) {
    const struct plain *const g = source;
    uint32_t rules[N_RULES];
    (void)err;
    for (int i = 0; i < N_RULES; i++) rules[i] = rule_new(r);
    for (int i = 0; i < N_RULES; i++) {
        sym_id alts[MAX_ALTS];
        for (int a = 0; a < g->n_alts[i]; a++) {
            const struct alt *const alt = &g->alts[i][a];
            sym_id parts[MAX_PARTS];
            for (int k = 0; k < alt->n; k++) {
                const struct part *const p = &alt->parts[k];
                const char letter = (char)('a' + p->what);
                const sym_id one = p->is_rule ? sym_rule(r, rules[p->what]) : sym_text(r, &letter, 1);
                const bool is_plain = p->min == 1 && p->max == 1;
                parts[k] = is_plain
                               ? one
                               : sym_repeat(r, one, (uint32_t)p->min, p->max < 0 ? EXPR_NO_MAX : (uint32_t)p->max);
            }
            alts[a] = sym_seq(r, parts, (size_t)alt->n);
        }
        rule_define(r, rules[i], sym_alt(r, alts, (size_t)g->n_alts[i]));
    }
    *start = rules[0];
    return RN_OK;
}

static rn_status open_plain(struct automata *m, const struct plain *g, rn_error *err) {
    static const struct automata_limits limits = {1 << 16, 1 << 16, 100000, MOST_CONFIGS};
    return automata_make(m, &limits, compile_plain, g, err);
}

TEST(random_grammars_accept_what_they_derive_and_begin_nothing_else) {
    int n_empty = 0, n_whole = 0;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct dice d = {seed, 0};
        const struct plain g = any_grammar(&d);
        struct automata m;
        rn_error err = {0};
        derive_all(&g);
        const rn_status st = open_plain(&m, &g, &err);
        check_note("seed %llu", (unsigned long long)seed);
        if (st == RN_E_FORMAT) { // it matches nothing
            for (int t = 0; t < N_TEXTS; t++) CHECK(!derives[0][t]);
            n_empty++;
            continue;
        }
        if (!CHECK_OK(st, &err)) return;
        for (int t = 0; t < N_TEXTS; t++) {
            char s[MAX_LEN + 1];
            text_of(t, s);
            const size_t n = strlen(s);
            const uint32_t config = recognizer_read(&m.recognizer, m.recognizer.first, s, n);
            check_note("seed %llu, text '%s'", (unsigned long long)seed, s);
            if (!CHECK_INT(config != CONFIG_DEAD && recognizer_accepts(&m.recognizer, config), derives[0][t])) return;
            n_whole += derives[0][t];
            // A text that begins a text has all its beginnings alive.
            for (size_t k = 0; k <= n && derives[0][t]; k++)
                if (!CHECK(recognizer_read(&m.recognizer, m.recognizer.first, s, k) != CONFIG_DEAD)) return;
        }
        automata_free(&m);
    }
    CHECK(n_empty > 10 && n_whole > 1000);
}

// Whatever is alive can be brought to an end: there is no dead end.
TEST(each_state_that_is_alive_leads_to_a_whole_text) {
    static uint32_t seen[MOST_CONFIGS], n_searches; // the search that found a state last
    int n_open = 0, n_found = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct dice d = {seed, 0};
        const struct plain g = any_grammar(&d);
        struct automata m;
        rn_error err = {0};
        if (open_plain(&m, &g, &err) != RN_OK) continue;
        for (int t = 0; t < N_SHORT; t++) {
            char s[MAX_LEN + 1];
            static uint32_t queue[MAX_CONFIGS];
            size_t n = 1, front = 0;
            bool is_found = false;
            n_searches++;
            text_of(t, s);
            queue[0] = recognizer_read(&m.recognizer, m.recognizer.first, s, strlen(s));
            if (queue[0] == CONFIG_DEAD) continue;
            for (; front < n && !is_found; front++) {
                is_found = recognizer_accepts(&m.recognizer, queue[front]);
                for (int b = 0; b < N_LETTERS && n < MAX_CONFIGS; b++) {
                    const uint32_t to = recognizer_next(&m.recognizer, queue[front], (uint8_t)('a' + b));
                    const bool is_live =
                        byte_set_has(recognizer_live(&m.recognizer, queue[front]), (uint8_t)('a' + b));
                    if (!CHECK_INT(is_live, to != CONFIG_DEAD)) return;
                    if (to != CONFIG_DEAD && seen[to] != n_searches) queue[n++] = to, seen[to] = n_searches;
                }
            }
            check_note("seed %llu, text '%s'", (unsigned long long)seed, s);
            if (n < MAX_CONFIGS && !CHECK(is_found)) return;
            n_open += !is_found; // its ends are too far away
            n_found += is_found;
        }
        automata_free(&m);
    }
    CHECK(n_found > 50 * n_open);
}

// ---- masks ----

// Tokens of letters, of which many begin alike, two have the same bytes, and some are never allowed.
enum { N_TOKENS = 200 };
static void any_tokens(struct dice *d, struct token_bytes tokens[N_TOKENS], char bytes[N_TOKENS][8]) {
    for (int i = 0; i < N_TOKENS; i++) {
        const int n = roll(d, 8);
        for (int k = 0; k < n; k++) bytes[i][k] = (char)('a' + roll(d, N_LETTERS + (roll(d, 20) == 0)));
        tokens[i] = (struct token_bytes){bytes[i], (uint32_t)n};
    }
}

TEST(masks_equal_brute_force_over_random_vocabularies) {
    for (uint64_t seed = 1; seed <= 150; seed++) {
        struct dice d = {seed, 0};
        const struct plain g = any_grammar(&d);
        static struct token_bytes tokens[N_TOKENS];
        static char bytes[N_TOKENS][8];
        struct automata m;
        struct vocab_trie v;
        struct masker masker;
        rn_error err = {0};
        if (open_plain(&m, &g, &err) != RN_OK) continue;
        any_tokens(&d, tokens, bytes);
        if (!CHECK_OK(vocab_trie_init(&v, tokens, N_TOKENS, &err), &err)) return;
        if (!CHECK_OK(masker_init(&masker, &m.recognizer, &v, 4, &err), &err)) return;
        uint32_t config = m.recognizer.first;
        for (int i = 0; i < 40; i++) {
            const uint64_t *const mask = masker_get(&masker, config);
            int allowed[N_TOKENS], n_allowed = 0;
            if (!CHECK(mask != NULL)) return;
            for (int t = 0; t < N_TOKENS; t++) {
                const bool want = tokens[t].n > 0 &&
                                  recognizer_read(&m.recognizer, config, tokens[t].bytes, tokens[t].n) != CONFIG_DEAD;
                check_note("seed %llu, step %d, token %d", (unsigned long long)seed, i, t);
                if (!CHECK_INT(mask[t / 64] >> t % 64 & 1, want)) return;
                if (want) allowed[n_allowed++] = t;
            }
            if (n_allowed == 0 || roll(&d, 6) == 0) {
                config = m.recognizer.first; // another text
                continue;
            }
            const struct token_bytes *const t = &tokens[allowed[roll(&d, n_allowed)]];
            config = recognizer_read(&m.recognizer, config, t->bytes, t->n);
        }
        masker_free(&masker);
        vocab_trie_free(&v);
        automata_free(&m);
    }
}

// ---- characters in strings ----

// Tokens of words, spaces, parts of characters and quotes, so that slices are used, against brute force: strings with lengths beyond what
// a token has, and strings that are none of some names.
static const char *const pieces[] = {"a",        "b",
                                     "the",      " the",
                                     "\"",       "\", \"",
                                     "word-",    "_",
                                     "\xc3\xa4", "\xc3",
                                     "\xa4",     "\xe2\x82",
                                     "\xac",     "\xf0\x9f\x98\x80",
                                     "name",     "names",
                                     "\\n",      "\n",
                                     " ",        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                                     "am",       "ame\"",
                                     "x y z",    "12",
                                     "\x7f"};
enum { N_PIECES = sizeof pieces / sizeof *pieces };

static expr_id any_string(struct exprs *e, struct dice *d) {
    const expr_id c = chars_any(e, CODING_JSON), end = expr_byte(e, '"');
    static const uint32_t most[] = {0, 1, 3, 60, 127, 128, 129, 150, 300, 5000, EXPR_NO_MAX};
    const uint32_t max = most[roll(d, 11)],
                   min = max == EXPR_NO_MAX ? 0 : (uint32_t)roll(d, (int)(max < 200 ? max : 200) + 1);
    expr_id x = expr_repeat(e, c, min, max);
    if (roll(d, 3) == 0) {
        const expr_id names[] = {expr_text(e, "name", 4), expr_text(e, "names", 5), expr_text(e, "a", 1)};
        x = expr_and2(e, x, expr_not(e, expr_or(e, names, 3)));
    }
    if (roll(d, 4) == 0) x = expr_or2(e, x, expr_text(e, "the word-", 9));
    return expr_cat(e, x, end);
}

// source: dice, a copy of which is thrown.
static rn_status compile_strings(struct rules *r, const void *source, uint32_t *start, rn_error *err) {
    struct dice d = *(const struct dice *)source;
    (void)err;
    const sym_id first = sym_term(r, any_string(r->e, &d)), between = sym_text(r, ", \"", 3);
    *start = rule_new(r);
    rule_define(r, *start, sym_seq(r, (sym_id[]){first, between, sym_term(r, any_string(r->e, &d))}, 3));
    return RN_OK;
}

TEST(masks_of_strings_equal_brute_force) {
    static const struct automata_limits limits = {1 << 18, 1 << 16, 100000, 1 << 18};
    struct token_bytes tokens[N_PIECES];
    struct vocab_trie v;
    rn_error err = {0};
    for (int i = 0; i < N_PIECES; i++) tokens[i] = (struct token_bytes){pieces[i], (uint32_t)strlen(pieces[i])};
    if (!CHECK_OK(vocab_trie_init(&v, tokens, N_PIECES, &err), &err)) return;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct dice d = {seed, 0};
        struct automata m;
        struct masker masker;
        if (!CHECK_OK(automata_make(&m, &limits, compile_strings, &d, &err), &err)) return;
        if (!CHECK_OK(masker_init(&masker, &m.recognizer, &v, 8, &err), &err)) return;
        uint32_t config = m.recognizer.first;
        for (int i = 0; i < 120; i++) {
            const uint64_t *const mask = masker_get(&masker, config);
            int allowed[N_PIECES], n_allowed = 0;
            if (!CHECK(mask != NULL)) return;
            for (int t = 0; t < N_PIECES; t++) {
                const bool want = recognizer_read(&m.recognizer, config, tokens[t].bytes, tokens[t].n) != CONFIG_DEAD;
                check_note("seed %llu, step %d, token %d '%s'", (unsigned long long)seed, i, t, pieces[t]);
                if (!CHECK_INT(mask[0] >> t & 1, want)) return;
                if (want) allowed[n_allowed++] = t;
            }
            if (n_allowed == 0) break;
            const struct token_bytes *const t = &tokens[allowed[roll(&d, n_allowed)]];
            config = recognizer_read(&m.recognizer, config, t->bytes, t->n);
        }
        masker_free(&masker);
        automata_free(&m);
    }
    vocab_trie_free(&v);
}

// ---- texts of bounded length ----

// Tokens of 1 to 34 characters of each kind, in which a slice ends everywhere; and what may follow a string.
enum { N_LENGTHS = 34, N_LONG = 3 * N_LENGTHS + 3, LONG_WORDS = (N_LONG + 63) / 64 };
static void long_tokens(struct token_bytes tokens[N_LONG], char bytes[N_LONG][2 * N_LENGTHS + 2]) {
    static const char *const others[] = {"\"", "aaa\"", "\\"};
    for (int i = 0; i < N_LONG; i++) {
        const int n = i % N_LENGTHS + 1, kind = i / N_LENGTHS;
        const char *const unit = kind == 0 ? "a" : kind == 1 ? "\xc3\xa4" : " ";
        char *const to = bytes[i];
        to[0] = 0;
        for (int k = 0; k < n && kind < 3; k++) strcat(to, kind == 2 && k % 2 ? "a" : unit);
        if (kind == 3) snprintf(to, 8, "%s", others[i - 3 * N_LENGTHS]);
        tokens[i] = (struct token_bytes){to, (uint32_t)strlen(to)};
    }
}

static expr_id any_bounded(struct exprs *e, struct dice *d) {
    struct byte_set word = {{0}};
    byte_set_add_range(&word, 'a', 'z'), byte_set_add_range(&word, 'A', 'Z'), byte_set_add_range(&word, '0', '9');
    byte_set_add(&word, '-'), byte_set_add(&word, '_');
    const expr_id chars[] = {chars_any(e, CODING_JSON), chars_any(e, CODING_UTF8), expr_bytes(e, &word),
                             expr_byte(e, 'a')};
    const expr_id c = chars[roll(d, 4)];
    const uint32_t max = (uint32_t)roll(d, 45), min = roll(d, 2) ? max : (uint32_t)roll(d, (int)max + 1);
    expr_id x = expr_repeat(e, c, min, roll(d, 6) ? max : EXPR_NO_MAX);
    if (roll(d, 4) == 0) x = expr_cat(e, x, expr_repeat(e, chars[roll(d, 4)], 0, (uint32_t)roll(d, 9)));
    if (roll(d, 4) == 0) x = expr_or2(e, x, expr_text(e, "aaaa a", 6));
    if (roll(d, 2)) x = expr_cat(e, x, expr_byte(e, '"'));
    return roll(d, 3) ? x : expr_or2(e, x, expr_repeat(e, c, min / 2, max / 2)); // may end, or go on
}

// Terminals one behind the other, so that a token may end one and go on in the next, or in the next round.
static rn_status compile_bounded(struct rules *r, const void *source, uint32_t *start, rn_error *err) {
    struct dice d = *(const struct dice *)source;
    (void)err;
    const sym_id first = sym_rule(r, rule_of_term(r, any_bounded(r->e, &d))),
                 second =
                     sym_rule(r, rule_of_term(r, any_bounded(r->e, &d))); // rules are not merged into one terminal
    const sym_id both = sym_seq(r, (sym_id[]){first, second}, 2);
    *start = rule_new(r);
    rule_define(r, *start, roll(&d, 3) ? both : sym_repeat(r, sym_alt(r, (sym_id[]){first, second}, 2), 1, 3));
    return RN_OK;
}

TEST(masks_near_the_end_of_bounded_texts_equal_brute_force) {
    static const struct automata_limits limits = {1 << 18, 1 << 16, 100000, 1 << 18};
    static struct token_bytes tokens[N_LONG];
    static char bytes[N_LONG][2 * N_LENGTHS + 2];
    struct vocab_trie v;
    rn_error err = {0};
    long_tokens(tokens, bytes);
    if (!CHECK_OK(vocab_trie_init(&v, tokens, N_LONG, &err), &err)) return;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct dice d = {seed, 0};
        struct automata m;
        struct masker masker;
        if (!CHECK_OK(automata_make(&m, &limits, compile_bounded, &d, &err), &err)) return;
        if (!CHECK_OK(masker_init(&masker, &m.recognizer, &v, 8, &err), &err)) return;
        uint32_t config = m.recognizer.first;
        for (int i = 0; i < 100; i++) {
            const uint64_t *const mask = masker_get(&masker, config);
            int allowed[N_LONG], n_allowed = 0;
            if (!mask) { // too ambiguous
                CHECK_INT(m.exprs.status, RN_E_LIMIT);
                break;
            }
            for (int t = 0; t < N_LONG; t++) {
                const bool want = recognizer_read(&m.recognizer, config, tokens[t].bytes, tokens[t].n) != CONFIG_DEAD;
                check_note("seed %llu, step %d, token %d '%s'", (unsigned long long)seed, i, t, bytes[t]);
                if (!CHECK_INT(mask[t / 64] >> t % 64 & 1, want)) return;
                if (want && (tokens[t].n < 4 || roll(&d, 8) == 0)) allowed[n_allowed++] = t; // short steps mostly
            }
            if (n_allowed == 0) break;
            const struct token_bytes *const t = &tokens[allowed[roll(&d, n_allowed)]];
            config = recognizer_read(&m.recognizer, config, t->bytes, t->n);
        }
        masker_free(&masker);
        automata_free(&m);
    }
    vocab_trie_free(&v);
}
