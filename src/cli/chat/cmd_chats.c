// cli/chat/cmd_chats.c - `runnel chats`: the conversations that are kept.
#include "app/files.h"
#include "app/json_write.h"
#include "app/options.h"
#include "app/term.h"
#include "app/wrap.h"
#include "cli/chat/kept_chats.h"
#include "cli/command.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct chats {
    bool is_json;
    const char *show, *rid;
} chats;

static const option chats_rows[] = {
    {0, "show", "ID", OPTION_TEXT, offsetof(chats, show), .help = "print one conversation as Markdown"},
    {0, "delete", "ID|all", OPTION_TEXT, offsetof(chats, rid), .help = "delete one conversation, or all"},
    {0, "json", NULL, OPTION_FLAG, offsetof(chats, is_json),
     .help = "a JSON line for each conversation, with its messages"},
};

static bool has_text(const kept_chat *k, const char *text) {
    for (size_t i = 0; i < k->talk.n; i++)
        if (k->talk.items[i].content.n && strcasestr(k->talk.items[i].content.data, text)) return true;
    return false;
}

static void add_json(bytes *to, const kept_chat *k) {
    json_writer w = {to, false};
    json_put_begin(&w, '{');
    json_member_string(&w, "id", k->id);
    json_member_string(&w, "model", k->model);
    json_member_u64(&w, "changed", (uint64_t)(k->changed_ns / 1000000000));
    json_put_key(&w, "messages");
    dialogue_write(&k->talk, &w, NULL);
    json_put_end(&w, '}');
    bytes_add_text(to, "\n");
}

// A line: id, when, messages, model, as much of the first message as fits.
static void add_line(bytes *to, const kept_chat *k, int columns) {
    char when[32] = "";
    const time_t changed = (time_t)(k->changed_ns / 1000000000);
    struct tm local;
    const char *title;
    size_t n_title, n = 0;
    if (localtime_r(&changed, &local)) strftime(when, sizeof when, "%Y-%m-%d %H:%M", &local);
    const char *const slash = k->model ? strrchr(k->model, '/') : NULL, *const model = slash      ? slash + 1
                                                                                       : k->model ? k->model
                                                                                                  : "";
    const size_t before = to->n;
    bytes_add_format(to, "%-18s  %s  %3zu  %.24s  ", k->id, when, k->talk.n, model);
    kept_chat_title(k, &title, &n_title);
    for (int used = (int)(to->n - before), width; n < n_title; used += width) {
        const size_t n_char = term_character(title + n, n_title - n, &width);
        if (used + width > columns) break;
        n += n_char;
    }
    term_add_plain(to, title, n);
    bytes_add_text(to, "\n");
}

static void add_markdown(bytes *to, const kept_chat *k) {
    for (size_t i = 0; i < k->talk.n; i++) {
        const message *const m = &k->talk.items[i];
        bytes_add_format(to, "%s**%s**\n\n", i ? "\n" : "", m->role);
        if (m->content.n) term_add_plain(to, m->content.data, m->content.n);
        if (m->calls.n) bytes_add_format(to, "\n```json\n[%s]\n```", m->calls.data);
        bytes_add_text(to, "\n");
    }
}

static int delete_chats(const chats *c, const kept_chats *all) {
    const bool is_all = strcmp(c->rid, "all") == 0;
    const kept_chat *const one = is_all ? NULL : kept_chats_find(all, c->rid);
    if (!is_all && !one) return EXIT_CODE_FAILED;
    for (size_t i = 0; i < all->n; i++) {
        if ((!is_all && &all->items[i] != one) || unlink(all->items[i].path) == 0) continue;
        say("%s: %s", all->items[i].path, strerror(errno));
        return EXIT_CODE_FAILED;
    }
    say("deleted %zu %s", is_all ? all->n : 1, is_all && all->n != 1 ? "conversations" : "conversation");
    return EXIT_CODE_OK;
}

static int run_chats(const chats *c, const char *text) {
    kept_chats all;
    bytes page = {0};
    output out = {0};
    int code = EXIT_CODE_OK;
    if ((c->show != NULL) + (c->rid != NULL) + (text != NULL) > 1) {
        say("chats: TEXT, --show and --delete exclude each other");
        return EXIT_CODE_USAGE;
    }
    kept_chats_read(&all);
    if (c->rid) {
        code = delete_chats(c, &all);
    } else if (c->show) {
        const kept_chat *const k = kept_chats_find(&all, c->show);
        if (k) (c->is_json ? add_json : add_markdown)(&page, k);
        code = k ? EXIT_CODE_OK : EXIT_CODE_FAILED;
    } else {
        const int columns = term_is(STDOUT_FILENO) ? term_width(STDOUT_FILENO) - 1 : 200;
        for (size_t i = 0; i < all.n; i++) {
            if (text && !has_text(&all.items[i], text)) continue;
            if (c->is_json)
                add_json(&page, &all.items[i]);
            else
                add_line(&page, &all.items[i], columns);
        }
        if (!page.n) say(text ? "no conversation that is kept has this text" : "no conversation is kept yet");
    }
    output_write(&out, page.data, page.n);
    bytes_free(&page);
    kept_chats_free(&all);
    return output_exit(&out, code);
}

int cmd_chats(int n_args, char **args) {
    chats c = {0};
    options parsed;
    const option_group groups[] = {{"Conversations", chats_rows, sizeof chats_rows / sizeof *chats_rows, &c}};
    const option_spec spec = {
        .command = "chats",
        .usage = "[TEXT] [options]",
        .about =
            "List the conversations that `runnel chat` kept, the last one first: those in which TEXT occurs, or all. "
            "`runnel chat --continue` goes on with the last one, `--resume ID` with another; chat's --no-history keeps none.",
        .groups = groups,
        .n_groups = 1,
        .max_positional = 1,
    };
    int code;
    if (options_parse(&spec, n_args, args, &parsed, &code)) code = run_chats(&c, parsed.positional[0]);
    options_free(&parsed);
    return code;
}
