// cli/chat/cmd_chat.c - `runnel chat`: a conversation at a terminal or through a pipe.
#include "app/files.h"
#include "app/interrupt.h"
#include "app/json_read.h"
#include "app/say.h"
#include "app/settings.h"
#include "app/term.h"
#include "app/wrap.h"
#include "cli/chat/chat_model.h"
#include "cli/chat/chat_state.h"
#include "cli/command.h"
#include "cli/line_source.h"
#include <locale.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const option chat_rows[] = {
    {0, "beams", "N", OPTION_INT, offsetof(chat, n_beams), 1, 32,
     .help = "most texts that a strategy chosen by /set may follow at once: each takes the memory of a context "
             "(default: those of --strategy)"},
    {0, "reasoning", "show|hide", OPTION_CHOICE, offsetof(chat, reasoning),
     .help = "whether to show the model's reasoning (default: at a terminal)"},
    {0, "plain", NULL, OPTION_FLAG, offsetof(chat, is_plain),
     .help = "print replies as the model writes them (default: Markdown is drawn at a terminal with colours)"},
    {0, "truncate", "none|old|middle", OPTION_CHOICE, offsetof(chat, truncate),
     .help = "when the context is full: none ends with an error, old drops the oldest turns, middle those after the "
             "first (default none)"},
    {0, "each-line", NULL, OPTION_FLAG, offsetof(chat, is_each_line),
     .help = "from a pipe: answer each line as a message or command (default: all of stdin is one message)"},
    {0, "continue", NULL, OPTION_FLAG, offsetof(chat, is_continued),
     .help = "go on with the last conversation at a terminal, with its model unless one is given"},
    {0, "resume", "ID", OPTION_TEXT, offsetof(chat, resume),
     .help = "go on with this conversation; `runnel chats` lists them"},
    {0, "no-history", NULL, OPTION_FLAG, offsetof(chat, has_no_history),
     .help = "do not keep the conversation, a history of input, nor which model this was (by default in "
             "${XDG_STATE_HOME:-~/.local/state}/runnel)"},
};

static const char *const notes = "At a terminal /help lists the commands, Ctrl+C stops a reply, Ctrl+D ends.\n"
                                 "From a pipe, stdout gets the replies and nothing else.\n"
                                 "\n"
                                 "  runnel chat MODEL\n"
                                 "  runnel chat --continue\n"
                                 "  runnel chat MODEL --system \"Answer in one word.\" < question.txt\n"
                                 "  printf '%s\\n' 'Hello!' /regen | runnel chat MODEL --each-line";

// Adds the text; breaks lines longer than `width` columns between words. width 0: does not break.
static void add_lines(bytes *to, const char *text, int width) {
    for (const char *line = text; *line;) {
        const size_t n = strcspn(line, "\n");
        char *const own = app_text("%.*s", (int)n, line);
        if (width && n > (size_t)width)
            add_wrapped(to, own, 4, width);
        else
            bytes_add_format(to, "%s\n", own);
        free(own);
        line += n + (line[n] == '\n');
    }
    if (to->n) to->data[--to->n] = '\0';
}

void chat_note(const chat *c, const char *fmt, ...) {
    va_list args;
    bytes plain = {0}, line = {0};
    va_start(args, fmt);
    char *text = NULL;
    if (vasprintf(&text, fmt, args) >= 0) {
        FILE *const to = c->editor ? stdout : stderr;
        const bool has_colour = c->editor && c->screen.has_colour;
        term_add_plain(&plain, text, strlen(text));
        add_lines(&line, plain.n ? plain.data : "", c->editor ? term_width(STDOUT_FILENO) - 1 : 0);
        fprintf(to, "%s%s%s\n", has_colour ? "\x1b[2m" : "", line.n ? line.data : "", has_colour ? "\x1b[0m" : "");
        fflush(to);
    }
    va_end(args);
    free(text);
    bytes_free(&plain);
    bytes_free(&line);
}

void chat_say(chat *c, const char *text, size_t n) {
    const size_t at = c->talk.n;
    message *const m = dialogue_add(&c->talk, "user", c->attached.data, c->attached.n);
    bytes_add(&m->content, text, n);
    message_take_pictures(m, &c->shown);
    const bool is_there = chat_answer(c, false);
    const message *const reply = dialogue_last(&c->talk, "assistant");
    if (is_there && reply &&
        (reply->content.n || reply->reasoning.n || reply->calls.n || c->last.finish == RN_FINISH_STOP)) {
        c->attached.n = c->n_attached = 0;
        return;
    }
    // There was no reply: removes the message and offers it for editing.
    if (at < c->talk.n) message_take_pictures(&c->shown, &c->talk.items[at]);
    dialogue_drop(&c->talk, at < c->talk.n ? at : c->talk.n);
    if (c->editor) c->prefill = app_copy_text(text);
}

// ---- input ---------------------------------------------------------------------------------------------------------

