// fuzz/fuzz_session_file.c - loads any bytes as a saved session, into an lm whose memory is the toy's: as they are, and with checksums that
// fit, since a forger makes them fit.
#include "base/mem.h"
#include "engine/saved/session_file.h"
#include "session_repair.h"
#include "tests/support/toy_lm.h"
#include "walk_package.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { N_VOCAB = 16, N_CTX = 200 };

static const struct toy_config config = {.n_vocab = N_VOCAB,
                                         .n_ctx = N_CTX,
                                         .n_batch = 8,
                                         .n_want = 8,
                                         .max_seqs = 2,
                                         .n_pages = 8,
                                         .n_groups = 2,
                                         .window = 70,
                                         .nan_token = -1};

// The next row of whatever was restored is evaluated; nobody else finds it.
static void go_on(lm *m, int32_t seq, const int32_t *tokens, int32_t n) {
    struct lm_prefix found;
    if (n < N_CTX) {
        must(lm_step(m, &(struct lm_row){seq, 3, LM_APPEND, LM_WANT_LOGITS}, 1, NULL, NULL) == RN_OK);
        touch(lm_logits(m, 0), N_VOCAB * sizeof(float));
    }
    must(lm_match_tokens(m, NULL, tokens, n, &found, NULL) == RN_OK && found.n == 0);
    lm_seq_free(m, found.seq);
    must(kv_check(toy_lm_kv(m), NULL) == RN_OK);
}

static rn_status restore(struct record_in *in, const struct session_head *h, lm *m, rn_error *err) {
    int32_t tokens[N_CTX], seq = -1;
    rn_status st = h->n_tokens > N_CTX ? fail(err, RN_E_LIMIT, "more tokens than the context")
                                       : session_file_tokens(in, h, N_VOCAB, tokens, err);
    if (st == RN_OK)
        st = lm_seq_restore(m, NULL, lm_token_keys(m, tokens, h->n_positions), h->n_positions, &seq, err);
    for (int32_t p = 0; st == RN_OK && h->n_positions > 0 && p < m->n_parts; p++) {
        const struct lm_part part = lm_part(m, p, h->n_positions);
        uint8_t *bytes = malloc(part.record_bytes);
        st = session_file_part(in, p, &part, err);
        for (int32_t i = part.first; st == RN_OK && i < part.first + part.n; i++) {
            st = record_in_get(in, bytes, err);
            if (st == RN_OK) st = lm_write_record(m, seq, p, i, bytes, err);
        }
        free(bytes);
    }
    if (st == RN_OK) st = record_in_end(in, err);
    if (st == RN_OK) go_on(m, seq, tokens, h->n_positions);
    if (seq >= 0) lm_seq_free(m, seq);
    return st;
}

static void load(const uint8_t *data, size_t n) {
    const long live = mem_live();
    struct record_in in;
    struct session_head h;
    file_in *file = NULL;
    lm *m = NULL;
    char *note = NULL;
    size_t n_note = 0;
    rn_error err = {0};
    must(toy_lm_create(&config, &m, &err) == RN_OK);
    must(file_in_of_bytes("fuzz", data, n, &file, &err) == RN_OK);
    rn_status st = session_file_open(&in, file, &h, &note, &n_note, &err);
    if (st == RN_OK) {
        touch(note, n_note + 1);
        must(strlen(h.model) < sizeof h.model && strlen(h.kv_type) < sizeof h.kv_type);
        st = restore(&in, &h, m, &err);
    }
    must((st == RN_OK) == (err.text[0] == 0));
    mem_free(note);
    file_in_close(file);
    lm_destroy(m);
    must(mem_live() == live);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    uint8_t *forged = malloc(n + 1);
    load(data, n);
    memcpy(forged, data, n);
    session_repair(forged, n);
    if (n >= 32) {
        load(forged, n);
        session_set(forged + 16, n, 8); // and a length that fits
        session_repair(forged, n);
        load(forged, n);
    }
    free(forged);
    return 0;
}
