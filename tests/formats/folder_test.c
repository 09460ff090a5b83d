// tests/formats/folder_test.c - what sound Hugging Face folders give: the same tensors as a GGUF file, parameters, end tokens.
#include "base/mem.h"
#include "formats/folder/hf_tensors.h"
#include "formats/limits.h"
#include "tests/check.h"
#include "tests/support/folder_builder.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define N(rows) (sizeof(rows) / sizeof *(rows))
enum { MAX_FILES = 6 };

// A folder in memory as it is put together.
struct files {
    struct package_bytes list[MAX_FILES];
    size_t n;
    void *owned[MAX_FILES];
};
static void add_text(struct files *f, const char *name, const char *text) {
    f->list[f->n++] = (struct package_bytes){name, (const uint8_t *)text, strlen(text)};
}
static void add_weights(struct files *f, struct st_builder *b) {
    size_t n;
    uint8_t *bytes = st_finish(b, &n);
    f->owned[f->n] = bytes;
    f->list[f->n++] = (struct package_bytes){"model.safetensors", bytes, n};
}
static package *open_files(const struct files *f) {
    package *p = NULL;
    rn_error err = {0};
    CHECK_OK(package_from_folder_bytes("some/folder", f->list, f->n, &p, &err), &err);
    return p;
}
static void free_files(struct files *f) {
    for (size_t i = 0; i < MAX_FILES; i++) free(f->owned[i]);
    *f = (struct files){0};
}

// config: NULL for the sound one.
static package *open_sound(struct files *f, const char *config, const char *dtype, bool biases) {
    struct st_builder b;
    st_begin(&b);
    b.dtype = dtype;
    b.biases = biases;
    st_model(&b);
    *f = (struct files){0};
    add_text(f, "config.json", config ? config : folder_config);
    add_weights(f, &b);
    return open_files(f);
}

TEST(a_folder_is_read_as_config_json_says) {
    struct files f;
    package *p = open_sound(&f, NULL, "F32", false);
    if (!p) return;
    const struct hparams *hp = package_hparams(p);
    CHECK(hp->is_checked);
    CHECK_STR(hp->arch, "llama");
    CHECK_STR(hp->file_type, "model");
    CHECK_STR(hp->name, "folder");
    CHECK_STR(package_path(p), "some/folder");
    CHECK_STR(package_format(p), "safetensors");
    CHECK(package_note(p) == NULL);
    CHECK_INT(hp->n_vocab, 16);
    CHECK(hp->n_embd == 8 && hp->n_ff == 12 && hp->n_layer == 1 && hp->n_head == 2 && hp->n_head_kv == 1);
    CHECK(hp->head_dim == 4 && hp->n_rot == 4 && hp->n_ctx_train == 64);
    CHECK(hp->norm_eps == 1e-5f && hp->rope_theta == 10000 && hp->rope_factor == 1 && hp->rope_attn_factor == 1);
    CHECK_INT(hp->rope_scaling, ROPE_SCALING_NONE);
    CHECK_INT(hp->n_swa + hp->n_expert + hp->rope_n_ctx_orig, 0);
    CHECK_INT(package_n_files(p), 1);
    CHECK(package_file_at(p, 0)->data == f.list[1].data);
    const struct vocab *v = package_vocab(p);
    CHECK(v->model == VOCAB_NONE && v->n_tokens == 0 && v->eos == -1 && v->n_end == 1 && v->end[0] == 2);
    package_close(p);
    free_files(&f);
}

// Element i of the tensor that begins at count `first` of the sound folder's numbers.
static float counted(const struct tensor_view *t, size_t i) {
    uint16_t half;
    float x;
    if (t->type == TENSOR_F32) {
        memcpy(&x, t->data + 4 * i, 4);
        return x;
    }
    memcpy(&half, t->data + 2 * i, 2);
    return half;
}

// Element k of row (h, i, j) of [heads, 2, 2] comes from row (h, j, i).
static void check_rows(const struct tensor_view *t, size_t n_rows, size_t n_in, float first) {
    static const size_t from[] = {0, 2, 1, 3};
    for (size_t r = 0; r < n_rows; r++)
        for (size_t k = 0; k < n_in; k++)
            CHECK(counted(t, r * n_in + k) == first + (float)((r / 4 * 4 + from[r % 4]) * n_in + k));
}

