// cli/compare/cmd_compare.c - `runnel compare`: continues one prompt in several ways, with one or several models, side by side.
#include "app/chat_options.h"
#include "app/files.h"
#include "app/interrupt.h"
#include "app/machine.h"
#include "app/numbers.h"
#include "app/term.h"
#include "cli/bench_row.h"
#include "cli/command.h"
#include "cli/compare/compare_print.h"
#include "cli/compare/compare_settings.h"
#include "cli/compare/lane_columns.h"
#include "cli/prompt.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

// LOOK_MS: how often to look for Ctrl+C and the terminal's width.
enum { MOST_MODELS = 8, MOST_SETTINGS = 16, LOOK_MS = 100, TOKENS = 128, ALTERNATIVES = 5 };

typedef struct compare {
    machine on; // without its models
    const char *model_names[MOST_MODELS], *settings[MOST_SETTINGS];
    size_t n_models, n_settings;
    char *paths[MOST_MODELS];
    rn_model *models[MOST_MODELS];
    generation g; // what settings leave out
    generation_members members;
    prompt prompt;
    chat_options chat;
    bytes messages;
    bool is_json;
    const char *html_path; // NULL: no page
    out_file html;
    compare_lane *lanes;
    size_t n_lanes;
    lane_columns columns;
    output out;
    int ready[2]; // a pipe: streams write a byte when they have chunks
} compare;

static bool take_model(void *target, const char *value, char *why) {
    compare *const c = target;
    if (c->n_models == MOST_MODELS) {
        snprintf(why, NUMBER_WHY, "given more than %d times", MOST_MODELS);
        return false;
    }
    c->model_names[c->n_models++] = value;
    return true;
}

static bool take_settings(void *target, const char *value, char *why) {
    compare *const c = target;
    if (c->n_settings == MOST_SETTINGS) {
        snprintf(why, NUMBER_WHY, "given more than %d times", MOST_SETTINGS);
        return false;
    }
    c->settings[c->n_settings++] = value;
    return true;
}

static const option compared_rows[] = {
    {'m', "model", "MODEL", OPTION_EACH, .each = take_model,
     .help = "a GGUF file, a Hugging Face folder, or the name of a fetched model (default: $RUNNEL_MODEL, else the "
             "program's own); repeatable, up to 8"},
    {'s', "settings", "NAME|JSON", OPTION_EACH, .each = take_settings,
     .help =
         "a way of generating: greedy, focused, balanced, creative, wild, beam, best-of, contrastive, contrastive-decoding, dola, tree; another preset; or the members of a "
         "request as a JSON object, with its \"name\"; repeatable, up to 16 (default greedy, balanced, creative; "
         "with several models greedy)"},
};
static const option output_rows[] = {
    {0, "json", NULL, OPTION_FLAG, offsetof(compare, is_json),
     .help = "one JSON object, when all have ended: texts, tokens, probabilities and measures"},
    {0, "html", "FILE", OPTION_TEXT, offsetof(compare, html_path),
     .help = "also write a page: the texts coloured by probability, with what else was probable, plots, and where "
             "texts part"},
};
static const option length_rows[] = {
    {'n', "max-tokens", "N", OPTION_INT, offsetof(generation, n), -1, INT32_MAX,
     .help = "maximum number of tokens of each text (default 128; -1: the rest of the context)"},
};

static const char *const notes = "Every model continues the prompt in every way, all in one batch and with one\n"
                                 "seed, unless settings have a \"seed\" of their own. What settings leave out is\n"
                                 "taken from the command line.\n"
                                 "\n"
                                 "  runnel compare \"Once upon a time\"\n"
                                 "  runnel compare -s wild -s '{\"name\": \"dry\", \"dry_multiplier\": 0.8}' TEXT\n"
                                 "  runnel compare -m Q8_0.gguf -m Q4_K_M.gguf --chat \"Why is the sky blue?\"\n"
                                 "\n"
                                 "At a terminal the texts grow side by side; in a pipe they come one after\n"
                                 "another. The table below them: tokens/s within the batch; rows that the model\n"
                                 "evaluated; means of the tokens' log-probability and of the entropy of the\n"
                                 "model's distribution, in nats; distinct n-grams of words; repetition of 4-grams;\n"
                                 "BLEU against the other texts. Ctrl+C ends all texts where they are.";

// ---- lanes ----------------------------------------------------------------------------------------------------------

