// cli/batch_job.c - begins a stream for a request line and collects its chunks into one answer.
#include "cli/batch_job.h"
#include "app/infill_prompt.h"
#include "app/numbers.h"
#include "app/say.h"
#include "app/sent_pictures.h"
#include "app/stream_json.h"
#include "app/tool_choice.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The members of a line that are not part of `generation`.
typedef struct batch_line {
    json_span prompt, prefix, suffix;
    int32_t infill_order; // of rn_infill_order
    bool has_ids;
    id_list ids;
    bytes messages;          // JSON; empty: none
    sent_pictures pictures;  // of the messages
    char *tools, *variables; // JSON; freed with the line
    bool continue_final;
    int32_t truncate; // of rn_truncate
    tool_choice choice;
    bool is_parallel; // several calls
} batch_line;

static bool each_name(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)target, (void)i, (void)key;
    json_span text;
    int64_t number;
    if (!json_item_is_text(value)) return json_item_whole(value, INT64_MIN, INT64_MAX, &number, why);
    if (json_item_text(value, &text, why) && text.n <= 256 && strlen(text.data) == text.n) return true;
    snprintf(why, NUMBER_WHY, "must have at most 256 bytes and no U+0000");
    return false;
}

static bool each_truncate(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    static const char *const words[] = {
        [RN_TRUNCATE_NONE] = "none", [RN_TRUNCATE_OLD] = "old", [RN_TRUNCATE_MIDDLE] = "middle"};
    return json_item_word(value, words, 3, &((batch_line *)target)->truncate, why);
}

static bool each_choice(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    return tool_choice_read(&((batch_line *)target)->choice, value, why);
}

// Looks only at what is strict; what a tool is the library reads.
static bool each_tool(void *target, size_t i, const char *key, const json_item *value, char *why) {
    batch_line *const line = target;
    bytes json = {0};
    (void)i, (void)key;
    for (size_t k = 0; json_item_is_array(value) && k < json_item_count(value); k++)
        if (!tool_choice_note(&line->choice, json_item_at(value, k), why)) return false;
    json_item_add(value, &json);
    line->tools = app_copy_text(json.n ? json.data : "null");
    bytes_free(&json);
    return true;
}

// Looks only at pictures; what a message is the library reads.
static bool each_messages(void *target, size_t i, const char *key, const json_item *value, char *why) {
    batch_line *const line = target;
    char place[SENT_PICTURE_PLACE], inner[JSON_WHY] = "";
    bytes all = {0};
    (void)i, (void)key;
    bool ok = true;
    for (size_t k = 0; ok && json_item_is_array(value) && k < json_item_count(value); k++) {
        const json_item *const message = json_item_at(value, k);
        snprintf(place, sizeof place, "messages[%zu]", k);
        ok = sent_pictures_add_message(&line->pictures, message, place, &all, inner);
        if (!ok) snprintf(why, JSON_WHY / 2, "[%zu]: %.200s", k, inner);
    }
    if (json_item_is_array(value))
        bytes_add_format(&line->messages, "[%s]", all.n ? all.data : "");
    else
        json_item_add(value, &line->messages);
    bytes_free(&all);
    return ok;
}

static bool each_order(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    return json_item_word(value, infill_orders, N_INFILL_ORDERS, &((batch_line *)target)->infill_order, why);
}

static const member line_rows[] = {
    {"id", MEMBER_EACH, .each = each_name},
    {"prompt", MEMBER_TEXT, .offset = offsetof(batch_line, prompt)},
    {"prefix", MEMBER_TEXT, .offset = offsetof(batch_line, prefix)},
    {"suffix", MEMBER_TEXT, .offset = offsetof(batch_line, suffix)},
    {"infill_order", MEMBER_EACH, .each = each_order},
    {"ids", MEMBER_IDS, .offset = offsetof(batch_line, ids)},
    {"messages", MEMBER_EACH, .each = each_messages},
    {"tools", MEMBER_EACH, .each = each_tool},
    {"tool_choice", MEMBER_EACH, .each = each_choice},
    {"parallel_tool_calls", MEMBER_BOOL, .offset = offsetof(batch_line, is_parallel)},
    {"variables", MEMBER_JSON, .offset = offsetof(batch_line, variables)},
    {"continue_final", MEMBER_BOOL, .offset = offsetof(batch_line, continue_final)},
    {"truncate", MEMBER_EACH, .each = each_truncate},
};

