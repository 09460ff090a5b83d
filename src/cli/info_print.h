// cli/info_print.h - a model's and an engine's facts, for people and as JSON.
#ifndef RN_CLI_INFO_PRINT_H
#define RN_CLI_INFO_PRINT_H

#include "app/bytes.h"
#include <runnel/engine.h>

// engine: NULL when there is none.
void info_add_text(bytes *to, const rn_model_info *model, const rn_engine_info *engine, const rn_memory *memory);
void info_add_json(bytes *to, const rn_model_info *model, const rn_engine_info *engine, const rn_memory *memory);

#endif
