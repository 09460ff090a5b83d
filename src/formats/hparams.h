// formats/hparams.h - reads a model's hyper-parameters out of a GGUF file's keys, checked one by one and against each other.
#ifndef RN_FORMATS_HPARAMS_H
#define RN_FORMATS_HPARAMS_H

#include "formats/gguf.h"

// Fills the numbers of p->hparams and sets is_checked, when the file is a model of an architecture whose keys are known;
// else leaves them 0. p's arch, file_type, vocabulary and tensors are there already.
// Errors: RN_E_FORMAT, RN_E_UNSUPPORTED; `key NAME: WHY`.
rn_status hparams_read(const struct gguf *g, struct package *p, rn_error *err);

#endif
