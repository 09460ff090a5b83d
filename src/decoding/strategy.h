// decoding/strategy.h - what decides which rows are evaluated and which tokens come out: a state
// machine that the engine drives.
//
// The engine evaluates the prompt (prompt_from, prompt_wants), then calls propose, evaluates the
// proposed rows together with those of other streams, and calls absorb with the results, until the
// stream ends. A strategy never blocks, never sees other streams and never touches threads.
//
// A new strategy is a file of this folder and a row of the table in strategies.c (CONTRIBUTING.md).
//
// Ownership: made by strategy_create(), freed by ops->destroy(). Threads: the step thread, but for
// ops->read.
#ifndef RN_DECODING_STRATEGY_H
#define RN_DECODING_STRATEGY_H

#include "base/status.h"
#include "decoding/draft/verify.h"
#include "decoding/step_time.h"
#include "decoding/strategy_needs.h"
#include "decoding/strategy_options.h"
#include "lm/lm.h"
#include "sampling/sampler.h"

// What a token was drawn from: the candidates that all sampling stages left, most probable first.
struct drawn_from {
    int32_t *ids;
    float *probs;
    size_t n;
};

// What is told of a token (rn_token), kept by a strategy whose rows are gone when it emits: in the model's own distribution, and in the
// one that it was drawn from.
struct token_told {
    float logprob;
    float entropy; // nats; NaN: not asked for
    int32_t rank, n_top;
    float sampled_entropy, sampled_logprob;            // NaN: not asked for, or it was not drawn
    int32_t sampled_rank, n_candidates, n_sampled_top; // 0: the same
    struct token_logprob top[2 * LOGPROBS_MAX_TOP];    // n_top, then n_sampled_top
};

// A token that leaves the strategy.
struct emission {
    int32_t token;
    // The row that it was drawn from, [n_vocab], valid during the call; NULL: none, and then its
    // log-probability is the one of `told`.
    const float *logits;
    const struct token_told *told; // NULL: it has none; valid during the call
    const struct drawn_from *from; // where spec->tells_drawn_from, else NULL; valid during the call
    int32_t drafted;               // it was a guess, behind so many - 1 others of the draft; 0: it was none
    int32_t choice;                // which of the answers it belongs to, 0..n_choices-1
    // it takes the place of so many of the choice's last tokens: where env->accepts_revisions
    int32_t n_replaced;
};

enum strategy_end { STRATEGY_END_STOP, STRATEGY_END_LENGTH };

// Whether a choice continues after a token.
enum emit_answer {
    EMIT_END,  // end tokens, stop strings, limits; or the token was not taken
    EMIT_NEXT, // it does
    // The token completed a banned string: it was taken back, maybe with tokens before it, and the
    // place where the string began is drawn again. Only strategies with can_rewind are told so.
    EMIT_REWIND
};
// After EMIT_REWIND. The main sequence is truncated to before `last`, unless n_back is 1.
struct rewound {
    int32_t n_back; // tokens taken back, the one just emitted included
    int32_t last;   // the one before them, which may be the prompt's last
};

// A whole answer that a search found.
struct sequence_found {
    const int32_t *tokens; // [n] generated, what ended it included
    int32_t n;
    double score;   // by which it was chosen
    double logprob; // sum over its tokens, in the model's own distribution
    bool is_whole;  // it ended by itself, not at the limit
    // What is told of its tokens: of token i told[told_at ? told_at[i] : i]; NULL: not wanted.
    const struct token_told *told;
    const int32_t *told_at;
};

