// tests/convert/convert_test.c - rn_convert(): what a GGUF file made of a folder says and holds, and the text it gives.
#include "base/mem.h"
#include "formats/gguf/gguf.h"
#include "tests/check.h"
#include "tests/support/folder_builder.h"
#include "tests/support/golden.h"
#include "tests/support/left_behind.h"
#include "tests/support/same_package.h"
#include "tokenizer/tokenizer.h"
#include <math.h>
#include <runnel/tools.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *at(const char *name) {
    static char paths[8][512];
    static unsigned turn;
    char *path = paths[turn++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", temp_dir(), name);
    return path;
}

static rn_quantize_options options_of(const char *type) {
    rn_quantize_options o;
    rn_quantize_options_init(&o);
    o.type = type;
    o.n_threads = 1;
    return o;
}

// The folder of folder_builder.h on the disk. config: NULL for the sound one.
static void write_folder(const char *path, const char *dtype, const char *config) {
    char file[600];
    struct st_builder b;
    size_t n;
    mkdir(path, 0700);
    snprintf(file, sizeof file, "%s/config.json", path);
    write_file(file, config ? config : folder_config, strlen(config ? config : folder_config));
    st_begin(&b);
    b.dtype = dtype;
    st_model(&b);
    uint8_t *weights = st_finish(&b, &n);
    snprintf(file, sizeof file, "%s/model.safetensors", path);
    write_file(file, weights, n);
    free(weights);
}

static package *open_package(const char *path) {
    package *p = NULL;
    rn_error err = {0};
    CHECK_OK(package_open(path, NULL, &p, &err), &err);
    return p;
}

static void check_equal_hparams(const struct hparams *a, const struct hparams *b) {
    CHECK_STR(a->arch, b->arch);
    CHECK_STR(a->name, b->name);
    CHECK_STR(a->file_type, b->file_type);
    CHECK(a->is_checked && b->is_checked);
    CHECK(a->n_vocab == b->n_vocab && a->n_ctx_train == b->n_ctx_train && a->n_embd == b->n_embd);
    CHECK(a->n_layer == b->n_layer && a->n_head == b->n_head && a->n_head_kv == b->n_head_kv);
    CHECK(a->head_dim == b->head_dim && a->n_ff == b->n_ff && a->n_rot == b->n_rot && a->n_swa == b->n_swa);
    CHECK(a->norm_eps == b->norm_eps && a->rope_theta == b->rope_theta);
    CHECK(a->rope_scaling == b->rope_scaling && a->rope_factor == b->rope_factor);
    CHECK(a->rope_n_ctx_orig == b->rope_n_ctx_orig && a->rope_beta_fast == b->rope_beta_fast);
    CHECK(a->rope_beta_slow == b->rope_beta_slow && a->rope_exact_ramp == b->rope_exact_ramp);
}

static bool same_str(struct vocab_str a, struct vocab_str b) {
    return a.n == b.n && (a.n == 0 || memcmp(a.s, b.s, a.n) == 0);
}

static void check_equal_vocab(const struct vocab *a, const struct vocab *b) {
    CHECK(a->model == b->model && a->n_tokens == b->n_tokens && a->n_merges == b->n_merges);
    CHECK(a->model == VOCAB_SPM || same_str(a->pre, b->pre));
    CHECK(a->bos == b->bos && a->eos == b->eos && a->unk == b->unk && a->pad == b->pad);
    if (a->n_tokens) CHECK(a->add_bos == b->add_bos && a->add_eos == b->add_eos);
    if (a->n_tokens != b->n_tokens || a->n_merges != b->n_merges) return;
    for (int32_t i = 0; i < a->n_tokens; i++) {
        check_note("token %d", i);
        CHECK(same_str(a->tokens[i].text, b->tokens[i].text) && a->tokens[i].kind == b->tokens[i].kind);
        if (a->model == VOCAB_SPM) CHECK(a->tokens[i].score == b->tokens[i].score);
    }
    for (int32_t i = 0; i < a->n_merges; i++) CHECK(same_str(a->merges[i], b->merges[i]));
}

