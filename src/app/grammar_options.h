// app/grammar_options.h - the options that give an answer its form: JSON Schema, JSON, a regular expression, a grammar, structural tags, choices.
//
// Ownership: `struct grammar_options` is the caller's, {0} to begin with; grammar_options_free().
// Threads:   one at a time.
#ifndef RN_APP_GRAMMAR_OPTIONS_H
#define RN_APP_GRAMMAR_OPTIONS_H

#include "app/bytes.h"
#include "app/options.h"
#include <runnel/runnel.h>

typedef struct grammar_options {
    const char *schema_file, *regex, *grammar_file, *tags_file;
    const char **choices; // [n_choices] lent
    size_t n_choices;
    bool is_json;
    int32_t space;   // of rn_json_space
    bool says_notes; // what has no effect in a grammar is printed
    bool judges;     // it is to check documents: integers in every spelling
    bytes text;      // of the file
} grammar_options;

enum { GRAMMAR_OPTION_ROWS = 7 };
extern const option grammar_option_rows[GRAMMAR_OPTION_ROWS];
#define GRAMMAR_OPTIONS_GROUP(g) {"Form of the answer", grammar_option_rows, GRAMMAR_OPTION_ROWS, (g)}

// The grammar that the options describe, compiled; *grammar is NULL if none was given. Returns EXIT_CODE_OK, or an exit code after
// saying why.
int grammar_options_compile(grammar_options *g, const rn_model *model, rn_grammar **grammar);
// The option whose file is stdin, as it is typed; NULL: none.
const char *grammar_options_stdin(const grammar_options *g);
void grammar_options_free(grammar_options *g);

#endif