TEST(tensors_have_ggufs_names_and_rows_of_queries_and_keys_ggufs_order) {
    static const char *const types[] = {"F32", "F16", "BF16"};
    static const enum tensor_type want[] = {TENSOR_F32, TENSOR_F16, TENSOR_BF16};
    for (size_t i = 0; i < N(types); i++) {
        struct files f;
        char *config =
            folder_config_with("\"rope_scaling\"", "\"attention_bias\": true, \"mlp_bias\": true, \"rope_scaling\"");
        package *p = open_sound(&f, config, types[i], true);
        free(config);
        check_note("%s", types[i]);
        if (!p) continue;
        const struct tensor_view *embd = package_tensor(p, "token_embd.weight"),
                                 *q = package_tensor(p, "blk.0.attn_q.weight"),
                                 *qb = package_tensor(p, "blk.0.attn_q.bias"),
                                 *k = package_tensor(p, "blk.0.attn_k.weight"),
                                 *kb = package_tensor(p, "blk.0.attn_k.bias"),
                                 *v = package_tensor(p, "blk.0.attn_v.weight"),
                                 *down = package_tensor(p, "blk.0.ffn_down.weight");
        if (!CHECK(embd && q && qb && k && kb && v && down)) continue;
        CHECK_INT(package_n_tensors(p), 1 + 9 + 7 + 1);
        CHECK(embd->type == want[i] && embd->n_dims == 2 && embd->ne[0] == 8 && embd->ne[1] == 16);
        CHECK(down->ne[0] == 12 && down->ne[1] == 8 && qb->n_dims == 1 && qb->ne[0] == 8);
        CHECK(counted(embd, 0) == 0 && counted(embd, 127) == 127);
        check_rows(q, 8, 8, 128 + 8); // behind the embedding and a norm
        check_rows(qb, 8, 1, 200);
        check_rows(k, 4, 8, 208);
        check_rows(kb, 4, 1, 240);
        CHECK(counted(v, 0) == 244 && counted(v, 31) == 275);
        // What is not laid out anew stays in the file.
        const uint8_t *file = f.list[1].data, *end = file + f.list[1].n;
        CHECK(v->data >= file && v->data < end && embd->data >= file && embd->data < end);
        CHECK(q->data < file || q->data >= end);
        CHECK(package_made_bytes(p) >= q->n_bytes + k->n_bytes + qb->n_bytes + kb->n_bytes);
        package_close(p);
        free_files(&f);
    }
}

// ---- rope -----------------------------------------------------------------------------------------------------------

