// kernels/arm/matmul_blocks_neondot.c - panels of all types of blocks times rows of bytes, by sdot.
#include "kernels/arm/neondot.h"
#include "kernels/arm/products_neondot.h"

DEFINE_BLOCK_MATMULS(neondot, multiply_dot)
