// lm/lm_kv.h - the sequences of an lm whose pages and states kv/ manages: the functions of struct lm_ops that need no backend. The real
// lm is built on it, and so is the toy model of the tests.
//
// Ownership: lm_kv_create() / lm_kv_free(), by the lm that contains it. Threads: one at a time.
#ifndef RN_LM_LM_KV_H
#define RN_LM_LM_KV_H

#include "kv/kv.h"
#include "lm/lm.h"

struct lm_kv {
    lm lm; // first: callers hold a pointer to it
    kv *kv;
    int32_t n_groups; // of pages; part n_groups of a sequence is its state
    // Sequences made for more positions than this are rotated by the frequencies for long texts; 0: the model has none.
    int32_t n_near;
    struct lm_seq_spec *specs; // [max_seqs] of sequences that are in use
};

// m->lm and m->n_near are set before. Errors: those of kv_create(); RN_E_NOMEM. lm_kv_free() also after a failure.
rn_status lm_kv_create(struct lm_kv *m, const struct kv_config *c, kv_copy_fn copy, void *user, rn_error *err);
void lm_kv_free(struct lm_kv *m);

bool lm_kv_is_far(const struct lm_kv *m, const struct lm_seq_spec *spec);

// RN_E_ARG: no such token, sequence or parent.
rn_status lm_kv_check_row(const struct lm_kv *m, const struct lm_row *row, rn_error *err);
// Adds a row that was checked to its sequence, or to the sequence's scratch tree. *pos: its position; *node: its scratch node, KV_NONE
// for an appended row. Errors: as kv_append() and kv_scratch_add().
rn_status lm_kv_add_row(struct lm_kv *m, const struct lm_row *row, int32_t *pos, int32_t *node, rn_error *err);
// The state that such a row goes on from and the one it leaves, after kv_place_states().
int32_t lm_kv_state_from(const struct lm_kv *m, int32_t seq, int32_t pos, int32_t node);
int32_t lm_kv_state_to(const struct lm_kv *m, int32_t seq, int32_t pos, int32_t node);

// A record of a sequence as a backend names it.
struct lm_kv_record {
    int32_t group, page; // KV_STATE and a slot of state, or a group and its page
    int32_t n;           // positions that the page holds
};
struct lm_kv_record lm_kv_record(const struct lm_kv *m, int32_t seq, int32_t part, int32_t record);
// For lm_ops.part: where records of this part have this many bytes; 0: there are none.
struct lm_part lm_kv_part(const struct lm_kv *m, int32_t part, int32_t n, size_t record_bytes);

// For struct lm_ops.
rn_status lm_kv_seq_new(lm *m, const struct lm_seq_spec *spec, int32_t *seq, rn_error *err);
rn_status lm_kv_seq_fork(lm *m, int32_t seq, int32_t *out, rn_error *err);
void lm_kv_seq_free(lm *m, int32_t seq);
int32_t lm_kv_seq_len(const lm *m, int32_t seq);
bool lm_kv_seq_fits(const lm *m, int32_t seq, const struct lm_seq_spec *spec);
int32_t lm_kv_scratch_room(const lm *m, int32_t seq, const char **why);
rn_status lm_kv_keep(lm *m, int32_t seq, const int32_t *path, int32_t n, rn_error *err);
int32_t lm_kv_truncate(lm *m, int32_t seq, int32_t n);
rn_status lm_kv_match_prefix(lm *m, const struct lm_seq_spec *spec, const uint64_t *keys, int32_t n,
                             struct lm_prefix *out, rn_error *err);
rn_status lm_kv_seq_restore(lm *m, const struct lm_seq_spec *spec, const uint64_t *keys, int32_t n, int32_t *seq,
                            rn_error *err);
#define LM_KV_OPS                                                                                                    \
    .seq_new = lm_kv_seq_new, .seq_fork = lm_kv_seq_fork, .seq_free = lm_kv_seq_free, .seq_len = lm_kv_seq_len,      \
    .seq_fits = lm_kv_seq_fits, .scratch_room = lm_kv_scratch_room, .keep = lm_kv_keep, .truncate = lm_kv_truncate,  \
    .match_prefix = lm_kv_match_prefix, .seq_restore = lm_kv_seq_restore

#endif
