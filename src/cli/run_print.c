// cli/run_print.c - see run_print.h.
#include "cli/run_print.h"
#include "app/draft_figures.h"
#include "app/interrupt.h"
#include "app/json_write.h"
#include "app/stream_json.h"
#include "app/term.h"
#include "app/wrap.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NO_COLOUR "\x1b[0m"

const option run_interval_rows[1] = {
    {0, "stream-interval", "N", OPTION_INT, offsetof(generation, stream_interval), 1, 1024,
     .help = "tokens in each chunk, 1..1024 (default 1)"},
};
const option run_print_rows[RUN_PRINT_ROWS] = {
    {0, "show-probs", NULL, OPTION_FLAG, offsetof(run_print, shows_probs),
     .help = "at a terminal, colour the text by the probability of its tokens: green from 75 %, yellow from 40 %, "
             "magenta from 10 %, red below; not with NO_COLOR"},
    {0, "top-probs", "K", OPTION_INT, offsetof(run_print, top_probs), 1, 20,
     .help = "instead of the text, a line for each token: its probability, and the K best candidates, 1..20"},
    {0, "json", NULL, OPTION_FLAG, offsetof(run_print, is_json),
     .help = "a line of JSON for each chunk; the last one has finish_reason, seed, usage and timing"},
};

static bool write_json(run_print *r, rn_stream *stream, const rn_chunk *c) {
    json_writer w = {&r->line, false};
    r->line.n = 0;
    json_put_begin(&w, '{');
    json_member_whole(&w, "choice", c->choice);
    json_member_text(&w, "text", c->text, c->n_text);
    json_put_key(&w, "tokens");
    json_put_ids(&w, c->tokens, c->n_tokens);
    if (r->is_chat) {
        json_member_begin(&w, "deltas", '[');
        json_put_deltas(&w, c->deltas, c->n_deltas);
        json_put_end(&w, ']');
    }
    if (r->g->logprobs >= 0 || r->g->sampled_logprobs >= 0) {
        json_member_begin(&w, "logprobs", '[');
        if (c->token_data) json_put_logprobs(&w, c->token_data, c->n_tokens, NULL);
        json_put_end(&w, ']');
        json_put_drafted(&w, c);
    }
    if (c->finish_reason == RN_FINISH_NONE) {
        json_put_key(&w, "finish_reason");
        json_put_null(&w);
    } else {
        json_put_finish(&w, c, true, stream, NULL);
    }
    json_put_end(&w, '}');
    bytes_add(&r->line, "\n", 1);
    return output_write(&r->out, r->line.data, r->line.n);
}

