// tests/decoding/slow_drafter_test.c - drafters whose own steps take longer than the model's, whatever they guess: they are given up, and what they cost from
// then on is a hundredth of the time at the most, also where a trial takes longer than it was taken for. On a clock of its own: steps take as long as a rule says.
#include "base/philox.h"
#include "decoding/draft/drafts.h"
#include "decoding/strategy.h"
#include "kernels/kernels.h"
#include "tests/check.h"
#include <string.h>

enum { VOCAB = 48, N_PROMPT = 20, N_TEXT = 20000, MOST_ROWS = 160, MOST_SEQS = 4, MOST_NODES = 128, N_SCRATCH = 64 };
static const double MS = 1e6;

// A drafter, and what its rows read: the text's tokens, or hidden states, which are positions here.
static const struct slow_kind {
    const char *name;
    enum strategy_part part;
    int32_t n_slots;
} kinds[] = {{"draft", STRATEGY_PART_NONE, 1},
             {"layer-skip", STRATEGY_PART_LAYERS, 1},
             {"medusa", STRATEGY_PART_MEDUSA, 2},
             {"eagle", STRATEGY_PART_EAGLE, 1},
             {"mtp", STRATEGY_PART_NEXTN, 3}};
enum { N_KINDS = sizeof kinds / sizeof *kinds, MOST_SLOTS = 4 };

struct seq {
    int32_t slot, len, n_nodes, depths[MOST_NODES];
};

struct rig {
    lm results;
    double quality; // how often a guess is right
    double head_ms; // of a step of the drafter; 10 ms is one of the model
    int32_t text[N_TEXT];
    float logits[MOST_ROWS][VOCAB], hidden[MOST_ROWS][1];
    struct step_time time[MOST_SLOTS];
    struct strategy_slot slots[MOST_SLOTS];
    struct seq seqs[MOST_SEQS];
    int32_t n_seqs;
    double ns;
    int64_t n_head_steps;
};
static struct rig r;

static const float *logits_of(lm *m, size_t row) { return ((struct rig *)m)->logits[row]; }
static const float *hidden_of(lm *m, size_t row) { return ((struct rig *)m)->hidden[row]; }
static const struct lm_ops lm_ops = {.logits = logits_of, .hidden = hidden_of};

// ---- sequences of drafters ------------------------------------------------------------------------------------------

static rn_status seq_open(void *user, int32_t slot, const int32_t *tokens, int32_t n, int32_t *seq, rn_error *err) {
    (void)user, (void)tokens, (void)err;
    r.seqs[r.n_seqs] = (struct seq){.slot = slot, .len = n};
    *seq = r.n_seqs++;
    return RN_OK;
}
static int32_t seq_len(void *user, int32_t seq) {
    (void)user;
    return r.seqs[seq].len;
}
static rn_status seq_keep(void *user, int32_t seq, const int32_t *path, int32_t n, rn_error *err) {
    (void)user, (void)path, (void)err;
    r.seqs[seq].len += n, r.seqs[seq].n_nodes = 0;
    return RN_OK;
}
static void seq_truncate(void *user, int32_t seq, int32_t n) {
    struct seq *const q = &r.seqs[seq];
    (void)user;
    if (n < q->len) q->len = n;
    q->n_nodes = 0;
}
static const struct strategy_env_ops env_ops = {
    .seq_open = seq_open, .seq_len = seq_len, .seq_keep = seq_keep, .seq_truncate = seq_truncate};

// ---- steps ----------------------------------------------------------------------------------------------------------

static void step(int32_t slot, size_t n_rows, double ms) {
    const double ns = ms * MS * (1 + 0.03 * ((double)n_rows - 1));
    r.ns += ns;
    step_time_learn(&r.time[slot], n_rows, 0, (int64_t)ns);
}

// The token at a position, or as often as guesses are wrong another one.
static void guess_at(float *logits, int32_t at, uint32_t which) {
    const bool is_right = philox_uniform(5, (uint32_t)at, which, PHILOX_TEST) < r.quality;
    memset(logits, 0, VOCAB * sizeof *logits);
    if (at < N_TEXT) logits[(r.text[at] + !is_right) % VOCAB] = 8;
}

static void run_row(const struct strategy_slot *slot, const struct lm_row *row, size_t i, int32_t n_text) {
    struct seq *const q = &r.seqs[row->seq];
    int32_t depth = 0;
    if (row->parent == LM_APPEND)
        q->len++;
    else
        q->depths[q->n_nodes++] = depth = row->parent == LM_ROOT ? 1 : q->depths[row->parent] + 1;
    if (row->input) { // what the model says after a token, and the next token; or all that a Medusa head reads
        const int32_t at = (int32_t)row->input->vector[0];
        guess_at(r.logits[i], at + 2 + (slot->part == STRATEGY_PART_MEDUSA ? slot->number : 0), 1);
        r.hidden[i][0] = (float)(at + 1);
    } else // behind the text's last tokens, to which its sequence need not begin with the first
        guess_at(r.logits[i], row->parent == LM_APPEND ? n_text : n_text + depth, 0);
}