// The engine's side of a stream, for the length of a call of absorb.
struct emitter_ops {
    // May a token be emitted? false: the limit is reached already (max_tokens 0), and the stream
    // ends.
    bool (*may_emit)(void *user);
    // Takes a token. Nothing after a stop may be committed, and no token of a choice that has ended
    // is taken. The stream ends when all choices have.
    enum emit_answer (*emit)(void *user, const struct emission *e);
    struct rewound (*rewound)(void *user); // directly after EMIT_REWIND
    // The logits [n_vocab] of prompt row `at`, in order, each row once: they say how probable
    // prompt token at + 1 was.
    void (*score_prompt)(void *user, int32_t at, const float *logits);
    // The strategy has nothing more to do: the stream ends.
    void (*end)(void *user, enum strategy_end why);
    // One of the sequences that the reader gets with the last chunk, best first; at most strategy.n_sequences, before the token
    // that ends the stream. Copied.
    void (*add_sequence)(void *user, const struct sequence_found *q);
};
struct emitter {
    const struct emitter_ops *ops;
    void *user;
};

// Classifier-free guidance (sampling/guidance.h): a second sequence, the negative prompt and the same
// answer.
struct guidance {
    const int32_t
        *tokens; // [n_tokens], at least 1: the negative prompt, and the answer's tokens that the prompt ends with
    int32_t n_tokens;
    int32_t last; // the prompt's last token
    float scale;
};

// Which tokens may be drawn next. Asked for each draw, from read or absorb.
struct token_gate {
    // Before each draw. False: all of them; else the rule is about this draw. *n_tried: as for
    // sampler_set_tried().
    bool (*begin)(void *user, uint32_t *n_tried);
    struct token_rule rule; // errors: RN_E_LIMIT, RN_E_NOMEM
    // Tokens that have to follow and need not be drawn, *n of at most max. Asked for, from read or absorb, before the first draw and
    // after each token that was drawn. Errors as above. NULL: every token is drawn.
    rn_status (*forced)(void *user, int32_t *tokens, size_t max, size_t *n, rn_error *err);
    // What may follow tokens [n] that are not emitted yet, but for banned strings: *mask, valid until the next call; NULL: all tokens.
    // *ends: the last one ends the answer. Asked for from absorb. Errors as above.
    rn_status (*look)(void *user, const int32_t *tokens, int32_t n, const uint64_t **mask, bool *ends, rn_error *err);
    void *user;
};

// Tokens that may become the answer: what may follow them, and where they end it. For strategies that follow several at once and
// emit when one is chosen. The stream's sampler goes with it: it has seen the same tokens. Asked from absorb.
struct token_walk {
    // Goes behind tokens [n] of an answer. What they have in common with the last ones costs a comparison.
    rn_status (*seek)(void *user, const int32_t *tokens, int32_t n, rn_error *err);
    // Tokens that may follow, valid until the next call; *mask NULL: all. Errors: RN_E_LIMIT, RN_E_NOMEM.
    rn_status (*mask)(void *user, const uint64_t **mask, rn_error *err);
    // Does a token that may follow end the answer: an end or stop token, a stop string, the grammar? Limits are the strategy's.
    rn_status (*ends)(void *user, int32_t token, bool *ends, rn_error *err);
    // from: what it was drawn from; NULL: nothing.
    void (*tell)(void *user, const float *logits, int32_t token, const struct drawn_from *from,
                 struct token_told *out);
    // Where the options name a majority: groups[i] is the first of these whole answers that says the same as answer i, and -1 where it
    // says nothing. RN_E_LIMIT, RN_E_NOMEM.
    rn_status (*vote)(void *user, const struct sequence_found *found, int32_t n, int32_t *groups, rn_error *err);
    void *user;
    int32_t n_end_tokens;  // that may end an answer
    int32_t padding_token; // -1: none
    bool
        is_idle; // tokens before do not matter: all may follow, no stop string, and nothing in the sampler looks at them
};

// The caller's function that says what texts are worth. It runs on a thread of its own, and the stream waits for it. Asked from absorb, but
// for is_done.
struct text_judge {
    // One more text of the next call, TREE_LEAVES of them at most: prompt and emitted tokens, then these.
    void (*add)(void *user, const int32_t *more, int32_t n, bool is_whole);
    void (*begin)(void *user);
    bool (*is_done)(void *user);
    // The value of each text, after is_done. RN_E_CANCELLED: the function failed.
    rn_status (*take)(void *user, double *values, rn_error *err);
    void *user;
};

