// kernels/ref/recur_ref.c - steps of recurrences, as they are defined.
#include "kernels/recur_steps.h"
#include "kernels/ref/ref.h"

RECUR_DEFINE(ref);
