// tests/lm/nextn_folders_test.c - next-token-prediction layers of Hugging Face folders. The folders
// are the goldens' with such a layer added, whose own layer is a copy of the model's last one. What
// it gives is compared with a model of that one layer, fed with the projected pair in plain double
// arithmetic, and with the GGUF file converted from the folder.
#include "tests/check.h"
#include "tests/support/folder_builder.h"
#include "tests/support/plain_layer.h"
#include <jansson.h>
#include <math.h>
#include <runnel/tools.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { N = PLAIN_ROWS, EMBD = 64, VOCAB = 288 };

struct family {
    const char *golden;
    int n_nextn;                                    // what config.json says; -1: nothing
    const char *layer;                              // prefix of the added layer's names; NULL: no layer
    const char *enorm, *hnorm, *proj, *norm, *head; // head NULL: the model's own
    const char *second;                             // of another layer with the same tensors; NULL: there is none
    bool plus_one;                                  // norms multiply by 1 + w
    const char *kind_member; // of config.json, with which the only layer of a model is like the copied one
    int kind_value;
    const char *extra, *extra_type; // one more tensor; NULL: none
    const char *class_name;         // in place of the golden's; NULL: as it is
    bool hidden_first;              // in the pairs that `proj` reads
};
static const struct family families[] = {
    {"deepseek-v3", 1, "model.layers.3.", "model.layers.3.enorm.weight", "model.layers.3.hnorm.weight",
     "model.layers.3.eh_proj.weight", "model.layers.3.shared_head.norm.weight",
     .head = "model.layers.3.shared_head.head.weight", .kind_member = "first_k_dense_replace"},
    {"glm4-moe", 1, "model.layers.2.", "model.layers.2.enorm.weight", "model.layers.2.hnorm.weight",
     "model.layers.2.eh_proj.weight", "model.layers.2.shared_head.norm.weight",
     .kind_member = "first_k_dense_replace"},
    {"qwen3-next", -1, "mtp.layers.0.", "mtp.pre_fc_norm_embedding.weight", "mtp.pre_fc_norm_hidden.weight",
     "mtp.fc.weight", "mtp.norm.weight", .plus_one = true, .kind_member = "full_attention_interval", .kind_value = 1},
    {"qwen3.5", -1, "mtp.layers.0.", "mtp.pre_fc_norm_embedding.weight", "mtp.pre_fc_norm_hidden.weight",
     "mtp.fc.weight", "mtp.norm.weight", .plus_one = true, .kind_member = "full_attention_interval", .kind_value = 1},
    {"qwen2", 1, "model.mtp_layers.0.", "model.mtp_layers.0.token_layernorm.weight",
     "model.mtp_layers.0.hidden_layernorm.weight", "model.mtp_layers.0.input_proj.weight",
     "model.mtp_layers.0.final_layernorm.weight", .kind_member = "max_window_layers", .class_name = "MiMoForCausalLM",
     .hidden_first = true},
};
enum { N_FAMILIES = sizeof families / sizeof *families };

// ---- folders ------------------------------------------------------------------------------------

// A tensor of the golden folder under a name of its own.
static void copy_tensor(struct st_builder *b, const char *name, const json_t *entry, const uint8_t *data) {
    const json_t *offsets = json_object_get(entry, "data_offsets"), *dims = json_object_get(entry, "shape");
    const size_t begin = (size_t)json_integer_value(json_array_get(offsets, 0)),
                 end = (size_t)json_integer_value(json_array_get(offsets, 1));
    char shape[64] = "";
    for (size_t d = 0; d < json_array_size(dims); d++)
        snprintf(shape + strlen(shape), sizeof shape - strlen(shape), d ? ",%d" : "%d",
                 (int)json_integer_value(json_array_get(dims, d)));
    st_bytes(b, name, json_string_value(json_object_get(entry, "dtype")), shape, data + begin, end - begin);
}

// Seeds of the added layer's own tensors.
enum { ENORM = 1, HNORM, PROJ, NORM, HEAD };

static void put_nextn(struct st_builder *b, const struct family *f) {
    st_random(b, f->enorm, ENORM, EMBD, 0);
    st_random(b, f->hnorm, HNORM, EMBD, 0);
    st_random(b, f->proj, PROJ, EMBD, 2 * EMBD);
    st_random(b, f->norm, NORM, EMBD, 0);
    if (f->head) st_random(b, f->head, HEAD, VOCAB, EMBD);
}

// A tensor of one number, in the type.
static void put_extra(struct st_builder *b, const char *name, const char *type) {
    st_bytes(b, name, type, "1", "\0\0\0", strcmp(type, "F32") == 0 ? 4 : 1);
}

