// cli/cmd_run.c - `runnel run`: continues one prompt and prints the text while it is generated.
#include "app/chat_message.h"
#include "app/chat_options.h"
#include "app/files.h"
#include "app/generation.h"
#include "app/grammar_options.h"
#include "app/interrupt.h"
#include "app/json_write.h"
#include "app/machine.h"
#include "app/stream_json.h"
#include "app/term.h"
#include "app/wrap.h"
#include "cli/command.h"
#include "cli/prompt.h"
#include <inttypes.h>
#include <math.h>
#include <unistd.h>

typedef struct run {
    machine on;
    generation g;
    grammar_options form;
    rn_grammar *grammar; // NULL: of any form
    prompt prompt;
    chat_options chat;
    bytes messages;       // the conversation as JSON
    chat_message message; // the answer so far; its tool calls are printed when complete
    size_t n_printed;     // tool calls printed so far
    bool is_thinking;     // the last text shown was reasoning
    bool is_json;
    bool shows_probs;  // colours the text by the probability of its tokens
    int32_t top_probs; // a line for each token, with so many candidates; 0: the text
    bool to_terminal;  // stdout is a terminal and the output is text
    bool ends_line;    // the last byte written was a line break
    output out;
    bytes line;         // buffer for the output of one chunk
    bool has_colour;    // probabilities are shown in colours
    const char *colour; // of the next text; NULL: none
    double least;       // probability of a token since the last text
} run;

#define NO_COLOUR "\x1b[0m"

static const option run_rows[] = {
    {0, "stream-interval", "N", OPTION_INT, offsetof(generation, stream_interval), 1, 1024,
     .help = "tokens in each chunk, 1..1024 (default 1)"},
};
static const option probs_rows[] = {
    {0, "show-probs", NULL, OPTION_FLAG, offsetof(run, shows_probs),
     .help = "at a terminal, colour the text by the probability of its tokens: green from 75 %, yellow from 40 %, "
             "magenta from 10 %, red below; not with NO_COLOR"},
    {0, "top-probs", "K", OPTION_INT, offsetof(run, top_probs), 1, 20,
     .help = "instead of the text, a line for each token: its probability, and the K best candidates, 1..20"},
};
static const option json_rows[] = {
    {0, "json", NULL, OPTION_FLAG, offsetof(run, is_json),
     .help = "a line of JSON for each chunk; the last one has finish_reason, seed, usage and timing"},
};

static const char *const notes = "Without a prompt, stdin is read when it is not a terminal. stdout gets the\n"
                                 "text and nothing else; statistics go to stderr, at a terminal only. Ctrl+C stops\n"
                                 "after the current token (exit 130), a second Ctrl+C at once.\n"
                                 "\n"
                                 "  runnel run \"Once upon a time\"\n"
                                 "  runnel run -m MODEL -f story.txt -n 100 --seed 7 > more.txt\n"
                                 "  git log -1 | runnel run --temp 0 --json | jq -r .text\n"
                                 "  runnel run -m MODEL --chat \"Why is the sky blue?\"\n"
                                 "\n"
                                 "With --chat, stdout gets the content, and a line of JSON for each tool call;\n"
                                 "reasoning goes to stderr, at a terminal or with --show-reasoning.";

static bool check_together(const run *r, const options *parsed) {
    const char *const with_ids = "with --ids, which are not parsed";
    static const char *const of_chat[] = {"system", "show-reasoning", "chat-template", "output-format"};
    static const char *const not_of_chat[] = {"ids", "echo", "special", "token-healing"};
    for (size_t i = 0; i < sizeof of_chat / sizeof *of_chat; i++)
        if (!r->chat.is_chat && options_refuse(parsed, of_chat[i], "without --chat")) return false;
    for (size_t i = 0; i < sizeof not_of_chat / sizeof *not_of_chat; i++)
        if (r->chat.is_chat && options_refuse(parsed, not_of_chat[i], "with --chat")) return false;
    if (r->prompt.ids_option && options_refuse(parsed, "parse-special", with_ids)) return false;
    if (!r->is_json && options_refuse(parsed, "logprobs", "without --json")) return false;
    if (!r->is_json && options_refuse(parsed, "sampled-logprobs", "without --json")) return false;
    if (r->is_json && options_refuse(parsed, "show-probs", "with --json, which has --logprobs")) return false;
    if (r->is_json && options_refuse(parsed, "top-probs", "with --json, which has --logprobs")) return false;
    if (r->top_probs > 0 && options_refuse(parsed, "stream-interval", "with --top-probs")) return false;
    return generation_check(&r->g, parsed);
}

