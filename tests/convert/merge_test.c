// tests/convert/merge_test.c - adapters merged into models, and adapters as GGUF files: the same numbers as at run time.
#include "formats/adapter/adapter_file.h"
#include "tests/check.h"
#include "tests/support/adapter_maker.h"
#include "tests/support/lm_rig.h"
#include "tests/support/npy.h"
#include "tests/support/tiny_model.h"
#include <math.h>
#include <runnel/tools.h>
#include <stdlib.h>
#include <string.h>

enum { N_IDS = 16 };
static const int32_t ids[N_IDS] = {84, 257, 32, 113, 117, 105, 99, 107, 32, 98, 114, 111, 119, 110, 32, 102};

static const char *const cases[][2] = {
    {"llama", "goldens/llama"},
    {"llama-patterns", "goldens/llama"},
    {"llama-head", "goldens/llama"},
    {"gpt2", "goldens/gpt2"},
    {"phi3", "goldens/phi3"},
    {"deepseek-v3", "goldens/deepseek-v3"},
    {"qwen3-next", "goldens/qwen3-next"},
    {"mixtral", "goldens/mixtral"},
};
enum { N_CASES = sizeof cases / sizeof *cases };

static void lora_path(char *out, size_t size, const char *name, const char *file) {
    snprintf(out, size, "%s/tests/lm/lora/%s%s", RUNNEL_SOURCE_DIR, name, file);
}

static void temp_path(char *out, size_t size, const char *name) { snprintf(out, size, "%s/%s", temp_dir(), name); }

// PEFT's logits, from the file that the adapter was merged into.
TEST(a_merged_model_gives_the_logits_of_its_adapter) {
    for (size_t i = 0; i < N_CASES; i++) {
        char adapter[1024], logits[1024], out[1024];
        struct npy want = {0};
        rn_error err = {0};
        rn_quantize_options o;
        const char *base = shared_path(cases[i][1]);
        if (!base) return;
        check_note("%s", cases[i][0]);
        lora_path(adapter, sizeof adapter, cases[i][0], "");
        lora_path(logits, sizeof logits, cases[i][0], "/logits.npy");
        temp_path(out, sizeof out, "merged.gguf");
        rn_quantize_options_init(&o);
        o.merges = &(rn_merge){adapter, 1}, o.n_merges = 1, o.n_threads = 1;
        struct rig r = {0};
        struct rig_options ro = rig_defaults();
        ro.codec = KV_F32;
        if (CHECK_OK(rn_convert(base, out, &o, &err), &err) && npy_read(logits, &want) &&
            rig_open_file(&r, out, &ro)) {
            const size_t n = (size_t)N_IDS * (size_t)r.lm->n_vocab;
            float *got = new_floats(n);
            double largest = 0;
            CHECK_INT(want.shape[0] * want.shape[1], n);
            if (rig_eval_fresh(&r, ids, N_IDS, got))
                for (size_t k = 0; k < n; k++) largest = fmax(largest, fabs((double)got[k] - (double)want.data[k]));
            CHECK(largest < 1e-3);
            free(got);
        }
        npy_free(&want);
        rig_close(&r);
    }
}

// s * B A of one row of B and one column of A.
static double product(const struct adapter_pair *p, uint64_t row, uint64_t col) {
    double sum = 0;
    float *a = new_floats(p->a.ne[0]), *b = new_floats(p->b.ne[0]);
    tensor_type_info(p->b.type)->dequantize_row(p->b.data + row * p->b.row_bytes, b, p->b.ne[0]);
    for (uint64_t j = 0; j < p->rank; j++) {
        tensor_type_info(p->a.type)->dequantize_row(p->a.data + j * p->a.row_bytes, a, p->a.ne[0]);
        sum += (double)p->scale * (double)b[j] * (double)a[col];
    }
    free(a);
    free(b);
    return sum;
}

TEST(an_adapter_converted_to_gguf_is_the_same_adapter) {
    for (size_t i = 0; i < N_CASES; i++) {
        char from[1024], out[1024];
        rn_error err = {0};
        package *p = NULL;
        struct adapter_file *a = NULL, *b = NULL;
        const char *base = shared_path(cases[i][1]);
        if (!base) return;
        check_note("%s", cases[i][0]);
        lora_path(from, sizeof from, cases[i][0], "");
        temp_path(out, sizeof out, "adapter.gguf");
        if (CHECK_OK(rn_convert_adapter(from, base, out, &err), &err) &&
            CHECK_OK(package_open(base, NULL, &p, &err), &err) &&
            CHECK_OK(adapter_file_open(from, p, NULL, &a, &err), &err) &&
            CHECK_OK(adapter_file_open(out, p, NULL, &b, &err), &err) &&
            CHECK_INT(adapter_file_n_pairs(a), adapter_file_n_pairs(b)))
            for (size_t k = 0; k < adapter_file_n_pairs(a); k++) {
                const struct adapter_pair *x = adapter_file_pair(a, k), *y = adapter_file_pair(b, k);
                CHECK_STR(y->tensor, x->tensor);
                if (strcmp(x->tensor, "token_embd.weight") == 0) continue;
                for (uint64_t row = 0; row < 3; row++) {
                    const double want = product(x, row, 5 + row), got = product(y, row, 5 + row);
                    CHECK(fabs(got - want) <= 1e-6 * fabs(want));
                }
            }
        adapter_file_close(a);
        adapter_file_close(b);
        package_close(p);
    }
}

