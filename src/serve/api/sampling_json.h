// serve/api/sampling_json.h - the sampling fields (range, default, help) and the presets (the values they set), as JSON.
#ifndef RN_SERVE_API_SAMPLING_JSON_H
#define RN_SERVE_API_SAMPLING_JSON_H

#include "app/json_write.h"
#include "serve/server.h"

void sampling_put_fields(json_writer *w,
                         const char *name); // [{"name", "help", "is_int", "min", "max", "default"}, ...]
// [{"name", "help", "members": {...}}, ...] of app/named_settings.h: those that the server has room and models for.
void sampling_put_strategies(json_writer *w, const char *name, const struct server *s);
// [{"name", "help", "strategies": [...], "kind", "words", "min", "max", "default"}, ...] of rn_strategy_option_at()
void sampling_put_strategy_options(json_writer *w, const char *name);
void sampling_put_presets(json_writer *w, const char *name); // [{"name", "help", "values": {...}}, ...]

#endif