static bool write_text(run_print *r, const char *text, size_t n) {
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
static void colour_text(run_print *r, const rn_chunk *c) {
    if (!r->has_colour || !c->token_data) return;
    for (size_t i = 0; i < c->n_tokens; i++) {
        const double p = exp((double)c->token_data[i].logprob);
        if (p < r->least) r->least = p;
    }
    r->colour = colour_of(r->least);
    if (c->n_text > 0) r->least = 1;
}

static int n_characters(const char *text, size_t n) {
    int count = 0;
    for (size_t i = 0; i < n; i++) count += ((unsigned char)text[i] & 0xC0) != 0x80;
    return count;
}

// A token's probability and text, as a JSON string, which no text can break. Returns its columns.
static int add_candidate(run_print *r, bytes *to, int32_t id, float logprob) {
    const double p = exp((double)logprob);
    json_writer w = {to, false};
    size_t n;
    char *const text = token_text(r->on->model, id, &n);
    if (r->has_colour) bytes_add_text(to, colour_of(p));
    const size_t from = to->n;
    bytes_add_format(to, "%6.2f%% ", 100 * p);
    json_put_text(&w, text, n);
    const int n_columns = n_characters(to->data + from, to->n - from);
    if (r->has_colour) bytes_add_text(to, NO_COLOUR);
    rn_free(text);
    return n_columns;
}

// The next cell of a line that stands at *column: at a terminal below the others, in a new line where this one is full; else
// behind a tab or two blanks.
static void add_cell(run_print *r, int32_t id, float logprob, int32_t k, int *column) {
    enum { CELL = 20 };
    bytes cell = {0};
    const int n = add_candidate(r, &cell, id, logprob);
    if (!r->to_terminal) {
        bytes_add_text(&r->line, k < 0 ? "" : k == 0 ? "\t" : "  ");
    } else {
        int at = k < 0 ? 0 : (*column + CELL + 1) / CELL * CELL; // two blanks at least
        if (at > CELL && at + n > term_width(STDOUT_FILENO)) {
            bytes_add_text(&r->line, "\n");
            *column = 0, at = CELL;
        }
        bytes_add_format(&r->line, "%*s", at - *column, "");
        *column = at + n;
    }
    bytes_add(&r->line, cell.data, cell.n);
    bytes_free(&cell);
}

static bool write_table(run_print *r, const rn_chunk *c) {
    r->line.n = 0;
    for (size_t i = 0; i < c->n_tokens; i++) {
        const rn_token *const t = &c->token_data[i];
        int column = 0;
        add_cell(r, t->id, t->logprob, -1, &column);
        for (int32_t k = 0; k < t->n_top; k++) add_cell(r, t->top[k].id, t->top[k].logprob, k, &column);
        bytes_add_text(&r->line, "\n");
    }
    return r->line.n == 0 || output_write(&r->out, r->line.data, r->line.n);
}

// Shows reasoning on stderr, dimmed if it is a terminal; there the answer then begins on a new line.
static void show_thought(run_print *r, const char *text, size_t n) {
    const bool at_terminal = term_is(STDERR_FILENO), has_colour = term_colour(STDERR_FILENO);
    if (!at_terminal && !r->show_reasoning) return;
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

static void end_thought(run_print *r) {
    if (r->is_thinking) fputs("\n\n", stderr);
    r->is_thinking = false;
}

static bool write_call(run_print *r, const chat_call *call) {
    json_writer w = {&r->line, false};
    r->line.n = 0;
    if (!r->ends_line) bytes_add_text(&r->line, "\n");
    json_put_call(&w, call);
    bytes_add_text(&r->line, "\n");
    r->ends_line = true;
    return output_write(&r->out, r->line.data, r->line.n);
}

// Prints tool calls that are complete; at_end: also one that was cut off.
static bool write_calls(run_print *r, bool at_end) {
    bool goes_on = true;
    for (; goes_on && r->n_printed < r->message.n_calls; r->n_printed++) {
        const chat_call *const call = &r->message.calls[r->n_printed];
        if (!call->has_ended && !at_end) break;
        goes_on = write_call(r, call);
    }
    return goes_on;
}

static bool write_chat(run_print *r, const rn_chunk *c) {
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

static bool write_chunk(run_print *r, rn_stream *stream, const rn_chunk *c) {
    if (r->is_json) return write_json(r, stream, c);
    if (r->top_probs) return write_table(r, c);
    if (r->shows_probs) colour_text(r, c);
    return r->is_chat ? write_chat(r, c) : write_text(r, c->text, c->n_text);
}

static void say_figures(const run_print *r, const rn_chunk *last) {
    char count[HUMAN_BYTES], first[HUMAN_BYTES], guesses[DRAFT_WORDS];
    struct stat out;
    if (!term_is(STDERR_FILENO)) return;
    // What reads the pipe may show the text at this terminal (tee, cat): the figures begin a line of their own.
    const bool is_pipe = fstat(STDOUT_FILENO, &out) == 0 && S_ISFIFO(out.st_mode);
    if (!r->to_terminal && !r->ends_line && is_pipe) fputs("\n", stderr);
    const double n_timed = (double)last->usage->completion_tokens - 1, ms = last->timing->decode_ms;
    const bool has_colour = term_colour(STDERR_FILENO);
    fprintf(stderr, "%s%s tokens", has_colour ? "\x1b[2m" : "",
            human_count((uint64_t)last->usage->completion_tokens, count));
    if (n_timed > 0 && ms > 0) fprintf(stderr, ", %.0f tok/s", n_timed * 1000 / ms);
    fprintf(stderr, ", first after %s", human_time(last->timing->first_token_ms, first));
    fprintf(stderr, "; prompt %" PRId64 " (%" PRId64 " cached)", last->usage->prompt_tokens,
            last->usage->cached_tokens);
    if (*draft_words(last->usage, guesses)) fprintf(stderr, "; %s", guesses);
    fprintf(stderr, "; seed %" PRIu64 "; %s: %s%s\n", last->seed, rn_finish_name(last->finish_reason),
            last->finish_detail, has_colour ? "\x1b[0m" : "");
}

// Interrupted, a search has not chosen its answer.
static void say_not_chosen(const run_print *r) {
    int32_t n;
    bool is_given;
    if (strategy_form_texts(&r->g->strategy, &n, &is_given) && n > 1)
        say("--strategy %s: interrupted: this is the best of its %d texts so far", r->g->strategy.strategy, n);
}

static int finish(run_print *r, const rn_chunk *last) {
    r->was_cut = last->finish_reason == RN_FINISH_LENGTH && strncmp(last->finish_detail, "max_tokens", 10) == 0;
    if ((r->to_terminal || r->ends_lines) && !r->ends_line) {
        output_write(&r->out, "\n", 1);
        r->ends_line = true;
    }
    if (last->finish_reason == RN_FINISH_ERROR)
        say("generation: %s", last->finish_detail);
    else
        say_figures(r, last);
    if (last->finish_reason == RN_FINISH_CANCELLED) say_not_chosen(r);
    if (last->finish_reason == RN_FINISH_ERROR) return EXIT_CODE_FAILED;
    if (last->finish_reason == RN_FINISH_CANCELLED && interrupt_came()) return EXIT_CODE_INTERRUPTED;
    return EXIT_CODE_OK;
}

static int print_all(run_print *r, rn_stream *stream) {
    rn_chunk chunk;
    rn_error err = {0};
    rn_chunk_init(&chunk);
    for (;;) {
        if (machine_next_chunk(r->on, stream, &chunk, &err) != RN_OK) return machine_failed(&err);
        if (!write_chunk(r, stream, &chunk)) return EXIT_CODE_OK; // output_exit() decides the exit code
        if (chunk.finish_reason != RN_FINISH_NONE) return finish(r, &chunk);
    }
}

int run_print_stream(run_print *p, rn_stream *stream) { return output_exit(&p->out, print_all(p, stream)); }

void run_print_init(run_print *p, machine *on, const generation *g) {
    *p = (run_print){.on = on, .g = g, .ends_line = true, .to_terminal = term_is(STDOUT_FILENO), .least = 1};
}

bool run_print_check(const run_print *p, const options *parsed) {
    if (!p->is_json && options_refuse(parsed, "logprobs", "without --json")) return false;
    if (!p->is_json && options_refuse(parsed, "sampled-logprobs", "without --json")) return false;
    if (p->is_json && options_refuse(parsed, "show-probs", "with --json, which has --logprobs")) return false;
    if (p->is_json && options_refuse(parsed, "top-probs", "with --json, which has --logprobs")) return false;
    if (p->top_probs > 0 && options_refuse(parsed, "stream-interval", "with --top-probs")) return false;
    if (p->is_json && options_refuse(parsed, "no-newline", "with --json")) return false;
    if (p->top_probs > 0 && options_refuse(parsed, "no-newline", "with --top-probs")) return false;
    return true;
}

void run_print_begin(run_print *p, rn_request *req, bool is_chat, bool show_reasoning) {
    p->is_chat = is_chat;
    p->show_reasoning = show_reasoning;
    req->raw_bytes = !p->is_json && !p->to_terminal && !is_chat;
    req->token_times = p->is_json;
    if (p->shows_probs || p->top_probs) req->logprobs = p->top_probs;
    p->has_colour = (p->shows_probs || p->top_probs) && p->to_terminal && term_colour(STDOUT_FILENO);
    req->progress = machine_progress;
    req->progress_user = p->on;
}

void run_print_free(run_print *p) {
    bytes_free(&p->line);
    chat_message_free(&p->message);
}
