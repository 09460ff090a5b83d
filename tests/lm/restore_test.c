// tests/lm/restore_test.c - a sequence taken out of one lm record by record and put into another continues with the same bits; and what a
// stranger's records can do.
#include "tests/check.h"
#include "tests/support/arch_subjects.h"
#include "tests/support/lm_rig.h"
#include "tests/support/toy_lm.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 150, N_MORE = 20, N_ALL = N + N_MORE, N_VOCAB = 50 };

// tokens[0..n) and all records of seq, as a sequence of another lm of the same model; -1 and a failed check where there is none.
static int32_t carry_over(lm *from, int32_t seq, lm *to, const int32_t *tokens, int32_t n) {
    int32_t out = -1;
    rn_error err = {0};
    if (!CHECK_INT(from->n_parts, to->n_parts) || !CHECK_INT(lm_seq_len(from, seq), n)) return -1;
    const struct lm_seq_spec near = {0}, far = {.n_most = INT32_MAX};
    const struct lm_seq_spec *spec = lm_seq_fits(from, seq, &near) ? &near : &far;
    if (!CHECK_OK(lm_seq_restore(to, spec, lm_token_keys(to, tokens, n), n, &out, &err), &err)) return -1;
    for (int32_t p = 0; p < from->n_parts; p++) {
        const struct lm_part a = lm_part(from, p, n), b = lm_part(to, p, n);
        if (!CHECK(a.record_bytes == b.record_bytes && a.first == b.first && a.n == b.n)) break;
        uint8_t *bytes = malloc(a.record_bytes + 1);
        for (int32_t i = a.first; i < a.first + a.n; i++) {
            CHECK_OK(lm_read_record(from, seq, p, i, bytes, &err), &err);
            CHECK_OK(lm_write_record(to, out, p, i, bytes, &err), &err);
        }
        free(bytes);
    }
    return out;
}

// --- the toy: every length against the published function ---

static struct toy_config toy_config(int32_t window, int32_t n_states) {
    return (struct toy_config){.n_vocab = 16,
                               .n_ctx = 300,
                               .n_batch = 256,
                               .n_want = 256,
                               .max_seqs = 6,
                               .max_scratch = 8,
                               .n_pages = 40,
                               .n_groups = window ? 2 : 1,
                               .window = window,
                               .n_states = n_states,
                               .nan_token = -1};
}

static bool toy_append(lm *m, int32_t seq, const int32_t *tokens, int32_t n) {
    struct lm_row rows[256];
    rn_error err = {0};
    for (int32_t i = 0; i < n; i++)
        rows[i] = (struct lm_row){seq, tokens[i], LM_APPEND, i == n - 1 ? LM_WANT_LOGITS : 0};
    return n == 0 || CHECK_OK(lm_step(m, rows, (size_t)n, NULL, &err), &err);
}

static bool toy_goes_on(lm *m, const struct toy_config *c, int32_t seq, const int32_t *tokens, int32_t from,
                        int32_t to) {
    float want[16];
    rn_error err = {0};
    toy_lm_expect(c, tokens, to, want);
    return toy_append(m, seq, tokens + from, to - from) &&
           CHECK_MEM(lm_logits(m, (size_t)(to - from - 1)), want, sizeof want) &&
           CHECK_OK(kv_check(toy_lm_kv(m), &err), &err);
}

TEST(at_every_length_the_toys_records_are_all_that_its_next_rows_read) {
    static const int32_t windows[] = {0, 1, 2, 63, 64, 65, 100};
    int32_t tokens[300];
    random_tokens(tokens, 300, 16, 3);
    for (size_t w = 0; w < sizeof windows / sizeof *windows; w++)
        for (int32_t n = 1; n <= 200; n += n < 60 || (n > 70 && n < 124) ? 17 : 1) {
            const struct toy_config c = toy_config(windows[w], n % 2 ? 4 : 0);
            lm *from = NULL, *to = NULL;
            check_note("window %d, %d positions", windows[w], n);
            CHECK_INT(toy_lm_create(&c, &from, NULL), RN_OK);
            CHECK_INT(toy_lm_create(&c, &to, NULL), RN_OK);
            int32_t seq = -1, other = -1;
            CHECK_INT(lm_seq_new(from, NULL, &seq, NULL), RN_OK);
            CHECK_INT(lm_seq_new(to, NULL, &other, NULL), RN_OK); // so that pages have other numbers
            toy_append(to, other, tokens + 50, 70);
            toy_append(from, seq, tokens, n);
            const int32_t copy = carry_over(from, seq, to, tokens, n);
            if (copy < 0 || !toy_goes_on(to, &c, copy, tokens, n, n + 70)) n = 1000;
            lm_destroy(from);
            lm_destroy(to);
        }
}

// --- real models: bits ---

static struct rig_options other_machine(enum kv_codec codec) {
    struct rig_options o = rig_defaults();
    o.set = CPU_REF, o.n_threads = 3, o.codec = codec;
    o.lm.n_ctx = 200, o.lm.n_pages = 20, o.lm.max_seqs = 5, o.lm.n_windows = 3;
    return o;
}