static bool write_json(run *r, const rn_chunk *c) {
    json_writer w = {&r->line, false};
    r->line.n = 0;
    json_put_begin(&w, '{');
    json_member_whole(&w, "choice", c->choice);
    json_member_text(&w, "text", c->text, c->n_text);
    json_put_key(&w, "tokens");
    json_put_ids(&w, c->tokens, c->n_tokens);
    if (r->chat.is_chat) {
        json_member_begin(&w, "deltas", '[');
        json_put_deltas(&w, c->deltas, c->n_deltas);
        json_put_end(&w, ']');
    }
    if (r->g.logprobs >= 0 || r->g.sampled_logprobs >= 0) {
        json_member_begin(&w, "logprobs", '[');
        if (c->token_data) json_put_logprobs(&w, c->token_data, c->n_tokens, NULL);
        json_put_end(&w, ']');
    }
    if (c->finish_reason == RN_FINISH_NONE) {
        json_put_key(&w, "finish_reason");
        json_put_null(&w);
    } else {
        json_put_finish(&w, c, true);
    }
    json_put_end(&w, '}');
    bytes_add(&r->line, "\n", 1);
    return output_write(&r->out, r->line.data, r->line.n);
}

static bool write_text(run *r, const char *text, size_t n) {
    if (n == 0) return true;
    r->ends_line = text[n - 1] == '\n';
    if (!r->to_terminal) return output_write(&r->out, text, n);
    r->line.n = 0;
    if (r->colour) bytes_add_text(&r->line, r->colour);
    term_add_plain(&r->line, text, n);
    if (r->colour) bytes_add_text(&r->line, NO_COLOUR);
    return output_write(&r->out, r->line.data, r->line.n);
}

// ---- probabilities --------------------------------------------------------------------------------------------------

static const char *colour_of(double probability) {
    static const struct {
        double from;
        const char *colour;
    } rows[] = {{0.75, "\x1b[32m"}, {0.4, "\x1b[33m"}, {0.1, "\x1b[35m"}, {0, "\x1b[31m"}};
    size_t i = 0;
    while (probability < rows[i].from) i++;
    return rows[i].colour;
}

// The text that comes next has the colour of the least probable of the tokens that it is made of: those since the last text.
static void colour_text(run *r, const rn_chunk *c) {
    if (!r->has_colour || !c->token_data) return;
    for (size_t i = 0; i < c->n_tokens; i++) {
        const double p = exp((double)c->token_data[i].logprob);
        if (p < r->least) r->least = p;
    }
    r->colour = colour_of(r->least);
    if (c->n_text > 0) r->least = 1;
}

// A token's probability and text, as a JSON string, which no text can break.
static void add_candidate(run *r, int32_t id, float logprob) {
    const double p = exp((double)logprob);
    json_writer w = {&r->line, false};
    size_t n;
    char *const text = token_text(r->on.model, id, &n);
    if (r->has_colour) bytes_add_text(&r->line, colour_of(p));
    bytes_add_format(&r->line, "%6.2f%% ", 100 * p);
    json_put_text(&w, text, n);
    if (r->has_colour) bytes_add_text(&r->line, NO_COLOUR);
    rn_free(text);
}

static bool write_table(run *r, const rn_chunk *c) {
    r->line.n = 0;
    for (size_t i = 0; i < c->n_tokens; i++) {
        const rn_token *const t = &c->token_data[i];
        add_candidate(r, t->id, t->logprob);
        for (int32_t k = 0; k < t->n_top; k++) {
            bytes_add_text(&r->line, k ? "  " : "\t");
            add_candidate(r, t->top[k].id, t->top[k].logprob);
        }
        bytes_add_text(&r->line, "\n");
    }
    return r->line.n == 0 || output_write(&r->out, r->line.data, r->line.n);
}

// Shows reasoning on stderr, dimmed if it is a terminal; there the answer then begins on a new line.
static void show_thought(run *r, const char *text, size_t n) {
    const bool at_terminal = term_is(STDERR_FILENO), has_colour = term_colour(STDERR_FILENO);
    if (!at_terminal && !r->chat.show_reasoning) return;
    r->line.n = 0;
    if (has_colour) bytes_add_text(&r->line, "\x1b[2m");
    if (at_terminal)
        term_add_plain(&r->line, text, n);
    else
        bytes_add(&r->line, text, n);
    if (has_colour) bytes_add_text(&r->line, "\x1b[0m");
    fwrite(r->line.data, 1, r->line.n, stderr);
    r->is_thinking = true;
}

static void end_thought(run *r) {
    if (r->is_thinking) fputs("\n\n", stderr);
    r->is_thinking = false;
}

