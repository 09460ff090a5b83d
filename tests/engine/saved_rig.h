// tests/engine/saved_rig.h - conversations in token ids on small models, saved and loaded.
#ifndef RN_TESTS_ENGINE_SAVED_RIG_H
#define RN_TESTS_ENGINE_SAVED_RIG_H

#include "fixture.h"
#include "tests/support/arch_model.h"

enum { SAVED_VOCAB = 60 };

static inline const char *saved_path(const char *name) {
    static char paths[4][600];
    static unsigned turn;
    char *out = paths[turn++ % 4];
    snprintf(out, sizeof paths[0], "%s/%s", temp_dir(), name);
    return out;
}

static inline bool open_arch(struct fixture *f, const struct arch_model *m, const rn_engine_options *o) {
    char name[64];
    size_t n;
    rn_error err = {0};
    uint8_t *bytes = arch_model_bytes(m, &n);
    snprintf(name, sizeof name, "%s-%llu.gguf", m->arch, (unsigned long long)m->seed);
    *f = (struct fixture){0};
    const bool ok = CHECK(write_file(saved_path(name), bytes, n)) &&
                    CHECK_OK(rn_model_open(saved_path(name), NULL, &f->model, &err), &err) &&
                    CHECK_OK(rn_engine_open(&f->model, 1, o, &f->engine, &err), &err);
    free(bytes);
    return ok;
}

static inline rn_session *new_session(const struct fixture *f) {
    rn_session *s = NULL;
    rn_error err = {0};
    CHECK_OK(rn_session_open(f->engine, 0, &s, &err), &err);
    return s;
}

// A turn of n ids drawn from `seed`, and the 10 tokens that the model answers.
static inline bool id_turn(const struct fixture *f, rn_session *s, uint64_t seed, size_t n, struct outcome *o) {
    static int32_t ids[512];
    const rn_part part = {.kind = RN_PART_IDS, .ids = ids, .n_ids = n};
    rn_request r;
    for (size_t i = 0; i < n; i++) ids[i] = (int32_t)((seed * 31 + i * i * 7 + i) % SAVED_VOCAB);
    rn_request_init(&r);
    r.parts = &part, r.n_parts = 1;
    r.session = s;
    r.add_special = false, r.ignore_eos = true;
    r.max_tokens = 10, r.logprobs = 0;
    r.speculate = "none"; // whose rows take a page
    r.has_seed = true, r.seed = seed;
    return run_request(f->engine, &r, o);
}

static inline bool save_session(rn_session *s, const char *path, const char *note, bool with_kv) {
    rn_save_options o;
    rn_error err = {0};
    rn_save_options_init(&o);
    o.note = note, o.n_note = note ? strlen(note) : 0, o.with_kv = with_kv;
    return CHECK_OK(rn_session_save(s, path, &o, &err), &err);
}

// The note is freed; NULL and a failed check where the file is refused.
static inline rn_session *load_session(const struct fixture *f, const char *path, rn_saved *saved) {
    rn_session *s = NULL;
    rn_error err = {0};
    rn_saved_init(saved);
    if (CHECK_OK(rn_session_load(f->engine, 0, path, &s, saved, &err), &err)) rn_free(saved->note);
    saved->note = NULL;
    return s;
}

#define SAVED_NUMBERS                                                                                                \
    "context_length=512 embedding_length=64 feed_forward_length=96 attention.head_count=4 "                          \
    "attention.layer_norm_rms_epsilon=1e-5 "

// Each kind of memory that a sequence can have.
static const struct saved_subject {
    const char *why;
    bool has_states;
    struct arch_model m;
} saved_subjects[] = {
    {"plain",
     false,
     {"llama", "block_count=2 attention.head_count_kv=2 " SAVED_NUMBERS, SAVED_VOCAB, TENSOR_F32, .seed = 3}},
    {"windows",
     false,
     {"gemma3", "block_count=6 attention.head_count_kv=1 attention.sliding_window=24 " SAVED_NUMBERS, SAVED_VOCAB,
      TENSOR_F32, .seed = 3}},
    {"a latent vector",
     false,
     {"deepseek2",
      "block_count=2 attention.head_count_kv=1 attention.kv_lora_rank=24 attention.key_length=32 "
      "attention.value_length=24 attention.key_length_mla=24 attention.value_length_mla=12 rope.dimension_count=8 "
      "leading_dense_block_count=2 " SAVED_NUMBERS,
      SAVED_VOCAB, TENSOR_F32, .seed = 3}},
    {"states alone",
     true,
     {"mamba2",
      "block_count=2 ssm.conv_kernel=4 ssm.inner_size=128 ssm.state_size=16 ssm.time_step_rank=8 ssm.group_count=1 "
      "context_length=512 embedding_length=64 attention.layer_norm_rms_epsilon=1e-5",
      SAVED_VOCAB, TENSOR_F32, .seed = 3}},
    {"states, keys and values",
     true,
     {"qwen35",
      "block_count=4 full_attention_interval=2 attention.head_count_kv=2 attention.key_length=16 "
      "attention.value_length=16 rope.dimension_count=8 ssm.conv_kernel=4 ssm.inner_size=32 ssm.state_size=8 "
      "ssm.time_step_rank=4 ssm.group_count=2 " SAVED_NUMBERS,
      SAVED_VOCAB, TENSOR_F32, .seed = 3}},
    {"experts",
     false,
     {"llama", "block_count=2 attention.head_count_kv=2 expert_count=6 expert_used_count=2 " SAVED_NUMBERS,
      SAVED_VOCAB, TENSOR_F32, .seed = 4}},
};
enum { N_SAVED_SUBJECTS = sizeof saved_subjects / sizeof *saved_subjects };

#endif
