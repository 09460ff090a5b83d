// engine/engine.h - what the files of this room share: models, model slots, streams, sessions and the step thread's state.
//
// Threads: API calls come from any thread. The step thread alone touches model slots' lm, strategies, samplers and a stream's `run` part.
// The engine's lock guards the lists and flags named below; each stream's outbox has a lock of its own. No lock is held over a callback.
#ifndef RN_ENGINE_ENGINE_H
#define RN_ENGINE_ENGINE_H

#include "backend/backend.h"
#include "base/cpus.h"
#include "base/log.h"
#include "base/pool.h"
#include "base/thread.h"
#include "decoding/step_time.h"
#include "decoding/strategy.h"
#include "engine/chat/chat.h"
#include "engine/outbox.h"
#include "formats/package.h"
#include "kernels/kernels.h"
#include "lm/lm_real.h"
#include "model/model.h"
#include "sampling/sampler.h"
#include "text/stop_matcher.h"
#include "text/utf8.h"
#include "tokenizer/tokenizer.h"
#include <runnel/runnel.h>
#include <stdatomic.h>

#define ENGINE_MAX_MODELS   8
#define ENGINE_MAX_STREAMS  4096
#define ENGINE_MAX_END      64 // end tokens of a model
#define ENGINE_MAX_STOP_IDS 128
#define ENGINE_MAX_BUFFER   65536             // tokens that wait for a reader
#define MIN_PARALLEL_READ   ((size_t)1 << 19) // logits
#define N_PRIORITIES        (RN_PRIORITY_HIGH - RN_PRIORITY_LOW + 1)

struct rn_model {
    package *pkg;
    tokenizer *tok;        // NULL: the file has none, or one that is not known
    char *tokenizer_error; // why the file's cannot be used; NULL where it can, or there is none
    rn_tensor_type_use types[TENSOR_N_TYPES];
    int32_t n_types;
    rn_end_token end[ENGINE_MAX_END];
    char *end_text[ENGINE_MAX_END]; // their spellings, owned
    int32_t end_ids[ENGINE_MAX_END], n_end;
    char tokenizer_name[96];
    char *chat_template, *rerank_template;
    rn_template *tmpl;       // compiled once; NULL: template_error says why there is none
    rn_error template_error; // whatever the file has, a model opens: only conversations need its template
    uint64_t n_params;
};

// Rows of a step that belong to one stream.
struct stream_rows {
    rn_stream *s;
    size_t first, n;
    struct stream_seq *fills; // the sequence that they fill; NULL: the strategy proposed them
    bool absorbs;             // their results go to the strategy
    int32_t at;               // of rows that fill a sequence: the position of the first; else RESULTS_OF_PROPOSAL
};

// One model in one engine.
struct model_slot {
    rn_model *m;
    struct model_slot *
        weights_of; // an earlier one of the same model file, whose program and weights this one uses; NULL: it has its own
    struct model *program;
    backend *backend;
    lm *lm;
    kv *kv;            // the lm's bookkeeping
    int32_t n_scratch; // most scratch nodes of a sequence
    // What strategies of this model slot's streams are told of all model slots, this one first.
    struct strategy_slot slots[STRATEGY_MAX_SLOTS];
    int32_t n_ctx;
    int64_t n_kv;
    struct backend_plan plan;
    enum kv_codec codec[PROGRAM_MAX_GROUPS]; // of keys and values, by page group
    char kv_name[KV_CODECS_NAME_BYTES];      // of all of them
    struct lm_row *rows;                     // [n_batch] of the step being built
    struct stream_rows *parts;               // [n_batch] whose rows they are
    size_t n_rows, n_parts, n_logits, n_decode_rows;
    rn_stream **order;          // [n_streams] for putting the step's streams in order
    struct step_time step_time; // learned under the engine's lock
    bool profiled;              // a profile is running; step thread
    bool crowded;               // a step could not hold every stream that decodes
    uint64_t n_ended;           // streams of this model slot that ended: pages may have come free
    rn_engine_stats stats;      // as of the last step; the engine's lock
};

// One round of the step thread over all model slots.
struct round {
    int64_t now, wait_until;    // earliest time at which there is something to do, where nothing runs; -1: none
    size_t n_decode, n_prefill; // streams, of all model slots
    double decode_ns;           // what decode-only steps of all model slots take
    uint32_t n_prompting;       // model slots with prompts
};
static inline void round_begin(struct round *r, int64_t now) { *r = (struct round){.now = now, .wait_until = -1}; }
static inline void round_wait_until(struct round *r, int64_t t) {
    if (r->wait_until < 0 || t < r->wait_until) r->wait_until = t;
}