static const char *const texts[] = {
    "Once upon a time, there was a little girl named Lily.",
    "  two  blanks, tabs\t\tand\n\n lines \n",
    "don't we'll I'M 1234567 3.14 x_1 ->",
    "caf\xc3\xa9 na\xc3\xafve \xe2\x80\x9cquotes\xe2\x80\x9d \xf0\x9f\x98\x80\xf0\x9f\x91\x8d\xe4\xbd\xa0\xe5\xa5\xbd",
    "<s> </s> <|im_start|>user<|im_end|>",
    "\xff\xfe broken \xc3",
    "",
};

// The same ids from both, with and without the spellings of control tokens.
static void check_equal_ids(const struct vocab *a, const struct vocab *b) {
    tokenizer *s = NULL, *t = NULL;
    rn_error err = {0};
    if (a->n_tokens && CHECK_OK(tokenizer_create(a, &s, &err), &err) && CHECK_OK(tokenizer_create(b, &t, &err), &err))
        for (size_t i = 0; i < 2 * sizeof texts / sizeof *texts; i++) {
            int32_t *x = NULL, *y = NULL;
            size_t n_x = 0, n_y = 0;
            const char *text = texts[i / 2];
            check_note("%s", text);
            CHECK_OK(tokenizer_encode(s, text, strlen(text), true, i % 2, &x, &n_x, NULL, &err), &err);
            CHECK_OK(tokenizer_encode(t, text, strlen(text), true, i % 2, &y, &n_y, NULL, &err), &err);
            CHECK(n_x == n_y && (n_x == 0 || memcmp(x, y, n_x * sizeof *x) == 0));
            mem_free(x);
            mem_free(y);
        }
    tokenizer_destroy(s);
    tokenizer_destroy(t);
}

static void check_equal_ends(const struct vocab *a, const struct vocab *b) {
    int32_t x[64], y[64];
    const int n_x = vocab_end_tokens(a, x, 64), n_y = vocab_end_tokens(b, y, 64);
    CHECK(a->n_tokens == 0 || (n_x == n_y && memcmp(x, y, (size_t)n_x * sizeof *x) == 0));
}

// Matrices of the folder's type as they are, vectors as F32.
static void check_equal_tensors(const package *folder, const package *file) {
    CHECK_INT(package_n_tensors(file), package_n_tensors(folder));
    for (size_t i = 0; i < package_n_tensors(folder); i++) {
        const struct tensor_view *x = package_tensor_at(folder, i), *y = package_tensor(file, x->name);
        check_note("%s", x->name);
        if (!CHECK(y != NULL) || !CHECK_INT(y->type, x->n_dims < 2 ? TENSOR_F32 : x->type)) continue;
        CHECK(memcmp(x->ne, y->ne, sizeof x->ne) == 0);
        if (x->n_dims >= 2) {
            CHECK_MEM(y->data, x->data, x->n_bytes);
            continue;
        }
        float *want = new_floats(x->ne[0]);
        tensor_type_info(x->type)->dequantize_row(x->data, want, x->ne[0]);
        CHECK_MEM(y->data, want, 4 * x->ne[0]);
        free(want);
    }
}

static void check_round_trip(const char *folder) {
    const rn_quantize_options opt = options_of(NULL);
    rn_error err = {0};
    if (!CHECK_OK(rn_convert(folder, at("made.gguf"), &opt, &err), &err)) return;
    package *a = open_package(folder), *b = open_package(at("made.gguf"));
    if (a && b) {
        size_t n_a = 0, n_b = 0;
        const char *t_a = package_chat_template(a, &n_a), *t_b = package_chat_template(b, &n_b);
        check_equal_hparams(package_hparams(a), package_hparams(b));
        check_equal_vocab(package_vocab(a), package_vocab(b));
        check_equal_ids(package_vocab(a), package_vocab(b));
        check_equal_ends(package_vocab(a), package_vocab(b));
        check_equal_tensors(a, b);
        CHECK((t_a == NULL) == (t_b == NULL) && n_a == n_b && (!t_a || memcmp(t_a, t_b, n_a) == 0));
    }
    package_close(a);
    package_close(b);
}

