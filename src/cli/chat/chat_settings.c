// cli/chat/chat_settings.c - /set and /preset: the settings of replies.
//
// Sampling fields and their ranges come from the library (rn_sampling_field()); the other settings are a table here.
#include "app/json_read.h"
#include "app/numbers.h"
#include "app/option_name.h"
#include "app/say.h"
#include "cli/chat/chat_state.h"
#include "cli/chat/markdown.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct setting {
    const char *name, *values, *help;
    bool (*set)(chat *c, const char *value, char *why);
    void (*show)(const chat *c, bytes *to);
} setting;

static bool one_of(const char *value, const char *const *words, int32_t *index, char *why) {
    for (int32_t i = 0; words[i]; i++)
        if (strcmp(value, words[i]) == 0) return *index = i, true;
    snprintf(why, NUMBER_WHY, "'%.100s' is not one of its values", value);
    return false;
}

static bool set_max_tokens(chat *c, const char *value, char *why) {
    int64_t n;
    if (!number_read_whole(value, -1, INT32_MAX, &n, why)) return false;
    c->g.n = (int32_t)n;
    return true;
}
static void show_max_tokens(const chat *c, bytes *to) { bytes_add_format(to, "%d", c->g.n); }

static bool set_seed(chat *c, const char *value, char *why) {
    c->g.has_seed = strcmp(value, "random") != 0;
    return !c->g.has_seed || number_read_u64(value, &c->g.seed, why);
}
static void show_seed(const chat *c, bytes *to) {
    if (c->g.has_seed)
        bytes_add_format(to, "%llu", (unsigned long long)c->g.seed);
    else
        bytes_add_text(to, "random");
}

static const char *const on_off[] = {"on", "off", NULL}, *const thinking_words[] = {"default", "off", "on", NULL},
                         *const truncate_words[] = {"none", "old", "middle", NULL};

static bool set_samplers(chat *c, const char *value, char *why) {
    c->g.samplers[0] = 0;
    return strcmp(value, "default") == 0 || generation_add_samplers(&c->g, value, why);
}
static void show_samplers(const chat *c, bytes *to) {
    bytes_add_text(to, c->g.samplers[0] ? c->g.samplers : "default");
}

static bool set_reasoning(chat *c, const char *value, char *why) {
    int32_t i;
    if (!one_of(value, on_off, &i, why)) return false;
    c->screen.shows_reasoning = i == 0;
    return true;
}
static void show_reasoning(const chat *c, bytes *to) { bytes_add_text(to, c->screen.shows_reasoning ? "on" : "off"); }

static bool set_thinking(chat *c, const char *value, char *why) {
    int32_t i;
    if (!one_of(value, thinking_words, &i, why)) return false;
    c->thinking = i - 1;
    return true;
}
static void show_thinking(const chat *c, bytes *to) { bytes_add_text(to, thinking_words[c->thinking + 1]); }

static bool set_truncate(chat *c, const char *value, char *why) {
    return one_of(value, truncate_words, &c->truncate, why);
}
static void show_truncate(const chat *c, bytes *to) { bytes_add_text(to, truncate_words[c->truncate]); }

static bool set_wrap(chat *c, const char *value, char *why) {
    int32_t i;
    if (!one_of(value, on_off, &i, why)) return false;
    c->screen.wraps = i == 0;
    return true;
}
static void show_wrap(const chat *c, bytes *to) { bytes_add_text(to, c->screen.wraps ? "on" : "off"); }

static bool set_markdown(chat *c, const char *value, char *why) {
    int32_t i;
    if (!one_of(value, on_off, &i, why)) return false;
    c->screen.renders = i == 0 && c->screen.wraps && c->screen.has_colour && markdown_is_there();
    return true;
}
static void show_markdown(const chat *c, bytes *to) { bytes_add_text(to, c->screen.renders ? "on" : "off"); }

static const setting settings[] = {
    {"max_tokens", "-1..", "maximum tokens of a reply; -1: the rest of the context", set_max_tokens, show_max_tokens},
    {"seed", "N|random", "of the random numbers", set_seed, show_seed},
    {"samplers", "LIST|default", "the order of the sampling stages, separated by ';'", set_samplers, show_samplers},
    {"reasoning", "on|off", "show the model's reasoning", set_reasoning, show_reasoning},
    {"thinking", "on|off|default", "pass enable_thinking to the template", set_thinking, show_thinking},
    {"truncate", "none|old|middle", "what to drop when the context is full", set_truncate, show_truncate},
    {"markdown", "on|off", "draw Markdown, at a terminal with colours", set_markdown, show_markdown},
    {"wrap", "on|off", "break lines between words", set_wrap, show_wrap},
};
enum {
    N_SETTINGS = sizeof settings / sizeof *settings,
    N_NAMES = N_SETTINGS + GENERATION_FIELDS + STRATEGY_OPTIONS + 1
};

