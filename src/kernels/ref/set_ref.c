// kernels/ref/set_ref.c - the table of the reference set.
#include "kernels/ref/slots_ref.h"

const struct kernel_set kernel_set_ref = {.id = CPU_REF, .name = "ref", SLOTS_REF};
