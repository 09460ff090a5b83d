// grammar/automata.c - see automata.h.
#include "grammar/automata.h"

rn_status automata_make(struct automata *a, const struct automata_limits *limits, automata_compile compile,
                        const void *source, rn_error *err) {
    uint32_t start = 0;
    *a = (struct automata){0};
    rn_status st = exprs_init(&a->exprs, limits->n_exprs, err);
    if (st == RN_OK) st = rules_init(&a->rules, &a->exprs, limits->n_nodes, err);
    if (st == RN_OK) st = compile(&a->rules, source, &start, err);
    if (st == RN_OK) st = dfa_init(&a->dfa, &a->exprs, limits->n_search, err);
    if (st == RN_OK) st = rules_compile(&a->rules, start, &a->dfa, err);
    if (st == RN_OK) st = recognizer_init(&a->recognizer, &a->rules, &a->dfa, start, limits->n_configs, err);
    if (st != RN_OK) automata_free(a);
    return st;
}

void automata_free(struct automata *a) {
    recognizer_free(&a->recognizer);
    dfa_free(&a->dfa);
    rules_free(&a->rules);
    exprs_free(&a->exprs);
}

uint64_t automata_bytes(const struct automata *a) {
    return exprs_bytes(&a->exprs) + dfa_bytes(&a->dfa) + rules_bytes(&a->rules) + recognizer_bytes(&a->recognizer);
}
