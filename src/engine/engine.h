// engine/engine.h - shared by the files of this module: models, model slots, streams, sessions and
// the step thread's state.
//
// Threads: API calls come from any thread. Only the step thread touches the model slots' lms,
// strategies, samplers and a stream's `play`. The engine's lock guards the lists and flags named
// below; each stream's outbox has its own lock. No lock is held while a callback runs.
#ifndef RN_ENGINE_ENGINE_H
#define RN_ENGINE_ENGINE_H

#include "backend/backend.h"
#include "base/cpus.h"
#include "base/log.h"
#include "base/pool.h"
#include "base/running_median.h"
#include "base/thread.h"
#include "decoding/draft/draft.h"
#include "decoding/draft/output_store.h"
#include "decoding/early_layers.h"
#include "decoding/step_time.h"
#include "decoding/strategy.h"
#include "engine/chat/chat.h"
#include "engine/masks_ahead.h"
#include "engine/outbox.h"
#include "engine/thinking.h"
#include "engine/vision/prompt_pictures.h"
#include "formats/package.h"
#include "grammar/grammar.h"
#include "kernels/kernels.h"
#include "lm/lm_real.h"
#include "model/model.h"
#include "sampling/sampler.h"
#include "sampling/token_mask.h"
#include "text/stop_matcher.h"
#include "text/utf8.h"
#include "tokenizer/tokenizer.h"
#include <runnel/runnel.h>
#include <stdatomic.h>

#define ENGINE_MAX_MODELS   8
#define ENGINE_MAX_SLOTS    STRATEGY_MAX_SLOTS // models, and the parts of their draft heads
#define ENGINE_MAX_PARTS    8                  // of a model's draft heads
#define N_DRAFT_HEADS       (RN_DRAFT_HEAD_LAYERS + 1)
#define ENGINE_MAX_STREAMS  4096
#define ENGINE_MAX_END      64 // end tokens of a model
#define ENGINE_MAX_STOP_IDS 128
#define ENGINE_MAX_DRAFTERS 8
#define ENGINE_MAX_BUFFER   65536             // tokens that wait for a reader
#define MIN_PARALLEL_READ   ((size_t)1 << 19) // logits
#define N_PRIORITIES        (RN_PRIORITY_HIGH - RN_PRIORITY_LOW + 1)

// What a model's grammars share; `vocab` is made when the first one is compiled.
struct model_grammars {
    mutex lock; // while it is made
    struct grammar_vocab vocab;
    char *names;    // of control tokens
    int32_t *named; // [n_named] these tokens
    size_t n_named;
};

// A draft head of a model, or a part of one: a program of its own (model_build_part()).
struct model_part {
    const package *pkg; // lent; NULL: the model's own
    struct part_spec spec;
};

struct rn_model {
    package *pkg;
    tokenizer *tok;        // NULL: the file has none, or an unsupported one
    char *tokenizer_error; // why the tokenizer cannot be used; NULL: it can, or there is none
    rn_tensor_type_use types[TENSOR_N_TYPES];
    int32_t n_types;
    rn_end_token end[ENGINE_MAX_END];
    char *end_text[ENGINE_MAX_END]; // their spellings, owned
    int32_t end_ids[ENGINE_MAX_END], n_end;
    char tokenizer_name[96];
    char *chat_template, *rerank_template;
    rn_text_prompt *prompts; // as the package has them; NULL: none
    rn_template *tmpl;       // compiled once; NULL: see template_error
    rn_error template_error; // kept instead of failing: only conversations need the template
    uint64_t n_params;
    struct model_grammars *grammars;
    struct model_adapter {
        struct adapter_file *file;
        char *name; // owned
    } adapters[PROGRAM_MAX_ADAPTERS];
    size_t n_adapters;
    struct model_part parts[ENGINE_MAX_PARTS]; // of its draft heads, those of a kind side by side
    size_t n_parts;
    bool has_heads[N_DRAFT_HEADS];          // by enum rn_draft_head
    package *head_files[N_DRAFT_HEADS];     // NULL: none
    int32_t *draft_layers;                  // that draft by themselves; NULL: none
    int32_t taps[PROGRAM_MAX_TAPS], n_taps; // layers that a draft head reads
    // That DoLa may read (early_layers.h), ascending; tapped behind those of draft heads.
    int32_t early[EARLY_LAYERS_MOST], n_early;
    struct ngram_table *ngrams; // of a cache file, for drafts; NULL: none
    struct vision_files vision; // all zero: it takes no pictures
    atomic_bool is_open;        // an engine has been opened with it: adapters and draft heads do not change any more
};
rn_status model_grammars_open(rn_model *m, rn_error *err);
void model_grammars_close(rn_model *m);

// Refers to its model, which outlives it.
struct rn_grammar {
    const rn_model *model;
    grammar *g;
    bool has_calls, is_optional; // of calls, which an answer may do without
    mutex lock;                  // while another one is compiled
    // Compiled for conversations whose format writes answers in another way; the first one is read without the lock.
    struct answer_grammar *_Atomic others;
};
struct answer_grammar {
    struct answer_grammar *next;
    grammar *g;
};
// The grammar of answers in a conversation's format; source: its template's. It belongs to `g`.
rn_status grammar_of_answer(const rn_grammar *g, const output_format *format, const char *source, grammar **out,
                            rn_error *err);