// The golden's tensors and the added layer; or, alone, that layer as the only one of a model with
// its norm and head.
static uint8_t *weights_of(const struct family *f, int32_t last, bool alone, const char *omit, size_t *n_bytes) {
    struct st_builder b;
    uint64_t n_header;
    char path[128], front[32];
    snprintf(path, sizeof path, "goldens/%s/model.safetensors", f->golden);
    snprintf(front, sizeof front, "model.layers.%d.", last);
    uint8_t *file = read_file(shared_path(path), n_bytes);
    memcpy(&n_header, file, sizeof n_header);
    json_t *entry, *header = json_loadb((const char *)file + 8, (size_t)n_header, 0, NULL);
    const char *name;
    st_begin(&b);
    b.omit = omit;
    json_object_foreach(header, name, entry) {
        char other[128];
        const uint8_t *data = file + 8 + n_header;
        const bool is_last = strncmp(name, front, strlen(front)) == 0,
                   is_own = strncmp(name, "model.layers.", 13) == 0 || strcmp(name, "model.norm.weight") == 0 ||
                            (f->head && strcmp(name, "lm_head.weight") == 0);
        if (strcmp(name, "__metadata__") == 0) continue;
        if (!alone || !is_own) copy_tensor(&b, name, entry, data);
        if (!is_last || (!alone && !f->layer)) continue;
        snprintf(other, sizeof other, "%s%s", alone ? "model.layers.0." : f->layer, name + strlen(front));
        copy_tensor(&b, other, entry, data);
        if (alone || !f->second) continue;
        snprintf(other, sizeof other, "%s%s", f->second, name + strlen(front));
        copy_tensor(&b, other, entry, data);
    }
    if (alone) {
        st_random(&b, "model.norm.weight", NORM, EMBD, 0);
        if (f->head) st_random(&b, "lm_head.weight", HEAD, VOCAB, EMBD);
    } else if (f->layer) {
        put_nextn(&b, f);
    }
    b.omit = NULL;
    if (f->extra) put_extra(&b, f->extra, f->extra_type);
    json_decref(header);
    free(file);
    return st_finish(&b, n_bytes);
}

// Writes the folder; out: its path. n_nextn: what config.json says, -1: nothing.
static bool write_folder(const struct family *f, const char *name, bool alone, int n_nextn, const char *omit,
                         char out[512]) {
    char path[600];
    size_t n;
    snprintf(path, sizeof path, "goldens/%s/config.json", f->golden);
    json_t *config = json_load_file(shared_path(path), 0, NULL);
    if (!CHECK(config != NULL)) return false;
    const int32_t last = (int32_t)json_integer_value(json_object_get(config, "num_hidden_layers")) - 1;
    if (alone) {
        json_object_set_new(config, "num_hidden_layers", json_integer(1));
        json_object_set_new(config, f->kind_member, json_integer(f->kind_value));
    }
    json_object_del(config, "num_nextn_predict_layers");
    if (f->class_name) json_object_set_new(config, "architectures", json_pack("[s]", f->class_name));
    if (n_nextn >= 0) json_object_set_new(config, "num_nextn_predict_layers", json_integer(n_nextn));
    snprintf(out, 512, "%s/%s-%s", temp_dir(), f->golden, name);
    bool ok = CHECK(mkdir(out, 0700) == 0);
    snprintf(path, sizeof path, "%s/config.json", out);
    ok = ok && CHECK(json_dump_file(config, path, 0) == 0);
    json_decref(config);
    uint8_t *bytes = weights_of(f, last, alone, omit, &n);
    snprintf(path, sizeof path, "%s/model.safetensors", out);
    ok = ok && CHECK(write_file(path, bytes, n));
    free(bytes);
    return ok;
}

static bool is_there(void) {
    if (shared_path("goldens")) return true;
    test_skip("no shared material: set RUNNEL_SHARED");
    return false;
}

// ---- what the layer gives -----------------------------------------------------------------------

static struct rig_options options(void) {
    struct rig_options o = rig_defaults();
    o.codec = KV_F32;
    return o;
}

struct results {
    float *logits, *hidden;
};
static struct results new_results(void) { return (struct results){new_floats(N * VOCAB), new_floats(N * EMBD)}; }
static void free_results(struct results *r) {
    free(r->logits);
    free(r->hidden);
}

