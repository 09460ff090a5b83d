// cli/info_print.c - the two forms of `info`.
#include "cli/info_print.h"
#include "app/json_write.h"
#include "app/term.h"
#include "app/wrap.h"
#include "cli/memory_print.h"
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

// A line "label         text", made plain for the terminal. label "": more of the line above.
__attribute__((format(printf, 3, 4))) static void row(bytes *to, const char *label, const char *fmt, ...) {
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    bytes_add_format(to, "%-14s", label);
    term_add_plain(to, text, strlen(text));
    bytes_add_text(to, "\n");
}

static void add_shape(bytes *to, const rn_model_info *m) {
    char n[HUMAN_BYTES], wide[HUMAN_BYTES];
    row(to, "parameters", "%s", human_count(m->n_params, n));
    row(to, "shape", "%d layers, %d wide, feed-forward %d, %d heads of %d (%d for keys and values)", m->n_layer,
        m->n_embd, m->n_ff, m->n_head, m->head_dim, m->n_head_kv);
    if (m->n_expert) row(to, "experts", "%d of %d, %d for each token", m->n_expert, m->n_ff_expert, m->n_expert_used);
    row(to, "trained for", "%s positions", human_count((uint64_t)m->n_ctx_train, wide));
    for (int32_t i = 0; i < m->n_types; i++) {
        char size[HUMAN_BYTES];
        row(to, i ? "" : "weights", "%-6s %5d tensors  %8s", m->types[i].type, m->types[i].n_tensors,
            human_size(m->types[i].bytes, size));
    }
}

static void add_model(bytes *to, const rn_model_info *m) {
    char size[HUMAN_BYTES], mapped[HUMAN_BYTES], resident[HUMAN_BYTES], n[HUMAN_BYTES];
    row(to, "file", "%s", m->path);
    row(to, "format", "%s, %s", m->format, human_size(m->file_bytes, size));
    row(to, "in memory", "%s mapped, %s of it resident", human_size(m->mapped_bytes, mapped),
        human_size(m->resident_bytes, resident));
    row(to, "architecture", "%s%s%s", m->architecture, m->name && *m->name ? ": " : "", m->name ? m->name : "");
    if (m->has_weights)
        add_shape(to, m);
    else
        row(to, "weights", "none: this file serves tokenize, detokenize and info");
    row(to, "tokenizer", "%s%s%s%s", m->tokenizer, m->n_vocab ? ", " : "",
        m->n_vocab ? human_count((uint64_t)m->n_vocab, n) : "", m->n_vocab ? " tokens" : "");
    if (m->bos >= 0)
        row(to, "begin token", "%d, %s", m->bos, m->add_bos ? "put before a prompt" : "not put before a prompt");
    else
        row(to, "begin token", "none");
    for (int32_t i = 0; i < m->n_end_tokens; i++)
        row(to, i ? "" : "end tokens", "%d %s", m->end_tokens[i].id, m->end_tokens[i].text);
    if (m->n_end_tokens == 0) row(to, "end tokens", "none");
    row(to, "chat template", m->chat_template ? "%zu bytes" : "none",
        m->chat_template ? strlen(m->chat_template) : (size_t)0);
}

// What is copied, and what stays where the file is.
static void add_weights(bytes *to, const rn_engine_info *e) {
    char repacked[HUMAN_BYTES], mapped[HUMAN_BYTES], copied[HUMAN_BYTES];
    if (e->repacked_bytes)
        row(to, "weights", "%s copied into the layout of %s, %s used in the file",
            human_size(e->repacked_bytes, repacked), e->cpu, human_size(e->mapped_bytes, mapped));
    else
        row(to, "weights", "%s used in the file, none repacked%s", human_size(e->mapped_bytes, mapped),
            e->no_repack ? ": --no-repack" : "");
    if (e->copied_bytes)
        row(to, "", "%s copied when the folder was opened: rows put in order", human_size(e->copied_bytes, copied));
}

static void add_engine(bytes *to, const rn_engine_info *e, const rn_memory *memory) {
    char per_token[HUMAN_BYTES], per_1000[HUMAN_BYTES], n[HUMAN_BYTES];
    bytes_add_text(to, "\n");
    row(to, "kernels", "%s: %s", e->cpu, e->cpu_reason);
    row(to, "arithmetic", "%s", e->arithmetic);
    row(to, "threads", "%s", e->threads_reason); // begins with their number
    row(to, "context", "%s positions", human_count((uint64_t)e->n_ctx, n));
    row(to, "keys, values", "%s, %s a token, %s for 1,000 tokens of context", e->kv_type,
        human_size(e->kv_bytes_per_token, per_token), human_size(e->kv_bytes_per_token * 1000, per_1000));
    add_weights(to, e);
    bytes_add_text(to, "\n");
    memory_add_table(to, e, memory);
}

