// lm/lm.h - the interface between models and strategies: rows in, logits out, operations on
// sequences.
//
// Ownership: made by lm_real_create(), freed by lm_destroy(). Threads: one at a time (the step
// thread).
// Bits: what a row gives depends on its prefix alone, never on other requests in the batch, on how
// the prefix was cut into steps, on forks, truncations, scratch trees or cache hits (docs/design.md
// section 6).
#ifndef RN_LM_LM_H
#define RN_LM_LM_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lm lm;

// Results: the logits, the hidden state after the final norm, the residual stream after each tapped
// layer (struct lm.n_taps).
enum {
    LM_WANT_LOGITS = 1,
    LM_WANT_HIDDEN = 2,
    LM_WANT_TAPS = 8,
    LM_WANT_RESULTS = LM_WANT_LOGITS | LM_WANT_HIDDEN | LM_WANT_TAPS
};
// No result: keep the model's recurrent state after this row, as memory allows, for a prefix or a
// truncation that ends there. Of a sequence's rows in a step the last request counts; scratch rows
// do not. Models without recurrence find every length anyway.
enum { LM_WANT_STATE = 4 };
// No result: the row is left out where there is no room for it (pages, slots of state, scratch
// nodes, places for results, n_ctx), and with it all later rows of its sequence in the step, which
// must be optional too. Rows that are not optional go first. Of the states that are kept for later
// prompts, half make way for optional rows.
enum { LM_OPTIONAL = 16 };
enum { LM_APPEND = -2, LM_ROOT = -1 }; // parents that are no scratch node

#define LM_ALL_ROWS SIZE_MAX // a step failed, and not because of one row

// What a row has besides its token: most rows have none of it.
struct lm_input {
    // [lm.n_vector], replaces the token's embedding or is added to it, after the embedding's own
    // scale; a draft head (model_build_part()) reads it together with the token. NULL: none. Read
    // during lm_step() only.
    const float *vector;
    bool adds; // the vector is added; else the token only has to be a valid one
    // Identifies the vector's content, and in a span the whole span's and the row's place in it:
    // equal keys share cached prefixes. Unused in rows without a vector that see up to their own
    // position.
    uint64_t key;
    bool has_coord; // else every rope coordinate of the row is its position
    // rope coordinates (time, height, width); attention and prefixes still go by the position
    int32_t coord[3];
    // Last position that the row attends to, not before its own; -1: its own. All rows up to it are
    // there at the end of the step, or the step is refused. A sequence should not be cut inside a
    // span: the rows before the cut have attended to those after it.
    int32_t see_to;
    // In layers whose rows have areas it attends to positions [area_first, area_end) instead, its own among them, all there at the end of the step;
    // area_end 0: it has no area. The key tells it, too.
    int32_t area_first, area_end;
    int32_t kind; // of a text of a pair: 0 the first, 1 the second; below lm.n_row_kinds, or 0. The key says it, too
};

struct lm_row {
    int32_t seq;
    int32_t token; // 0..n_tokens-1
    // LM_APPEND: becomes the sequence's next position. LM_ROOT: a scratch child of the last
    // position. k >= 0: a scratch child of node k of this sequence (made in an earlier step or an
    // earlier row of this one).
    int32_t parent;
    uint32_t want;                // of LM_WANT_*
    const struct lm_input *input; // NULL: the token alone. Read during lm_step() only
};

// The adapters that rows of a sequence go through. Equal sets are equal lists: ascending numbers, no
// scale of 0 (lm_adapters_add()).
struct lm_adapter {
    int32_t adapter; // 0..n_adapters-1
    float scale;     // of the adapter's own
};
enum { LM_MAX_ADAPTERS = 8 }; // of a sequence
struct lm_adapters {
    int32_t n;
    struct lm_adapter of[LM_MAX_ADAPTERS];
};

// What a sequence is made for; settled when it is made, the same for its forks. Only sequences of
// equal specs share prefixes.
struct lm_seq_spec {
    // Most positions that it may come to hold; 0: few. Some models use other rotary frequencies for
    // long texts (docs/rope.md).
    int32_t n_most;
    uint64_t salt; // keeps the prefixes of one client from others; 0: shared by all who have 0
    struct lm_adapters adapters;
    bool whole_pages; // match_prefix: only whole pages are found (kv_match_pages())
};

