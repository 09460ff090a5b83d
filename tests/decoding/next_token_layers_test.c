// tests/decoding/next_token_layers_test.c - guesses of next-token-prediction layers that stand on each other are those of their definition (DeepSeek-V3, 2412.19437,
// section 2.2): layer k reads at position i what layer k - 1 gave there, of which the main model is layer 0, and token i + k, attends to
// what it read before, and says what token i + k + 1 is. What it gives is here a hash of all this, so that nothing can be left out or come twice.
#include "base/hash.h"
#include "base/philox.h"
#include "decoding/draft/feature_drafter.h"
#include "kernels/kernels.h"
#include "tests/check.h"
#include <stdlib.h>
#include <string.h>

enum { VOCAB = 20, MOST_LAYERS = 4, N_TEXT = 400, MOST_ROWS = 256, MOST_NODES = 64, FIRST = 5, N_DRAFTS = 60 };

static uint32_t mix(uint32_t a, uint32_t b) { return (uint32_t)hash_u64((uint64_t)a << 32 | b, 5); }

// What a layer gives after a row, from what it gave after the row before, the vector and the token.
static uint32_t after(uint32_t before, uint32_t layer, uint32_t vector, int32_t token) {
    return mix(before, mix(mix(layer, vector), (uint32_t)token));
}
static uint32_t at_first(uint32_t layer) { return 77 + layer; } // before any row

static void put_vector(uint32_t h, float *out) { out[0] = (float)(h & 0xffff), out[1] = (float)(h >> 16); }
static uint32_t vector_of(const float *v) { return (uint32_t)v[0] | (uint32_t)v[1] << 16; }
static float logit(uint32_t h, int32_t token) { return (float)(mix(h, (uint32_t)token) >> 8 & 0xfff) / 256; }

// ---- a model with its layers ----------------------------------------------------------------------------------------

struct sequence {
    uint32_t given[N_TEXT], nodes[MOST_NODES];
    int32_t len, n_nodes;
};
struct rig {
    lm results; // of the last step
    float logits[MOST_ROWS][VOCAB], hidden[MOST_ROWS][2];
    int32_t place[MOST_ROWS];
    struct sequence seqs[MOST_LAYERS]; // of slot i + 1
    struct strategy_slot slots[1 + MOST_LAYERS];
    struct step_time time;
    uint32_t n_random;
    uint64_t seed;
};

static int32_t below(struct rig *r, int32_t n) {
    return (int32_t)(philox_uniform(r->seed, 0, r->n_random++, PHILOX_TEST) * n);
}

static const float *logits_of(lm *m, size_t row) { return ((struct rig *)m)->logits[row]; }
static const float *hidden_of(lm *m, size_t row) { return ((struct rig *)m)->hidden[row]; }
static const struct lm_ops lm_ops = {.logits = logits_of, .hidden = hidden_of};

static rn_status seq_open(void *user, int32_t slot, const int32_t *tokens, int32_t n, int32_t *seq, rn_error *err) {
    (void)user, (void)tokens, (void)n, (void)err;
    *seq = slot - 1;
    return RN_OK;
}
static int32_t seq_len(void *user, int32_t seq) { return ((struct rig *)user)->seqs[seq].len; }
static rn_status seq_keep(void *user, int32_t seq, const int32_t *path, int32_t n, rn_error *err) {
    (void)path, (void)n, (void)err;
    ((struct rig *)user)->seqs[seq].n_nodes = 0;
    return RN_OK;
}
static void seq_truncate(void *user, int32_t seq, int32_t n) {
    struct sequence *const s = &((struct rig *)user)->seqs[seq];
    CHECK(n >= 0 && n <= s->len);
    s->len = n, s->n_nodes = 0;
}
static const struct strategy_env_ops env_ops = {
    .seq_open = seq_open, .seq_len = seq_len, .seq_keep = seq_keep, .seq_truncate = seq_truncate};

