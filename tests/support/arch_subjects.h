// tests/support/arch_subjects.h - small models of the architectures whose attention is their own, which several tests turn over.
#ifndef RN_TESTS_ARCH_SUBJECTS_H
#define RN_TESTS_ARCH_SUBJECTS_H

#include "tests/support/arch_model.h"

enum { N_ARCH_SUBJECTS = 10 };

// n_vocab, type and seed are the test's to fill.
extern const struct arch_subject {
    const char *why; // what is its own
    struct arch_model m;
} arch_subjects[N_ARCH_SUBJECTS];

#endif
