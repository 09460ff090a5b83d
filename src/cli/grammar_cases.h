// cli/grammar_cases.h - many grammars with texts, from lines of JSON.
#ifndef RN_CLI_GRAMMAR_CASES_H
#define RN_CLI_GRAMMAR_CASES_H

#include <runnel/runnel.h>

// Answers each line of stdin with one on stdout. A case that cannot be compiled has an error; a line that is no case, too. Returns an
// exit code: EXIT_CODE_FAILED if there was such a line. parse_special: control tokens spelled in texts are those tokens.
int grammar_cases(const rn_model *model, rn_json_space space, bool parse_special);

#endif
