// cli/compare/compare_settings.c - see compare_settings.h.
#include "cli/compare/compare_settings.h"
#include "app/json_write.h"
#include "app/named_settings.h"
#include "app/options.h"
#include "app/say.h"
#include "app/term.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_NAMES = 64 };

static size_t known_names(const char *names[MOST_NAMES]) {
    size_t n = 0;
    for (const named_settings *s = named_settings_rows; s->name; s++) names[n++] = s->name;
    for (size_t i = 0; i < rn_n_presets() && n < MOST_NAMES; i++)
        if (!named_settings_find(rn_preset_name(i, NULL))) names[n++] = rn_preset_name(i, NULL);
    return n;
}

// For people; freed by the caller.
static char *list_names(void) {
    const char *names[MOST_NAMES];
    const size_t n = known_names(names);
    bytes text = {0};
    for (size_t i = 0; i < n; i++) bytes_add_format(&text, "%s%s", i ? ", " : "", names[i]);
    return text.data;
}

static bool is_preset(const char *name) {
    for (size_t i = 0; i < rn_n_presets(); i++)
        if (strcmp(rn_preset_name(i, NULL), name) == 0) return true;
    return false;
}

// A preset's JSON; "" if there is none of this name.
static char *preset_json(const char *name) {
    bytes json = {0};
    json_writer w = {&json, false};
    json_put_begin(&w, '{');
    json_member_string(&w, "preset", name);
    json_put_end(&w, '}');
    return json.data;
}

static bool refuse_name(const char *name) {
    const char *names[MOST_NAMES];
    const char *const near = nearest_word(name, names, known_names(names));
    char *const all = list_names();
    say("--settings: '%.60s' is not one of %s, nor a JSON object%s%s%s", name, all, near ? ": did you mean " : "",
        near ? near : "", near ? "?" : "");
    free(all);
    return false;
}

// ---- names ----------------------------------------------------------------------------------------------------------

// "beam, num_beams 8, n 40": what settings say, and the name of those that have none.
struct summary {
    bytes text;
    size_t most; // bytes
    bool is_cut;
};

static bool add_member(void *user, const char *name, const json_item *value, char *why) {
    struct summary *const s = user;
    const bool is_strategy = strcmp(name, "strategy") == 0 || strcmp(name, "preset") == 0;
    bytes item = {0};
    json_span text;
    if (strcmp(name, "name") == 0) return true;
    if (!is_strategy) bytes_add_format(&item, "%s ", name);
    if (json_item_is_text(value) && json_item_text(value, &text, why))
        bytes_add(&item, text.data, text.n);
    else
        json_item_add(value, &item);
    if (s->text.n + item.n > s->most)
        s->is_cut = true;
    else
        bytes_add_format(&s->text, "%s%s", s->text.n ? ", " : "", item.data);
    bytes_free(&item);
    return true;
}

// As many of the members as there is room for.
static struct summary summarize(const json_doc *settings, size_t most) {
    struct summary s = {.most = most};
    char param[JSON_WHY], why[JSON_WHY];
    (void)json_doc_read_open(settings, NULL, 0, add_member, &s, param, why); // parsed before
    if (s.text.n == 0) bytes_add_text(&s.text, s.is_cut ? "JSON" : "the defaults");
    return s;
}

// In one line, without control characters; freed by the caller.
static char *plain_line(const char *text) {
    bytes line = {0};
    term_add_line(&line, text, strlen(text));
    bytes_add(&line, "", 0);
    return line.data;
}

static void give_name(compare_lane *l, const char *given, const char *words, bool is_json) {
    enum { COLUMN = 40, SEVERAL_LINES = 400 };
    struct summary own = {0}, whole = {0};
    if (!given) own = summarize(l->doc, COLUMN);
    l->name = app_copy_text(given ? given : own.text.data);
    // Settings without a name say what they are by it, unless it has no room for all of them.
    if (is_json && (given || own.is_cut)) whole = summarize(l->doc, SEVERAL_LINES);
    l->words = whole.is_cut       ? app_copy_text(l->settings)
               : whole.text.n > 0 ? plain_line(whole.text.data)
                                  : app_copy_text(words);
    l->label = plain_line(l->name);
    bytes_free(&own.text);
    bytes_free(&whole.text);
}

bool compare_settings_read(compare_lane *l, const char *text, const generation *defaults,
                           const generation_members *members) {
    const named_settings *const named = named_settings_find(text);
    const bool is_json = text[strspn(text, " \t\r\n")] == '{';
    char why[JSON_WHY], values[200] = "";
    const char *own_name = NULL;
    const member name_row = {"name", MEMBER_NAME};
    const member_group more = {&name_row, 1, &own_name};
    if (!named && !is_json && !is_preset(text)) return refuse_name(text);
    l->settings = named ? app_copy_text(named->members) : is_json ? app_copy_text(text) : preset_json(text);
    l->g = app_alloc(sizeof *l->g);
    generation_copy(l->g, defaults);
    if (!json_doc_parse(l->settings, strlen(l->settings), &l->doc, why) ||
        !generation_read(members, l->doc, &more, l->g, why)) {
        say("--settings: %.80s: %s", text, why);
        return false;
    }
    const char *reason, *const idle = generation_without_effect(l->g, defaults, &reason);
    if (idle) {
        say("--settings: %.80s: %s: has no effect %s", text, idle, reason);
        return false;
    }
    if (!named && !is_json) generation_preset_values(text, values, sizeof values);
    give_name(l, !is_json ? text : own_name && *own_name ? own_name : NULL, named ? named->words : values, is_json);
    return true;
}

bool compare_settings_compile(compare_lane *l) {
    form_source from;
    rn_error err = {0};
    if (!l->g->form.member) return true;
    (void)form_source_make(&l->g->form, &from); // without memory the command has ended
    const rn_status st = rn_grammar_compile(l->on, &from.source, &l->grammar, &err);
    form_source_free(&from);
    if (st != RN_OK) say("--settings: %.80s: %s: %s", l->settings, l->g->form.member, err.text);
    return st == RN_OK;
}
