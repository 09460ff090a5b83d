// engine/saved/session_parts.h - moves the records of a sequence's memory between a file, accessed by the caller's thread, and the lm,
// accessed by the step thread only: a few megabytes at a time, so that streams wait only for short copies.
//
//   session_records_begin(&r, ...);
//   while (session_records_next(&r)) engine_call_wait(e, session_records_read, &r), use r.bytes;    or fill r.bytes, then _write
//   session_records_end(&r);
#ifndef RN_ENGINE_SAVED_SESSION_PARTS_H
#define RN_ENGINE_SAVED_SESSION_PARTS_H

#include "engine/engine.h"
#include "engine/saved/session_file.h"

struct session_records {
    lm *lm;
    int32_t seq, part;
    struct lm_part p;
    int32_t first, n; // bytes holds n records from index `first` on
    int32_t most;
    uint8_t *bytes; // [most][record_bytes]
    rn_status st;   // of the last read or write
    rn_error err;
};
rn_status session_records_begin(struct session_records *r, const struct model_slot *l, int32_t seq, int32_t part,
                                const struct lm_part *p, rn_error *err);
bool session_records_next(struct session_records *r); // advances to the next records; false: none left
void session_records_read(void *r);                   // on the step thread: from the sequence to bytes
void session_records_write(void *r);                  // on the step thread: from bytes to the sequence
void session_records_end(struct session_records *r);

#endif
