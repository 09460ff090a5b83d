// kernels/arm/slots_neondot.h - what the NEON dot product set does better than neon.
#ifndef RN_KERNELS_ARM_SLOTS_NEONDOT_H
#define RN_KERNELS_ARM_SLOTS_NEONDOT_H

#include "kernels/arm/slots_neon.h"

#define SLOTS_NEONDOT SLOTS_NEON

#endif