// ---- the strategy and its options ----

// Its number as strategy_form_show() counts, spelled num_beams or num-beams; -1: it is none.
static int find_strategy_option(const char *name) {
    rn_strategy_option o;
    if (strcmp(name, "strategy") == 0) return 0;
    for (size_t i = 0; i < STRATEGY_OPTIONS && rn_strategy_option_at(i, &o); i++)
        if (option_name_is(o.name, name)) return (int)i + 1;
    return -1;
}

static void add_strategy_option(const chat *c, int i, bytes *to) {
    bytes value = {0}, about = {0};
    const char *name;
    if (strategy_form_show(&c->g.strategy, (size_t)i, &name, &value, &about))
        bytes_add_format(to, "%-28s%-10s%s\n", name, value.data, about.data);
    bytes_free(&value);
    bytes_free(&about);
}

static bool set_strategy_option(chat *c, int i, const char *value, char *why) {
    bytes old = {0}, about = {0};
    const char *name;
    bool is_known;
    char *const own = app_copy_text(value);
    (void)strategy_form_show(&c->g.strategy, (size_t)i, &name, &old, &about);
    const bool ok = strategy_form_set(&c->g.strategy, name, own, &is_known, why);
    if (ok) {
        free(c->strategy_texts[i]);
        c->strategy_texts[i] = own;
    } else
        free(own);
    bytes_free(&old);
    bytes_free(&about);
    return ok;
}

const char *const *chat_setting_names(void) {
    static const char *names[N_NAMES + 1];
    size_t n = 0;
    rn_field field;
    for (size_t i = 0; i < GENERATION_FIELDS && rn_sampling_field(i, &field); i++) names[n++] = field.name;
    for (size_t i = 0; i < N_SETTINGS; i++) names[n++] = settings[i].name;
    rn_strategy_option known;
    names[n++] = "strategy";
    for (size_t i = 0; i < STRATEGY_OPTIONS && rn_strategy_option_at(i, &known); i++) names[n++] = known.name;
    return names;
}

// Returns the index of a sampling field, spelled top_p or top-p; -1: there is none.
static int find_field(const char *name, rn_field *field) {
    for (int i = 0; i < GENERATION_FIELDS && rn_sampling_field((size_t)i, field); i++)
        if (option_name_is(field->name, name)) return i;
    return -1;
}

static const setting *find_setting(const char *name) {
    for (size_t i = 0; i < N_SETTINGS; i++)
        if (strcmp(settings[i].name, name) == 0) return &settings[i];
    return NULL;
}

// Returns the value in effect: the field's own, else the preset's, else the default.
static double value_of(const chat *c, size_t i) {
    rn_request req;
    generation_parts parts;
    rn_error err = {0};
    rn_request_init(&req);
    generation_apply(&c->g, &req, &parts, &err);
    rn_field field;
    if (!rn_sampling_field(i, &field)) return NAN;
    return rn_sampling_get(&parts.sampling, field.name);
}

static void add_field(const chat *c, size_t i, bytes *to) {
    rn_field f;
    rn_sampling_field(i, &f);
    bytes_add_format(to, "%-28s%-10.6g%.10g..%.10g  %s\n", f.name, value_of(c, i), f.min, f.max, f.help);
}

static void add_setting(const chat *c, const setting *s, bytes *to) {
    bytes value = {0};
    s->show(c, &value);
    bytes_add_format(to, "%-28s%-10s%s  %s\n", s->name, value.data, s->values, s->help);
    bytes_free(&value);
}

static void show_all(const chat *c) {
    bytes page = {0};
    rn_field field;
    for (size_t i = 0; i < GENERATION_FIELDS && rn_sampling_field(i, &field); i++) add_field(c, i, &page);
    for (int i = 0; i <= STRATEGY_OPTIONS; i++) add_strategy_option(c, i, &page);
    for (size_t i = 0; i < N_SETTINGS; i++) add_setting(c, &settings[i], &page);
    page.data[page.n - 1] = '\0';
    chat_note(c, "%s", page.data);
    bytes_free(&page);
}

static bool set_one(chat *c, const char *name, const char *value, char *why) {
    rn_field field;
    const int i = find_field(name, &field);
    if (i >= 0) {
        double v;
        if (!number_read_real(value, field.min, field.max, &v, why) ||
            !number_check(v, field.min, field.max, field.is_int, why))
            return false;
        c->g.fields[i] = v;
        return true;
    }
    const setting *const s = find_setting(name);
    if (s) return s->set(c, value, why);
    const int at = find_strategy_option(name);
    if (at >= 0) return set_strategy_option(c, at, value, why);
    const char *const *const names = chat_setting_names();
    size_t n = 0;
    while (names[n]) n++;
    const char *const near = nearest_word(name, names, n);
    snprintf(why, NUMBER_WHY, "unknown setting%s%s%s; /set lists them", near ? ": did you mean " : "",
             near ? near : "", near ? "?" : "");
    return false;
}

