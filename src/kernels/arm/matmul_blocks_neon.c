// kernels/arm/matmul_blocks_neon.c - panels of all types of blocks times rows of bytes, by products of 16 bits.
#include "kernels/arm/neon.h"
#include "kernels/arm/products_neon.h"

DEFINE_BLOCK_MATMULS(neon, multiply_long)
