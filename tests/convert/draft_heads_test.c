// tests/convert/draft_heads_test.c - draft heads as GGUF files: the same tensors, or smaller ones, and what is refused.
#include "formats/package.h"
#include "tests/check.h"
#include "tests/support/draft_heads.h"
#include "tests/support/gguf_builder.h"
#include <math.h>
#include <runnel/tools.h>
#include <stdlib.h>
#include <string.h>

static uint8_t *eagle_with_embedding(const package *p, size_t *n) { return made_eagle(p, true, 1, n); }
static uint8_t *eagle_3(const package *p, size_t *n) { return made_eagle3(p, 1, n); }
static uint8_t *medusa(const package *p, size_t *n) { return made_medusa(p, 2, 1, n); }

static const struct kind {
    const char *name;
    uint8_t *(*make)(const package *model, size_t *n);
} kinds[] = {{"medusa", medusa}, {"eagle", eagle_with_embedding}, {"eagle3", eagle_3}};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static const char *temp_path(const char *name) {
    static char paths[4][600];
    static unsigned turn;
    char *const out = paths[turn++ % 4];
    snprintf(out, sizeof paths[0], "%s/%s", temp_dir(), name);
    return out;
}

static const char *model_path(void) { return RUNNEL_SOURCE_DIR "/models/stories.gguf"; }

// A file of heads for the default model.
static const char *write_heads(const struct kind *k) {
    package *model;
    rn_error err = {0};
    size_t n;
    if (!CHECK_OK(package_open(model_path(), NULL, &model, &err), &err)) return NULL;
    uint8_t *const bytes = k->make(model, &n);
    const char *const path = temp_path("heads.safetensors");
    const bool ok = CHECK(write_file(path, bytes, n));
    free(bytes);
    package_close(model);
    return ok ? path : NULL;
}

static float *numbers(const struct tensor_view *t) {
    const size_t n_rows = t->n_bytes / t->row_bytes, k = (size_t)t->ne[0];
    float *const x = calloc(n_rows * k, sizeof *x);
    for (size_t i = 0; i < n_rows; i++)
        tensor_type_info(t->type)->dequantize_row(t->data + i * t->row_bytes, x + i * k, k);
    return x;
}

// The root of the sum of squared differences over that of squares.
static double difference(const struct tensor_view *a, const struct tensor_view *b) {
    const size_t n = (size_t)(a->ne[0] * a->ne[1]);
    float *const x = numbers(a), *const y = numbers(b);
    double sum = 0, all = 0;
    for (size_t i = 0; i < n; i++) sum += pow((double)x[i] - (double)y[i], 2), all += pow((double)x[i], 2);
    free(x), free(y);
    return sqrt(sum / all);
}

// Of each tensor: vectors stay, matrices differ by at most `most`, and are of the type where one was asked for.
static void compare(const package *from, const package *to, enum tensor_type type, double most) {
    size_t n_from, n_to;
    const int32_t *const map = package_token_map(from, &n_from), *const other = package_token_map(to, &n_to);
    CHECK_INT(package_n_tensors(to), package_n_tensors(from));
    for (size_t i = 0; i < package_n_tensors(from); i++) {
        const struct tensor_view *const a = package_tensor_at(from, i), *const b = package_tensor(to, a->name);
        check_note("tensor %s", a->name);
        if (!CHECK(b != NULL)) continue;
        CHECK_INT(b->n_dims, a->n_dims);
        CHECK(b->ne[0] == a->ne[0] && b->ne[1] == a->ne[1]);
        CHECK_INT(b->type, a->n_dims == 2 ? type : TENSOR_F32);
        CHECK(difference(a, b) <= (a->n_dims == 2 ? most : 0));
    }
    if (CHECK_INT(n_to, n_from) && map) CHECK_MEM(other, map, n_from * sizeof *map);
}

TEST(heads_become_gguf_files_with_the_same_tensors) {
    static const struct {
        const char *type;
        enum tensor_type of_matrices;
        double most;
    } types[] = {{NULL, TENSOR_F32, 0}, {"Q8_0", TENSOR_Q8_0, 0.01}, {"q4_0", TENSOR_Q4_0, 0.15}};
    for (size_t k = 0; k < N_KINDS; k++) {
        const char *const path = write_heads(&kinds[k]), *const out = temp_path("heads.gguf");
        for (size_t i = 0; path && i < sizeof types / sizeof *types; i++) {
            package *from = NULL, *to = NULL;
            rn_error err = {0};
            rn_quantize_options o;
            rn_quantize_options_init(&o);
            o.type = types[i].type, o.n_threads = 1;
            check_note("%s, %s", kinds[k].name, types[i].type ? types[i].type : "as it is");
            if (CHECK_OK(rn_convert_draft_heads(path, out, &o, &err), &err) &&
                CHECK_OK(package_open_part(path, NULL, &from, &err), &err) &&
                CHECK_OK(package_open_part(out, NULL, &to, &err), &err))
                compare(from, to, types[i].of_matrices, types[i].most);
            package_close(from);
            package_close(to);
        }
    }
}

