// cli/cmd_batch.c - `runnel batch`: answers JSON request lines with many streams in one engine.
#include "app/files.h"
#include "app/interrupt.h"
#include "app/machine.h"
#include "app/term.h"
#include "app/wrap.h"
#include "cli/batch_job.h"
#include "cli/command.h"
#include "cli/line_source.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// LOOK_MS: how often to check for Ctrl+C. WINDOW: with answers in order, at most WINDOW * parallel lines are held.
enum { LOOK_MS = 100, WINDOW = 4 };

typedef struct batch {
    machine on;
    batch_plan plan;
    const char *path;
    bool is_in_order;
    int32_t n_parallel;
    line_source lines;
    output out;
    int ready[2];     // a pipe: streams write a byte when they have chunks
    batch_job **jobs; // [n_jobs], in line order
    size_t n_jobs, n_room, n_running;
    bool ends; // no new lines are begun
    uint64_t n_answers, n_failed, n_tokens;
    uint64_t n_begun_bytes, n_done_bytes, n_total_bytes; // of the input; total 0: unknown
    int64_t begin_ns;
    char note[64];
} batch;

static const option batch_rows[] = {
    {0, "parallel", "N", OPTION_INT, offsetof(batch, n_parallel), 1, 1024,
     .help = "requests that run at once, 1..1024 (default 16)"},
    {0, "in-order", NULL, OPTION_FLAG, offsetof(batch, is_in_order),
     .help = "write answers in input order (default: as they finish)"},
    {0, "token-times", NULL, OPTION_FLAG, offsetof(batch, plan.has_token_times),
     .help = "add token_ms, each token's time, to timing"},
    {0, "outputs-mib", "MIB", OPTION_INT, offsetof(batch, on.outputs_mib), 0, 65536,
     .help =
         "MiB for finished answers, in which drafts of later lines look for what follows (speculate: suffix, ngram-cache); the "
         "least recently used are dropped first; 0: none are kept (default 16)"},
};

static const char *const notes =
    "A line of FILE, or of stdin, is one request:\n"
    "\n"
    "  {\"id\": \"a\", \"prompt\": \"Once upon a time\", \"n\": 50, \"temp\": 0, \"stop\": [\"\\n\"]}\n"
    "\n"
    "with \"prompt\" or \"ids\": [..], or a text with a hole, \"prefix\" and \"suffix\"\n"
    "(infill_order: published, psm, spm), or a conversation:\n"
    "\n"
    "  {\"id\": \"b\", \"messages\": [{\"role\": \"user\", \"content\": \"Hello\"}]}\n"
    "\n"
    "with tools, tool_choice (auto, none, required, a function),\n"
    "parallel_tool_calls, variables, continue_final and truncate (none, old, middle)\n"
    "on request, whose answer has \"message\" as well. Further members are named as the\n"
    "options: temp, top_k, ... (all of the sampling options, with _ for -), preset,\n"
    "logit_bias {\"ID\": BIAS}, samplers [\"dry\", ..], banned_tokens [ID, ..],\n"
    "sequence_bias [[[ID, ..], BIAS], ..],\n"
    "dry_sequence_breakers [\"TEXT\", ..], seed, n, stop, stop_tokens,\n"
    "banned_strings [\"TEXT\", ..], banned_match_case, token_healing, ignore_eos,\n"
    "watermark {\"keys\": [..]}, guidance_scale, negative_prompt, strategy (and its\n"
    "options: num_beams, ...), speculate,\n"
    "prediction, draft_max, draft_min, draft_min_p, spec_verify, special,\n"
    "parse_special, echo, logprobs, sampled_logprobs, and for answers of a given\n"
    "form json_schema {..},\n"
    "json_mode, regex, choices [\"TEXT\", ..], grammar, structural_tag {..},\n"
    "json_space, forced_tokens.\n"
    "What a line leaves out is taken from the command line. Answers are lines too:\n"
    "\n"
    "  {\"id\", \"text\", \"tokens\", \"finish_reason\", ..., \"usage\", \"timing\"}\n"
    "  {\"id\", \"error\"}\n"
    "\n"
    "A line of OpenAI's batches is answered as theirs are:\n"
    "\n"
    "  {\"custom_id\": \"c\", \"method\": \"POST\", \"url\": \"/v1/chat/completions\",\n"
    "   \"body\": {\"messages\": [..], \"max_tokens\": 50, \"temperature\": 0}}\n"
    "  {\"custom_id\", \"response\": {\"status_code\", \"body\"}, \"error\"}\n"
    "\n"
    "A bad line gets an error and the others are still answered; the exit status is\n"
    "then 1. Blank lines are skipped. An answer to a line without id has \"id\": null\n"
    "and \"line\", its number.";

static void wake(void *user) {
    const char byte = 0;
    // Fails only if the pipe is full: the reader is awake anyway.
    const ssize_t n = write(((const batch *)user)->ready[1], &byte, 1);
    (void)n;
}