TEST(rope_scaling_is_the_same_in_both_spellings) {
    static const struct {
        const char *why, *published, *v5;
        struct hparams want;
    } rows[] = {
        {"none", "\"rope_scaling\": null", "\"rope_parameters\": {\"rope_type\": \"default\"}", {.rope_factor = 1}},
        {"linear",
         "\"rope_scaling\": {\"type\": \"linear\", \"factor\": 4.0}",
         "\"rope_parameters\": {\"rope_type\": \"linear\", \"factor\": 4.0}",
         {.rope_scaling = ROPE_SCALING_LINEAR, .rope_factor = 4}},
        {"yarn",
         "\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 4.0}",
         "\"rope_parameters\": {\"rope_type\": \"yarn\", \"factor\": 4.0, \"beta_fast\": null}",
         {.rope_scaling = ROPE_SCALING_YARN,
          .rope_factor = 4,
          .rope_n_ctx_orig = 64,
          .rope_beta_fast = 32,
          .rope_beta_slow = 1,
          .rope_mscale = 1}},
        {"yarn with all it may have",
         "\"original_max_position_embeddings\": 16, \"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": 4, \"beta_fast\": 16, "
         "\"beta_slow\": 2, \"mscale\": 0.7, \"mscale_all_dim\": 0.5, \"truncate\": false}",
         "\"rope_parameters\": {\"rope_type\": \"yarn\", \"factor\": 4.0, \"beta_fast\": 16.0, \"beta_slow\": 2.0, \"mscale\": 0.7, "
         "\"original_max_position_embeddings\": 16, \"mscale_all_dim\": 0.5, \"truncate\": false}",
         {.rope_scaling = ROPE_SCALING_YARN,
          .rope_factor = 4,
          .rope_n_ctx_orig = 16,
          .rope_beta_fast = 16,
          .rope_beta_slow = 2,
          .rope_mscale = 0.7f,
          .rope_mscale_all = 0.5f,
          .rope_exact_ramp = true}},
        {"mscale without its fellow counts for nothing",
         "\"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": 4, \"mscale\": 0.7}",
         "\"rope_parameters\": {\"rope_type\": \"yarn\", \"factor\": 4, \"mscale_all_dim\": 0.5, \"mscale\": 0}",
         {.rope_scaling = ROPE_SCALING_YARN,
          .rope_factor = 4,
          .rope_n_ctx_orig = 64,
          .rope_beta_fast = 32,
          .rope_beta_slow = 1,
          .rope_mscale = 1}},
        {"yarn with the whole attention factor",
         "\"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": 4, \"attention_factor\": 1.5, \"mscale\": 1, \"mscale_all_dim\": 1}",
         "\"rope_parameters\": {\"rope_type\": \"yarn\", \"factor\": 4, \"attention_factor\": 1.5}",
         {.rope_scaling = ROPE_SCALING_YARN,
          .rope_factor = 4,
          .rope_n_ctx_orig = 64,
          .rope_beta_fast = 32,
          .rope_beta_slow = 1,
          .rope_attn_factor = 1.5f}},
    };
    for (size_t i = 0; i < N(rows); i++)
        for (int spelling = 0; spelling < 2; spelling++) {
            struct files f;
            char *config = folder_config_with("\"rope_scaling\": null", spelling ? rows[i].v5 : rows[i].published);
            package *p = open_sound(&f, config, "F32", false);
            check_note("%s, spelling %d", rows[i].why, spelling);
            if (p) {
                const struct hparams *h = package_hparams(p), *want = &rows[i].want;
                CHECK(h->rope_scaling == want->rope_scaling && h->rope_factor == want->rope_factor);
                CHECK(h->rope_n_ctx_orig == want->rope_n_ctx_orig && h->rope_exact_ramp == want->rope_exact_ramp);
                CHECK(h->rope_beta_fast == want->rope_beta_fast && h->rope_beta_slow == want->rope_beta_slow);
                CHECK(h->rope_mscale == want->rope_mscale && h->rope_mscale_all == want->rope_mscale_all);
                CHECK(h->rope_attn_factor == (want->rope_attn_factor > 0 ? want->rope_attn_factor : 1));
            }
            package_close(p);
            free_files(&f);
            free(config);
        }
}

TEST(rope_theta_may_stand_in_both_places_and_the_inner_one_counts) {
    static const struct {
        const char *from, *to;
        float want;
    } rows[] = {
        {"\"rope_theta\": 10000.0, ", "", 10000},
        {"\"rope_theta\": 10000.0", "\"rope_theta\": 500000", 500000},
        {"\"rope_theta\": 10000.0, \"rope_scaling\": null", "\"rope_parameters\": {\"rope_theta\": 1000000.0}",
         1000000},
        {"\"rope_scaling\": null", "\"rope_parameters\": {\"rope_theta\": 50000.0}", 50000},
    };
    for (size_t i = 0; i < N(rows); i++) {
        struct files f;
        char *config = folder_config_with(rows[i].from, rows[i].to);
        package *p = open_sound(&f, config, "F32", false);
        check_note("%s -> %s", rows[i].from, rows[i].to);
        CHECK(p && package_hparams(p)->rope_theta == rows[i].want);
        package_close(p);
        free_files(&f);
        free(config);
    }
}

// transformers: modeling_rope_utils, in libm's double arithmetic.
static double llama3_want(const struct llama3_rope *r, double theta, int n_rot, int i) {
    const double wave = 2 * acos(-1.0) * pow(theta, 2.0 * i / n_rot), n = r->n_ctx_orig;
    const double low = (double)r->low_freq, high = (double)r->high_freq, factor = (double)r->factor;
    if (wave > n / low) return factor;
    if (wave < n / high) return 1;
    const double s = (n / wave - low) / (high - low);
    return 1 / ((1 - s) / factor + s);
}