// A sequence of a stream's strategy. Declared is what it shall hold; the lm's sequence may be behind, or not be there.
struct stream_seq {
    struct model_slot *model_slot; // NULL: not in use
    int32_t seq;                   // of the model slot's lm; -1: not there
    int32_t n;                     // tokens declared
    int32_t *tokens;               // [n_limit + 1]; of the main sequence the stream's
    int32_t *nodes;                // [n_scratch] tokens of the scratch nodes; NULL until there is one
    int32_t n_nodes;
    int32_t n_appended; // in the step that is being built
};

// One of a stream's answers: its tokens, and where their text stands on its way out.
struct choice {
    int32_t *tokens; // [n_limit - n_prompt]; those of choice 0 follow the stream's prompt
    int32_t n;
    utf8_assembler utf8;
    stop_matcher matcher;
    rn_finish finish; // NONE: it goes on, or ends with the stream
    char *detail;     // of finish; NULL where there is only one choice, which ends with the stream
};

enum stream_state { STREAM_NEW, STREAM_QUEUED, STREAM_PREFILL, STREAM_DECODE, STREAM_ENDED };

// Its turns among other streams; the engine's lock.
struct stream_turn {
    int32_t priority;
    uint64_t client;      // 0: a client of its own
    int32_t n_mates;      // other running streams of its client
    int32_t n_left_out;   // steps in a row that had no room for it
    uint64_t left_out_at; // the last of them
    size_t n_share;       // rows of the step being built that are for its prompt
    int32_t slot;         // number among running streams; -1: it does not run
    bool parked;          // it waits for its reader
    bool was_preempted;
    int64_t no_room_at;            // time of the round in which it found no sequence: not again in that round
    uint64_t ended_when_preempted; // model slot->n_ended then: it comes back when that has changed
};

// When what happened; nanoseconds of clock_now_ns(), 0: not yet.
struct stream_times {
    int64_t begin, scheduled, prompt, first, last;
    int64_t next_token;           // not before then
    _Atomic int64_t token_gap_ns; // of max_tokens_per_second; 0: no limit
    int32_t timeout_ms;           // from begin; 0: none
    double *token_ms;             // of each token; NULL: not asked for
};

// What of the prompt was evaluated before.
struct stream_prefix {
    uint64_t salt;                   // only streams of one salt share prefixes; 0: all that have none
    int32_t n_matched;               // tokens of the prompt that the session holds
    int32_t n_cached;                // tokens of the prompt that were not evaluated
    rn_miss miss;                    // why no more of them were reused
    char miss_text[CHAT_MISS_BYTES]; // a sentence about it; "": its name says all
};

// Who decides what comes out, and the sequences that this takes; step thread.
struct stream_play {
    struct sampling_params sampling;
    sampler *sampler;        // NULL: the stream only reads its prompt
    strategy *strategy;      // NULL: the stream has ended
    struct strategy_env env; // what the strategy is given
    struct stream_seq *seqs; // [n_seqs] the main one first
    int32_t n_seqs;
    bool has_begun;          // the strategy has
    bool seqs_changed;       // it opened or cut sequences: they may have to be made or evaluated
    int32_t n_helper_rounds; // since its last step of the main model
};

// From tokens to text.
struct stream_text {
    bool ignore_eos; // end tokens do not end it
    bool special;    // special tokens are spelled out
    stop_set *stops; // NULL: none
    int32_t stop_ids[ENGINE_MAX_STOP_IDS];
    size_t n_stop_ids;
    struct choice *choices; // [n_choices]
    int32_t n_choices;
    char *a, *b; // a token's text between assembler, matcher and outbox
    char *echo;  // [n_echo] the prompt's text; NULL: not delivered
    size_t n_echo;
};

// Log-probabilities.
struct stream_scores {
    int32_t n_logprobs; // candidates of each token; -1: no log-probabilities
    struct token_logprob top[LOGPROBS_MAX_TOP];
    int32_t *scratch;
    struct prompt_scores *prompt; // NULL: not asked for
};