TEST(a_file_of_heads_in_gguf_is_converted_again_with_what_it_says_of_the_head) {
    static const char says[] = "{\"eagle_aux_hidden_state_layer_ids\": [1, 3, 6], \"norm_before_residual\": true}";
    const char *const path = write_heads(&kinds[2]), *const first = temp_path("first.gguf");
    const char *const second = temp_path("second.gguf"), *const config = temp_path("config.json");
    package *from = NULL, *to = NULL;
    rn_error err = {0};
    if (path && CHECK(write_file(config, says, sizeof says - 1)) &&
        CHECK_OK(rn_convert_draft_heads(path, first, NULL, &err), &err) && CHECK(remove(config) == 0) &&
        CHECK_OK(rn_convert_draft_heads(first, second, NULL, &err), &err) &&
        CHECK_OK(package_open_part(first, NULL, &from, &err), &err) &&
        CHECK_OK(package_open_part(second, NULL, &to, &err), &err)) {
        const struct part_options *const o = package_part_options(to);
        compare(from, to, TENSOR_F32, 0);
        CHECK(o->has_taps && o->taps[0] == 1 && o->taps[1] == 3 && o->taps[2] == 6);
        CHECK(o->norm_before_residual && !o->norm_before_fc);
    }
    package_close(from);
    package_close(to);
}

TEST(what_is_no_file_of_heads_is_refused) {
    const char *const path = write_heads(&kinds[0]), *const out = temp_path("out.gguf");
    rn_error err = {0};
    rn_quantize_options o;
    rn_quantize_options_init(&o);
    CHECK_FAILS(rn_convert_draft_heads(NULL, out, NULL, &err), RN_E_ARG, &err);
    CHECK_FAILS(rn_convert_draft_heads(path, path, NULL, &err), RN_E_ARG, &err);
    CHECK(strstr(err.text, "is an input file too"));
    CHECK_FAILS(rn_convert_draft_heads(temp_dir(), out, NULL, &err), RN_E_IO, &err);
    CHECK(strstr(err.text, "holds neither medusa_lm_head.safetensors nor model.safetensors"));
    CHECK_FAILS(rn_convert_draft_heads(model_path(), out, NULL, &err), RN_E_UNSUPPORTED, &err);
    CHECK(strstr(err.text, "key general.architecture: 'llama' is no draft head: medusa, eagle and eagle3 are"));
    o.imatrix = "x.dat";
    CHECK_FAILS(rn_convert_draft_heads(path, out, &o, &err), RN_E_ARG, &err);
    CHECK_STR(err.text, "imatrix: not of draft heads");
}

// ---- broken lists of tokens -----------------------------------------------------------------------------------------

static void check_tokens(const char *name, uint32_t type, const void *data, uint64_t n, uint64_t n_bytes,
                         const char *why) {
    struct gguf_builder b;
    package *p = NULL;
    rn_error err = {0};
    size_t n_file;
    gb_begin(&b, 3);
    gb_str(&b, "general.architecture", "eagle3");
    if (strcmp(name, "d2t") == 0)
        gb_tensor(&b, name, type, 1, &n, data, n_bytes);
    else
        gb_array(&b, name, GB_I32, data, n, 4);
    uint8_t *const bytes = gb_finish(&b, &n_file);
    check_note("%s", why);
    CHECK_FAILS(package_part_from_bytes("head", bytes, n_file, &p, &err), RN_E_FORMAT, &err);
    CHECK(strstr(err.text, why));
    package_close(p);
    free(bytes);
}

TEST(lists_of_tokens_that_do_not_ascend_or_lie_outside_are_refused_by_name) {
    static const int32_t falling[] = {3, 3}, negative[] = {-1, 4};
    static const int64_t large[] = {1, INT64_MAX}, below[] = {5, 4};
    check_tokens("draft.tokens", 0, falling, 2, 0,
                 "head: key draft.tokens: item 1: 3 is no token after the one before");
    check_tokens("draft.tokens", 0, negative, 2, 0, "key draft.tokens: item 0: -1 is no token");
    check_tokens("draft.tokens", 0, falling, 0, 0, "key draft.tokens: no tokens");
    check_tokens("d2t", 27, large, 2, sizeof large, "tensor d2t: item 1: 9223372036854775807 is no token");
    check_tokens("d2t", 27, below, 2, sizeof below, "tensor d2t: item 1: 4 is no token after the one before");
    check_tokens("d2t", 27, below, 4000, sizeof below, "tensor d2t: 4000 numbers at offset 0 end beyond the file");
    check_tokens("d2t", 0, below, 2, 8, "tensor d2t: must be I64 of 1 dimension");
}