// Rows of a step that belong to one stream.
struct stream_rows {
    rn_stream *s;
    size_t first, n;
    struct stream_seq *fills; // the sequence being filled; NULL: the strategy proposed the rows
    bool absorbs;             // whether the results go to the strategy
    // when filling a sequence: the first row's position; else RESULTS_OF_PROPOSAL
    int32_t at;
};

enum { PLAIN_STREAMS = 64 }; // batches of more streams are not compared with those without guesses

// One model in one engine, or one part of a model's draft heads.
struct model_slot {
    rn_model *m;
    const struct model_part *part; // of m's; NULL: the slot is the model itself
    struct model_slot *base;       // of a part: the model's slot
    // an earlier slot of the same file whose program and weights are shared; NULL: none
    struct model_slot *weights_of;
    struct vision *vision;   // of a model that takes pictures, that of weights_of where there is one; NULL: none
    struct lm_input *inputs; // [n_batch] of rows, where there is a vision or rows see their whole text
    struct model *program;
    backend *backend;
    lm *lm;
    kv *kv;            // the lm's bookkeeping
    int32_t n_scratch; // most scratch nodes of a sequence
    // What strategies of this slot's streams see of all model slots, this one first.
    struct strategy_slot slots[STRATEGY_MAX_SLOTS];
    int32_t n_ctx;
    int64_t n_kv;
    struct backend_plan plan;
    enum kv_codec codec[PROGRAM_MAX_GROUPS]; // of keys and values, by page group
    char kv_name[KV_CODECS_NAME_BYTES];      // of all of them
    struct lm_row *rows;                     // [n_batch] of the step being built
    struct stream_rows *parts;               // [n_batch] the owners of the rows
    size_t n_rows, n_parts, n_logits, n_decode_rows;
    size_t
        n_kept_free; // of a step's rows and logits, for rows that see each other and found no room in the step before
    double n_expected;          // tokens that the rows are expected to give
    rn_stream **order;          // [n_streams] for putting the step's streams in order
    struct step_time step_time; // learned under the engine's lock
    // Nanoseconds of decode-only steps without guesses, by the number of streams.
    struct running_median plain_ns[PLAIN_STREAMS];
    double helper_ns;            // of drafters' steps for its streams since its own last step
    bool profiled;               // a profile is running; step thread
    bool crowded;                // a step could not hold every decoding stream
    struct lm_adapters adapters; // of streams that name none; the engine's lock
    uint64_t n_ended;            // ended streams of this slot: pages may be free since
    rn_engine_stats stats;       // as of the last step; the engine's lock
};
// A part whose rows read vectors, which nothing keeps.
static inline bool model_slot_reads_vectors(const struct model_slot *l) {
    return l->part && l->part->spec.kind != PART_LAYERS;
}

// An encoder: rows see their whole text, which is evaluated in one step.
static inline bool model_slot_sees_whole_text(const struct model_slot *l) {
    return !l->part && model_hparams(l->program)->sees_whole_text;
}
// Rows of one picture that see each other, at most: they are all in one step. 0: there are none.
size_t model_slot_span(const struct model_slot *l);
// RN_E_UNSUPPORTED: the model writes no text.
rn_status model_slot_check_writes(const struct model_slot *l, rn_error *err);

// One round of the step thread over all model slots.
struct round {
    int64_t now, wait_until;    // earliest time with work to do if nothing runs; -1: none
    size_t n_decode, n_prefill; // streams, of all model slots
    double decode_ns;           // time of one decode-only step of every model slot
    uint32_t n_prompting;       // model slots with prefill rows
};
static inline void round_begin(struct round *r, int64_t now) { *r = (struct round){.now = now, .wait_until = -1}; }
static inline void round_wait_until(struct round *r, int64_t t) {
    if (r->wait_until < 0 || t < r->wait_until) r->wait_until = t;
}

struct seq_node {
    int32_t token, depth; // 1: behind the last position
};
// A sequence of a stream's strategy. The strategy declares its tokens; the lm's sequence may hold
// fewer, or not exist.
struct stream_seq {
    struct model_slot *model_slot; // NULL: not in use
    int32_t seq;                   // sequence of the slot's lm; -1: none
    int32_t n;                     // tokens declared
    int32_t *tokens;               // [n_limit + 1]; the main sequence uses the stream's array
    // [n_scratch] the scratch nodes; NULL until there is one
    struct seq_node *nodes;
    int32_t n_nodes;
    int32_t n_appended; // in the step being built
    uint64_t text_key;  // of all declared tokens, where rows see their whole text
};

// One of a stream's choices: its tokens, and the state of their text on the way to the reader.
struct choice {
    int32_t *tokens; // [n_limit - n_prompt]; those of choice 0 follow the stream's prompt
    int32_t n;
    size_t n_healed; // bytes of stream_text.heal that its tokens have spelled
    utf8_assembler utf8;
    stop_matcher matcher;
    rn_finish finish; // RN_FINISH_NONE: still running, or ends with the stream
    char *detail;     // of finish; NULL for a single choice, which ends with the stream
};

