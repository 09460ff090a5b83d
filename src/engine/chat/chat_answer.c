// engine/chat/chat_answer.c - splits an answer into channels on the reader's side.
//
// A chunk's text passes through the output parser token by token, so that each token can be counted for the channel that is open
// after it. The parser's events are copied, since they are valid only during the call.
#include "base/mem.h"
#include "engine/chat/chat.h"
#include "grammar/calls/call_types.h"
#include "tokenizer/id_list.h"
#include <string.h>

// A piece of the chunk being read. Its texts are offsets in `bytes`, which may still be reallocated; they become pointers at
// the end.
struct piece {
    enum output_channel channel;
    int32_t tool;
    size_t name_at, id_at; // terminated strings; 0: none
    size_t text_at, n_text;
    bool ends, broken;
};

struct answer {
    const tokenizer *tok;
    const struct vocab *vocab;
    output_parser *parser;
    const output_format *format;
    // What the parser reads before the answer: n_before bytes of the prompt, then the prefilled answer.
    struct text_buf begun;
    size_t n_before;
    char *tools_text;       // NULL: they do not matter
    struct json_tree tools; // of it
    struct id_list spelled; // ascending
    // Used by the reader only.
    struct text_buf bytes; // starts with an unused byte, so that offset 0 means none
    struct piece *pieces;
    rn_delta *deltas; // [cap_pieces]
    size_t n_pieces, cap_pieces;
    size_t n_held; // bytes of the prefilled answer that the reader has and the parser still holds back
    size_t n_due;  // bytes of past tokens that have not arrived as text yet
    enum output_channel channel;
    int64_t n_reasoning;
    int32_t n_calls;
    int32_t n_dropped;
    int64_t untruncated;
    bool failed;
};

static rn_status list_spelled(struct answer *a, const output_format *format, rn_error *err) {
    for (int32_t id = 0; id < a->vocab->n_tokens; id++) {
        const enum token_kind kind = a->vocab->tokens[id].kind;
        size_t n;
        if (kind != TOKEN_CONTROL && kind != TOKEN_UNKNOWN) continue;
        const char *const s = tokenizer_piece(a->tok, id, true, &n);
        if (output_format_reads(format, s, n) && !id_list_add(&a->spelled, id))
            return fail(err, RN_E_NOMEM, "chat: out of memory for the tags of an output format");
    }
    return RN_OK;
}

static void note_channel(void *user, const struct output_event *e) { ((struct answer *)user)->channel = e->channel; }

static void count_held(void *user, const struct output_event *e) { ((struct answer *)user)->n_held += e->n_text; }

// A prefilled answer is already in the caller's hands. The parser reads it to reach the right state; bytes that it still holds
// back are not delivered again.
static rn_status read_begun(struct answer *a, const struct output_tools *tools, rn_error *err) {
    const char *const reply = a->begun.s + a->n_before;
    const size_t n = a->begun.n - a->n_before;
    output_parser *ended = NULL;
    rn_status st = output_parser_create(a->format, tools, a->begun.s, a->n_before, &ended, err);
    if (st == RN_OK) st = output_parser_push(ended, reply, n, note_channel, a, err);
    if (st == RN_OK) st = output_parser_finish(ended, count_held, a, err);
    if (st == RN_OK) st = output_parser_push(a->parser, reply, n, note_channel, a, err);
    output_parser_destroy(ended);
    return st;
}

static rn_status read_tools(struct answer *a, const output_format *format, const char *tools, size_t n,
                            rn_error *err) {
    if (!tools || !output_format_has_bare_strings(format)) return RN_OK;
    a->tools_text = mem_alloc(n + 1);
    if (!a->tools_text) return fail(err, RN_E_NOMEM, "chat: out of memory for tools");
    memcpy(a->tools_text, tools, n);
    const rn_status st = json_read(&a->tools, a->tools_text, n, err);
    return st == RN_OK ? RN_OK : fail_in(err, st, "tools");
}