// ---- sequences ------------------------------------------------------------------------------------------------------
//
// A strategy owns sequences on any model slots. It names them by small numbers and declares what
// tokens they hold; the engine makes it so (from the prefix cache, or by evaluating them) before it
// calls propose. When the engine takes their memory for another stream it calls suspend, and
// restores them as they were declared before the next propose, with the same bits. A row that is
// appended, and a kept path, are declared with it.

enum {
    STRATEGY_MAIN = 0, // there from the start, on slot 0: the prompt, then the tokens that were emitted
    STRATEGY_MAX_CHOICES = 64,
    STRATEGY_MAX_SEQS = 64, // of a stream
    // Slot 0 is the model that the request names; the others are the engine's other models and parts of draft heads.
    STRATEGY_MAX_SLOTS = 16,
    STRATEGY_HELPER_ROUNDS = 16 // steps of helper models before one of the main model, at most
};

// For calls from begin, absorb and suspend.
struct strategy_env_ops {
    // A sequence on a slot that shall hold these tokens (copied). RN_E_ARG: no such slot or token.
    // RN_E_LIMIT: n exceeds the slot's context or the stream's limit, or the strategy has all the
    // sequences that it needs. RN_E_NOMEM. On a slot of a part n is 0: its rows read vectors, which
    // only the strategy has, so only the strategy's own rows fill it, and suspend empties it.
    rn_status (*seq_open)(void *user, int32_t slot, const int32_t *tokens, int32_t n, int32_t *seq, rn_error *err);
    // Another one on the same slot that holds the same tokens; scratch nodes are not copied. Errors
    // as above.
    rn_status (*seq_fork)(void *user, int32_t seq, int32_t *out, rn_error *err);
    void (*seq_free)(void *user, int32_t seq); // not of STRATEGY_MAIN
    // Tokens that it holds, scratch nodes not counted.
    int32_t (*seq_len)(void *user, int32_t seq);
    // As lm_keep(). What is kept of the main sequence must have been emitted.
    rn_status (*seq_keep)(void *user, int32_t seq, const int32_t *path, int32_t n, rn_error *err);
    // Its first n tokens stay; scratch nodes go. Where a model cannot go back that far the engine
    // evaluates rows again; of a part's sequence fewer stay then (seq_len).
    void (*seq_truncate)(void *user, int32_t seq, int32_t n);
};

// What a slot is, if it is not a model: a part (model_build_part()), whose rows have a token and an
// input vector, but for STRATEGY_PART_LAYERS.
enum strategy_part {
    STRATEGY_PART_NONE,
    STRATEGY_PART_NEXTN,  // number: which layer
    STRATEGY_PART_MEDUSA, // number: which head
    STRATEGY_PART_EAGLE,
    STRATEGY_PART_EAGLE3,
    STRATEGY_PART_EAGLE3_TAPS,
    STRATEGY_PART_LAYERS,    // some of the model's layers: its rows have tokens alone, as a model's
    STRATEGY_PART_HEAD,      // the model's own head, on an early layer
    STRATEGY_PART_OF_ANOTHER // of another model than that of slot 0
};
struct strategy_slot {
    enum strategy_part part;
    int32_t number;
    int32_t n_vocab, n_embd;
    int32_t n_ctx;     // longest sequence
    int32_t n_scratch; // scratch nodes of a sequence, at most
    // How long steps of the slot take; it changes while the engine runs, and no result may depend
    // on it.
    const struct step_time *time;
    // Of slot 0: its layers, whether its head is its embedding, and which of its early layers can be tapped, as lm_tap() numbers them
    // from first_early on: 0 is what the first layer reads, i what layer i wrote.
    int32_t n_layer;
    bool ties_head;
    const int32_t *early;
    int32_t n_early, first_early;
    // Scores of a reranker's head, of which the softmax is taken if rank_softmax; 0: it has none.
    int32_t n_rank;
    bool rank_softmax;
};