// The text of a token on its way: what it made of stream_text.a and b.
struct passed_text {
    size_t n_text;   // bytes in a: whole characters
    size_t n;        // bytes in b: what the stop strings let through
    size_t stop_end; // where in a the stop string ends that it completed; SIZE_MAX: none
};

enum stream_state { STREAM_NEW, STREAM_QUEUED, STREAM_PREFILL, STREAM_DECODE, STREAM_ENDED };

// Scheduling among other streams; guarded by the engine's lock.
struct stream_turn {
    int32_t priority;
    uint64_t client;          // 0: not grouped with other streams
    int32_t n_client_running; // other running streams of its client
    int32_t n_left_out;       // steps in a row that had no room for it
    uint64_t left_out_at;     // the last of these steps
    size_t n_share;           // prefill rows of this stream in the step being built
    int32_t slot;             // index among running streams; -1: not running
    bool parked;              // waits for its reader
    bool was_preempted;
    // time of the round in which it found no sequence; not retried in that round
    int64_t no_room_at;
    uint64_t ended_when_preempted; // model_slot->n_ended at that time; retried once it changes
};

// Times of events in nanoseconds of clock_now_ns(); 0: not yet.
struct stream_times {
    int64_t pictures_ns; // that its pictures took, before it was submitted
    int64_t begin, scheduled, prompt, first, last;
    int64_t next_token;           // earliest time of the next token
    _Atomic int64_t token_gap_ns; // from max_tokens_per_second; 0: no limit
    int32_t timeout_ms;           // from begin; 0: none
    double *token_ms;             // of each token; NULL: not requested
};

// Reuse of earlier evaluations by the prompt.
struct stream_prefix {
    struct lm_adapters adapters;     // that the rows of its main model go through
    uint64_t salt;                   // prefixes are shared only among streams of the same salt
    bool whole_pages;                // only whole pages are reused
    int32_t n_matched;               // prompt tokens that the session holds
    int32_t n_cached;                // prompt tokens reused from the cache
    rn_miss miss;                    // why no more were reused
    char miss_text[CHAT_MISS_BYTES]; // a sentence about the miss; "": none
};

// The strategy and its sequences; step thread only.
struct stream_play {
    struct sampling_params sampling;
    sampler *sampler;        // NULL: the stream only evaluates its prompt
    strategy *strategy;      // NULL: the stream has ended
    struct strategy_env env; // what the strategy is given
    struct stream_seq *seqs; // [n_seqs] the main one first
    int32_t n_seqs;
    bool has_begun; // strategy_ops.begin was called
    // the strategy opened or truncated sequences, so some may need restoring
    bool seqs_changed;
    int32_t helper_slot;     // of the model that the strategy reads beside the stream's; 0: none
    int32_t n_helper_rounds; // since its last step of the main model
    struct token_gate gate;  // given to the strategy where it rules tokens out
    struct walk_state *walk; // of a strategy that asks one; NULL: it does not
    struct token_walk walk_ops;
    struct value_call *value_call; // of a request with a function that values texts; NULL: none
    uint64_t *gate_mask;           // [2][n_gate_words] NULL: the stream has no gate
    size_t n_gate_words;
    // Of the draw that was begun.
    bool gate_is_made;      // gate_mask is its mask
    uint32_t gate_n_tried;  // tokens that banned strings rule out
    struct rewound rewound; // what the last emission took back
    int32_t *negative;      // the negative prompt's tokens; NULL: no guidance
    struct guidance guidance;
    int32_t n_seq_limit;        // most tokens of sequences beside the main one on its slot; on other slots n_limit
    int64_t n_taken_back;       // tokens, of all emissions
    int64_t n_rows;             // evaluated for it, of all models
    struct output_view outputs; // finished answers that its drafters look in
    bool keeps_output;          // its own is added to them
    struct draft_figures drafts;
    bool speculates; // it has drafters
    // Scratch rows of the main sequence, and tokens that were emitted as drafted.
    struct draft_counts {
        int64_t drafted[RN_DRAFT_DEPTHS], accepted[RN_DRAFT_DEPTHS];
        int64_t drafted_by[RN_MAX_DRAFTERS], accepted_by[RN_MAX_DRAFTERS];
        int64_t n_more_rows; // that were no guesses
        // Of tokens that came in steps with or without guesses: what plain steps take for them, and what they took.
        double plain_ns, ns;
        int64_t n_right;              // guesses that were right
        int64_t n_seen, n_right_seen; // tokens emitted, and right guesses, until the last step
    } draft_counts;
};

// From tokens to text.
struct stream_text {
    bool ignore_eos; // end tokens do not end the stream
    bool special;    // control tokens appear in the text
    stop_set *stops; // NULL: none
    int32_t stop_ids[ENGINE_MAX_STOP_IDS];
    size_t n_stop_ids;
    struct choice *choices; // [n_choices]
    int32_t n_choices;
    struct banned *banned; // banned strings (banned.h); NULL: none
    // Token healing: the bytes that were taken off the prompt's end, with which the answer must begin and which its text leaves
    // out; NULL: none. heal_most: bytes that may be taken off.
    char *heal;
    size_t n_heal, heal_most;
    size_t n_heal_given; // of them, those that the request's reply begins with
    char *a, *b;         // buffers for a token's text between assembler, matcher and outbox
    char *echo;          // [n_echo] the prompt's text; NULL: not delivered
    size_t n_echo;
};