// A parser that has read what stands before the answer.
static rn_status open_parser(struct answer *a, rn_error *err) {
    const struct output_tools types = call_types(&a->tools), *const declared = a->tools_text ? &types : NULL;
    const char *const before = a->begun.n ? a->begun.s : "";
    a->channel = OUTPUT_CONTENT;
    const rn_status st = output_parser_create(a->format, declared, before, a->n_before, &a->parser, err);
    return st == RN_OK && a->begun.n > a->n_before ? read_begun(a, declared, err) : st;
}

rn_status answer_create(const output_format *format, const tokenizer *tok, const struct vocab *vocab,
                        const struct chat_prompt *prompt, const char *tools, size_t n_tools, struct answer **out,
                        rn_error *err) {
    struct answer *const a = mem_calloc(1, sizeof *a);
    *out = NULL;
    if (!a) return fail(err, RN_E_NOMEM, "chat: out of memory");
    a->tok = tok, a->vocab = vocab, a->format = format;
    a->n_dropped = prompt->n_dropped, a->untruncated = prompt->untruncated;
    a->n_before = prompt->reply_from - prompt->answer_from;
    if (prompt->text.n)
        text_buf_add(&a->begun, prompt->text.s + prompt->answer_from, prompt->text.n - prompt->answer_from);
    rn_status st = a->begun.failed ? fail(err, RN_E_NOMEM, "chat: out of memory") : RN_OK;
    if (st == RN_OK) st = read_tools(a, format, tools, n_tools, err);
    if (st == RN_OK) st = open_parser(a, err);
    if (st == RN_OK) st = list_spelled(a, format, err);
    if (st == RN_OK)
        *out = a;
    else
        answer_destroy(a);
    return st;
}

void answer_destroy(struct answer *a) {
    if (!a) return;
    output_parser_destroy(a->parser);
    json_free(&a->tools);
    mem_free(a->tools_text);
    text_buf_free(&a->begun);
    text_buf_free(&a->bytes);
    mem_free(a->spelled.ids);
    mem_free(a->pieces);
    mem_free(a->deltas);
    mem_free(a);
}

