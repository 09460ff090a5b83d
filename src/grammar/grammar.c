// grammar/grammar.c - see grammar.h.
#include "grammar/grammar.h"
#include "base/mem.h"
#include "base/thread.h"
#include "grammar/automata.h"
#include "grammar/calls/calls.h"
#include "grammar/mask.h"
#include "grammar/regex.h"
#include "grammar/tags/structural_tag.h"
#include "output/output_formats.h"
#include "text/utf8.h"
#include <stdatomic.h>
#include <string.h>

struct grammar {
    atomic_uint n_refs;
    const struct grammar_vocab *vocab;
    struct grammar_source source; // copied, to compile it again
    struct output_format format;  // of the source, if it has one
    char *text;                   // of the source
    uint64_t n_source;            // bytes of it
    atomic_uint_fast64_t n_bytes; // all that is allocated, when the lock was last released
    struct grammar_text *choices;

    mutex lock; // of what follows
    uint64_t epoch;
    bool is_made;
    struct automata automata;
    struct masker masker;
};

// ---- vocabularies ----

rn_status grammar_vocab_init(struct grammar_vocab *v, struct token_bytes *tokens, int32_t n_tokens, rn_error *err) {
    *v = (struct grammar_vocab){.tokens = tokens, .n_tokens = n_tokens};
    const rn_status st = vocab_trie_init(&v->trie, tokens, n_tokens, err);
    if (st != RN_OK) grammar_vocab_free(v);
    return st;
}

void grammar_vocab_free(struct grammar_vocab *v) {
    vocab_trie_free(&v->trie);
    mem_free(v->tokens);
    *v = (struct grammar_vocab){0};
}

// ---- sources ----

static rn_status compile_json(struct rules *r, const grammar *g, const char *text, size_t n, uint32_t *start,
                              rn_error *err) {
    struct json_tree tree = {0};
    rn_status st = json_read(&tree, text, n, err);
    if (st == RN_E_FORMAT) st = RN_E_ARG; // a request is wrong, no file
    if (st == RN_OK) st = schema_compile(r, &tree, g->source.json, start, err);
    json_free(&tree);
    return st;
}

static rn_status compile_schema(struct rules *r, const void *source, uint32_t *start, rn_error *err) {
    const grammar *const g = source;
    return compile_json(r, g, g->source.text.s, g->source.text.n, start, err);
}

static rn_status compile_object(struct rules *r, const void *source, uint32_t *start, rn_error *err) {
    static const char any_object[] = "{\"type\":\"object\"}";
    return compile_json(r, source, any_object, sizeof any_object - 1, start, err);
}

static rn_status compile_regex(struct rules *r, const void *source, uint32_t *start, rn_error *err) {
    const struct grammar_text text = ((const grammar *)source)->source.text;
    expr_id x;
    const rn_status st = regex_expr(r->e, text.s, text.n, REGEX_WHOLE, CODING_UTF8, &x, err);
    if (st == RN_OK) *start = rule_of_term(r, x);
    return st;
}

static rn_status compile_choice(struct rules *r, const void *source, uint32_t *start, rn_error *err) {
    const struct grammar_source *const from = &((const grammar *)source)->source;
    expr_id *const kids = mem_alloc((from->n_choices + 1) * sizeof *kids);
    if (!kids) return fail(err, RN_E_NOMEM, "choices: out of memory");
    rn_status st = RN_OK;
    for (size_t i = 0; i < from->n_choices && st == RN_OK; i++) {
        const struct grammar_text text = from->choices[i];
        // No vocabulary has to have its bytes.
        if (!utf8_valid(text.s, text.n)) st = fail(err, RN_E_ARG, "choice %zu is not UTF-8", i + 1);
        kids[i] = expr_text(r->e, text.s, text.n);
    }
    if (st == RN_OK) *start = rule_of_term(r, expr_or(r->e, kids, from->n_choices));
    mem_free(kids);
    return st;
}

static bool is_control(void *user, uint32_t id) {
    const struct token_bytes *const t = &((const struct grammar_vocab *)user)->tokens[id];
    return t->n > 0 && (uint8_t)t->bytes[0] == GRAMMAR_TOKEN_MARK;
}

static int64_t find_control(void *user, const char *text, size_t n) {
    const struct grammar_vocab *const v = user;
    return v->find_token ? v->find_token(v->user, text, n) : -1;
}