// The layer of a folder or file, over the base's hidden states. vectors: these, NULL: not wanted.
static bool run_layer(const char *path, const int32_t *tokens, int32_t n_step, struct results *out, float *vectors) {
    const struct part_spec spec = {.kind = PART_NEXTN};
    const struct rig_options o = options();
    struct rig base, part = {0};
    float *read = new_floats(N * EMBD);
    const bool ok = rig_open_file(&base, path, &o) && CHECK_INT(package_hparams(base.pkg)->n_layer_after, 1) &&
                    part_hidden_states(&base, tokens, read) && rig_open_part(&part, &base, NULL, &spec, &o) &&
                    part_run(&part, tokens, read, n_step, out->logits, out->hidden);
    if (vectors) memcpy(vectors, read, N * EMBD * sizeof *read);
    rig_close(&part);
    rig_close(&base);
    free(read);
    return ok;
}

// What the layer reads, in plain arithmetic: the projection of both norms' results side by side, of
// the folder's own tensors.
static bool project_pairs(const struct family *f, const char *folder, const int32_t *tokens, const float *vectors,
                          float *out) {
    char path[600];
    package *p = NULL;
    rn_error err = {0};
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    if (!CHECK_OK(package_open_part(path, NULL, &p, &err), &err)) return false;
    struct plain_matrix embd = plain_weights(p, "model.embed_tokens.weight"), proj = plain_weights(p, f->proj),
                        norms[] = {plain_weights(p, f->enorm), plain_weights(p, f->hnorm)};
    for (int32_t k = 0; k < 2; k++)
        for (int32_t i = 0; i < EMBD && f->plus_one; i++) norms[k].w[i] += 1;
    for (int32_t r = 0; r < N; r++) {
        double pair[2 * EMBD], x[EMBD];
        double *const of_token = pair + (f->hidden_first ? EMBD : 0), *const of_hidden =
                                                                          pair + (f->hidden_first ? 0 : EMBD);
        for (int32_t i = 0; i < EMBD; i++) {
            of_token[i] = (double)embd.w[tokens[r] * EMBD + i];
            of_hidden[i] = (double)vectors[r * EMBD + i];
        }
        plain_rms_norm(of_token, EMBD, norms[0].w, 1e-6);
        plain_rms_norm(of_hidden, EMBD, norms[1].w, 1e-6);
        plain_multiply(&proj, pair, x);
        for (int32_t i = 0; i < EMBD; i++) out[r * EMBD + i] = (float)x[i];
    }
    free(embd.w), free(proj.w), free(norms[0].w), free(norms[1].w);
    package_close(p);
    return true;
}

// The model of that layer alone, with the pairs in place of its embeddings.
static bool run_alone(const char *path, const int32_t *tokens, const float *pairs, struct results *out) {
    const struct rig_options o = options();
    struct rig r;
    const bool ok = rig_open_file(&r, path, &o) && part_run(&r, tokens, pairs, N, out->logits, out->hidden);
    rig_close(&r);
    return ok;
}

static double largest_difference(const float *a, const float *b, size_t n) {
    double most = 0;
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs((double)a[i] - (double)b[i]));
    return most;
}

// The layer is quantized like any other. By the cosine of all logits it stays close to what it was
// (rounding may choose other experts), while logits of a wrong layer would be unrelated.
static void check_quantized(const char *gguf, const int32_t *tokens, const struct results *want) {
    struct results got = new_results();
    char path[700];
    rn_error err = {0};
    rn_quantize_options opt;
    rn_quantize_options_init(&opt);
    opt.type = "Q8_0";
    snprintf(path, sizeof path, "%s.q8", gguf);
    if (CHECK_OK(rn_quantize(gguf, path, &opt, &err), &err) && run_layer(path, tokens, N, &got, NULL)) {
        double ab = 0, aa = 0, bb = 0;
        for (int32_t i = 0; i < N * VOCAB; i++) {
            const double a = (double)want->logits[i], b = (double)got.logits[i];
            ab += a * b, aa += a * a, bb += b * b;
        }
        check_note("%s: cosine %g", path, ab / sqrt(aa * bb));
        CHECK(ab / sqrt(aa * bb) > 0.9);
    }
    free_results(&got);
}