// Each of the models with each of the settings.
static bool make_lanes(compare *c) {
    static const char *const defaults[] = {"greedy", "balanced", "creative"};
    if (c->n_settings == 0)
        while (c->n_settings < (c->n_models > 1 ? 1 : 3))
            c->settings[c->n_settings] = defaults[c->n_settings], c->n_settings++;
    c->lanes = app_alloc(c->n_models * c->n_settings * sizeof *c->lanes);
    for (size_t m = 0; m < c->n_models; m++)
        for (size_t s = 0; s < c->n_settings; s++) {
            compare_lane *const l = &c->lanes[c->n_lanes++];
            l->model = m;
            if (!compare_settings_read(l, c->settings[s], &c->g, &c->members)) return false;
        }
    return true;
}

static int open_models(compare *c) {
    for (size_t m = 0; m < c->n_models; m++) {
        rn_model_info info = {.struct_size = sizeof info};
        rn_error err = {0};
        const int code = machine_open_file(&c->on, c->model_names[m], &c->paths[m], &c->models[m]);
        if (code != EXIT_CODE_OK) return code;
        if (c->on.early_layers && rn_model_add_early_layers(c->models[m], c->on.early_layers, &err) != RN_OK)
            return machine_failed(&err);
        if (rn_model_get_info(c->models[m], &info, &err) != RN_OK) return machine_failed(&err);
        if (info.has_tokenizer) continue;
        say("%s: %s, so there are no texts to compare", c->paths[m],
            info.tokenizer_error ? "its tokenizer is not supported" : "has no tokenizer");
        return EXIT_CODE_FAILED;
    }
    return EXIT_CODE_OK;
}

// What the strategies of all lanes need.
static bool reserve(compare *c, const options *parsed) {
    int32_t most = 0;
    bool has_amateur = false;
    for (size_t i = 0; i < c->n_lanes; i++) {
        generation *const g = c->lanes[i].g;
        c->on.n_seqs = generation_is_guided(g);
        if (!strategy_form_reserve(&g->strategy, &c->on)) return false;
        if (c->on.n_seqs > most) most = c->on.n_seqs;
        has_amateur = has_amateur || strategy_form_needs_amateur(&g->strategy);
    }
    c->on.n_seqs = most;
    return has_amateur || !options_refuse(parsed, "amateur", "without -s contrastive-decoding");
}

// The page's file, before anything is generated for it.
static int open_page(compare *c) {
    bool is_read = c->prompt.file && file_is_same(c->prompt.file, c->html_path);
    for (size_t m = 0; m < c->n_models; m++) is_read = is_read || rn_model_reads(c->models[m], c->html_path);
    if (is_read) {
        say("%s: is an input file too: give the output another name", c->html_path);
        return EXIT_CODE_USAGE;
    }
    return out_file_open(&c->html, c->html_path) ? EXIT_CODE_OK : EXIT_CODE_FAILED;
}

static int open_engine(compare *c) {
    rn_engine_options opt;
    rn_error err = {0};
    c->on.n_streams = (int32_t)c->n_lanes;
    const int code = machine_open_helpers(&c->on);
    if (code != EXIT_CODE_OK) return code;
    machine_engine_options(&c->on, &opt);
    rn_model *models[MOST_MODELS + MACHINE_HELPERS];
    memcpy(models, c->models, c->n_models * sizeof *models);
    const size_t n = machine_add_helpers(&c->on, models, c->n_models, &opt);
    const rn_status st = rn_engine_open(models, n, &opt, &c->on.engine, &err);
    progress_hide(&c->on.bar);
    return st == RN_OK ? EXIT_CODE_OK : machine_failed(&err);
}

static void wake(void *user) {
    const char byte = 0;
    // Fails only if the pipe is full: the reader is awake anyway.
    const ssize_t n = write(((const compare *)user)->ready[1], &byte, 1);
    (void)n;
}

static int begin_lane(compare *c, compare_lane *l) {
    rn_request req;
    generation_parts parts;
    rn_chat chat;
    rn_part part;
    rn_error err = {0};
    rn_request_init(&req);
    if (l->g->logprobs < 0) l->g->logprobs = c->html_path ? ALTERNATIVES : 0;
    if (l->g->sampled_logprobs < 0) l->g->sampled_logprobs = 0; // for entropies
    bool ok = compare_settings_compile(l);
    if (!ok) return EXIT_CODE_FAILED;
    ok = generation_apply(l->g, &req, &parts, &err);
    req.grammar = l->grammar;
    req.model = l->model;
    // Ctrl+C then leaves the best text so far. Answers of chats are parsed as they stream.
    int32_t n_texts;
    bool is_given;
    l->is_revised = !c->chat.is_chat && strategy_form_texts(&l->g->strategy, &n_texts, &is_given);
    req.accept_revisions = l->is_revised;
    if (c->chat.is_chat) {
        generation_chat(l->g, &req, &chat, c->messages.data, c->messages.n);
        chat_options_apply(&c->chat, &chat);
    } else if (c->prompt.is_ids)
        generation_prompt_ids(&req, &part, c->prompt.ids.ids, c->prompt.ids.n);
    else
        generation_prompt(l->g, &req, &part, c->prompt.text.data, c->prompt.text.n);
    ok = ok && rn_stream_begin(c->on.engine, &req, &l->stream, &err) == RN_OK;
    if (ok) {
        rn_stream_on_ready(l->stream, wake, c);
        wake(c); // chunks may have come before the callback was set
        return EXIT_CODE_OK;
    }
    say("%s: %s", l->label, err.text);
    return err.code == RN_E_ARG ? EXIT_CODE_USAGE : EXIT_CODE_FAILED;
}