static int64_t match_control(void *user, const char *s, size_t n, size_t *n_token) {
    const struct grammar_vocab *const v = user;
    return v->match_token ? v->match_token(v->user, s, n, n_token) : -1;
}

static bool is_end(void *user, uint32_t id) {
    const struct grammar_vocab *const v = user;
    return v->ends_answer && v->ends_answer(v->user, (int32_t)id);
}

static struct grammar_tokens tokens_of(const grammar *g) {
    return (struct grammar_tokens){.n_vocab = (uint32_t)g->vocab->n_tokens,
                                   .is_special = is_control,
                                   .find = find_control,
                                   .match = match_control,
                                   .is_end = is_end,
                                   .user = (void *)(uintptr_t)g->vocab};
}

static rn_status compile_cfg(struct rules *r, const void *source, uint32_t *start, rn_error *err) {
    const grammar *const g = source;
    const struct grammar_text text = g->source.text;
    const struct grammar_tokens tokens = tokens_of(g);
    const struct grammar_text_options o = {
        .tokens = &tokens, .json = g->source.json, .note = g->source.note, .user = g->source.note_user};
    const bool is_lark = grammar_text_kind(text.s, text.n) == GRAMMAR_TEXT_LARK;
    return (is_lark ? lark_compile : gbnf_compile)(r, text.s, text.n, &o, start, err);
}

static rn_status compile_tags(struct rules *r, const void *source, uint32_t *start, rn_error *err) {
    const grammar *const g = source;
    const struct grammar_tokens tokens = tokens_of(g);
    const struct grammar_text_options o = {.tokens = &tokens, .json = g->source.json};
    struct json_tree tree = {0};
    rn_status st = json_read(&tree, g->source.text.s, g->source.text.n, err);
    if (st == RN_E_FORMAT) st = RN_E_ARG; // a request is wrong, no file
    if (st == RN_OK) st = structural_tag_compile(r, &tree, &o, start, err);
    json_free(&tree);
    return st;
}

static rn_status compile_built(struct rules *r, const void *source, uint32_t *start, rn_error *err) {
    const grammar *const g = source;
    const struct grammar_tokens tokens = tokens_of(g);
    return g->source.builder.build(r, &tokens, g->source.builder.user, start, err);
}

static rn_status compile_calls(struct rules *r, const void *source, uint32_t *start, rn_error *err) {
    const grammar *const g = source;
    const struct grammar_tokens tokens = tokens_of(g);
    return calls_compile(r, &g->source, &tokens, start, err);
}

static const automata_compile compilers[GRAMMAR_N_KINDS] = {
    [GRAMMAR_SCHEMA] = compile_schema, [GRAMMAR_OBJECT] = compile_object, [GRAMMAR_REGEX] = compile_regex,
    [GRAMMAR_CHOICE] = compile_choice, [GRAMMAR_CFG] = compile_cfg,       [GRAMMAR_TAGS] = compile_tags,
    [GRAMMAR_CALLS] = compile_calls,   [GRAMMAR_BUILT] = compile_built,
};

static rn_status compile_source(struct rules *r, const void *source, uint32_t *start, rn_error *err) {
    const grammar *const g = source;
    const rn_status st = compilers[g->source.kind](r, source, start, err);
    if (st != RN_OK || !g->source.format || g->source.kind == GRAMMAR_CALLS) return st;
    const struct grammar_tokens tokens = tokens_of(g);
    return frame_compile(r, &g->source, &tokens, start, err);
}

static void free_automata(grammar *g) {
    masker_free(&g->masker);
    automata_free(&g->automata);
    g->is_made = false;
}

static void count_bytes(grammar *g) {
    atomic_store(&g->n_bytes, sizeof *g + g->n_source + automata_bytes(&g->automata) + masker_bytes(&g->masker));
}

uint64_t grammar_bytes(const grammar *g) { return atomic_load(&g->n_bytes); }

static const struct automata_limits limits = {GRAMMAR_MAX_EXPRS, GRAMMAR_MAX_NODES, GRAMMAR_MAX_SEARCH,
                                              GRAMMAR_MAX_CONFIGS};

