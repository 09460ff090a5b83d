// tests/lm/backend_faults_test.c - each call of a backend fails once, half done: the lm says so in the backend's words, sequences stand
// where lm.h says, and what is done again gives the bits of a run without a fault. A backend that is gone for good leaves no memory behind.
#include "base/mem.h"
#include "tests/check.h"
#include "tests/support/arch_subjects.h"
#include "tests/support/faulty_backend.h"
#include "tests/support/lm_rig.h"
#include <stdlib.h>
#include <string.h>

enum { N_VOCAB = 16, N_EMBD = 64, N_PROMPT = 70, N_BRANCH = 72, N_TREE = 2, N_ALL = 75, MOST_CALLS = 200 };
enum { OUT_PROMPT, OUT_BRANCH, OUT_TREE, OUT_AFTER_TREE, OUT_NEXT, OUT_RESTORED, OUT_PREFIX, N_OUTS };

struct story {
    package *pkg;
    struct model *model;
    pool *threads;
    backend *b;
    lm *lm;
    bool recurs;
    int32_t text[N_ALL], branch_text[N_ALL];         // the same up to N_PROMPT
    int32_t seq, branch, restored, found;            // -1: not there yet
    uint8_t *records[LM_MAX_PARTS];                  // of seq at N_PROMPT
    float out[N_OUTS][N_VOCAB], tap[N_OUTS][N_EMBD]; // logits, and the residual stream after the first layer
};

static const struct lm_config config = {.n_ctx = 128,
                                        .n_batch = 80,
                                        .n_want = 4,
                                        .max_seqs = 6,
                                        .max_scratch = N_TREE,
                                        .n_pages = 12,
                                        .n_states = 12,
                                        .identity = 1};

// A failed step has no results. Its sequence is as before or, for a recurrent model that ran, empty.
static void check_failed_step(struct story *s, int32_t seq, int32_t len, size_t n, size_t failed_row) {
    const int32_t now = lm_seq_len(s->lm, seq);
    CHECK(failed_row == LM_ALL_ROWS || failed_row < n);
    CHECK(now == len || (s->recurs && failed_row == LM_ALL_ROWS && now == 0));
    for (size_t i = 0; i < n; i++) CHECK(!lm_logits(s->lm, i) && !lm_hidden(s->lm, i) && !lm_tap(s->lm, i, 0));
}

static rn_status step(struct story *s, const struct lm_row *rows, size_t n, rn_error *err) {
    const int32_t len = lm_seq_len(s->lm, rows[0].seq);
    size_t failed_row = n;
    const rn_status st = lm_step(s->lm, rows, n, &failed_row, err);
    if (st != RN_OK) check_failed_step(s, rows[0].seq, len, n, failed_row);
    return st;
}

// The results of one of the step's rows.
static void keep_results(struct story *s, size_t row, int out) {
    memcpy(s->out[out], lm_logits(s->lm, row), sizeof s->out[out]);
    memcpy(s->tap[out], lm_tap(s->lm, row, 0), sizeof s->tap[out]);
}

// The sequence holds text[0..n) afterwards; out: where the last row's results go, N_OUTS: nowhere.
static rn_status extend(struct story *s, int32_t seq, const int32_t *text, int32_t n, int out, rn_error *err) {
    struct lm_row rows[N_ALL];
    const int32_t len = lm_seq_len(s->lm, seq);
    if (len >= n) return RN_OK;
    for (int32_t i = len; i < n; i++)
        rows[i - len] = (struct lm_row){.seq = seq, .token = text[i], .parent = LM_APPEND};
    rows[n - len - 1].want = LM_WANT_RESULTS | LM_WANT_STATE;
    const rn_status st = step(s, rows, (size_t)(n - len), err);
    if (st == RN_OK && out != N_OUTS) keep_results(s, (size_t)(n - len) - 1, out);
    return st;
}

// The operations. Each starts from where the previous one, or its own failed try, left the sequences.

static rn_status open_model(struct story *s, rn_error *err) {
    backend_destroy(s->b);
    rn_status st = faulty_backend_open(
        &(struct backend_spec){.threads = s->threads, .kernels = kernel_set_get(cpu_set_detect(CPU_N_SETS))}, &s->b,
        err);
    if (st != RN_OK) return st;
    const struct program *p = model_program(s->model);
    const struct backend_sizes sizes = lm_real_sizes(p, &config);
    st = backend_load(s->b, p, &sizes, NULL, NULL, err);
    return st == RN_OK ? lm_real_create(p, s->b, &config, &s->lm, err) : st;
}