static bool write_call(run *r, const chat_call *call) {
    json_writer w = {&r->line, false};
    r->line.n = 0;
    if (!r->ends_line) bytes_add_text(&r->line, "\n");
    json_put_call(&w, call);
    bytes_add_text(&r->line, "\n");
    r->ends_line = true;
    return output_write(&r->out, r->line.data, r->line.n);
}

// Prints tool calls that are complete; at_end: also one that was cut off.
static bool write_calls(run *r, bool at_end) {
    bool goes_on = true;
    for (; goes_on && r->n_printed < r->message.n_calls; r->n_printed++) {
        const chat_call *const call = &r->message.calls[r->n_printed];
        if (!call->has_ended && !at_end) break;
        goes_on = write_call(r, call);
    }
    return goes_on;
}

static bool write_chat(run *r, const rn_chunk *c) {
    bool goes_on = true;
    for (size_t i = 0; i < c->n_deltas && goes_on; i++) {
        const rn_delta *const d = &c->deltas[i];
        if (d->channel == RN_CHANNEL_REASONING && d->n_text) show_thought(r, d->text, d->n_text);
        if (d->channel != RN_CHANNEL_REASONING) end_thought(r);
        if (d->channel == RN_CHANNEL_CONTENT) goes_on = write_text(r, d->text, d->n_text);
        if (d->channel == RN_CHANNEL_TOOL_CALL) chat_message_add(&r->message, d);
    }
    if (c->finish_reason != RN_FINISH_NONE) end_thought(r);
    return goes_on && write_calls(r, c->finish_reason != RN_FINISH_NONE);
}

static bool write_chunk(run *r, const rn_chunk *c) {
    if (r->is_json) return write_json(r, c);
    if (r->top_probs) return write_table(r, c);
    if (r->shows_probs) colour_text(r, c);
    return r->chat.is_chat ? write_chat(r, c) : write_text(r, c->text, c->n_text);
}

static void say_figures(const rn_chunk *last) {
    char count[HUMAN_BYTES], first[HUMAN_BYTES];
    if (!term_is(STDERR_FILENO)) return;
    const double n_timed = (double)last->usage->completion_tokens - 1, ms = last->timing->decode_ms;
    const bool has_colour = term_colour(STDERR_FILENO);
    fprintf(stderr, "%s%s tokens", has_colour ? "\x1b[2m" : "",
            human_count((uint64_t)last->usage->completion_tokens, count));
    if (n_timed > 0 && ms > 0) fprintf(stderr, ", %.0f tok/s", n_timed * 1000 / ms);
    fprintf(stderr, ", first after %s", human_time(last->timing->first_token_ms, first));
    fprintf(stderr, "; prompt %" PRId64 " (%" PRId64 " cached)", last->usage->prompt_tokens,
            last->usage->cached_tokens);
    fprintf(stderr, "; seed %" PRIu64 "; %s: %s%s\n", last->seed, rn_finish_name(last->finish_reason),
            last->finish_detail, has_colour ? "\x1b[0m" : "");
}

static int finish(run *r, const rn_chunk *last) {
    if (r->to_terminal && !r->ends_line) output_write(&r->out, "\n", 1);
    if (last->finish_reason == RN_FINISH_ERROR)
        say("generation: %s", last->finish_detail);
    else
        say_figures(last);
    if (last->finish_reason == RN_FINISH_ERROR) return EXIT_CODE_FAILED;
    if (last->finish_reason == RN_FINISH_CANCELLED && interrupt_came()) return EXIT_CODE_INTERRUPTED;
    return EXIT_CODE_OK;
}

static int read_stream(run *r, rn_stream *stream) {
    rn_chunk chunk;
    rn_error err = {0};
    rn_chunk_init(&chunk);
    for (;;) {
        if (machine_next_chunk(&r->on, stream, &chunk, &err) != RN_OK) return machine_failed(&err);
        if (!write_chunk(r, &chunk)) return EXIT_CODE_OK; // output_exit() decides the exit code
        if (chunk.finish_reason != RN_FINISH_NONE) return finish(r, &chunk);
    }
}

