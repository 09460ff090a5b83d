// cli/chat/chat_inputs.c - what goes into a conversation beside typed messages: files, texts from an editor, tools and their results.
#include "app/file_names.h"
#include "app/files.h"
#include "app/json_read.h"
#include "app/wrap.h"
#include "cli/chat/chat_state.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void fail(chat *c, const char *what, const char *why) {
    chat_note(c, "%s: %s", what, why);
    if (!c->editor) c->code = EXIT_CODE_FAILED;
}

// ---- /file ---------------------------------------------------------------------------------------------------------

// Is it UTF-8 without control characters that no text has? why: where not.
static bool is_text(const bytes *b, char *why, size_t n_why) {
    for (size_t at = 0; at < b->n;) {
        const size_t n = character_length(b->data + at, b->n - at);
        if (n == 0 || b->data[at] == '\0') {
            snprintf(why, n_why, "not a text: byte %zu is no character of UTF-8", at);
            return false;
        }
        at += n;
    }
    return true;
}

// The longest run of backquotes: the fence around the text is longer.
static int longest_fence(const bytes *b) {
    int most = 0, run = 0;
    for (size_t i = 0; i < b->n; i++) {
        run = b->data[i] == '`' ? run + 1 : 0;
        if (run > most) most = run;
    }
    return most;
}

static void attach(chat *c, const char *path, const bytes *text) {
    char fence[] = "````````````````````````````````", n_text[HUMAN_BYTES];
    const int n_fence = longest_fence(text) < 3 ? 3 : longest_fence(text) + 1;
    const char *const slash = strrchr(path, '/'), *const name = slash ? slash + 1 : path;
    if ((size_t)n_fence < sizeof fence) fence[n_fence] = '\0';
    bytes_add_format(&c->attached, "%s:\n%s\n", name, fence);
    bytes_add(&c->attached, text->data, text->n);
    bytes_add_format(&c->attached, "%s%s\n\n", text->n && text->data[text->n - 1] == '\n' ? "" : "\n", fence);
    c->n_attached++;
    int32_t *ids = NULL;
    size_t n = 0;
    rn_error err = {0};
    if (rn_tokenize(c->on.model, text->data, text->n, false, false, &ids, &n, &err) == RN_OK)
        chat_note(c, "%s, %s tokens: goes with the next message", name, human_count(n, n_text));
    else
        chat_note(c, "%s: goes with the next message", name);
    rn_free(ids);
}

void chat_run_file(chat *c, const char *args) {
    bytes text = {0};
    char why[100];
    if (!*args) {
        if (c->n_attached)
            chat_note(c, "%zu files go with the next message; /file - leaves them out", c->n_attached);
        else
            chat_note(c, "no file goes with the next message: /file PATH adds one");
        return;
    }
    if (strcmp(args, "-") == 0) {
        chat_note(c, "%zu files are left out", c->n_attached);
        c->attached.n = c->n_attached = 0;
        return;
    }
    char *const path = file_name_meant(args);
    if (!file_read(path, TEXT_LIMIT, &text)) {
        if (!c->editor) c->code = EXIT_CODE_FAILED;
    } else if (!text.n) {
        fail(c, path, "is empty");
    } else if (!is_text(&text, why, sizeof why)) {
        fail(c, path, why);
    } else {
        attach(c, path, &text);
    }
    bytes_free(&text);
    free(path);
}

// ---- /editor -------------------------------------------------------------------------------------------------------

// Waits for the program; a change of the terminal's size interrupts that, and is none of its end.
static bool has_ended(pid_t child, int *status) {
    pid_t ended;
    do ended = waitpid(child, status, 0);
    while (ended < 0 && errno == EINTR);
    return ended == child;
}

// Runs $VISUAL or $EDITOR on the file. As shells and git do it, the variable may have arguments.
static bool run_program(const char *path, char *why, size_t n_why) {
    const char *const visual = getenv("VISUAL"), *const usual = getenv("EDITOR");
    const char *const program = visual && *visual ? visual : usual && *usual ? usual : "vi";
    char *const command = app_text("%s \"$1\"", program);
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", command, program, path, (char *)NULL);
        _exit(127);
    }
    if (child < 0 || !has_ended(child, &status) || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        snprintf(why, n_why, "%.100s did not end well; $VISUAL or $EDITOR names another", program);
        status = -1;
    }
    free(command);
    return status == 0;
}

void chat_run_editor(chat *c, const char *args) {
    if (!c->editor) {
        fail(c, "/editor", "needs a terminal");
        return;
    }
    const char *const folder = getenv("TMPDIR");
    char *const path =
        app_text("%s/runnel-message.XXXXXX", folder && *folder ? folder : "/tmp"); // 0600, by mkstemp()
    const int fd = mkstemp(path);
    bytes text = {0};
    char why[160] = "cannot be created";
    bool is_done = fd >= 0 && write(fd, args, strlen(args)) == (ssize_t)strlen(args);
    if (fd >= 0) close(fd);
    if (is_done) {
        line_editor_lend(c->editor, true);
        is_done = run_program(path, why, sizeof why);
        line_editor_lend(c->editor, false);
    }
    if (!is_done) {
        fail(c, is_done || fd >= 0 ? "/editor" : path, why);
    } else if (file_read(path, TEXT_LIMIT, &text)) {
        while (text.n && strchr(" \t\r\n", text.data[text.n - 1])) text.data[--text.n] = '\0';
        if (text.n && is_text(&text, why, sizeof why)) {
            chat_note(c, "%s", text.data);
            chat_say(c, text.data, text.n);
        } else {
            chat_note(c, "%s", text.n ? why : "the text is empty: nothing is sent");
        }
    }
    if (fd >= 0) unlink(path);
    bytes_free(&text);
    free(path);
}

