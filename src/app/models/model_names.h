// app/models/model_names.h - what a name of a model stands for.
//
// Threads: any.
#ifndef RN_APP_MODEL_NAMES_H
#define RN_APP_MODEL_NAMES_H

// What an alias of the settings, or the catalogue, has under the name (hf:..., or another name or path); any other name stands for itself.
const char *model_name_meant(const char *name);

#endif
