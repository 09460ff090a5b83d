// cli/info_print.h - prints what `info` shows of a model and an engine, as text and as JSON.
#ifndef RN_CLI_INFO_PRINT_H
#define RN_CLI_INFO_PRINT_H

#include "app/bytes.h"
#include <runnel/chat.h>
#include <runnel/engine.h>

// The chat template in use.
typedef struct info_chat {
    rn_template *tmpl; // NULL: none
    const char *why;   // why there is none
} info_chat;

// engine, memory: NULL without an engine.
void info_add_text(bytes *to, const rn_model_info *model, const info_chat *chat, const rn_engine_info *engine,
                   const rn_memory *memory);
void info_add_json(bytes *to, const rn_model_info *model, const info_chat *chat, const rn_engine_info *engine,
                   const rn_memory *memory);

#endif
