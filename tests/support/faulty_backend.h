// tests/support/faulty_backend.h - the backend under test ($RUNNEL_TEST_BACKEND), of which one call fails, half done.
//
// A call that fails has had its effect or written something else before: rows are stored, a page holds garbage. What the contract in
// backend.h calls undefined after a failure is therefore not what it was. One open backend at a time. Threads: one.
#ifndef RN_TESTS_FAULTY_BACKEND_H
#define RN_TESTS_FAULTY_BACKEND_H

#include "backend/backend.h"

enum faulty_call {
    FAULTY_OPEN,
    FAULTY_LOAD,
    FAULTY_RUN,
    FAULTY_FETCH,
    FAULTY_COPY,
    FAULTY_READ_PAGE,
    FAULTY_WRITE_PAGE,
    FAULTY_N_CALLS
};

// Call number `nth` from now on fails, with `for_good` all that follow it too; 0: none does.
void faulty_backend_plan(long nth, bool for_good);
// How many calls have failed since faulty_backend_plan(), and how many of this one since the program began.
int faulty_backend_failures(void);
int faulty_backend_failures_of(enum faulty_call call);

// A failure is RN_E_IO, "backend faulty: CALL: the device is gone".
rn_status faulty_backend_open(const struct backend_spec *spec, backend **out, rn_error *err);

#endif
