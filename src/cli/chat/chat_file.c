// cli/chat/chat_file.c - /save and /load: a session file whose note holds the chat as JSON lines.
//
// The first line is {"settings": {...}}, every other one a message. Files are not trusted: a load that fails
// leaves the chat unchanged.
#include "app/file_names.h"
#include "app/json_read.h"
#include "app/say.h"
#include "app/term.h"
#include "app/wrap.h"
#include "cli/chat/chat_state.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void write_note(const chat *c, bytes *note) {
    json_writer w = {note, false};
    json_put_begin(&w, '{');
    json_member_begin(&w, "settings", '{');
    chat_settings_write(c, &w);
    json_put_end(&w, '}');
    json_put_end(&w, '}');
    for (size_t i = 0; i < c->talk.n; i++) {
        w = (json_writer){note, false};
        bytes_add_text(note, "\n");
        message_write(&c->talk.items[i], &w);
    }
}

static bool read_note(chat *c, const char *note, size_t n, char *why) {
    const char *const end = note + n;
    c->talk.model = c->on.model;
    for (const char *line = note; line < end;) {
        const char *const stop = memchr(line, '\n', (size_t)(end - line));
        const size_t n_line = (size_t)((stop ? stop : end) - line);
        const bool ok =
            line == note ? chat_settings_read(c, line, n_line, why) : dialogue_read_line(&c->talk, line, n_line, why);
        if (!ok) return false;
        line += n_line + 1;
    }
    return true;
}

static void fail_command(chat *c, const char *what, const char *why) {
    chat_note(c, "%s%s%s", what, *what ? ": " : "", why);
    if (!c->editor) c->code = EXIT_CODE_FAILED;
}

// Remembers the file of this chat, whose owner it takes.
static void keep_file(chat *c, char *path) {
    free(c->file);
    c->file = path;
}

// At a terminal, a file that is not this chat's is not overwritten unasked.
static bool may_write(chat *c, const char *path) {
    if (!c->editor || access(path, F_OK) != 0 || (c->file && strcmp(c->file, path) == 0)) return true;
    bytes name = {0};
    term_add_plain(&name, path, strlen(path));
    char *const question = app_text("%s is there already; overwrite it? [y/N] ", name.n ? name.data : "");
    const bool may = line_editor_confirm(c->editor, question);
    if (!may) chat_note(c, "not saved");
    free(question);
    bytes_free(&name);
    return may;
}

void chat_run_save(chat *c, const char *args) {
    rn_save_options opt;
    rn_error err = {0};
    bytes note = {0};
    char size[HUMAN_BYTES];
    const size_t n = strlen(args);
    const bool with_kv = n > 3 && strcmp(args + n - 3, " kv") == 0;
    char *const typed = app_text("%.*s", (int)(with_kv ? n - 3 : n), args), *const path = file_name_meant(typed);
    free(typed);
    if (*path && !may_write(c, path)) {
        free(path);
        return;
    }
    rn_save_options_init(&opt);
    write_note(c, &note);
    opt.note = note.data;
    opt.n_note = note.n;
    opt.with_kv = with_kv;
    rn_saved saved;
    rn_saved_init(&saved);
    if (!*path)
        fail_command(c, "/save", "needs a file name");
    else if (rn_session_save(c->session, path, &opt, &err) != RN_OK)
        fail_command(c, "", err.text);
    else if (rn_session_peek(path, &saved, &err) == RN_OK)
        chat_note(c, "saved %zu messages in %s (%s)", c->talk.n, path, human_size(saved.file_bytes, size));
    if (!err.code && *path) keep_file(c, app_copy_text(path));
    rn_free(saved.note);
    bytes_free(&note);
    free(path);
}

void chat_run_load(chat *c, const char *args) {
    rn_saved saved;
    rn_error err = {0};
    rn_session *session = NULL;
    char why[JSON_WHY] = "";
    rn_saved_init(&saved);
    char *const path = file_name_meant(args);
    if (!*path || rn_session_load(c->on.engine, 0, path, &session, &saved, &err) != RN_OK) {
        fail_command(c, *path ? "" : "/load", *path ? err.text : "needs a file name");
        free(path);
        return;
    }
    chat loaded = *c;
    loaded.talk = (dialogue){0};
    if (!read_note(&loaded, saved.note ? saved.note : "", saved.n_note, why)) {
        fail_command(c, path, why);
        free(path);
        dialogue_free(&loaded.talk);
        rn_session_close(session);
    } else {
        dialogue_free(&c->talk);
        rn_session_close(c->session);
        *c = loaded;
        c->session = session;
        c->last.n = 0;
        keep_file(c, path);
        free(c->kept_path); // a conversation of its own
        c->kept_path = NULL;
        chat_note(c, "%zu messages; %zu of %zu tokens reused from the saved keys and values%s%s", c->talk.n,
                  saved.n_restored, saved.n_tokens, saved.reason[0] ? ": " : "", saved.reason);
    }
    rn_free(saved.note);
}
