// cli/chat/chat_commands.c - the slash commands: a table with a function for each.
#include "app/file_names.h"
#include "app/say.h"
#include "app/term.h"
#include "app/wrap.h"
#include "cli/chat/chat_state.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct chat_row {
    const char *name, *args, *help;
    void (*run)(chat *c, const char *args);
    // The words that its argument may be, of which typed[0..n) is there; NULL: Tab completes nothing.
    const char *const *(*words)(const chat *c, const char *typed, size_t n);
} chat_row;

static void run_help(chat *c, const char *args);

static void print_message(const chat *c, const char *text) { chat_note(c, "%s", text); }

static void run_system(chat *c, const char *args) {
    const message *const system = dialogue_system(&c->talk);
    if (!*args) {
        chat_note(c, "%s", system ? system->content.data : "no system message: /system TEXT sets one");
        return;
    }
    const bool goes = strcmp(args, "-") == 0;
    dialogue_set_system(&c->talk, goes ? NULL : args);
    chat_note(c, "%s", goes ? "the system message is removed" : "the system message is set");
}

// Replaces the last reply with a new one. If no new one is made, the old one stays.
static void run_regen(chat *c, const char *args) {
    (void)args;
    if (!dialogue_last(&c->talk, "assistant")) {
        chat_note(c, "there is no reply to regenerate");
        return;
    }
    const message old = c->talk.items[--c->talk.n]; // owned here until either reply is kept
    const size_t n = c->talk.n;
    const uint64_t seed = c->g.seed;
    if (c->g.has_seed) c->g.seed++; // the same seed would make the same reply
    const bool is_answered = chat_answer(c, false) && c->talk.n > n;
    c->g.seed = seed;
    if (!is_answered) {
        dialogue_add(&c->talk, "", "", 0);
        c->talk.items[c->talk.n - 1] = old;
        return;
    }
    dialogue kept = {.items = app_alloc(sizeof old), .n = 1, .n_room = 1};
    kept.items[0] = old;
    dialogue_free(&kept);
}

// Removes the last user message and everything after it. *text: its text, which the caller frees. false: there is none.
static bool take_last_turn(chat *c, char **text) {
    size_t at = c->talk.n;
    while (at > 0 && strcmp(c->talk.items[at - 1].role, "user") != 0) at--;
    if (at == 0) {
        chat_note(c, "there is no message to remove");
        return false;
    }
    *text = app_copy_text(c->talk.items[at - 1].content.data);
    dialogue_drop(&c->talk, at - 1);
    return true;
}

static void run_edit(chat *c, const char *args) {
    char *text = NULL;
    if (!c->editor && !*args) {
        chat_note(c, "/edit: needs the new text, since stdin is not a terminal");
        return;
    }
    if (!take_last_turn(c, &text)) return;
    if (*args)
        chat_say(c, args, strlen(args));
    else
        c->prefill = app_copy_text(text);
    free(text);
}

static void run_undo(chat *c, const char *args) {
    (void)args;
    char *text = NULL;
    if (!take_last_turn(c, &text)) return;
    const int width = term_width(STDOUT_FILENO) - 16;
    const int n = (int)strcspn(text, "\n");
    chat_note(c, "removed: %.*s%s", n < width ? n : width, text, n < width && !text[n] ? "" : " ...");
    free(text);
}

static void run_continue(chat *c, const char *args) {
    (void)args;
    if (dialogue_last(&c->talk, "assistant"))
        chat_answer(c, true);
    else
        chat_note(c, "there is no reply to continue");
}

static void run_clear(chat *c, const char *args) {
    (void)args;
    dialogue_drop(&c->talk, dialogue_system(&c->talk) ? 1 : 0);
    c->last.n = 0;
    chat_note(c, "the conversation is empty%s", dialogue_system(&c->talk) ? "; the system message stays" : "");
}

// Writes a token's text quoted, with control characters escaped.
static void add_piece(const chat *c, int32_t id, bytes *to) {
    char *text = NULL;
    size_t n = 0;
    if (rn_detokenize(c->on.model, &id, 1, true, &text, &n, NULL) != RN_OK) return;
    json_writer w = {to, false};
    json_put_text(&w, text, n);
    rn_free(text);
}

static void print_ids(const chat *c, const int32_t *ids, size_t n) {
    bytes line = {0};
    for (size_t i = 0; i < n; i++) {
        bytes_add_format(&line, "%s%" PRId32 ":", i ? " " : "", ids[i]);
        add_piece(c, ids[i], &line);
    }
    chat_note(c, "%zu tokens%s%s", n, n ? ": " : "", n ? line.data : "");
    bytes_free(&line);
}