// What the engine gives a strategy for the stream's life.
struct strategy_env {
    const struct strategy_env_ops *ops;
    void *user;
    const struct strategy_slot *slots; // [n_slots]
    int32_t n_slots;
    bool accepts_revisions; // may tokens that were emitted be replaced?
};

// ---- rows and results -----------------------------------------------------------------------------------------------

// Requested rows, all of one slot. Their seq is the strategy's own number. A row with LM_APPEND
// stays: only what is known to be right is appended, and to the main sequence only what was
// emitted. What may turn out wrong is a scratch row.
struct row_list {
    struct lm_row *rows; // [cap]
    size_t n;
    // What the strategy may ask for now; each at least 1. Others of the batch have a share of the
    // same size.
    size_t cap;      // rows; at least needs.n_results
    size_t n_logits; // rows with LM_WANT_LOGITS; at least needs.n_results
    // Of other streams in this step, as far as it is known: their rows, how many streams that is,
    // and the tokens that they expect. They tell what more rows cost and bring, and no result may
    // depend on them.
    size_t n_rows_beside, n_streams_beside;
    double n_tokens_beside;
    int32_t n_scratch; // scratch nodes that a sequence may have
    int32_t n_tokens;  // tokens that absorb may emit, of all choices together
    int32_t n_rounds;  // as next_slot was told; 0: the rows are of slot 0, and may be none
    // Set to 1 by the engine: tokens that the strategy expects of these rows.
    double n_expected;
};

enum { RESULTS_OF_PROPOSAL = -1 };
// Results of rows of a step: row i of these is row first + i of the step.
struct row_results {
    lm *model;
    size_t first, n;
    // Of rows of the prompt: the position of the first one. They may include rows that the strategy
    // wants nothing of. RESULTS_OF_PROPOSAL: the rows that propose requested.
    int32_t at;
    // What another strategy made of the last row's logits, for the one that it adds to; NULL: they are the model's.
    const float *last_logits;
};
// Was an optional row (LM_OPTIONAL) left out, for lack of memory? It has no results, and its
// sequence is as if it had not been there.
static inline bool results_dropped(const struct row_results *r, size_t i) {
    return lm_row_was_dropped(r->model, r->first + i);
}
static inline const float *results_logits(const struct row_results *r, size_t i) {
    if (r->last_logits && i + 1 == r->n) return r->last_logits;
    return lm_logits(r->model, r->first + i);
}

