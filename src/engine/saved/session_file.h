// engine/saved/session_file.h - the layout of a saved session: a head, a note, the tokens, and the records of each part of their
// sequence. docs/sessions.md describes the fields.
//
// Ownership: as record_file.h. Threads: one at a time.
#ifndef RN_ENGINE_SAVED_SESSION_FILE_H
#define RN_ENGINE_SAVED_SESSION_FILE_H

#include "engine/saved/record_file.h"
#include "lm/lm.h"
#include <runnel/saved.h>

#define SESSION_MAX_TOKENS (INT32_MAX / 2) // of any context
#define SESSION_HEAD_BYTES 280

// An adapter that the keys and values were made with.
struct session_adapter {
    uint64_t fingerprint; // adapter_fingerprint()
    float scale;          // finite, not 0
    char name[116];       // printable, terminated
};
#define SESSION_ADAPTER_BYTES 128

struct session_head {
    uint64_t fingerprint;
    int32_t n_tokens, n_positions; // n_positions <= n_tokens
    int32_t page;                  // positions of a page
    bool is_far;                   // rotated with the factors for long texts (docs/rope.md)
    char model[128], architecture[64], arithmetic[32], kv_type[32]; // printable, terminated
    int32_t n_adapters;
    struct session_adapter adapters[LM_MAX_ADAPTERS];
};

// Writes head, note and tokens. If there are positions, the records of each part follow: session_file_write_part(), then
// record_out_put() for each. parts: [n_parts] of n_positions.
rn_status session_file_begin(struct record_out *o, const char *path, const struct session_head *h, const void *note,
                             size_t n_note, const int32_t *tokens, const struct lm_part *parts, int32_t n_parts,
                             rn_error *err);
rn_status session_file_write_part(struct record_out *o, int32_t part, const struct lm_part *p, rn_error *err);

// Checks and reads head and note; *note is freed with mem_free(), NULL on failure.
rn_status session_file_open(struct record_in *in, file_in *file, struct session_head *h, char **note, size_t *n_note,
                            rn_error *err);
// tokens: [h->n_tokens], all below n_vocab on success.
rn_status session_file_tokens(struct record_in *in, const struct session_head *h, int32_t n_vocab, int32_t *tokens,
                              rn_error *err);
// Starts the next part, which must match `want`; record_in_get() then reads each record.
rn_status session_file_part(struct record_in *in, int32_t part, const struct lm_part *want, rn_error *err);

#endif
