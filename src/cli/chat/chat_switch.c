// cli/chat/chat_switch.c - /model: the conversation goes on with another model.
#include "app/models/model_cache.h"
#include "cli/chat/chat_model.h"
#include "cli/chat/chat_state.h"
#include <stdlib.h>
#include <string.h>

static void show(const chat *c) {
    cached_models all;
    bytes names = {0};
    cached_models_read(&all);
    for (size_t i = 0; i < all.n; i++) bytes_add_format(&names, "%s%s", i ? ", " : "; fetched: ", all.items[i].name);
    chat_note(c, "model %s%s", c->on.path, names.n ? names.data : "");
    cached_models_free(&all);
    bytes_free(&names);
}

// What a chat has of its model. A failure has been printed.
typedef struct chosen {
    char *path;
    rn_model *model;
    rn_template *tmpl;
    rn_grammar *grammar;
} chosen;

static bool choose(chat *c, const char *name, chosen *to) {
    rn_error err = {0};
    if (machine_open_file(&c->on, name, &to->path, &to->model) != EXIT_CODE_OK) return false;
    if (!c->options.tmpl && rn_template_of_model(to->model, &to->tmpl, &err) != RN_OK)
        return machine_failed(&err) == EXIT_CODE_OK;
    return grammar_options_compile(&c->form, to->model, &to->grammar) == EXIT_CODE_OK;
}

static void chosen_free(chosen *was) {
    rn_grammar_close(was->grammar);
    rn_template_close(was->tmpl);
    rn_model_close(was->model);
    free(was->path);
}

// Closes the model in use and opens the engine with this one, which the chat then owns.
static bool take(chat *c, chosen *to) {
    rn_error err = {0};
    rn_session_close(c->session);
    c->session = NULL;
    machine_close_models(&c->on);
    rn_template_close(c->tmpl);
    rn_grammar_close(c->grammar);
    c->on.path = to->path, c->on.model = to->model, c->tmpl = to->tmpl, c->grammar = to->grammar;
    if (machine_add_parts(&c->on, c->on.model) != EXIT_CODE_OK || machine_open_engine(&c->on) != EXIT_CODE_OK)
        return false;
    return rn_session_open(c->on.engine, 0, &c->session, &err) == RN_OK || machine_failed(&err) == EXIT_CODE_OK;
}

void chat_run_model(chat *c, const char *args) {
    chosen to = {0};
    if (!*args) {
        show(c);
        return;
    }
    if (!choose(c, args, &to)) {
        chosen_free(&to);
        if (!c->editor) c->code = EXIT_CODE_FAILED;
        return;
    }
    char *const old = app_copy_text(c->on.path);
    c->last.n = 0; // its tokens are those of another vocabulary
    if (take(c, &to)) {
        if (c->editor && !c->has_no_history) chat_model_remember(c->on.path);
        chat_greet(c);
    } else {
        // The engine had no room for it: back to the old one, which had.
        chosen back = {0};
        if (!c->editor) c->code = EXIT_CODE_FAILED;
        if (choose(c, old, &back) && take(c, &back)) {
            chat_note(c, "the chat goes on with %s", old);
        } else {
            c->is_over = true;
            c->code = EXIT_CODE_FAILED;
        }
    }
    free(old);
}

const char *const *chat_model_names(const chat *c, const char *typed, size_t n) {
    static cached_models all;
    static const char **names;
    (void)c, (void)typed, (void)n;
    cached_models_free(&all);
    cached_models_read(&all);
    names = app_realloc(names, (all.n + 1) * sizeof *names);
    for (size_t i = 0; i < all.n; i++) names[i] = all.items[i].name;
    names[all.n] = NULL;
    return names;
}