TEST(a_converted_folder_says_what_the_folder_says) {
    static const char *const dtypes[] = {"F32", "F16", "BF16"};
    for (size_t i = 0; i < 3; i++) {
        check_note("%s", dtypes[i]);
        write_folder(at("folder"), dtypes[i], NULL);
        check_round_trip(at("folder"));
    }
}

TEST(converted_models_tokenize_as_their_folders_do) {
    static const char *const folders[] = {"models/stories/hf", "models/stories/draft-hf", "goldens/llama",
                                          "goldens/llama3-rope"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        const char *folder = shared_path(folders[i]);
        check_note("%s", folders[i]);
        if (folder)
            check_round_trip(folder);
        else
            test_skip("no shared material: set RUNNEL_SHARED");
    }
}

TEST(every_rope_scaling_reads_back_as_it_was) {
    static const char *const scalings[] = {
        "\"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 4.0}",
        "\"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 8.0, \"low_freq_factor\": 1.0, \"high_freq_factor\": 4.0, "
        "\"original_max_position_embeddings\": 32}",
        "\"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": 4.0}",
        "\"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": 2.5, \"beta_fast\": 16, \"beta_slow\": 2, "
        "\"original_max_position_embeddings\": 16}",
    };
    for (size_t i = 0; i < sizeof scalings / sizeof *scalings; i++) {
        char *config = folder_config_with("\"rope_scaling\": null", scalings[i]);
        check_note("%s", scalings[i]);
        write_folder(at("scaled"), "F32", config);
        check_round_trip(at("scaled"));
        free(config);
    }
}

// All names in config.json give the same factor for cosines and sines.
TEST(yarn_keeps_its_magnitude) {
    static const char *const more[] = {"\"attention_factor\": 1.25", "\"mscale\": 0.707, \"mscale_all_dim\": 0.5",
                                       "\"mscale\": 2.0"};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        char to[512];
        const rn_quantize_options opt = options_of(NULL);
        rn_error err = {0};
        snprintf(to, sizeof to, "\"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": 4.0, %s}", more[i]);
        char *config = folder_config_with("\"rope_scaling\": null", to);
        check_note("%s", more[i]);
        write_folder(at("yarn"), "F32", config);
        free(config);
        if (!CHECK_OK(rn_convert(at("yarn"), at("yarn.gguf"), &opt, &err), &err)) return;
        package *a = open_package(at("yarn")), *b = open_package(at("yarn.gguf"));
        if (a && b) {
            const double want = (double)rope_magnitude(package_hparams(a)),
                         got = (double)rope_magnitude(package_hparams(b));
            CHECK(fabs(got - want) <= 2e-7 * want); // one rounding more
        }
        package_close(a);
        package_close(b);
    }
}

static void note_warning(void *user, rn_log_level level, const char *text) {
    char *all = user;
    CHECK_INT(level, RN_LOG_WARN);
    strcat(all, text);
}

TEST(what_gguf_has_no_key_for_is_said_in_a_key_of_our_own) {
    rn_quantize_options opt = options_of(NULL);
    char said[1024] = "";
    opt.log = note_warning, opt.log_user = said;
    rn_error err = {0};
    char *config =
        folder_config_with("\"rope_scaling\": null",
                           "\"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": 4.0, \"truncate\": false}");
    write_folder(at("exact"), "F32", config);
    free(config);
    CHECK_OK(rn_convert(at("exact"), at("exact.gguf"), &opt, &err), &err);
    CHECK_STR(
        said,
        "key llama.runnel.yarn_exact_ramp: is runnel's own, since GGUF has none for it; other readers ignore it");
    package *folder = NULL, *file = NULL;
    CHECK_OK(package_open(at("exact"), NULL, &folder, &err), &err);
    CHECK_OK(package_open(at("exact.gguf"), NULL, &file, &err), &err);
    if (folder && file) check_same_hparams(package_hparams(folder), package_hparams(file));
    CHECK(file && package_hparams(file)->rope_exact_ramp);
    package_close(folder);
    package_close(file);
}

