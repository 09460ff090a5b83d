// tests/support/arch_subjects.h - a small model of every architecture, and more where layers are of several kinds, which several tests turn over.
#ifndef RN_TESTS_ARCH_SUBJECTS_H
#define RN_TESTS_ARCH_SUBJECTS_H

#include "tests/support/arch_model.h"

enum { N_ARCH_SUBJECTS = 111, ARCH_SUBJECT_NAME = 32 };

// n_vocab, type and seed are the test's to fill.
extern const struct arch_subject {
    const char *why; // what is its own
    struct arch_model m;
} arch_subjects[N_ARCH_SUBJECTS];

// "deepseek2", "deepseek2/1": its architecture, and which of that architecture it is.
void arch_subject_name(size_t s, char out[ARCH_SUBJECT_NAME]);
size_t arch_subject_named(const char *name); // N_ARCH_SUBJECTS: none

#endif
