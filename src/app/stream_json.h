// app/stream_json.h - chunks as JSON: the parts that `run --json` and `batch` have in common.
#ifndef RN_APP_STREAM_JSON_H
#define RN_APP_STREAM_JSON_H

#include "app/json_write.h"
#include <runnel/stream.h>

void json_put_logprobs(json_writer *w, const rn_token *tokens, size_t n); // the items of the array only
// finish_reason, finish_detail, seed, usage and timing of a last chunk, as members.
void json_put_finish(json_writer *w, const rn_chunk *last, bool has_token_times);

void json_put_timing(json_writer *w, const rn_timing *timing, bool has_token_times); // a member

#endif