// Log-probabilities.
struct stream_scores {
    int32_t n_logprobs; // candidates of each token; -1: no log-probabilities
    int32_t n_sampled;  // the same after all sampling stages
    struct token_logprob top[LOGPROBS_MAX_TOP];
    int32_t *scratch;
    struct prompt_scores *prompt; // NULL: not requested
};

// How it ends.
struct stream_ending {
    const char *cancel_why; // finish_detail of a cancel
    rn_finish finish;       // set when the last choice ends, carried out after absorb
    char detail[sizeof((rn_error *)0)->text];
    rn_status status; // with RN_FINISH_ERROR: the error
    rn_usage usage;   // the last chunk points to these
    rn_timing timing;
    size_t n_sequences_taken; // answers that the reader may ask for, once it has the last chunk; the reader's
    rn_usage of_sequence;     // of the one that it asked for last
};

struct rn_stream {
    rn_engine *engine;
    struct model_slot *model_slot;
    rn_session *session; // NULL: none
    rn_stream *next;     // engine's list; its lock
    // advanced by the step thread; ENDED only under the engine's lock
    _Atomic enum stream_state state;
    atomic_bool cancelled, paused;

    // The prompt, then the tokens of choice 0.
    int32_t *tokens; // [n_limit + 1], in `predicted`
    int32_t n_prompt, n_tokens;
    int32_t *predicted; // owned: [n_predicted] the prediction (prediction.c), then the tokens
    int32_t n_predicted;
    int32_t n_limit;    // number of tokens at which the stream ends with `length`
    bool context_binds; // n_limit is the context, not max_tokens
    // n_limit is what other sequences leave of keys and values: what finish_detail calls it; NULL: it is not
    const char *room_binds;

    struct prompt_pictures pictures; // encoded before the stream is submitted
    int32_t n_first_kind; // of a pair of texts: rows before the second one; 0: none, or all are of one kind
    struct stream_turn turn;
    struct stream_times time;
    struct stream_prefix prefix;
    struct stream_play play;
    struct stream_text text;
    struct grammar_cursor grammar; // of choice 0; g NULL: none
    int32_t n_grammar_given;       // tokens at the prompt's end that begin the answer: it has read them, too
    size_t n_grammar_skip;         // bytes of the first tokens that stand before the answer
    int32_t continued_from;   // first token of the prompt that has text of a continued answer; 0: none is continued
    size_t n_continued_skip;  // bytes of it that stand before that text
    struct thinking thinking; // of a conversation's answer, before the grammar begins
    int32_t n_thought;        // tokens that were not the grammar's
    bool grammar_is_over;     // before anything is generated
    bool grammar_frames;      // it has the tags of a frame, one of which may be an end token
    bool grammar_is_moot;     // it is about calls, which the answer's format does not have
    struct stream_scores scores;
    struct stream_ending end;
    struct sequence_list *sequences; // that a search found; NULL: its strategy reports none
    struct {                         // as of the end of its last step, for other threads
        int32_t n_evaluated, n_generated, n_pages;
    } shown;
    rn_progress_fn progress;
    void *progress_user;
    struct embedding *embed; // result of an embedding stream; NULL: not one
    struct answer *answer;   // parsed by the reader; NULL: not a conversation
    rn_overflow overflow;
    struct outbox out;
};

// For several streams; constant.
struct rn_prompt {
    const struct model_slot *model_slot;
    struct id_list ids;
    struct prompt_pictures pictures; // encoded
    const output_format *format;     // of a conversation; NULL: the prompt is parts
    struct chat_prompt chat;         // without its ids
};

struct rn_session {
    rn_engine *engine;
    struct model_slot *model_slot;
    rn_session *next;
    rn_stream *stream;              // the running one; engine's lock
    int32_t *tokens;                // [n_ctx]
    int32_t n_tokens, n_reply_from; // the last stream's tokens begin at n_reply_from
    // -1: its pages were released; the prefix index may still have them
    int32_t seq;
    uint64_t salt;               // of seq
    struct lm_adapters adapters; // of seq
    int64_t t_used;
};

// A call that another thread runs on the step thread, between steps.
struct engine_call {
    void (*fn)(void *ctx);
    void *ctx;
    bool done;
    struct engine_call *next;
};

struct rn_engine {
    struct model_slot model_slots[ENGINE_MAX_SLOTS]; // the models, then parts of their draft heads
    size_t n_models, n_model_slots;
    const struct kernel_set *kernels;
    pool *threads;
    rn_engine_options opt;
    log_sink log;
    cpus cpus;
    char cpu_reason[128], threads_reason[160], plan_text[1024];
    // Strategies read fewer logits than this, over all streams of a step, on the step thread:
    // waking the pool would take longer.
    size_t min_parallel_read;
    uint64_t limit_bytes, tables_bytes; // the plan's limit; bytes allocated before the plan
    thread step_thread;
    bool thread_started;
    struct masks_ahead masks_ahead;
    output_store *outputs; // finished answers, for drafts; NULL: none are kept. Step thread

