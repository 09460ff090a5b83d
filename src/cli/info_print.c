// cli/info_print.c - prints `info` as text and as JSON.
#include "cli/info_print.h"
#include "app/json_write.h"
#include "app/term.h"
#include "app/wrap.h"
#include "cli/memory_print.h"
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

// Adds a line "label         text" without control characters. label "": continues the line above.
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
    row(to, "shape", "%d layers, width %d, feed-forward %d, %d heads of %d (%d for keys and values)", m->n_layer,
        m->n_embd, m->n_ff, m->n_head, m->head_dim, m->n_head_kv);
    if (m->n_expert) row(to, "experts", "%d of %d, %d for each token", m->n_expert, m->n_ff_expert, m->n_expert_used);
    if (m->left_out) row(to, "left out", "%s", m->left_out);
    row(to, "trained for", "%s positions", human_count((uint64_t)m->n_ctx_train, wide));
    for (int32_t i = 0; i < m->n_types; i++) {
        char size[HUMAN_BYTES];
        row(to, i ? "" : "weights", "%-6s %5d tensors  %8s", m->types[i].type, m->types[i].n_tensors,
            human_size(m->types[i].bytes, size));
    }
}

static void add_chat(bytes *to, const info_chat *chat) {
    if (!chat->tmpl) {
        row(to, "chat template", "none: %s", chat->why);
        return;
    }
    row(to, "chat template", "%s, %zu bytes", rn_template_origin(chat->tmpl), strlen(rn_template_source(chat->tmpl)));
    row(to, "output format", "%s", rn_output_format_of_template(chat->tmpl));
}

static void add_model(bytes *to, const rn_model_info *m, const info_chat *chat) {
    char size[HUMAN_BYTES], mapped[HUMAN_BYTES], resident[HUMAN_BYTES], n[HUMAN_BYTES];
    row(to, "file", "%s", m->path);
    row(to, "format", "%s, %s", m->format, human_size(m->file_bytes, size));
    row(to, "in memory", "%s mapped, %s of it resident", human_size(m->mapped_bytes, mapped),
        human_size(m->resident_bytes, resident));
    row(to, "architecture", "%s%s%s", m->architecture, m->name && *m->name ? ": " : "", m->name ? m->name : "");
    if (m->has_weights)
        add_shape(to, m);
    else
        row(to, "weights", "none: this file works with tokenize, detokenize and info only");
    row(to, "tokenizer", "%s%s%s%s", m->tokenizer, m->n_vocab ? ", " : "",
        m->n_vocab ? human_count((uint64_t)m->n_vocab, n) : "", m->n_vocab ? " tokens" : "");
    if (m->bos >= 0)
        row(to, "begin token", "%d, %s", m->bos, m->add_bos ? "put before a prompt" : "not put before a prompt");
    else
        row(to, "begin token", "none");
    for (int32_t i = 0; i < m->n_end_tokens; i++)
        row(to, i ? "" : "end tokens", "%d %s", m->end_tokens[i].id, m->end_tokens[i].text);
    if (m->n_end_tokens == 0) row(to, "end tokens", "none");
    add_chat(to, chat);
}

// Describes which weights are repacked, mapped and copied.
static void add_weights(bytes *to, const rn_engine_info *e) {
    char repacked[HUMAN_BYTES], mapped[HUMAN_BYTES], copied[HUMAN_BYTES];
    if (e->repacked_bytes)
        row(to, "weights", "%s copied into the layout of %s, %s used in the file",
            human_size(e->repacked_bytes, repacked), e->cpu, human_size(e->mapped_bytes, mapped));
    else
        row(to, "weights", "%s used in the file, none repacked%s", human_size(e->mapped_bytes, mapped),
            e->no_repack ? ": --no-repack" : "");
    if (e->copied_bytes)
        row(to, "", "%s copied when the model was opened: rows reordered", human_size(e->copied_bytes, copied));
}

static void add_engine(bytes *to, const rn_engine_info *e, const rn_memory *memory) {
    char per_token[HUMAN_BYTES], per_1000[HUMAN_BYTES], n[HUMAN_BYTES];
    bytes_add_text(to, "\n");
    row(to, "kernels", "%s: %s", e->cpu, e->cpu_reason);
    row(to, "arithmetic", "%s", e->arithmetic);
    row(to, "threads", "%s", e->threads_reason); // starts with the number of threads
    row(to, "context", "%s positions", human_count((uint64_t)e->n_ctx, n));
    row(to, "keys, values", "%s, %s a token, %s for 1,000 tokens of context", e->kv_type,
        human_size(e->kv_bytes_per_token, per_token), human_size(e->kv_bytes_per_token * 1000, per_1000));
    add_weights(to, e);
    bytes_add_text(to, "\n");
    memory_add_table(to, e, memory);
}

void info_add_text(bytes *to, const rn_model_info *model, const info_chat *chat, const rn_engine_info *engine,
                   const rn_memory *memory) {
    add_model(to, model, chat);
    if (engine) add_engine(to, engine, memory);
}

