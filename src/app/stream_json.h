// app/stream_json.h - chunks as JSON: what `run --json`, `batch` and the server share.
#ifndef RN_APP_STREAM_JSON_H
#define RN_APP_STREAM_JSON_H

#include "app/json_write.h"
#include <runnel/stream.h>

// A token's text; n bytes, not terminated; freed with rn_free().
char *token_text(const rn_model *m, int32_t id, size_t *n);
// Writes the array's items only. pieces: the model whose tokens they are, to add each token's text; NULL: without text.
void json_put_logprobs(json_writer *w, const rn_token *tokens, size_t n, const rn_model *pieces);
// The member "drafted": which of the chunk's tokens were guessed, counted from 0; only if there are some, and token data was requested.
void json_put_drafted(json_writer *w, const rn_chunk *c);
// finish_reason, finish_detail, seed, usage and timing of a stream's last chunk, as members; of a search also "sequences":
// [{"tokens", "text", "score", "logprob", "finish_reason", and where they were asked for "logprobs"}, ..]. Ends the chunk's deltas
// (rn_stream_read_sequence()). pieces: as of json_put_logprobs().
void json_put_finish(json_writer *w, const rn_chunk *last, bool has_token_times, rn_stream *stream,
                     const rn_model *pieces);

// The member "speculation", if guesses could be made.
void json_put_speculation(json_writer *w, const rn_usage *usage);
void json_put_timing(json_writer *w, const rn_timing *timing, bool has_token_times); // a member

#endif