void chat_run_set(chat *c, const char *args) {
    char why[NUMBER_WHY] = "";
    char *const name = app_copy_text(args);
    char *value = name + strcspn(name, " =");
    if (*value) *value++ = '\0';
    value += strspn(value, " =");
    if (!*name) {
        show_all(c);
    } else if (*value && !set_one(c, name, value, why)) {
        chat_note(c, "%s: %s", name, why);
        if (!c->editor) c->code = EXIT_CODE_FAILED;
    } else {
        rn_field field;
        bytes line = {0};
        const int i = find_field(name, &field);
        const setting *const s = find_setting(name);
        const int at = find_strategy_option(name);
        if (i >= 0)
            add_field(c, (size_t)i, &line);
        else if (s)
            add_setting(c, s, &line);
        else if (at >= 0)
            add_strategy_option(c, at, &line);
        else
            bytes_add_format(&line, "%s: unknown setting; /set lists them\n", name);
        line.data[line.n - 1] = '\0';
        chat_note(c, "%s", line.data);
        bytes_free(&line);
    }
    free(name);
}

void chat_run_preset(chat *c, const char *args) {
    const char *help;
    char values[200];
    for (size_t i = 0; i < rn_n_presets(); i++) {
        const char *const name = rn_preset_name(i, &help);
        generation_preset_values(name, values, sizeof values);
        if (!*args)
            chat_note(c, "%-12s%s%s%s%s", name, help, strcmp(help, values) ? ": " : "",
                      strcmp(help, values) ? values : "",
                      c->g.preset && strcmp(c->g.preset, name) == 0 ? " (taken)" : "");
        if (strcmp(args, name) != 0) continue;
        c->g.preset = name;
        for (size_t f = 0; f < GENERATION_FIELDS; f++) c->g.fields[f] = NAN; // a preset replaces all fields
        chat_note(c, "preset %s: %s", name, values);
        return;
    }
    if (!*args) return;
    chat_note(c, "%s: unknown preset; /preset lists them", args);
    if (!c->editor) c->code = EXIT_CODE_FAILED;
}

// ---- saved ---------------------------------------------------------------------------------------------------------

void chat_settings_write(const chat *c, json_writer *w) {
    rn_field field;
    if (c->g.preset) json_member_string(w, "preset", c->g.preset);
    for (size_t i = 0; i < GENERATION_FIELDS && rn_sampling_field(i, &field); i++) {
        if (isnan(c->g.fields[i])) continue;
        json_member_real(w, field.name, c->g.fields[i]);
    }
    for (size_t i = 0; i < N_SETTINGS; i++) {
        bytes value = {0};
        settings[i].show(c, &value);
        json_member_string(w, settings[i].name, value.data);
        bytes_free(&value);
    }
    for (size_t i = 0; i <= STRATEGY_OPTIONS; i++) {
        bytes value = {0}, about = {0};
        const char *name;
        if (strategy_form_show(&c->g.strategy, i, &name, &value, &about) &&
            strcmp(value.data, i > 0 ? "default" : rn_strategy_name(0, NULL)) != 0)
            json_member_string(w, name, value.data);
        bytes_free(&value);
        bytes_free(&about);
    }
}

static bool read_setting(void *target, size_t i, const char *key, const json_item *value, char *why) {
    chat *const c = target;
    json_span text;
    double v;
    rn_field field;
    (void)i;
    if (!json_item_is_text(value)) {
        const int f = find_field(key, &field);
        if (f < 0) return snprintf(why, JSON_WHY / 2, "unknown setting"), false;
        if (!json_item_real(value, field.min, field.max, &v, why)) return false;
        if (!number_check(v, field.min, field.max, field.is_int, why)) return false;
        c->g.fields[f] = v;
        return true;
    }
    if (!json_item_text(value, &text, why)) return false;
    if (strcmp(key, "preset") != 0) return set_one(c, key, text.data, why);
    for (size_t p = 0; p < rn_n_presets(); p++)
        if (strcmp(rn_preset_name(p, NULL), text.data) == 0) return c->g.preset = rn_preset_name(p, NULL), true;
    return snprintf(why, JSON_WHY / 2, "unknown preset"), false;
}

bool chat_settings_read(chat *c, const char *line, size_t n, char *why) {
    static const member rows[] = {{"settings", MEMBER_EACH, .shape = SHAPE_OBJECT, .each = read_setting}};
    json_doc *doc;
    const member_group group = {rows, 1, c};
    const bool ok = json_doc_parse(line, n, &doc, why) && json_doc_read(doc, &group, 1, why);
    json_doc_free(doc);
    return ok;
}