// Why a cached prefix ended where it did. The numbers are those of rn_miss and enum kv_miss.
enum lm_miss {
    LM_MISS_NONE,    // all of it was found
    LM_MISS_EMPTY,   // nothing cached begins with this key
    LM_MISS_DIFFERS, // the cached text continues with another key
    LM_MISS_END,     // the cached text ends, or its continuation was evicted
    LM_MISS_WINDOW,  // keys of an attention window are gone
    LM_MISS_STATE    // no recurrent state was kept further on
};

// Why a prefix was not found whole; speaks of position lm_prefix.n.
struct lm_prefix {
    int32_t seq, n; // the new sequence, and how many rows it holds already
    enum lm_miss miss;
};

// What a sequence's memory is made of, for files: so many parts, each of records of one size. Of a
// sequence of so many positions the part has the records first .. first + n - 1; other records are
// never read.
struct lm_part {
    size_t record_bytes;
    int32_t first, n;
};
enum { LM_MAX_PARTS = 8 };

struct lm_ops {
    const char *name;
    void (*destroy)(lm *m);
    rn_status (*step)(lm *m, const struct lm_row *rows, size_t n, size_t *failed_row, rn_error *err);
    const float *(*logits)(lm *m, size_t row);
    const float *(*hidden)(lm *m, size_t row);
    rn_status (*seq_new)(lm *m, const struct lm_seq_spec *spec, int32_t *seq, rn_error *err);
    rn_status (*seq_fork)(lm *m, int32_t seq, int32_t *out, rn_error *err);
    void (*seq_free)(lm *m, int32_t seq);
    int32_t (*seq_len)(const lm *m, int32_t seq);
    int32_t (*scratch_room)(const lm *m, int32_t seq, const char **why);
    rn_status (*keep)(lm *m, int32_t seq, const int32_t *path, int32_t n, rn_error *err);
    int32_t (*truncate)(lm *m, int32_t seq, int32_t n);
    rn_status (*match_prefix)(lm *m, const struct lm_seq_spec *spec, const uint64_t *keys, int32_t n,
                              struct lm_prefix *out, rn_error *err);
    bool (*seq_fits)(const lm *m, int32_t seq, const struct lm_seq_spec *spec);
    const float *(*rank)(lm *m, size_t row);           // NULL: n_rank is 0
    const float *(*tap)(lm *m, size_t row, int32_t k); // NULL: n_taps is 0
    struct lm_part (*part)(const lm *m, int32_t part, int32_t n);
    rn_status (*seq_restore)(lm *m, const struct lm_seq_spec *spec, const uint64_t *keys, int32_t n, int32_t *seq,
                             rn_error *err);
    rn_status (*read_record)(lm *m, int32_t seq, int32_t part, int32_t record, uint8_t *out, rn_error *err);
    rn_status (*write_record)(lm *m, int32_t seq, int32_t part, int32_t record, const uint8_t *bytes, rn_error *err);
};
struct lm {
    const struct lm_ops *ops;
    int32_t n_vocab, n_embd;
    // Rows have tokens 0..n_tokens-1: n_vocab, except in parts, whose rows have the base's tokens.
    int32_t n_tokens;
    // [n_vocab] of a draft head with fewer tokens than its base model: the base's token of each
    // logit, ascending. NULL: logit i is of token i.
    const int32_t *token_map;
    int32_t n_vector;    // numbers of an input vector; 0: rows cannot have one
    int32_t n_row_kinds; // that rows may be of (BERT's token types); 0: one
    int32_t n_rank;      // scores of a reranker's head; 0: it has none
    int32_t n_ctx;       // longest sequence
    int32_t n_batch;     // most rows of a step
    int32_t n_want;      // most rows of a step whose logits or hidden state are wanted
    int32_t n_logits;    // most of these whose logits are
    int32_t n_parts;     // of a sequence's memory, at most LM_MAX_PARTS
    int32_t n_adapters;  // that a sequence may name; 0: none are loaded
    int32_t n_taps;      // layers whose residual stream rows can have; 0: none
    // Room that lm_take_room() makes and lm_free_room() frees.
    uint64_t *keys;      // [n_ctx] for the row keys of a lookup, see lm_match_tokens()
    struct lm_row *kept; // [n_batch] rows of a step of which some were dropped
    int32_t *place;      // [n_batch] of each row of that step among these, -1: dropped
    size_t n_dropped;    // of the last step
};

