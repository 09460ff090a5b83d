// app/options.c - parses options; options_help.c writes the help page.
#include "app/options.h"
#include "app/numbers.h"
#include "app/say.h"
#include "app/settings.h"
#include <runnel/api.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAMES 128

enum outcome { OPTIONS_PARSED, OPTIONS_SHOWN, OPTIONS_WRONG };

typedef struct found {
    const option *row;
    void *target;
} found;

// Names of other programs (llama-cli, Ollama, OpenAI, transformers) for options of the same meaning; only the manual page has them.
static const struct {
    const char *other, *name;
} aliases[] = {
    {"temperature", "temp"},
    {"n-predict", "max-tokens"},
    {"predict", "max-tokens"},
    {"num-predict", "max-tokens"},
    {"max-new-tokens", "max-tokens"},
    {"ctx-size", "ctx"},
    {"num-ctx", "ctx"},
    {"n-ctx", "ctx"},
    {"system-prompt", "system"},
    {"repetition-penalty", "repeat-penalty"},
    {"repeat-last-n", "penalty-last-n"},
    {"typical", "typical-p"},
    {"mirostat-ent", "mirostat-tau"},
    {"mirostat-lr", "mirostat-eta"},
    {"model-draft", "draft"},
    {"draft-n", "draft-max"},
    {"draft-p-min", "draft-min-p"},
};

static found find_row(const option_spec *spec, const char *name, size_t n_name, char letter) {
    for (size_t g = 0; g < spec->n_groups; g++) {
        const option_group *group = &spec->groups[g];
        for (size_t i = 0; i < group->n_rows; i++) {
            const option *row = &group->rows[i];
            if (name ? strlen(row->name) == n_name && memcmp(row->name, name, n_name) == 0 : row->letter == letter)
                return (found){row, group->target};
        }
    }
    return (found){0};
}

static found find_option(const option_spec *spec, const char *name, size_t n_name, char letter) {
    found f = find_row(spec, name, n_name, letter);
    for (size_t i = 0; !f.row && name && i < sizeof aliases / sizeof *aliases; i++)
        if (strlen(aliases[i].other) == n_name && memcmp(aliases[i].other, name, n_name) == 0)
            f = find_row(spec, aliases[i].name, strlen(aliases[i].name), 0);
    return f;
}

// Returns the edit distance of a and b (insertions, deletions, substitutions, swaps of neighbours); 99 if a
// word is longer than MAX.
// Optimal string alignment: Damerau (1964), computed by rows as Wagner and Fischer (1974) do.
static size_t edit_distance(const char *a, const char *b) {
    enum { MAX = 40 };
    const size_t n_a = strlen(a), n_b = strlen(b);
    size_t rows[3][MAX + 1], *before = rows[0], *last = rows[1], *now = rows[2];
    if (n_a > MAX || n_b > MAX) return 99;
    for (size_t j = 0; j <= n_b; j++) last[j] = before[j] = j;
    for (size_t i = 1; i <= n_a; i++) {
        now[0] = i;
        for (size_t j = 1; j <= n_b; j++) {
            size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);
            if (last[j] + 1 < best) best = last[j] + 1;
            if (now[j - 1] + 1 < best) best = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
        size_t *const oldest = before;
        before = last, last = now, now = oldest;
    }
    return last[n_b];
}

const char *nearest_word(const char *typed, const char *const *words, size_t n_words) {
    const char *best = NULL;
    size_t best_distance = strlen(typed) < 6 ? 2 : 3; // allows one edit in a short word, two in a longer one
    for (size_t i = 0; i < n_words; i++) {
        const size_t d = edit_distance(typed, words[i]);
        if (d < best_distance) best = words[i], best_distance = d;
    }
    return best;
}

static enum outcome say_unknown(const option_spec *spec, const char *arg) {
    const char *names[MAX_NAMES] = {"help", "version"}, *near = NULL;
    size_t n_names = 2;
    for (size_t g = 0; g < spec->n_groups; g++)
        for (size_t i = 0; i < spec->groups[g].n_rows && n_names < MAX_NAMES; i++)
            names[n_names++] = spec->groups[g].rows[i].name;
    const int n_shown = (int)strcspn(arg, "=");
    if (arg[1] == '-') {
        char *typed = app_text("%.*s", n_shown - 2, arg + 2);
        near = nearest_word(typed, names, n_names);
        free(typed);
    }
    say("%.*s: unknown option%s%s%s (runnel %s --help lists them)", n_shown, arg, near ? ": did you mean --" : "",
        near ? near : "", near ? "?" : "", spec->command);
    return OPTIONS_WRONG;
}

static bool read_choice(const char *words, const char *value, int32_t *index, char *why) {
    const size_t n_value = strlen(value);
    int32_t i = 0;
    for (const char *w = words;; w++, i++) {
        const size_t n = strcspn(w, "|");
        if (n == n_value && memcmp(w, value, n) == 0) {
            *index = i;
            return true;
        }
        w += n;
        if (!*w) break;
    }
    snprintf(why, NUMBER_WHY, "'%.100s' is not one of %s", value, words);
    return false;
}

static bool take_value(const option *row, void *target, const char *value, char *why) {
    void *const field = (char *)target + row->offset;
    double real = 0;
    int64_t whole = 0;
    switch (row->kind) {
    case OPTION_FLAG: *(bool *)field = true; return true;
    case OPTION_TEXT: *(const char **)field = value; return true;
    case OPTION_CHOICE: return read_choice(row->arg, value, field, why);
    case OPTION_EACH: return row->each(target, value, why);
    case OPTION_REAL: return number_read_real(value, row->min, row->max, field, why);
    case OPTION_INT:
        if (!number_read_whole(value, (int64_t)row->min, (int64_t)row->max, &whole, why)) return false;
        *(int32_t *)field = (int32_t)whole;
        return true;
    case OPTION_WHOLE:
        if (!number_read_whole(value, (int64_t)row->min, (int64_t)row->max, &whole, why)) return false;
        real = (double)whole;
        *(double *)field = real;
        return true;
    }
    return false;
}