static void run_row(struct rig *r, const struct lm_row *row, size_t at) {
    struct sequence *const s = &r->seqs[row->seq];
    const uint32_t layer = (uint32_t)row->seq + 1,
                   before = row->parent >= 0 ? s->nodes[row->parent]
                            : s->len > 0     ? s->given[s->len - 1]
                                             : at_first(layer),
                   given = after(before, layer, vector_of(row->input->vector), row->token);
    CHECK(row->parent < s->n_nodes);
    if (row->parent == LM_APPEND)
        s->given[s->len++] = given;
    else
        s->nodes[s->n_nodes++] = given;
    put_vector(given, r->hidden[at]);
    for (int32_t i = 0; i < VOCAB; i++) r->logits[at][i] = logit(given, i);
}

// Evaluates what the drafter asks for; now and then there is no room for the last of its optional rows.
static struct row_results run_rows(struct rig *r, const struct row_list *rows) {
    const size_t kept = below(r, 12) ? rows->n : (size_t)below(r, (int32_t)rows->n + 1);
    r->results.n_dropped = 0;
    for (size_t i = 0; i < rows->n; i++) {
        const bool drops = i >= kept && rows->rows[i].want & LM_OPTIONAL;
        r->place[i] = drops ? -1 : (int32_t)(i - r->results.n_dropped);
        r->results.n_dropped += drops;
        if (!drops) run_row(r, &rows->rows[i], (size_t)r->place[i]);
    }
    return (struct row_results){.model = &r->results, .n = rows->n, .at = RESULTS_OF_PROPOSAL};
}

// ---- the definition -------------------------------------------------------------------------------------------------

// Of each layer, what it gave at the positions from from[k] on, up to next[k]; layer 0 is the main model.
struct reference {
    int32_t n_layers, from[MOST_LAYERS + 1], next[MOST_LAYERS + 1];
    uint32_t given[MOST_LAYERS + 1][N_TEXT];
};

static uint32_t main_given(const int32_t *text, int32_t at) {
    uint32_t h = 1;
    for (int32_t i = 0; i <= at; i++) h = mix(h, (uint32_t)text[i]);
    return h;
}

// All layers read as far as n tokens allow.
static void advance(struct reference *f, const int32_t *text, int32_t n) {
    for (int32_t i = f->next[0]; i < n - 1; i++) f->given[0][i] = main_given(text, i);
    if (f->next[0] < n - 1) f->next[0] = n - 1;
    for (int32_t k = 1; k <= f->n_layers; k++)
        for (; f->next[k] + k < n && f->next[k] < f->next[k - 1]; f->next[k]++) {
            const int32_t i = f->next[k];
            const uint32_t before = i > f->from[k] ? f->given[k][i - 1] : at_first((uint32_t)k);
            f->given[k][i] = after(before, (uint32_t)k, f->given[k - 1][i], text[i + k]);
        }
}

// What says which token follows n tokens and n_path guesses: layer n_path + 1, at position n - 2; behind the last layer's guesses, this one with its own results.
static uint32_t expect(const struct reference *of, const int32_t *text, int32_t n, const int32_t *path,
                       int32_t n_path) {
    static struct reference f;
    static int32_t longer[N_TEXT + MOST_NODES];
    const int32_t n_chained = n - FIRST < of->n_layers ? n - FIRST : of->n_layers; // that have a vector to begin with
    const int32_t k = n_path < n_chained ? n_path + 1 : n_chained;
    f = *of;
    memcpy(longer, text, (size_t)n * sizeof *text);
    memcpy(longer + n, path, (size_t)n_path * sizeof *path);
    f.next[0] = n - 1;
    advance(&f, longer, n);
    for (int32_t j = 1; j <= k; j++) { // with guesses in the places of tokens that are not known
        for (; f.next[j] < n - 1; f.next[j]++) {
            const int32_t i = f.next[j];
            const uint32_t before = i > f.from[j] ? f.given[j][i - 1] : at_first((uint32_t)j);
            f.given[j][i] = after(before, (uint32_t)j, f.given[j - 1][i], longer[i + j]);
        }
    }
    uint32_t h = f.given[k][n - 2];
    for (int32_t i = k - 1; i < n_path; i++) h = after(h, (uint32_t)k, h, path[i]);
    return h;
}

