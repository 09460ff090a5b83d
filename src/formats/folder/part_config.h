// formats/folder/part_config.h - what the config.json beside a draft head says of it.
#ifndef RN_FORMATS_FOLDER_PART_CONFIG_H
#define RN_FORMATS_FOLDER_PART_CONFIG_H

#include "formats/json/json_tree.h"
#include "formats/package.h"

// SafeAILab's files and vLLM's "speculators": members that are absent leave *out as it is. Errors: RN_E_FORMAT.
rn_status part_config_read(const struct json_tree *text, struct part_options *out, rn_error *err);

#endif
