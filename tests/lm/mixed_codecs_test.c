// tests/lm/mixed_codecs_test.c - page groups with codecs of their own: layers with a window hold keys and values in another form.
#include "tests/check.h"
#include "tests/support/arch_model.h"
#include "tests/support/lm_rig.h"
#include <stdlib.h>
#include <string.h>

enum { N = 300, N_VOCAB = 50 };

// Five layers of six have a window of 100.
static const struct arch_model windowed = {
    "gemma3",
    "block_count=6 context_length=2048 embedding_length=64 feed_forward_length=96 attention.head_count=4 "
    "attention.head_count_kv=2 attention.key_length=16 attention.value_length=16 "
    "attention.layer_norm_rms_epsilon=1e-5 attention.sliding_window=100",
    N_VOCAB, TENSOR_F32, .seed = 3};

static bool open_with(struct rig *r, enum kv_codec all, enum kv_codec windows) {
    struct rig_options o = rig_defaults();
    size_t n;
    uint8_t *bytes = arch_model_bytes(&windowed, &n);
    o.lm.n_ctx = 512, o.n_threads = 2;
    o.codec = all, o.mixes_codecs = true, o.codec_windows = windows;
    return rig_open_bytes(r, bytes, n, &o);
}

// The last row of a text, its token appended and as a scratch row below the others.
static bool last_row(struct rig *r, const int32_t *tokens, float *appended, float *scratch) {
    const int32_t seq = rig_seq(r);
    if (!rig_append_by(r, seq, tokens, N - 1, 64, NULL)) return false;
    return rig_scratch(r, seq, tokens[N - 1], LM_ROOT, scratch) &&
           rig_append(r, rig_fork(r, seq), tokens + N - 1, 1, appended);
}

TEST(each_group_has_its_codec_and_every_history_gives_the_same_bits) {
    int32_t tokens[N];
    random_tokens(tokens, N, N_VOCAB, 5);
    for (enum kv_codec a = 0; a < KV_N_CODECS; a++)
        for (enum kv_codec b = 0; b < KV_N_CODECS; b++) {
            struct rig mixed = {0}, plain = {0};
            float appended[N_VOCAB], scratch[N_VOCAB], other[N_VOCAB];
            if ((KV_N_CODECS * (int)a + (int)b) % test_stride(1, 1) != 0) continue;
            check_note("%s, windows %s", kv_codec_name(a), kv_codec_name(b));
            if (open_with(&mixed, a, b) && open_with(&plain, b, b) && last_row(&mixed, tokens, appended, scratch) &&
                last_row(&plain, tokens, other, scratch) && last_row(&mixed, tokens, appended, scratch)) {
                CHECK_MEM(scratch, appended, sizeof appended);
                CHECK((memcmp(other, appended, sizeof other) == 0) == (a == b));
                CHECK_INT(lm_part(mixed.lm, 1, N).record_bytes, lm_part(plain.lm, 1, N).record_bytes);
                CHECK((lm_part(mixed.lm, 0, N).record_bytes == lm_part(plain.lm, 0, N).record_bytes) ==
                      (a == b || (a == KV_F16 && b == KV_BF16) || (a == KV_BF16 && b == KV_F16)));
            }
            rig_close(&plain);
            if (mixed.lm) rig_check_cut(&mixed, 200, 7);
            rig_close(&mixed);
        }
}

TEST(the_name_of_all_codecs_is_one_word_where_they_agree) {
    static const struct {
        enum kv_codec codecs[4];
        int32_t n;
        const char *name;
    } rows[] = {
        {{KV_Q8}, 1, "q8"},
        {{KV_Q8, KV_Q8, KV_Q8}, 3, "q8"},
        {{KV_F16, KV_Q8}, 2, "f16+q8"},
        {{KV_BF16, KV_BF16, KV_BF16, KV_F32}, 4, "bf16+bf16+bf16+f32"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[KV_CODECS_NAME_BYTES];
        kv_codecs_name(rows[i].codecs, rows[i].n, name);
        CHECK_STR(name, rows[i].name);
    }
}
