// runnel/engine.h - the engine: one step thread, a pool of computing threads, and the memory for keys and values.
#ifndef RUNNEL_ENGINE_H
#define RUNNEL_ENGINE_H

#include <runnel/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rn_engine rn_engine; // internally locked: any thread may begin, read and cancel streams
typedef struct rn_session rn_session;

// BF16: the fastest for long prompts where the processor has tiles for it; coarser than F16, which it is as large as.
typedef enum rn_kv_type { RN_KV_F16 = 0, RN_KV_F32 = 1, RN_KV_Q8 = 2, RN_KV_BF16 = 3 } rn_kv_type;

typedef struct rn_engine_options {
    size_t struct_size;
    int32_t n_threads; // 0: from affinity, cgroup quota and physical cores; 1..64
    const char *cpu; // kernel set by name ("ref", "avx2"); NULL: $RUNNEL_CPU is not read here, the best one is taken
    rn_kv_type kv_type; // default RN_KV_F16
    int32_t n_ctx; // positions of one stream; 0: the model's, or the most that fits. One that does not fit is refused
    int32_t n_streams;      // streams that run at once; default 1. More wait in the queue
    int64_t n_kv;           // positions kept in all; 0: n_ctx * n_streams, or what fits
    int32_t n_batch;        // rows of a step at most; 0: 512
    int32_t n_queue;        // streams that may wait; default 64
    int64_t n_queue_tokens; // tokens of their prompts, together; 0: four times n_ctx
    int32_t
        queue_wait_ms; // longest wait, then the stream ends with RN_FINISH_ERROR and RN_E_BUSY; 0: no limit (default)
    // While streams decode, a step takes in as many rows of prompts as keep it below this, or below twice what the step takes without
    // them (up to four times, where more streams wait for their first token than for their next), whichever is more; 4 rows at least.
    // 0: 256 rows, whatever they take (default). 0..60,000 milliseconds
    int32_t target_itl_ms;
    uint64_t memory_limit; // bytes; 0: what the machine or its cgroup has available
    uint64_t
        reserved_bytes; // bytes that the caller keeps for itself, such as a server's connections: part of the plan. Default 0
    bool
        no_repack; // weights are used as the file has them: opens at once and holds no copies, computes slower. Same text
    rn_log_fn log;
    void *log_user;
    rn_progress_fn progress; // repacking
    void *progress_user;
} rn_engine_options;
RN_API void rn_engine_options_init_sized(rn_engine_options *o, size_t struct_size);
static inline void rn_engine_options_init(rn_engine_options *o) { rn_engine_options_init_sized(o, sizeof *o); }

/**
 * Make an engine for n models: chooses the kernel set, repacks weights, plans all memory.
 *
 * @param models  stay the caller's and must outlive the engine. A request names one by its index.
 * @return RN_OK; RN_E_ARG; RN_E_UNSUPPORTED (CPU set not on this machine; model without weights); RN_E_LIMIT (the plan does not
 *         fit: the text is the table of what was asked and what there is); RN_E_NOMEM; RN_E_CANCELLED.
 */
RN_API rn_status rn_engine_open(rn_model *const *models, size_t n_models, const rn_engine_options *opt,
                                rn_engine **engine, rn_error *err);
// Ends what still runs (finish reason cancelled) and frees everything; streams and sessions must have been closed before.
RN_API void rn_engine_close(rn_engine *engine);

// What the engine chose. Strings live as long as the engine.
typedef struct rn_engine_info {
    size_t struct_size;
    const char *cpu;        // "avx2"
    const char *cpu_reason; // why not a higher one
    const char *arithmetic; // name of the sums that define every bit, "runnel-1"
    int32_t n_threads;
    const char *threads_reason;
    int32_t n_ctx;
    int64_t n_kv;
    const char *kv_type;
    uint64_t mapped_bytes;   // weights used as they lie in the file
    uint64_t copied_bytes;   // rows of a folder put into another order when it was opened
    uint64_t repacked_bytes; // copies in the kernel set's layout
    uint64_t kv_bytes;       // keys and values, and recurrent states
    uint64_t kv_bytes_per_token, buffer_bytes, limit_bytes;
    uint64_t other_bytes; // of the plan, once for all models: vocabularies and tables, streams, reserved_bytes
    const char *plan;     // the table, lines separated by \n
    bool no_repack;
} rn_engine_info;
RN_API rn_status rn_engine_get_info(const rn_engine *engine, size_t model, rn_engine_info *info, rn_error *err);