static bool write_tiny(const char *path, enum tensor_type type) {
    const struct tiny_model m = tiny_model_four_layers(type);
    return CHECK(tiny_model_write(&m, path));
}

TEST(a_quantized_model_keeps_its_types_and_what_no_adapter_changes) {
    char base[1024], adapter[1024], out[1024], twice[1024];
    rn_error err = {0};
    rn_quantize_options o;
    package *before = NULL, *after = NULL;
    const struct made_adapter m = {.rank = 2, .alpha = 4, .only = "attn_v", .seed = 1};
    temp_path(base, sizeof base, "base.gguf");
    temp_path(adapter, sizeof adapter, "v.gguf");
    temp_path(out, sizeof out, "out.gguf");
    temp_path(twice, sizeof twice, "twice.gguf");
    rn_quantize_options_init(&o);
    const rn_merge merges[] = {{adapter, 0.5F}, {adapter, 0.5F}};
    o.merges = merges, o.n_merges = 2, o.n_threads = 2;
    if (write_tiny(base, TENSOR_Q4_0) && made_adapter_write(&m, base, adapter) &&
        CHECK_OK(rn_quantize(base, out, &o, &err), &err) && CHECK_OK(package_open(base, NULL, &before, &err), &err) &&
        CHECK_OK(package_open(out, NULL, &after, &err), &err))
        for (size_t i = 0; i < package_n_tensors(before); i++) {
            const struct tensor_view *x = package_tensor_at(before, i), *y = package_tensor_at(after, i);
            CHECK_STR(y->name, x->name);
            CHECK(x->type == y->type && x->n_bytes == y->n_bytes);
            CHECK((memcmp(x->data, y->data, x->n_bytes) != 0) == (strstr(x->name, "attn_v.weight") != NULL));
        }
    package_close(before);
    package_close(after);
    o.n_merges = 0;
    CHECK_FAILS(rn_quantize(base, twice, &o, &err), RN_E_ARG, &err);
    CHECK_STR(err.text, "type: none given");
    o.n_merges = 1;
    CHECK_FAILS(rn_quantize(base, adapter, &o, &err), RN_E_ARG, &err);
    CHECK_HAS(err.text, "is an input file too");
    o.merges = &(rn_merge){base, 1};
    CHECK_FAILS(rn_quantize(base, twice, &o, &err), RN_E_FORMAT, &err);
    CHECK_HAS(err.text, "key general.type");
    o.merges = &(rn_merge){adapter, NAN};
    CHECK_FAILS(rn_quantize(base, twice, &o, &err), RN_E_ARG, &err);
    CHECK_FAILS(rn_convert_adapter(adapter, base, base, &err), RN_E_ARG, &err);
    CHECK_HAS(err.text, "is an input file too");
}

static rn_status merge_once(void *user) {
    const char *const *paths = user;
    rn_quantize_options o;
    rn_quantize_options_init(&o);
    o.merges = &(rn_merge){paths[1], 1}, o.n_merges = 1, o.n_threads = 1;
    const rn_status st = rn_quantize(paths[0], paths[2], &o, NULL);
    return st == RN_OK ? rn_convert_adapter(paths[1], paths[0], paths[2], NULL) : st;
}

TEST(any_failed_allocation_is_reported_and_leaks_nothing) {
    char base[1024], adapter[1024], out[1024];
    const struct tiny_model t = tiny_model_default();
    const struct made_adapter m = {.rank = 2, .alpha = 4, .only = "attn_v", .seed = 1};
    temp_path(base, sizeof base, "small.gguf");
    temp_path(adapter, sizeof adapter, "small-v.gguf");
    temp_path(out, sizeof out, "small-out.gguf");
    const char *paths[] = {base, adapter, out};
    if (CHECK(tiny_model_write(&t, base)) && made_adapter_write(&m, base, adapter))
        check_each_failed_allocation(merge_once, paths, __FILE__, __LINE__);
}
