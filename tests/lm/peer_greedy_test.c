// tests/lm/peer_greedy_test.c - greedy tokens of a random model of four layers in every type, and of some with experts, against those of
// llama.cpp.
//
// peer_greedy.json has its tokens and margins, and the command that made them. RUNNEL_WRITE_MODELS=DIR writes the models there, as
// DIR/NAME.gguf, for that command to read.
#include "tests/check.h"
#include "tests/support/lm_rig.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_IDS = 64 };

// Every type, then experts: of F32, where a row goes to the same ones in both engines, which round activations each in its own way.
static const struct {
    const char *name, *arch;
} with_experts[] = {{"experts-llama", "llama"},
                    {"experts-granitemoe", "granitemoe"},
                    {"experts-qwen2moe", "qwen2moe"},
                    {"experts-gpt-oss", "gpt-oss"},
                    {"experts-glm4moe", "glm4moe"}};
enum { N_MODELS = TENSOR_N_TYPES + sizeof with_experts / sizeof *with_experts };

static const char *model_name(int i) {
    return i < TENSOR_N_TYPES ? tensor_type_info((enum tensor_type)i)->name : with_experts[i - TENSOR_N_TYPES].name;
}
static struct tiny_model model_at(int i) {
    struct tiny_model m = tiny_model_four_layers(i < TENSOR_N_TYPES ? (enum tensor_type)i : TENSOR_F32);
    if (i < TENSOR_N_TYPES) return m;
    tiny_model_add_experts(&m, with_experts[i - TENSOR_N_TYPES].arch);
    if (strcmp(m.arch, "qwen2moe") == 0) m.experts.n_dense = 0; // llama.cpp has no such layers there
    return m;
}

static int32_t argmax(const float *x, int32_t n) {
    int32_t best = 0;
    for (int32_t i = 1; i < n; i++)
        if (x[i] > x[best]) best = i;
    return best;
}

static int32_t read_ids(const json_t *list, int32_t out[MOST_IDS]) {
    const size_t n = json_array_size(list);
    for (size_t i = 0; i < n && i < MOST_IDS; i++) out[i] = (int32_t)json_integer_value(json_array_get(list, i));
    return (int32_t)n;
}

// The peer's tokens are evaluated behind the prompt; wherever its two best logits are at least `least` apart, ours must have the same
// best one. Gives the number of such steps.
static int32_t check_tokens(struct rig *r, const char *type, const int32_t *prompt, int32_t n_prompt,
                            const json_t *want, double least) {
    const json_t *margins = json_object_get(want, "margins");
    const size_t n_vocab = (size_t)r->lm->n_vocab;
    int32_t ids[2 * MOST_IDS], n_compared = 0;
    memcpy(ids, prompt, (size_t)n_prompt * sizeof *ids);
    const int32_t n = read_ids(json_object_get(want, "ids"), ids + n_prompt);
    float *logits = new_floats((size_t)(n_prompt + n) * n_vocab);
    const bool ok = CHECK_INT(json_array_size(margins), n) && rig_append(r, rig_seq(r), ids, n_prompt + n, logits);
    for (int32_t i = 0; ok && i < n; i++) {
        if (json_number_value(json_array_get(margins, (size_t)i)) < least) continue;
        n_compared++;
        check_note("%s, step %d", type, i);
        CHECK_INT(argmax(logits + (size_t)(n_prompt + i - 1) * n_vocab, r->lm->n_vocab), ids[n_prompt + i]);
    }
    free(logits);
    return n_compared;
}

static void write_models(const char *dir) {
    for (int i = 0; i < N_MODELS; i++) {
        const struct tiny_model m = model_at(i);
        char path[600];
        snprintf(path, sizeof path, "%s/%s.gguf", dir, model_name(i));
        CHECK(tiny_model_write(&m, path));
    }
}

TEST(greedy_tokens_of_every_model_are_those_of_llama_cpp_where_its_margin_decides) {
    size_t size = 0;
    int32_t prompt[MOST_IDS];
    if (getenv("RUNNEL_WRITE_MODELS")) write_models(getenv("RUNNEL_WRITE_MODELS"));
    char *const text = (char *)read_file(tests_path("lm/peer_greedy.json"), &size);
    json_t *const golden = text ? json_loadb(text, size, 0, NULL) : NULL;
    const json_t *const types = json_object_get(golden, "types");
    const double least = json_number_value(json_object_get(golden, "least_margin"));
    const int32_t n = read_ids(json_object_get(golden, "prompt"), prompt);
    free(text);
    CHECK(least > 0 && n > 0);
    for (int i = 0; i < N_MODELS && n > 0; i++) {
        const json_t *const want = json_object_get(types, model_name(i));
        const struct tiny_model m = model_at(i);
        struct rig_options o = rig_defaults();
        struct rig r;
        o.codec = KV_F32;
        check_note("%s", model_name(i));
        if (CHECK(want) && rig_open(&r, &m, &o)) {
            const int32_t n_compared = check_tokens(&r, model_name(i), prompt, n, want, least);
            check_note("%s: %d steps of %zu compared", model_name(i), n_compared,
                       json_array_size(json_object_get(want, "ids")));
            CHECK(n_compared >= 16);
        }
        rig_close(&r);
    }
    json_decref(golden);
}