    mutex lock;            // guards all fields below, and stream.state for readers
    condvar wake, changed; // for the step thread; for threads that wait for it
    bool lock_made, wake_made, changed_made;
    bool stopping, work; // work: something happened since the step thread last looked
    rn_stream *streams;  // queued and running, in order of beginning
    rn_session *sessions;
    struct engine_call *calls, **calls_end;
    int32_t n_queued, n_running;
    bool slots[ENGINE_MAX_STREAMS];   // taken by running streams
    int64_t class_turn[N_PRIORITIES]; // when a stream of the class last began to run
    // when a stream last ended while others waited; 0: none has waited since
    int64_t t_ended;
    struct running_median end_gap; // between such ends
};

// engine_open.c, for tests: an engine whose model slots use these lms instead of the models' own.
// The engine takes ownership, even if it fails to open.
struct given_lm {
    lm *lm;
    kv *kv;            // its bookkeeping
    int32_t n_scratch; // most scratch nodes of a sequence
};
rn_status engine_open_lms(rn_model *const *models, const struct given_lm *lms, size_t n_models,
                          const rn_engine_options *opt, rn_engine **engine, rn_error *err);

// plan.c: n_ctx, n_kv and sizes of every model slot, or the table that shows why not
rn_status engine_plan(rn_engine *e, rn_error *err);
uint64_t plan_beside_bytes(const rn_engine *e); // everything besides the model slots
struct lm_config model_slot_config(const rn_engine *e, const struct model_slot *l);
// all pages; once planned
uint64_t model_slot_kv_bytes(const rn_engine *e, const struct model_slot *l);
// What a stream's strategy may use. n_results is shared by all streams of a step; n_states is 0
// without recurrent layers.
struct stream_room {
    int32_t n_seqs, n_scratch, n_states, n_results;
};
int32_t model_slot_n_vocab(const struct model_slot *l); // logits of a row
struct stream_room model_slot_room(const rn_engine *e, const struct model_slot *l);
// RN_E_LIMIT: a stream of the strategy of that name needs more than there is room for; the text
// names what, both figures, and what reserves more.
// adapter_api.c: frees those of a model; the list of a request, checked; the list of streams that name
// none.
void model_close_adapters(rn_model *m);
void model_close_draft_heads(rn_model *m); // draft_heads.c
rn_status model_slot_read_adapters(const struct model_slot *l, const rn_adapter *list, size_t n,
                                   struct lm_adapters *out, rn_error *err);
struct lm_adapters model_slot_adapters(rn_engine *e, const struct model_slot *l);
rn_status model_slot_check_needs(const rn_engine *e, const struct model_slot *l, const char *name,
                                 const struct strategy_needs *needs, rn_error *err);
uint64_t model_slot_copied_bytes(const struct model_slot *l); // of weights copied from the file
// all slots of recurrent state; once planned
uint64_t model_slot_state_bytes(const rn_engine *e, const struct model_slot *l);

// stream_size.c: bytes of streams besides keys and values, an upper bound except for requested
// extras (logits, many biases)
uint64_t stream_waiting_bytes(const struct model_slot *l);
uint64_t stream_running_bytes(const rn_engine *e, const struct model_slot *l);
struct outbox_sizes stream_outbox_sizes(const struct model_slot *l, const rn_request *r, int32_t n_choices,
                                        size_t n_echo);
size_t stream_scratch_numbers(const struct model_slot *l); // of stream_scores.scratch

// scheduler.c
void *engine_step_thread(void *arg);
void engine_wake(rn_engine *e); // with the lock held
void engine_call_wait(rn_engine *e, void (*fn)(void *), void *ctx);
// Rows of the step whose results strategies read, and of how many streams: decides whether waking
// the pool pays off.
size_t step_rows_read(const struct model_slot *l, size_t *n_parts);

// step_build.c: the rows of the next step; with the lock held
void round_look(rn_engine *e, struct round *r);
// culprit: the stream that caused a failure.
rn_status step_build(rn_engine *e, struct model_slot *l, struct round *r, rn_stream **culprit, rn_error *err);
// The same for streams of other models that need rows of this one before their own model steps.
rn_status step_build_helpers(rn_engine *e, struct model_slot *l, struct round *r, rn_stream **culprit, rn_error *err);

// queue.c: which stream waits, starts or is preempted; with the lock held
// RN_E_BUSY, RN_E_LIMIT: the queue is full
rn_status queue_check(rn_engine *e, const rn_stream *s, rn_error *err);
void queue_add(rn_engine *e, rn_stream *s);
rn_stream *queue_next(rn_engine *e, int64_t now);         // the stream to start now; NULL: none
int32_t queue_position(rn_engine *e, const rn_stream *s); // 1: next
void queue_begin(rn_stream *s, int64_t now);              // marks it as running
// on its end, or on return to the queue (back)
void queue_leave(rn_stream *s);
// Frees keys, values and sequences of a model slot: an idle session's, else a stream is preempted.
// wants: the stream that lacks a sequence, which may be the one that has to wait; NULL: the rows of
// a step lack room. now: the round's time. false: no other stream holds anything there.
bool queue_make_room(rn_engine *e, struct model_slot *l, const rn_stream *wants, int64_t now);

// stream_state.c: what other threads see of a stream and of its engine; with the lock held
void stream_show(rn_stream *s);
void model_slot_show(struct model_slot *l);
// once per stream, after its lookup
void model_slot_count_prefix(struct model_slot *l, const rn_stream *s);

