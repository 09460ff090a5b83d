// tests/support/chat_model.c - see chat_model.h.
#include "tests/support/chat_model.h"
#include "tests/check.h"
#include "tests/support/arch_model.h"
#include "tests/tokenizer/small_vocab.h"
#include <stdlib.h>

enum { N_VOCAB = 288, MOST_BYTES = 32 };

static const struct chat_model *writing; // for put_vocab(), which takes no more than a builder

static const char *terminated(char out[MOST_BYTES], struct vocab_str s) {
    snprintf(out, MOST_BYTES, "%.*s", (int)s.n, s.s);
    return out;
}

static void put_vocab(struct gguf_builder *b) {
    static struct small_vocab sv;
    static char texts[N_VOCAB][MOST_BYTES], merged[32][MOST_BYTES];
    const char *tokens[N_VOCAB], *merges[32];
    int32_t kinds[N_VOCAB];
    small_bpe(&sv, "gpt-2");
    if (writing->no_markers) sv.tokens[CHAT_START].text = str_of("<|a|>"), sv.tokens[CHAT_END].text = str_of("<|b|>");
    for (int i = 0; i < N_VOCAB; i++) {
        tokens[i] = terminated(texts[i], sv.tokens[i].text);
        kinds[i] = (int32_t)sv.tokens[i].kind;
    }
    for (int i = 0; i < sv.v.n_merges; i++) merges[i] = terminated(merged[i], sv.merges[i]);
    gb_str(b, "tokenizer.ggml.model", "gpt2");
    gb_str(b, "tokenizer.ggml.pre", "gpt-2");
    gb_str_array(b, "tokenizer.ggml.tokens", tokens, N_VOCAB);
    gb_array(b, "tokenizer.ggml.token_type", GB_I32, kinds, N_VOCAB, sizeof *kinds);
    gb_str_array(b, "tokenizer.ggml.merges", merges, (size_t)sv.v.n_merges);
    gb_u32(b, "tokenizer.ggml.bos_token_id", CHAT_BOS);
    gb_u32(b, "tokenizer.ggml.eos_token_id", CHAT_END);
    gb_bool(b, "tokenizer.ggml.add_bos_token", writing->add_bos);
    if (writing->chat_template) gb_str(b, "tokenizer.chat_template", writing->chat_template);
}

bool chat_model_write(const struct chat_model *m, const char *path) {
#define SHAPE                                                                                                        \
    "block_count=2 context_length=4096 embedding_length=64 feed_forward_length=96 attention.layer_norm_rms_epsilon=1e-5 "
    static const struct arch_model models[] = {
        [CHAT_PLAIN] = {"llama", SHAPE "attention.head_count=4 attention.head_count_kv=2", N_VOCAB, TENSOR_F32,
                        .more = put_vocab, .seed = 3},
        [CHAT_WINDOWED] = {"gemma2",
                           SHAPE "attention.head_count=4 attention.head_count_kv=2 attention.sliding_window=64",
                           N_VOCAB, TENSOR_F32, .more = put_vocab, .seed = 3},
        [CHAT_RECURRENT] = {"mamba2",
                            SHAPE "ssm.conv_kernel=4 ssm.inner_size=128 ssm.state_size=16 ssm.time_step_rank=8 "
                                  "ssm.group_count=1",
                            N_VOCAB, TENSOR_F32, .more = put_vocab, .seed = 3},
    };
    size_t n;
    writing = m;
    uint8_t *const bytes = arch_model_bytes(&models[m->kind], &n);
    const bool ok = write_file(path, bytes, n);
    free(bytes);
    return ok;
}
