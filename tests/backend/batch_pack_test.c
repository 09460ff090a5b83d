// tests/backend/batch_pack_test.c - batches as bytes: what comes back is what went in, and no byte that is wrong gets through.
#include "backend/batch_pack.h"
#include "tests/check.h"
#include "tests/support/batch_sample.h"
#include <stdlib.h>
#include <string.h>

static uint8_t *pack(const struct batch *b, size_t *n) {
    *n = batch_packed_bytes(b, &sample_program);
    uint8_t *bytes = malloc(*n);
    if (!bytes) abort();
    batch_pack(b, &sample_program, bytes);
    return bytes;
}

static void same_row(const struct batch_row *a, const struct batch_row *b) {
    CHECK(a->token == b->token && a->pos == b->pos && a->seq == b->seq && a->see_to == b->see_to &&
          a->adds == b->adds && a->area_first == b->area_first && a->area_end == b->area_end);
    CHECK_MEM(a->coord, b->coord, sizeof a->coord);
    CHECK_MEM(a->store, b->store, 2 * sizeof *a->store);
    CHECK(a->state.from == b->state.from && a->state.to == b->state.to);
    if (CHECK((a->vector == NULL) == (b->vector == NULL)) && a->vector)
        CHECK_MEM(a->vector, b->vector, SAMPLE_VECTOR * sizeof *a->vector);
    for (int g = 0; g < 2; g++)
        if (CHECK((a->path[g] == NULL) == (b->path[g] == NULL)) && a->path[g])
            CHECK_MEM(a->path[g], b->path[g], 2 * sizeof *a->path[g]);
}

TEST(a_batch_comes_back_as_it_went_in) {
    struct batch_sample s;
    struct batch_unpacked u = {0};
    rn_error err = {0};
    size_t n;
    sample_make(&s);
    uint8_t *bytes = pack(&s.batch, &n);
    for (int again = 0; again < 2; again++) { // into the memory of the one before
        if (!CHECK_OK(batch_unpack(bytes, n, &sample_program, &sample_sizes, &u, &err), &err)) break;
        CHECK(u.batch.n_rows == SAMPLE_ROWS && u.batch.n_wanted == 3 && u.batch.n_logits == 2);
        CHECK_MEM(u.batch.wanted, s.batch.wanted, 3 * sizeof *u.batch.wanted);
        for (size_t i = 0; i < SAMPLE_ROWS; i++) same_row(&u.batch.rows[i], &s.rows[i]);
        for (size_t i = 0; i < 2; i++) {
            const struct batch_seq *a = &u.batch.seqs[i], *b = &s.seqs[i];
            CHECK(a->n_committed == b->n_committed && a->is_far == b->is_far && a->n_adapters == b->n_adapters);
            for (int32_t k = 0; k < a->n_adapters && k < b->n_adapters; k++)
                CHECK(a->adapters[k].adapter == b->adapters[k].adapter &&
                      a->adapters[k].scale == b->adapters[k].scale);
            for (int g = 0; g < 2; g++) CHECK_MEM(a->pages[g], b->pages[g], (i ? 1 : 4) * sizeof(int32_t));
        }
        uint8_t *twice = malloc(n);
        CHECK_INT(batch_packed_bytes(&u.batch, &sample_program), n);
        batch_pack(&u.batch, &sample_program, twice);
        CHECK_MEM(twice, bytes, n);
        free(twice);
    }
    free(bytes);
    batch_unpacked_free(&u);
}

TEST(a_batch_that_is_cut_anywhere_or_goes_on_is_refused) {
    struct batch_sample s;
    struct batch_unpacked u = {0};
    size_t n;
    sample_make(&s);
    uint8_t *bytes = pack(&s.batch, &n), *longer = malloc(n + 1);
    memcpy(longer, bytes, n);
    for (size_t i = 0; i <= n + 1; i++) {
        uint8_t *exact = malloc(i ? i : 1); // so that a read past the end is one past the allocation
        rn_error err = {0};
        memcpy(exact, longer, i);
        check_note("%zu of %zu bytes", i, n);
        if (i == n)
            CHECK_OK(batch_unpack(exact, i, &sample_program, &sample_sizes, &u, &err), &err);
        else if (CHECK_FAILS(batch_unpack(exact, i, &sample_program, &sample_sizes, &u, &err), RN_E_FORMAT, &err))
            CHECK_INT(u.batch.n_rows, 0);
        free(exact);
    }
    free(longer);
    free(bytes);
    batch_unpacked_free(&u);
}

