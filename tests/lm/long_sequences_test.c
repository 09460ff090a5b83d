// tests/lm/long_sequences_test.c - beyond 1,024 keys the softmax states of splits are merged: the same bits for every way across that
// border.
#include "tests/check.h"
#include "tests/support/lm_rig.h"
#include <string.h>

// A model as small as can be.
enum { LONG = 1090, LONG_VOCAB = 8 };

static struct tiny_model long_model(void) {
    struct tiny_model m = tiny_model_default();
    m.n_layer = 1, m.n_embd = 32, m.n_head = 2, m.n_head_kv = 1, m.n_ff = 32;
    m.n_vocab = LONG_VOCAB, m.vocab = TINY_NO_VOCAB, m.n_ctx = 2048, m.type = TENSOR_Q8_0;
    return m;
}

static bool long_open(struct rig *r, enum cpu_set set, int n_threads, enum kv_codec codec) {
    const struct tiny_model m = long_model();
    struct rig_options o = rig_defaults();
    o.set = set, o.n_threads = n_threads, o.codec = codec;
    o.lm.n_ctx = 1200, o.lm.n_batch = o.lm.n_want = 1200;
    return rig_open(r, &m, &o);
}

static void check_long(enum kv_codec codec) {
    static float want[LONG * LONG_VOCAB], got[LONG * LONG_VOCAB];
    const size_t row = LONG_VOCAB * sizeof(float);
    int32_t text[LONG];
    struct rig ref, rig;
    random_tokens(text, LONG, LONG_VOCAB, 12);
    bool ok = long_open(&ref, CPU_REF, 2, codec) && rig_eval_fresh(&ref, text, LONG, want);
    rig_close(&ref);
    ok = long_open(&rig, cpu_set_detect(CPU_N_SETS), 3, codec) && ok;
    const int32_t seq = ok ? rig_seq(&rig) : -1;
    check_note("in steps of 300");
    if (ok && rig_append_by(&rig, seq, text, LONG, 300, got)) CHECK_MEM(got, want, sizeof want);

    check_note("one row at a time from 1020 on");
    ok = ok && CHECK_INT(lm_truncate(rig.lm, seq, 1020), 1020);
    for (int32_t i = 1020; ok && i < 1030; i++)
        ok = rig_append(&rig, seq, text + i, 1, got) && CHECK_MEM(got, want + i * LONG_VOCAB, row);

    check_note("a scratch chain over positions 1021..1027, then kept");
    ok = ok && CHECK_INT(lm_truncate(rig.lm, seq, 1021), 1021);
    for (int32_t i = 0; ok && i < 7; i++)
        ok =
            rig_scratch(&rig, seq, text[1021 + i], i - 1, got) && CHECK_MEM(got, want + (1021 + i) * LONG_VOCAB, row);
    const int32_t path[] = {0, 1, 2, 3, 4};
    rn_error err = {0};
    if (ok && CHECK_OK(lm_keep(rig.lm, seq, path, 5, &err), &err) &&
        rig_append(&rig, seq, text + 1026, LONG - 1026, got))
        CHECK_MEM(got, want + 1026 * LONG_VOCAB, (LONG - 1026) * row);

    check_note("fork at 1023, one step over the border");
    const int32_t fork = ok ? rig_fork(&rig, seq) : -1;
    if (ok && CHECK_INT(lm_truncate(rig.lm, fork, 1023), 1023) && rig_append(&rig, fork, text + 1023, 4, got))
        CHECK_MEM(got, want + 1023 * LONG_VOCAB, 4 * row);
    rig_close(&rig);
}

// Position 1060, then scratch rows at 1061, 1062 and, on a branch of its own, 1061 again, in one step.
static bool grow_tree(struct rig *r, int32_t seq, const int32_t *text, float *out) {
    const struct lm_row rows[] = {{seq, text[1060], LM_APPEND, 0},
                                  {seq, text[1061], -1, LM_WANT_LOGITS},
                                  {seq, text[1062], 0, LM_WANT_LOGITS},
                                  {seq, text[1061], -1, LM_WANT_LOGITS}};
    rn_error err = {0};
    if (!CHECK_OK(lm_step(r->lm, rows, 1, NULL, &err), &err)) return false;
    if (!CHECK_OK(lm_step(r->lm, rows + 1, 3, NULL, &err), &err)) return false;
    for (size_t i = 0; i < 3; i++) memcpy(out + i * LONG_VOCAB, lm_logits(r->lm, i), LONG_VOCAB * sizeof *out);
    return true;
}

TEST(any_number_of_threads_gives_the_same_bits_to_rows_and_trees_beyond_1024_keys) {
    static float want[LONG * LONG_VOCAB], got[LONG * LONG_VOCAB];
    const size_t row = LONG_VOCAB * sizeof(float);
    const enum cpu_set best = cpu_set_detect(CPU_N_SETS);
    int32_t text[LONG];
    random_tokens(text, LONG, LONG_VOCAB, 13);
    for (int n_threads = 1; n_threads <= 8; n_threads++) {
        struct rig r;
        check_note("%d threads", n_threads);
        bool ok = long_open(&r, best, n_threads, KV_F16);
        const int32_t seq = ok ? rig_seq(&r) : -1;
        if (n_threads == 1)
            ok = ok && rig_append(&r, seq, text, LONG, want) && CHECK_INT(lm_truncate(r.lm, seq, 0), 0);
        ok = ok && rig_append(&r, seq, text, 1050, NULL) && rig_append_by(&r, seq, text + 1050, 10, 1, got);
        if (ok) CHECK_MEM(got, want + 1050 * LONG_VOCAB, 10 * row);
        if (ok && grow_tree(&r, seq, text, got)) {
            CHECK_MEM(got, want + 1061 * LONG_VOCAB, 2 * row);
            CHECK_MEM(got + 2 * LONG_VOCAB, want + 1061 * LONG_VOCAB, row);
        }
        rig_close(&r);
    }
}

TEST(sequences_of_more_than_1024_keys_give_the_same_bits_with_f16_keys_and_values) { check_long(KV_F16); }
TEST(sequences_of_more_than_1024_keys_give_the_same_bits_with_f32_keys_and_values) { check_long(KV_F32); }
TEST(sequences_of_more_than_1024_keys_give_the_same_bits_with_q8_keys_and_values) { check_long(KV_Q8); }
TEST(sequences_of_more_than_1024_keys_give_the_same_bits_with_bf16_keys_and_values) { check_long(KV_BF16); }
