// tests/engine/chat_fixture.h - small models that know ChatML, conversations held with them, and replies that say what a test wants.
#ifndef RN_TESTS_ENGINE_CHAT_FIXTURE_H
#define RN_TESTS_ENGINE_CHAT_FIXTURE_H

#include "tests/engine/fixture.h"
#include "tests/support/chat_model.h"
#include <jansson.h>

// The file is written once for each name.
static inline bool chat_open(struct fixture *f, const struct chat_model *m, const rn_engine_options *o) {
    static int n_files;
    char path[512];
    rn_error err = {0};
    *f = (struct fixture){0};
    snprintf(path, sizeof path, "%s/chat-%d.gguf", temp_dir(), n_files++);
    return CHECK(chat_model_write(m, path)) && CHECK_OK(rn_model_open(path, NULL, &f->model, &err), &err) &&
           CHECK_OK(rn_engine_open(&f->model, 1, o, &f->engine, &err), &err);
}

static inline rn_engine_options chat_engine_options(void) {
    rn_engine_options o = engine_options();
    o.n_ctx = 1024;
    return o;
}

// A reply, token by token: makes them the only ones possible.
struct script {
    int32_t ids[256];
    size_t n, at;
};

static inline bool script_say(void *user, float *logits, int32_t n_vocab, const int32_t *tokens, size_t n_tokens) {
    struct script *s = user;
    (void)tokens, (void)n_tokens;
    for (int32_t i = 0; i < n_vocab; i++) logits[i] = -1000.0f;
    logits[s->at < s->n ? s->ids[s->at] : CHAT_END] = 1000.0f;
    s->at++;
    return true;
}

// Adds a text's bytes as a token each, which is not how they would be cut.
static inline void script_bytes(struct script *s, const char *text) {
    for (; *text; text++) s->ids[s->n++] = (uint8_t)*text;
}
static inline void script_id(struct script *s, int32_t id) { s->ids[s->n++] = id; }

// A conversation, kept as jansson keeps it.
struct talk {
    json_t *messages;
    char *text; // of the last request
};
static inline void talk_say(struct talk *t, const char *role, const char *content) {
    if (!t->messages) t->messages = json_array();
    json_array_append_new(t->messages, json_pack("{s:s, s:s}", "role", role, "content", content));
}
static inline void talk_free(struct talk *t) {
    json_decref(t->messages);
    free(t->text);
    *t = (struct talk){0};
}

// chat: the caller's, filled here. The reply follows the script; NULL: the model's own.
static inline rn_request chat_request(struct talk *t, rn_chat *chat, struct script *script) {
    static _Thread_local rn_sampling sampling[8];
    static _Thread_local unsigned turn;
    rn_sampling *const s = &sampling[turn++ % 8];
    rn_request r;
    rn_request_init(&r);
    rn_sampling_init(s);
    rn_chat_init(chat);
    free(t->text);
    t->text = json_dumps(t->messages, JSON_COMPACT);
    chat->messages = t->text;
    chat->n_messages = strlen(t->text);
    r.chat = chat;
    r.sampling = s;
    s->temp = 0.0f;
    r.max_tokens = 60;
    r.has_seed = true;
    r.seed = 7;
    if (script) {
        script->at = 0;
        s->stage = script_say;
        s->stage_user = script;
    }
    return r;
}

#endif