// Every way in which a batch can name what is not there.
TEST(what_a_backend_would_follow_is_checked) {
    enum {
        TOKEN,
        NEGATIVE_TOKEN,
        POS,
        PATH_POS,
        SEE_TO,
        AREA,
        AREA_FIRST,
        STORE_PAGE,
        STORE_SLOT,
        PAGE,
        MISSING,
        PATH,
        FROM,
        TO,
        WANTED,
        ORDER,
        TWICE,
        N_KINDS
    };
    static const char *const texts[N_KINDS] = {
        [TOKEN] = "batch: token of row 4: 100",
        [NEGATIVE_TOKEN] = "batch: token of row 4: -1",
        [POS] = "batch: position of row 4: 3",
        [PATH_POS] = "batch: position of scratch row 1: 199",
        [SEE_TO] = "batch: span of row 4: 3",
        [AREA] = "batch: area of row 4: 4",
        [AREA_FIRST] = "batch: area of row 4: 3",
        [STORE_PAGE] = "batch: slot of row 4",
        [STORE_SLOT] = "batch: slot of row 4",
        [PAGE] = "batch: page of sequence 1: 6",
        [MISSING] = "batch: missing page that is seen by row 0",
        [PATH] = "batch: path of row 1",
        [FROM] = "batch: state read by row 4: 5",
        [TO] = "batch: state written by row 4: -1",
        [WANTED] = "batch: wanted row 1: 5",
        [ORDER] = "batch: wanted row 1: 0",
        [TWICE] = "batch: wanted row 1: 1",
    };
    for (int kind = 0; kind < N_KINDS; kind++) {
        struct batch_sample s;
        struct batch_unpacked u = {0};
        rn_error err = {0};
        size_t n;
        sample_make(&s);
        struct batch_row *const last = &s.rows[4];
        int32_t wanted[] = {1, 4, 0}, pages[] = {4}, window[] = {KV_NONE, KV_NONE, KV_NONE, 2};
        struct kv_slot path[2] = {{5, 0}, {5, 64}};
        if (kind == TOKEN) last->token = 100;
        if (kind == NEGATIVE_TOKEN) last->token = -1;
        if (kind == POS) last->pos = 3;
        if (kind == PATH_POS) s.rows[1].pos = 199;
        if (kind == SEE_TO) last->see_to = 3;
        if (kind == AREA) last->area_end = 4;
        if (kind == AREA_FIRST) last->area_first = 3, last->area_end = 3;
        if (kind == STORE_PAGE) last->store[1].page = 4;
        if (kind == STORE_SLOT) last->store[0].slot = 64;
        if (kind == PAGE) pages[0] = 6, s.seqs[1].pages[0] = pages;
        if (kind == MISSING) s.seqs[0].pages[1] = window;
        if (kind == PATH) s.rows[1].path[0] = path;
        if (kind == FROM) last->state.from = 5;
        if (kind == TO) last->state.to = KV_NONE;
        if (kind == WANTED) wanted[1] = 5, s.batch.wanted = wanted;
        if (kind == ORDER) wanted[1] = 0, s.batch.wanted = wanted;
        if (kind == TWICE) wanted[1] = 1, s.batch.wanted = wanted;
        uint8_t *bytes = pack(&s.batch, &n);
        if (CHECK_FAILS(batch_unpack(bytes, n, &sample_program, &sample_sizes, &u, &err), RN_E_FORMAT, &err))
            CHECK_HAS(err.text, texts[kind]);
        free(bytes);
        batch_unpacked_free(&u);
    }
}

