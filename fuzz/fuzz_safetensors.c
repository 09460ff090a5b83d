// fuzz/fuzz_safetensors.c - any bytes as the weights of a folder, or, when they begin with a brace, as the index of its shards.
#include "base/mem.h"
#include "walk_package.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char config[] =
    "{\"model_type\":\"llama\",\"vocab_size\":2,\"hidden_size\":2,\"intermediate_size\":1,\"num_hidden_layers\":1,"
    "\"num_attention_heads\":1,\"max_position_embeddings\":8,\"rms_norm_eps\":1e-5,\"tie_word_embeddings\":true,"
    "\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":8,\"low_freq_factor\":1,\"high_freq_factor\":4}}";

// Two shards, a header of one tensor each.
#define HEADER(name) "{\"" name "\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}"
static const char norm_shard[] = "\x49\0\0\0\0\0\0\0" HEADER("model.norm.weight   ") "12345678";
static const char other_shard[] = "\x49\0\0\0\0\0\0\0" HEADER("model.embed_tokens.w") "12345678";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    const bool index = n > 0 && data[0] == '{';
    const struct package_bytes files[] = {
        {"config.json", (const uint8_t *)config, sizeof config - 1},
        {index ? "model.safetensors.index.json" : "model.safetensors", data, n},
        {"a.safetensors", (const uint8_t *)norm_shard, sizeof norm_shard - 1},
        {"b.safetensors", (const uint8_t *)other_shard, sizeof other_shard - 1},
    };
    const long live = mem_live();
    package *p = NULL;
    rn_error err = {0};
    const rn_status st = package_from_folder_bytes("fuzz", files, sizeof files / sizeof *files, &p, &err);
    must((st == RN_OK) == (p != NULL));
    if (p)
        walk_package(p);
    else
        must(err.text[0] != 0);
    package_close(p);
    must(mem_live() == live);
    return 0;
}