TEST(a_next_token_layer_of_a_folder_gives_what_its_definition_says_and_the_bits_of_the_converted_file) {
    int32_t tokens[N];
    if (!is_there()) return;
    random_tokens(tokens, N, VOCAB, 3);
    for (size_t i = 0; i < N_FAMILIES; i++) {
        struct results got = new_results(), plain = new_results(), cut = new_results(), file = new_results();
        float *vectors = new_floats(N * EMBD), *pairs = new_floats(N * EMBD);
        char folder[512], alone[512], gguf[600];
        rn_error err = {0};
        check_note("%s", families[i].golden);
        if (write_folder(&families[i], "nextn", false, families[i].n_nextn, NULL, folder) &&
            write_folder(&families[i], "alone", true, -1, NULL, alone) &&
            run_layer(folder, tokens, N, &got, vectors) &&
            project_pairs(&families[i], folder, tokens, vectors, pairs) && run_alone(alone, tokens, pairs, &plain)) {
            const double hidden = largest_difference(got.hidden, plain.hidden, N * EMBD),
                         logits = largest_difference(got.logits, plain.logits, N * VOCAB);
            check_note("%s: hidden states differ by %g, logits by %g", families[i].golden, hidden, logits);
            CHECK(hidden < 1e-4);
            CHECK(logits < 1e-4);
            snprintf(gguf, sizeof gguf, "%s.gguf", folder);
            if (CHECK_OK(rn_convert(folder, gguf, NULL, &err), &err) && run_layer(gguf, tokens, N, &file, NULL) &&
                run_layer(folder, tokens, 3, &cut, NULL)) {
                CHECK_MEM(file.logits, got.logits, N * VOCAB * sizeof *got.logits);
                CHECK_MEM(file.hidden, got.hidden, N * EMBD * sizeof *got.hidden);
                CHECK_MEM(cut.logits, got.logits, N * VOCAB * sizeof *got.logits);
                check_quantized(gguf, tokens, &got);
            }
        }
        free_results(&got), free_results(&plain), free_results(&cut), free_results(&file);
        free(vectors);
        free(pairs);
    }
}

TEST(several_next_token_layers_share_the_tensors_that_the_folder_has_once) {
    struct family two = families[2];
    const struct rig_options o = options();
    char folder[512];
    struct rig base = {0};
    int32_t tokens[N];
    float *vectors = new_floats(N * EMBD);
    struct results of[2] = {new_results(), new_results()};
    two.second = "mtp.layers.1.";
    if (is_there()) {
        random_tokens(tokens, N, VOCAB, 3);
        if (write_folder(&two, "two", false, -1, NULL, folder) && rig_open_file(&base, folder, &o) &&
            CHECK_INT(package_hparams(base.pkg)->n_layer_after, 2) && part_hidden_states(&base, tokens, vectors)) {
            for (int32_t k = 0; k < 2; k++) {
                struct rig part;
                if (rig_open_part(&part, &base, NULL, &(struct part_spec){PART_NEXTN, .number = k}, &o))
                    part_run(&part, tokens, vectors, N, of[k].logits, of[k].hidden);
                rig_close(&part);
            }
            CHECK(of[0].logits[0] != 0);
            CHECK_MEM(of[1].logits, of[0].logits, N * VOCAB * sizeof *vectors);
        }
        rig_close(&base);
    }
    free_results(&of[0]), free_results(&of[1]);
    free(vectors);
}

// ---- folders that lack something ----------------------------------------------------------------

TEST(a_folder_without_the_layers_that_its_config_counts_is_the_model_alone) {
    struct family without = families[1];
    char folder[512];
    rn_error err = {0};
    package *p = NULL;
    if (!is_there()) return;
    without.layer = NULL;
    if (write_folder(&without, "without", false, 1, NULL, folder) &&
        CHECK_OK(package_open(folder, NULL, &p, &err), &err)) {
        CHECK_INT(package_hparams(p)->n_layer, 2);
        CHECK_INT(package_hparams(p)->n_layer_after, 0);
    }
    package_close(p);
}

// The layer is left out for the reason `why`: the model has the golden's logits, and the part is
// refused with the reason.
static void check_left_out(const char *folder, const struct family *f, const char *why) {
    struct family alone = *f;
    const struct rig_options o = options();
    struct rig with = {0}, without = {0};
    char plain[512], name[32];
    int32_t tokens[N];
    float *got = new_floats(N * VOCAB), *want = new_floats(N * VOCAB);
    snprintf(name, sizeof name, "plain%s", strrchr(folder, '-'));
    alone.layer = NULL;
    random_tokens(tokens, N, VOCAB, 3);
    if (rig_open_file(&with, folder, &o) && write_folder(&alone, name, false, -1, NULL, plain) &&
        rig_open_file(&without, plain, &o)) {
        struct model *part = NULL;
        rn_error err = {0};
        const struct part_spec spec = {.kind = PART_NEXTN};
        CHECK_INT(package_hparams(with.pkg)->n_layer_after, 0);
        CHECK_STR(package_nextn_left_out(with.pkg), why);
        CHECK(strstr(package_left_out(with.pkg), why) != NULL);
        CHECK(package_left_out(without.pkg) == NULL);
        CHECK_INT(model_build_part(NULL, &spec, with.model, &part, &err), RN_E_ARG);
        CHECK(strstr(err.text, "next-token layer 0: the file has 0 that can be used: ") != NULL);
        CHECK(strstr(err.text, why) != NULL);
        if (rig_eval_fresh(&with, tokens, N, got) && rig_eval_fresh(&without, tokens, N, want))
            CHECK_MEM(got, want, N * VOCAB * sizeof *got);
    }
    rig_close(&with);
    rig_close(&without);
    free(got);
    free(want);
}