static void run_tokens(chat *c, const char *args) {
    int32_t *ids = NULL;
    size_t n = 0;
    rn_error err = {0};
    if (*args) {
        if (rn_tokenize(c->on.model, args, strlen(args), false, false, &ids, &n, &err) == RN_OK)
            print_ids(c, ids, n);
        else
            say("%s", err.text);
        rn_free(ids);
        return;
    }
    ids = app_alloc((c->last.n + 1) * sizeof *ids);
    for (size_t i = 0; i < c->last.n; i++) ids[i] = c->last.tokens[i].id;
    print_ids(c, ids, c->last.n);
    free(ids);
}

static void add_probability(const chat *c, int32_t id, float logprob, bytes *to) {
    add_piece(c, id, to);
    bytes_add_format(to, " %.1f %%", 100 * exp((double)logprob));
}

static void run_probs(chat *c, const char *args) {
    if (strcmp(args, "on") == 0 || strcmp(args, "off") == 0) {
        c->wants_probs = args[1] == 'n';
        chat_note(c, "probabilities are %s from the next reply on", c->wants_probs ? "kept" : "not kept");
        return;
    }
    if (c->last.n == 0 || isnan(c->last.tokens[0].logprob)) {
        c->wants_probs = true;
        chat_note(c, "not kept for the last reply; kept from the next reply on");
        return;
    }
    for (size_t i = 0; i < c->last.n; i++) {
        const reply_token *const t = &c->last.tokens[i];
        bytes line = {0};
        add_probability(c, t->id, t->logprob, &line);
        bool has_others = false;
        for (int32_t k = 0; k < t->n_top; k++) {
            if (t->top[k].id == t->id) continue;
            bytes_add_text(&line, has_others ? ", " : "   or ");
            add_probability(c, t->top[k].id, t->top[k].logprob, &line);
            has_others = true;
        }
        chat_note(c, "%s", line.data);
        bytes_free(&line);
    }
}

static void run_stats(chat *c, const char *args) {
    (void)args;
    const chat_reply *const r = &c->last;
    rn_engine_info info = {.struct_size = sizeof info};
    rn_memory memory = {.struct_size = sizeof memory};
    char a[HUMAN_BYTES], b[HUMAN_BYTES];
    if (rn_engine_get_info(c->on.engine, 0, &info, NULL) == RN_OK)
        chat_note(c,
                  "model %s; %s kernels, %" PRId32 " threads; context %" PRId32 " positions, keys and values as %s",
                  c->on.path, info.cpu, info.n_threads, info.n_ctx, info.kv_type);
    const rn_template *const tmpl = c->options.tmpl ? c->options.tmpl : c->tmpl;
    chat_note(c, "template: %s; output format %s", rn_template_origin(tmpl),
              c->options.output_format ? c->options.output_format : rn_output_format_of_template(tmpl));
    const bool has_miss = r->miss[0] && strcmp(r->miss, "none") != 0;
    chat_note(c,
              "last reply: %" PRId64 " tokens in %s after a prompt of %" PRId64 " in %s, %" PRId64
              " of them cached%s%s; seed %" PRIu64,
              r->usage.completion_tokens, human_time(r->timing.decode_ms, a), r->usage.prompt_tokens,
              human_time(r->timing.prefill_ms, b), r->usage.cached_tokens, has_miss ? ", stopped by: " : "",
              has_miss ? r->miss : "", r->seed);
    chat_note(c,
              "total: %" PRIu64 " tokens generated, %" PRIu64 " prompt tokens, %" PRIu64
              " of those cached; %zu messages",
              c->n_made, c->n_prompt, c->n_cached, c->talk.n);
    if (rn_engine_get_memory(c->on.engine, &memory, NULL) == RN_OK && memory.process_bytes)
        chat_note(c, "memory: %s", human_size(memory.process_bytes, a));
}

static void run_quit(chat *c, const char *args) {
    (void)args;
    c->is_over = true;
}

static const char *const *setting_words(const chat *c, const char *typed, size_t n) {
    (void)c;
    return memchr(typed, ' ', n) ? NULL : chat_setting_names();
}

static const char *const *preset_words(const chat *c, const char *typed, size_t n) {
    static const char *presets[64];
    (void)c, (void)typed, (void)n;
    for (size_t i = 0; i < rn_n_presets() && i + 1 < sizeof presets / sizeof *presets; i++)
        presets[i] = rn_preset_name(i, NULL);
    return presets;
}

static const char *const *file_words(const chat *c, const char *typed, size_t n) {
    (void)c;
    return file_names_like(typed, n);
}