bool answer_spells(const struct answer *a, int32_t id) {
    size_t low = 0, high = a->spelled.n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (a->spelled.ids[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < a->spelled.n && a->spelled.ids[low] == id;
}

// ---- pieces ---------------------------------------------------------------------------------------------------------

static struct piece *add_piece(struct answer *a) {
    if (a->n_pieces == a->cap_pieces) {
        const size_t cap = a->cap_pieces ? 2 * a->cap_pieces : 16;
        struct piece *const pieces = mem_realloc(a->pieces, cap * sizeof *pieces);
        if (pieces) a->pieces = pieces;
        rn_delta *const deltas = pieces ? mem_realloc(a->deltas, cap * sizeof *deltas) : NULL;
        if (!deltas) return NULL;
        a->deltas = deltas;
        a->cap_pieces = cap;
    }
    return &a->pieces[a->n_pieces++];
}

static size_t add_name(struct answer *a, const char *s) {
    const size_t at = a->bytes.n;
    if (!s) return 0;
    text_buf_add(&a->bytes, s, strlen(s) + 1);
    return at;
}

// Extends the last piece if it has the same channel and call and no new item begins.
static struct piece *piece_for(struct answer *a, const struct output_event *e) {
    struct piece *const last = a->n_pieces ? &a->pieces[a->n_pieces - 1] : NULL;
    if (last && last->channel == e->channel && last->tool == e->tool && !e->name && !e->id && !last->ends)
        return last;
    const size_t name_at = add_name(a, e->name), id_at = add_name(a, e->id);
    struct piece *const p = add_piece(a);
    if (p) *p = (struct piece){e->channel, e->tool, name_at, id_at, a->bytes.n, 0, false, false};
    return p;
}

static void take_event(void *user, const struct output_event *e) {
    struct answer *const a = user;
    struct piece *const p = piece_for(a, e);
    if (!p) {
        a->failed = true;
        return;
    }
    if (e->channel != a->channel) a->n_held = 0; // the bytes were part of a tag
    const size_t n_known = a->n_held < e->n_text ? a->n_held : e->n_text;
    a->n_held -= n_known;
    text_buf_add(&a->bytes, e->text + n_known, e->n_text - n_known);
    p->n_text += e->n_text - n_known;
    p->ends = e->ends, p->broken = e->broken;
    a->channel = e->channel;
    a->n_calls += e->name != NULL;
}

// ---- chunks ---------------------------------------------------------------------------------------------------------

static rn_status push(struct answer *a, const char *text, size_t n, rn_error *err) {
    return n ? output_parser_push(a->parser, text, n, take_event, a, err) : RN_OK;
}

// The number of bytes that a token adds to the text.
static size_t token_bytes(const struct answer *a, int32_t id) {
    size_t n = 0;
    if (id < a->vocab->n_tokens) tokenizer_piece(a->tok, id, answer_spells(a, id), &n);
    return n;
}

// Feeds each token's bytes as far as they have arrived. The rest comes with a later chunk.
static rn_status push_tokens(struct answer *a, const rn_chunk *c, rn_error *err) {
    size_t at = 0;
    rn_status st = RN_OK;
    for (size_t i = 0; i < c->n_tokens && st == RN_OK; i++) {
        const size_t n_token = token_bytes(a, c->tokens[i]);
        a->n_due += n_token;
        const size_t n = a->n_due < c->n_text - at ? a->n_due : c->n_text - at;
        st = push(a, c->text + at, n, err);
        at += n, a->n_due -= n;
        a->n_reasoning += n_token > 0 && a->channel == OUTPUT_REASONING;
    }
    const size_t rest = c->n_text - at;
    a->n_due -= rest < a->n_due ? rest : a->n_due;
    return st == RN_OK ? push(a, c->text + at, rest, err) : st;
}

static rn_channel channel_of(enum output_channel c) {
    static const rn_channel channels[] = {[OUTPUT_CONTENT] = RN_CHANNEL_CONTENT,
                                          [OUTPUT_REASONING] = RN_CHANNEL_REASONING,
                                          [OUTPUT_TOOL_CALL] = RN_CHANNEL_TOOL_CALL};
    return channels[c];
}

static void show(const struct answer *a, rn_chunk *c) {
    const char *const bytes = a->bytes.s;
    for (size_t i = 0; i < a->n_pieces; i++) {
        const struct piece *const p = &a->pieces[i];
        a->deltas[i] = (rn_delta){.channel = channel_of(p->channel),
                                  .tool = p->tool,
                                  .name = p->name_at ? bytes + p->name_at : NULL,
                                  .id = p->id_at ? bytes + p->id_at : NULL,
                                  .text = bytes + p->text_at,
                                  .n_text = p->n_text,
                                  .ends = p->ends,
                                  .broken = p->broken};
    }
    c->deltas = a->deltas;
    c->n_deltas = a->n_pieces;
    if (c->finish_reason == RN_FINISH_NONE) return;
    c->n_tool_calls = a->n_calls;
    c->n_dropped_messages = a->n_dropped;
    c->untruncated_tokens = a->untruncated;
}

rn_status answer_restart(struct answer *a, rn_error *err) {
    output_parser_destroy(a->parser);
    a->parser = NULL;
    a->n_held = a->n_due = 0;
    a->n_reasoning = a->n_calls = 0;
    if (a->failed) return fail(err, RN_E_NOMEM, "chat: out of memory for an answer");
    const rn_status st = open_parser(a, err);
    a->failed = st != RN_OK;
    return st;
}

int64_t answer_n_reasoning(const struct answer *a) { return a->n_reasoning; }

rn_status answer_read(struct answer *a, rn_chunk *chunk, rn_error *err) {
    rn_status st = RN_OK;
    a->n_pieces = 0;
    a->bytes.n = 0;
    text_buf_add(&a->bytes, "", 1);
    if (!a->failed) st = push_tokens(a, chunk, err);
    if (st == RN_OK && !a->failed && chunk->finish_reason != RN_FINISH_NONE)
        st = output_parser_finish(a->parser, take_event, a, err);
    if (st == RN_OK && (a->failed || a->bytes.failed))
        st = fail(err, RN_E_NOMEM, "chat: out of memory for %zu bytes of an answer", chunk->n_text);
    a->failed = st != RN_OK;
    if (st == RN_OK) show(a, chunk);
    return st;
}