TEST(the_file_type_is_what_was_asked_for_or_what_the_folder_has) {
    static const struct {
        const char *dtype, *type;
        uint32_t want;
    } rows[] = {{"F32", NULL, 0}, {"F16", NULL, 1}, {"BF16", NULL, 32}, {"BF16", "f32", 0}, {"F32", "q8_0", 7}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const rn_quantize_options opt = options_of(rows[i].type);
        rn_error err = {0};
        struct gguf g = {0};
        size_t n;
        write_folder(at("typed"), rows[i].dtype, NULL);
        check_note("%s as %s", rows[i].dtype, rows[i].type ? rows[i].type : "it is");
        if (!CHECK_OK(rn_convert(at("typed"), at("typed.gguf"), &opt, &err), &err)) continue;
        uint8_t *bytes = read_file(at("typed.gguf"), &n);
        if (CHECK_OK(gguf_read(&g, bytes, n, &err), &err))
            CHECK_INT(gguf_load_u32(gguf_find(&g, "general.file_type")->value), rows[i].want);
        gguf_free(&g);
        free(bytes);
    }
}

static void check_same_tensor_bytes(const package *a, const package *b) {
    CHECK_INT(package_n_tensors(a), package_n_tensors(b));
    for (size_t i = 0; i < package_n_tensors(a); i++) {
        const struct tensor_view *x = package_tensor_at(a, i), *y = package_tensor_at(b, i);
        check_note("%s", x->name);
        CHECK_STR(y->name, x->name);
        CHECK(x->type == y->type && x->n_bytes == y->n_bytes && memcmp(x->data, y->data, x->n_bytes) == 0);
    }
}

TEST(the_default_models_folder_becomes_the_very_tensors_of_the_shipped_file) {
    const char *folder = shared_path("models/stories/hf");
    const rn_quantize_options f32 = options_of("f32"), q8 = options_of("Q8_0");
    rn_error err = {0};
    if (!folder) {
        test_skip("no shared material: set RUNNEL_SHARED");
        return;
    }
    package *want = open_package(RUNNEL_SOURCE_DIR "/models/stories.gguf");
    if (!want || !CHECK_OK(rn_convert(folder, at("at_once.gguf"), &q8, &err), &err) ||
        !CHECK_OK(rn_convert(folder, at("plain.gguf"), &f32, &err), &err) ||
        !CHECK_OK(rn_quantize(at("plain.gguf"), at("in_two.gguf"), &q8, &err), &err))
        return;
    static const char *const made[] = {"at_once.gguf", "in_two.gguf"};
    for (int i = 0; i < 2; i++) {
        package *got = open_package(at(made[i]));
        if (got) check_same_tensor_bytes(want, got);
        package_close(got);
    }
    package_close(want);
}

// ---- goldens --------------------------------------------------------------------------------------------------------

static void check_golden(const char *dir, const char *sub, int n_cases) {
    const rn_quantize_options opt = options_of("f32");
    char folder[600];
    rn_error err = {0};
    struct golden g;
    struct rig_options o = rig_defaults();
    o.codec = KV_F32;
    snprintf(folder, sizeof folder, "%s%s", dir, sub);
    if (!shared_path(folder)) {
        test_skip("no shared material: set RUNNEL_SHARED");
        return;
    }
    char out[512];
    snprintf(out, sizeof out, "%s", at("golden.gguf"));
    if (!CHECK_OK(rn_convert(shared_path(folder), out, &opt, &err), &err)) return;
    if (golden_open(&g, true, dir, out, &o)) golden_compare(&g, 0, n_cases);
    golden_close(&g);
}