struct schema_part {
    const struct json_tree *tree;
    const struct json_node *at;
};
static rn_status compile_part(struct rules *r, const void *source, uint32_t *start, rn_error *err) {
    const struct schema_part *const p = source;
    return schema_compile_part(r, p->tree, p->at, (struct json_texts){JSON_SPACE_COMPACT, false}, start, err);
}

static bool part_matches_nothing(void *user, const struct json_node *at) {
    struct automata a;
    const rn_status st = automata_make(&a, &limits, compile_part, &(struct schema_part){user, at}, NULL);
    if (st == RN_OK) automata_free(&a);
    return st == RN_E_FORMAT;
}

// Says which part of a schema nothing matches.
static rn_status blame(const grammar *g, rn_error *err) {
    struct json_tree tree = {0};
    char where[300];
    const rn_status st = json_read(&tree, g->source.text.s, g->source.text.n, err);
    if (st != RN_OK) return st; // it was read before: out of memory
    json_pointer(&tree.nodes[0], schema_blame(&tree, part_matches_nothing, &tree), where, sizeof where);
    json_free(&tree);
    return fail(err, RN_E_ARG, "%s: nothing matches", where[0] ? where : "the schema");
}

static rn_status make_automata(grammar *g, rn_error *err) {
    rn_status st = automata_make(&g->automata, &limits, compile_source, g, err);
    if (st == RN_OK) st = masker_init(&g->masker, &g->automata.recognizer, &g->vocab->trie, GRAMMAR_MAX_MASKS, err);
    g->epoch++;
    g->is_made = st == RN_OK;
    if (st != RN_OK) free_automata(g);
    if (st == RN_E_FORMAT && g->source.kind == GRAMMAR_SCHEMA) return blame(g, err);
    return st == RN_E_FORMAT ? RN_E_ARG : st; // what matches nothing is a wrong source
}

static rn_status copy_source(grammar *g, const struct grammar_source *from, rn_error *err) {
    size_t n = from->text.n;
    if ((unsigned)from->kind >= GRAMMAR_N_KINDS || (from->kind == GRAMMAR_BUILT && !from->builder.build))
        return fail(err, RN_E_ARG, "kind: %d is unknown", (int)from->kind);
    if ((unsigned)from->json.space > JSON_SPACE_FREE)
        return fail(err, RN_E_ARG, "space: %d is unknown", (int)from->json.space);
    if (from->kind == GRAMMAR_CHOICE && from->n_choices == 0) return fail(err, RN_E_ARG, "choices: there is none");
    if (from->n_choices > GRAMMAR_MAX_CHOICES)
        return fail(err, RN_E_LIMIT, "choices: %zu are more than %d", from->n_choices, GRAMMAR_MAX_CHOICES);
    for (size_t i = 0; i < from->n_choices && n <= GRAMMAR_MAX_TEXT; i++) n += from->choices[i].n;
    if (n > GRAMMAR_MAX_TEXT)
        return fail(err, RN_E_LIMIT, "grammar: its %zu bytes or more exceed the limit of %d", n, GRAMMAR_MAX_TEXT);
    g->source = *from;
    if (from->format) {
        memcpy(&g->format, from->format, sizeof g->format); // with its padding, so that formats can be compared
        g->source.format = &g->format;
    }
    g->text = mem_alloc(n + 1);
    g->choices = mem_alloc((from->n_choices + 1) * sizeof *g->choices);
    if (!g->text || !g->choices) return fail(err, RN_E_NOMEM, "grammar: out of memory for %zu bytes", n);
    g->n_source = n + from->n_choices * sizeof *g->choices;
    char *to = g->text;
    if (from->text.n) memcpy(to, from->text.s, from->text.n);
    g->source.text.s = to;
    to += from->text.n;
    for (size_t i = 0; i < from->n_choices; i++) {
        g->choices[i] = (struct grammar_text){to, from->choices[i].n};
        if (from->choices[i].n) memcpy(to, from->choices[i].s, from->choices[i].n);
        to += from->choices[i].n;
    }
    g->source.choices = g->choices;
    return RN_OK;
}

