// runnel/engine.h - the engine: one step thread, a thread pool for computing, and the KV cache.
#ifndef RUNNEL_ENGINE_H
#define RUNNEL_ENGINE_H

#include <runnel/model.h>

#ifdef __cplusplus
extern "C" {
#endif

// Internally locked: any thread may begin, read and cancel streams.
typedef struct rn_engine rn_engine;
typedef struct rn_session rn_session;

// Element type of keys and values. RN_KV_BF16 has the size of RN_KV_F16 and less precision; it is
// the fastest type for long prompts on processors with AMX.
typedef enum rn_kv_type { RN_KV_F16 = 0, RN_KV_F32 = 1, RN_KV_Q8 = 2, RN_KV_BF16 = 3 } rn_kv_type;

typedef struct rn_engine_options {
    size_t struct_size;
    // 1..64; 0: chosen from CPU affinity, cgroup quota and physical cores.
    int32_t n_threads;
    // Kernel set by name ("ref", "avx2"); NULL: the best one. The library does not read
    // $RUNNEL_CPU.
    const char *cpu;
    // Default RN_KV_F16. Encoders, which have keys and values for the length of a step only, have
    // RN_KV_F32.
    rn_kv_type kv_type;
    // Context length of one stream in tokens; 0: the model's, or the most that fits into memory. A
    // given length that does not fit is refused.
    int32_t n_ctx;
    // Streams that run at once; default 1. Further streams wait in the queue.
    int32_t n_streams;
    // Size of the KV cache in tokens; 0: n_ctx * (n_streams + n_seqs), or the most that fits.
    int64_t n_kv;
    // Most rows (tokens) of a step; 0: 512.
    int32_t n_batch;
    // Most streams in the queue; default 64.
    int32_t n_queue;
    // Most prompt tokens in the queue; 0: four times n_ctx.
    int64_t n_queue_tokens;
    // Longest wait in the queue in milliseconds; then the stream ends with RN_FINISH_ERROR and
    // RN_E_BUSY. 0: no limit (default).
    int32_t queue_wait_ms;
    // Target inter-token latency in milliseconds, 0..60,000. While streams decode, the number of
    // prefill tokens in a step is chosen so that the step takes at most the larger of this time and
    // twice the time of a step without prefill (up to four times, if more streams wait for their
    // first token than are decoding), but at least 4 tokens. 0: 256 prefill tokens (default).
    int32_t target_itl_ms;
    // Memory limit in bytes; 0: what the machine or its cgroup has available.
    uint64_t memory_limit;
    // Bytes that the caller needs for itself, such as a server's connections. Counted in the memory
    // plan. Default 0.
    uint64_t reserved_bytes;
    // Use weights in the file's layout: opens at once and needs no copies, but computes more
    // slowly. The generated text is the same.
    bool no_repack;
    // NULL: no log.
    rn_log_fn log;
    void *log_user;
    // Progress of repacking; NULL: none.
    rn_progress_fn progress;
    void *progress_user;
    // Room reserved for strategies in each stream, in addition to what sampling needs: further
    // sequences (beams, guidance), 0..1,024, and scratch nodes (drafted tokens, trees), 0..4,096,
    // with their pages of the KV cache and their slots of recurrent state. Default 0: drafts use
    // only memory that is free at the moment.
    int32_t n_seqs, n_scratch;
    // Backend by name; NULL: "cpu".
    const char *backend;
    // Name of the arithmetic whose bits are accepted; NULL: "runnel-1" (docs/arithmetic.md). A
    // backend that computes another one is refused unless it is named here.
    const char *arithmetic;
    // Memory for finished answers, in which drafts of later requests look for what followed
    // (rn_request.speculate "suffix", "ngram-cache"): 1 MiB..64 GiB, about 110 bytes for each
    // token. The least recently used answers make room for new ones. 0 (default): none are kept.
    uint64_t output_store_bytes;
    // The model, by its number, that drafts for requests that name "draft" (rn_request.speculate).
    // Default 0: none.
    size_t draft_model;
    // Requests that name no drafters (rn_request.speculate NULL) have none.
    bool no_speculate;
    // The model, by its number, that knows less than those of requests with the strategy
    // "contrastive-decoding" that name none. Default 0: none.
    size_t amateur_model;
    // The model, by its number, that says what texts are worth to requests with the strategy "tree"
    // and the value "model". Default 0: none.
    size_t value_model;
    // Memory for the vectors of pictures (rn_model_add_vision()), of each model that takes them:
    // those of running streams, and those that are kept for later requests with the same pictures.
    // Default 256 MiB.
    uint64_t picture_cache_bytes;
} rn_engine_options;
RN_API void rn_engine_options_init_sized(rn_engine_options *o, size_t struct_size);
static inline void rn_engine_options_init(rn_engine_options *o) {
    rn_engine_options_init_sized(o, sizeof *o);
}

/**
 * Opens an engine for n models: chooses the kernel set, repacks weights, allocates all memory.
 *
 * @param models  owned by the caller; must outlive the engine. A request names one by its index.
 * @param opt     NULL: defaults.
 * @param engine  set on RN_OK, else NULL. Closed with rn_engine_close().
 * @return RN_OK; RN_E_ARG; RN_E_UNSUPPORTED (kernel set not available on this CPU; model without
 *         weights); RN_E_LIMIT (the memory plan does not fit: the text is the plan, item by item);
 *         RN_E_NOMEM; RN_E_CANCELLED (by progress).
 */
RN_API rn_status rn_engine_open(rn_model *const *models, size_t n_models,
                                const rn_engine_options *opt, rn_engine **engine, rn_error *err);
// Frees the engine. All its streams and sessions must have been closed. NULL is fine.
RN_API void rn_engine_close(rn_engine *engine);

// The engine's configuration. Strings live as long as the engine.
typedef struct rn_engine_info {
    size_t struct_size;
    const char *cpu;        // kernel set, "avx2"
    const char *cpu_reason; // why not a higher one
    const char *arithmetic; // name of the arithmetic, which defines every bit: "runnel-1"
    int32_t n_threads;
    const char *threads_reason;
    int32_t n_ctx;
    int64_t n_kv;
    const char *kv_type;
    uint64_t mapped_bytes;   // weights used directly from the file
    uint64_t copied_bytes;   // tensors of a folder that were converted when it was opened
    uint64_t repacked_bytes; // weights repacked into the kernel set's layout
    uint64_t kv_bytes;       // keys, values and recurrent states
    uint64_t kv_bytes_per_token, buffer_bytes, limit_bytes;
    uint64_t other_bytes; // shared by all models: vocabularies, tables, streams, reserved_bytes
    const char *plan;     // the memory plan as a table, lines separated by \n
    bool no_repack;
    // Index of the model whose weights this one shares, because both are the same file; its own
    // index if none. Shared weights are counted there.
    size_t weights_of;
    // Room of each stream: sequences, scratch nodes of a sequence, slots of recurrent state (0: the
    // model has none); and n_results, the most rows of a step whose logits are kept.
    int32_t n_seqs, n_scratch, n_states, n_results;
    const char *backend; // "cpu"
    // Matrices of adapters.
    uint64_t adapter_bytes;
} rn_engine_info;
// Fills *info for one model. Any thread. RN_E_ARG: NULL, struct_size, no such model.
RN_API rn_status rn_engine_get_info(const rn_engine *engine, size_t model, rn_engine_info *info,
                                    rn_error *err);

// An adapter that a stream uses, and how strongly: the adapter's own scale (alpha / rank) is
// multiplied by `scale`. 1: as it was trained; 0: not at all; -RN_MAX_ADAPTER_SCALE ..
// RN_MAX_ADAPTER_SCALE. Never grows.
typedef struct rn_adapter {
    size_t adapter; // index among the model's adapters
    float scale;
} rn_adapter;
#define RN_MAX_ADAPTER_SCALE 1000.0F
#define RN_MAX_ADAPTERS      8 // of one stream, those with a scale of 0 not counted

/**
 * Sets the adapters of streams that name none (rn_request.own_adapters), and of scores, embeddings,
 * rn_observe() and rn_compare(), which begin from now on. At first there are none.
 *
 * @return RN_OK; RN_E_ARG (no such model or adapter, one named twice, a scale out of range);
 *         RN_E_LIMIT (more than RN_MAX_ADAPTERS). Threads: any.
 */
RN_API rn_status rn_engine_set_adapters(rn_engine *engine, size_t model, const rn_adapter *adapters,
                                        size_t n_adapters, rn_error *err);
// The scale that an adapter has there; 0: it is not used. Threads: any.
RN_API float rn_engine_adapter_scale(rn_engine *engine, size_t model, size_t adapter);

// Kinds of memory that an engine uses, all its models together.
typedef enum rn_memory_kind {
    // Weights used directly from the mapped file; with RN_LOAD_READ and RN_LOAD_LOCK the whole
    // file.
    RN_MEMORY_FILE = 0,
    // Tensors of a folder that were converted when it was opened.
    RN_MEMORY_COPIED = 1,
    // Weights repacked into the kernel set's layout. Mapped originals are released from the
    // process.
    RN_MEMORY_REPACKED = 2,
    RN_MEMORY_KV = 3,
    RN_MEMORY_BUFFERS = 4,
    // Vocabularies, tables, streams: all other memory of this library. Its `planned` is 0.
    RN_MEMORY_HEAP = 5,
    RN_MEMORY_ADAPTERS = 6 // matrices of adapters
} rn_memory_kind;
#define RN_N_MEMORY_KINDS   7
#define RN_MAX_MEMORY_KINDS 16 // room in rn_memory: never changes
typedef struct rn_memory {
    size_t struct_size;
    struct {
        uint64_t planned;        // most bytes
        uint64_t resident;       // bytes in memory now: pages count once they have been touched
    } part[RN_MAX_MEMORY_KINDS]; // by rn_memory_kind; kinds of later releases are 0
    uint64_t process_bytes;      // resident size of the whole process; 0: unknown
    uint64_t huge_bytes;         // part of process_bytes in huge pages
} rn_memory;
// Fills *memory. Takes milliseconds. Any thread. RN_E_ARG: NULL, struct_size.
RN_API rn_status rn_engine_get_memory(const rn_engine *engine, rn_memory *memory, rn_error *err);

// Why prompt tokens were not found in the prefix cache (rn_usage.miss has the same for one stream).
typedef enum rn_miss {
    RN_MISS_NONE = 0, // all others were found: the last token is always evaluated
    RN_MISS_EMPTY = 1,
    RN_MISS_DIFFERS = 2,
    RN_MISS_END = 3,
    RN_MISS_WINDOW = 4,
    RN_MISS_STATE = 5,
    RN_MISS_EVICTED = 6,
    RN_MISS_LOGITS = 7 // all rows were evaluated for their results: prompt_logprobs, scores
} rn_miss;
#define RN_N_MISSES     8
#define RN_N_FINISHES   5  // of rn_finish
#define RN_MAX_MISSES   16 // room in rn_engine_stats: never changes
#define RN_MAX_FINISHES 16
RN_API const char *rn_miss_name(rn_miss m); // "differs"

// Counters since the engine was opened, and the state at the end of the last step.
typedef struct rn_engine_stats {
    size_t struct_size;
    // Streams that run; those in the queue, where a preempted stream waits again; and those of the
    // running ones that produce nothing because their reader is slow.
    int32_t n_running, n_queued, n_parked;
    // Pages of the KV cache. Cached pages hold prefixes that can be reused or evicted; the pages
    // that are neither free nor cached are in use.
    int64_t kv_pages, kv_pages_free, kv_pages_cached;
    // The same for slots of recurrent state.
    int64_t states, states_free, states_cached;
    // Steps, rows evaluated in them, and the prefill rows among those.
    uint64_t n_steps, n_rows, n_prompt_rows;
    uint64_t n_evicted_pages, n_preempted;
    // Ended streams, by rn_finish.
    uint64_t n_ended[RN_MAX_FINISHES];
    // Prompt tokens that were looked up in the prefix cache, those that were found there, and the
    // others by rn_miss.
    uint64_t prefix_queries;
    uint64_t prefix_hits;
    uint64_t prefix_misses[RN_MAX_MISSES];
    // Pictures that were encoded, and those whose vectors were there; the bytes of these, with
    // their pixels. Models that share a vision part have the same figures.
    uint64_t pictures_encoded, pictures_reused, picture_bytes;
} rn_engine_stats;
// Fill *stats for all models together, and for one. Any thread; they do not wait for the step in
// progress.
// RN_E_ARG: NULL, struct_size, no such model.
RN_API rn_status rn_engine_get_stats(rn_engine *engine, rn_engine_stats *stats, rn_error *err);
RN_API rn_status rn_engine_get_model_stats(rn_engine *engine, size_t model, rn_engine_stats *stats,
                                           rn_error *err);

// Durations of a model's steps, measured while the engine runs.
typedef struct rn_step_time {
    size_t struct_size;
    double ms;             // a step of n_rows decode rows without prefill; 0: not measured yet
    double prefill_row_ms; // added by each prefill row; 0: not measured yet
} rn_step_time;
/**
 * The measured time of a step.
 *
 * Numbers of rows that did not occur are interpolated: the times never fall with n_rows.
 *
 * @param model   index among the engine's models.
 * @param n_rows  decode rows of the step: one for each stream that decodes, more where tokens are
 * drafted.
 * @param time    filled; the caller sets struct_size.
 * @return RN_OK; RN_E_ARG (NULL, no such model, a struct_size that is too small).
 * Threads: any; does not wait for the step in progress.
 */
RN_API rn_status rn_engine_get_step_time(rn_engine *engine, size_t model, size_t n_rows,
                                         rn_step_time *time, rn_error *err);

/**
 * Opens a session. A session keeps the keys and values of a conversation between turns, so that the
 * next turn evaluates only new tokens.
 *
 * A stream begun with a session continues it: its prompt parts are appended to the session's
 * tokens, and the generated tokens are kept too (after a cancel: those generated so far; after an
 * error the session is as before the stream). A chat (rn_request.chat) is always the whole
 * conversation: it continues from the last point at which the session's content agrees with it, and
 * the session drops what came after that point. A reply keeps the tokens that were sampled, even if
 * its text would be tokenized differently.
 *
 * One stream at a time: RN_E_STATE otherwise.
 *
 * @param session  set on RN_OK, else NULL. Closed with rn_session_close().
 * @return RN_OK; RN_E_ARG (NULL, no such model); RN_E_NOMEM. The functions below return the same,
 *         RN_E_STATE (the session has a running stream) and, to fork, RN_E_LIMIT (running streams
 *         use all sequences).
 */
RN_API rn_status rn_session_open(rn_engine *engine, size_t model, rn_session **session,
                                 rn_error *err);
// Makes a copy that shares all pages of the KV cache. The copy is set on RN_OK, else NULL.
RN_API rn_status rn_session_fork(rn_session *session, rn_session **copy, rn_error *err);
// Drops all tokens after the first n_tokens; none if there are no more than that.
RN_API rn_status rn_session_truncate(rn_session *session, size_t n_tokens, rn_error *err);
// The session's tokens; valid until the next call on this session.
RN_API rn_status rn_session_tokens(rn_session *session, const int32_t **tokens, size_t *n_tokens,
                                   rn_error *err);
// Its stream must have been closed before. NULL is fine.
RN_API void rn_session_close(rn_session *session);

/**
 * Evaluates a text and passes each row of logits to the caller.
 *
 * @param on_row  called once for each row 0..n_ids-1, in order, with the row's logits [n_vocab]
 *                (the distribution of the token after ids[i]), which are valid during the call.
 *                Runs on the engine's thread: it should be quick and must not call runnel. Return
 *                true to abort (RN_E_CANCELLED).
 * @return RN_OK; RN_E_ARG (an id outside the vocabulary, no ids); RN_E_LIMIT (longer than the
 *         context); RN_E_FORMAT (logits that are not finite; names the position); RN_E_NOMEM;
 *         RN_E_CANCELLED.
 */
typedef bool (*rn_score_fn)(void *user, size_t i, const float *logits, int32_t n_vocab);
RN_API rn_status rn_score(rn_engine *engine, size_t model, const int32_t *ids, size_t n_ids,
                          rn_score_fn on_row, void *user, rn_error *err);

/**
 * Evaluates a text with two models of one engine at the same time, to compare their distributions.
 *
 * Other streams wait meanwhile.
 *
 * @param on_row  as in rn_score(), with the rows of both models; n_vocab is the same for both.
 * @return as rn_score(); RN_E_ARG also if the vocabularies differ in size; RN_E_LIMIT also if the
 *         KV cache has no room besides what streams and sessions hold.
 */
typedef bool (*rn_compare_fn)(void *user, size_t i, const float *logits, const float *reference,
                              int32_t n_vocab);
RN_API rn_status rn_compare(rn_engine *engine, size_t model, size_t reference, const int32_t *ids,
                            size_t n_ids, rn_compare_fn on_row, void *user, rn_error *err);

// An input row of a matrix multiplication. Owned by the library, valid during the callback.
typedef struct rn_input {
    size_t struct_size;
    // The matrix's number, the same in every call on this engine, and its tensor's name,
    // "blk.0.attn_q.weight".
    int32_t matrix;
    const char *name;
    // In a tensor with one matrix per expert: which of how many. Otherwise 0 of 1.
    int32_t expert, n_experts;
    // The row: [k].
    const float *x;
    size_t k;
} rn_input;
/**
 * Evaluates a text and passes the input rows of the model's matrices to the caller.
 *
 * Other streams wait meanwhile. The output head is left out.
 *
 * @param on_input called for each matrix and row, and for each expert that the row is routed to:
 *                 for each batch of rows the matrices in the model's order, the rows in order, all
 *                 from one thread, so that sums do not depend on the number of threads. Runs on an
 *                 engine's thread and must not call runnel. Return true to abort (RN_E_CANCELLED).
 * @return RN_OK; RN_E_ARG (an id outside the vocabulary, no ids); RN_E_LIMIT (longer than the
 *         context; no room in the KV cache); RN_E_IO (the model's file shrank); RN_E_CANCELLED.
 */
typedef bool (*rn_input_fn)(void *user, const rn_input *input);
RN_API rn_status rn_observe(rn_engine *engine, size_t model, const int32_t *ids, size_t n_ids,
                            rn_input_fn on_input, void *user, rn_error *err);

#ifdef __cplusplus
}
#endif
#endif
