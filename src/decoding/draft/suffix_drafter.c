// decoding/draft/suffix_drafter.c - see suffix_drafter.h.
#include "decoding/draft/suffix_drafter.h"
#include "base/mem.h"
#include "decoding/draft/output_store.h"
#include "decoding/draft/suffix_automaton.h"

enum {
    LEAST_MATCH = 2,
    MOST_ADDED = 4096,  // tokens of a long prompt that one draft adds to the automaton
    STORE_WORK = 32,    // tokens of finished answers that one draft indexes
    STORE_CLASSES = 8,  // behind the classes of matches
    TOKENS_OF_MATCH = 2 // guesses from the store for each token that matches
};

// Of guesses from the store: how sure they are before any was seen.
static const float store_shares[STORE_CLASSES] = {0.4F, 0.55F, 0.75F, 0.75F, 0.85F, 0.6F, 0.3F, 0.15F};

struct suffix_drafter {
    drafter base;
    struct suffix_automaton own;
    const int32_t *text;        // lent: the prediction, if there is one, prompt and answer
    int32_t n_before;           // tokens of the prediction
    struct output_view outputs; // lent; its store NULL: there is none
};

// A chain of guesses, the context that it follows in front of them.
struct chain {
    int32_t tokens[SUFFIX_DEPTH + DRAFT_MOST], n_context;
    uint8_t classes[DRAFT_MOST];
    double reach[DRAFT_MOST]; // how probable it is that a guess and all before it are right
    int32_t n;
    double score;      // guesses that are right, on average
    int32_t place;     // in the store, from which it was copied; SUFFIX_NONE: none
    bool is_predicted; // it is copied from the prediction
};

static void chain_add(struct chain *c, const struct draft_odds *odds, int32_t token, int32_t class) {
    c->tokens[c->n_context + c->n] = token;
    c->classes[c->n] = (uint8_t) class;
    c->reach[c->n] = (c->n ? c->reach[c->n - 1] : 1) * draft_odds_of(odds, class);
    c->score += c->reach[c->n++];
}

// ---- the text itself ----

// A copy may run over the end of the text: it goes on with what it has guessed. It ends with a prediction's end.
static void guess_own(const struct suffix_drafter *d, int32_t n, struct chain *out) {
    const struct suffix_match match = suffix_automaton_find(&d->own);
    *out = (struct chain){.place = SUFFIX_NONE};
    if (match.n < LEAST_MATCH) return;
    while (out->n < DRAFT_MOST) {
        const int32_t from = match.at + out->n, token = from < n ? d->text[from] : out->tokens[from - n];
        if (token < 0) break;
        out->is_predicted = from < d->n_before;
        chain_add(out, &d->base.odds, token, draft_class_of_match(match.n + out->n));
    }
}

// ---- earlier answers ----

// Of a guess behind n tokens that match: a copy of the one place where they stand, or what followed them in a share of several.
static int32_t class_of(int32_t n, int32_t count, int32_t of) {
    static const int32_t copies = DRAFT_MATCH_CLASSES;
    const double share = (double)count / of;
    if (of == 1) return copies + (n < 4 ? 0 : n < 8 ? 1 : 2);
    if (share >= 0.9) return copies + (n < 4 ? 3 : 4);
    return copies + (share >= 0.5 ? 5 : share >= 0.2 ? 6 : 7);
}

// What followed the last m tokens. Never less often than in one of ten times.
static void guess_behind(const struct suffix_drafter *d, const struct suffix_walk *from, int32_t n, int32_t m,
                         struct chain *out) {
    struct suffix_walk w = *from;
    int32_t token, count, of;
    *out = (struct chain){.n_context = m, .place = SUFFIX_NONE};
    for (int32_t i = 0; i < m; i++) out->tokens[i] = d->text[n - m + i];
    const int32_t most = TOKENS_OF_MATCH * m < DRAFT_MOST ? TOKENS_OF_MATCH * m : DRAFT_MOST;
    const struct suffix_trie *const trie = output_store_trie(d->outputs.store);
    while (out->n < most && suffix_walk_best(trie, &w, &token, &count, &of) && 10 * (int64_t)count >= of) {
        if (w.place != SUFFIX_NONE) out->place = w.place;
        chain_add(out, &d->base.odds, token, class_of(m + out->n, count, of));
        suffix_walk_on(trie, &w, out->tokens, out->n_context + out->n);
    }
}

