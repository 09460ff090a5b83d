// kernels/arm/slots_neoni8mm.h - what the NEON 8-bit matrix product set does better than neondot.
#ifndef RN_KERNELS_ARM_SLOTS_NEONI8MM_H
#define RN_KERNELS_ARM_SLOTS_NEONI8MM_H

#include "kernels/arm/slots_neondot.h"

#define SLOTS_NEONI8MM SLOTS_NEONDOT

#endif