// stream_seqs.c: the sequences of a stream's strategy. Step thread, without the lock
// any thread; once the stream has its strategy and tokens
rn_status stream_seqs_create(rn_stream *s, rn_error *err);
void stream_seqs_destroy(rn_stream *s); // their memory; they were released
// Starts the stream: its strategy begins, and it takes over the session's sequence.
rn_status stream_schedule(rn_stream *s, rn_error *err);
// Creates missing sequences that the strategy declared, from the cache as far as possible; those that begin as one
// that is to be filled wait for it (stream_waits_for_seqs()). The state becomes prefill, or decode if no row is
// missing. RN_E_LIMIT: other streams hold all
// sequences of *lacking; sequences created so far stay, and it may be called again.
rn_status stream_restore(rn_stream *s, struct model_slot **lacking, rn_error *err);
void stream_suspend(rn_stream *s); // releases all sequences
void stream_release_main(rn_stream *s, bool keep_for_session);
bool stream_holds(const rn_stream *s, const struct model_slot *l); // true if it has sequences there
// the sequence to fill next, of those that were created; NULL: none. l NULL: of any slot
struct stream_seq *stream_filling(const rn_stream *s, const struct model_slot *l);
bool stream_waits_for_seqs(const rn_stream *s);  // there are some that stream_restore() has not created yet
int32_t seq_missing(const struct stream_seq *q); // declared rows that are not evaluated yet
void model_slot_fill_slots(rn_engine *e, struct model_slot *own); // once all model slots are loaded
struct model_slot *stream_slot(const rn_stream *s, int32_t slot); // NULL: there is none
// What a declared row has beside its token: in sequences of the stream's own model that begin as its prompt does, the
// vectors of its pictures. false: nothing.
bool stream_row_input(const rn_stream *s, const struct stream_seq *q, int32_t at, struct lm_input *out);
// Would a step that ends before position `at` cut rows that see each other? *first, *end: of these.
bool stream_cuts_span(const rn_stream *s, const struct stream_seq *q, int32_t at, int32_t *first, int32_t *end);
// Maps the strategy's sequences in rows proposed for slot l to the lm's. RN_E_INTERNAL: the rows
// break the contract.
rn_status stream_place_rows(rn_stream *s, const struct model_slot *l, struct lm_row *rows, size_t n, rn_error *err);
// after a step: all but the dropped rows were evaluated
void stream_note_rows(const struct model_slot *l, const struct stream_rows *part);

// heal_prompt.c: takes tokens off the end of the prompt, which the reply's follow in ids, and remembers their bytes. RN_E_ARG: the
// reply does not begin with these; RN_E_UNSUPPORTED; RN_E_NOMEM.
rn_status stream_heal_prompt(rn_stream *s, const rn_request *r, struct id_list *ids, rn_error *err);

// negative_prompt.c: s->play.guidance, if the request has a guidance scale, and the stream's limits with it; once it has its tokens.
rn_status stream_guidance_create(rn_stream *s, const rn_request *r, rn_error *err);

struct drafter_choice;
// prediction.c: the end of the prompt, the request's prediction and an end mark, for the drafters that look in texts; none without a
// prediction. Errors: of its parts; RN_E_LIMIT: it is longer than the context; RN_E_ARG: no drafter looks in texts.
rn_status stream_read_prediction(const rn_stream *s, const rn_request *r, const struct id_list *prompt,
                                 struct id_list *out, rn_error *err);
rn_status stream_check_prediction(const rn_request *r, const struct drafter_choice *drafters, int32_t n,
                                  rn_error *err);

// token_gate.c: s->play.gate, if the request rules tokens out as it goes; before the sampler is made.
rn_status stream_gate_create(rn_stream *s, const rn_request *r, rn_error *err);
// Has the grammar make and remember the mask of the next draw (masks_ahead.h).
void stream_gate_look_ahead(rn_stream *s);

// token_walk.c: s->play.walk_ops, and the walk itself if the strategy asks it; destroy: NULL is fine.
void stream_walk_describe(rn_stream *s);
rn_status stream_walk_create(rn_stream *s, const struct strategy_options *o, rn_error *err);
void stream_walk_destroy(rn_stream *s);
// Adds to the end's detail in how many answers the majority's expression came to its limit.
void stream_walk_note(rn_stream *s);
// Where the stream's grammar is moved by a walk: behind tokens [n] of its answer.
rn_status stream_walk_go(rn_stream *s, const int32_t *tokens, int32_t n, rn_error *err);

// stream_sequences.c: what a search found, for the last chunk. RN_E_NOMEM.
rn_status stream_sequences_create(rn_stream *s, rn_error *err);
void stream_sequences_destroy(rn_stream *s);
void stream_sequences_add(rn_stream *s, const struct sequence_found *q);
// Where the stream ends before its search has chosen a text, the answer is the best one so far: the rest of it, behind what was
// emitted, is one of the stream's tokens, and the reader has it with the last chunk. Before the strategy is destroyed.
void stream_sequences_cut(rn_stream *s);
rn_status stream_sequences_show(rn_stream *s, rn_chunk *last, rn_error *err);
// By the reader, of each chunk that it takes: adds that rest to the last one. RN_E_NOMEM.
rn_status stream_sequences_take(rn_stream *s, rn_chunk *chunk, rn_error *err);
// One of those shown, by the reader: text, tokens and their data, valid until the next call, and how it ended. RN_E_NOMEM.
rn_status stream_sequence_read(rn_stream *s, size_t i, rn_chunk *chunk, rn_error *err);
struct text_buf;
// Adds the text of tokens [n] of an answer, and a terminator. Returns the stop string that it ends with; -1: none.
int32_t stream_sequence_text(rn_stream *s, const int32_t *tokens, size_t n, struct text_buf *to);