// The most of the last n tokens that stand in an answer, by halves: if so many do, fewer do.
static int32_t longest_match(const struct suffix_drafter *d, int32_t root, int32_t n) {
    int32_t found = LEAST_MATCH - 1, too_many = (n < SUFFIX_DEPTH ? n : SUFFIX_DEPTH - 1) + 1;
    struct suffix_walk w;
    while (too_many - found > 1) {
        const int32_t m = found + (too_many - found) / 2;
        if (suffix_walk_begin(output_store_trie(d->outputs.store), root, d->text + n - m, m, &w))
            found = m;
        else
            too_many = m;
    }
    return found;
}

// Behind the longest match, its half, and so on: the chain of which most is expected.
static void guess_from_store(const struct suffix_drafter *d, int32_t n, struct chain *out) {
    struct chain c;
    struct suffix_walk w;
    *out = (struct chain){.place = SUFFIX_NONE};
    const int32_t root = output_store_root(d->outputs.store, &d->outputs.owner);
    if (root == SUFFIX_NONE) return;
    for (int32_t m = longest_match(d, root, n); m >= LEAST_MATCH; m /= 2) {
        if (!suffix_walk_begin(output_store_trie(d->outputs.store), root, d->text + n - m, m, &w)) continue;
        guess_behind(d, &w, n, m, &c);
        if (c.score > out->score) *out = c;
    }
}

// ---- both ----

// A tree of the two chains, the most probable nodes first.
static void join(const struct chain *chains, struct draft *out) {
    int32_t at[2] = {0, 0}, node[2] = {DRAFT_ROOT, DRAFT_ROOT};
    while (out->n < DRAFT_MOST) {
        const bool has[2] = {at[0] < chains[0].n, at[1] < chains[1].n};
        if (!has[0] && !has[1]) return;
        const int k = has[1] && (!has[0] || chains[1].reach[at[1]] > chains[0].reach[at[0]]);
        const struct chain *const c = &chains[k];
        const int32_t token = c->tokens[c->n_context + at[k]], there = draft_child(out, node[k], token);
        if (there == DRAFT_NONE) draft_add(out, token, node[k], c->classes[at[k]]);
        node[k] = there == DRAFT_NONE ? out->n - 1 : there;
        out->predicted[node[k]] |= c->is_predicted;
        at[k]++;
    }
}

static void draft(drafter *base, int32_t n, struct draft *out) {
    struct suffix_drafter *d = (struct suffix_drafter *)base;
    struct chain chains[2] = {{.n = 0}, {.n = 0}};
    out->n = 0;
    n += d->n_before;
    if (suffix_automaton_add(&d->own, d->text, n, MOST_ADDED)) guess_own(d, n, &chains[0]);
    if (d->outputs.store) {
        output_store_work(d->outputs.store, STORE_WORK);
        guess_from_store(d, n, &chains[1]);
        if (chains[1].place != SUFFIX_NONE) output_store_use(d->outputs.store, chains[1].place);
    }
    join(chains, out);
}

static void cut(drafter *base, int32_t n) {
    struct suffix_drafter *d = (struct suffix_drafter *)base;
    suffix_automaton_cut(&d->own, d->n_before + n);
}

static void destroy(drafter *base) {
    suffix_automaton_free(&((struct suffix_drafter *)base)->own);
    mem_free(base);
}

static const struct drafter_ops ops = {.draft = draft, .cut = cut, .destroy = destroy};

rn_status suffix_drafter_create(const struct drafter_spec *spec, drafter **out, rn_error *err) {
    struct suffix_drafter *d = mem_calloc(1, sizeof *d);
    *out = NULL;
    if (!d) return fail(err, RN_E_NOMEM, "suffix: out of memory");
    d->base.ops = &ops;
    d->text = spec->text - spec->n_before;
    d->n_before = spec->n_before;
    if (spec->outputs) d->outputs = *spec->outputs;
    draft_odds_init_matches(&d->base.odds);
    for (int32_t i = 0; i < STORE_CLASSES; i++)
        d->base.odds.right[DRAFT_MATCH_CLASSES + i] = store_shares[i] * d->base.odds.seen[DRAFT_MATCH_CLASSES + i];
    const rn_status st = suffix_automaton_init(&d->own, spec->n_before + spec->n_text_most, err);
    if (st == RN_OK)
        *out = &d->base;
    else
        mem_free(d);
    return st;
}