// Where the records of the sample begin, in words of 32 bits: batch_pack.c lists their fields.
enum { HEAD = 0, SEQ_0 = 8, ROW_0 = 28, ROW_1 = 44 };

TEST(a_number_outside_its_range_is_refused_by_name) {
    static const struct {
        size_t word;
        int64_t value;
        const char *text;
    } rows[] = {
        {HEAD + 0, 1, "batch: magic: 1, "},
        {HEAD + 1, 1, "batch: version: 1, expected 3"},
        {HEAD + 2, 1, "batch: groups: 1, expected 2"},
        {HEAD + 3, 5, "batch: vector width: 5, expected 6"},
        {HEAD + 4, 9, "batch: rows: 9, limit 8"},
        {HEAD + 4, UINT32_MAX, "batch: rows: 4294967295, limit 8"},
        {HEAD + 4, 0, "batch: sequences: 2, limit 0"},
        {HEAD + 5, 6, "batch: sequences: 6, limit 5"},
        {HEAD + 5, 0, "batch: sequences: 0, at least 1 was expected"},
        {HEAD + 6, 5, "batch: wanted rows: 5, limit 4"},
        {HEAD + 7, 4, "batch: rows with logits: 4, limit 3"},
        {SEQ_0 + 0, -1, "batch: positions of sequence 0: -1"},
        {SEQ_0 + 0, 385, "batch: positions of sequence 0: 385 at byte 44, limit 384"},
        {SEQ_0 + 1, 2, "batch: rotation of sequence 0: 2"},
        {SEQ_0 + 1, -1, "batch: rotation of sequence 0: -1"},
        {SEQ_0 + 2, -1, "batch: adapters of sequence 0: -1"},
        {SEQ_0 + 2, 9, "batch: adapters of sequence 0: 9 at byte 44, limit 8"},
        {SEQ_0 + 3, -1, "batch: adapter of sequence 0: -1"},
        {SEQ_0 + 5, 0, "batch: adapter of sequence 0: 0"}, // not behind the one before
        {SEQ_0 + 5, 3, "batch: adapter of sequence 0: 3 at byte 60, limit 2"},
        {SEQ_0 + 7, -2, "batch: page of sequence 0: -2"},
        {SEQ_0 + 7, 6, "batch: page of sequence 0: 6 at byte 76, limit 5"},
        {ROW_0 + 0, INT32_MIN, "batch: token of row 0: -2147483648"},
        {ROW_0 + 1, -1, "batch: position of row 0: -1"},
        {ROW_0 + 2, -1, "batch: sequence of row 0: -1"},
        {ROW_0 + 2, 2, "batch: sequence of row 0: 2 at byte 176, limit 1"},
        {ROW_0 + 3, -2, "batch: span of row 0: -2"},
        {ROW_0 + 5, 201, "batch: area of row 0: 201"},
        {ROW_0 + 6, 8, "batch: kind of row 0: 1 at byte 176, limit 0"},
        {ROW_0 + 10, -2, "batch: state read by row 0: -2"},
        {ROW_0 + 11, 5, "batch: state written by row 0: 5 at byte 176, limit 4"},
        {ROW_0 + 12, -1, "batch: slot of row 0: -1"},
        {ROW_0 + 13, -1, "batch: slot of row 0"},
        {ROW_1 + 1, INT32_MAX, "batch: ends at byte "}, // its path would have two thousand million nodes
        {ROW_1 + 3, 202, "batch: span of row 1: 202"},
        {ROW_1 + 16, -1, "batch: path of row 1: -1"},
    };
    struct batch_sample s;
    size_t n;
    sample_make(&s);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct batch_unpacked u = {0};
        rn_error err = {0};
        uint8_t *bytes = pack(&s.batch, &n);
        const uint32_t value = (uint32_t)rows[i].value;
        memcpy(bytes + 4 * rows[i].word, &value, 4);
        check_note("word %zu: %lld", rows[i].word, (long long)rows[i].value);
        if (CHECK_FAILS(batch_unpack(bytes, n, &sample_program, &sample_sizes, &u, &err), RN_E_FORMAT, &err))
            CHECK_HAS(err.text, rows[i].text);
        free(bytes);
        batch_unpacked_free(&u);
    }
}