// How it ends.
struct stream_ending {
    const char *cancel_why; // finish_detail of a cancel
    rn_finish finish;       // set when the last choice ends, carried out after absorb
    char detail[sizeof((rn_error *)0)->text];
    rn_status status; // RN_FINISH_ERROR: what went wrong
    rn_usage usage;   // the last chunk points to these
    rn_timing timing;
};

struct rn_stream {
    rn_engine *engine;
    struct model_slot *model_slot;
    rn_session *session;             // NULL: none
    rn_stream *next;                 // engine's list; its lock
    _Atomic enum stream_state state; // the step thread moves it on; ENDED only under the engine's lock
    atomic_bool cancelled, paused;

    // Tokens: the prompt, then those of choice 0.
    int32_t *tokens; // [n_limit + 1]
    int32_t n_prompt, n_tokens;
    int32_t n_limit;    // tokens at which the stream ends with `length`
    bool context_binds; // n_limit is the context, not max_tokens

    struct stream_turn turn;
    struct stream_times time;
    struct stream_prefix prefix;
    struct stream_play play;
    struct stream_text text;
    struct stream_scores scores;
    struct stream_ending end;
    struct { // as of the end of its last step, for other threads
        int32_t n_evaluated, n_generated, n_pages;
    } shown;
    rn_progress_fn progress;
    void *progress_user;
    struct embedding *embed; // what an embedding fills; NULL: the stream is none
    struct answer *answer;   // to a conversation: taken apart by the reader; NULL: the prompt was none
    rn_overflow overflow;
    struct outbox out;
};

struct rn_session {
    rn_engine *engine;
    struct model_slot *model_slot;
    rn_session *next;
    rn_stream *stream;              // the running one; engine's lock
    int32_t *tokens;                // [n_ctx]
    int32_t n_tokens, n_reply_from; // the last stream's tokens begin at n_reply_from
    int32_t seq;                    // -1: its pages were given back; the prefix index may still have them
    uint64_t salt;                  // of seq
    int64_t t_used;
};

// Work that another thread wants done on the step thread, between steps.
struct engine_call {
    void (*fn)(void *ctx);
    void *ctx;
    bool done;
    struct engine_call *next;
};

struct rn_engine {
    struct model_slot model_slots[ENGINE_MAX_MODELS];
    size_t n_model_slots;
    const struct kernel_set *kernels;
    pool *threads;
    rn_engine_options opt;
    log_sink log;
    cpus cpus;
    char cpu_reason[128], threads_reason[160], plan_text[1024];
    // Strategies read fewer logits than this, over all streams of a step, on the step thread: waking
    // the pool would take longer.
    size_t min_parallel_read;
    uint64_t limit_bytes, tables_bytes; // the plan's; of what was allocated before it
    thread step_thread;
    bool thread_started;

    mutex lock;            // guards what follows, and stream.state for readers
    condvar wake, changed; // for the step thread; for threads that wait for it
    bool lock_made, wake_made, changed_made;
    bool stopping, work; // work: something happened since the step thread last looked
    rn_stream *streams;  // queued and running, in order of beginning
    rn_session *sessions;
    struct engine_call *calls, **calls_end;
    int32_t n_queued, n_running;
    bool slots[ENGINE_MAX_STREAMS];   // taken by running streams
    int64_t class_turn[N_PRIORITIES]; // when a stream of the class last began to run
    int64_t t_ended;                  // when a stream last ended while others waited; 0: none waits since
    struct running_median end_gap;    // between such ends
};

// engine_open.c: for tests: an engine whose model slots evaluate with these lms in place of the models' own. They are the engine's
// from here on, also where it does not open.
struct given_lm {
    lm *lm;
    kv *kv;            // its bookkeeping
    int32_t n_scratch; // most scratch nodes of a sequence
};
rn_status engine_open_lms(rn_model *const *models, const struct given_lm *lms, size_t n_models,
                          const rn_engine_options *opt, rn_engine **engine, rn_error *err);

// plan.c: n_ctx, n_kv and sizes of every model slot, or the table that shows why not
rn_status engine_plan(rn_engine *e, rn_error *err);
uint64_t plan_beside_bytes(const rn_engine *e); // beside all model slots
struct lm_config model_slot_config(const rn_engine *e, const struct model_slot *l);
uint64_t model_slot_kv_bytes(const rn_engine *e, const struct model_slot *l); // all pages; once planned
// Room of a stream; n_results is that of all streams of a step together, n_states 0 where the model has no recurrent state.
struct stream_room {
    int32_t n_seqs, n_scratch, n_states, n_results;
};
int32_t model_slot_n_vocab(const struct model_slot *l); // logits of a row
struct stream_room model_slot_room(const rn_engine *e, const struct model_slot *l);
// RN_E_LIMIT: a stream of the strategy of that name needs more than there is room for; the text names what, both
// figures, and what reserves more.
rn_status model_slot_check_needs(const rn_engine *e, const struct model_slot *l, const char *name,
                                 const struct strategy_needs *needs, rn_error *err);
