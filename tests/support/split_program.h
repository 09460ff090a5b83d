// tests/support/split_program.h - a program cut between two layers into two that give its bits, one after the other.
#ifndef RN_TESTS_SPLIT_PROGRAM_H
#define RN_TESTS_SPLIT_PROGRAM_H

#include "backend/program.h"
#include "base/status.h"

struct part_program {
    struct program p;
    struct op *ops;
    struct attention *attention;
    int32_t first_layer[PROGRAM_MAX_GROUPS]; // of a group's layers those that are in this part begin here
};
// The first part's results are all rows of its buffer `handed`, which the second part's rows take as vectors.
struct split_program {
    struct part_program part[2];
    int32_t handed;
};

// Cuts before this layer. RN_E_UNSUPPORTED: a layer behind the cut reads keys and values of one before it, or there is no such
// layer. RN_E_NOMEM. split_program_free() also after a failure.
rn_status split_program(const struct program *p, int32_t layer, struct split_program *out, rn_error *err);
void split_program_free(struct split_program *s);

#endif
