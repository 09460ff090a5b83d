// cli/cmd_run.c - `runnel run`: continues one prompt and prints the text while it is generated.
#include "app/chat_options.h"
#include "app/files.h"
#include "app/generation.h"
#include "app/grammar_options.h"
#include "app/interrupt.h"
#include "app/machine.h"
#include "app/pictures.h"
#include "app/term.h"
#include "cli/command.h"
#include "cli/prompt.h"
#include "cli/run_print.h"
#include <string.h>
#include <unistd.h>

typedef struct run {
    machine on;
    generation g;
    grammar_options form;
    rn_grammar *grammar; // NULL: of any form
    prompt prompt;
    chat_options chat;
    bytes messages; // the conversation as JSON
    const char *prediction_file;
    bytes prediction;
    pictures seen;
    bool keeps_end;
    run_print print;
} run;

static const char *const notes = "Without a prompt, stdin is read when it is not a terminal; what is piped into it\n"
                                 "goes behind a PROMPT, after an empty line (not behind -p, nor where an option\n"
                                 "reads stdin: --json-schema -). stdout gets the text and nothing else, and a\n"
                                 "line break at its end; statistics go to stderr, at a terminal only. Ctrl+C\n"
                                 "stops after the current token (exit 130), a second Ctrl+C at once.\n"
                                 "\n"
                                 "  runnel run \"Once upon a time\"\n"
                                 "  runnel run -m MODEL -f story.txt -n 100 --seed 7 > more.txt\n"
                                 "  git log -1 | runnel run --temp 0 --json | jq -j .text\n"
                                 "  runnel run --chat \"Summarize:\" < notes.txt\n"
                                 "  runnel run -m MODEL --chat \"Why is the sky blue?\"\n"
                                 "\n"
                                 "With --chat, stdout gets the content, and a line of JSON for each tool call;\n"
                                 "reasoning goes to stderr, at a terminal or with --show-reasoning.";

static const option prediction_rows[] = {
    {0, "prediction", "FILE", OPTION_TEXT, offsetof(run, prediction_file),
     .help =
         "a text that the answer is expected to repeat in large part, such as the file that it edits: guesses are "
         "taken from it, too (--speculate suffix, unless another one is named); - is stdin"},
};

static const option end_rows[] = {
    {0, "no-newline", NULL, OPTION_FLAG, offsetof(run, keeps_end),
     .help =
         "into a file or a pipe, write the text as it is generated, without a line break behind a last line that has "
         "none"},
};

// One thing at most can be read from stdin.
static bool find_stdin_reader(run *r) {
    const bool is_prediction = r->prediction_file && strcmp(r->prediction_file, "-") == 0;
    const char *const of_form = grammar_options_stdin(&r->form);
    const char *const of_picture = pictures_read_stdin(&r->seen);
    const bool is_video = of_picture && strcmp(of_picture, "video") == 0, is_picture = of_picture != NULL;
    const char *const picture_option = is_video ? "--video" : "--image";
    r->prompt.stdin_reader = of_form ? of_form : is_prediction ? "--prediction" : is_picture ? picture_option : NULL;
    if (of_form && is_prediction) say("--prediction -: stdin is what %s reads", of_form);
    if (is_picture && (of_form || is_prediction))
        say("%s -: stdin is what %s reads", picture_option, r->prompt.stdin_reader);
    return (of_form != NULL) + is_prediction + is_picture <= 1;
}

