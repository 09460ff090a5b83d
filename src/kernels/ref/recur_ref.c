// kernels/ref/recur_ref.c - the recurrence steps of recur_steps.h, compiled for the baseline.
#include "kernels/recur_steps.h"
#include "kernels/ref/ref.h"

RECUR_DEFINE(ref);