static void begin_answer(batch_job *job, json_writer *w) {
    *w = (json_writer){&job->answer, false};
    json_put_begin(w, '{');
    json_put_key(w, "id");
    json_put_raw(w, job->id ? job->id : "null");
    if (!job->id) { // identifies the answer instead
        json_member_u64(w, "line", job->line);
    }
}

static void finish_answer(batch_job *job) {
    bytes_add(&job->answer, "\n", 1);
    job->is_done = true;
    rn_stream_close(job->stream);
    job->stream = NULL;
}

static void end_answer(batch_job *job, json_writer *w) {
    json_put_end(w, '}');
    finish_answer(job);
}

static void answer_error(batch_job *job, const char *why) {
    json_writer w;
    char *text = app_text("line %" PRIu64 ": %s", job->line, why);
    if (job->openai.custom_id) {
        batch_openai_add_error(&job->openai, text, &job->answer);
        finish_answer(job);
    } else {
        begin_answer(job, &w);
        json_member_string(&w, "error", text);
        end_answer(job, &w);
    }
    job->has_failed = true;
    free(text);
}

static void answer_text(const batch_plan *plan, batch_job *job, const rn_chunk *last) {
    json_writer w;
    if (job->openai.custom_id) {
        batch_openai_add_answer(&job->openai, job->line, &job->message, &job->text, last, &job->answer);
        finish_answer(job);
        return;
    }
    begin_answer(job, &w);
    json_member_text(&w, "text", job->text.data, job->text.n);
    if (job->is_chat) {
        json_put_key(&w, "message");
        json_put_message(&w, &job->message);
    }
    json_member_begin(&w, "tokens", '[');
    if (job->ids.n) json_put_raw(&w, job->ids.data);
    json_put_end(&w, ']');
    if (job->has_logprobs) {
        json_member_begin(&w, "logprobs", '[');
        if (job->logprobs.n) json_put_raw(&w, job->logprobs.data);
        json_put_end(&w, ']');
    }
    json_put_finish(&w, last, plan->has_token_times, job->stream, NULL);
    end_answer(job, &w);
}

// A line must have exactly one of prompt, ids, messages and prefix with suffix, and only members that fit it.
static bool check_line(const batch_line *line, char *why) {
    const bool has_prefix = line->prefix.data != NULL, has_suffix = line->suffix.data != NULL;
    const int n_prompts =
        (line->prompt.data != NULL) + line->has_ids + (line->messages.n != 0) + (has_prefix || has_suffix);
    const bool of_chat =
        line->tools || line->choice.mode || line->variables || line->continue_final || line->truncate;
    const char *const wrong = n_prompts == 0             ? "prompt, ids, messages or prefix and suffix is missing"
                              : n_prompts > 1            ? "prompt, ids, messages and prefix exclude each other"
                              : has_prefix != has_suffix ? "prefix and suffix need each other"
                              : line->infill_order && !has_prefix ? "infill_order needs prefix and suffix"
                              : of_chat && !line->messages.n
                                  ? "tools, tool_choice, variables, continue_final and truncate need messages"
                                  : NULL;
    if (wrong) snprintf(why, JSON_WHY, "%s", wrong);
    return !wrong;
}