static void put_shape(json_writer *w, const rn_model_info *m) {
    json_member_whole(w, "n_ctx_train", m->n_ctx_train);
    json_member_whole(w, "n_embd", m->n_embd);
    json_member_whole(w, "n_layer", m->n_layer);
    json_member_whole(w, "n_head", m->n_head);
    json_member_whole(w, "n_head_kv", m->n_head_kv);
    json_member_whole(w, "head_dim", m->head_dim);
    json_member_whole(w, "n_ff", m->n_ff);
    json_member_whole(w, "n_expert", m->n_expert);
    json_member_whole(w, "n_expert_used", m->n_expert_used);
    json_member_whole(w, "n_ff_expert", m->n_ff_expert);
    json_member_string(w, "left_out", m->left_out);
    json_member_u64(w, "n_params", m->n_params);
    json_member_begin(w, "types", '[');
    for (int32_t i = 0; i < m->n_types; i++) {
        json_put_begin(w, '{');
        json_member_string(w, "type", m->types[i].type);
        json_member_whole(w, "n_tensors", m->types[i].n_tensors);
        json_member_u64(w, "bytes", m->types[i].bytes);
        json_put_end(w, '}');
    }
    json_put_end(w, ']');
}

// Describes the template in effect, which may differ from the file's (member `chat_template`).
static void put_chat(json_writer *w, const info_chat *chat) {
    json_member_begin(w, "chat", '{');
    json_member_string(w, "template", chat->tmpl ? rn_template_origin(chat->tmpl) : NULL);
    json_member_string(w, "output_format", chat->tmpl ? rn_output_format_of_template(chat->tmpl) : NULL);
    json_member_string(w, "why_none", chat->tmpl ? NULL : chat->why);
    json_put_end(w, '}');
}

static void put_model(json_writer *w, const rn_model_info *m) {
    json_member_string(w, "path", m->path);
    json_member_string(w, "format", m->format);
    json_member_string(w, "architecture", m->architecture);
    json_member_string(w, "name", m->name);
    json_member_u64(w, "file_bytes", m->file_bytes);
    json_member_u64(w, "mapped_bytes", m->mapped_bytes);
    json_member_u64(w, "resident_bytes", m->resident_bytes);
    json_member_bool(w, "has_weights", m->has_weights);
    if (m->has_weights) put_shape(w, m);
    json_member_bool(w, "has_tokenizer", m->has_tokenizer);
    json_member_string(w, "tokenizer", m->tokenizer);
    json_member_string(w, "tokenizer_error", m->tokenizer_error);
    json_member_whole(w, "n_vocab", m->n_vocab);
    json_put_key(w, "bos");
    if (m->bos >= 0)
        json_put_whole(w, m->bos);
    else
        json_put_null(w);
    json_member_bool(w, "add_bos", m->add_bos);
    json_member_begin(w, "end_tokens", '[');
    for (int32_t i = 0; i < m->n_end_tokens; i++) {
        json_put_begin(w, '{');
        json_member_whole(w, "id", m->end_tokens[i].id);
        json_member_string(w, "text", m->end_tokens[i].text);
        json_put_end(w, '}');
    }
    json_put_end(w, ']');
    json_member_string(w, "chat_template", m->chat_template);
}

static void put_engine(json_writer *w, const rn_engine_info *e, const rn_memory *memory) {
    json_put_begin(w, '{');
    json_member_string(w, "cpu", e->cpu);
    json_member_string(w, "cpu_reason", e->cpu_reason);
    json_member_string(w, "arithmetic", e->arithmetic);
    json_member_whole(w, "n_threads", e->n_threads);
    json_member_string(w, "threads_reason", e->threads_reason);
    json_member_whole(w, "n_ctx", e->n_ctx);
    json_member_whole(w, "n_kv", e->n_kv);
    json_member_string(w, "kv_type", e->kv_type);
    json_member_u64(w, "mapped_bytes", e->mapped_bytes);
    json_member_u64(w, "copied_bytes", e->copied_bytes);
    json_member_u64(w, "repacked_bytes", e->repacked_bytes);
    json_member_u64(w, "kv_bytes", e->kv_bytes);
    json_member_u64(w, "kv_bytes_per_token", e->kv_bytes_per_token);
    json_member_u64(w, "kv_bytes_per_1000_tokens", e->kv_bytes_per_token * 1000);
    json_member_u64(w, "buffer_bytes", e->buffer_bytes);
    json_member_u64(w, "limit_bytes", e->limit_bytes);
    memory_put(w, memory);
    json_put_end(w, '}');
}

void info_add_json(bytes *to, const rn_model_info *model, const info_chat *chat, const rn_engine_info *engine,
                   const rn_memory *memory) {
    json_writer w = {to, false};
    json_put_begin(&w, '{');
    put_model(&w, model);
    put_chat(&w, chat);
    json_put_key(&w, "engine");
    if (engine)
        put_engine(&w, engine, memory);
    else
        json_put_null(&w);
    json_put_end(&w, '}');
    bytes_add_text(to, "\n");
}