// How many tokens are likelier.
static int32_t rank_of(uint32_t h, int32_t token) {
    int32_t rank = 0;
    for (int32_t i = 0; i < VOCAB; i++)
        rank += logit(h, i) > logit(h, token) || (i < token && logit(h, i) == logit(h, token));
    return rank;
}

static int32_t path_of(const struct draft *d, int32_t node, int32_t *path) {
    int32_t n = 0;
    for (int32_t i = node; i != DRAFT_ROOT; i = d->parents[i]) n++;
    for (int32_t i = node, at = n; i != DRAFT_ROOT; i = d->parents[i]) path[--at] = d->tokens[i];
    return n;
}

// Those behind a guess, or behind the text, are the likeliest ones in their order.
static void check_guesses(const struct reference *f, const int32_t *text, int32_t n, const struct draft *d,
                          int32_t *deepest) {
    int32_t path[DRAFT_MOST], n_children[DRAFT_MOST + 1] = {0};
    for (int32_t i = 0; i < d->n; i++) {
        const int32_t n_path = path_of(d, i, path) - 1;
        CHECK_INT(rank_of(expect(f, text, n, path, n_path), d->tokens[i]), n_children[d->parents[i] + 1]++);
        if (n_path > *deepest) *deepest = n_path;
    }
}

// ---- drafts ---------------------------------------------------------------------------------------------------------

static void observe(drafter *d, struct rig *r, const int32_t *text, int32_t at, int32_t n) {
    r->results.n_dropped = 0;
    for (int32_t i = 0; i < n; i++) put_vector(main_given(text, at + i), r->hidden[i]);
    const struct row_results results = {.model = &r->results, .n = (size_t)n};
    d->ops->observe(d, &(struct certain_rows){.results = &results, .at = at, .n = n});
}

static bool make_draft(drafter *d, struct rig *r, int32_t n, struct draft *out) {
    static struct lm_row row[MOST_ROWS];
    struct draft_step step;
    bool pays;
    rn_error err = {0};
    draft_step_init(&step, &r->time, 1, 1, 1, 1);
    const struct draft_ask ask = {.least = 8, .most = 24, .step = &step};
    if (!CHECK_OK(d->ops->plan(d, n, &ask, &pays, &err), &err) || !CHECK(pays)) return false;
    while (d->ops->wants_rows(d)) {
        const size_t cap = below(r, 6) ? 64 : 3;
        struct row_list rows = {.rows = row, .cap = cap, .n_logits = cap, .n_scratch = MOST_NODES};
        if (!CHECK_OK(d->ops->propose(d, &rows, &err), &err) || !CHECK(rows.n > 0 && rows.n <= cap)) return false;
        for (size_t i = 0; i < rows.n; i++) CHECK_INT(row[i].seq, d->slot - 1);
        const struct row_results results = run_rows(r, &rows);
        d->ops->read(d, &results);
        if (!CHECK_OK(d->ops->absorb(d, &results, &err), &err)) return false;
    }
    d->ops->draft(d, n, out);
    return true;
}

// The guesses of a path that were right, as far as chance has it, and one more token.
static int32_t go_on(struct rig *r, const struct draft *d, int32_t *text, int32_t n) {
    int32_t path[DRAFT_MOST];
    const int32_t n_path = d->n > 0 && below(r, 4) ? path_of(d, below(r, d->n), path) : 0;
    memcpy(text + n, path, (size_t)n_path * sizeof *text);
    text[n + n_path] = below(r, VOCAB);
    return n + n_path + 1;
}