// The path without its first folders.
static const char *last_parts(const char *path, size_t n_parts) {
    const char *at = bench_base_name(path);
    while (--n_parts > 0 && at > path)
        for (at--; at > path && at[-1] != '/';) at--;
    return at;
}

// The file's name, with as many of the folders above it as set it apart from the other models.
static const char *short_name(const compare *c, size_t model) {
    const char *const path = c->paths[model];
    size_t n_parts = 1;
    for (size_t m = 0; m < c->n_models; m++)
        while (strcmp(c->paths[m], path) != 0 && last_parts(path, n_parts) != path &&
               strcmp(last_parts(c->paths[m], n_parts), last_parts(path, n_parts)) == 0)
            n_parts++;
    return last_parts(path, n_parts);
}

static int begin_lanes(compare *c) {
    int code = EXIT_CODE_OK;
    if (c->chat.is_chat) chat_add_messages(&c->chat, &c->messages, NULL, c->prompt.text.data, c->prompt.text.n);
    for (size_t i = 0; i < c->n_lanes && code == EXIT_CODE_OK; i++) {
        compare_lane *const l = &c->lanes[i];
        l->on = c->models[l->model];
        l->model_name = short_name(c, l->model);
        code = begin_lane(c, l);
    }
    return code;
}

// ---- until all have ended -------------------------------------------------------------------------------------------

static void wait_for_chunks(const compare *c) {
    struct pollfd fd = {.fd = c->ready[0], .events = POLLIN};
    char drain[512];
    if (poll(&fd, 1, LOOK_MS) <= 0) return;
    while (read(c->ready[0], drain, sizeof drain) == (ssize_t)sizeof drain) {
    }
}

static void say_tokens(compare *c) {
    uint64_t n = 0;
    for (size_t i = 0; i < c->n_lanes; i++) n += c->lanes[i].n_tokens;
    progress_update(&c->on.bar, "comparing", PROGRESS_COUNT, "tokens", n, 0);
}

// False: an error that has been printed, or stdout is closed.
static bool read_lanes(compare *c) {
    bool was_interrupted = false;
    for (size_t n_left = c->n_lanes; n_left > 0;) {
        wait_for_chunks(c);
        if (interrupt_came() && !was_interrupted) {
            was_interrupted = true;
            for (size_t i = 0; i < c->n_lanes; i++) rn_stream_cancel(c->lanes[i].stream);
        }
        n_left = 0;
        for (size_t i = 0; i < c->n_lanes; i++) {
            if (!compare_lane_read(&c->lanes[i])) return false;
            n_left += !c->lanes[i].is_done;
        }
        if (c->is_json)
            say_tokens(c);
        else if (!lane_columns_show(&c->columns))
            return false;
    }
    progress_hide(&c->on.bar);
    return true;
}

static int tell(compare *c) {
    comparison all = {.prompt = c->prompt.is_ids   ? NULL
                                : c->prompt.text.n ? c->prompt.text.data
                                                   : "",
                      .n_prompt = c->prompt.text.n,
                      .ids = &c->prompt.ids,
                      .lanes = c->lanes,
                      .n = c->n_lanes,
                      .names_models = c->n_models > 1,
                      .self_bleu = compare_measure(c->lanes, c->n_lanes)};
    bytes text = {0};
    int code = EXIT_CODE_OK;
    if (c->is_json)
        compare_print_json(&all, &text);
    else {
        if (c->columns.is_drawn) bytes_add_text(&text, "\n");
        compare_print_table(&all, term_is(STDOUT_FILENO) ? term_width(STDOUT_FILENO) : INT_MAX, &text);
    }
    output_write(&c->out, text.data, text.n);
    if (c->html_path) {
        text.n = 0;
        compare_print_html(&all, &text);
        out_file_write(&c->html, text.data, text.n);
        if (!out_file_commit(&c->html)) code = EXIT_CODE_FAILED;
    }
    bytes_free(&text);
    for (size_t i = 0; i < c->n_lanes; i++)
        if (c->lanes[i].finish == RN_FINISH_ERROR) {
            say("%s: %s", c->lanes[i].label, c->lanes[i].detail);
            code = EXIT_CODE_FAILED;
        }
    return interrupt_came() ? EXIT_CODE_INTERRUPTED : code;
}

