// decoding/draft/drafter.h - what makes guesses: from the text alone, or with a model on another
// slot of the engine.
//
// A drafter only guesses. drafts.h drives the drafters of a stream, counts how often their guesses
// were right, chooses one and how many of its guesses are evaluated; the sample strategy verifies
// them. Whatever is guessed, tokens and bits stay the same.
//
// For each step of the main model: `plan` (with a model only), rows on the drafter's slot as long as
// `wants_rows`, then `draft`. What came of the guesses is in the text at the next `plan` or `draft`:
// drafters are asked in order of preference, so some steps may lie between.
//
// A new drafter is a file of this folder and a row of the table in drafters.c.
//
// Ownership: made by its kind's create(), freed by ops->destroy(). Threads: the step thread, but for
// ops->read.
#ifndef RN_DECODING_DRAFT_DRAFTER_H
#define RN_DECODING_DRAFT_DRAFTER_H

#include "decoding/draft/draft.h"
#include "decoding/draft/draft_odds.h"
#include "decoding/draft/vocab_bridge.h"
#include "decoding/strategy.h"

typedef struct drafter drafter;

// Rows of the main sequence whose tokens are certain, of the step just evaluated: those of the prompt
// as far as they were evaluated, then those of emitted tokens. Row i has position `at` + i.
struct certain_rows {
    const struct row_results *results;
    const int32_t *rows; // [n] indices into the results; NULL: `first` + i
    int32_t first;
    int32_t at, n;
};
static inline size_t certain_row(const struct certain_rows *r, int32_t i) {
    return (size_t)(r->rows ? r->rows[i] : r->first + i);
}

// What the guesses of a step may cost.
struct draft_ask {
    int32_t least, most;           // nodes that are made whether they pay or not; that there is room for
    const struct draft_step *step; // of the main model; valid during the call
    // That may be spent where nothing is expected to pay, to see whether that is still so: a small part of the time since this drafter's last draft.
    double probe_ns;
    // That may be lost in this step, should no guess be right (draft_account.h): no more is asked for than takes so much longer.
    double lose_ns;
};

struct drafter_ops {
    // Once, before anything else, when the stream has its first turn: to open sequences. NULL: nothing to do.
    rn_status (*begin)(drafter *d, const struct strategy_env *env, rn_error *err);
    // Guesses what follows the first n tokens of the text: parents before children, and the first k
    // nodes are the best k. Classes are those of d->odds. n = 0: there is no guess.
    void (*draft)(drafter *d, int32_t n, struct draft *out);
    // Only the first n tokens of the text stay; others take the place of those behind.
    void (*cut)(drafter *d, int32_t n);
    void (*destroy)(drafter *d);
    // Rows of the main model beside the guesses just made, behind the first n tokens of the text, as far as they are expected to pay or cost at most
    // ask->probe_ns; some if ask->least > 0. NULL: never.
    void (*more_rows)(drafter *d, int32_t n, const struct draft_ask *ask, struct draft_rows *out);
    // Their results, row `first` and those behind it; on any thread. Not where one was left out for lack of room, or for good reason was not proposed: then
    // the next `draft` comes without.
    void (*read_more)(drafter *d, const struct row_results *r, size_t first);

