// fuzz/fuzz_config_json.c - any bytes as the config.json of a sound folder, and as its generation_config.json; what opens is built.
#include "base/mem.h"
#include "model/model.h"
#include "walk_package.h"
#include <math.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char sound_config[] =
    "{\"model_type\":\"llama\",\"vocab_size\":2,\"hidden_size\":2,\"intermediate_size\":1,\"num_hidden_layers\":1,"
    "\"num_attention_heads\":1,\"max_position_embeddings\":8,\"rms_norm_eps\":1e-5,\"tie_word_embeddings\":true}";

// The weights of that model: 34 zeros.
static const struct {
    const char *name, *shape;
    int n;
} tensors[] = {
#define L "model.layers.0."
    {"model.embed_tokens.weight", "2,2", 4}, {"model.norm.weight", "2", 2},
    {L "input_layernorm.weight", "2", 2},    {L "post_attention_layernorm.weight", "2", 2},
    {L "self_attn.q_proj.weight", "2,2", 4}, {L "self_attn.k_proj.weight", "2,2", 4},
    {L "self_attn.v_proj.weight", "2,2", 4}, {L "self_attn.o_proj.weight", "2,2", 4},
    {L "mlp.gate_proj.weight", "1,2", 2},    {L "mlp.up_proj.weight", "1,2", 2},
    {L "mlp.down_proj.weight", "2,1", 2},
};
enum { MAX_FILE = 4096 };

static size_t write_weights(uint8_t file[MAX_FILE]) {
    char *header = (char *)file + 8;
    int n = 0, at = 0;
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++, at += 4 * tensors[i - 1].n)
        n += snprintf(header + n, (size_t)(MAX_FILE - 8 - n),
                      "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[%s],\"data_offsets\":[%d,%d]}", i ? "," : "{",
                      tensors[i].name, tensors[i].shape, at, at + 4 * tensors[i].n);
    header[n++] = '}';
    memset(header + n, 0, (size_t)at);
    for (int i = 0; i < 8; i++) file[i] = (uint8_t)((uint64_t)n >> 8 * i);
    return 8 + (size_t)(n + at);
}

static void check_program(const package *p) {
    struct model *m = NULL;
    if (model_build(p, &m, NULL) != RN_OK) return;
    const struct program *program = model_program(m);
    for (int32_t t = 0; t < program->n_ropes; t++) {
        const struct rope_table *rope = &program->ropes[t];
        must(isfinite(rope->magnitude) && rope->magnitude > 0);
        for (int32_t i = 0; i < rope->n_rot / 2; i++) must(isfinite(rope->inv_freq[i]));
    }
    model_destroy(m);
}

static void open_with(const struct package_bytes *config, const struct package_bytes *generation) {
    static uint8_t weights[MAX_FILE];
    static size_t n_weights;
    if (!n_weights) n_weights = write_weights(weights);
    const struct package_bytes files[] = {*config, {"model.safetensors", weights, n_weights}, *generation};
    const long live = mem_live();
    package *p = NULL;
    rn_error err = {0};
    const rn_status st = package_from_folder_bytes("fuzz", files, 3, &p, &err);
    must((st == RN_OK) == (p != NULL));
    if (p) {
        walk_package(p);
        check_program(p);
    } else {
        must(strncmp(err.text, "fuzz", 4) == 0);
    }
    package_close(p);
    must(mem_live() == live);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    const uint8_t *sound = (const uint8_t *)sound_config;
    open_with(&(struct package_bytes){"config.json", data, n},
              &(struct package_bytes){"generation_config.json", (const uint8_t *)"{}", 2});
    open_with(&(struct package_bytes){"config.json", sound, sizeof sound_config - 1},
              &(struct package_bytes){"generation_config.json", data, n});
    return 0;
}
