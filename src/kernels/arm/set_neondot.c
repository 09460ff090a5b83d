// kernels/arm/set_neondot.c - the table of the NEON dot product set.
#include "kernels/arm/slots_neondot.h"

const struct kernel_set kernel_set_neondot = {.id = CPU_NEONDOT, .name = "neondot", SLOTS_NEONDOT};