    // ---- of drafters with a model; NULL without ----
    // Settles what it knows with the first n tokens of the text, and returns whether rows on its slot,
    // and the guesses that they give, are expected to pay or cost at most ask->probe_ns; it must if
    // ask->least > 0. true: wants_rows and propose follow, else nothing of this step.
    rn_status (*plan)(drafter *d, int32_t n, const struct draft_ask *ask, bool *pays, rn_error *err);
    // Are there more rows to evaluate before it can guess?
    bool (*wants_rows)(const drafter *d);
    // The rows, as strategy_ops.propose on d->slot; at least one.
    rn_status (*propose)(drafter *d, struct row_list *rows, rn_error *err);
    // As strategy_ops.read and absorb, of the rows that it proposed.
    void (*read)(drafter *d, const struct row_results *r);
    rn_status (*absorb)(drafter *d, const struct row_results *r, rn_error *err);
    // After its last rows of a step: what of `draft` may fail. NULL: nothing.
    rn_status (*finish)(drafter *d, rn_error *err);
    // Its sequences were given back: scratch nodes are gone.
    void (*suspend)(drafter *d);
    // Rows that are certain, with the results that d->wants names; before `plan`. Those that a `cut`
    // has taken back come again. Rows from the prefix cache, and those that are evaluated again after a
    // preemption, are not shown; nor are the prompt's but the last n_prompt_rows. NULL: it reads nothing of the main model.
    void (*observe)(drafter *d, const struct certain_rows *rows);
};

struct drafter {
    const struct drafter_ops *ops;
    // Of its model, by the numbers of struct strategy_env; 0: it has none.
    // Of a drafter with several it is that of its next rows.
    int32_t slot;
    int32_t n_seqs; // sequences that it has at once
    // LM_WANT_HIDDEN, LM_WANT_TAPS: what `observe` reads of the prompt's last row and those behind it.
    uint32_t wants;
    // So many of the prompt's last rows are shown as well, those that were evaluated.
    int32_t n_prompt_rows;
    // How often guesses of a class were right, and guesses at a depth whose parent was; drafts.c learns them.
    struct draft_odds odds, depths;
};

// Of lookahead decoding: columns of the window, tokens of an n-gram, n-grams that are guesses at once. All 0: the usual ones.
struct lookahead_sizes {
    int32_t width, length, candidates;
};
enum {
    LOOKAHEAD_WIDTH = 32,
    LOOKAHEAD_LENGTH = 8, // 2 at least
    LOOKAHEAD_CANDIDATES = 16,
    LOOKAHEAD_ROWS = 48 // width * (length - 1)
};

// What a drafter is made from. Pointers stay the caller's and outlive it.
struct drafter_spec {
    // The text, prompt and emitted tokens, [n_text_most]; grows with each emission. Before it in memory there are n_before tokens of another one, the
    // request's prediction: the prompt's end, then what may follow, then a negative number.
    const int32_t *text;
    int32_t n_text_most, n_prompt, n_before;
    int32_t n_vocab; // of the main model
    const struct rowmath *rowmath;
    int32_t slot;                      // of the model that drafts, where the kind needs one
    const struct bridge_side *sides;   // [2] the main model's and its vocabulary; NULL: they are the same
    const struct output_view *outputs; // finished answers that it may look in; NULL: none
    const struct ngram_table *ngrams;  // what followed what in other texts (ngram_table.h); NULL: unknown
    const struct draft_draws *draws;   // NULL or off: the most probable tokens are guessed
    int32_t least;                     // guesses that are made however unlikely they are
    float min_p;                       // guesses of a model end where the best one is less probable, 0..1
    // Of a kind that stands on parts: so many slots, from `slot` on.
    int32_t n_slots;
    struct lookahead_sizes lookahead;
};

struct drafter_kind {
    const char *name;
    bool needs_model; // on a slot of the engine
    uint32_t parts;   // of draft heads that it stands on, bits 1 << enum strategy_part; 0: on none
    rn_status (*create)(const struct drafter_spec *spec, drafter **out, rn_error *err);
    bool reads_prediction; // drafter_spec.n_before
    bool has_sizes;        // drafter_spec.lookahead
    bool reads_outputs;    // drafter_spec.outputs, to which the stream's answer is added when it has ended
};
enum { DRAFTERS_MOST = 16 }; // kinds
extern const struct drafter_kind drafter_kinds[];
extern const size_t drafter_n_kinds;
int32_t drafter_number(const struct drafter_kind *kind); // in the table; one that is not there has the last one's
// By the first n bytes of a name; NULL: unknown.
const struct drafter_kind *drafter_find(const char *name, size_t n);

#endif
