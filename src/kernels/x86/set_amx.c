// kernels/x86/set_amx.c - the table of the AMX (int8 and bf16 tiles) set.
#include "kernels/x86/slots_amx.h"

const struct kernel_set kernel_set_amx = {.id = CPU_AMX, .name = "amx", SLOTS_AMX};