static rn_status prompt(struct story *s, rn_error *err) {
    const rn_status st = s->seq < 0 ? lm_seq_new(s->lm, NULL, &s->seq, err) : RN_OK;
    return st == RN_OK ? extend(s, s->seq, s->text, N_PROMPT, OUT_PROMPT, err) : st;
}

// Its first row is written into a page that both share, which is copied.
static rn_status branch(struct story *s, rn_error *err) {
    const rn_status st = s->branch < 0 ? lm_seq_fork(s->lm, s->seq, &s->branch, err) : RN_OK;
    return st == RN_OK ? extend(s, s->branch, s->branch_text, N_BRANCH, OUT_BRANCH, err) : st;
}

static rn_status tree(struct story *s, rn_error *err) {
    static const int32_t path[N_TREE] = {0, 1};
    rn_status st = extend(s, s->branch, s->branch_text, N_BRANCH, N_OUTS, err);
    if (st != RN_OK) return st;
    const struct lm_row rows[N_TREE] = {
        {s->branch, s->branch_text[N_BRANCH], LM_ROOT, LM_WANT_LOGITS | LM_WANT_TAPS, NULL},
        {s->branch, s->branch_text[N_BRANCH + 1], 0, LM_WANT_LOGITS | LM_WANT_TAPS, NULL}};
    if ((st = step(s, rows, N_TREE, err)) != RN_OK) return st;
    keep_results(s, 1, OUT_TREE);
    st = lm_keep(s->lm, s->branch, path, N_TREE, err);
    if (st != RN_OK) CHECK_INT(lm_seq_len(s->lm, s->branch), N_BRANCH);
    return st;
}

static rn_status after_tree(struct story *s, rn_error *err) {
    return extend(s, s->branch, s->branch_text, N_BRANCH + N_TREE + 1, OUT_AFTER_TREE, err);
}

static rn_status save(struct story *s, rn_error *err) {
    rn_status st = RN_OK;
    for (int32_t k = 0; st == RN_OK && k < s->lm->n_parts; k++) {
        const struct lm_part part = lm_part(s->lm, k, N_PROMPT);
        free(s->records[k]);
        s->records[k] = malloc((size_t)part.n * part.record_bytes + 1);
        for (int32_t i = 0; st == RN_OK && i < part.n; i++)
            st = lm_read_record(s->lm, s->seq, k, part.first + i, s->records[k] + (size_t)i * part.record_bytes, err);
    }
    if (st != RN_OK) CHECK_INT(lm_seq_len(s->lm, s->seq), N_PROMPT);
    return st;
}

static rn_status next(struct story *s, rn_error *err) {
    return extend(s, s->seq, s->text, N_PROMPT + 1, OUT_NEXT, err);
}

static rn_status restore(struct story *s, rn_error *err) {
    if (s->restored >= 0) lm_seq_free(s->lm, s->restored);
    s->restored = -1;
    rn_status st = lm_seq_restore(s->lm, NULL, lm_token_keys(s->lm, s->text, N_PROMPT), N_PROMPT, &s->restored, err);
    for (int32_t k = 0; st == RN_OK && k < s->lm->n_parts; k++) {
        const struct lm_part part = lm_part(s->lm, k, N_PROMPT);
        for (int32_t i = 0; st == RN_OK && i < part.n; i++)
            st = lm_write_record(s->lm, s->restored, k, part.first + i, s->records[k] + (size_t)i * part.record_bytes,
                                 err);
    }
    return st == RN_OK ? extend(s, s->restored, s->text, N_PROMPT + 1, OUT_RESTORED, err) : st;
}

// A cached prefix holds nothing of what failed.
static rn_status find(struct story *s, rn_error *err) {
    struct lm_prefix found;
    rn_status st = RN_OK;
    if (s->seq >= 0) lm_seq_free(s->lm, s->seq);
    s->seq = -1;
    if (s->found < 0) {
        st = lm_match_tokens(s->lm, NULL, s->text, N_PROMPT, &found, err);
        if (st == RN_OK) s->found = found.seq;
    }
    return st == RN_OK ? extend(s, s->found, s->text, N_PROMPT + 1, OUT_PREFIX, err) : st;
}

static rn_status (*const acts[])(struct story *s, rn_error *err) = {open_model, prompt, branch,  tree, after_tree,
                                                                    save,       next,   restore, find};

static void forget(struct story *s) {
    lm_destroy(s->lm);
    backend_destroy(s->b);
    for (int k = 0; k < LM_MAX_PARTS; k++) {
        free(s->records[k]);
        s->records[k] = NULL;
    }
    s->lm = NULL, s->b = NULL;
    s->seq = s->branch = s->restored = s->found = -1;
    memset(s->out, 0, sizeof s->out);
    memset(s->tap, 0, sizeof s->tap);
}