static void add_job(batch *b, batch_job *job) {
    if (b->n_jobs == b->n_room) {
        b->n_room = b->n_room ? 2 * b->n_room : 32;
        b->jobs = app_realloc(b->jobs, b->n_room * sizeof *b->jobs);
    }
    b->jobs[b->n_jobs++] = job;
    job->n_source_bytes = b->lines.n_bytes - b->n_begun_bytes; // blank lines before it included
    b->n_begun_bytes = b->lines.n_bytes;
    if (job->is_done) return;
    b->n_running++;
    rn_stream_on_ready(job->stream, wake, b);
    wake(b); // chunks may have come before the callback was set
}

static bool has_room(const batch *b) {
    const size_t n = (size_t)b->n_parallel;
    return !b->ends && b->n_running < n && b->n_jobs < WINDOW * n;
}

// Begins lines while there are complete ones and free streams. Returns whether more input is needed.
static bool begin_jobs(batch *b) {
    const char *text;
    size_t n;
    while (has_room(b)) {
        switch (line_source_take(&b->lines, &text, &n)) {
        case LINE_WAIT: return true;
        case LINE_END: b->ends = true; break;
        case LINE_TOO_LONG:
            add_job(b, batch_job_begin(&b->plan, b->lines.n_lines, NULL, 0, "longer than 16 MiB"));
            break;
        case LINE_TAKEN:
            if (!line_is_blank(text, n)) add_job(b, batch_job_begin(&b->plan, b->lines.n_lines, text, n, NULL));
            break;
        }
    }
    return false;
}

static void read_jobs(batch *b) {
    for (size_t i = 0; i < b->n_jobs; i++) {
        batch_job *job = b->jobs[i];
        if (!job->is_done && batch_job_read(&b->plan, job)) {
            b->n_running--;
            b->n_tokens += job->n_tokens;
        }
    }
}

// Writes finished answers: all, or with --in-order those up to the first unfinished one. False: stdout is closed.
static bool write_answers(batch *b) {
    size_t n_kept = 0, i = 0;
    bool ok = true, may_write = true;
    for (; i < b->n_jobs; i++) {
        batch_job *job = b->jobs[i];
        may_write = may_write && (job->is_done || !b->is_in_order);
        if (!job->is_done || !may_write) {
            b->jobs[n_kept++] = job;
            continue;
        }
        b->n_answers++;
        b->n_failed += job->has_failed;
        b->n_done_bytes += job->n_source_bytes;
        if (ok) {
            progress_hide(&b->on.bar);
            ok = output_write(&b->out, job->answer.data, job->answer.n);
        }
        batch_job_free(job);
    }
    b->n_jobs = n_kept;
    return ok;
}

static void show(batch *b) {
    char count[HUMAN_BYTES];
    const double s = (double)(now_ns() - b->begin_ns) / 1e9;
    snprintf(b->note, sizeof b->note, "%s done, %.0f tok/s", human_count(b->n_answers, count),
             s > 0 ? (double)b->n_tokens / s : 0);
    if (b->n_total_bytes)
        progress_update(&b->on.bar, "batch", PROGRESS_BYTES, b->note, b->n_done_bytes, b->n_total_bytes);
    else
        progress_update(&b->on.bar, "batch", PROGRESS_COUNT, b->note, b->n_answers, 0);
}

static void wait_for_something(batch *b, bool wants_input) {
    struct pollfd fds[2] = {{.fd = b->ready[0], .events = POLLIN},
                            {.fd = wants_input ? b->lines.fd : -1, .events = POLLIN}};
    char drain[512];
    if (poll(fds, 2, LOOK_MS) <= 0) return;
    if (fds[0].revents)
        while (read(b->ready[0], drain, sizeof drain) == (ssize_t)sizeof drain) {
        }
    if (fds[1].revents) line_source_fill(&b->lines);
}

static int work(batch *b) {
    bool was_interrupted = false;
    b->begin_ns = now_ns();
    while (!b->ends || b->n_jobs) {
        const bool wants_input = begin_jobs(b);
        if (!write_answers(b)) return EXIT_CODE_OK; // output_exit() decides the exit code
        if (b->ends && b->n_jobs == 0) break;
        if (b->n_running || wants_input) wait_for_something(b, wants_input);
        if (interrupt_came() && !was_interrupted) {
            was_interrupted = b->ends = true;
            for (size_t i = 0; i < b->n_jobs; i++)
                if (!b->jobs[i]->is_done) rn_stream_cancel(b->jobs[i]->stream);
        }
        read_jobs(b);
        show(b);
    }
    if (was_interrupted) return EXIT_CODE_INTERRUPTED;
    return b->n_failed || b->lines.has_failed ? EXIT_CODE_FAILED : EXIT_CODE_OK;
}

