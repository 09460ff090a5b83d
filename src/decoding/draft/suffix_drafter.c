// decoding/draft/suffix_drafter.c - see suffix_drafter.h.
#include "decoding/draft/suffix_drafter.h"
#include "base/mem.h"
#include "decoding/draft/output_store.h"
#include "decoding/draft/suffix_automaton.h"

enum {
    LEAST_MATCH = 2,   // in answers; in the text itself, one
    MOST_ADDED = 4096, // tokens of a long prompt that one draft adds to the automaton
    STORE_WORK = 32,   // tokens of finished answers that one draft indexes
    STORE_CLASSES = 8, // behind the classes of matches
    OTHER_CLASSES = 2, // behind these: of the first guess of a second chain
    N_CHAINS = 3,
    TOKENS_OF_MATCH = 2 // guesses from the store for each token that matches
};

// Of guesses from the store: how sure they are before any was seen.
static const float store_shares[STORE_CLASSES] = {0.4F, 0.55F, 0.75F, 0.75F, 0.85F, 0.6F, 0.3F, 0.15F};

// Of the first guess of a second chain.
static const float other_share = 0.03F;

struct suffix_drafter {
    drafter base;
    struct suffix_automaton own;
    const int32_t *text;        // lent: the prediction, if there is one, prompt and answer
    int32_t n_before;           // tokens of the prediction
    int32_t least;              // guesses, however unlikely they are
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

_Static_assert(DRAFT_MATCH_CLASSES + STORE_CLASSES + OTHER_CLASSES <= DRAFT_CLASSES, "classes of all guesses");

static void chain_begin(struct chain *c) {
    c->n_context = c->n = 0;
    c->score = 0;
    c->place = SUFFIX_NONE;
    c->is_predicted = false;
}

// Is a further guess of any use?
static bool chain_goes_on(const struct suffix_drafter *d, const struct chain *c) {
    return c->n < DRAFT_MOST && (c->n < d->least || c->n == 0 || c->reach[c->n - 1] >= DRAFT_LEAST_REACH);
}

static void chain_add(struct chain *c, const struct draft_odds *odds, int32_t token, int32_t class) {
    c->tokens[c->n_context + c->n] = token;
    c->classes[c->n] = (uint8_t) class;
    c->reach[c->n] = (c->n ? c->reach[c->n - 1] : 1) * draft_odds_of(odds, class);
    c->score += c->reach[c->n++];
}

// ---- the text itself ----

// Where the longest match is not followed by its last continuation, a shorter one may be.
static int32_t class_of_other(int32_t n) { return DRAFT_MATCH_CLASSES + STORE_CLASSES + (n < 4 ? 0 : 1); }

// A copy may run over the end of the text: it goes on with what it has guessed. It ends with a prediction's end.
static void copy_match(const struct suffix_drafter *d, struct suffix_match match, int32_t n, bool is_other,
                       struct chain *out) {
    chain_begin(out);
    while (match.n > 0 && chain_goes_on(d, out)) {
        const int32_t from = match.at + out->n, token = from < n ? d->text[from] : out->tokens[from - n];
        if (token < 0) break;
        out->is_predicted = from < d->n_before;
        chain_add(out, &d->base.odds, token,
                  is_other && out->n == 0 ? class_of_other(match.n) : draft_class_of_match(match.n + out->n));
    }
}

static void guess_own(const struct suffix_drafter *d, int32_t n, struct chain *longest, struct chain *other) {
    const struct suffix_match match = suffix_automaton_find(&d->own);
    copy_match(d, match, n, false, longest);
    if (match.n > 0) copy_match(d, suffix_automaton_find_other(&d->own, d->text, match), n, true, other);
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
    chain_begin(out);
    out->n_context = m;
    for (int32_t i = 0; i < m; i++) out->tokens[i] = d->text[n - m + i];
    const int32_t most = TOKENS_OF_MATCH * m < DRAFT_MOST ? TOKENS_OF_MATCH * m : DRAFT_MOST;
    const struct suffix_trie *const trie = output_store_trie(d->outputs.store);
    while (out->n < most && chain_goes_on(d, out) && suffix_walk_best(trie, &w, &token, &count, &of) &&
           10 * (int64_t)count >= of) {
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
    const int32_t root = output_store_root(d->outputs.store, &d->outputs.owner);
    if (root == SUFFIX_NONE) return;
    for (int32_t m = longest_match(d, root, n); m >= LEAST_MATCH; m /= 2) {
        if (!suffix_walk_begin(output_store_trie(d->outputs.store), root, d->text + n - m, m, &w)) continue;
        guess_behind(d, &w, n, m, &c);
        if (c.score > out->score) *out = c;
    }
}

// ---- both ----

// A tree of the chains, the most probable nodes first.
static void join(const struct chain *chains, struct draft *out) {
    int32_t at[N_CHAINS] = {0}, node[N_CHAINS] = {DRAFT_ROOT, DRAFT_ROOT, DRAFT_ROOT};
    while (out->n < DRAFT_MOST) {
        int k = -1;
        for (int i = 0; i < N_CHAINS; i++)
            if (at[i] < chains[i].n && (k < 0 || chains[i].reach[at[i]] > chains[k].reach[at[k]])) k = i;
        if (k < 0) return;
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
    struct chain chains[N_CHAINS];
    out->n = 0;
    for (int i = 0; i < N_CHAINS; i++) chain_begin(&chains[i]);
    n += d->n_before;
    if (suffix_automaton_add(&d->own, d->text, n, MOST_ADDED)) guess_own(d, n, &chains[0], &chains[1]);
    if (d->outputs.store) {
        output_store_work(d->outputs.store, STORE_WORK);
        guess_from_store(d, n, &chains[2]);
        if (chains[2].place != SUFFIX_NONE) output_store_use(d->outputs.store, chains[2].place);
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
    d->least = spec->least;
    if (spec->outputs) d->outputs = *spec->outputs;
    draft_odds_init_matches(&d->base.odds);
    for (int32_t i = 0; i < STORE_CLASSES; i++)
        d->base.odds.right[DRAFT_MATCH_CLASSES + i] = store_shares[i] * d->base.odds.seen[DRAFT_MATCH_CLASSES + i];
    for (int32_t i = 0; i < OTHER_CLASSES; i++) {
        const int32_t class = DRAFT_MATCH_CLASSES + STORE_CLASSES + i;
        d->base.odds.right[class] = other_share * d->base.odds.seen[class];
    }
    const rn_status st = suffix_automaton_init(&d->own, spec->n_before + spec->n_text_most, err);
    if (st == RN_OK)
        *out = &d->base;
    else
        mem_free(d);
    return st;
}