TEST(llama3_factors_are_1_for_fast_pairs_the_factor_for_slow_ones_and_between_for_the_rest) {
    static const struct {
        struct llama3_rope r;
        float theta;
        int n_rot;
    } rows[] = {{{true, 8, 1, 4, 8192}, 500000, 128},  {{true, 32, 1, 4, 8192}, 500000, 64},
                {{true, 8, 1, 4, 64}, 50000, 16},      {{true, 8, 1.5f, 3.25f, 2048}, 10000, 96},
                {{true, 0.5f, 1, 4, 8192}, 500000, 8}, {{true, 8, 1, 4, 8192}, 1, 8}};
    for (size_t r = 0; r < N(rows); r++) {
        float got[64];
        int n_fast = 0, n_slow = 0;
        llama3_rope_factors(&rows[r].r, rows[r].theta, rows[r].n_rot, got);
        for (int i = 0; i < rows[r].n_rot / 2; i++) {
            const double want = llama3_want(&rows[r].r, (double)rows[r].theta, rows[r].n_rot, i);
            check_note("row %zu, pair %d: %.9g, want %.9g", r, i, (double)got[i], want);
            CHECK(fabs((double)got[i] - want) <= 1e-7 * want); // a unit in the last place of a float
            n_fast += got[i] == 1;
            n_slow += got[i] == rows[r].r.factor;
        }
        if (r < 3) CHECK(n_fast > 0 && n_slow > 0 && n_fast + n_slow < rows[r].n_rot / 2);
    }
}

TEST(llama3_scaling_becomes_a_tensor_of_factors) {
    struct files f;
    char *config =
        folder_config_with("\"rope_scaling\": null",
                           "\"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 8.0, \"low_freq_factor\": 1.0, "
                           "\"high_freq_factor\": 4.0, \"original_max_position_embeddings\": 32}");
    package *p = open_sound(&f, config, "BF16", false);
    if (p) {
        const struct tensor_view *t = package_tensor(p, "rope_freqs.weight");
        float want[2], got[2];
        llama3_rope_factors(&(struct llama3_rope){true, 8, 1, 4, 32}, 10000, 4, want);
        CHECK(want[0] == 1 && want[1] == 8);
        if (CHECK(t && t->type == TENSOR_F32 && t->n_dims == 1 && t->ne[0] == 2)) {
            memcpy(got, t->data, sizeof got);
            CHECK(got[0] == want[0] && got[1] == want[1]);
        }
        CHECK_INT(package_hparams(p)->rope_scaling, ROPE_SCALING_NONE);
        CHECK(package_hparams(p)->rope_factor == 1 && package_hparams(p)->rope_n_ctx_orig == 0);
    }
    package_close(p);
    free_files(&f);
    free(config);
}

// ---- what describes the text ----------------------------------------------------------------------------------------

TEST(end_tokens_of_both_files_count_once_each) {
    struct st_builder b;
    struct files f = {0};
    int32_t ids[8];
    char *config = folder_config_with("\"eos_token_id\": 2", "\"eos_token_id\": [9, 2]");
    st_begin(&b);
    st_model(&b);
    add_text(&f, "config.json", config);
    add_text(&f, "generation_config.json", "{\"eos_token_id\": [5, 2, 15], \"temperature\": 0.6}");
    add_weights(&f, &b);
    package *p = open_files(&f);
    if (p && CHECK_INT(vocab_end_tokens(package_vocab(p), ids, 8), 4))
        CHECK(ids[0] == 2 && ids[1] == 5 && ids[2] == 9 && ids[3] == 15);
    if (p) CHECK_INT(vocab_end_tokens(package_vocab(p), ids, 3), 3);
    package_close(p);
    free_files(&f);
    free(config);
}

