// cli/chat/chat_reply.c - generates one reply, shows it while it streams and adds it to the conversation.
#include "app/draft_figures.h"
#include "app/interrupt.h"
#include "app/say.h"
#include "app/term.h"
#include "app/wrap.h"
#include "cli/chat/chat_state.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void chat_reply_free(chat_reply *r) {
    free(r->tokens);
    *r = (chat_reply){0};
}

static void keep_tokens(chat_reply *r, const rn_chunk *chunk) {
    for (size_t i = 0; i < chunk->n_tokens; i++) {
        if (r->n == r->n_room) {
            r->n_room = r->n_room ? 2 * r->n_room : 256;
            r->tokens = app_realloc(r->tokens, r->n_room * sizeof *r->tokens);
        }
        reply_token *const t = &r->tokens[r->n++];
        *t = (reply_token){.id = chunk->tokens[i], .logprob = NAN};
        if (!chunk->token_data) continue;
        const rn_token *const from = &chunk->token_data[i];
        t->logprob = from->logprob;
        t->n_top = from->n_top < CHAT_TOP ? from->n_top : CHAT_TOP;
        if (t->n_top > 0) memcpy(t->top, from->top, (size_t)t->n_top * sizeof *t->top);
    }
}

// Adds the generated text and tool calls to the conversation's message.
static void keep_message(message *m, const chat_message *said) {
    json_writer w = {&m->calls, m->calls.n > 0};
    bytes_add(&m->content, said->content.data, said->content.n);
    bytes_add(&m->reasoning, said->reasoning.data, said->reasoning.n);
    for (size_t i = 0; i < said->n_calls; i++) json_put_tool_call(&w, &said->calls[i]);
}

static void keep_end(chat *c, const rn_chunk *last) {
    chat_reply *const r = &c->last;
    r->usage = *last->usage;
    r->timing = *last->timing;
    r->timing.token_ms = NULL; // belongs to the stream
    r->seed = last->seed;
    r->finish = last->finish_reason;
    snprintf(r->detail, sizeof r->detail, "%s", last->finish_detail);
    snprintf(r->miss, sizeof r->miss, "%s", last->usage->miss ? last->usage->miss : "");
    c->n_prompt += (uint64_t)last->usage->prompt_tokens;
    c->n_cached += (uint64_t)last->usage->cached_tokens;
    c->n_made += (uint64_t)last->usage->completion_tokens;
}

// Removes the messages that the library dropped to fit the context, so that the next turn's prompt begins like
// this one's and the cache is reused.
static void drop_messages(chat *c, const rn_chunk *last) {
    if (last->n_dropped_messages <= 0) return;
    size_t first = dialogue_system(&c->talk) ? 1 : 0, n = (size_t)last->n_dropped_messages;
    if (c->truncate == RN_TRUNCATE_MIDDLE) // keeps the first turn, up to the second user message
        for (first++; first < c->talk.n && strcmp(c->talk.items[first].role, "user") != 0;) first++;
    if (first + n >= c->talk.n) return;
    dialogue_remove(&c->talk, first, n);
    chat_note(c, "%zu messages were left out: the conversation had %" PRId64 " tokens, the context holds fewer", n,
              last->untruncated_tokens);
}

static void read_reply(chat *c, rn_stream *stream, chat_message *said) {
    rn_chunk chunk;
    rn_error err = {0};
    rn_chunk_init(&chunk);
    for (;;) {
        if (machine_next_chunk(&c->on, stream, &chunk, &err) != RN_OK) {
            say("%s", err.text);
            c->code = EXIT_CODE_FAILED;
            return;
        }
        keep_tokens(&c->last, &chunk);
        for (size_t i = 0; i < chunk.n_deltas; i++) {
            chat_message_add(said, &chunk.deltas[i]);
            if (reply_screen_add(&c->screen, &chunk.deltas[i])) continue;
            c->is_over = true; // the output was closed
            rn_stream_cancel(stream);
        }
        if (chunk.finish_reason == RN_FINISH_NONE) continue;
        keep_end(c, &chunk);
        keep_message(&c->talk.items[c->talk.n - 1], said);
        drop_messages(c, &chunk);
        return;
    }
}

static void fill_chat(const chat *c, bool goes_on, bytes *messages, bytes *variables, const rn_picture **seen,
                      rn_chat *chat_of) {
    json_writer w = {messages, false}, v = {variables, false};
    dialogue_write(&c->talk, &w, seen);
    json_put_begin(&v, '{');
    if (c->thinking >= 0) json_member_bool(&v, "enable_thinking", c->thinking == 1);
    json_put_end(&v, '}');
    rn_chat_init(chat_of);
    chat_of->messages = messages->data;
    chat_of->n_messages = messages->n;
    chat_of->pictures = seen;
    chat_of->n_pictures = dialogue_n_pictures(&c->talk);
    chat_of->variables = variables->data;
    chat_of->n_variables = variables->n;
    chat_of->tools = c->tools;
    chat_of->n_tools = c->tools ? strlen(c->tools) : 0;
    chat_options_apply(&c->options, chat_of);
    chat_of->continue_final = goes_on;
    chat_of->add_generation_prompt = !goes_on;
    chat_of->truncate = (rn_truncate)c->truncate;
}

