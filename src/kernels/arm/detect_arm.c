// kernels/arm/detect_arm.c - what a 64-bit Arm processor can do. Compiled with the baseline's flags.
#include "base/processor.h"
#include "kernels/arm/sets_arm.h"

const char *neon_lacks(void) { return NULL; } // part of the architecture's baseline

const char *neondot_lacks(void) { return arm_has_dotprod() ? NULL : "the dot product instructions (asimddp)"; }

const char *neoni8mm_lacks(void) {
    const char *const lacks = neondot_lacks();
    return lacks ? lacks : arm_has_i8mm() ? NULL : "the 8-bit matrix instructions (i8mm)";
}