// Tokens are taken back, and another one comes.
static int32_t take_back(drafter *d, struct rig *r, struct reference *f, int32_t *text, int32_t n) {
    const int32_t to = n - 1 - below(r, 8);
    d->ops->cut(d, to);
    for (int32_t k = 0; k <= f->n_layers; k++) {
        const int32_t most = k ? to - k : to - 1;
        if (f->next[k] > most) f->next[k] = most;
        if (f->from[k] > f->next[k]) f->from[k] = f->next[k];
    }
    text[to] = below(r, VOCAB);
    return to + 1;
}

static void empty_sequences(drafter *d, struct rig *r, struct reference *f) {
    for (int32_t k = 1; k <= f->n_layers; k++) r->seqs[k - 1].len = r->seqs[k - 1].n_nodes = 0;
    for (int32_t k = 1; k <= f->n_layers; k++) f->from[k] = f->next[k];
    d->ops->suspend(d);
}

static void check_stream(int32_t n_layers, uint64_t seed, int32_t *deepest) {
    static struct rig r;
    static struct reference f;
    static int32_t text[N_TEXT + MOST_NODES];
    int32_t n = FIRST + 2 + (int32_t)(seed % 7);
    struct draft out = {0};
    drafter *d;
    rn_error err = {0};
    r = (struct rig){.results = {.ops = &lm_ops, .n_vocab = VOCAB, .n_embd = 2}, .seed = seed};
    r.results.place = r.place;
    r.slots[0] = (struct strategy_slot){.n_vocab = VOCAB, .n_embd = 2, .time = &r.time};
    for (int32_t k = 0; k < n_layers; k++)
        r.slots[1 + k] = (struct strategy_slot){STRATEGY_PART_NEXTN, k, VOCAB, 2, 10000, MOST_NODES, &r.time};
    f = (struct reference){.n_layers = n_layers};
    for (int32_t k = 0; k <= n_layers; k++) f.from[k] = f.next[k] = FIRST;
    for (int32_t i = 0; i < n; i++) text[i] = below(&r, VOCAB);
    const struct strategy_env env = {.ops = &env_ops, .user = &r, .slots = r.slots, .n_slots = 1 + n_layers};
    const struct drafter_spec spec = {.text = text,
                                      .n_text_most = N_TEXT,
                                      .n_prompt = n,
                                      .n_vocab = VOCAB,
                                      .rowmath = &kernel_set_get(CPU_REF)->row,
                                      .slot = 1,
                                      .n_slots = n_layers};
    if (!CHECK_OK(feature_drafter_create(&spec, &d, &err), &err)) return;
    CHECK_OK(d->ops->begin(d, &env, &err), &err);
    observe(d, &r, text, FIRST, n - 1 - FIRST); // the prompt's last rows but one
    for (int i = 0; i < N_DRAFTS && n < N_TEXT - MOST_NODES; i++) {
        check_note("%d layers, seed %d, draft %d behind %d tokens", (int)n_layers, (int)seed, i, (int)n);
        if (!make_draft(d, &r, n, &out)) break;
        advance(&f, text, n);
        check_guesses(&f, text, n, &out, deepest);
        const int32_t before = n;
        const bool goes_back = below(&r, 5) == 0 && n > 30;
        n = goes_back ? take_back(d, &r, &f, text, n) : go_on(&r, &out, text, n);
        if (below(&r, 9) == 0) empty_sequences(d, &r, &f);
        const int32_t at = goes_back ? n - 2 : before - 1;
        observe(d, &r, text, at, n - 1 - at);
    }
    d->ops->destroy(d);
}

TEST(layers_that_stand_on_each_other_guess_as_they_are_defined) {
    for (int32_t n_layers = 1; n_layers <= MOST_LAYERS; n_layers++) {
        int32_t deepest = 0;
        for (uint64_t seed = 1; seed <= 20; seed++) check_stream(n_layers, seed, &deepest);
        check_note("%d layers: guesses behind %d others", (int)n_layers, (int)deepest);
        CHECK(deepest >= n_layers); // the last one went on from its own results, too
    }
}
