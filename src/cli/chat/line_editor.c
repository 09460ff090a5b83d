// cli/chat/line_editor.c - libedit, extended by bracketed paste and by Ctrl+C as a key.
#include "cli/chat/line_editor.h"
#include "app/bytes.h"
#include "app/say.h"
#include "app/term.h"
#include <errno.h>
#include <histedit.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

enum { HISTORY_LINES = 1000 };

// Bracketed paste (xterm, "Bracketed Paste Mode"): the terminal marks pasted text, so that its line breaks do
// not end the message.
static const char paste_on[] = "\x1b[?2004h", paste_off[] = "\x1b[?2004l", paste_end[] = "\x1b[201~";
static const char quotes[] = "\"\"\""; // around a message of several lines, as Ollama has them
enum { N_QUOTES = sizeof quotes - 1 };

struct line_editor {
    EditLine *el;
    History *history;
    line_editor_setup setup;
    struct termios found; // the terminal as it was before
    const char *question; // the prompt of line_editor_confirm(); NULL: a message is read
    bytes message;        // the lines so far; a backslash at a line's end continues the message
    bool is_more;         // the current line continues the message
    bool is_repeated;     // the last key was Ctrl+C on an empty line
};

static void write_now(const char *text) {
    fputs(text, stdout);
    fflush(stdout);
}

static line_editor *of(EditLine *el) {
    line_editor *ed = NULL;
    el_get(el, EL_CLIENTDATA, &ed);
    return ed;
}

static char *show_prompt(EditLine *el) {
    static char more[] = "... ";
    line_editor *const ed = of(el);
    if (ed->question) return (char *)ed->question; // libedit does not modify it
    return ed->is_more ? more : (char *)ed->setup.prompt;
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
    // To the end first: el_deletestr() deletes what is before the cursor. Both count characters, not bytes.
    const LineInfoW *const typed = el_wline(el);
    const bool is_empty = typed->lastchar == typed->buffer, was_more = ed->is_more;
    el_cursor(el, (int)(typed->lastchar - typed->cursor));
    el_deletestr(el, (int)(el_wline(el)->cursor - typed->buffer));
    ed->is_more = false;
    ed->message.n = 0;
    const bool is_repeated = is_empty && !was_more && ed->is_repeated;
    ed->is_repeated = is_empty && !was_more;
    if (!is_empty && !was_more) return CC_REFRESH;
    write_now(is_repeated ? "\n(/quit or Ctrl+D ends the chat)\n" : "^C\n");
    return CC_REDISPLAY;
}

// Switches the terminal to raw input before each line. libedit does so only after writing its prompt, and
// switches back between the lines of a message: input that arrives in between would be echoed, get its line
// breaks changed, or stop the program.
static void take_terminal(void) {
    struct termios typing;
    if (tcgetattr(STDIN_FILENO, &typing) != 0) return;
    typing.c_iflag &= ~(tcflag_t)(ICRNL | INLCR | IGNCR);
    typing.c_lflag &= ~(tcflag_t)(ECHO | ICANON | ISIG | IEXTEN | NOFLSH);
    typing.c_cc[VMIN] = 1;
    typing.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &typing);
}

// Between messages, while a reply streams: what is typed stays in the terminal's buffer, unseen, for the next message. Ctrl+C stops the
// reply and leaves it there.
static void mute_terminal(void) {
    struct termios waiting;
    if (tcgetattr(STDIN_FILENO, &waiting) != 0) return;
    waiting.c_iflag &= ~(tcflag_t)(ICRNL | INLCR | IGNCR);
    waiting.c_lflag &= ~(tcflag_t)(ECHO | ICANON | IEXTEN);
    waiting.c_lflag |= ISIG | NOFLSH;
    waiting.c_cc[VMIN] = 1;
    waiting.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &waiting);
}

static unsigned char stop_program(EditLine *el, int key) {
    line_editor *const ed = of(el);
    struct termios typing;
    (void)key;
    tcgetattr(STDIN_FILENO, &typing);
    write_now(paste_off);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &ed->found);
    raise(SIGTSTP);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &typing);
    write_now(paste_on);
    return CC_REDISPLAY;
}

// ---- resizing --------------------------------------------------------------------------------------------------------

static volatile sig_atomic_t is_resized;

static void note_size(int number) {
    (void)number;
    is_resized = 1;
}

// libedit takes over the new size and draws nothing. Terminals break lines anew, so that the first row of the message is as many rows
// above the cursor as its text takes in the new width; from there all is erased and drawn again.
static void redraw(line_editor *ed) {
    const LineInfo *const line = el_line(ed->el);
    const int columns = term_width(STDOUT_FILENO);
    int rows = 0, column = (int)strlen(show_prompt(ed->el));
    is_resized = 0;
    for (const char *c = line->buffer; c < line->cursor;) {
        int width;
        if (*c == '\n') {
            rows += 1 + column / columns;
            column = 0;
            c++;
            continue;
        }
        c += term_character(c, (size_t)(line->cursor - c), &width);
        column += width;
    }
    rows += column / columns;
    if (rows) printf("\x1b[%dA", rows);
    write_now("\r\x1b[J");
    el_resize(ed->el);
    el_set(ed->el, EL_REFRESH);
}

