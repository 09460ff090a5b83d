// tests/support/folder_builder.c - see folder_builder.h.
#include "tests/support/folder_builder.h"
#include "base/mem.h"
#include "base/philox.h"
#include "tests/check.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char folder_config[] =
    "{\"architectures\": [\"LlamaForCausalLM\"], \"model_type\": \"llama\", \"vocab_size\": 16,\n"
    " \"hidden_size\": 8, \"intermediate_size\": 12, \"num_hidden_layers\": 1,\n"
    " \"num_attention_heads\": 2, \"num_key_value_heads\": 1, \"max_position_embeddings\": 64,\n"
    " \"rms_norm_eps\": 1e-05, \"rope_theta\": 10000.0, \"rope_scaling\": null,\n"
    " \"eos_token_id\": 2, \"tie_word_embeddings\": true}";

void st_begin(struct st_builder *b) { *b = (struct st_builder){.dtype = "F32", .n_layer = 1}; }

__attribute__((format(printf, 2, 3))) static void put_text(struct gb_bytes *to, const char *fmt, ...) {
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    const int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (n < 0 || (size_t)n >= sizeof text) abort();
    gb_put(to, text, (size_t)n);
}

void st_entry(struct st_builder *b, const char *json) {
    if (b->header.n) put_text(&b->header, ",");
    gb_put(&b->header, json, strlen(json));
}

static void put_counted(struct st_builder *b, uint64_t n) {
    const bool wide = strcmp(b->dtype, "F32") == 0;
    for (uint64_t i = 0; i < n; i++, b->next++) {
        const float x = (float)b->next;
        if (wide)
            gb_put(&b->data, &x, sizeof x);
        else
            gb_put(&b->data, &(uint16_t){(uint16_t)b->next}, 2);
    }
}

void st_tensor(struct st_builder *b, const char *name, int n_dims, uint64_t d0, uint64_t d1) {
    char entry[512], shape[64];
    const size_t begin = b->data.n;
    if (b->omit && strcmp(b->omit, name) == 0) return;
    put_counted(b, n_dims == 1 ? d0 : d0 * d1);
    snprintf(shape, sizeof shape, n_dims == 1 ? "%" PRIu64 : "%" PRIu64 ",%" PRIu64, d0, d1);
    snprintf(entry, sizeof entry, "\"%s\":{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}", name,
             b->dtype, shape, begin, b->data.n);
    st_entry(b, entry);
}

void st_bytes(struct st_builder *b, const char *name, const char *dtype, const char *shape, const void *data,
              size_t n) {
    char entry[512];
    const int written =
        snprintf(entry, sizeof entry, "\"%s\":{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}", name,
                 dtype, shape, b->data.n, b->data.n + n);
    if (written < 0 || (size_t)written >= sizeof entry) abort();
    if (b->omit && strcmp(b->omit, name) == 0) return;
    gb_put(&b->data, data, n);
    st_entry(b, entry);
}

void st_random(struct st_builder *b, const char *name, uint64_t seed, uint64_t d0, uint64_t d1) {
    const size_t n = (size_t)(d0 * (d1 ? d1 : 1));
    float *const x = malloc(n * sizeof *x);
    char shape[64];
    if (!x) abort();
    for (size_t i = 0; i < n; i++) {
        const float u = 2 * (float)philox_uniform(seed, 0, (uint32_t)i, PHILOX_TEST) - 1;
        x[i] = d1 ? u / 8 : 1 + u / 4;
    }
    snprintf(shape, sizeof shape, d1 ? "%" PRIu64 ",%" PRIu64 : "%" PRIu64, d0, d1);
    st_bytes(b, name, "F32", shape, x, n * sizeof *x);
    free(x);
}