// Parses the option at args[*i]. Advances *i if the value is the next argument.
static enum outcome parse_option(const option_spec *spec, int n_args, char **args, int *i, options *parsed) {
    const char *const arg = args[*i], *value = NULL;
    const bool is_long = arg[1] == '-';
    const size_t n_name = is_long ? strcspn(arg + 2, "=") : 1;
    char why[NUMBER_WHY] = "";
    if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
        options_print_help(spec, stdout);
        return OPTIONS_SHOWN;
    }
    if (strcmp(arg, "--version") == 0) {
        printf("runnel %s\n", rn_version());
        return OPTIONS_SHOWN;
    }
    const found f = find_option(spec, is_long ? arg + 2 : NULL, n_name, arg[1]);
    if (!f.row) return say_unknown(spec, arg);
    const char *const after = arg + (is_long ? 2 : 1) + n_name;
    const int n_shown = (int)(after - arg);
    if (f.row->kind == OPTION_FLAG) {
        if (*after) {
            say("%.*s: takes no value", n_shown, arg);
            return OPTIONS_WRONG;
        }
    } else if (*after) {
        value = after + is_long; // after the '='
    } else if (*i + 1 < n_args) {
        value = args[++*i];
    } else {
        say("%.*s: needs a value: %s", n_shown, arg, f.row->arg);
        return OPTIONS_WRONG;
    }
    if (!take_value(f.row, f.target, value, why)) {
        say("%.*s: %s", n_shown, arg, why);
        return OPTIONS_WRONG;
    }
    parsed->given[parsed->n_given++] = f.row;
    return OPTIONS_PARSED;
}

static enum outcome parse_all(const option_spec *spec, int n_args, char **args, options *parsed) {
    bool only_positional = false;
    *parsed = (options){.positional = app_alloc(sizeof(char *) * ((size_t)n_args + 1)),
                        .given = app_alloc(sizeof(option *) * ((size_t)n_args + 1))};
    for (int i = 0; i < n_args; i++) {
        if (!only_positional && strcmp(args[i], "--") == 0) {
            only_positional = true;
        } else if (only_positional || args[i][0] != '-' || !args[i][1]) {
            if (parsed->n_positional == spec->max_positional) {
                say("%s: unexpected argument (runnel %s --help shows the usage)", args[i], spec->command);
                return OPTIONS_WRONG;
            }
            parsed->positional[parsed->n_positional++] = args[i];
        } else {
            const enum outcome outcome = parse_option(spec, n_args, args, &i, parsed);
            if (outcome != OPTIONS_PARSED) return outcome;
        }
    }
    return OPTIONS_PARSED;
}

static bool is_given(const options *parsed, const char *name) {
    for (size_t i = 0; i < parsed->n_given; i++)
        if (strcmp(parsed->given[i]->name, name) == 0) return true;
    return false;
}

// The model that a command is given, as far as its options say.
static const char *model_of(const option_spec *spec, const options *parsed) {
    const found f = find_row(spec, "model", strlen("model"), 0);
    const char *const usual = getenv("RUNNEL_MODEL");
    const char *const name =
        f.row && f.row->kind == OPTION_TEXT ? *(const char **)((char *)f.target + f.row->offset) : NULL;
    if (name) return name;
    if (strcmp(spec->command, "chat") == 0 && parsed->n_positional) return parsed->positional[0];
    return usual && *usual ? usual : settings_get()->model;
}

// Gives the options that the command line does not give what the settings say. A preset of the command line is not changed by them.
static enum outcome apply_settings(const option_spec *spec, const options *parsed) {
    const char *const model = model_of(spec, parsed);
    for (size_t g = 0; g < spec->n_groups; g++)
        for (size_t i = 0; i < spec->groups[g].n_rows; i++) {
            const option *const row = &spec->groups[g].rows[i];
            const setting *const s = settings_has_option(row->name) ? settings_find(row->name, model) : NULL;
            const bool is_sampling = row->kind == OPTION_REAL || row->kind == OPTION_WHOLE;
            char why[NUMBER_WHY] = "";
            if (!s || is_given(parsed, row->name) || (is_sampling && is_given(parsed, "preset"))) continue;
            if (take_value(row, spec->groups[g].target, s->value, why)) continue;
            say("%s:%d: %s: %s", settings_get()->path, s->line, s->name, why);
            return OPTIONS_WRONG;
        }
    return OPTIONS_PARSED;
}

bool options_parse(const option_spec *spec, int n_args, char **args, options *parsed, int *code) {
    enum outcome outcome = parse_all(spec, n_args, args, parsed);
    if (outcome == OPTIONS_PARSED && settings_has_command(spec->command))
        outcome = settings_load() ? apply_settings(spec, parsed) : OPTIONS_WRONG;
    *code = outcome == OPTIONS_WRONG ? EXIT_CODE_USAGE : EXIT_CODE_OK;
    return outcome == OPTIONS_PARSED;
}

bool options_refuse(const options *parsed, const char *name, const char *why) {
    if (!is_given(parsed, name)) return false;
    say("--%s: has no effect %s", name, why);
    return true;
}

void options_free(options *parsed) {
    free(parsed->positional);
    free(parsed->given);
    *parsed = (options){0};
}