// forced_tokens.c: tokens that the grammar leaves no choice about (token_gate.forced; user: the stream). Any thread of the pool.
// RN_E_LIMIT, RN_E_NOMEM.
rn_status stream_forced_tokens(void *user, int32_t *tokens, size_t max, size_t *n, rn_error *err);
bool stream_may_force(const rn_request *r);

// request_drafters.c: the drafters of a request (rn_request.speculate), for streams of this slot;
// out: [ENGINE_MAX_DRAFTERS]. RN_E_ARG.
struct drafter_choice;
// If one of the drafters looks in finished answers: those that the stream may see, and its own is kept.
void stream_show_outputs(rn_stream *s, const struct drafter_choice *drafters, int32_t n);
void stream_keep_output(rn_stream *s); // when it has ended
// The slot of the model that a strategy with these options reads beside the request's, of the same vocabulary; 0: it reads none.
rn_status request_find_helper(const rn_engine *e, const struct model_slot *own, const struct strategy_kind *kind,
                              const struct strategy_options *o, int32_t *slot, rn_error *err);
rn_status request_read_drafters(rn_engine *e, struct model_slot *own, const rn_request *r, struct drafter_choice *out,
                                int32_t *n, rn_error *err);
// What those of a request that names none allocate, for a text of so many tokens.
size_t request_default_drafter_bytes(const rn_engine *e, int32_t n_text_most);

// value_call.c: the caller's function that says what texts are worth, on a thread of its own. RN_E_NOMEM.
rn_status value_call_create(rn_stream *s, rn_value_fn fn, void *user, rn_error *err);
const struct text_judge *value_call_judge(const rn_stream *s); // NULL: the request has none
void value_call_destroy(rn_stream *s);                         // waits for the function

// draft_counts.c: what drafts brought. Of a guess of the stream's strategy; depth 0: the token was none.
void draft_counts_evaluated(rn_stream *s, int32_t depth);
void draft_counts_right(rn_stream *s, int32_t depth);
// The slot's step took so long; after its results were absorbed.
void draft_counts_count_step(struct model_slot *l, int64_t ns);
void draft_counts_tell(const struct draft_counts *f, rn_usage *u);

// stream_grammar.c: the form of the answer
// In a conversation, first: n bytes of its prompt, whose end may have begun the answer.
rn_status stream_grammar_in_chat(rn_stream *s, const rn_grammar *of, const output_format *format, const char *source,
                                 const char *prompt, size_t n, rn_error *err);
rn_status stream_grammar_create(rn_stream *s, const rn_request *r, rn_error *err);
void stream_grammar_destroy(rn_stream *s);
// Tokens that may follow, end tokens included where the text is whole. Any thread of the pool.
rn_status stream_grammar_mask(rn_stream *s, uint64_t *mask, size_t n_words, rn_error *err);
// What the mask says of one token, without the mask. Not of every token, in every place (stream_grammar_knows()): of end tokens, and
// around the reasoning.
rn_status stream_grammar_allows(rn_stream *s, int32_t token, bool *is_allowed, rn_error *err);
bool stream_grammar_knows(const rn_stream *s, int32_t token);
// *is_over: the text is whole and nothing can follow.
rn_status stream_grammar_take(rn_stream *s, int32_t token, bool *is_over, rn_error *err);
rn_status stream_grammar_is_over(rn_stream *s, bool *is_over, rn_error *err); // after what was taken
bool stream_grammar_goes_on(rn_stream *s, int32_t end_token);                 // it is a tag within the answer's frame
// The first n tokens of an answer, which are these.
void stream_grammar_keep(rn_stream *s, const int32_t *answer, int32_t n);

// stream_choices.c: a stream's answers
rn_status stream_choices_create(rn_stream *s, bool raw_bytes, bool accepts_revisions, rn_error *err);
void stream_choices_destroy(rn_stream *s);
struct emitter stream_emitter(rn_stream *s); // receives its strategy's emissions; step thread
// Passes a token's text through the choice's assembler and stop strings, into s->text.a and b.
struct passed_text stream_pass_token(rn_stream *s, struct choice *c, int32_t token);
bool stream_ends_at(rn_stream *s, int32_t token); // it is an end or stop token, where the grammar stands
// What a token was drawn from: its place among the candidates, their entropy, and the best of them, at most scores.n_sampled.
void stream_tell_drawn_from(const rn_stream *s, const struct drawn_from *from, int32_t token,
                            struct outbox_sampled *t, rn_top *top);