rn_status grammar_compile(const struct grammar_source *source, const struct grammar_vocab *vocab, grammar **out,
                          rn_error *err) {
    const struct grammar_builder *const b = &source->builder;
    *out = NULL;
    grammar *const g = mem_calloc(1, sizeof *g);
    rn_status st = g ? mutex_init(&g->lock, err) : fail(err, RN_E_NOMEM, "grammar: out of memory");
    if (st != RN_OK) {
        if (b->free_user) b->free_user(b->user);
        mem_free(g);
        return st;
    }
    g->vocab = vocab;
    atomic_init(&g->n_refs, 1);
    g->source.builder = *b;
    st = copy_source(g, source, err);
    if (st == RN_OK) st = make_automata(g, err);
    g->source.note = NULL; // what is made anew says nothing new
    count_bytes(g);
    if (st != RN_OK)
        grammar_unref(g);
    else
        *out = g;
    return st;
}

rn_status grammar_compile_like(const grammar *g, const struct output_format *format, uint32_t form, grammar **out,
                               rn_error *err) {
    struct grammar_source source = g->source;
    source.format = format;
    source.form = form;
    return grammar_compile(&source, g->vocab, out, err);
}

const struct grammar_text *grammar_tools(const grammar *g) {
    return g->source.kind == GRAMMAR_CALLS ? &g->source.text : NULL;
}

bool grammar_is_of(const grammar *g, const struct output_format *format, uint32_t form) {
    return g->source.format && g->source.form == form && memcmp(&g->format, format, sizeof *format) == 0;
}

grammar *grammar_ref(grammar *g) {
    atomic_fetch_add(&g->n_refs, 1);
    return g;
}

void grammar_unref(grammar *g) {
    if (!g || atomic_fetch_sub(&g->n_refs, 1) != 1) return;
    free_automata(g);
    mutex_destroy(&g->lock);
    if (g->source.builder.free_user) g->source.builder.free_user(g->source.builder.user);
    mem_free(g->text);
    mem_free(g->choices);
    mem_free(g);
}

// ---- cursors; all below holds the lock ----

static bool token_is_text(const grammar *g, int32_t token) {
    return token >= 0 && token < g->vocab->n_tokens && g->vocab->tokens[token].n > 0;
}

// Bytes of the skipped ones that are left after the first n tokens.
static size_t skip_left(const struct grammar_cursor *c, uint32_t n) {
    size_t left = c->skip;
    for (uint32_t i = 0; i < n && left > 0; i++) {
        const size_t n_token = c->g->vocab->tokens[c->tokens[i]].n;
        left -= n_token < left ? n_token : left;
    }
    return left;
}

static uint32_t read_token(grammar *g, uint32_t config, int32_t token, size_t skip) {
    if (!token_is_text(g, token)) return CONFIG_DEAD;
    const struct token_bytes *const t = &g->vocab->tokens[token];
    if (t->n <= skip) return config;
    return recognizer_read(&g->automata.recognizer, config, t->bytes + skip, t->n - skip);
}

// Reads the cursor's tokens again if its states are those of earlier automata.
static rn_status catch_up(struct grammar_cursor *c, rn_error *err) {
    grammar *const g = c->g;
    if (!g->is_made) {
        const rn_status st = make_automata(g, err);
        if (st != RN_OK) return st;
    }
    if (c->epoch == g->epoch) return RN_OK;
    recognizer_begin(&g->automata.recognizer, GRAMMAR_MAX_STEPS);
    c->configs[0] = recognizer_read(&g->automata.recognizer, g->automata.recognizer.first, c->given, c->n_given);
    for (uint32_t i = 0; i < c->n; i++) {
        recognizer_begin(&g->automata.recognizer, GRAMMAR_MAX_STEPS);
        c->configs[i + 1] = read_token(g, c->configs[i], c->tokens[i], skip_left(c, i));
    }
    c->epoch = g->epoch;
    return exprs_status(&g->automata.exprs, err);
}

// Calls work() on automata that are whole. If they reach a limit they are made anew, once.
static rn_status with_automata(struct grammar_cursor *c, void (*work)(struct grammar_cursor *c, void *user),
                               void *user, rn_error *err) {
    grammar *const g = c->g;
    rn_status st = RN_OK;
    mutex_lock(&g->lock);
    for (int i = 0; i < 2; i++) {
        st = catch_up(c, err);
        if (st == RN_OK) {
            recognizer_begin(&g->automata.recognizer, GRAMMAR_MAX_STEPS);
            work(c, user);
            st = exprs_status(&g->automata.exprs, err);
        }
        if (st == RN_OK) break;
        c->epoch = 0;
        free_automata(g);
        if (st != RN_E_LIMIT) break;
    }
    count_bytes(g);
    mutex_unlock(&g->lock);
    return st;
}