static void keep_warning(void *user, rn_log_level level, const char *text) {
    if (level == RN_LOG_WARN) snprintf(user, 512, "%s", text);
}

TEST(a_model_runs_without_next_token_layers_that_cannot_be_used_and_says_why) {
    static const struct {
        const char *why;
        int family, n_nextn;
        const char *omit, *extra, *type, *want;
    } rows[] = {
        {"projection", 1, 1, "model.layers.2.eh_proj.weight",
         .want = "tensor model.layers.2.eh_proj.weight: missing"},
        {"norm", 0, 1, "model.layers.3.hnorm.weight", .want = "tensor model.layers.3.hnorm.weight: missing"},
        {"an expert", 0, 1, "model.layers.3.mlp.experts.7.up_proj.weight",
         .want = "tensor model.layers.3.mlp.experts.7.up_proj.weight: missing"},
        {"shared projection", 2, -1, "mtp.fc.weight", .want = "tensor mtp.fc.weight: missing"},
        {"attention", 3, -1, "mtp.layers.0.self_attn.k_norm.weight",
         .want = "tensor mtp.layers.0.self_attn.k_norm.weight: missing"},
        {"the layer's first norm", 3, -1, "mtp.layers.0.input_layernorm.weight",
         .want = "tensor mtp.layers.0.input_layernorm.weight: missing"},
        {"not counted", 1, 0, .want = "config.json counts 0 such layers"},
        {"counted by nobody", 1, -1, .want = "config.json counts 0 such layers"},
        {"not counted, and partial", 0, 0, "model.layers.3.eh_proj.weight",
         .want = "config.json counts 0 such layers"},
        {"a tensor that nothing reads", 0, 1, .extra = "model.layers.3.extra.weight", .type = "F32",
         .want = "tensor model.layers.3.extra.weight: DeepseekV3ForCausalLM does not use it"},
        {"one of all such layers", 2, -1, .extra = "mtp.extra.weight", .type = "F32",
         .want = "tensor mtp.extra.weight: Qwen3NextForCausalLM does not use it"},
        {"another type", 1, 1, "model.layers.2.enorm.weight", "model.layers.2.enorm.weight", "F8_E4M3",
         "tensor model.layers.2.enorm.weight: type F8_E4M3 is not supported; F32, F16 and BF16 are"},
    };
    if (!is_there()) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct family f = families[rows[i].family];
        char folder[512], name[16], file[600], warning[512] = "";
        rn_error err = {0};
        rn_quantize_options opt;
        check_note("%s", rows[i].why);
        snprintf(name, sizeof name, "bad-%zu", i);
        f.extra = rows[i].extra, f.extra_type = rows[i].type;
        if (!write_folder(&f, name, false, rows[i].n_nextn, rows[i].omit, folder)) continue;
        check_left_out(folder, &families[rows[i].family], rows[i].want);
        rn_quantize_options_init(&opt);
        opt.log = keep_warning, opt.log_user = warning;
        snprintf(file, sizeof file, "%s.gguf", folder);
        if (CHECK_OK(rn_convert(folder, file, &opt, &err), &err)) CHECK(strstr(warning, rows[i].want) != NULL);
    }
}

TEST(layers_after_the_last_that_are_no_next_token_layers_are_refused_by_name) {
    struct family f = families[1];
    char folder[512];
    rn_error err = {0};
    package *p = NULL;
    if (!is_there()) return;
    f.layer = NULL, f.extra = "model.layers.2.input_layernorm.weight", f.extra_type = "F32";
    if (!write_folder(&f, "longer", false, 0, NULL, folder)) return;
    CHECK_INT(package_open(folder, NULL, &p, &err), RN_E_FORMAT);
    CHECK(strstr(err.text, "tensor model.layers.2.input_layernorm.weight: Glm4MoeForCausalLM of 2 layers does not "
                           "use it, so the model would run wrongly") != NULL);
}
