// base/arm_features.h - what the operating system says of a 64-bit Arm processor; false on any other.
#ifndef RN_BASE_ARM_FEATURES_H
#define RN_BASE_ARM_FEATURES_H

#include <stdbool.h>

bool arm_has_dotprod(void);
bool arm_has_i8mm(void);

#endif