static void set_chat(const batch_plan *plan, const batch_line *line, const generation *g, rn_request *req,
                     rn_chat *chat) {
    generation_chat(g, req, chat, line->messages.data, line->messages.n);
    chat->pictures = (const rn_picture *const *)line->pictures.open;
    chat->n_pictures = line->pictures.n;
    chat_options_apply(&plan->chat, chat);
    if (line->tools && line->choice.mode != TOOLS_NONE) {
        chat->tools = line->tools;
        chat->n_tools = strlen(line->tools);
    }
    chat->variables = line->variables;
    chat->n_variables = line->variables ? strlen(line->variables) : 0;
    chat->continue_final = line->continue_final;
    chat->truncate = (rn_truncate)line->truncate;
}

static bool compile(const batch_plan *plan, const rn_grammar_source *source, const char *name, kept_grammar **kept,
                    char *why) {
    rn_error err = {0};
    const rn_status st = grammar_cache_get(plan->grammars, plan->model, 0, source, kept, &err);
    if (st != RN_OK) snprintf(why, JSON_WHY, "%s: %.*s", name, JSON_WHY - 32, err.text);
    return st == RN_OK;
}

// *kept: the grammar of the form or of the calls that the line gives, or NULL.
static bool get_grammar(const batch_plan *plan, const grammar_form *form, const batch_line *line, kept_grammar **kept,
                        char *why) {
    const char *const name = tool_choice_member(&line->choice);
    rn_grammar_source calls;
    form_source from;
    bool has_calls;
    *kept = NULL;
    if (!tool_choice_source(&line->choice, line->tools, !line->is_parallel, &calls, &has_calls)) {
        snprintf(why, JSON_WHY, "%s: there are no tools to be called", name);
        return false;
    }
    if (has_calls && form->member) {
        snprintf(why, JSON_WHY, "%s: excludes %s: an answer has one form", name, form->member);
        return false;
    }
    if (has_calls) return compile(plan, &calls, name, kept, why);
    if (!form->member) return true;
    (void)form_source_make(form, &from); // without memory the command has ended
    const bool ok = compile(plan, &from.source, form->member, kept, why);
    form_source_free(&from);
    return ok;
}

static bool make_infill(const batch_plan *plan, const batch_line *line, generation *g, rn_infill_prompt *p,
                        rn_error *err) {
    rn_infill in;
    rn_infill_init(&in);
    in.prefix = line->prefix.data, in.n_prefix = line->prefix.n;
    in.suffix = line->suffix.data, in.n_suffix = line->suffix.n;
    in.order = (rn_infill_order)line->infill_order;
    return infill_make(plan->model, &in, "prefix", 0, g, p, err);
}

static bool open_pictures(const batch_plan *plan, batch_line *line, char *why) {
    char inner[JSON_WHY] = "";
    size_t failed = 0;
    const video_opening video = {.model = plan->model, .most_pixels = VIDEO_OPEN_PIXELS};
    if (sent_pictures_open(&line->pictures, &video, &failed, inner)) return true;
    snprintf(why, JSON_WHY, "%s: %.300s", line->pictures.sent[failed].place, inner);
    return false;
}

static bool begin_stream(const batch_plan *plan, batch_job *job, const batch_line *line, generation *g, char *why) {
    rn_request req;
    generation_parts parts;
    rn_part part;
    rn_chat chat;
    rn_error err = {0};
    const char *reason, *idle;
    if (!check_line(line, why)) return false;
    if ((idle = generation_without_effect(g, &plan->defaults, &reason))) {
        snprintf(why, JSON_WHY, "%s: has no effect %s", idle, reason);
        return false;
    }
    rn_request_init(&req);
    rn_infill_prompt hole = {0};
    bool ok = !line->prefix.data || make_infill(plan, line, g, &hole, &err);
    ok = ok && generation_apply(g, &req, &parts, &err);
    if (hole.ids)
        generation_prompt_ids(&req, &part, hole.ids, hole.n_ids);
    else if (line->messages.n)
        set_chat(plan, line, g, &req, &chat);
    else if (line->has_ids)
        generation_prompt_ids(&req, &part, line->ids.ids, line->ids.n);
    else
        generation_prompt(g, &req, &part, line->prompt.data, line->prompt.n);
    req.stream_interval = 64; // answers are written whole: large chunks save wake-ups
    req.token_times = plan->has_token_times;
    kept_grammar *kept = NULL;
    if (!get_grammar(plan, &g->form, line, &kept, why)) {
        rn_free(hole.ids);
        return false;
    }
    req.grammar = kept_grammar_of(kept);
    ok = ok && rn_stream_begin(plan->engine, &req, &job->stream, &err) == RN_OK;
    grammar_cache_give_back(plan->grammars, kept); // the stream keeps what it needs
    rn_free(hole.ids);
    job->has_logprobs = g->logprobs >= 0 || g->sampled_logprobs >= 0;
    job->is_chat = line->messages.n > 0;
    if (!ok) snprintf(why, JSON_WHY, "%.*s", JSON_WHY - 1, err.text);
    return ok;
}