static int open_lines(batch *b) {
    struct stat st;
    const bool is_stdin = !b->path || strcmp(b->path, "-") == 0;
    if (!b->path && term_is(STDIN_FILENO)) {
        say("requests: none given: runnel batch FILE, or a pipe into stdin");
        return EXIT_CODE_USAGE;
    }
    b->lines = (line_source){.fd = is_stdin ? STDIN_FILENO : open(b->path, O_RDONLY | O_CLOEXEC),
                             .name = is_stdin ? "stdin" : b->path};
    if (b->lines.fd < 0 || fstat(b->lines.fd, &st) != 0) {
        say("%s: %s", b->lines.name, strerror(errno));
        return EXIT_CODE_FAILED;
    }
    b->n_total_bytes = S_ISREG(st.st_mode) && st.st_size > 0 ? (uint64_t)st.st_size : 0;
    if (pipe2(b->ready, O_CLOEXEC | O_NONBLOCK) == 0) return EXIT_CODE_OK;
    say("pipe: %s", strerror(errno));
    return EXIT_CODE_FAILED;
}

static int run_batch(batch *b, const options *parsed) {
    if (!generation_use_draft(&b->plan.defaults, b->on.draft_name, b->on.ngram_cache, NULL) ||
        !generation_check(&b->plan.defaults, parsed))
        return EXIT_CODE_USAGE;
    b->path = parsed->positional[0];
    int code = open_lines(b);
    if (code != EXIT_CODE_OK) return code;
    interrupt_catch();
    b->on.n_streams = b->n_parallel;
    b->on.n_seqs = generation_is_guided(&b->plan.defaults);
    if (!strategy_form_reserve(&b->plan.defaults.strategy, &b->on)) return EXIT_CODE_USAGE;
    b->on.heads = &b->plan.defaults.heads;
    if ((code = chat_options_open(&b->plan.chat)) != EXIT_CODE_OK) return code;
    b->on.may_see = true;
    if ((code = machine_open_model(&b->on)) != EXIT_CODE_OK) return code;
    if ((code = machine_open_engine(&b->on)) != EXIT_CODE_OK) return code;
    if (b->on.is_verbose) generation_say_preset(&b->plan.defaults);
    b->plan.engine = b->on.engine;
    b->plan.model = b->on.model;
    b->plan.grammars = grammar_cache_open(GRAMMAR_CACHE_MIB);
    return output_exit(&b->out, work(b));
}

static void close_batch(batch *b) {
    for (size_t i = 0; i < b->n_jobs; i++) batch_job_free(b->jobs[i]);
    free(b->jobs);
    grammar_cache_close(b->plan.grammars);
    chat_options_free(&b->plan.chat);
    machine_close(&b->on); // before the pipe is closed: the engine's threads write to it
    line_source_free(&b->lines);
    if (b->lines.fd > STDIN_FILENO) close(b->lines.fd);
    for (int i = 0; i < 2; i++)
        if (b->ready[i] >= 0) close(b->ready[i]);
}

int cmd_batch(int n_args, char **args) {
    batch b = {.n_parallel = 16, .ready = {-1, -1}, .lines = {.fd = -1}};
    generation_rows rows;
    options parsed;
    machine_init(&b.on);
    b.on.outputs_mib = MACHINE_OUTPUTS_MIB;
    generation_init(&b.plan.defaults);
    generation_rows_init(&rows);
    generation_members_init(&b.plan.members);
    const option_group groups[] = {
        MACHINE_MODEL_GROUP(&b.on),
        MACHINE_SIZE_GROUP(&b.on),
        MACHINE_ENGINE_GROUP(&b.on),
        {"Batch", batch_rows, sizeof batch_rows / sizeof *batch_rows, &b},
        {"Conversations", chat_template_rows, 2, &b.plan.chat},
        GENERATION_SAMPLING_GROUP(&rows, &b.plan.defaults),
        GENERATION_STRATEGY_GROUP(&rows, &b.plan.defaults),
        MACHINE_CONTRAST_GROUP(&b.on),
        GENERATION_STOP_GROUP(&b.plan.defaults),
        MACHINE_DRAFT_GROUP(&b.on),
        GENERATION_DRAFT_GROUP(&b.plan.defaults),
        GENERATION_TEXT_GROUP(&b.plan.defaults),
    };
    const option_spec spec = {
        .command = "batch",
        .usage = "[-m MODEL] [FILE] [options] < requests.jsonl > results.jsonl",
        .about = "Answer many requests, several at a time. Each answer is the same as when run alone.",
        .notes = notes,
        .groups = groups,
        .n_groups = sizeof groups / sizeof *groups,
        .max_positional = 1,
    };
    int code;
    if (options_parse(&spec, n_args, args, &parsed, &code)) code = run_batch(&b, &parsed);
    options_free(&parsed);
    close_batch(&b);
    return code;
}