TEST(a_converted_llama_gives_the_logits_and_greedy_text_of_transformers) { check_golden("goldens/llama", "", 6); }
TEST(a_converted_model_with_a_tied_head_does) { check_golden("goldens/small-llama", "", 5); }
TEST(a_model_with_biases_does) { check_golden("goldens/llama-bias", "", 5); }
TEST(a_model_with_llama3_rope_scaling_does) { check_golden("goldens/llama3-rope", "", 6); }
TEST(a_model_with_yarn_rope_scaling_does) { check_golden("goldens/llama-yarn", "", 6); }
TEST(a_model_with_linear_rope_scaling_does) { check_golden("goldens/llama-linear", "", 6); }
TEST(a_bf16_folder_does_once_it_is_f32) { check_golden("goldens/small-llama", "/bf16", 5); }
TEST(an_f16_folder_does) { check_golden("goldens/small-llama", "/f16", 5); }
TEST(a_folder_in_shards_does) { check_golden("goldens/small-llama", "/sharded", 5); }

// ---- faults ---------------------------------------------------------------------------------------------------------

TEST(the_same_bytes_come_out_for_every_number_of_threads) {
    uint8_t *first = NULL;
    size_t n_first = 0;
    write_folder(at("threads"), "BF16", NULL);
    for (int n_threads = 1; n_threads <= 3; n_threads++) {
        rn_quantize_options opt = options_of("f16");
        rn_error err = {0};
        size_t n;
        opt.n_threads = n_threads;
        if (!CHECK_OK(rn_convert(at("threads"), at("threads.gguf"), &opt, &err), &err)) break;
        uint8_t *bytes = read_file(at("threads.gguf"), &n);
        if (!first) {
            first = bytes, n_first = n;
            continue;
        }
        CHECK_INT(n, n_first);
        CHECK_MEM(bytes, first, n);
        free(bytes);
    }
    free(first);
}

TEST(a_weight_file_of_the_folder_is_not_overwritten) {
    const rn_quantize_options opt = options_of(NULL);
    rn_error err = {0};
    write_folder(at("own"), "F32", NULL);
    CHECK_FAILS(rn_convert(at("own"), at("own/model.safetensors"), &opt, &err), RN_E_ARG, &err);
    CHECK_HAS(err.text, "model.safetensors: is an input file too");
}

TEST(a_full_disk_leaves_nothing) {
    const rn_quantize_options opt = options_of(NULL);
    struct rlimit before;
    write_folder(at("full"), "F32", NULL);
    getrlimit(RLIMIT_FSIZE, &before);
    void (*const handler)(int) = signal(SIGXFSZ, SIG_IGN);
    for (size_t room = 0; room < 4000; room += 371) {
        rn_error err = {0};
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){room, before.rlim_max});
        const rn_status st = rn_convert(at("full"), at("full.gguf"), &opt, &err);
        setrlimit(RLIMIT_FSIZE, &before);
        check_note("room for %zu bytes", room);
        CHECK_FAILS(st, RN_E_IO, &err);
        CHECK_INT(n_files_in(temp_dir(), "full.gguf"), 0);
    }
    signal(SIGXFSZ, handler);
}

static bool shrink_at_half(void *user, rn_phase phase, uint64_t done, uint64_t total) {
    if (phase == RN_PHASE_WRITE && done > total / 2) CHECK(truncate(user, 100) == 0);
    return false;
}
TEST(a_folder_whose_weights_shrink_is_noticed_and_leaves_the_old_file) {
    static const char *const types[] = {NULL, "f16"}; // copied, converted
    for (size_t i = 0; i < 2; i++) {
        rn_quantize_options opt = options_of(types[i]);
        rn_error err = {0};
        size_t n;
        char weights[512];
        write_folder(at("shrinks"), "F32", NULL);
        write_file(at("shrunk.gguf"), "old", 3);
        snprintf(weights, sizeof weights, "%s", at("shrinks/model.safetensors"));
        opt.progress = shrink_at_half, opt.progress_user = weights;
        check_note("%s", types[i] ? types[i] : "as it is");
        CHECK_FAILS(rn_convert(at("shrinks"), at("shrunk.gguf"), &opt, &err), RN_E_IO, &err);
        CHECK_HAS(err.text, "model.safetensors: shrank from ");
        char *old = (char *)read_file(at("shrunk.gguf"), &n);
        CHECK_STR(old, "old");
        CHECK_INT(n_files_in(temp_dir(), "shrunk"), 1);
        free(old);
    }
}

