// serve/api/sampling_json.h - the sampling fields (range, default, help) and the presets (the values they set), as JSON.
#ifndef RN_SERVE_API_SAMPLING_JSON_H
#define RN_SERVE_API_SAMPLING_JSON_H

#include "app/json_write.h"

void sampling_put_fields(json_writer *w,
                         const char *name); // [{"name", "help", "is_int", "min", "max", "default"}, ...]
// [{"name", "help", "members": {...}}, ...] of app/named_settings.h: those that take at most n_seqs sequences beside a stream's own.
void sampling_put_strategies(json_writer *w, const char *name, int32_t n_seqs);
void sampling_put_presets(json_writer *w, const char *name); // [{"name", "help", "values": {...}}, ...]

#endif