// ---- /tools and /result --------------------------------------------------------------------------------------------

typedef struct call_names {
    char *names[64], *ids[64]; // ids NULL: none
    size_t n;
} call_names;

static bool take_call(void *target, size_t i, const char *key, const json_item *value, char *why) {
    call_names *const all = target;
    json_span name = {0}, id = {0};
    (void)key;
    const json_item *const fn = json_item_member(value, "function"), *const own = json_item_member(value, "id");
    const json_item *const of = fn ? json_item_member(fn, "name") : NULL;
    if (!of || !json_item_text(of, &name, why)) {
        snprintf(why, JSON_WHY / 2, "has no function with a name");
        return false;
    }
    if (i >= sizeof all->names / sizeof *all->names) {
        snprintf(why, JSON_WHY / 2, "more than %zu", sizeof all->names / sizeof *all->names);
        return false;
    }
    all->names[all->n] = app_copy_text(name.data);
    all->ids[all->n++] = own && json_item_text(own, &id, why) ? app_copy_text(id.data) : NULL;
    return true;
}

// Reads tools or calls: an array of objects, each with a function.
static bool read_functions(const char *array, call_names *all, char *why) {
    static const member rows[] = {{"tools", MEMBER_EACH, .shape = SHAPE_ARRAY, .each = take_call}};
    const member_group group = {rows, 1, all};
    json_doc *doc = NULL;
    char *const text = app_text("{\"tools\": %s}", array);
    const bool ok = json_doc_parse(text, strlen(text), &doc, why) && json_doc_read(doc, &group, 1, why);
    json_doc_free(doc);
    free(text);
    return ok;
}

static void call_names_free(call_names *all) {
    for (size_t i = 0; i < all->n; i++) {
        free(all->names[i]);
        free(all->ids[i]);
    }
}

static void add_names(const call_names *all, bytes *to) {
    for (size_t i = 0; i < all->n; i++) bytes_add_format(to, "%s%s", i ? ", " : "", all->names[i]);
}

void chat_run_tools(chat *c, const char *args) {
    call_names all = {0};
    bytes text = {0}, list = {0};
    char why[JSON_WHY] = "";
    if (!*args && c->tools) {
        if (read_functions(c->tools, &all, why)) add_names(&all, &list);
        chat_note(c, "tools: %s; /tools - takes them away", list.n ? list.data : why);
    } else if (!*args) {
        chat_note(c, "no tools: /tools FILE reads an array of tool definitions, as OpenAI's API takes it");
    } else if (strcmp(args, "-") == 0) {
        free(c->tools);
        c->tools = NULL;
        chat_note(c, "the tools are taken away");
    } else {
        char *const path = file_name_meant(args);
        if (!file_read(path, TEXT_LIMIT, &text)) {
            if (!c->editor) c->code = EXIT_CODE_FAILED;
        } else if (!read_functions(text.data ? text.data : "", &all, why)) {
            fail(c, path, why);
        } else {
            add_names(&all, &list);
            free(c->tools);
            c->tools = app_copy_text(text.data);
            chat_note(c, "tools: %s; a call is answered with /result TEXT", list.n ? list.data : "none");
        }
        free(path);
    }
    call_names_free(&all);
    bytes_free(&text);
    bytes_free(&list);
}

// The calls of the last reply, and how many of them have a result.
static bool find_calls(const chat *c, call_names *all, size_t *n_results) {
    char why[JSON_WHY];
    size_t at = c->talk.n;
    while (at && strcmp(c->talk.items[at - 1].role, "tool") == 0) at--;
    *n_results = c->talk.n - at;
    if (!at || !c->talk.items[at - 1].calls.n) return false;
    char *const array = app_text("[%s]", c->talk.items[at - 1].calls.data);
    const bool ok = read_functions(array, all, why) && *n_results < all->n;
    free(array);
    return ok;
}

void chat_run_result(chat *c, const char *args) {
    call_names all = {0};
    size_t n_results = 0;
    if (!find_calls(c, &all, &n_results)) {
        fail(c, "/result", "the last reply has no call that waits for a result");
    } else if (!*args) {
        chat_note(c, "/result TEXT: the result of %s", all.names[n_results]);
    } else {
        message *const m = dialogue_add(&c->talk, "tool", args, strlen(args));
        bytes_add_text(&m->name, all.names[n_results]);
        if (all.ids[n_results]) bytes_add_text(&m->call_id, all.ids[n_results]);
        if (n_results + 1 < all.n)
            chat_note(c, "next: /result TEXT, the result of %s", all.names[n_results + 1]);
        else if (!chat_answer(c, false))
            dialogue_drop(&c->talk, c->talk.n - 1);
    }
    call_names_free(&all);
}
