// serve/openai/openai_json.h - pieces that OpenAI's answers have in common.
//
// Threads: one at a time.
#ifndef RN_SERVE_OPENAI_OPENAI_JSON_H
#define RN_SERVE_OPENAI_OPENAI_JSON_H

#include "serve/jobs/job.h"

void openai_put_usage(json_writer *w, const job *j); // the member `usage`
// id, object, created, model and system_fingerprint. prefix: of the id, "chatcmpl-".
void openai_put_head(json_writer *w, const job *j, const char *prefix, const char *object);
// A whole answer in the job's body: head, choices, usage.
void openai_put_whole(job *j, const char *prefix, const char *object, void (*put_choice)(json_writer *, job_part *));
// What ends a stream: the usage, where it was asked for, with no choices; [DONE].
void openai_stream_end(job *j, const char *prefix, const char *object, bool has_usage);
const char *openai_finish(const job_part *p); // "stop", "length", "tool_calls"; only of a part that is done
// What OpenAI's form has no place for: {"seed", "finish_detail", "timing"} as the member `runnel`.
void openai_put_rest(json_writer *w, const job_part *p);
// Items of vLLM's prompt_logprobs: null, then by id what was there and what was more probable.
void openai_put_prompt_scores(json_writer *w, const rn_model *m, const rn_token *tokens, size_t n);
// Items of logprobs.content.
void openai_put_logprobs(json_writer *w, const rn_model *m, const rn_token *tokens, size_t n);
// The tokens of a chunk that have text: one that ended the answer has none.
size_t openai_n_text_tokens(const job_part *p, const rn_chunk *c);
// A call's id where the model gives none; nine letters and digits, because some templates want so many.
void openai_call_id(const job_part *p, int32_t tool, char id[CALL_ID_BYTES]);
const rn_model *job_model(const job *j);

#endif
