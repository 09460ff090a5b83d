// kernels/x86/recur_avx512.c - steps of recurrences, by the compiler for this set.
#include "kernels/recur_steps.h"
#include "kernels/x86/avx512.h"

RECUR_DEFINE(avx512);