TEST(an_empty_batch_is_refused) {
    struct batch_unpacked u = {0};
    rn_error err = {0};
    size_t n;
    uint8_t *bytes = pack(&(struct batch){0}, &n);
    if (CHECK_FAILS(batch_unpack(bytes, n, &sample_program, &sample_sizes, &u, &err), RN_E_FORMAT, &err))
        CHECK_STR(err.text, "batch: rows: 0, at least 1 was expected");
    free(bytes);
}

// The same bytes for programs that take less, or need more, than the one they were packed for.
TEST(what_the_program_does_not_take_or_cannot_do_without_is_refused) {
    static const struct {
        bool needs_vector;
        int32_t n_vector;
        size_t state_bytes;
        const char *text;
    } rows[] = {
        {true, SAMPLE_VECTOR, 64, "batch: missing vector of row 0"},
        {false, 0, 64, "batch: vector of row 2"},
        {false, SAMPLE_VECTOR, 0, "batch: state written by row 0: 0"},
    };
    struct batch_sample s;
    sample_make(&s);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct program p = sample_program;
        struct batch_unpacked u = {0};
        rn_error err = {0};
        p.needs_vector = rows[i].needs_vector, p.n_vector = rows[i].n_vector, p.state_bytes = rows[i].state_bytes;
        const size_t n = batch_packed_bytes(&s.batch, &p);
        uint8_t *bytes = malloc(n);
        batch_pack(&s.batch, &p, bytes);
        check_note("%s", rows[i].text);
        if (CHECK_FAILS(batch_unpack(bytes, n, &p, &sample_sizes, &u, &err), RN_E_FORMAT, &err))
            CHECK_HAS(err.text, rows[i].text);
        CHECK_INT(u.batch.n_rows, 0);
        free(bytes);
        batch_unpacked_free(&u);
    }
}

struct unpacking {
    const uint8_t *bytes;
    size_t n;
};
static rn_status unpack_once(void *user) {
    const struct unpacking *in = user;
    struct batch_unpacked u = {0};
    rn_error err = {0};
    const rn_status st = batch_unpack(in->bytes, in->n, &sample_program, &sample_sizes, &u, &err);
    if (st != RN_OK) CHECK_STR(err.text, "batch: out of memory for 5 rows");
    batch_unpacked_free(&u);
    return st;
}

TEST(a_failed_allocation_is_reported_and_leaks_nothing) {
    struct batch_sample s;
    struct unpacking in;
    sample_make(&s);
    uint8_t *bytes = pack(&s.batch, &in.n);
    in.bytes = bytes;
    CHECK(check_each_failed_allocation(unpack_once, &in, __FILE__, __LINE__));
    free(bytes);
}

// Any single changed byte gives an error or a batch with all indices in range.
TEST(a_changed_byte_gives_an_error_or_a_batch_that_packs_to_itself) {
    struct batch_sample s;
    struct batch_unpacked u = {0};
    size_t n;
    sample_make(&s);
    uint8_t *bytes = pack(&s.batch, &n), *again = malloc(n);
    for (size_t i = 0; i < n; i++)
        for (int bit = 0; bit < 8; bit++) {
            bytes[i] ^= (uint8_t)(1 << bit);
            if (batch_unpack(bytes, n, &sample_program, &sample_sizes, &u, NULL) == RN_OK &&
                CHECK_INT(batch_packed_bytes(&u.batch, &sample_program), n)) {
                batch_pack(&u.batch, &sample_program, again);
                CHECK_MEM(again, bytes, n);
            }
            bytes[i] ^= (uint8_t)(1 << bit);
        }
    free(again);
    free(bytes);
    batch_unpacked_free(&u);
}