static void take_line(chat *c, const char *line, size_t n) {
    if (n == 0 || strspn(line, " \t\n") == n) return;
    if (c->editor) line = chat_take_dropped(c, line), n = strlen(line);
    if (n == 0) return;
    if (line[0] == '/')
        chat_command(c, line);
    else
        chat_say(c, line, n);
}

static void read_terminal(chat *c) {
    while (!c->is_over) {
        char *const prefill = c->prefill;
        c->prefill = NULL;
        char *const line = line_editor_read(c->editor, prefill);
        free(prefill);
        if (!line) {
            fputs("\n", stdout); // the shell's prompt begins a line of its own
            break;
        }
        take_line(c, line, strlen(line));
        chat_keep(c);
        free(line);
    }
}

static void read_lines(chat *c) {
    line_source in = {.fd = STDIN_FILENO, .name = "stdin"};
    const char *line;
    size_t n;
    line_outcome outcome;
    const bool asks = term_is(STDIN_FILENO) && term_is(STDOUT_FILENO); // a terminal that cannot draw
    if (asks) fputs("> ", stdout), fflush(stdout);
    while (!c->is_over && (outcome = line_source_take(&in, &line, &n)) != LINE_END) {
        if (outcome == LINE_WAIT) {
            struct pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN};
            if (poll(&ready, 1, -1) < 0 && interrupt_came()) break;
            line_source_fill(&in);
        } else if (outcome == LINE_TOO_LONG) {
            say("stdin: line %llu: longer than the limit of a message", (unsigned long long)in.n_lines);
            c->code = EXIT_CODE_FAILED;
        } else {
            char *const own = app_text("%.*s", (int)n, line);
            take_line(c, own, strlen(own));
            chat_keep(c);
            free(own);
        }
        if (c->last.finish == RN_FINISH_CANCELLED && interrupt_came()) break;
        if (asks && outcome == LINE_TAKEN && !c->is_over) fputs("> ", stdout), fflush(stdout);
    }
    if (in.has_failed) c->code = EXIT_CODE_FAILED;
    line_source_free(&in);
}

static void read_whole(chat *c) {
    bytes text = {0};
    if (!file_read("-", TEXT_LIMIT, &text)) {
        c->code = EXIT_CODE_FAILED;
    } else {
        if (text.n && text.data[text.n - 1] == '\n') text.data[--text.n] = '\0';
        if (text.n)
            chat_say(c, text.data, text.n), chat_keep(c);
        else
            say("stdin: empty: from a pipe, its text is the message");
        if (!text.n) c->code = EXIT_CODE_USAGE;
    }
    bytes_free(&text);
}

// ---- begin and end -------------------------------------------------------------------------------------------------

// The path of the history file; NULL: no history. The caller frees it.
static char *history_path(const chat *c) { return c->has_no_history ? NULL : chat_state_path("chat_history"); }

void chat_greet(const chat *c) {
    rn_model_info model = {.struct_size = sizeof model};
    rn_engine_info engine = {.struct_size = sizeof engine};
    char n_ctx[HUMAN_BYTES];
    if (rn_model_get_info(c->on.model, &model, NULL) != RN_OK ||
        rn_engine_get_info(c->on.engine, 0, &engine, NULL) != RN_OK)
        return;
    const char *const slash = strrchr(c->on.path, '/');
    chat_note(c, "%s, context %s. /help lists commands",
              model.name && *model.name ? model.name
              : slash                   ? slash + 1
                                        : c->on.path,
              human_count((uint64_t)engine.n_ctx, n_ctx));
}

static int talk(chat *c) {
    char *const history = history_path(c);
    const line_editor_setup setup = {.prompt = "> ", .history = history, .complete = chat_complete, .user = c};
    c->editor = line_editor_open(&setup);
    if (c->editor) {
        if (!c->has_no_history) chat_model_remember(c->on.path);
        chat_greet(c);
        if (c->kept_path) chat_show_kept(c);
        read_terminal(c);
    } else if (c->is_each_line || term_is(STDIN_FILENO)) {
        if (term_is(STDIN_FILENO)) chat_greet(c);
        read_lines(c);
    } else {
        read_whole(c);
    }
    line_editor_close(c->editor);
    c->editor = NULL;
    free(history);
    if (c->code == EXIT_CODE_OK && c->last.finish == RN_FINISH_CANCELLED && interrupt_came() &&
        !term_is(STDIN_FILENO))
        c->code = EXIT_CODE_INTERRUPTED;
    return output_exit(&c->screen.out, c->code);
}

// Called before the engine is opened, so that a missing or invalid template is reported at once.
static int open_template(chat *c) {
    rn_error err = {0};
    if (c->options.tmpl || rn_template_of_model(c->on.model, &c->tmpl, &err) == RN_OK) return EXIT_CODE_OK;
    return machine_failed(&err);
}

// Of a conversation that was kept and goes on.
static int open_videos(chat *c) {
    char why[JSON_WHY] = "";
    if (dialogue_open_videos(&c->talk, c->on.model, why)) return EXIT_CODE_OK;
    say("chat: a video of the conversation: %s", why);
    return EXIT_CODE_FAILED;
}