static rn_status begin(chat *c, bool goes_on, rn_stream **stream, rn_error *err) {
    rn_request req;
    generation_parts parts;
    rn_chat chat_of;
    bytes messages = {0}, variables = {0};
    const rn_picture **const seen = app_alloc((dialogue_n_pictures(&c->talk) + 1) * sizeof *seen);
    rn_request_init(&req);
    fill_chat(c, goes_on, &messages, &variables, seen, &chat_of);
    rn_status st = generation_apply(&c->g, &req, &parts, err) ? RN_OK : err->code;
    if (c->wants_probs) req.logprobs = CHAT_TOP;
    req.grammar = c->grammar;
    req.session = chat_of.n_pictures ? NULL : c->session; // which keeps no pictures; the cache of prefixes has them
    req.chat = &chat_of;
    req.progress = machine_progress;
    req.progress_user = &c->on;
    if (st == RN_OK) st = rn_stream_begin(c->on.engine, &req, stream, err);
    bytes_free(&messages);
    bytes_free(&variables);
    free(seen);
    return st;
}

static void say_offers(const chat *c) {
    if (c->n_attached) chat_note(c, "/file - leaves the files out that were to go with the message");
    if (c->editor)
        chat_note(c, "/undo removes the last turn, /clear all; /set truncate old (or middle) drops old "
                     "turns when the context is full");
}

// Reports ends that are not normal, and how to continue.
static void say_end(const chat *c) {
    const chat_reply *const r = &c->last;
    if (r->finish == RN_FINISH_ERROR) say("generation: %s", r->detail);
    if (r->finish == RN_FINISH_CANCELLED && c->editor) chat_note(c, "stopped; /continue resumes it");
    if (r->finish != RN_FINISH_LENGTH) return;
    chat_note(c, "the reply was cut at %s; /continue resumes it", r->detail);
    if (strncmp(r->detail, "context", 7) == 0) say_offers(c);
}

// Prints "250 tok/s | first 0.1 s | ..." in order of importance; what does not fit the line is left out, but for what guesses brought, which then has
// lines of its own.
static void print_footer(const chat *c) {
    const chat_reply *const r = &c->last;
    rn_engine_info info = {.struct_size = sizeof info};
    char first[HUMAN_BYTES], text[4][96], held[HUMAN_BYTES], all[HUMAN_BYTES], guesses[DRAFT_WORDS];
    const int width = term_width(STDOUT_FILENO) - 1;
    if (rn_engine_get_info(c->on.engine, 0, &info, NULL) != RN_OK) return;
    const int64_t n_held = r->usage.prompt_tokens + r->usage.completion_tokens;
    const double n_timed = (double)r->usage.completion_tokens - 1;
    const double rate = n_timed > 0 && r->timing.decode_ms > 0 ? n_timed * 1000 / r->timing.decode_ms : 0;
    snprintf(text[0], sizeof *text, "%.0f tok/s", rate);
    snprintf(text[1], sizeof *text, "first %s", human_time(r->timing.first_token_ms, first));
    snprintf(text[2], sizeof *text, "context %s/%s", human_count((uint64_t)n_held, held),
             human_count((uint64_t)info.n_ctx, all));
    snprintf(text[3], sizeof *text, "prompt %" PRId64 " (%" PRId64 " cached)", r->usage.prompt_tokens,
             r->usage.cached_tokens);
    bytes line = {0};
    for (size_t i = 0; i < 4; i++) {
        const size_t n = line.n + strlen(text[i]) + (line.n ? 3 : 0);
        if (n + 2 > (size_t)width) break;
        bytes_add_format(&line, "%s%s", line.n ? " | " : "", text[i]);
    }
    if (*draft_words(&r->usage, guesses))
        bytes_add_format(&line, "%s%s", line.n + strlen(guesses) + 5 > (size_t)width ? "\n" : " | ", guesses);
    chat_note(c, "%s", line.n ? line.data : "");
    bytes_free(&line);
}

bool chat_answer(chat *c, bool goes_on) {
    rn_error err = {0};
    rn_stream *stream = NULL;
    chat_message said = {0};
    interrupt_again();
    const rn_status st = begin(c, goes_on, &stream, &err);
    if (st != RN_OK) {
        progress_hide(&c->on.bar);
        say("%s", err.text);
        if (st == RN_E_LIMIT) say_offers(c);
        c->code = EXIT_CODE_FAILED;
        return false;
    }
    if (!goes_on) dialogue_add(&c->talk, "assistant", "", 0);
    c->last.n = 0;
    reply_screen_begin(&c->screen);
    if (goes_on && c->editor) {
        const bytes *const above = &c->talk.items[c->talk.n - 1].content;
        if (above->n) reply_screen_resume(&c->screen, above->data, above->n);
    }
    read_reply(c, stream, &said);
    reply_screen_end(&c->screen);
    rn_stream_close(stream);
    chat_message_free(&said);
    if (c->last.finish == RN_FINISH_ERROR) c->code = EXIT_CODE_FAILED;
    say_end(c);
    if (c->editor) print_footer(c);
    return true;
}