// finish_detail of an answer, from its last token, the stop string that it ends with (-1: none) and whether it ended by itself.
void stream_tell_end(rn_stream *s, int32_t token, int32_t matched, bool is_whole, char *out, size_t n_out);
int64_t stream_emitted(const rn_stream *s);     // tokens of all choices
int32_t stream_tokens_left(const rn_stream *s); // that unfinished choices may still emit
// Ends all choices and delivers the text that they held back. RN_E_INTERNAL: it does not fit.
rn_status stream_choices_end(rn_stream *s, rn_finish why, const char *detail, rn_error *err);

// stream_run.c: the step thread's side of a stream
void stream_end(rn_stream *s, rn_finish why, const char *detail);
int32_t stream_evaluated(const rn_stream *s); // tokens with keys and values
int32_t stream_prefill_target(const rn_stream *s);
// true if results of rows before the prompt's last are used
bool stream_reads_prompt(const rn_stream *s);

// request.c: checks everything, then makes the stream
// kind, params: the strategy that decodes.
rn_status stream_create(rn_engine *e, const rn_request *req, const struct strategy_kind *kind, const void *params,
                        rn_stream **out, rn_error *err);
// A stream that only evaluates ids, for the strategy of this name.
rn_status stream_create_reader(rn_engine *e, size_t model, const int32_t *ids, size_t n, const char *strategy_name,
                               const void *params, rn_stream **out, rn_error *err);
// The same for the prompt of a request, with its pictures.
rn_status stream_create_prompt_reader(rn_engine *e, const rn_request *req, const char *strategy_name,
                                      const void *params, rn_stream **out, rn_error *err);
void stream_destroy(rn_stream *s);
// The begin token if the model requires one and the text has none, then the parts, behind the
// tokens that *ids has. what: the parts' name. pictures: where those of the parts go; NULL: parts with pictures are
// refused. RN_E_ARG, RN_E_LIMIT, RN_E_UNSUPPORTED, RN_E_NOMEM, and of pictures RN_E_FORMAT.
rn_status request_append_parts(const struct model_slot *l, const rn_request *r, const char *what,
                               const rn_part *parts, size_t n_parts, struct id_list *ids,
                               struct prompt_pictures *pictures, rn_error *err);
// stream.c
// The pause between two tokens. RN_E_ARG: the rate is out of range.
rn_status stream_rate_gap(double tokens_per_second, int64_t *gap_ns, rn_error *err);
rn_status stream_submit(rn_stream *s, rn_error *err);
// Waits for the stream's only chunk and returns how it ended. what: start of the message if it was
// cancelled.
rn_status stream_read_all(rn_stream *s, const char *what, rn_chunk *last, rn_error *err);

// prompt_scores.c: log-probabilities of a prompt's tokens, in the reader's form
rn_status prompt_scores_create(rn_stream *s, int32_t n_top, rn_error *err);
// row `at` of the prompt; the last one completes them
void prompt_scores_take(rn_stream *s, int32_t at, const float *logits);
void prompt_scores_destroy(struct prompt_scores *p); // NULL is fine

// embed.c: a text's embedding
void embedding_show(const struct embedding *m, rn_chunk *last);
void embedding_destroy(struct embedding *m); // NULL is fine

// session.c
// RN_E_STATE: it has a stream. Without the lock
rn_status session_check_free(rn_session *s, rn_error *err);
// Frees the sequence of the least recently used session; sessions with a queued stream come last.
// The session keeps its text, and the prefix index may keep its pages. except: never this session;
// may be NULL. Returns false if no session of the model has a sequence. Step thread, with the lock
// held; session_make_room() takes the lock.
bool session_release_lru(rn_engine *e, struct model_slot *l, const rn_session *except);
bool session_make_room(rn_engine *e, struct model_slot *l, const rn_session *except);

// chat_request.c: the prompt of a conversation, from where the session goes on; and what takes its
// answer apart
rn_status stream_make_chat_prompt(rn_stream *s, const rn_request *r, struct id_list *ids, rn_error *err);
// The same in two: the prompt, without a session, and the parser of an answer to it.
rn_status chat_prompt_open(const struct model_slot *l, const rn_request *r, struct chat_prompt *p,
                           const output_format **format, rn_error *err);
rn_status stream_make_answer(rn_stream *s, const rn_request *r, const output_format *format,
                             const struct chat_prompt *p, const struct id_list *ids, rn_error *err);
// chat_template.c
rn_status model_make_template(const rn_model *m, rn_template **tmpl, rn_error *err);

// vision/model_vision.c: of the models of an engine that take pictures. Prepared before the plan; bytes are those of the plan,
// with the vectors that are kept; loaded after it.
rn_status engine_prepare_visions(rn_engine *e, rn_error *err);
uint64_t engine_vision_bytes(const rn_engine *e);
rn_status engine_load_visions(rn_engine *e, rn_error *err);
void engine_close_visions(rn_engine *e);
int32_t model_picture_token(const rn_model *m); // of the rows of pictures

// model_api.c
bool model_is_end_token(const rn_model *m, int32_t id);
// The bytes of a token; none for a row of the head that the vocabulary does not name, and without a
// tokenizer.
const char *model_piece(const rn_model *m, int32_t id, bool special, size_t *n);
// RN_E_UNSUPPORTED: there is none, or why it is not known
rn_status model_need_tokenizer(const rn_model *m, rn_error *err);

#endif
