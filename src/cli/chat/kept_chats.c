// cli/chat/kept_chats.c - see kept_chats.h.
#include "cli/chat/kept_chats.h"
#include "app/file_names.h"
#include "app/files.h"
#include "app/json_read.h"
#include "cli/chat/chat_model.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FOLDER "chats"
static const char ending[] = ".jsonl";
enum { N_ENDING = sizeof ending - 1, CHAT_LIMIT = 64 << 20 };

// ---- reading ---------------------------------------------------------------------------------------------------------

static bool read_model(const char *line, size_t n, kept_chat *k, char *why) {
    struct first {
        json_span model;
    } first = {0};
    static const member rows[] = {{"model", MEMBER_TEXT, .offset = offsetof(struct first, model)}};
    const member_group group = {rows, 1, &first};
    json_doc *doc = NULL;
    const bool ok = json_doc_parse(line, n, &doc, why) && json_doc_read(doc, &group, 1, why);
    if (ok && first.model.data) k->model = app_copy_text(first.model.data);
    json_doc_free(doc);
    return ok;
}

static bool read_lines(const bytes *text, kept_chat *k) {
    char why[JSON_WHY] = "";
    size_t n_lines = 0;
    for (size_t at = 0; at < text->n; n_lines++) {
        const size_t n = strcspn(text->data + at, "\n");
        const bool ok =
            n_lines ? dialogue_read_line(&k->talk, text->data + at, n, why) : read_model(text->data + at, n, k, why);
        if (!ok) {
            say("%s: line %zu: %s", k->path, n_lines + 1, why);
            return false;
        }
        at += n + 1;
    }
    return n_lines > 1;
}

static void kept_chat_free(kept_chat *k) {
    free(k->id);
    free(k->path);
    free(k->model);
    dialogue_free(&k->talk);
}

static bool read_chat(const char *path, kept_chat *k) {
    struct stat at;
    bytes text = {0};
    const char *const name = strrchr(path, '/') + 1;
    const size_t n = strlen(name);
    if (n <= N_ENDING || strcmp(name + n - N_ENDING, ending) != 0 || stat(path, &at) != 0) return false;
    *k = (kept_chat){.id = app_text("%.*s", (int)(n - N_ENDING), name),
                     .path = app_copy_text(path),
                     .changed_ns = (int64_t)at.st_mtim.tv_sec * 1000000000 + at.st_mtim.tv_nsec};
    const bool ok = file_read(path, CHAT_LIMIT, &text) && read_lines(&text, k);
    bytes_free(&text);
    if (!ok) kept_chat_free(k);
    return ok;
}

static int by_change(const void *a, const void *b) {
    const kept_chat *const x = a, *const y = b;
    if (x->changed_ns != y->changed_ns) return x->changed_ns < y->changed_ns ? 1 : -1;
    return strcmp(y->id, x->id);
}

void kept_chats_read(kept_chats *all) {
    *all = (kept_chats){0};
    char *const folder = chat_state_path(FOLDER "/");
    if (!folder) return;
    const char *const *const names = file_names_like(folder, strlen(folder));
    for (size_t i = 0; names && names[i]; i++) {
        all->items = app_realloc(all->items, (all->n + 1) * sizeof *all->items);
        if (read_chat(names[i], &all->items[all->n])) all->n++;
    }
    if (all->n) qsort(all->items, all->n, sizeof *all->items, by_change);
    free(folder);
}

void kept_chats_free(kept_chats *all) {
    for (size_t i = 0; i < all->n; i++) kept_chat_free(&all->items[i]);
    free(all->items);
    *all = (kept_chats){0};
}

const kept_chat *kept_chats_find(const kept_chats *all, const char *id) {
    const kept_chat *found = NULL;
    if (!all->n) say("no conversation is kept");
    if (!all->n || !id) return all->n ? &all->items[0] : NULL;
    for (size_t i = 0; i < all->n; i++) {
        if (strcmp(all->items[i].id, id) == 0) return &all->items[i];
        if (strncmp(all->items[i].id, id, strlen(id)) != 0) continue;
        if (found) {
            say("%s: several conversations begin with it; `runnel chats` lists them", id);
            return NULL;
        }
        found = &all->items[i];
    }
    if (!found) say("%s: no conversation of that name is kept; `runnel chats` lists them", id);
    return found;
}

void kept_chat_title(const kept_chat *k, const char **text, size_t *n) {
    *text = "";
    *n = 0;
    for (size_t i = 0; i < k->talk.n; i++) {
        if (strcmp(k->talk.items[i].role, "user") != 0) continue;
        *text = k->talk.items[i].content.data ? k->talk.items[i].content.data : "";
        *n = strcspn(*text, "\n");
        return;
    }
}

// ---- writing ---------------------------------------------------------------------------------------------------------

char *kept_chat_new_path(void) {
    char when[32];
    const time_t now = time(NULL);
    struct tm local;
    char *const folder = chat_state_path(FOLDER);
    if (!folder || !localtime_r(&now, &local)) {
        free(folder);
        return NULL;
    }
    mkdir(folder, 0700); // an error shows when the file is written
    strftime(when, sizeof when, "%Y%m%d-%H%M%S", &local);
    char *path = app_text("%s/%s%s", folder, when, ending);
    for (int i = 2; access(path, F_OK) == 0 && i < 1000; i++) { // another chat began in the same second
        free(path);
        path = app_text("%s/%s-%d%s", folder, when, i, ending);
    }
    free(folder);
    return path;
}

bool kept_chat_write(const char *path, const char *model, const dialogue *talk) {
    out_file file;
    bytes text = {0};
    json_writer w = {&text, false};
    json_put_begin(&w, '{');
    json_member_string(&w, "model", model);
    json_put_end(&w, '}');
    bytes_add_text(&text, "\n");
    for (size_t i = 0; i < talk->n; i++) {
        w = (json_writer){&text, false};
        message_write(&talk->items[i], &w);
        bytes_add_text(&text, "\n");
    }
    const mode_t mask = umask(077); // 0600
    bool ok = out_file_open(&file, path);
    umask(mask);
    if (ok) {
        out_file_write(&file, text.data, text.n);
        ok = out_file_commit(&file);
    }
    bytes_free(&text);
    return ok;
}
