// kernels/arm/neondot.h - the set with dot products of bytes (FEAT_DotProd): what it does better than neon.
#ifndef RN_KERNELS_ARM_NEONDOT_H
#define RN_KERNELS_ARM_NEONDOT_H

#include "kernels/arm/neon.h"

ARM_DECLARE_BLOCK_MATMULS(neondot);
uint64_t neondot_int8_probe(uint64_t n_rounds, int32_t *sum);

#endif
