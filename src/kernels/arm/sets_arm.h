// kernels/arm/sets_arm.h - the sets of 64-bit Arm, and what each needs: the first thing that this machine lacks, or NULL.
#ifndef RN_KERNELS_ARM_SETS_ARM_H
#define RN_KERNELS_ARM_SETS_ARM_H

#include "kernels/kernels.h"

extern const struct kernel_set kernel_set_neon, kernel_set_neondot, kernel_set_neoni8mm;
const char *neon_lacks(void);
const char *neondot_lacks(void);
const char *neoni8mm_lacks(void);

#endif
