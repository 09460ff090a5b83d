// cli/chat/line_editor.c - libedit, extended by bracketed paste and by Ctrl+C as a key.
#include "cli/chat/line_editor.h"
#include "app/bytes.h"
#include "app/say.h"
#include "app/term.h"
#include <histedit.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

enum { HISTORY_LINES = 1000 };

// Bracketed paste (xterm, "Bracketed Paste Mode"): the terminal marks pasted text, so that its line breaks do
// not end the message.
static const char paste_on[] = "\x1b[?2004h", paste_off[] = "\x1b[?2004l", paste_end[] = "\x1b[201~";

struct line_editor {
    EditLine *el;
    History *history;
    line_editor_setup setup;
    bytes message;    // the lines so far; a backslash at a line's end continues the message
    bool is_more;     // the current line continues the message
    bool is_repeated; // the last key was Ctrl+C on an empty line
};

static line_editor *of(EditLine *el) {
    line_editor *ed = NULL;
    el_get(el, EL_CLIENTDATA, &ed);
    return ed;
}

static char *show_prompt(EditLine *el) {
    static char more[] = "... ";
    line_editor *const ed = of(el);
    return ed->is_more ? more : (char *)ed->setup.prompt; // libedit does not modify it
}

// Inserts a line break instead of ending the message.
static unsigned char insert_break(EditLine *el, int key) {
    (void)key;
    return el_insertstr(el, "\n") == 0 ? CC_REFRESH : CC_ERROR;
}

static unsigned char insert_paste(EditLine *el, int key) {
    (void)key;
    bytes text = {0};
    const size_t n_end = sizeof paste_end - 1;
    wchar_t typed; // el_getc() loses characters of more than one byte
    char c[MB_LEN_MAX];
    while (el_wgetc(el, &typed) == 1) {
        const int n = wctomb(c, typed == L'\r' ? L'\n' : typed);
        if (n > 0) bytes_add(&text, c, (size_t)n);
        if (text.n >= n_end && memcmp(text.data + text.n - n_end, paste_end, n_end) == 0) {
            text.n -= n_end;
            break;
        }
    }
    bytes shown = {0}; // without terminal control sequences, which pasted text may contain
    term_add_plain(&shown, text.data, text.n);
    const bool fits = shown.n == 0 || el_insertstr(el, shown.data) == 0;
    bytes_free(&text);
    bytes_free(&shown);
    return fits ? CC_REFRESH : CC_ERROR;
}

static unsigned char drop_line(EditLine *el, int key) {
    (void)key;
    line_editor *const ed = of(el);
    const LineInfo *const line = el_line(el);
    const bool is_empty = line->lastchar == line->buffer && !ed->is_more;
    el_deletestr(el, (int)(line->cursor - line->buffer));
    if (line->lastchar > line->buffer) el_replacestr(el, "");
    fputs(is_empty && ed->is_repeated ? "\n(/quit or Ctrl+D ends the chat)\n" : "^C\n", stdout);
    fflush(stdout);
    ed->is_repeated = is_empty;
    ed->is_more = false;
    ed->message.n = 0;
    return CC_REDISPLAY;
}

// Switches the terminal to raw input before each line. libedit does so only after writing its prompt, and
// switches back between the lines of a message: input that arrives in between would be echoed, get its line
// breaks changed, or stop the program.
static void take_terminal(void) {
    struct termios typing;
    if (tcgetattr(STDIN_FILENO, &typing) != 0) return;
    typing.c_iflag &= ~(tcflag_t)(ICRNL | INLCR | IGNCR);
    typing.c_lflag &= ~(tcflag_t)(ECHO | ICANON | ISIG | IEXTEN);
    typing.c_cc[VMIN] = 1;
    typing.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &typing);
}

static unsigned char stop_program(EditLine *el, int key) {
    (void)el, (void)key;
    raise(SIGTSTP); // libedit's signal handler restores the terminal before and sets it up again after
    return CC_REDISPLAY;
}

static void list_words(const char *const *words, const char *start, size_t n) {
    fputc('\n', stdout);
    for (; *words; words++)
        if (strncmp(*words, start, n) == 0) printf("%s  ", *words);
    fputc('\n', stdout);
    fflush(stdout);
}

// Completes the longest common prefix of the matching words; lists them if that adds nothing.
static unsigned char complete(EditLine *el, int key) {
    (void)key;
    line_editor *const ed = of(el);
    const LineInfo *const line = el_line(el);
    const size_t n_line = (size_t)(line->cursor - line->buffer);
    size_t start = n_line, n_common = 0, n_fit = 0;
    const char *const *const words =
        ed->setup.complete ? ed->setup.complete(ed->setup.user, line->buffer, n_line, &start) : NULL;
    if (!words) return CC_ERROR;
    const char *const typed = line->buffer + start, *first = NULL;
    const size_t n_typed = n_line - start;
    for (size_t i = 0; words[i]; i++) {
        if (strncmp(words[i], typed, n_typed) != 0) continue;
        if (n_fit++ == 0) first = words[i], n_common = strlen(first);
        size_t same = 0;
        while (same < n_common && words[i][same] == first[same]) same++;
        n_common = same;
    }
    if (n_fit == 0) return CC_ERROR;
    if (n_fit > 1 && n_common == n_typed) {
        list_words(words, typed, n_typed);
        return CC_REDISPLAY;
    }
    bytes rest = {0};
    bytes_add(&rest, first + n_typed, n_common - n_typed);
    if (n_fit == 1) bytes_add_text(&rest, " ");
    const bool fits = el_insertstr(el, rest.data) == 0;
    bytes_free(&rest);
    return fits ? CC_REFRESH : CC_ERROR;
}

