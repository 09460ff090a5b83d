// tests/engine/heard.h - an answer of a conversation, read to its end, in channels.
#ifndef RN_TESTS_ENGINE_HEARD_H
#define RN_TESTS_ENGINE_HEARD_H

#include "chat_fixture.h"

// The channels of a whole answer.
struct heard {
    char content[1024], reasoning[1024], names[256], arguments[1024];
    struct outcome o;
    int32_t n_calls, n_ends;
    int64_t n_reasoning;
};

static inline void append(char *to, size_t n_room, const char *text, size_t n) {
    const size_t at = strlen(to);
    if (at + n < n_room) memcpy(to + at, text, n), to[at + n] = 0;
}

static inline void hear(struct heard *h, const rn_chunk *c) {
    for (size_t i = 0; i < c->n_deltas; i++) {
        const rn_delta *const d = &c->deltas[i];
        CHECK((d->channel == RN_CHANNEL_TOOL_CALL) == (d->tool >= 0));
        if (d->channel == RN_CHANNEL_CONTENT) append(h->content, sizeof h->content, d->text, d->n_text);
        if (d->channel == RN_CHANNEL_REASONING) append(h->reasoning, sizeof h->reasoning, d->text, d->n_text);
        if (d->channel != RN_CHANNEL_TOOL_CALL) continue;
        append(h->arguments, sizeof h->arguments, d->text, d->n_text);
        if (d->name) append(h->names, sizeof h->names, d->name, strlen(d->name));
        if (d->name) append(h->names, sizeof h->names, ";", 1);
        h->n_ends += d->ends;
    }
    outcome_add(&h->o, c);
    if (c->finish_reason == RN_FINISH_NONE) return;
    h->n_calls = c->n_tool_calls;
    h->n_reasoning = c->usage->reasoning_tokens;
}

static inline bool listen(rn_engine *e, const rn_request *r, struct heard *h) {
    rn_stream *s;
    rn_chunk c = new_chunk();
    rn_error err = {0};
    *h = (struct heard){0};
    if (!CHECK_OK(rn_stream_begin(e, r, &s, &err), &err)) return false;
    while (h->o.finish == RN_FINISH_NONE && CHECK_OK(rn_stream_next(s, -1, &c, &err), &err)) hear(h, &c);
    CHECK_INT(rn_stream_next(s, -1, &c, &err), RN_E_END);
    rn_stream_close(s);
    return true;
}

#endif
