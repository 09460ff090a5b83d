// cli/named_model.h - the fetched model that a command of the cache is about.
#ifndef RN_CLI_NAMED_MODEL_H
#define RN_CLI_NAMED_MODEL_H

#include "app/models/model_cache.h"
#include "app/options.h"

// Is the argument there? If not, says so.
bool named_model_is_given(const option_spec *spec, const options *parsed);
// Reads the caches into `all`, which the caller frees, and finds the model. NULL: the error has been printed.
const cached_model *named_model_find(cached_models *all, const char *name);

#endif