// Evaluates all rows in one batch and appends their keys and values, or goes on from their states.
// All or nothing: on failure no sequence has changed. RN_E_LIMIT: no memory for the keys, values or
// state of rows[*failed_row], or its sequence is at n_ctx: the caller may free or park a sequence
// and try again. failed_row: NULL allowed. A backend that fails gives its own error, any but
// RN_E_LIMIT. *failed_row is then the row whose sequence's last page could not be copied, or
// LM_ALL_ROWS where the batch could not be run or its results not fetched: sequences of the step
// are as they were before, but those of a model with recurrent states hold nothing after a batch
// that was not run. The step may be tried again.
rn_status lm_step(lm *m, const struct lm_row *rows, size_t n, size_t *failed_row, rn_error *err);
// Was the optional row of the last step left out? It has no results, and its sequence is as if it
// had not been there.
static inline bool lm_row_was_dropped(const lm *m, size_t row) { return m->n_dropped > 0 && m->place[row] < 0; }
// For the functions below: where the lm has the row's results.
static inline size_t lm_place(const lm *m, size_t row) { return m->n_dropped > 0 ? (size_t)m->place[row] : row; }
// [n_vocab] logits / [n_embd] hidden state after the final norm of a row of the last step that
// wanted them; valid until the next step. Rows whose logits are not wanted do not pay for the head.
static inline const float *lm_logits(lm *m, size_t row) { return m->ops->logits(m, lm_place(m, row)); }
static inline const float *lm_hidden(lm *m, size_t row) { return m->ops->hidden(m, lm_place(m, row)); }
// [n_rank] of a row that wanted its hidden state or logits, as above; NULL also where n_rank is 0.
static inline const float *lm_rank(lm *m, size_t row) {
    return m->ops->rank ? m->ops->rank(m, lm_place(m, row)) : NULL;
}
// [n_embd] residual stream after tapped layer k, 0..n_taps-1, of a row that wanted taps; valid
// until the next step.
static inline const float *lm_tap(lm *m, size_t row, int32_t k) {
    return m->ops->tap ? m->ops->tap(m, lm_place(m, row), k) : NULL;
}