// Draws after each resize until a key comes. The signal is let in while it waits only, so that none comes between a look and the wait.
static void wait_for_key(line_editor *ed) {
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    sigset_t resize, before;
    sigemptyset(&resize);
    sigaddset(&resize, SIGWINCH);
    sigprocmask(SIG_BLOCK, &resize, &before);
    do
        if (is_resized) redraw(ed);
    while (ppoll(&input, 1, NULL, &before) < 0 && errno == EINTR);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

// Reads a character as libedit does; its own function would not draw after a resize.
static int read_key(EditLine *el, wchar_t *key) {
    char c[MB_LEN_MAX];
    size_t n = 0;
    for (;;) {
        wait_for_key(of(el));
        const ssize_t n_read = read(STDIN_FILENO, c + n, 1);
        if (n_read < 0 && errno == EINTR) continue;
        if (n_read <= 0) return (int)n_read;
        mbstate_t state = {0};
        const size_t n_char = mbrtowc(key, c, ++n, &state);
        if (n_char != (size_t)-1 && n_char != (size_t)-2) return 1;
        if (n_char == (size_t)-1 || n == sizeof c) n = 0; // no character: left out
    }
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
    if (n_fit == 1 && first[n_common - 1] != '/') bytes_add_text(&rest, " ");
    const bool fits = !rest.n || el_insertstr(el, rest.data) == 0;
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
    tcgetattr(STDIN_FILENO, &ed->found);
    ed->el = el_init("runnel", stdin, stdout, stderr);
    ed->history = history_init();
    if (!ed->el || !ed->history) {
        line_editor_close(ed);
        return NULL;
    }
    el_set(ed->el, EL_CLIENTDATA, ed);
    el_set(ed->el, EL_PROMPT, show_prompt);
    // Before libedit's handlers, which hand the signal on.
    const struct sigaction act = {.sa_handler = note_size};
    sigaction(SIGWINCH, &act, NULL);
    el_set(ed->el, EL_SIGNAL, 1); // restores the terminal when the program is ended
    el_set(ed->el, EL_GETCFN, read_key);
    el_set(ed->el, EL_HIST, history, ed->history);
    history(ed->history, &event, H_SETSIZE, HISTORY_LINES);
    history(ed->history, &event, H_SETUNIQUE, 1);
    if (setup->history) history(ed->history, &event, H_LOAD, setup->history);
    bind_keys(ed->el);
    return ed;
}

// Does the message go on? After a backslash, and after """ until the next one, both of which are removed.
static bool goes_on(bytes *m) {
    const bool is_quoted = m->n >= N_QUOTES && memcmp(m->data, quotes, N_QUOTES) == 0;
    const bool has_end = m->n >= 2 * N_QUOTES && memcmp(m->data + m->n - N_QUOTES, quotes, N_QUOTES) == 0;
    if (is_quoted && !has_end) {
        bytes_add_text(m, "\n");
        return true;
    }
    if (is_quoted) {
        m->n -= N_QUOTES;
        if (m->data[m->n - 1] == '\n') m->n--;
        bytes_drop_front(m, m->n > N_QUOTES && m->data[N_QUOTES] == '\n' ? N_QUOTES + 1 : N_QUOTES);
        return false;
    }
    if (!m->n || m->data[m->n - 1] != '\\') return false;
    m->data[m->n - 1] = '\n';
    return true;
}

// Reads up to Enter: a line of the message, or several if line breaks were inserted. false: end of input.
static bool read_part(line_editor *ed) {
    int n = 0;
    take_terminal();
    if (!ed->is_more) write_now(paste_on); // after take_terminal(): the terminal may send a paste at once
    const char *const line = el_gets(ed->el, &n);
    if (!line || n <= 0) return false;
    bytes_add(&ed->message, line, (size_t)n);
    if (ed->message.data[ed->message.n - 1] == '\n') ed->message.n--;
    ed->is_more = !ed->question && goes_on(&ed->message);
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
    mute_terminal();
    if (!is_there) return NULL;
    ed->is_repeated = false;
    bytes_add(&ed->message, "", 1); // terminates the text even if nothing was typed
    if (ed->message.n > 1) history(ed->history, &event, H_ENTER, ed->message.data);
    return app_copy_text(ed->message.data);
}

bool line_editor_confirm(line_editor *ed, const char *question) {
    ed->message.n = 0;
    ed->is_more = false;
    ed->question = question;
    const bool is_yes = read_part(ed) && ed->message.n && strchr("yY", ed->message.data[0]);
    ed->question = NULL;
    mute_terminal();
    return is_yes;
}

void line_editor_lend(line_editor *ed, bool is_lent) {
    if (is_lent) {
        write_now(paste_off);
        tcsetattr(STDIN_FILENO, TCSADRAIN, &ed->found);
    } else {
        mute_terminal();
    }
}

void line_editor_close(line_editor *ed) {
    HistEvent event;
    if (!ed) return;
    if (ed->el) write_now(paste_off);
    if (ed->history && ed->setup.history) history(ed->history, &event, H_SAVE, ed->setup.history);
    if (ed->history) history_end(ed->history);
    if (ed->el) el_end(ed->el);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &ed->found);
    bytes_free(&ed->message);
    free(ed);
}
