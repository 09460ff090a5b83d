// convert/metadata_layers.h - the metadata pairs for layers that differ from each other. Private to metadata*.c.
#ifndef RN_CONVERT_METADATA_LAYERS_H
#define RN_CONVERT_METADATA_LAYERS_H

#include "base/log.h"
#include "formats/gguf/gguf_write.h"
#include "formats/hparams/hparams.h"

// {arch}.NAME
struct metadata_key {
    char text[128];
};
struct metadata_key metadata_key_of(const struct hparams *h, const char *name);

// Warns that a key is our own ({arch}.runnel.NAME): GGUF has none for what it says.
void metadata_own(const log_sink *log, const char *key);

// log: as of metadata_put().
void metadata_put_layers(gguf_writer *w, const struct hparams *h, const struct arch_facts *f, const log_sink *log);

#endif