// An empty sequence. spec NULL: all zeros. RN_E_LIMIT: all sequences are in use. RN_E_UNSUPPORTED:
// no such adapter.
static inline rn_status lm_seq_new(lm *m, const struct lm_seq_spec *spec, int32_t *seq, rn_error *err) {
    return m->ops->seq_new(m, spec ? spec : &(struct lm_seq_spec){0}, seq, err);
}
// Would a sequence made for spec hold what this one holds? If not, it cannot be continued under
// spec.
static inline bool lm_seq_fits(const lm *m, int32_t seq, const struct lm_seq_spec *spec) {
    return m->ops->seq_fits(m, seq, spec);
}
static inline rn_status lm_seq_fork(lm *m, int32_t seq, int32_t *out, rn_error *err) {
    return m->ops->seq_fork(m, seq, out, err);
}
static inline void lm_seq_free(lm *m, int32_t seq) { m->ops->seq_free(m, seq); }
static inline int32_t lm_seq_len(const lm *m, int32_t seq) { return m->ops->seq_len(m, seq); }
// How many more scratch nodes the sequence could have now, if no other row of the step took pages
// or slots; *why (NULL allowed) is the limit that is reached first: "nodes", "context", "pages" or
// "states" (a node of a recurrent model has a slot of state of its own).
static inline int32_t lm_scratch_room(const lm *m, int32_t seq, const char **why) {
    return m->ops->scratch_room(m, seq, why);
}
// Scratch nodes of a sequence are numbered from 0 in the order of their rows since the last
// lm_keep(). Commits path[0..n), root first; drops the rest. n = 0 drops the whole tree. A backend
// that cannot copy pages fails it: the whole tree is dropped then.
static inline rn_status lm_keep(lm *m, int32_t seq, const int32_t *path, int32_t n, rn_error *err) {
    return m->ops->keep(m, seq, path, n, err);
}
// Cut to the longest restorable length <= n, which is returned; the caller evaluates the rest
// again. With recurrent layers that is where the sequence stands, a place where a state was kept,
// or 0.
static inline int32_t lm_truncate(lm *m, int32_t seq, int32_t n) { return m->ops->truncate(m, seq, n); }
// A row's key in the prefix index: a token's id, or with the top bit set a hash of all that the
// row's results depend on.
static inline uint64_t lm_token_key(int32_t token) { return (uint64_t)(uint32_t)token; }
uint64_t lm_row_key(const struct lm_row *row);
// m->keys, filled with the keys of the first n_ctx of n tokens; valid until the next call of a
// function that takes keys.
const uint64_t *lm_token_keys(lm *m, const int32_t *tokens, int32_t n);
// A new sequence that begins with the longest cached prefix of the rows with these keys, in
// sequences of the same spec (NULL: all zeros). keys may be m->keys. Errors: as lm_seq_new().
static inline rn_status lm_match_prefix(lm *m, const struct lm_seq_spec *spec, const uint64_t *keys, int32_t n,
                                        struct lm_prefix *out, rn_error *err) {
    return m->ops->match_prefix(m, spec ? spec : &(struct lm_seq_spec){0}, keys, n, out, err);
}
static inline rn_status lm_match_tokens(lm *m, const struct lm_seq_spec *spec, const int32_t *tokens, int32_t n,
                                        struct lm_prefix *out, rn_error *err) {
    return lm_match_prefix(m, spec, lm_token_keys(m, tokens, n), n, out, err);
}
// Part 0..n_parts-1 of a sequence of n positions; the same for the same model, type of keys and
// values, and arithmetic.
static inline struct lm_part lm_part(const lm *m, int32_t part, int32_t n) { return m->ops->part(m, part, n); }
// A sequence of n positions with these row keys (possibly m->keys), whose records the caller writes
// before its next row: all those of all parts. It is private until it is cut to nothing: neither it
// nor what goes on from it serves a prefix, because what is written may be a stranger's. All or
// nothing. RN_E_LIMIT: no memory for it, or longer than n_ctx. Other errors: as lm_seq_new().
static inline rn_status lm_seq_restore(lm *m, const struct lm_seq_spec *spec, const uint64_t *keys, int32_t n,
                                       int32_t *seq, rn_error *err) {
    return m->ops->seq_restore(m, spec ? spec : &(struct lm_seq_spec){0}, keys, n, seq, err);
}
// A record of the sequence as it is now, record_bytes of its part; what of it belongs to no
// position is zeros. A failure is the backend's: pages that are elsewhere and cannot be reached. It
// leaves `out`, or the record to be written, undefined.
static inline rn_status lm_read_record(lm *m, int32_t seq, int32_t part, int32_t record, uint8_t *out,
                                       rn_error *err) {
    return m->ops->read_record(m, seq, part, record, out, err);
}
static inline rn_status lm_write_record(lm *m, int32_t seq, int32_t part, int32_t record, const uint8_t *bytes,
                                        rn_error *err) {
    return m->ops->write_record(m, seq, part, record, bytes, err);
}
// Adds an adapter in its place; a scale of 0 adds nothing. Scales are finite. RN_E_ARG: it is in the
// list already; RN_E_LIMIT: there are LM_MAX_ADAPTERS.
rn_status lm_adapters_add(struct lm_adapters *list, int32_t adapter, float scale, rn_error *err);
static inline void lm_destroy(lm *m) {
    if (m) m->ops->destroy(m);
}

// For implementations. keys, kept and place of m, whose numbers are there: false where there is no
// memory.
bool lm_take_room(lm *m);
void lm_free_room(lm *m);
// The key of a sequence's first row. What a text begins with decides who shares it.
uint64_t lm_first_key(uint64_t key, const struct lm_seq_spec *spec);
bool lm_shares_prefixes(const struct lm_seq_spec *a, const struct lm_seq_spec *b);

#endif