uint64_t model_slot_copied_bytes(const struct model_slot *l); // of weights that were put together from the file's
uint64_t model_slot_state_bytes(const rn_engine *e,
                                const struct model_slot *l); // all slots of recurrent state; once planned

// stream_size.c: what streams take beside keys and values, but for what a request asks for by name
uint64_t stream_waiting_bytes(const struct model_slot *l);
uint64_t stream_running_bytes(const rn_engine *e, const struct model_slot *l);
struct outbox_sizes stream_outbox_sizes(const struct model_slot *l, const rn_request *r, int32_t n_choices,
                                        size_t n_echo);
size_t stream_scratch_numbers(const struct model_slot *l); // of stream_scores.scratch

// scheduler.c
void *engine_step_thread(void *arg);
void engine_wake(rn_engine *e); // with the lock held
void engine_call_wait(rn_engine *e, void (*fn)(void *), void *ctx);
// Rows of the step whose results strategies read, and how many streams' these are: what waking the pool has to be worth.
size_t step_rows_read(const struct model_slot *l, size_t *n_parts);

// step_build.c: the rows of the next step; with the lock held
void round_look(rn_engine *e, struct round *r);
// culprit: the stream that a failure is about.
rn_status step_build(rn_engine *e, struct model_slot *l, struct round *r, rn_stream **culprit, rn_error *err);
// The same of streams of other models that want rows of this one's before their own model steps.
rn_status step_build_helpers(rn_engine *e, struct model_slot *l, struct round *r, rn_stream **culprit, rn_error *err);

// queue.c: who waits, who begins, who makes room; with the lock held
rn_status queue_check(rn_engine *e, const rn_stream *s, rn_error *err); // may one more wait? RN_E_BUSY, RN_E_LIMIT
void queue_add(rn_engine *e, rn_stream *s);
rn_stream *queue_next(rn_engine *e, int64_t now);         // who begins now; NULL: nobody
int32_t queue_position(rn_engine *e, const rn_stream *s); // 1: next
void queue_begin(rn_stream *s, int64_t now);              // it runs from here on
void queue_leave(rn_stream *s);                           // it ends, or (back) goes to the queue again
// Frees keys, values and sequences of a model slot: an idle session's, else a stream is preempted.
// wants: the stream that lacks a sequence, which may be the one that has to wait; NULL: the rows of a step
// lack room. now: the round's time. false: no other stream holds anything there.
bool queue_make_room(rn_engine *e, struct model_slot *l, const rn_stream *wants, int64_t now);

// stream_state.c: what other threads see of a stream and of its engine; with the lock held
void stream_show(rn_stream *s);
void model_slot_show(struct model_slot *l);
void model_slot_count_prefix(struct model_slot *l, const rn_stream *s); // once, when it was looked up

// stream_seqs.c: the sequences of a stream's strategy. Step thread, without the lock
rn_status stream_seqs_create(rn_stream *s, rn_error *err); // any thread; once the stream has its strategy and tokens
void stream_seqs_destroy(rn_stream *s);                    // their memory; they were released
// Its turn: the strategy begins, and the session's sequence becomes the stream's.
rn_status stream_schedule(rn_stream *s, rn_error *err);
// Makes what the strategy declared: sequences that are not there, from what is cached. prefill, or decode where nothing is missing.
// RN_E_LIMIT: other streams hold all sequences of *lacking; what was made so far stays, and it may be called again.
rn_status stream_restore(rn_stream *s, struct model_slot **lacking, rn_error *err);
void stream_suspend(rn_stream *s); // gives all sequences back
void stream_release_main(rn_stream *s, bool keep_for_session);
bool stream_holds(const rn_stream *s, const struct model_slot *l); // has it sequences there?
struct stream_seq *stream_filling(
    const rn_stream *s,
    const struct model_slot *l);                 // whose rows are to be evaluated; NULL: none. l NULL: any