typedef struct strategy strategy;
struct strategy_ops {
    // Called once, before anything else, when the stream has its first turn: to open sequences.
    // NULL: nothing to do.
    rn_status (*begin)(strategy *s, rn_error *err);
    // The first prompt row whose results the strategy still needs; n_prompt: none. Rows
    // before it may come from the prefix cache, and after a preemption they are evaluated again
    // without results.
    int32_t (*prompt_from)(const strategy *s);
    // The results it needs of prompt row `at` >= prompt_from(): LM_WANT_LOGITS, LM_WANT_HIDDEN or 0.
    uint32_t (*prompt_wants)(const strategy *s, int32_t at);
    // The slot of the rows that propose will ask for. n_rounds: how many more steps of helper
    // models there may be before one of the main model; 0: it must be slot 0. In a round helper
    // models step first, with the rows of all streams that want some, as often as there are any;
    // then the main models step. NULL: always slot 0.
    int32_t (*next_slot)(const strategy *s, int32_t n_rounds);
    // Does it wait for another thread, which wakes the engine? Then it has no rows. NULL: never.
    bool (*waits)(const strategy *s);
    // Requests the rows to evaluate next. Called only while the stream runs, after the prompt was evaluated.
    // It may be called again before absorb when the rows could not be evaluated, and then proposes
    // the same rows. NULL: the strategy only reads the prompt.
    rn_status (*propose)(strategy *s, struct row_list *rows, rn_error *err);
    // Its sequences were given back: scratch nodes are gone, and propose begins anew from what is
    // declared. NULL: it never has scratch nodes between absorb and propose.
    void (*suspend)(strategy *s);
    // First half of absorb: reads results into memory of its own, and changes nothing else. Runs on
    // any thread of the engine's pool, with those of other streams. absorb follows on the step
    // thread. NULL: absorb does all.
    void (*read)(strategy *s, const struct row_results *r);
    // Reads results, samples, commits or drops KV, emits. Called for rows of the prompt if anything
    // of them is wanted, and for proposed rows. Emits at most one token of each choice after rows of
    // the prompt, else row_list.n_tokens. An error ends this stream alone with finish reason `error`.
    rn_status (*absorb)(strategy *s, const struct row_results *r, const struct emitter *out, rn_error *err);
    // Of a search: the best text that it has so far, where the stream ends before it has chosen one; it begins with all that was
    // emitted. False: there is none. NULL: what was emitted is all that there is.
    bool (*best_so_far)(strategy *s, struct sequence_found *best);
    void (*destroy)(strategy *s);
};
struct strategy {
    const struct strategy_ops *ops;
    // Set by create. The only statement of what a stream of it takes: the engine makes so many
    // places for sequences, at most STRATEGY_MAX_SEQS, and refuses what it has not planned.
    struct strategy_needs needs;
    int32_t n_choices;   // answers that it emits, at most STRATEGY_MAX_CHOICES; 0 counts as 1
    bool can_rewind;     // it follows the spec's gate, and EMIT_REWIND
    bool can_walk;       // it asks the spec's walk what may follow
    int32_t n_sequences; // that it reports when it ends, at most
    bool has_scratch;    // it asks for scratch rows of the main sequence
    // The drafter whose guesses the scratch rows of the main sequence are, by its number in drafter_kinds; NULL: there are none.
    const int32_t *drafter;
    // So many of a step's scratch rows of the main sequence, the last ones, are no guesses; NULL: none.
    const int32_t *n_more_rows;
    // Of the prompt's last rows so many are of use to it before prompt_from, too: they may come from
    // the cache, and where they are evaluated prompt_wants tells what it wants of them.
    int32_t n_prompt_looked;
    const struct strategy_env *env; // set by the engine before begin
};

// What a strategy is made from. Pointers stay the caller's and outlive the strategy.
struct strategy_spec {
    sampler *sampler; // NULL: for strategies that draw nothing
    const struct rowmath *rowmath;
    int32_t n_vocab, n_prompt, n_embd;
    // Tokens of the answer that the prompt already ends with: the first token drawn has this
    // position among the generated ones.
    int32_t n_given;
    // The sampler calls a function of the user, which is promised to run on the step thread: draw
    // in absorb, not in read.
    bool draws_on_step_thread;
    const struct guidance *guidance; // NULL: none
    // Emissions say what their tokens were drawn from, if the strategy can.
    bool tells_drawn_from;
    // The text, prompt and emitted tokens, [n_text_most]; grows with each emission. Read by drafters.
    const int32_t *text;
    int32_t n_text_most;
    int32_t n_before; // tokens before it in memory: of a prediction (drafter_spec.n_before in draft/drafter.h)
    // What guesses (draft/drafts.h), in order of preference; 0: nothing. The tokens and their bits are
    // the same with each of them.
    const struct drafter_choice *drafters;
    int32_t n_drafters;
    // Finished answers that drafters may look in (draft/output_store.h); NULL: none.
    const struct output_view *outputs;
    const struct ngram_table *ngrams; // as drafter_spec has it; NULL: none
    struct draft_figures *figures;    // what comes of the guesses is added; NULL without drafters
    // Most guesses of a step that are evaluated beside the row that is certain, at most DRAFT_MOST.
    int32_t draft_most;
    int32_t draft_least; // of these, made whether they pay or not
    enum draft_verify verify;
    struct draft_draws draws; // of drafters' models, with VERIFY_REJECT
    float draft_min_p;        // a drafter's model ends its guesses where its best one is less probable
    // NULL: all tokens may be drawn. Else the sampler takes masks.
    const struct token_gate *gate;
    const struct token_walk *walk; // NULL: of streams that only evaluate a prompt
    // Each emission has its row of logits, that of a forced token, too: these are then evaluated one by one.
    bool tells_each_row;
    // Of strategies that only add something to another one (prompt_scores): that other one. Theirs
    // from a successful create on.
    strategy *inner;
    int32_t helper_slot; // of the model that strategy_kind.helper names, whose tokens are the request's model's
    const struct text_judge *judge;         // NULL: the caller has no such function
    const struct strategy_options *options; // of the request, checked; NULL: none are given
    const struct strategy_slot *slots;      // [n_slots] as of strategy_env
    int32_t n_slots;
    const void *params; // what the kind documents; NULL for most
};