void st_model(struct st_builder *b) {
    static const struct {
        const char *name;
        int n_out, n_in; // n_in 0: a vector
    } layer[] = {{"input_layernorm", 8, 0},  {"self_attn.q_proj", 8, 8}, {"self_attn.k_proj", 4, 8},
                 {"self_attn.v_proj", 4, 8}, {"self_attn.o_proj", 8, 8}, {"post_attention_layernorm", 8, 0},
                 {"mlp.gate_proj", 12, 8},   {"mlp.up_proj", 12, 8},     {"mlp.down_proj", 8, 12}};
    char name[128];
    st_tensor(b, "model.embed_tokens.weight", 2, 16, 8);
    for (int l = 0; l < b->n_layer; l++)
        for (size_t i = 0; i < sizeof layer / sizeof *layer; i++) {
            snprintf(name, sizeof name, "model.layers.%d.%s.weight", l, layer[i].name);
            st_tensor(b, name, layer[i].n_in ? 2 : 1, (uint64_t)layer[i].n_out, (uint64_t)layer[i].n_in);
            if (!b->biases || !layer[i].n_in) continue;
            snprintf(name, sizeof name, "model.layers.%d.%s.bias", l, layer[i].name);
            st_tensor(b, name, 1, (uint64_t)layer[i].n_out, 0);
        }
    st_tensor(b, "model.norm.weight", 1, 8, 0);
    if (b->head) st_tensor(b, "lm_head.weight", 2, 16, 8);
}

uint8_t *st_file(const char *header, size_t n_header, const void *data, size_t n_data, size_t *n_bytes) {
    struct gb_bytes file = {0};
    gb_put_u64(&file, n_header);
    gb_put(&file, header, n_header);
    gb_put(&file, data, n_data);
    *n_bytes = file.n;
    return file.data;
}

uint8_t *st_finish(struct st_builder *b, size_t *n_bytes) {
    struct gb_bytes header = {0};
    gb_put(&header, "{", 1);
    gb_put(&header, b->header.data, b->header.n);
    gb_put(&header, "}", 1);
    while (header.n % 8 != 0) gb_put(&header, " ", 1);
    uint8_t *file = st_file((const char *)header.data, header.n, b->data.data, b->data.n, n_bytes);
    free(header.data);
    free(b->header.data);
    free(b->data.data);
    st_begin(b);
    return file;
}

char *folder_config_with(const char *from, const char *to) {
    const char *at = strstr(folder_config, from);
    const size_t n = sizeof folder_config + strlen(to);
    char *text = malloc(n);
    if (!at || !text) abort();
    snprintf(text, n, "%.*s%s%s", (int)(at - folder_config), folder_config, to, at + strlen(from));
    return text;
}

// So that a sanitizer sees the first byte read too far.
static uint8_t *exact(uint8_t *bytes, size_t n) {
    uint8_t *copy = malloc(n ? n : 1);
    if (!copy) abort();
    if (n) memcpy(copy, bytes, n);
    free(bytes);
    return copy;
}

static void check_row(const struct bad_folder *row) {
    struct st_builder b;
    size_t n;
    rn_error err = {0};
    package *p = NULL;
    st_begin(&b);
    b.omit = row->omit;
    st_model(&b);
    b.omit = NULL;
    if (row->add) row->add(&b);
    uint8_t *file = st_finish(&b, &n);
    if (row->spoil) row->spoil(file, &n);
    file = exact(file, n);
    char *config = folder_config_with(row->from ? row->from : "", row->from ? row->to : "");
    const size_t n_config = strlen(config), n_generation = row->generation ? strlen(row->generation) : 0;
    const struct package_bytes files[] = {{"config.json", (const uint8_t *)config, n_config},
                                          {"model.safetensors", file, n},
                                          {"generation_config.json", (const uint8_t *)row->generation, n_generation}};
    const long live = mem_live();
    check_note("%s", row->why);
    const rn_status st = package_from_folder_bytes("bad", files, row->generation ? 3 : 2, &p, &err);
    CHECK((st == RN_OK) == (p != NULL));
    if (row->want) {
        CHECK(st != RN_OK);
        CHECK(strncmp(err.text, "bad", 3) == 0);
        CHECK_HAS(err.text, row->want);
    } else {
        CHECK_OK(st, &err);
    }
    package_close(p);
    CHECK_INT(mem_live(), live);
    free(config);
    free(file);
}

void check_bad_folders(const struct bad_folder *rows, size_t n_rows) {
    for (size_t i = 0; i < n_rows; i++) check_row(&rows[i]);
    check_note("%s", "");
}
