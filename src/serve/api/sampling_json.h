// serve/api/sampling_json.h - what can be said of sampling, as JSON: fields with ranges and help, presets with what they set.
#ifndef RN_SERVE_API_SAMPLING_JSON_H
#define RN_SERVE_API_SAMPLING_JSON_H

#include "app/json_write.h"

void sampling_put_fields(json_writer *w,
                         const char *name); // [{"name", "help", "is_int", "min", "max", "default"}, ...]
void sampling_put_presets(json_writer *w, const char *name); // [{"name", "help", "values": {...}}, ...]

#endif