rn_status grammar_cursor_init(struct grammar_cursor *c, grammar *g, rn_error *err) {
    enum { FIRST = 64 };
    *c = (struct grammar_cursor){.g = g, .max = FIRST};
    c->tokens = mem_alloc(FIRST * sizeof *c->tokens);
    c->configs = mem_alloc((FIRST + 1) * sizeof *c->configs);
    if (c->tokens && c->configs) return RN_OK;
    grammar_cursor_free(c);
    return fail(err, RN_E_NOMEM, "grammar: out of memory for a cursor");
}

void grammar_cursor_free(struct grammar_cursor *c) {
    mem_free(c->tokens);
    mem_free(c->configs);
    mem_free(c->given);
    *c = (struct grammar_cursor){0};
}

enum { MAX_GIVEN = 1024 };
struct giving {
    const char *bytes;
    size_t n; // at first all; then of the end that texts begin with
};
static void find_end(struct grammar_cursor *c, void *user) {
    struct giving *const x = user;
    struct recognizer *const p = &c->g->automata.recognizer;
    for (; x->n > 0; x->bytes++, x->n--)
        if (recognizer_read(p, p->first, x->bytes, x->n) != CONFIG_DEAD) return;
}

rn_status grammar_cursor_give(struct grammar_cursor *c, const int32_t *tokens, size_t n, rn_error *err) {
    const struct grammar_vocab *const v = c->g->vocab;
    char *const bytes = mem_alloc(MAX_GIVEN);
    size_t at = MAX_GIVEN;
    if (!bytes) return fail(err, RN_E_NOMEM, "grammar: out of memory");
    for (; n > 0 && tokens[n - 1] >= 0 && tokens[n - 1] < v->n_tokens && v->tokens[tokens[n - 1]].n <= at; n--) {
        const struct token_bytes t = v->tokens[tokens[n - 1]];
        at -= t.n;
        if (t.n) memcpy(bytes + at, t.bytes, t.n);
    }
    struct giving x = {bytes + at, MAX_GIVEN - at};
    const rn_status st = with_automata(c, find_end, &x, err);
    if (st != RN_OK) {
        mem_free(bytes);
        return st;
    }
    memmove(bytes, x.bytes, x.n);
    c->given = bytes;
    c->n_given = x.n;
    c->epoch = 0; // what was read is read again
    return RN_OK;
}

struct step {
    int32_t token;
    uint32_t to;
};
static void step(struct grammar_cursor *c, void *user) {
    struct step *const s = user;
    s->to = read_token(c->g, c->configs[c->n], s->token, skip_left(c, c->n));
}

rn_status grammar_allows(struct grammar_cursor *c, int32_t token, bool *is_allowed, rn_error *err) {
    struct step s = {.token = token};
    const rn_status st = with_automata(c, step, &s, err);
    *is_allowed = st == RN_OK && s.to != CONFIG_DEAD;
    return st;
}

static bool make_room(struct grammar_cursor *c) {
    if (c->n < c->max) return true;
    const uint32_t max = c->max * 2;
    int32_t *const tokens = mem_realloc(c->tokens, max * sizeof *tokens);
    if (tokens) c->tokens = tokens;
    uint32_t *const configs = tokens ? mem_realloc(c->configs, (max + 1) * sizeof *configs) : NULL;
    if (!configs) return false;
    c->configs = configs;
    c->max = max;
    return true;
}

rn_status grammar_take(struct grammar_cursor *c, int32_t token, bool *is_allowed, rn_error *err) {
    struct step s = {.token = token};
    *is_allowed = false;
    if (!make_room(c)) return fail(err, RN_E_NOMEM, "grammar: out of memory for %u tokens", c->n + 1);
    const rn_status st = with_automata(c, step, &s, err);
    if (st != RN_OK || s.to == CONFIG_DEAD) return st;
    c->tokens[c->n++] = token;
    c->configs[c->n] = s.to;
    *is_allowed = true;
    return RN_OK;
}

void grammar_rewind(struct grammar_cursor *c, uint32_t n) { c->n -= n < c->n ? n : c->n; }

