// app/chat_options.c - see chat_options.h.
#include "app/chat_options.h"
#include "app/content_part.h"
#include "app/files.h"
#include "app/json_write.h"
#include "app/say.h"
#include <string.h>
#include <unistd.h>

const option chat_turn_rows[3] = {
    {0, "chat", NULL, OPTION_FLAG, offsetof(chat_options, is_chat),
     .help = "the prompt is a user message; the model answers it, using its chat template"},
    {0, "system", "TEXT", OPTION_TEXT, offsetof(chat_options, system),
     .help = "a system message before it (default: what the chat template does without one)"},
    {0, "show-reasoning", NULL, OPTION_FLAG, offsetof(chat_options, show_reasoning),
     .help = "write reasoning to stderr even when that is not a terminal"},
};
const option chat_template_rows[2] = {
    {0, "chat-template", "FILE|NAME", OPTION_TEXT, offsetof(chat_options, template_name),
     .help = "use this Jinja file, or a built-in template by name, instead of the model's"},
    {0, "output-format", "NAME", OPTION_TEXT, offsetof(chat_options, output_format),
     .help = "how the model writes reasoning and tool calls (default: detected from the template; none: everything "
             "is content)"},
};

static bool is_builtin(const char *name) {
    for (size_t i = 0; i < rn_n_builtin_templates(); i++)
        if (strcmp(rn_builtin_template_name(i, NULL), name) == 0) return true;
    return false;
}

int chat_template_open(const char *name, rn_template **tmpl) {
    rn_error err = {0};
    bytes source = {0};
    // A word that is neither a built-in name nor a file counts as a name: the library's error then lists the names.
    const bool is_name =
        is_builtin(name) || (!strchr(name, '/') && strcmp(name, "-") != 0 && access(name, F_OK) != 0);
    rn_status st = RN_OK;
    if (is_name) {
        st = rn_template_builtin(name, tmpl, &err);
    } else {
        if (!file_read(name, TEXT_LIMIT, &source)) return EXIT_CODE_FAILED;
        st = rn_template_compile(source.n ? source.data : "", source.n, name, tmpl, &err);
        bytes_free(&source);
    }
    if (st == RN_OK) return EXIT_CODE_OK;
    say("%s", err.text);
    return st == RN_E_ARG ? EXIT_CODE_USAGE : EXIT_CODE_FAILED;
}

static bool is_format(const char *name) {
    for (size_t i = 0; i < rn_n_output_formats(); i++)
        if (strcmp(rn_output_format_name(i, NULL), name) == 0) return true;
    return false;
}

static int refuse_format(const char *name) {
    bytes names = {0};
    for (size_t i = 0; i < rn_n_output_formats(); i++) {
        if (i > 0) bytes_add_text(&names, ", ");
        bytes_add_text(&names, rn_output_format_name(i, NULL));
    }
    say("--output-format: %s is unknown; known ones are %s", name, names.data ? names.data : "");
    bytes_free(&names);
    return EXIT_CODE_USAGE;
}

int chat_options_open(chat_options *c) {
    if (c->output_format && !is_format(c->output_format)) return refuse_format(c->output_format);
    return c->template_name ? chat_template_open(c->template_name, &c->tmpl) : EXIT_CODE_OK;
}

void chat_options_free(chat_options *c) {
    rn_template_close(c->tmpl);
    c->tmpl = NULL;
}

// Pictures in their places, where there are as many of a kind, else before the text.
static void put_parts(json_writer *w, pictures *seen, const char *text, size_t n_text) {
    picture_place places[PICTURES_MOST];
    size_t from = 0, n_marks;
    bool is_video;
    json_member_begin(w, "content", '[');
    if (!pictures_find_places(seen, text, n_text, places, &is_video, &n_marks))
        for (size_t i = 0; i < seen->n; i++) places[i] = (picture_place){.is_video = seen->are_videos[i]};
    for (size_t i = 0; i < seen->n; i++) {
        if (places[i].at > from) json_put_text_part(w, text + from, places[i].at - from);
        json_put_picture_part(w, places[i].is_video);
        from = places[i].at + places[i].n;
    }
    if (from < n_text) json_put_text_part(w, text + from, n_text - from);
    json_put_end(w, ']');
}

static void put_message(json_writer *w, const char *role, pictures *seen, const char *text, size_t n_text) {
    json_put_begin(w, '{');
    json_member_string(w, "role", role);
    if (seen && seen->n)
        put_parts(w, seen, n_text ? text : "", n_text);
    else
        json_member_text(w, "content", text, n_text);
    json_put_end(w, '}');
}

void chat_add_messages(const chat_options *c, bytes *to, pictures *seen, const char *text, size_t n_text) {
    json_writer w = {to, false};
    json_put_begin(&w, '[');
    if (c->system) put_message(&w, "system", NULL, c->system, strlen(c->system));
    put_message(&w, "user", seen, text, n_text);
    json_put_end(&w, ']');
}

void chat_options_apply(const chat_options *c, rn_chat *chat) {
    chat->tmpl = c->tmpl;
    chat->output_format = c->output_format;
}
