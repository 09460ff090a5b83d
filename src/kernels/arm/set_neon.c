// kernels/arm/set_neon.c - the table of the NEON set.
#include "kernels/arm/slots_neon.h"

const struct kernel_set kernel_set_neon = {.id = CPU_NEON, .name = "neon", SLOTS_NEON};