TEST(the_chat_template_is_found_in_each_place_it_may_stand) {
    static const struct {
        const char *why, *name, *text, *want;
    } rows[] = {
        {"none", "x", "", NULL},
        {"a file", "chat_template.jinja", "{{ messages }}\n", "{{ messages }}\n"},
        {"a text", "tokenizer_config.json", "{\"chat_template\": \"a\\nb\"}", "a\nb"},
        {"a list", "tokenizer_config.json",
         "{\"chat_template\": [{\"name\": \"tool_use\", \"template\": \"t\"}, {\"name\": \"default\", \"template\": \"d\"}]}",
         "d"},
        {"a list without a default", "tokenizer_config.json",
         "{\"chat_template\": [{\"name\": \"rag\", \"template\": \"t\"}]}", NULL},
        {"a configuration without one", "tokenizer_config.json", "{\"bos_token\": \"<s>\"}", NULL},
    };
    for (size_t i = 0; i < N(rows); i++) {
        struct st_builder b;
        struct files f = {0};
        size_t n = 0;
        st_begin(&b);
        st_model(&b);
        add_text(&f, "config.json", folder_config);
        add_text(&f, rows[i].name, rows[i].text);
        add_weights(&f, &b);
        package *p = open_files(&f);
        const char *text = p ? package_chat_template(p, &n) : NULL;
        check_note("%s", rows[i].why);
        CHECK((text == NULL) == (rows[i].want == NULL));
        if (text && rows[i].want) CHECK(n == strlen(rows[i].want) && memcmp(text, rows[i].want, n) == 0);
        package_close(p);
        free_files(&f);
    }
}

TEST(a_chat_template_of_a_wrong_kind_or_size_is_refused) {
    enum { TEMPLATE = FOLDER_MAX_TEMPLATE_BYTES, CONFIG = FOLDER_MAX_TOKENIZER_CONFIG_BYTES };
    char *large = malloc(TEMPLATE + 1), *config = malloc(CONFIG + 1);
    if (!large || !config) abort();
    memset(large, 'x', TEMPLATE + 1);
    memset(config, ' ', CONFIG + 1);
    memcpy(config, "{}", 2);
    const struct {
        const char *name, *text;
        size_t n;
        const char *want;
    } rows[] = {
        {"tokenizer_config.json", "{\"chat_template\": 1}", 20,
         "folder/tokenizer_config.json: member chat_template: is a number"},
        {"tokenizer_config.json", "[", 1, "folder/tokenizer_config.json: not JSON"},
        {"tokenizer_config.json", config, CONFIG, NULL},
        {"tokenizer_config.json", config, CONFIG + 1, "folder/tokenizer_config.json: 16777217 bytes, limit 16777216"},
        {"chat_template.jinja", large, TEMPLATE, NULL},
        {"chat_template.jinja", large, TEMPLATE + 1, "folder/chat_template.jinja: 262145 bytes, limit 262144"},
    };
    for (size_t i = 0; i < N(rows); i++) {
        struct st_builder b;
        struct files f = {0};
        package *p = NULL;
        rn_error err = {0};
        st_begin(&b);
        st_model(&b);
        add_text(&f, "config.json", folder_config);
        f.list[f.n++] = (struct package_bytes){rows[i].name, (const uint8_t *)rows[i].text, rows[i].n};
        add_weights(&f, &b);
        const rn_status st = package_from_folder_bytes("folder", f.list, f.n, &p, &err);
        CHECK((st == RN_OK) == (rows[i].want == NULL));
        if (rows[i].want) CHECK_HAS(err.text, rows[i].want);
        package_close(p);
        free_files(&f);
    }
    free(large);
    free(config);
}

TEST(item_17_members_that_ask_for_foreign_code_are_left_aside_and_named) {
    struct files f;
    char *config =
        folder_config_with("\"rope_scaling\"", "\"auto_map\": {\"AutoModel\": \"modeling.X\"}, \"rope_scaling\"");
    package *p = open_sound(&f, config, "F32", false);
    if (p)
        CHECK_STR(package_note(p),
                  "config.json: member auto_map: the model needs Python code of its own, which runnel does not run");
    package_close(p);
    free_files(&f);
    free(config);
}

// ---- on disk --------------------------------------------------------------------------------------------------------

