// app/grammar_options.c - see grammar_options.h.
#include "app/grammar_options.h"
#include "app/files.h"
#include "app/memory.h"
#include "app/numbers.h"
#include "app/say.h"
#include <stdlib.h>
#include <string.h>

static bool add_choice(void *target, const char *value, char *why) {
    grammar_options *const g = target;
    (void)why;
    g->choices = app_realloc(g->choices, (g->n_choices + 1) * sizeof *g->choices);
    g->choices[g->n_choices++] = value;
    return true;
}

const option grammar_option_rows[GRAMMAR_OPTION_ROWS] = {
    {0, "json-schema", "FILE", OPTION_TEXT, offsetof(grammar_options, schema_file),
     .help = "JSON that this JSON Schema allows; - is stdin"},
    {0, "json-mode", NULL, OPTION_FLAG, offsetof(grammar_options, is_json), .help = "any JSON object"},
    {0, "regex", "R", OPTION_TEXT, offsetof(grammar_options, regex),
     .help = "a text that the regular expression R matches as a whole"},
    {0, "grammar", "FILE", OPTION_TEXT, offsetof(grammar_options, grammar_file),
     .help = "a text of this context-free grammar, GBNF or Lark; - is stdin"},
    {0, "structural-tag", "FILE", OPTION_TEXT, offsetof(grammar_options, tags_file),
     .help = "free text in which tags hold forms, as XGrammar's structural tags in FILE say; - is stdin"},
    {0, "choice", "TEXT", OPTION_EACH, 0, .each = add_choice, .help = "TEXT, or one of several: may be given again"},
    {0, "json-space", "dumps|compact|free", OPTION_CHOICE, offsetof(grammar_options, space),
     .help =
         "white space within JSON: as Python's json.dumps() writes it (default), none, or up to 20 blanks wherever JSON allows them"},
};

// What was given, as the sentence about two of them names it. 0..2 names.
static int given(const grammar_options *g, const char *names[static 6]) {
    int n = 0;
    if (g->schema_file) names[n++] = "--json-schema";
    if (g->is_json) names[n++] = "--json-mode";
    if (g->regex) names[n++] = "--regex";
    if (g->grammar_file) names[n++] = "--grammar";
    if (g->tags_file) names[n++] = "--structural-tag";
    if (g->n_choices) names[n++] = "--choice";
    return n;
}

const char *grammar_options_stdin(const grammar_options *g) {
    const char *const files[] = {g->schema_file, g->grammar_file, g->tags_file};
    const char *const names[] = {"--json-schema", "--grammar", "--structural-tag"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (files[i] && strcmp(files[i], "-") == 0) return names[i];
    return NULL;
}

static void say_note(void *user, const char *line) {
    const grammar_options *const g = user;
    say("--grammar %s: note: %s", g->grammar_file, line);
}

int grammar_options_compile(grammar_options *g, const rn_model *model, rn_grammar **grammar) {
    const char *names[6];
    const char *const file = g->schema_file ? g->schema_file : g->grammar_file ? g->grammar_file : g->tags_file;
    rn_grammar_source source;
    rn_error err = {0};
    *grammar = NULL;
    const int n = given(g, names);
    if (n > 1) {
        say("%s: cannot be given with %s", names[1], names[0]);
        return EXIT_CODE_USAGE;
    }
    if (n == 0) return EXIT_CODE_OK;
    rn_grammar_source_init(&source);
    source.kind = g->schema_file    ? RN_GRAMMAR_JSON_SCHEMA
                  : g->is_json      ? RN_GRAMMAR_JSON_OBJECT
                  : g->regex        ? RN_GRAMMAR_REGEX
                  : g->grammar_file ? RN_GRAMMAR_CFG
                  : g->tags_file    ? RN_GRAMMAR_STRUCTURAL_TAG
                                    : RN_GRAMMAR_CHOICE;
    if (file && !file_read(file, TEXT_LIMIT, &g->text)) return EXIT_CODE_FAILED;
    source.text = g->regex ? g->regex : g->text.data;
    source.n_text = g->regex ? strlen(g->regex) : g->text.n;
    source.choices = g->choices;
    source.n_choices = g->n_choices;
    source.json_space = (rn_json_space)g->space;
    source.any_integers = g->judges;
    if (g->says_notes && g->grammar_file) source.note = say_note, source.note_user = g;
    if (rn_grammar_compile(model, &source, grammar, &err) == RN_OK) return EXIT_CODE_OK;
    if (file)
        say("%s %s: %s", names[0], file, err.text);
    else
        say("%s: %s", names[0], err.text);
    return EXIT_CODE_FAILED;
}

void grammar_options_free(grammar_options *g) {
    free(g->choices);
    bytes_free(&g->text);
    *g = (grammar_options){0};
}