int32_t seq_missing(const struct stream_seq *q); // rows that are declared and not there
void model_slot_fill_slots(rn_engine *e, struct model_slot *own); // once all model slots are loaded
struct model_slot *stream_slot(const rn_stream *s, int32_t slot); // NULL: there is none
// Rows that the strategy proposed for model slot l get the lm's sequences. RN_E_INTERNAL: they break its contract.
rn_status stream_place_rows(rn_stream *s, const struct model_slot *l, struct lm_row *rows, size_t n, rn_error *err);
void stream_note_rows(const struct model_slot *l,
                      const struct stream_rows *part); // they were evaluated, but for those dropped

// stream_choices.c: a stream's answers
rn_status stream_choices_create(rn_stream *s, bool raw_bytes, bool accepts_revisions, rn_error *err);
void stream_choices_destroy(rn_stream *s);
struct emitter stream_emitter(rn_stream *s);    // what its strategy reports to. Step thread
int64_t stream_emitted(const rn_stream *s);     // tokens of all choices
int32_t stream_tokens_left(const rn_stream *s); // that choices which go on may still have
// The stream ends: what choices held back comes out. RN_E_INTERNAL: it does not fit.
rn_status stream_choices_end(rn_stream *s, rn_finish why, const char *detail, rn_error *err);

// stream_run.c: the step thread's side of a stream
void stream_end(rn_stream *s, rn_finish why, const char *detail);
int32_t stream_evaluated(const rn_stream *s); // tokens whose keys and values are there
int32_t stream_prefill_target(const rn_stream *s);
bool stream_reads_prompt(const rn_stream *s); // are results of rows before the prompt's last wanted?

// request.c: checks everything, then makes the stream
// kind, params: the strategy that decodes.
rn_status stream_create(rn_engine *e, const rn_request *req, const struct strategy_kind *kind, const void *params,
                        rn_stream **out, rn_error *err);
// A stream that only evaluates ids, for a strategy of this name: spec is completed with what the engine knows.
rn_status stream_create_reader(rn_engine *e, size_t model, const int32_t *ids, size_t n, const char *strategy_name,
                               const void *params, rn_stream **out, rn_error *err);
void stream_destroy(rn_stream *s);
// stream.c
// The pause between two tokens. RN_E_ARG: the rate is out of range.
rn_status stream_rate_gap(double tokens_per_second, int64_t *gap_ns, rn_error *err);
rn_status stream_submit(rn_stream *s, rn_error *err);
// Waits for a reader's only chunk: how it ended. what: begins the sentence of one that was cancelled.
rn_status stream_read_all(rn_stream *s, const char *what, rn_chunk *last, rn_error *err);

// prompt_scores.c: log-probabilities of a prompt's tokens, as the reader gets them
rn_status prompt_scores_create(rn_stream *s, int32_t n_top, rn_error *err);
void prompt_scores_take(rn_stream *s, int32_t at,
                        const float *logits);        // row `at` of the prompt; the last one completes them
void prompt_scores_destroy(struct prompt_scores *p); // NULL is fine

// embed.c: a text's embedding
void embedding_show(const struct embedding *m, rn_chunk *last);
void embedding_destroy(struct embedding *m); // NULL is fine

// session.c
rn_status session_check_free(rn_session *s, rn_error *err); // RN_E_STATE: it has a stream. Without the lock
// Frees the sequence of the session that was used longest ago, one whose stream is still queued only after the others; its text stays,
// and the prefix index may still serve it. except: not this one, may be NULL. false: no session of the model has a sequence. Step
// thread, with the lock held; session_make_room() takes it.
bool session_release_lru(rn_engine *e, struct model_slot *l, const rn_session *except);
bool session_make_room(rn_engine *e, struct model_slot *l, const rn_session *except);

// chat_request.c: the prompt of a conversation, from where the session goes on; and what takes its answer apart
rn_status stream_make_chat_prompt(rn_stream *s, const rn_request *r, struct id_list *ids, rn_error *err);
// chat_template.c
rn_status model_make_template(const rn_model *m, rn_template **tmpl, rn_error *err);

// model_api.c
bool model_is_end_token(const rn_model *m, int32_t id);
// The bytes of a token; none for a row of the head that the vocabulary does not name, and without a tokenizer.
const char *model_piece(const rn_model *m, int32_t id, bool special, size_t *n);
rn_status model_need_tokenizer(const rn_model *m,
                               rn_error *err); // RN_E_UNSUPPORTED: there is none, or why it is not known

#endif
