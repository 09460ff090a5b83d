// tests/support/same_package.h - do two packages say the same of a model?
#ifndef RN_TESTS_SAME_PACKAGE_H
#define RN_TESTS_SAME_PACKAGE_H

#include "formats/package.h"

// Numbers for all layers and of each one; a failed check for each that differs. Of yarn only what cosines and sines are multiplied by
// counts, to 1 in 10^6: files say it in one number, config.json in up to three.
void check_same_hparams(const struct hparams *a, const struct hparams *b);
// Names, shapes, types and bytes.
void check_same_tensors(const package *a, const package *b);

// The text models of the goldens; NULL behind the last.
extern const char *const golden_models[];

#endif
