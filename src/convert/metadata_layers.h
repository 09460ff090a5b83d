// convert/metadata_layers.h - the metadata pairs for layers that differ from each other. Private to metadata*.c.
#ifndef RN_CONVERT_METADATA_LAYERS_H
#define RN_CONVERT_METADATA_LAYERS_H

#include "formats/gguf/gguf_write.h"
#include "formats/hparams/hparams.h"

// {arch}.NAME
struct metadata_key {
    char text[128];
};
struct metadata_key metadata_key_of(const struct hparams *h, const char *name);

// Errors: RN_E_UNSUPPORTED (an order of layers that no GGUF key can express).
rn_status metadata_put_layers(gguf_writer *w, const struct hparams *h, const struct arch_facts *f, rn_error *err);

#endif
