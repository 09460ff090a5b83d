// cli/chat/chat_keep.c - keeps the conversation as it goes, and goes on with one that was kept.
#include "cli/chat/chat_model.h"
#include "cli/chat/chat_state.h"
#include "cli/chat/kept_chats.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// What tells one state of a conversation from another: FNV-1a over its messages.
static uint64_t sum_of(const dialogue *talk) {
    uint64_t sum = 14695981039346656037u;
    for (size_t i = 0; i < talk->n; i++) {
        const bytes parts[] = {talk->items[i].content, talk->items[i].reasoning, talk->items[i].calls,
                               talk->items[i].pictures};
        for (size_t p = 0; p < sizeof parts / sizeof *parts; p++)
            for (size_t k = 0; k <= parts[p].n; k++)
                sum = (sum ^ (k < parts[p].n ? (unsigned char)parts[p].data[k] : 0x100u + p)) * 1099511628211u;
    }
    return sum;
}

void chat_keep(chat *c) {
    if (c->has_no_history || c->cannot_keep || (!c->editor && !c->kept_path)) return;
    bool is_begun = false;
    for (size_t i = 0; i < c->talk.n; i++) is_begun |= strcmp(c->talk.items[i].role, "user") == 0;
    if (!is_begun) { // after /clear, the next one is a conversation of its own
        free(c->kept_path);
        c->kept_path = NULL;
        return;
    }
    const uint64_t sum = sum_of(&c->talk);
    if (c->kept_path && sum == c->kept_sum) return;
    if (!c->kept_path) c->kept_path = kept_chat_new_path();
    c->kept_sum = sum;
    c->cannot_keep = !c->kept_path || !kept_chat_write(c->kept_path, c->on.path, &c->talk); // says it once
}

bool chat_take_kept(chat *c, char **model) {
    kept_chats all;
    kept_chats_read(&all);
    const kept_chat *const found = kept_chats_find(&all, c->resume);
    if (found) {
        kept_chat *const k = &all.items[found - all.items];
        c->talk = k->talk;
        k->talk = (dialogue){0};
        c->kept_path = app_copy_text(k->path);
        c->kept_sum = sum_of(&c->talk);
        if (k->model && access(k->model, R_OK) == 0) *model = app_copy_text(k->model);
    }
    kept_chats_free(&all);
    return found != NULL;
}

void chat_show_kept(chat *c) {
    const message *const reply = dialogue_last(&c->talk, "assistant");
    chat_note(c, "goes on behind %zu messages; /clear begins another conversation", c->talk.n);
    if (!reply || !reply->content.n) return;
    const size_t at = c->talk.n - 1;
    if (at && strcmp(c->talk.items[at - 1].role, "user") == 0)
        chat_note(c, "> %s", c->talk.items[at - 1].content.data);
    const rn_delta text = {
        .channel = RN_CHANNEL_CONTENT, .tool = -1, .text = reply->content.data, .n_text = reply->content.n};
    reply_screen_begin(&c->screen);
    reply_screen_add(&c->screen, &text);
    reply_screen_end(&c->screen);
}