static void drafters_step(struct drafts *d, int32_t n) {
    static struct lm_row row[MOST_ROWS];
    struct row_list rows = {.rows = row, .cap = MOST_ROWS, .n_logits = MOST_ROWS, .n_scratch = MOST_ROWS};
    const int32_t slot = drafts_slot(d);
    rn_error err = {0};
    CHECK_OK(drafts_propose(d, &rows, &err), &err);
    for (size_t i = 0; i < rows.n; i++) run_row(&r.slots[slot], &row[i], i, n);
    step(slot, rows.n, r.head_ms);
    r.n_head_steps++;
    const struct row_results results = {.model = &r.results, .n = rows.n, .at = RESULTS_OF_PROPOSAL};
    drafts_read(d, &results);
    CHECK_OK(drafts_absorb(d, &results, &err), &err);
}

static void observe(struct drafts *d, int32_t at, int32_t n) {
    for (int32_t i = 0; i < n; i++) r.hidden[i][0] = (float)(at + i);
    const struct row_results results = {.model = &r.results, .n = (size_t)n};
    drafts_observe(d, &(struct certain_rows){.results = &results, .at = at, .n = n});
}

static int32_t n_right(const struct draft *d, int32_t n) {
    int32_t right = 0;
    for (int32_t node = DRAFT_ROOT; (node = draft_child(d, node, r.text[n + right])) != DRAFT_NONE;) right++;
    return right;
}

static struct drafts *open_drafts(const struct slow_kind *kind, double quality, double slow) {
    static struct strategy_env env;
    struct drafts *d = NULL;
    rn_error err = {0};
    r = (struct rig){.results = {.ops = &lm_ops, .n_vocab = VOCAB, .n_embd = 1}, .quality = quality};
    r.head_ms = 10 * slow;
    for (uint32_t i = 0; i < N_TEXT; i++) r.text[i] = (int32_t)(philox_uniform(3, i, 0, PHILOX_TEST) * VOCAB);
    r.slots[0] = (struct strategy_slot){.n_vocab = VOCAB, .n_embd = 1, .n_ctx = N_TEXT, .time = &r.time[0]};
    for (int32_t i = 1; i <= kind->n_slots; i++)
        r.slots[i] = (struct strategy_slot){kind->part, i - 1, VOCAB, 1, N_TEXT, N_SCRATCH, &r.time[i]};
    env = (struct strategy_env){.ops = &env_ops, .user = &r, .slots = r.slots, .n_slots = 1 + kind->n_slots};
    const struct drafter_choice choice = {
        .kind = drafter_find(kind->name, strlen(kind->name)), .slot = 1, .n_slots = kind->n_slots};
    const struct strategy_spec spec = {.text = r.text,
                                       .n_text_most = N_TEXT,
                                       .n_prompt = N_PROMPT,
                                       .n_vocab = VOCAB,
                                       .rowmath = &kernel_set_get(CPU_REF)->row,
                                       .drafters = &choice,
                                       .n_drafters = 1,
                                       .draft_most = DRAFT_DEFAULT};
    if (!CHECK_OK(drafts_create(&spec, &d, &err), &err) || !CHECK_OK(drafts_begin(d, &env, &err), &err)) return NULL;
    return d;
}

// The times of a token without guesses and with, of tokens 0..200 and of those behind them.
static void check_slow(const struct slow_kind *kind, double quality, double slow) {
    static struct lm_row row[MOST_ROWS];
    enum { FIRST = 200 };
    struct drafts *const d = open_drafts(kind, quality, slow);
    rn_error err = {0};
    double first_ns = 0, trial_ns = 0; // the longest one
    int64_t n_first_steps = 0;
    int32_t n = N_PROMPT + 1, n_first = 0;
    if (!d) return;
    observe(d, N_PROMPT - 1, 1);
    while (n < N_TEXT - DRAFT_MOST) {
        const double before_ns = r.ns;
        CHECK_OK(drafts_choose(d, n, &err), &err);
        while (drafts_slot(d)) drafters_step(d, n);
        struct row_list rows = {
            .rows = row, .n = 1, .cap = MOST_ROWS, .n_logits = MOST_ROWS, .n_scratch = MOST_ROWS, .n_tokens = 64};
        drafts_add_rows(d, &rows, 0);
        step(0, rows.n, 10);
        if (r.ns - before_ns > trial_ns) trial_ns = r.ns - before_ns;
        const int32_t right = n_right(drafts_proposed(d), n);
        observe(d, n - 1, 1 + right);
        n += 1 + right;
        if (n_first == 0 && n >= FIRST) first_ns = r.ns, n_first_steps = r.n_head_steps, n_first = n;
    }
    drafts_destroy(d);
    const double plain = 10 * MS, first = first_ns / (n_first - N_PROMPT - 1) / plain, later_ns = r.ns - first_ns,
                 more_ns = later_ns - (n - n_first) * plain, later = later_ns / (later_ns - more_ns);
    check_note("%s, %.0f %% right, %.1f times as slow: %.3f of the time without in the first 200 tokens (%d steps of "
               "its own), %.4f later (%d)",
               kind->name, 100 * quality, slow, first, (int)n_first_steps, later,
               (int)(r.n_head_steps - n_first_steps));
    CHECK(n_first_steps > 0 && n_first_steps <= 8);
    CHECK(more_ns <= 0.01 * r.ns + trial_ns); // what the last trial took too much is not waited for yet
}

TEST(a_drafter_that_is_slower_than_the_model_is_given_up_and_costs_at_most_a_hundredth) {
    static const double qualities[] = {0, 0.5, 1}, slow[] = {1.2, 3, 20, 100};
    for (size_t k = 0; k < N_KINDS; k++)
        for (size_t q = 0; q < 3; q++)
            for (size_t i = 0; i < sizeof slow / sizeof *slow; i++) check_slow(&kinds[k], qualities[q], slow[i]);
}