static int generate(run *r) {
    rn_request req;
    rn_sampling sampling;
    rn_chat chat;
    rn_part part;
    rn_error err = {0};
    rn_stream *stream = NULL;
    rn_request_init(&req);
    if (!generation_apply(&r->g, &req, &sampling, &err)) return machine_failed(&err);
    req.grammar = r->grammar;
    if (r->chat.is_chat) {
        chat_add_messages(&r->chat, &r->messages, r->prompt.text.data, r->prompt.text.n);
        generation_chat(&r->g, &req, &chat, r->messages.data, r->messages.n);
        chat_options_apply(&r->chat, &chat);
    } else if (r->prompt.is_ids)
        generation_prompt_ids(&req, &part, r->prompt.ids.ids, r->prompt.ids.n);
    else
        generation_prompt(&r->g, &req, &part, r->prompt.text.data, r->prompt.text.n);
    req.raw_bytes = !r->is_json && !r->to_terminal && !r->chat.is_chat;
    req.token_times = r->is_json;
    if (r->shows_probs || r->top_probs) req.logprobs = r->top_probs;
    r->has_colour = (r->shows_probs || r->top_probs) && r->to_terminal && term_colour(STDOUT_FILENO);
    r->least = 1;
    req.progress = machine_progress;
    req.progress_user = &r->on;
    if (rn_stream_begin(r->on.engine, &req, &stream, &err) != RN_OK) return machine_failed(&err);
    const int code = read_stream(r, stream);
    rn_stream_close(stream);
    return output_exit(&r->out, code);
}

static int check_model(run *r) {
    rn_model_info info = {.struct_size = sizeof info};
    rn_error err = {0};
    if (rn_model_get_info(r->on.model, &info, &err) != RN_OK) return machine_failed(&err);
    if (info.chat_template && !r->chat.is_chat && term_is(STDERR_FILENO))
        say("%s: is a chat model: with --chat it answers the prompt, without --chat it continues it", r->on.path);
    if (info.has_tokenizer || (r->is_json && !r->chat.is_chat)) return EXIT_CODE_OK;
    say("%s: %s, so it cannot print text: --json gives the token ids", r->on.path,
        info.tokenizer_error ? "its tokenizer is not supported" : "has no tokenizer");
    return EXIT_CODE_FAILED;
}

static int run_prompt(run *r, const options *parsed) {
    if (!check_together(r, parsed)) return EXIT_CODE_USAGE;
    int code = prompt_read(&r->prompt, parsed);
    if (code != EXIT_CODE_OK) return code;
    if ((code = chat_options_open(&r->chat)) != EXIT_CODE_OK) return code;
    r->on.n_seqs = generation_is_guided(&r->g);
    interrupt_catch();
    if ((code = machine_open_model(&r->on)) != EXIT_CODE_OK) return code;
    if ((code = check_model(r)) != EXIT_CODE_OK) return code;
    if ((code = grammar_options_compile(&r->form, r->on.model, &r->grammar)) != EXIT_CODE_OK) return code;
    if ((code = machine_open_engine(&r->on)) != EXIT_CODE_OK) return code;
    if (r->on.is_verbose) generation_say_preset(&r->g);
    return generate(r);
}

int cmd_run(int n_args, char **args) {
    run r = {.ends_line = true, .to_terminal = term_is(STDOUT_FILENO)};
    generation_rows rows;
    options parsed;
    machine_init(&r.on);
    generation_init(&r.g);
    generation_rows_init(&rows);
    const option_group groups[] = {
        PROMPT_GROUP(&r.prompt),
        CHAT_TURN_GROUP(&r.chat),
        CHAT_TEMPLATE_GROUP(&r.chat),
        MACHINE_MODEL_GROUP(&r.on),
        MACHINE_SIZE_GROUP(&r.on),
        MACHINE_ENGINE_GROUP(&r.on),
        GENERATION_SAMPLING_GROUP(&rows, &r.g),
        GENERATION_STOP_GROUP(&r.g),
        GENERATION_TEXT_GROUP(&r.g),
        GRAMMAR_OPTIONS_GROUP(&r.form),
        {"Output", run_rows, 1, &r.g},
        {NULL, probs_rows, 2, &r},
        {NULL, json_rows, 1, &r},
    };
    const option_spec spec = {
        .command = "run",
        .usage = "[-m MODEL] [PROMPT | -p TEXT | -f FILE | --ids LIST] [options]",
        .about = "Continue a prompt, or answer it (--chat). The text is written to stdout as it is generated.",
        .notes = notes,
        .groups = groups,
        .n_groups = sizeof groups / sizeof *groups,
        .max_positional = 1,
    };
    int code;
    if (options_parse(&spec, n_args, args, &parsed, &code)) code = run_prompt(&r, &parsed);
    options_free(&parsed);
    prompt_free(&r.prompt);
    bytes_free(&r.line);
    bytes_free(&r.messages);
    chat_message_free(&r.message);
    chat_options_free(&r.chat);
    rn_grammar_close(r.grammar);
    grammar_options_free(&r.form);
    machine_close(&r.on);
    return code;
}
