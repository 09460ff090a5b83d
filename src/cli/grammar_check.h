// cli/grammar_check.h - one text against a grammar, for people: where it leaves the grammar, and what may follow there.
#ifndef RN_CLI_GRAMMAR_CHECK_H
#define RN_CLI_GRAMMAR_CHECK_H

#include "app/bytes.h"
#include <runnel/runnel.h>

// Zeroed to begin with; grammar_finding_free().
struct grammar_finding {
    size_t n_allowed; // bytes of the text that the grammar allows
    bool is_whole;    // may the text end there?
    bytes next;       // characters that may follow there, in quotes: `"a", "b", ..`; empty where all was allowed
    bool space_may_follow;
};

// Errors: of the vocabulary, the grammar's limits, RN_E_NOMEM.
// parse_special: control tokens spelled in the text are those tokens.
rn_status grammar_check(const rn_model *model, rn_grammar *grammar, const bytes *text, bool parse_special,
                        struct grammar_finding *f, rn_error *err);
void grammar_finding_free(struct grammar_finding *f);

#endif