// Where an engine's memory is, all its models together.
typedef enum rn_memory_kind {
    RN_MEMORY_FILE = 0,   // what is used where the file is mapped; with RN_LOAD_READ and RN_LOAD_LOCK the whole file
    RN_MEMORY_COPIED = 1, // rows of a folder put into another order when it was opened
    RN_MEMORY_REPACKED = 2, // copies in the kernel set's layout. Of what is mapped, the originals leave the process
    RN_MEMORY_KV = 3,
    RN_MEMORY_BUFFERS = 4,
    RN_MEMORY_HEAP =
        5 // vocabularies, tables, streams: whatever else this library holds in the process. It has no plan
} rn_memory_kind;
#define RN_N_MEMORY_KINDS   6
#define RN_MAX_MEMORY_KINDS 16 // room in rn_memory: never changes
typedef struct rn_memory {
    size_t struct_size;
    struct {
        uint64_t planned;        // bytes at most
        uint64_t resident;       // in memory now: pages count once they were touched
    } part[RN_MAX_MEMORY_KINDS]; // by rn_memory_kind; those of later releases are 0 until then
    uint64_t
        process_bytes; // what the system counts for the whole process now, program and libraries included; 0: unknown
    uint64_t huge_bytes; // of these, in huge pages
} rn_memory;
RN_API rn_status rn_engine_get_memory(const rn_engine *engine, rn_memory *memory,
                                      rn_error *err); // takes milliseconds

// Why tokens of a prompt were evaluated: as rn_usage.miss says it of one stream.
typedef enum rn_miss {
    RN_MISS_NONE = 0, // all that could be was taken over: the last row is always evaluated
    RN_MISS_EMPTY = 1,
    RN_MISS_DIFFERS = 2,
    RN_MISS_END = 3,
    RN_MISS_WINDOW = 4,
    RN_MISS_STATE = 5,
    RN_MISS_EVICTED = 6
} rn_miss;
#define RN_N_MISSES     7
#define RN_N_FINISHES   5  // of rn_finish
#define RN_MAX_MISSES   16 // room in rn_engine_stats: never changes
#define RN_MAX_FINISHES 16
RN_API const char *rn_miss_name(rn_miss m); // "differs"

// Counts since the engine was opened, and how things are as of the end of the last step.
typedef struct rn_engine_stats {
    size_t struct_size;
    int32_t n_running, n_queued, n_parked;
    int64_t kv_pages, kv_pages_free, kv_pages_cached; // the rest is in use; cached ones are had for the asking
    int64_t states, states_free, states_cached;       // recurrent states, likewise
    uint64_t n_steps, n_rows, n_prompt_rows;          // steps, their rows, and of these those of prompts
    uint64_t n_evicted_pages, n_preempted;
    uint64_t n_ended[RN_MAX_FINISHES];     // streams by rn_finish
    uint64_t prefix_queries;               // tokens of prompts that were looked up
    uint64_t prefix_hits;                  // of these, those whose keys and values were there
    uint64_t prefix_misses[RN_MAX_MISSES]; // and the others, by why: rn_miss
} rn_engine_stats;
// Of all models together, and of one. Any thread; neither waits for the step in progress.
// RN_E_ARG: NULL, struct_size, no such model.
RN_API rn_status rn_engine_get_stats(rn_engine *engine, rn_engine_stats *stats, rn_error *err);
RN_API rn_status rn_engine_get_model_stats(rn_engine *engine, size_t model, rn_engine_stats *stats, rn_error *err);