static const struct {
    const char *name, *help;
    unsigned char (*fn)(EditLine *, int);
    const char *keys[2];
} functions[] = {
    {"chat-break", "start a new line", insert_break, {"\x1b\r", "\x1b\n"}},
    {"chat-paste", "insert pasted text", insert_paste, {"\x1b[200~"}},
    {"chat-drop", "clear the line", drop_line, {"\x03"}},
    {"chat-stop", "stop the program", stop_program, {"\x1a"}},
    {"chat-complete", "complete a command", complete, {"\t"}},
};

static void bind_keys(EditLine *el) {
    el_set(el, EL_EDITOR, "emacs");
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        el_set(el, EL_ADDFN, functions[i].name, functions[i].help, functions[i].fn);
        for (size_t k = 0; k < 2 && functions[i].keys[k]; k++)
            el_set(el, EL_BIND, functions[i].keys[k], functions[i].name, NULL);
    }
    el_set(el, EL_SETTY, "-d", "-isig", NULL); // Ctrl+C and Ctrl+Z are keys while a message is typed
    el_source(el, NULL);                       // the user's editrc overrides all of the above
}

line_editor *line_editor_open(const line_editor_setup *setup) {
    HistEvent event;
    if (!term_is(STDIN_FILENO) || !term_can_draw(STDOUT_FILENO)) return NULL;
    line_editor *const ed = app_alloc(sizeof *ed);
    *ed = (line_editor){.setup = *setup};
    ed->el = el_init("runnel", stdin, stdout, stderr);
    ed->history = history_init();
    if (!ed->el || !ed->history) {
        line_editor_close(ed);
        return NULL;
    }
    el_set(ed->el, EL_CLIENTDATA, ed);
    el_set(ed->el, EL_PROMPT, show_prompt);
    el_set(ed->el, EL_SIGNAL, 1); // handles terminal resizing and Ctrl+Z
    el_set(ed->el, EL_HIST, history, ed->history);
    history(ed->history, &event, H_SETSIZE, HISTORY_LINES);
    history(ed->history, &event, H_SETUNIQUE, 1);
    if (setup->history) history(ed->history, &event, H_LOAD, setup->history);
    bind_keys(ed->el);
    return ed;
}

// Reads up to Enter: a line of the message, or several if line breaks were inserted. false: end of input.
static bool read_part(line_editor *ed) {
    int n = 0;
    take_terminal();
    if (!ed->is_more) { // after take_terminal(): the terminal may send a paste at once
        fputs(paste_on, stdout);
        fflush(stdout);
    }
    const char *const line = el_gets(ed->el, &n);
    if (!line || n <= 0) return false;
    bytes_add(&ed->message, line, (size_t)n);
    if (ed->message.data[ed->message.n - 1] == '\n') ed->message.n--;
    ed->is_more = ed->message.n && ed->message.data[ed->message.n - 1] == '\\';
    if (ed->is_more) ed->message.data[ed->message.n - 1] = '\n';
    return true;
}

// Puts text into the input as if it were typed; line breaks become the key that inserts one.
static void type_text(line_editor *ed, const char *text) {
    bytes shown = {0}, keys = {0};
    term_add_plain(&shown, text, strlen(text));
    for (size_t i = 0; i < shown.n; i++)
        if (shown.data[i] == '\n')
            bytes_add_text(&keys, functions[0].keys[0]);
        else
            bytes_add(&keys, shown.data[i] == '\t' ? " " : shown.data + i, 1);
    if (keys.n) el_push(ed->el, keys.data);
    bytes_free(&shown);
    bytes_free(&keys);
}

char *line_editor_read(line_editor *ed, const char *prefill) {
    HistEvent event;
    bool is_there;
    ed->message.n = 0;
    ed->is_more = false;
    if (prefill) type_text(ed, prefill);
    do is_there = read_part(ed);
    while (is_there && ed->is_more);
    fputs(paste_off, stdout);
    fflush(stdout);
    if (!is_there) return NULL;
    ed->is_repeated = false;
    bytes_add(&ed->message, "", 1); // terminates the text even if nothing was typed
    if (ed->message.n > 1) history(ed->history, &event, H_ENTER, ed->message.data);
    return app_copy_text(ed->message.data);
}

void line_editor_close(line_editor *ed) {
    HistEvent event;
    if (!ed) return;
    if (ed->history && ed->setup.history) history(ed->history, &event, H_SAVE, ed->setup.history);
    if (ed->history) history_end(ed->history);
    if (ed->el) el_end(ed->el);
    bytes_free(&ed->message);
    free(ed);
}