static void path_at(char out[512], const char *folder, const char *name) {
    snprintf(out, 512, "%s/%s%s%s", temp_dir(), folder, *name ? "/" : "", name);
}
static bool put(const char *folder, const char *name, const void *bytes, size_t n) {
    char path[512];
    path_at(path, folder, name);
    return CHECK(write_file(path, bytes, n));
}
static bool make_folder(const char *folder, bool with_config, bool with_weights) {
    struct st_builder b;
    char path[512];
    size_t n;
    path_at(path, folder, "");
    if (!CHECK(mkdir(path, 0700) == 0)) return false;
    st_begin(&b);
    st_model(&b);
    uint8_t *weights = st_finish(&b, &n);
    const bool ok = (!with_config || put(folder, "config.json", folder_config, strlen(folder_config))) &&
                    (!with_weights || put(folder, "model.safetensors", weights, n));
    free(weights);
    return ok;
}

static void check_refused(const char *folder, rn_status want_status, const char *want) {
    char path[512];
    package *p = NULL;
    rn_error err = {0};
    path_at(path, folder, "");
    const long live = mem_live();
    CHECK_FAILS(package_open(path, NULL, &p, &err), want_status, &err);
    CHECK(p == NULL && strncmp(err.text, temp_dir(), strlen(temp_dir())) == 0);
    CHECK_HAS(err.text, want);
    CHECK_INT(mem_live(), live);
}

TEST(a_folder_that_is_no_model_says_what_is_missing) {
    if (!make_folder("empty", false, false) || !make_folder("bare", true, false) ||
        !make_folder("pickled", true, false) || !make_folder("unsaid", false, true))
        return;
    check_refused("empty", RN_E_IO, "empty: is a directory without config.json, so not a model folder");
    check_refused("unsaid", RN_E_IO, "unsaid: is a directory without config.json");
    check_refused("bare", RN_E_IO, "bare: holds neither model.safetensors nor model.safetensors.index.json");
    put("pickled", "pytorch_model.bin", "PK", 2);
    check_refused(
        "pickled", RN_E_UNSUPPORTED,
        "pickled/pytorch_model.bin: a Python pickle, which is not supported: save the model as safetensors");
    check_refused("unsaid/model.safetensors", RN_E_FORMAT,
                  "model.safetensors: not a GGUF file: it is a safetensors file: give the folder that holds it");
}

TEST(a_folder_on_disk_opens_by_any_of_its_names_and_is_watched) {
    char path[512], dotted[520], weights[512];
    package *p = NULL;
    rn_error err = {0};
    if (!make_folder("disk", true, true)) return;
    path_at(path, "disk", "");
    path_at(weights, "disk", "model.safetensors");
    snprintf(dotted, sizeof dotted, "%s/./", path);
    static const enum file_load loads[] = {FILE_LOAD_MAP, FILE_LOAD_READ};
    for (size_t i = 0; i < N(loads); i++) {
        const struct package_options o = {.load = loads[i]};
        if (!CHECK_OK(package_open(i ? dotted : path, &o, &p, &err), &err)) return;
        CHECK_STR(package_hparams(p)->name, "disk");
        CHECK_INT(package_file_at(p, 0)->how, loads[i]);
        CHECK_OK(package_check_files(p, &err), &err);
        package_close(p);
    }
    if (!CHECK_OK(package_open(path, NULL, &p, &err), &err)) return;
    CHECK(truncate(weights, 100) == 0);
    CHECK_FAILS(package_check_files(p, &err), RN_E_IO, &err);
    CHECK_HAS(err.text, "disk/model.safetensors: shrank from ");
    package_close(p);
}

static rn_status open_and_close(void *path) {
    package *p = NULL;
    rn_error err = {0};
    const rn_status st = package_open(path, NULL, &p, &err);
    CHECK((st == RN_OK) == (p != NULL));
    CHECK((st == RN_OK) == (err.text[0] == 0));
    package_close(p);
    return st;
}

TEST(any_failed_allocation_is_reported_and_leaks_nothing) {
    char path[512];
    char *config = folder_config_with(
        "\"rope_scaling\": null", "\"auto_map\": {}, \"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 8, "
                                  "\"low_freq_factor\": 1, \"high_freq_factor\": 4}");
    static const char text[] = "{\"chat_template\": \"a\\nb\", \"eos_token_id\": 3}";
    path_at(path, "nomem", "");
    if (make_folder("nomem", false, true) && put("nomem", "config.json", config, strlen(config)) &&
        put("nomem", "tokenizer_config.json", text, strlen(text)) &&
        put("nomem", "generation_config.json", text, strlen(text)))
        check_each_failed_allocation(open_and_close, path, __FILE__, __LINE__);
    free(config);
}

