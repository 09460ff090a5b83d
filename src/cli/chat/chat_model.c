// cli/chat/chat_model.c - see chat_model.h.
#include "cli/chat/chat_model.h"
#include "app/files.h"
#include "app/models/catalogue.h"
#include "app/models/model_cache.h"
#include "app/say.h"
#include <runnel/runnel.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STATE_NAME "chat_model"
enum { PATH_LIMIT = 4096, MOST_OPENED = 100 };

char *chat_state_path(const char *name) {
    const char *const state = getenv("XDG_STATE_HOME"), *const home = getenv("HOME");
    if (!((state && *state) || (home && *home))) return NULL;
    char *const folder = state && *state ? app_text("%s/runnel", state) : app_text("%s/.local/state/runnel", home);
    for (char *p = folder + 1; *p; p++) {
        if (*p != '/') continue;
        *p = '\0';
        mkdir(folder, 0700); // an error shows when the file is opened
        *p = '/';
    }
    mkdir(folder, 0700);
    char *const path = app_text("%s/%s", folder, name);
    free(folder);
    return path;
}

void chat_model_remember(const char *path) {
    char *const state = chat_state_path(STATE_NAME), *const whole = realpath(path, NULL);
    FILE *const f = state && whole ? fopen(state, "we") : NULL;
    if (f) {
        fprintf(f, "%s\n", whole);
        fclose(f);
    }
    free(whole);
    free(state);
}

static char *last_one(void) {
    char *const state = chat_state_path(STATE_NAME), *path = NULL;
    bytes text = {0};
    if (state && access(state, R_OK) == 0 && file_read(state, PATH_LIMIT, &text) && text.n) {
        text.data[strcspn(text.data, "\n")] = '\0';
        if (access(text.data, R_OK) == 0) path = app_copy_text(text.data);
    }
    bytes_free(&text);
    free(state);
    return path;
}

// Has the file or folder a chat template and weights? One that cannot be opened has not.
static bool is_chat_model(const char *path) {
    rn_model_options opt;
    rn_model *model = NULL;
    rn_model_info info = {.struct_size = sizeof info};
    rn_error err = {0};
    rn_model_options_init(&opt);
    const bool is_one = rn_model_open(path, &opt, &model, &err) == RN_OK &&
                        rn_model_get_info(model, &info, &err) == RN_OK && info.chat_template && info.has_weights;
    rn_model_close(model);
    return is_one;
}

char *chat_model_find(void) {
    char *path = last_one();
    cached_models all;
    bytes names = {0};
    size_t n_found = 0, found = 0;
    if (path) return path;
    cached_models_read(&all);
    for (size_t i = 0; i < all.n && i < MOST_OPENED; i++) {
        if (!is_chat_model(all.items[i].path)) continue;
        found = i, n_found++;
        bytes_add_format(&names, "%s%s", n_found > 1 ? ", " : "", all.items[i].name);
    }
    if (n_found == 1)
        path = app_copy_text(all.items[found].path);
    else if (n_found > 1)
        say("model: none given, and several chat models are fetched: runnel chat NAME, with one of %s", names.data);
    else
        say("model: none given, and no chat model is fetched: `runnel pull %s` fetches a small one (%u MB), `runnel pull` shows others",
            catalogue[0].name, catalogue[0].megabytes);
    bytes_free(&names);
    cached_models_free(&all);
    return path;
}