struct masking {
    uint64_t *mask;
    size_t n_words;
    bool is_whole;
};
static void write_mask(struct grammar_cursor *c, void *user) {
    struct masking *const m = user;
    const size_t n_words = c->g->vocab->trie.n_words;
    const uint32_t config = c->configs[c->n];
    const size_t skip = skip_left(c, c->n);
    memset(m->mask + n_words, 0, (m->n_words - n_words) * sizeof *m->mask);
    m->is_whole = skip == 0 && recognizer_accepts(&c->g->automata.recognizer, config);
    if (skip == 0) {
        const uint64_t *const mask = masker_get(&c->g->masker, config);
        for (size_t w = 0; mask && w < n_words; w++) m->mask[w] &= mask[w]; // else the automata say why
        return;
    }
    // Once or twice in a text; the caller has left few tokens.
    for (size_t w = 0; w < n_words; w++)
        for (uint64_t bits = m->mask[w]; bits; bits &= bits - 1) {
            const int bit = __builtin_ctzll(bits);
            if (read_token(c->g, config, (int32_t)(w * 64) + bit, skip) == CONFIG_DEAD)
                m->mask[w] &= ~(UINT64_C(1) << bit);
        }
}

rn_status grammar_mask(struct grammar_cursor *c, uint64_t *mask, size_t n_words, bool *is_whole, rn_error *err) {
    struct masking m = {mask, n_words, false};
    if (n_words < c->g->vocab->trie.n_words)
        return fail(err, RN_E_ARG, "mask: %zu words are too few for %d tokens", n_words, c->g->vocab->n_tokens);
    const rn_status st = with_automata(c, write_mask, &m, err);
    *is_whole = m.is_whole;
    return st;
}

struct state {
    bool is_whole, is_over;
};
static void look(struct grammar_cursor *c, void *user) {
    struct state *const s = user;
    const uint32_t config = c->configs[c->n];
    s->is_whole = recognizer_accepts(&c->g->automata.recognizer, config);
    s->is_over = s->is_whole && byte_set_empty(recognizer_live(&c->g->automata.recognizer, config));
}

rn_status grammar_state(struct grammar_cursor *c, bool *is_whole, bool *is_over, rn_error *err) {
    struct state s = {0};
    const rn_status st = with_automata(c, look, &s, err);
    *is_whole = s.is_whole;
    *is_over = s.is_over;
    return st;
}

struct forcing {
    char *bytes;
    size_t n, max, n_sure;
};

// The first byte with which a token may begin that goes beyond the forced ones; those of a special token are one.
static size_t sure_bytes(struct masker *m, const struct forcing *f, uint32_t config) {
    const size_t longest = m->v->max_depth, from = f->n > longest ? f->n - longest : 0;
    bool is_inside = false;
    for (size_t i = 0; i < f->n; i++) {
        const bool begins = (uint8_t)f->bytes[i] == GRAMMAR_TOKEN_MARK, ends = is_inside && f->bytes[i] == ']';
        if (i >= from && !is_inside && masker_goes_beyond(m, config, f->bytes + i, f->n - i)) return i;
        is_inside = begins || (is_inside && !ends);
    }
    return f->n;
}

static void force(struct grammar_cursor *c, void *user) {
    struct forcing *const f = user;
    struct recognizer *const p = &c->g->automata.recognizer;
    uint32_t config = c->configs[c->n];
    f->n = f->n_sure = 0;
    if (skip_left(c, c->n)) return;
    for (uint8_t byte; f->n < f->max && !recognizer_accepts(p, config); f->n++) {
        if (!byte_set_one(recognizer_live(p, config), &byte)) break;
        f->bytes[f->n] = (char)byte;
        config = recognizer_next(p, config, byte);
    }
    if (f->n) f->n_sure = sure_bytes(&c->g->masker, f, config);
}

rn_status grammar_forced(struct grammar_cursor *c, char *bytes, size_t max, size_t *n, size_t *n_sure,
                         rn_error *err) {
    struct forcing f = {.bytes = bytes, .max = max};
    const rn_status st = with_automata(c, force, &f, err);
    *n = st == RN_OK ? f.n : 0;
    *n_sure = st == RN_OK ? f.n_sure : 0;
    return st;
}