/**
 * Sessions keep the keys and values of a conversation between turns, so that the next one evaluates only what is new.
 *
 * A stream begun with a session continues it: its prompt parts come after what the session holds, and what the stream generated is
 * held afterwards (after a cancel: what was made until then; after an error: the session is as before the stream).
 * A chat (rn_request.chat) is always the whole conversation: it goes on from the last place where what the session holds says the
 * same, by content, and the session forgets what came after it. A reply that would be cut into other tokens keeps its own.
 * One stream at a time: RN_E_STATE otherwise.
 */
RN_API rn_status rn_session_open(rn_engine *engine, size_t model, rn_session **session, rn_error *err);
RN_API rn_status rn_session_fork(rn_session *session, rn_session **copy, rn_error *err); // shares all pages
RN_API rn_status rn_session_truncate(rn_session *session, size_t n_tokens,
                                     rn_error *err); // forget all after the first n
// The tokens held; valid until the next call on this session.
RN_API rn_status rn_session_tokens(rn_session *session, const int32_t **tokens, size_t *n_tokens, rn_error *err);
RN_API void rn_session_close(rn_session *session); // NULL is fine; RN_E_STATE cannot be told: close its stream first

/**
 * Evaluate a text and report how probable each of its tokens was.
 *
 * @param on_row  called in order for rows 0..n_ids-1 with the row's logits [n_vocab] (the distribution of the token after ids[i]);
 *                valid during the call. Runs on the engine's thread: be quick, do not call back. true aborts (RN_E_CANCELLED).
 * @return RN_OK; RN_E_ARG (an id outside the vocabulary, none at all); RN_E_LIMIT (longer than the context); RN_E_FORMAT (logits that
 *         are not finite: at which position); RN_E_NOMEM; RN_E_CANCELLED.
 */
typedef bool (*rn_score_fn)(void *user, size_t i, const float *logits, int32_t n_vocab);
RN_API rn_status rn_score(rn_engine *engine, size_t model, const int32_t *ids, size_t n_ids, rn_score_fn on_row,
                          void *user, rn_error *err);

/**
 * Evaluate a text with two models of one engine, in step: how far apart their distributions are.
 *
 * The text is a sequence of its own in each; other streams wait meanwhile.
 *
 * @param on_row  as in rn_score(), with the rows of both models; n_vocab is that of both.
 * @return as rn_score(); RN_E_ARG also when the vocabularies are not of one size; RN_E_LIMIT also when there is no room beside what
 *         streams and sessions hold.
 */
typedef bool (*rn_compare_fn)(void *user, size_t i, const float *logits, const float *reference, int32_t n_vocab);
RN_API rn_status rn_compare(rn_engine *engine, size_t model, size_t reference, const int32_t *ids, size_t n_ids,
                            rn_compare_fn on_row, void *user, rn_error *err);

/** What a matrix is multiplied with: the library's, valid during the call. */
typedef struct rn_input {
    size_t struct_size;
    int32_t matrix;            /**< its number, the same in every call on this engine */
    const char *name;          /**< its tensor's: "blk.0.attn_q.weight" */
    int32_t expert, n_experts; /**< of a tensor with a matrix for each expert; 0 of 1: one for all rows */
    const float *x;            /**< the row [k] */
    size_t k;
} rn_input;
/**
 * Evaluate a text and look at what the model's matrices are multiplied with.
 *
 * The text is a sequence of its own; other streams wait meanwhile. The matrix of the head is left out.
 *
 * @param on_input called for each matrix and row, and for each expert that the row goes to. Matrices come in the model's order for
 *                 each batch of rows, rows in order, all from one thread: sums over them do not depend on the number of threads.
 *                 Runs on an engine's thread: do not call back. true aborts (RN_E_CANCELLED).
 * @return RN_OK; RN_E_ARG (an id outside the vocabulary, none at all); RN_E_LIMIT (longer than the context; no room beside what
 *         streams and sessions hold); RN_E_IO (the model's file shrank); RN_E_CANCELLED.
 */
typedef bool (*rn_input_fn)(void *user, const rn_input *input);
RN_API rn_status rn_observe(rn_engine *engine, size_t model, const int32_t *ids, size_t n_ids, rn_input_fn on_input,
                            void *user, rn_error *err);

#ifdef __cplusplus
}
#endif
#endif