static const chat_row rows[] = {
    {"/help", "", "these commands", run_help},
    {"/system", "[TEXT]", "show or set the system message; - removes it", run_system},
    {"/set", "[NAME [VALUE]]", "show or change settings", chat_run_set, setting_words},
    {"/preset", "[NAME]", "show the presets or use one", chat_run_preset, preset_words},
    {"/model", "[NAME]", "show the model, or go on with another one", chat_run_model, chat_model_names},
    {"/file", "[PATH]", "add a file's text to the next message; - removes it", chat_run_file, file_words},
    {"/image", "[PATH]", "show the model a picture with the next message; - removes it", chat_run_image, file_words},
    {"/video", "[PATH]", "the same with a video", chat_run_video, file_words},
    {"/editor", "[TEXT]", "write the next message with $VISUAL or $EDITOR", chat_run_editor},
    {"/tools", "[FILE]", "show or set the tools that the model may call; - removes them", chat_run_tools, file_words},
    {"/result", "TEXT", "answer a call of the last reply", chat_run_result},
    {"/regen", "", "regenerate the last reply", run_regen},
    {"/edit", "[TEXT]", "edit the last message and answer it again", run_edit},
    {"/undo", "", "remove the last message and its reply", run_undo},
    {"/continue", "", "continue the last reply from its last token", run_continue},
    {"/save", "FILE [kv]", "save messages and settings; kv: with keys and values", chat_run_save, file_words},
    {"/load", "FILE", "continue a saved chat", chat_run_load, file_words},
    {"/clear", "", "remove all messages but the system message", run_clear},
    {"/tokens", "[TEXT]", "the last reply, or a text, as tokens", run_tokens},
    {"/probs", "[on|off]", "how probable the last reply's tokens were", run_probs},
    {"/stats", "", "statistics of the last reply and of the chat", run_stats},
    {"/quit", "", "end the chat, as Ctrl+D does", run_quit},
    // Names that other programs have for them; /help does not list them.
    {"/?", "", NULL, run_help},
    {"/bye", "", NULL, run_quit},
    {"/exit", "", NULL, run_quit},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static void run_help(chat *c, const char *args) {
    (void)args;
    const int width = term_width(STDOUT_FILENO) - 1, indent = width < 60 ? 4 : 26;
    bytes page = {0};
    for (size_t i = 0; i < N_ROWS && rows[i].help; i++) {
        char *const head = app_text("%s %s", rows[i].name, rows[i].args);
        if (indent == 4)
            bytes_add_format(&page, "%s\n    ", head);
        else
            bytes_add_format(&page, "%-*s", indent, head);
        add_wrapped(&page, rows[i].help, indent, width);
        free(head);
    }
    add_wrapped(
        &page,
        "Alt+Enter, or a backslash before Enter, starts a new line; \"\"\" begins and ends a message of several lines; "
        "Tab completes; Ctrl+C stops a reply.",
        0, width);
    page.data[page.n - 1] = '\0';
    print_message(c, page.data);
    bytes_free(&page);
}

// Finds a command by its full name or an unambiguous prefix. NULL: none, or ambiguous.
static const chat_row *find_row(const char *name, size_t n) {
    const chat_row *found = NULL;
    for (size_t i = 0; i < N_ROWS; i++) {
        if (strncmp(rows[i].name, name, n) != 0) continue;
        if (!rows[i].name[n]) return &rows[i];
        if (found) return NULL;
        found = &rows[i];
    }
    return found;
}

void chat_command(chat *c, const char *line) {
    const size_t n = strcspn(line, " \t\n");
    const char *args = line + n + strspn(line + n, " \t\n");
    const chat_row *const row = find_row(line, n);
    if (row) {
        char *const own = app_copy_text(args); // without trailing spaces
        size_t n_own = strlen(own);
        while (n_own && strchr(" \t\n", own[n_own - 1])) own[--n_own] = '\0';
        row->run(c, own);
        free(own);
        return;
    }
    const char *names[N_ROWS];
    char *const typed = app_text("%.*s", (int)n, line);
    for (size_t i = 0; i < N_ROWS; i++) names[i] = rows[i].name;
    const char *const near = nearest_word(typed, names, N_ROWS);
    chat_note(c,
              "%s: unknown command%s%s%s; /help lists them; to send a message that starts with a slash, put a space "
              "before it",
              typed, near ? ": did you mean " : "", near ? near : "", near ? "?" : "");
    if (!c->editor) c->code = EXIT_CODE_FAILED;
    free(typed);
}

const char *const *chat_complete(void *user, const char *line, size_t n_line, size_t *start) {
    static const char *names[N_ROWS + 1];
    if (n_line == 0 || line[0] != '/') return NULL;
    const size_t n = strcspn(line, " ");
    if (n >= n_line) {
        *start = 0;
        for (size_t i = 0; i < N_ROWS; i++) names[i] = rows[i].name;
        return names;
    }
    const chat_row *const row = find_row(line, n);
    *start = n + strspn(line + n, " ");
    return row && row->words ? row->words(user, line + *start, n_line - *start) : NULL;
}