// Two shards, 16 tokens, a template: everything that a folder may hold.
static void write_full_folder(const char *path) {
    static const char tokens[] =
        "{\"added_tokens\":[{\"id\":2,\"content\":\"</s>\",\"special\":true}],\"pre_tokenizer\":{\"type\":\"ByteLevel\","
        "\"add_prefix_space\":false},\"decoder\":{\"type\":\"ByteLevel\"},\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,"
        "\"b\":1,\"c\":3,\"d\":4,\"e\":5,\"f\":6,\"g\":7,\"h\":8,\"i\":9,\"j\":10,\"k\":11,\"l\":12,\"m\":13,\"he\":14,"
        "\"hel\":15},\"merges\":[\"h e\",\"he l\"]}}";
    static const char config[] = "{\"eos_token\":\"</s>\",\"chat_template\":\"{{ messages }}\"}";
    static const char norm[] = "model.norm.weight", embedding[] = "model.embed_tokens.weight";
    static const char *const layer[] = {"input_layernorm",  "self_attn.q_proj", "self_attn.k_proj",
                                        "self_attn.v_proj", "self_attn.o_proj", "post_attention_layernorm",
                                        "mlp.gate_proj",    "mlp.up_proj",      "mlp.down_proj"};
    char file[600], index[2048];
    struct st_builder b;
    size_t n;
    write_folder(path, "F32", NULL);
    snprintf(file, sizeof file, "%s/model.safetensors", path);
    CHECK(remove(file) == 0);
    for (int shard = 0; shard < 2; shard++) {
        st_begin(&b);
        b.omit = shard == 0 ? norm : NULL;
        if (shard == 0)
            st_model(&b);
        else
            st_tensor(&b, norm, 1, 8, 0);
        uint8_t *weights = st_finish(&b, &n);
        snprintf(file, sizeof file, "%s/%d.safetensors", path, shard);
        write_file(file, weights, n);
        free(weights);
    }
    int n_index = snprintf(index, sizeof index, "{\"weight_map\":{\"%s\":\"1.safetensors\",\"%s\":\"0.safetensors\"",
                           norm, embedding);
    for (size_t i = 0; i < sizeof layer / sizeof *layer; i++)
        n_index += snprintf(index + n_index, sizeof index - (size_t)n_index,
                            ",\"model.layers.0.%s.weight\":\"0.safetensors\"", layer[i]);
    n_index += snprintf(index + n_index, sizeof index - (size_t)n_index, "}}");
    snprintf(file, sizeof file, "%s/model.safetensors.index.json", path);
    write_file(file, index, (size_t)n_index);
    snprintf(file, sizeof file, "%s/tokenizer.json", path);
    write_file(file, tokens, sizeof tokens - 1);
    snprintf(file, sizeof file, "%s/tokenizer_config.json", path);
    write_file(file, config, sizeof config - 1);
}

static rn_status convert_once(void *user) {
    const rn_quantize_options opt = options_of("f16");
    return rn_convert(user, at("nomem.gguf"), &opt, NULL);
}
TEST(each_failed_allocation_is_reported_and_leaves_nothing) {
    char folder[512];
    snprintf(folder, sizeof folder, "%s", at("nomem"));
    write_folder(folder, "F32", NULL);
    CHECK(check_each_failed_allocation(convert_once, folder, __FILE__, __LINE__));
    CHECK_INT(n_files_in(temp_dir(), "nomem.gguf"), 1); // of the last run, in which none failed
    remove(at("nomem.gguf"));
    snprintf(folder, sizeof folder, "%s", at("full-nomem"));
    write_full_folder(folder);
    CHECK(check_each_failed_allocation(convert_once, folder, __FILE__, __LINE__));
    CHECK_INT(n_files_in(temp_dir(), "nomem.gguf"), 1);
}
