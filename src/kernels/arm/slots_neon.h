// kernels/arm/slots_neon.h - what the NEON set does better than ref.
#ifndef RN_KERNELS_ARM_SLOTS_NEON_H
#define RN_KERNELS_ARM_SLOTS_NEON_H

#include "kernels/ref/slots_ref.h"

#define SLOTS_NEON SLOTS_REF

#endif
