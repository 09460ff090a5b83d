// fuzz/fuzz_batch.c - a packed batch from anybody: an error, or a batch of which nothing lies outside of what there is, and which packs to the
// same bytes.
#include "backend/batch_pack.h"
#include "tests/support/batch_sample.h"
#include <stdlib.h>
#include <string.h>

static void must(bool ok) {
    if (!ok) abort();
}

static void look_at_row(const struct batch *b, const struct batch_row *r) {
    const struct batch_seq *q = &b->seqs[r->seq];
    float sum = 0;
    for (int i = 0; r->vector && i < SAMPLE_VECTOR; i++) sum += r->vector[i];
    must(r->token >= 0 && r->token < 100 && (sum < 0 || sum >= 0 || sum != sum)); // all of the vector was read
    for (int g = 0; g < 2; g++) {
        must(r->store[g].page < sample_sizes.n_pages[g]);
        for (int32_t i = 0; r->path[g] && i <= r->pos - q->n_committed; i++)
            must(r->path[g][i].page >= 0 && r->path[g][i].page < sample_sizes.n_pages[g] &&
                 r->path[g][i].slot < KV_PAGE);
        for (int32_t i = 0; i < (q->n_committed + KV_PAGE - 1) / KV_PAGE; i++)
            must(q->pages[g][i] >= KV_NONE && q->pages[g][i] < sample_sizes.n_pages[g]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct batch_unpacked u = {0};
    if (batch_unpack(data, size, &sample_program, &sample_sizes, &u, NULL) == RN_OK) {
        for (size_t i = 0; i < u.batch.n_rows; i++) look_at_row(&u.batch, &u.batch.rows[i]);
        for (size_t i = 0; i < u.batch.n_wanted; i++) must((size_t)u.batch.wanted[i] < u.batch.n_rows);
        uint8_t *again = malloc(size);
        must(again && batch_packed_bytes(&u.batch, &sample_program) == size);
        batch_pack(&u.batch, &sample_program, again);
        must(memcmp(again, data, size) == 0);
        free(again);
    }
    batch_unpacked_free(&u);
    return 0;
}
