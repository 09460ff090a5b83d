// engine/saved/session_parts.c - records of a sequence's memory, a few megabytes at a time.
#include "engine/saved/session_parts.h"
#include "base/checked.h"
#include "base/mem.h"

enum { BYTES_AT_ONCE = 4 << 20 };

rn_status session_records_begin(struct session_records *r, const struct model_slot *l, int32_t seq, int32_t part,
                                const struct lm_part *p, rn_error *err) {
    size_t n_bytes;
    *r = (struct session_records){.lm = l->lm, .seq = seq, .part = part, .p = *p, .first = p->first};
    r->most = p->record_bytes < BYTES_AT_ONCE ? (int32_t)(BYTES_AT_ONCE / (p->record_bytes + 1)) : 1;
    if (r->most > p->n) r->most = p->n;
    if (r->most == 0) return RN_OK;
    if (!size_mul((size_t)r->most, p->record_bytes, &n_bytes) || !(r->bytes = mem_alloc(n_bytes)))
        return fail(err, RN_E_NOMEM, "session: out of memory for %d records of %zu bytes", r->most, p->record_bytes);
    return RN_OK;
}

bool session_records_next(struct session_records *r) {
    r->first += r->n;
    const int32_t left = r->p.first + r->p.n - r->first;
    r->n = left < r->most ? left : r->most;
    return r->n > 0;
}

void session_records_read(void *ctx) {
    struct session_records *r = ctx;
    for (int32_t i = 0; r->st == RN_OK && i < r->n; i++)
        r->st =
            lm_read_record(r->lm, r->seq, r->part, r->first + i, r->bytes + (size_t)i * r->p.record_bytes, &r->err);
}

void session_records_write(void *ctx) {
    struct session_records *r = ctx;
    for (int32_t i = 0; r->st == RN_OK && i < r->n; i++)
        r->st =
            lm_write_record(r->lm, r->seq, r->part, r->first + i, r->bytes + (size_t)i * r->p.record_bytes, &r->err);
}

void session_records_end(struct session_records *r) { mem_free(r->bytes); }