static bool begin(const batch_plan *plan, batch_job *job, const char *text, size_t n_text, char *why) {
    json_doc *doc;
    batch_line line = {.is_parallel = true};
    if (!json_doc_parse(text, n_text, &doc, why)) return false;
    generation g;
    generation_copy(&g, &plan->defaults);
    job->id = json_doc_scalar(doc, "id");
    line.has_ids = json_doc_has(doc, "ids");
    const member_group more = {line_rows, sizeof line_rows / sizeof *line_rows, &line};
    const bool is_read = batch_openai_is(doc) ? batch_openai_open(doc, &job->openai, why) &&
                                                    batch_openai_read(&job->openai, &plan->members, &more, &g, why)
                                              : generation_read(&plan->members, doc, &more, &g, why);
    const bool ok = is_read && open_pictures(plan, &line, why) && begin_stream(plan, job, &line, &g, why);
    free(line.ids.ids);
    bytes_free(&line.messages);
    sent_pictures_free(&line.pictures);
    free(line.tools);
    free(line.variables);
    json_doc_free(doc);
    return ok;
}

batch_job *batch_job_begin(const batch_plan *plan, uint64_t line, const char *text, size_t n_text, const char *why) {
    char own_why[JSON_WHY] = "";
    batch_job *job = app_alloc(sizeof *job);
    job->line = line;
    job->ids_writer.out = &job->ids;
    job->logprobs_writer.out = &job->logprobs;
    if (why)
        answer_error(job, why);
    else if (!begin(plan, job, text, n_text, own_why))
        answer_error(job, own_why);
    return job;
}

bool batch_job_read(const batch_plan *plan, batch_job *job) {
    rn_chunk chunk;
    rn_error err = {0};
    rn_chunk_init(&chunk);
    while (!job->is_done) {
        const rn_status st = rn_stream_next(job->stream, 0, &chunk, &err);
        if (st == RN_E_AGAIN) return false;
        if (st != RN_OK) {
            answer_error(job, err.text);
            return true;
        }
        bytes_add(&job->text, chunk.text, chunk.n_text);
        for (size_t i = 0; i < chunk.n_deltas; i++) chat_message_add(&job->message, &chunk.deltas[i]);
        for (size_t i = 0; i < chunk.n_tokens; i++) json_put_whole(&job->ids_writer, chunk.tokens[i]);
        if (chunk.token_data) json_put_logprobs(&job->logprobs_writer, chunk.token_data, chunk.n_tokens, NULL);
        job->n_tokens += chunk.n_tokens;
        if (chunk.finish_reason == RN_FINISH_ERROR)
            answer_error(job, chunk.finish_detail);
        else if (chunk.finish_reason != RN_FINISH_NONE)
            answer_text(plan, job, &chunk);
    }
    return true;
}

void batch_job_free(batch_job *job) {
    if (!job) return;
    rn_stream_close(job->stream);
    free(job->id);
    batch_openai_free(&job->openai);
    bytes_free(&job->text);
    bytes_free(&job->ids);
    bytes_free(&job->logprobs);
    bytes_free(&job->answer);
    chat_message_free(&job->message);
    free(job);
}