// ---- the shared goldens ---------------------------------------------------------------------------------------------

static package *open_shared(const char *rel) {
    package *p = NULL;
    rn_error err = {0};
    const char *path = shared_path(rel);
    if (!path)
        test_skip("no shared material: set RUNNEL_SHARED");
    else
        CHECK_OK(package_open(path, NULL, &p, &err), &err);
    return p;
}

TEST(a_folder_has_the_bytes_of_the_gguf_file_converted_from_it) {
    package *folder = open_shared("goldens/small-llama"), *gguf = open_shared("goldens/small-llama/model-f32.gguf");
    if (folder && gguf) {
        const struct hparams *a = package_hparams(folder), *b = package_hparams(gguf);
        CHECK_INT(package_n_tensors(folder), package_n_tensors(gguf));
        for (size_t i = 0; i < package_n_tensors(gguf); i++) {
            const struct tensor_view *want = package_tensor_at(gguf, i), *t = package_tensor(folder, want->name);
            check_note("%s", want->name);
            if (!CHECK(t && t->type == want->type && t->n_dims == want->n_dims && t->n_bytes == want->n_bytes))
                continue;
            CHECK(memcmp(t->ne, want->ne, sizeof t->ne) == 0);
            CHECK(memcmp(t->data, want->data, t->n_bytes) == 0);
        }
        check_note("parameters");
        CHECK(a->n_vocab == b->n_vocab && a->n_ctx_train == b->n_ctx_train && a->n_embd == b->n_embd);
        CHECK(a->n_layer == b->n_layer && a->n_head == b->n_head && a->n_head_kv == b->n_head_kv &&
              a->n_ff == b->n_ff);
        CHECK(a->head_dim == b->head_dim && a->n_rot == b->n_rot && a->norm_eps == b->norm_eps);
        CHECK(a->rope_theta == b->rope_theta && a->rope_scaling == b->rope_scaling &&
              a->rope_factor == b->rope_factor);
    }
    package_close(folder);
    package_close(gguf);
}

TEST(shards_have_the_bytes_of_one_file) {
    package *one = open_shared("goldens/small-llama/bf16"), *many = open_shared("goldens/small-llama/sharded");
    if (one && many) {
        CHECK_STR(package_format(many), "safetensors in 3 shards");
        CHECK_INT(package_n_files(many), 3);
        CHECK_INT(package_n_tensors(many), package_n_tensors(one));
        for (size_t i = 0; i < package_n_tensors(one); i++) {
            const struct tensor_view *want = package_tensor_at(one, i), *t = package_tensor(many, want->name);
            check_note("%s", want->name);
            CHECK(t && t->type == TENSOR_BF16 && t->n_bytes == want->n_bytes &&
                  memcmp(t->data, want->data, t->n_bytes) == 0);
        }
    }
    package_close(one);
    package_close(many);
}

// The default model: a folder and the GGUF file that ships, which holds it quantized.
TEST(the_default_models_folder_and_file_agree_but_for_quantization) {
    package *folder = open_shared("models/stories/hf"), *gguf = open_shared("models/stories/stories-q8_0.gguf");
    if (folder && gguf) {
        const struct hparams *a = package_hparams(folder), *b = package_hparams(gguf);
        CHECK_INT(package_n_tensors(folder), package_n_tensors(gguf));
        for (size_t i = 0; i < package_n_tensors(gguf); i++) {
            const struct tensor_view *want = package_tensor_at(gguf, i), *t = package_tensor(folder, want->name);
            check_note("%s", want->name);
            CHECK(t && t->n_dims == want->n_dims && memcmp(t->ne, want->ne, sizeof t->ne) == 0);
        }
        CHECK(a->n_vocab == b->n_vocab && a->n_ctx_train == b->n_ctx_train && a->rope_theta == b->rope_theta);
    }
    package_close(folder);
    package_close(gguf);
}