// Another model that a strategy reads.
enum strategy_helper { STRATEGY_NO_HELPER, STRATEGY_AMATEUR, STRATEGY_VALUE, STRATEGY_N_HELPERS };

// A kind of strategy: a row of the table.
struct strategy_kind {
    const char *name;
    rn_status (*create)(const struct strategy_spec *spec, strategy **out, rn_error *err);
    // A request may name it (rn_request.strategy): it generates, and needs no params.
    bool is_for_requests;
    enum strategy_helper helper; // strategy_spec.helper_slot
    // The number of that model, 0: the engine's; -1: these options need none. NULL: none do.
    int32_t (*helper_model)(const struct strategy_options *o);
    const char *help; // what it does, of those that requests may name
    // Changes the sampling parameters of a request to what it does with them; NULL: nothing. RN_E_ARG, RN_E_UNSUPPORTED.
    rn_status (*set_sampling)(const struct strategy_options *o, struct sampling_params *p, rn_error *err);
    // Options of a request that it refuses (rn_strategy_excludes()), separated by '|'; NULL: none.
    const char *excludes;
    // Texts that the answer is chosen from, each with keys and values of its own behind the prompt; NULL: one.
    int32_t (*n_texts)(const struct strategy_options *o);
};
// "sample": greedy decoding and sampling, one row in, one token out. "beam": beam search. "best-of": the best of several samples. "contrastive":
// contrastive search. "contrastive-decoding", "dola": sampling from what the model says more than an
// amateur, or than its own early layers. "tree": tree search. "score": params is a struct score_params. "embed": params is
// a struct embed_params. "prompt_scores": adds to its inner strategy.
extern const struct strategy_kind strategy_kinds[];
extern const size_t strategy_n_kinds;
const struct strategy_kind *strategy_find(const char *name); // NULL: unknown
// The kind that a request names; NULL: the first one. RN_E_ARG: it is not for requests; the text
// names those that are.
rn_status strategy_find_for_request(const char *name, const struct strategy_kind **kind, rn_error *err);
// RN_E_ARG: there is no kind of this name; the text names those there are.
rn_status strategy_create(const char *name, const struct strategy_spec *spec, strategy **out, rn_error *err);
void strategy_destroy(strategy *s); // NULL is fine

// Each row of the prompt goes to a function of the caller, in order, once. true: stop
// (RN_E_CANCELLED).
struct score_params {
    bool (*on_row)(void *user, size_t at, const float *logits, int32_t n_vocab);
    void *user;
};

// Hidden states of the prompt's rows, or a reranker's scores, pooled into one row of floats or kept
// apart.
enum embed_pooling {
    EMBED_EACH,       // one output row for each row of the prompt
    EMBED_MEAN,       // their mean
    EMBED_FIRST,      // that of the first
    EMBED_LAST,       // that of the last
    EMBED_RANK,       // the reranker's scores of the last
    EMBED_RANK_FIRST, // of the first (encoders)
    EMBED_RANK_MEAN   // the mean of those of each row
};
struct embed_params {
    enum embed_pooling pooling;
    bool softmax;   // over each output row
    bool sigmoid;   // of each number
    bool normalize; // each output row to length 1
    size_t n_row;   // floats of an output row: n_embd, or n_rank
    // [n_prompt][n_row] with EMBED_EACH, else [n_row]; whole once the strategy has ended
    float *out;
};

#endif