// retries: what failed is done once more. Returns how the last thing done ended.
static rn_status tell(struct story *s, bool retries) {
    rn_status st = RN_OK;
    for (size_t i = 0; st == RN_OK && i < sizeof acts / sizeof *acts; i++) {
        rn_error err = {0};
        st = acts[i](s, &err);
        if (st == RN_OK) continue;
        CHECK_FAILS(st, RN_E_IO, &err);
        CHECK_HAS(err.text, "backend faulty: ");
        if (s->lm) CHECK_OK(kv_check(lm_real_kv(s->lm), &err), &err);
        if (retries && CHECK_INT(faulty_backend_failures(), 1) && CHECK_OK(st = acts[i](s, &err), &err) && s->lm)
            CHECK_OK(kv_check(lm_real_kv(s->lm), &err), &err);
    }
    return st;
}

// Every call of the story fails in its turn.
static void sweep(struct story *s, bool for_good) {
    float want[N_OUTS][N_VOCAB], taps[N_OUTS][N_EMBD];
    const long live = mem_live();
    faulty_backend_plan(0, false);
    CHECK(tell(s, false) == RN_OK);
    memcpy(want, s->out, sizeof want);
    memcpy(taps, s->tap, sizeof taps);
    for (int i = 0; i < N_OUTS; i++) CHECK(taps[i][0] != 0);
    CHECK_MEM(want[OUT_RESTORED], want[OUT_NEXT], sizeof *want);
    CHECK_MEM(want[OUT_PREFIX], want[OUT_NEXT], sizeof *want);
    forget(s);
    CHECK_INT(mem_live(), live);
    for (int call = 1; CHECK(call < MOST_CALLS); call++) {
        faulty_backend_plan(call, for_good);
        check_note("call %d, %s", call, for_good ? "for good" : "once");
        const rn_status st = tell(s, !for_good);
        const bool failed = faulty_backend_failures() > 0;
        CHECK((st != RN_OK) == (failed && for_good));
        if (st == RN_OK) CHECK_MEM(s->out, want, sizeof want);
        if (st == RN_OK) CHECK_MEM(s->tap, taps, sizeof taps);
        forget(s);
        if (!CHECK_INT(mem_live(), live) || !failed) break;
    }
}

static void try_subject(size_t subject, bool for_good) {
    const struct model_spec spec = {.taps = (const int32_t[]){0}, .n_taps = 1};
    struct arch_model m = arch_subjects[subject].m;
    struct story s = {.seq = -1, .branch = -1, .restored = -1, .found = -1};
    rn_error err = {0};
    size_t n;
    m.n_vocab = N_VOCAB, m.type = TENSOR_F32, m.seed = 7;
    uint8_t *bytes = arch_model_bytes(&m, &n);
    random_tokens(s.text, N_ALL, N_VOCAB, 1);
    random_tokens(s.branch_text, N_ALL, N_VOCAB, 2);
    memcpy(s.branch_text, s.text, N_PROMPT * sizeof *s.text);
    check_note("%s: %s", m.arch, arch_subjects[subject].why);
    if (CHECK_OK(package_from_bytes("tiny", bytes, n, &s.pkg, &err), &err) &&
        CHECK_OK(model_build_with(s.pkg, &spec, &s.model, &err), &err) &&
        CHECK_OK(pool_create(1, &s.threads, &err), &err)) {
        s.recurs = model_program(s.model)->state_bytes > 0;
        sweep(&s, for_good);
    }
    pool_destroy(s.threads);
    model_destroy(s.model);
    package_close(s.pkg);
    free(bytes);
}

TEST(a_call_that_fails_once_costs_no_more_than_lm_h_says_and_can_be_made_again) {
    const int stride = test_stride(1, 3);
    for (int i = 0; i < N_ARCH_SUBJECTS; i += stride) try_subject((size_t)i, false);
    for (int call = 0; call < FAULTY_N_CALLS; call++) {
        check_note("kind of call %d", call);
        CHECK(faulty_backend_failures_of((enum faulty_call)call) >= N_ARCH_SUBJECTS / stride);
    }
}

TEST(a_backend_that_is_gone_for_good_fails_what_needs_it_and_leaves_nothing_behind) {
    for (int i = 0; i < N_ARCH_SUBJECTS; i += test_stride(4, 12)) try_subject((size_t)i, true);
}