static int generate(compare *c) {
    int code = begin_lanes(c);
    if (code != EXIT_CODE_OK) return code;
    lane_columns_begin(&c->columns, &c->out, c->lanes, c->n_lanes, c->n_models > 1);
    code = read_lanes(c) ? tell(c) : EXIT_CODE_FAILED;
    return output_exit(&c->out, code);
}

// One seed for all lanes: short enough to be typed again.
static void share_seed(generation *g) {
    uint32_t seed = 0;
    if (g->has_seed) return;
    if (getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed) seed = (uint32_t)now_ns();
    g->has_seed = true;
    g->seed = seed;
}

static int run_compare(compare *c, const options *parsed) {
    if (c->prompt.ids_option && options_refuse(parsed, "parse-special", "with --ids, which are not parsed"))
        return EXIT_CODE_USAGE;
    if (c->chat.is_chat && options_refuse(parsed, "ids", "with --chat")) return EXIT_CODE_USAGE;
    if (!c->chat.is_chat && (options_refuse(parsed, "system", "without --chat") ||
                             options_refuse(parsed, "chat-template", "without --chat")))
        return EXIT_CODE_USAGE;
    if (!generation_check(&c->g, parsed)) return EXIT_CODE_USAGE;
    if (c->n_models == 0) c->n_models = 1; // the default one
    share_seed(&c->g);
    if (!make_lanes(c) || !reserve(c, parsed)) return EXIT_CODE_USAGE;
    int code = prompt_read(&c->prompt, parsed);
    if (code != EXIT_CODE_OK) return code;
    if (pipe2(c->ready, O_CLOEXEC | O_NONBLOCK) != 0) {
        say("pipe: %s", strerror(errno));
        return EXIT_CODE_FAILED;
    }
    setlocale(LC_CTYPE, ""); // for the widths of characters
    interrupt_catch();
    if ((code = chat_options_open(&c->chat)) != EXIT_CODE_OK) return code;
    if ((code = open_models(c)) != EXIT_CODE_OK) return code;
    if (c->html_path && (code = open_page(c)) != EXIT_CODE_OK) return code;
    if ((code = open_engine(c)) != EXIT_CODE_OK) return code;
    return generate(c);
}

static void close_compare(compare *c) {
    for (size_t i = 0; i < c->n_lanes; i++) compare_lane_free(&c->lanes[i]);
    free(c->lanes);
    out_file_drop(&c->html);
    lane_columns_free(&c->columns);
    chat_options_free(&c->chat);
    bytes_free(&c->messages);
    prompt_free(&c->prompt);
    machine_close(&c->on); // before the pipe is closed: the engine's threads write to it
    for (size_t m = 0; m < MOST_MODELS; m++) {
        rn_model_close(c->models[m]);
        free(c->paths[m]);
    }
    for (int i = 0; i < 2; i++)
        if (c->ready[i] >= 0) close(c->ready[i]);
}

int cmd_compare(int n_args, char **args) {
    compare c = {.ready = {-1, -1}};
    generation_rows rows;
    options parsed;
    machine_init(&c.on);
    generation_init(&c.g);
    c.g.n = TOKENS;
    generation_rows_init(&rows);
    generation_members_init(&c.members);
    const option_group groups[] = {
        {"What to compare", compared_rows, sizeof compared_rows / sizeof *compared_rows, &c},
        PROMPT_GROUP(&c.prompt),
        {"Conversation", chat_turn_rows, 2, &c.chat},
        CHAT_TEMPLATE_GROUP(&c.chat),
        {"Output", output_rows, sizeof output_rows / sizeof *output_rows, &c},
        {"Stopping", length_rows, sizeof length_rows / sizeof *length_rows, &c.g},
        {NULL, generation_stop_rows + 1, 3, &c.g},
        GENERATION_SAMPLING_GROUP(&rows, &c.g),
        MACHINE_AMATEUR_GROUP(&c.on),
        {"Text", generation_text_rows, 3, &c.g},
        {"Model", machine_size_rows, 2, &c.on},
        {NULL, machine_engine_rows, MACHINE_ENGINE_ROWS - 1, &c.on}, // without --lora
    };
    const option_spec spec = {
        .command = "compare",
        .usage = "[-m MODEL]... [-s NAME|JSON]... [PROMPT] [options]",
        .about = "Continue one prompt in several ways side by side, and measure how the texts differ.",
        .notes = notes,
        .groups = groups,
        .n_groups = sizeof groups / sizeof *groups,
        .max_positional = 1,
    };
    int code;
    if (options_parse(&spec, n_args, args, &parsed, &code)) code = run_compare(&c, &parsed);
    options_free(&parsed);
    close_compare(&c);
    return code;
}