static bool check_together(run *r, const options *parsed) {
    const char *const with_ids = "with --ids, which are not parsed";
    static const char *const of_chat[] = {"system", "show-reasoning", "chat-template", "output-format"};
    static const char *const not_of_chat[] = {"ids", "echo", "special", "token-healing"};
    for (size_t i = 0; i < sizeof of_chat / sizeof *of_chat; i++)
        if (!r->chat.is_chat && options_refuse(parsed, of_chat[i], "without --chat")) return false;
    for (size_t i = 0; i < sizeof not_of_chat / sizeof *not_of_chat; i++)
        if (r->chat.is_chat && options_refuse(parsed, not_of_chat[i], "with --chat")) return false;
    if (!strategy_form_check_amateur(&r->g.strategy, parsed)) return false;
    if (r->prompt.ids_option && options_refuse(parsed, "parse-special", with_ids)) return false;
    r->print.ends_lines = !r->keeps_end;
    return run_print_check(&r->print, parsed) &&
           generation_use_draft(&r->g, r->on.draft_name, r->on.ngram_cache, parsed) &&
           generation_check(&r->g, parsed);
}

// Pictures among what the request has been given as its prompt.
static int place_pictures(run *r, rn_request *req) {
    if (r->seen.n == 0 || r->chat.is_chat) return EXIT_CODE_OK;
    const rn_part *const all = req->parts;
    const int code = all->kind == RN_PART_TEXT ? pictures_in_text(&r->seen, all)
                                               : pictures_in_ids(&r->seen, r->on.model, all->ids, all->n_ids);
    req->parts = r->seen.parts;
    req->n_parts = r->seen.n_parts;
    return code;
}

static int generate(run *r) {
    rn_request req;
    generation_parts parts;
    rn_chat chat;
    rn_part part;
    rn_error err = {0};
    rn_stream *stream = NULL;
    rn_request_init(&req);
    if (!generation_apply(&r->g, &req, &parts, &err)) return machine_failed(&err);
    req.grammar = r->grammar;
    if (r->chat.is_chat) {
        chat_add_messages(&r->chat, &r->messages, &r->seen, r->prompt.text.data, r->prompt.text.n);
        generation_chat(&r->g, &req, &chat, r->messages.data, r->messages.n);
        chat_options_apply(&r->chat, &chat);
        chat.pictures = (const rn_picture *const *)r->seen.open;
        chat.n_pictures = r->seen.n;
    } else if (r->prompt.is_ids)
        generation_prompt_ids(&req, &part, r->prompt.ids.ids, r->prompt.ids.n);
    else
        generation_prompt(&r->g, &req, &part, r->prompt.text.data, r->prompt.text.n);
    const int placed = place_pictures(r, &req);
    if (placed != EXIT_CODE_OK) return placed;
    run_print_begin(&r->print, &req, r->chat.is_chat, r->chat.show_reasoning);
    if (rn_stream_begin(r->on.engine, &req, &stream, &err) != RN_OK) return machine_failed(&err);
    const int code = run_print_stream(&r->print, stream);
    rn_stream_close(stream);
    return code;
}

static int check_model(run *r) {
    rn_model_info info = {.struct_size = sizeof info};
    rn_error err = {0};
    if (rn_model_get_info(r->on.model, &info, &err) != RN_OK) return machine_failed(&err);
    if (info.chat_template && !r->chat.is_chat && term_is(STDERR_FILENO))
        say("%s: is a chat model: with --chat it answers the prompt, without --chat it continues it", r->on.path);
    if (info.has_tokenizer || (r->print.is_json && !r->chat.is_chat)) return EXIT_CODE_OK;
    say("%s: %s, so it cannot print text: --json gives the token ids", r->on.path,
        info.tokenizer_error ? "its tokenizer is not supported" : "has no tokenizer");
    return EXIT_CODE_FAILED;
}

enum { TERMINAL_TOKENS = 512 };

// A model without a chat template seldom ends by itself: at a terminal it gets a limit, which is said where it was reached.
static bool limit_tokens(run *r, const options *parsed) {
    rn_model_info info = {.struct_size = sizeof info};
    for (size_t i = 0; i < parsed->n_given; i++)
        if (strcmp(parsed->given[i]->name, "max-tokens") == 0) return false;
    if (r->g.n != -1 || r->chat.is_chat || r->print.is_json || !term_is(STDOUT_FILENO) ||
        rn_model_get_info(r->on.model, &info, NULL) != RN_OK || info.chat_template)
        return false;
    r->g.n = TERMINAL_TOKENS;
    return true;
}

