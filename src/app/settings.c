// app/settings.c - see settings.h. tomlc17 reads TOML; what the keys mean is here.
#include "app/settings.h"
#include "app/bytes.h"
#include "app/files.h"
#include "app/json_write.h"
#include "app/models/model_names.h"
#include "app/say.h"
#include <stdlib.h>
#include <string.h>
#include <tomlc17.h>
#include <unistd.h>

static const char *const commands[] = {"run", "chat", "infill", "batch", "serve"};
static const char *const option_names[] = {"system",
                                           "ctx",
                                           "threads",
                                           "kv-type",
                                           "chat-template",
                                           "output-format",
                                           "preset",
                                           "temp",
                                           "top-k",
                                           "top-p",
                                           "min-p",
                                           "typical-p",
                                           "repeat-penalty",
                                           "presence-penalty",
                                           "frequency-penalty",
                                           "penalty-last-n",
                                           "dry-multiplier",
                                           "seed",
                                           "max-tokens",
                                           "reasoning",
                                           "truncate"};
enum { FILE_LIMIT = 1 << 20 };

static struct {
    settings s;
    setting *options, *aliases;
    bool is_loaded, is_fine;
} all; // of the program, read once

static bool has_word(const char *const *words, size_t n, const char *word) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(words[i], word) == 0) return true;
    return false;
}
bool settings_has_command(const char *command) {
    return has_word(commands, sizeof commands / sizeof *commands, command);
}
bool settings_has_option(const char *name) {
    return has_word(option_names, sizeof option_names / sizeof *option_names, name);
}

static char *settings_path(void) {
    const char *const own = getenv("RUNNEL_CONFIG"), *const config = getenv("XDG_CONFIG_HOME"),
                      *const home = getenv("HOME");
    if (own) return *own ? app_copy_text(own) : NULL;
    if (config && *config) return app_text("%s/runnel/config.toml", config);
    return home && *home ? app_text("%s/.config/runnel/config.toml", home) : NULL;
}

static bool wrong(const toml_datum_t *at, const char *name, const char *why) {
    say("%s:%d: %s: %s", all.s.path, at->lineno, name, why);
    return false;
}

// A value as it would be typed; NULL: none of that kind can be.
static char *value_text(const toml_datum_t *v) {
    bytes text = {0};
    switch (v->type) {
    case TOML_STRING: return strlen(v->u.str.ptr) == (size_t)v->u.str.len ? app_copy_text(v->u.str.ptr) : NULL;
    case TOML_INT64: return app_text("%lld", (long long)v->u.int64);
    case TOML_FP64: json_put_real(&(json_writer){&text, false}, v->u.fp64); return text.data;
    default: return NULL;
    }
}

static void add(setting **list, size_t *n, setting row) {
    *list = app_realloc(*list, (*n + 1) * sizeof **list);
    (*list)[(*n)++] = row;
}

static bool is_table(const toml_datum_t *v, const char *name) {
    return v->type == TOML_TABLE || wrong(v, name, "must be a table");
}

// Options by their long names, for one model or for all.
static bool take_options(const toml_datum_t *table, const char *of, const char *where) {
    if (!is_table(table, where)) return false;
    for (int32_t i = 0; i < table->u.tab.size; i++) {
        const char *const name = table->u.tab.key[i];
        const toml_datum_t *const v = &table->u.tab.value[i];
        if (!settings_has_option(name)) return wrong(v, name, "no option of this name can be set");
        char *const value = value_text(v);
        if (!value) return wrong(v, name, "must be a text or a number");
        add(&all.options, &all.s.n_options, (setting){app_copy_text(name), value, of, v->lineno});
    }
    return true;
}

static bool take_aliases(const toml_datum_t *table) {
    if (!is_table(table, "aliases")) return false;
    for (int32_t i = 0; i < table->u.tab.size; i++) {
        const char *const name = table->u.tab.key[i];
        const toml_datum_t *const v = &table->u.tab.value[i];
        char *const value = v->type == TOML_STRING ? value_text(v) : NULL;
        if (!value || !*value) return wrong(v, name, "must be the name or path of a model");
        add(&all.aliases, &all.s.n_aliases, (setting){app_copy_text(name), value, NULL, v->lineno});
    }
    return true;
}

static bool take_models(const toml_datum_t *table) {
    if (!is_table(table, "models")) return false;
    for (int32_t i = 0; i < table->u.tab.size; i++) {
        char *const of = app_copy_text(table->u.tab.key[i]);
        if (take_options(&table->u.tab.value[i], of, of)) continue;
        free(of);
        return false;
    }
    return true;
}

static bool take_all(const toml_datum_t *top) {
    for (int32_t i = 0; i < top->u.tab.size; i++) {
        const char *const name = top->u.tab.key[i];
        const toml_datum_t *const v = &top->u.tab.value[i];
        bool ok;
        if (strcmp(name, "model") == 0) {
            ok = v->type == TOML_STRING && v->u.str.len > 0 ? true
                                                            : wrong(v, name, "must be the name or path of a model");
            if (ok) all.s.model = value_text(v), all.s.model_line = v->lineno;
        } else if (strcmp(name, "options") == 0) {
            ok = take_options(v, NULL, name);
        } else if (strcmp(name, "models") == 0) {
            ok = take_models(v);
        } else if (strcmp(name, "aliases") == 0) {
            ok = take_aliases(v);
        } else {
            ok = wrong(v, name, "is none of model, aliases, options and models");
        }
        if (!ok) return false;
    }
    return true;
}

static bool read_settings(void) {
    bytes text = {0};
    all.s.path = settings_path();
    all.s.is_there = all.s.path && access(all.s.path, F_OK) == 0;
    if (!all.s.is_there) return true;
    if (!file_read(all.s.path, FILE_LIMIT, &text)) {
        bytes_free(&text);
        return false;
    }
    const toml_result_t result = toml_parse(text.data ? text.data : "", (int)text.n);
    bool ok = result.ok;
    if (ok)
        ok = take_all(&result.toptab);
    else
        say("%s: %s", all.s.path, result.errmsg);
    toml_free(result);
    bytes_free(&text);
    all.s.options = all.options;
    all.s.aliases = all.aliases;
    return ok;
}

bool settings_load(void) {
    if (!all.is_loaded) all.is_fine = read_settings();
    all.is_loaded = true;
    return all.is_fine;
}

const settings *settings_get(void) { return &all.s; }

const setting *settings_find(const char *name, const char *model) {
    const setting *found = NULL;
    const char *const meant = model ? model_name_meant(model) : NULL;
    for (size_t i = 0; i < all.s.n_options; i++) {
        const setting *const o = &all.s.options[i];
        if (strcmp(o->name, name) != 0) continue;
        if (o->of && meant && (strcmp(o->of, model) == 0 || strcmp(model_name_meant(o->of), meant) == 0)) return o;
        if (!o->of) found = o;
    }
    return found;
}
