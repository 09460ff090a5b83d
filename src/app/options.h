// app/options.h - command-line options as tables: a row is parsed, checked, and explained by --help.
//
// Accepted: `--name value`, `--name=value`, `-x value`, `-xvalue`; `--` ends the options; a lone `-` is a positional argument.
// A value may begin with a dash (`-n -1`). Of a repeated option the last one counts, unless the row's kind is OPTION_EACH.
// Errors are printed as `runnel: --name: WHY`.
//
// Ownership: tables, targets and argv are the caller's and must outlive the parse; options_free() takes what it
// allocated.
// Threads:   one at a time.
#ifndef RN_APP_OPTIONS_H
#define RN_APP_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum option_kind {
    OPTION_FLAG,   // bool
    OPTION_TEXT,   // const char *
    OPTION_INT,    // int32_t in min..max
    OPTION_REAL,   // double in min..max
    OPTION_WHOLE,  // double in min..max without a fraction
    OPTION_CHOICE, // int32_t: index of the word among those of `arg`
    OPTION_EACH    // what `each` makes of it; may be given several times
} option_kind;

// Takes one value into the group's target; on failure a reason of at most NUMBER_WHY bytes (app/numbers.h) in why.
typedef bool (*option_each)(void *target, const char *value, char *why);

typedef struct option {
    char letter;      // 0: none
    const char *name; // without dashes
    const char *arg;  // how help calls the value: "N", "map|read|lock"; NULL for flags
    option_kind kind;
    size_t offset; // of the field, in the group's target
    double min, max;
    option_each each;
    const char *help; // wrapped to the page; defaults and ranges included
} option;

typedef struct option_group {
    const char *title; // NULL: continues the last group
    const option *rows;
    size_t n_rows;
    void *target;
} option_group;

typedef struct option_spec {
    const char *command; // "run"
    const char *usage;   // "[PROMPT] [options]"
    const char *about;   // a paragraph, wrapped to the page
    const char *notes;   // printed as it is below the options; NULL: none
    const option_group *groups;
    size_t n_groups;
    size_t max_positional;
} option_spec;

typedef struct options {
    const char **positional; // terminated by NULL
    size_t n_positional;
    const option **given; // the rows that were given
    size_t n_given;
} options;

// args: the arguments after the command's name. Returns whether the command continues; if not, *code is the exit code: 0 after
// --help or --version, 2 after an error that has been printed. Call options_free() in either case.
bool options_parse(const option_spec *spec, int n_args, char **args, options *parsed, int *code);
// If the option was given, prints `runnel: --name: has no effect WHY`.
bool options_refuse(const options *parsed, const char *name, const char *why);
void options_free(options *parsed);

void options_print_help(const option_spec *spec, FILE *to);
// The word closest to a mistyped one by edit distance, if it is close; else NULL.
const char *nearest_word(const char *typed, const char *const *words, size_t n_words);

#endif