static int run_prompt(run *r, const options *parsed) {
    r->g.n_prediction = r->prediction_file != NULL;
    if (!check_together(r, parsed) || !pictures_check(&r->seen, parsed) || !find_stdin_reader(r))
        return EXIT_CODE_USAGE;
    int code = prompt_read(&r->prompt, parsed);
    if (code != EXIT_CODE_OK) return code;
    if (r->prediction_file && !file_read(r->prediction_file, TEXT_LIMIT, &r->prediction)) return EXIT_CODE_FAILED;
    r->g.prediction[0] = (rn_part){.kind = RN_PART_TEXT, .text = r->prediction.data, .n_text = r->prediction.n};
    if ((code = chat_options_open(&r->chat)) != EXIT_CODE_OK) return code;
    r->on.n_seqs = generation_is_guided(&r->g);
    if (!strategy_form_reserve(&r->g.strategy, &r->on)) return EXIT_CODE_USAGE;
    r->on.heads = &r->g.heads;
    r->on.sees = r->seen.n > 0;
    if ((code = pictures_open(&r->seen)) != EXIT_CODE_OK) return code;
    interrupt_catch();
    if ((code = machine_open_model(&r->on)) != EXIT_CODE_OK) return code;
    if ((code = check_model(r)) != EXIT_CODE_OK) return code;
    if ((code = pictures_open_videos(&r->seen, r->on.model)) != EXIT_CODE_OK) return code;
    if ((code = grammar_options_compile(&r->form, r->on.model, &r->grammar)) != EXIT_CODE_OK) return code;
    if ((code = machine_open_engine(&r->on)) != EXIT_CODE_OK) return code;
    if (r->on.is_verbose) generation_say_preset(&r->g);
    const bool is_limited = limit_tokens(r, parsed);
    code = generate(r);
    if (is_limited && r->print.was_cut)
        say("the text was cut at %d tokens, as at a terminal without -n; -n -1: the rest of the context",
            TERMINAL_TOKENS);
    return code;
}

int cmd_run(int n_args, char **args) {
    run r = {0};
    generation_rows rows;
    options parsed;
    machine_init(&r.on);
    generation_init(&r.g);
    run_print_init(&r.print, &r.on, &r.g);
    generation_rows_init(&rows);
    const option_group groups[] = {
        PROMPT_GROUP(&r.prompt),
        PICTURES_GROUP(&r.seen),
        CHAT_TURN_GROUP(&r.chat),
        CHAT_TEMPLATE_GROUP(&r.chat),
        MACHINE_MODEL_GROUP(&r.on),
        MACHINE_SIZE_GROUP(&r.on),
        MACHINE_ENGINE_GROUP(&r.on),
        MACHINE_MMPROJ_GROUP(&r.on),
        GENERATION_SAMPLING_GROUP(&rows, &r.g),
        GENERATION_STRATEGY_GROUP(&rows, &r.g),
        MACHINE_AMATEUR_GROUP(&r.on),
        GENERATION_STOP_GROUP(&r.g),
        MACHINE_DRAFT_GROUP(&r.on),
        GENERATION_DRAFT_GROUP(&r.g),
        {NULL, prediction_rows, sizeof prediction_rows / sizeof *prediction_rows, &r},
        GENERATION_TEXT_GROUP(&r.g),
        GRAMMAR_OPTIONS_GROUP(&r.form),
        RUN_INTERVAL_GROUP(&r.g),
        RUN_PRINT_GROUP(&r.print),
        {NULL, end_rows, sizeof end_rows / sizeof *end_rows, &r},
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
    run_print_free(&r.print);
    bytes_free(&r.messages);
    bytes_free(&r.prediction);
    pictures_free(&r.seen);
    chat_options_free(&r.chat);
    rn_grammar_close(r.grammar);
    grammar_options_free(&r.form);
    machine_close(&r.on);
    return code;
}