static int run_chat(chat *c) {
    rn_error err = {0};
    interrupt_catch();
    c->on.n_seqs = generation_is_guided(&c->g);
    if (!strategy_form_reserve(&c->g.strategy, &c->on)) return EXIT_CODE_USAGE;
    if (c->on.n_seqs < c->n_beams - 1) c->on.n_seqs = c->n_beams - 1;
    c->on.heads = &c->g.heads;
    const char *const usual = getenv("RUNNEL_MODEL");
    char *found = NULL; // the kept conversation's model goes before those that are usual
    if ((c->is_continued || c->resume) && !chat_take_kept(c, &found)) return EXIT_CODE_FAILED;
    if (c->on.model_name) free(found), found = NULL;
    const bool is_named = c->on.model_name || (usual && *usual) || settings_get()->model;
    if (!is_named && !found) found = chat_model_find();
    if (!is_named && !found) return EXIT_CODE_FAILED;
    if (found) c->on.model_name = found;
    c->on.may_see = true;
    int code = machine_open_model(&c->on);
    free(found);
    if (code == EXIT_CODE_OK) code = chat_options_open(&c->options);
    if (code == EXIT_CODE_OK) code = open_template(c);
    if (code == EXIT_CODE_OK) code = open_videos(c);
    if (code == EXIT_CODE_OK) code = grammar_options_compile(&c->form, c->on.model, &c->grammar);
    if (code == EXIT_CODE_OK) code = machine_open_engine(&c->on);
    if (code == EXIT_CODE_OK && c->on.is_verbose) generation_say_preset(&c->g);
    if (code != EXIT_CODE_OK) return code;
    if (rn_session_open(c->on.engine, 0, &c->session, &err) != RN_OK) return machine_failed(&err);
    if (c->options.system) dialogue_set_system(&c->talk, c->options.system);
    return talk(c);
}

int cmd_chat(int n_args, char **args) {
    chat c = {.thinking = -1, .reasoning = -1};
    generation_rows rows;
    options parsed;
    setlocale(LC_CTYPE, ""); // for typed characters and their widths
    machine_init(&c.on);
    generation_init(&c.g);
    generation_rows_init(&rows);
    reply_screen_init(&c.screen);
    const option_group groups[] = {
        {"Chat", chat_turn_rows + 1, 1, &c.options}, // --system
        CHAT_TEMPLATE_GROUP(&c.options),
        {NULL, chat_rows, sizeof chat_rows / sizeof *chat_rows, &c},
        MACHINE_MODEL_GROUP(&c.on),
        MACHINE_SIZE_GROUP(&c.on),
        MACHINE_ENGINE_GROUP(&c.on),
        MACHINE_MMPROJ_GROUP(&c.on),
        GENERATION_SAMPLING_GROUP(&rows, &c.g),
        GENERATION_STRATEGY_GROUP(&rows, &c.g),
        MACHINE_CONTRAST_GROUP(&c.on),
        GENERATION_STOP_GROUP(&c.g),
        MACHINE_DRAFT_GROUP(&c.on),
        GENERATION_DRAFT_GROUP(&c.g),
        GRAMMAR_OPTIONS_GROUP(&c.form),
    };
    const option_spec spec = {
        .command = "chat",
        .usage = "[MODEL] [--system TEXT] [options]",
        .about =
            "Talk with a model. Each turn evaluates only what is new. Without MODEL and $RUNNEL_MODEL: the model of the last "
            "chat, else the only chat model that is fetched.",
        .notes = notes,
        .groups = groups,
        .n_groups = sizeof groups / sizeof *groups,
        .max_positional = 1,
    };
    int code;
    if (options_parse(&spec, n_args, args, &parsed, &code) && machine_take_positional(&c.on, &parsed, &code)) {
        if (c.is_plain) c.screen.renders = false;
        if (c.reasoning >= 0) c.screen.shows_reasoning = c.reasoning == 0;
        code =
            generation_use_draft(&c.g, c.on.draft_name, c.on.ngram_cache, &parsed) && generation_check(&c.g, &parsed)
                ? run_chat(&c)
                : EXIT_CODE_USAGE;
    }
    options_free(&parsed);
    rn_session_close(c.session);
    rn_template_close(c.tmpl);
    chat_options_free(&c.options);
    rn_grammar_close(c.grammar);
    grammar_options_free(&c.form);
    machine_close(&c.on);
    dialogue_free(&c.talk);
    chat_reply_free(&c.last);
    reply_screen_free(&c.screen);
    free(c.prefill);
    bytes_free(&c.attached);
    message_drop_pictures(&c.shown);
    free(c.tools);
    free(c.file);
    free(c.kept_path);
    for (size_t i = 0; i <= STRATEGY_OPTIONS; i++) free(c.strategy_texts[i]);
    return code;
}