void info_add_text(bytes *to, const rn_model_info *model, const rn_engine_info *engine, const rn_memory *memory) {
    add_model(to, model);
    if (engine) add_engine(to, engine, memory);
}

static void put_text(json_writer *w, const char *name, const char *text) {
    json_put_key(w, name);
    json_put_string(w, text);
}

static void put_whole(json_writer *w, const char *name, int64_t v) {
    json_put_key(w, name);
    json_put_whole(w, v);
}

static void put_size(json_writer *w, const char *name, uint64_t v) {
    json_put_key(w, name);
    json_put_u64(w, v);
}

static void put_bool(json_writer *w, const char *name, bool v) {
    json_put_key(w, name);
    json_put_bool(w, v);
}

static void put_shape(json_writer *w, const rn_model_info *m) {
    put_whole(w, "n_ctx_train", m->n_ctx_train);
    put_whole(w, "n_embd", m->n_embd);
    put_whole(w, "n_layer", m->n_layer);
    put_whole(w, "n_head", m->n_head);
    put_whole(w, "n_head_kv", m->n_head_kv);
    put_whole(w, "head_dim", m->head_dim);
    put_whole(w, "n_ff", m->n_ff);
    put_whole(w, "n_expert", m->n_expert);
    put_whole(w, "n_expert_used", m->n_expert_used);
    put_whole(w, "n_ff_expert", m->n_ff_expert);
    put_size(w, "n_params", m->n_params);
    json_put_key(w, "types");
    json_put_begin(w, '[');
    for (int32_t i = 0; i < m->n_types; i++) {
        json_put_begin(w, '{');
        put_text(w, "type", m->types[i].type);
        put_whole(w, "n_tensors", m->types[i].n_tensors);
        put_size(w, "bytes", m->types[i].bytes);
        json_put_end(w, '}');
    }
    json_put_end(w, ']');
}

static void put_model(json_writer *w, const rn_model_info *m) {
    put_text(w, "path", m->path);
    put_text(w, "format", m->format);
    put_text(w, "architecture", m->architecture);
    put_text(w, "name", m->name);
    put_size(w, "file_bytes", m->file_bytes);
    put_size(w, "mapped_bytes", m->mapped_bytes);
    put_size(w, "resident_bytes", m->resident_bytes);
    put_bool(w, "has_weights", m->has_weights);
    if (m->has_weights) put_shape(w, m);
    put_bool(w, "has_tokenizer", m->has_tokenizer);
    put_text(w, "tokenizer", m->tokenizer);
    put_text(w, "tokenizer_error", m->tokenizer_error);
    put_whole(w, "n_vocab", m->n_vocab);
    json_put_key(w, "bos");
    if (m->bos >= 0)
        json_put_whole(w, m->bos);
    else
        json_put_null(w);
    put_bool(w, "add_bos", m->add_bos);
    json_put_key(w, "end_tokens");
    json_put_begin(w, '[');
    for (int32_t i = 0; i < m->n_end_tokens; i++) {
        json_put_begin(w, '{');
        put_whole(w, "id", m->end_tokens[i].id);
        put_text(w, "text", m->end_tokens[i].text);
        json_put_end(w, '}');
    }
    json_put_end(w, ']');
    put_text(w, "chat_template", m->chat_template);
}

static void put_engine(json_writer *w, const rn_engine_info *e, const rn_memory *memory) {
    json_put_begin(w, '{');
    put_text(w, "cpu", e->cpu);
    put_text(w, "cpu_reason", e->cpu_reason);
    put_text(w, "arithmetic", e->arithmetic);
    put_whole(w, "n_threads", e->n_threads);
    put_text(w, "threads_reason", e->threads_reason);
    put_whole(w, "n_ctx", e->n_ctx);
    put_whole(w, "n_kv", e->n_kv);
    put_text(w, "kv_type", e->kv_type);
    put_size(w, "mapped_bytes", e->mapped_bytes);
    put_size(w, "copied_bytes", e->copied_bytes);
    put_size(w, "repacked_bytes", e->repacked_bytes);
    put_size(w, "kv_bytes", e->kv_bytes);
    put_size(w, "kv_bytes_per_token", e->kv_bytes_per_token);
    put_size(w, "kv_bytes_per_1000_tokens", e->kv_bytes_per_token * 1000);
    put_size(w, "buffer_bytes", e->buffer_bytes);
    put_size(w, "limit_bytes", e->limit_bytes);
    memory_put(w, memory);
    json_put_end(w, '}');
}

void info_add_json(bytes *to, const rn_model_info *model, const rn_engine_info *engine, const rn_memory *memory) {
    json_writer w = {to, false};
    json_put_begin(&w, '{');
    put_model(&w, model);
    json_put_key(&w, "engine");
    if (engine)
        put_engine(&w, engine, memory);
    else
        json_put_null(&w);
    json_put_end(&w, '}');
    bytes_add_text(to, "\n");
}
