// kernels/arm/set_neoni8mm.c - the table of the NEON 8-bit matrix product set.
#include "kernels/arm/slots_neoni8mm.h"

const struct kernel_set kernel_set_neoni8mm = {.id = CPU_NEONI8MM, .name = "neoni8mm", SLOTS_NEONI8MM};
