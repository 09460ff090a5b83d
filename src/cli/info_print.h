// cli/info_print.h - a model's and an engine's facts, for people and as JSON.
#ifndef RN_CLI_INFO_PRINT_H
#define RN_CLI_INFO_PRINT_H

#include "app/bytes.h"
#include <runnel/chat.h>
#include <runnel/engine.h>

// Which chat template is in force.
typedef struct info_chat {
    rn_template *tmpl; // NULL: none
    const char *why;   // then
} info_chat;

// engine: NULL when there is none.
void info_add_text(bytes *to, const rn_model_info *model, const info_chat *chat, const rn_engine_info *engine,
                   const rn_memory *memory);
void info_add_json(bytes *to, const rn_model_info *model, const info_chat *chat, const rn_engine_info *engine,
                   const rn_memory *memory);

#endif
