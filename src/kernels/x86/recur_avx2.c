// kernels/x86/recur_avx2.c - steps of recurrences, by the compiler for this set.
#include "kernels/recur_steps.h"
#include "kernels/x86/avx2.h"

RECUR_DEFINE(avx2);