static bool all_finite(const float *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

static bool check_bits(const float *got, const float *want, int32_t from, int32_t n) {
    return CHECK(memcmp(got, want + (size_t)from * N_VOCAB, (size_t)(n - from) * N_VOCAB * sizeof *got) == 0);
}

// A text evaluated by one rig in one piece; and by another, which carries it over to the first after n tokens.
static void check_model(uint8_t *(*bytes_of)(const void *, size_t *), const void *m, enum kv_codec codec, int32_t n) {
    struct rig a, b;
    struct rig_options o = rig_defaults();
    float *want = new_floats(N_ALL * N_VOCAB), *got = new_floats(N_ALL * N_VOCAB);
    int32_t tokens[N_ALL];
    size_t n_bytes;
    uint8_t *bytes = bytes_of(m, &n_bytes);
    const struct rig_options other = other_machine(codec);
    o.codec = codec, o.backend = "cpu";
    random_tokens(tokens, N_ALL, N_VOCAB, 11);
    const bool ok = rig_open_bytes(&a, bytes, n_bytes, &o);
    bytes = bytes_of(m, &n_bytes);
    if (rig_open_bytes(&b, bytes, n_bytes, &other) && ok) {
        const int32_t seq = rig_seq(&a);
        rig_append_by(&a, seq, tokens, n, 37, NULL);
        const int32_t copy = carry_over(a.lm, seq, b.lm, tokens, n);
        rig_append(&a, seq, tokens + n, N_ALL - n, want + (size_t)n * N_VOCAB);
        CHECK(all_finite(want, N_ALL * N_VOCAB));
        const int32_t fork = rig_fork(&b, copy);
        if (rig_append(&b, copy, tokens + n, N_ALL - n, got)) check_bits(got, want, n, N_ALL);
        if (rig_append_by(&b, fork, tokens + n, N_ALL - n, 1, got)) check_bits(got, want, n, N_ALL);
        const int32_t cut = lm_truncate(b.lm, copy, n); // where there are states, to nothing
        CHECK(cut == n || cut == 0);
        if (rig_append(&b, copy, tokens + cut, N_ALL - cut, got))
            check_bits(got + (size_t)(n - cut) * N_VOCAB, want, n, N_ALL);
    }
    rig_close(&a);
    rig_close(&b);
    free(want);
    free(got);
}

static uint8_t *arch_bytes(const void *m, size_t *n) { return arch_model_bytes(m, n); }

static struct arch_model subject_model(size_t i) {
    struct arch_model m = arch_subjects[i].m;
    m.n_vocab = N_VOCAB, m.type = TENSOR_F32, m.seed = 7;
    return m;
}

// The bits are the release build's to compare; with sanitizers memory shows in some of each kind.
static size_t stride(void) { return (size_t)test_stride(1, 4); }

TEST(a_sequence_of_any_architecture_goes_on_elsewhere_with_the_same_bits) {
    for (size_t i = 0; i < N_ARCH_SUBJECTS; i += stride()) {
        const struct arch_model m = subject_model(i);
        check_note("%s: %s", m.arch, arch_subjects[i].why);
        check_model(arch_bytes, &m, KV_F16, i % 3 == 0 ? 128 : i % 3 == 1 ? N : 1);
    }
}

TEST(in_every_type_of_keys_and_values) {
    for (enum kv_codec codec = 0; codec < KV_N_CODECS; codec++)
        for (size_t i = 0; i < N_ARCH_SUBJECTS; i += 8 * stride()) {
            const struct arch_model m = subject_model(i);
            check_note("type %d, %s: %s", (int)codec, m.arch, arch_subjects[i].why);
            check_model(arch_bytes, &m, codec, N);
        }
}

static const struct arch_model with_states[] = {
    {"mamba2",
     "block_count=2 context_length=256 embedding_length=64 attention.layer_norm_rms_epsilon=1e-5 ssm.conv_kernel=4 "
     "ssm.inner_size=128 ssm.state_size=16 ssm.time_step_rank=8 ssm.group_count=1",
     N_VOCAB, TENSOR_F32, .seed = 7},
    {"qwen35",
     "block_count=4 full_attention_interval=2 context_length=256 embedding_length=64 feed_forward_length=96 "
     "attention.head_count=4 attention.head_count_kv=2 attention.key_length=16 attention.value_length=16 "
     "attention.layer_norm_rms_epsilon=1e-5 rope.dimension_count=8 ssm.conv_kernel=4 ssm.inner_size=32 ssm.state_size=8 "
     "ssm.time_step_rank=4 ssm.group_count=2",
     N_VOCAB, TENSOR_F32, .seed = 7},
};

TEST(with_recurrent_states) {
    for (size_t i = 0; i < sizeof with_states / sizeof *with_states; i++)
        for (int32_t n = 1; n <= N; n += N - 1) {
            check_note("%s, %d positions", with_states[i].arch, n);
            check_model(arch_bytes, &with_states[i], KV_F16, n);
        }
}

// --- a stranger's records ---

static void write_all(lm *m, int32_t seq, int32_t n, uint8_t byte) {
    rn_error err = {0};
    for (int32_t p = 0; p < m->n_parts; p++) {
        const struct lm_part part = lm_part(m, p, n);
        uint8_t *bytes = malloc(part.record_bytes + 1);
        memset(bytes, byte, part.record_bytes);
        for (int32_t i = part.first; i < part.first + part.n; i++)
            CHECK_OK(lm_write_record(m, seq, p, i, bytes, &err), &err);
        free(bytes);
    }
}

// 0xff everywhere is NaN in every type. The sequence's own rows may show it. Other sequences of the step, a lookup of the same text
// and later users of the pages and slots must not.
static void check_forged(const struct arch_model *m, enum kv_codec codec) {
    struct rig_options o = rig_defaults();
    struct rig r;
    float *want = new_floats(N_ALL * N_VOCAB), *got = new_floats(N_ALL * N_VOCAB);
    int32_t tokens[N_ALL], forged = -1;
    size_t n_bytes;
    rn_error err = {0};
    o.codec = codec, o.lm.n_pages = 8, o.lm.n_windows = 2, o.lm.max_seqs = 3, o.lm.max_scratch = 0;
    o.lm.n_states = 4;
    random_tokens(tokens, N_ALL, N_VOCAB, 11);
    uint8_t *bytes = arch_model_bytes(m, &n_bytes);
    if (rig_open_bytes(&r, bytes, n_bytes, &o) && rig_eval_fresh(&r, tokens, N_ALL, want) &&
        CHECK_OK(lm_seq_restore(r.lm, &(struct lm_seq_spec){.n_most = N_ALL}, lm_token_keys(r.lm, tokens, N), N,
                                &forged, &err),
                 &err)) {
        struct lm_prefix found = {.seq = -1};
        write_all(r.lm, forged, N, 0xff);
        CHECK_OK(lm_match_tokens(r.lm, &(struct lm_seq_spec){.n_most = N_ALL}, tokens, N_ALL, &found, &err), &err);
        CHECK_INT(found.n, 0);
        for (int32_t i = 0; i < N_ALL; i++) { // side by side with the honest one
            const struct lm_row rows[] = {{forged, tokens[0], LM_APPEND, LM_WANT_LOGITS},
                                          {found.seq, tokens[i], LM_APPEND, LM_WANT_LOGITS}};
            if (!CHECK_OK(lm_step(r.lm, rows + (i >= N_MORE), i < N_MORE ? 2 : 1, NULL, &err), &err)) break;
            if (i < N_MORE) CHECK(!all_finite(lm_logits(r.lm, 0), N_VOCAB));
            memcpy(got + (size_t)i * N_VOCAB, lm_logits(r.lm, i < N_MORE), N_VOCAB * sizeof *got);
        }
        check_bits(got, want, 0, N_ALL);
        lm_seq_free(r.lm, found.seq);
        lm_seq_free(r.lm, forged);
        if (rig_eval_fresh(&r, tokens, N_ALL, got)) check_bits(got, want, 0, N_ALL); // over what the forged one left
    }
    rig_close(&r);
    free(want);
    free(got);
}

TEST(forged_keys_and_values_spoil_their_own_rows_alone) {
    for (enum kv_codec codec = 0; codec < KV_N_CODECS; codec++)
        for (size_t i = codec; i < N_ARCH_SUBJECTS; i += KV_N_CODECS * stride()) {
            const struct arch_model m = subject_model(i);
            check_note("type %d, %s: %s", (int)codec, m.arch, arch_subjects[i].why);
            check_forged(&m, codec);
        }
}

TEST(so_do_forged_states) {
    for (size_t i = 0; i < sizeof with_states / sizeof *with_states; i++) {
        check_note("%s", with_states[i].arch);
        check_forged(&with_states[i], KV_F16);
    }
}

TEST(what_stands_behind_the_last_position_is_not_read_out) {
    for (enum kv_codec codec = 0; codec < KV_N_CODECS; codec++) {
        const struct arch_model m = subject_model(0);
        struct rig_options o = rig_defaults();
        struct rig r;
        int32_t tokens[N_ALL];
        size_t n_bytes;
        uint8_t *bytes = arch_model_bytes(&m, &n_bytes);
        random_tokens(tokens, N_ALL, N_VOCAB, 11);
        o.codec = codec, o.lm.n_pages = 3;
        check_note("type %d", (int)codec);
        if (rig_open_bytes(&r, bytes, n_bytes, &o)) {
            const size_t size = lm_part(r.lm, 0, 65).record_bytes;
            uint8_t *first = malloc(size), *second = malloc(size);
            rn_error err = {0};
            const int32_t seq = rig_seq(&r);
            rig_append(&r, seq, tokens, 65, NULL);
            CHECK_OK(lm_read_record(r.lm, seq, 0, 1, first, &err), &err);
            rig_append(&r, seq, tokens + 65, 60, NULL);
            CHECK_INT(lm_truncate(r.lm, seq, 65), 65);
            CHECK_OK(lm_read_record(r.lm, seq, 0, 1, second, &err), &err);
            CHECK(memcmp(first, second, size) == 0);
            free(first);
            free(second);
        }
        rig_close(&r);
    }
}
