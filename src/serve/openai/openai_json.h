// serve/openai/openai_json.h - JSON that OpenAI's answers share.
//
// Threads: one at a time.
#ifndef RN_SERVE_OPENAI_OPENAI_JSON_H
#define RN_SERVE_OPENAI_OPENAI_JSON_H

#include "serve/api/api_generation.h"
#include "serve/jobs/job.h"

// What a request of this dialect asks of the form of its answer.
typedef struct openai_options {
    bool has_usage, has_continuous_usage; // an event of its own; in each event
    bool has_ids, logprobs_by_id;         // return_token_ids, return_tokens_as_token_ids
} openai_options;
openai_options openai_options_of(const api_generation *g);

void openai_put_event_usage(json_writer *w, const job *j, const openai_options *o);
// The name of a token in log-probabilities with return_tokens_as_token_ids: "token_id:5".
enum { OPENAI_ID_NAME = 24 };
const char *openai_id_name(int32_t id, char name[OPENAI_ID_NAME]);
// An array of ids as a member. items: as json_put_whole() wrote them one after the other.
void openai_put_id_items(json_writer *w, const char *name, const bytes *items);
// Writes id, object, created, model and system_fingerprint. prefix: of the id, for example "chatcmpl-".
void openai_put_head(json_writer *w, const job *j, const char *prefix, const char *object);
// Writes a whole answer into the job's body: header members, choices, usage.
// put_more: further members; NULL: none.
void openai_put_whole(job *j, const char *prefix, const char *object, void (*put_choice)(json_writer *, job_part *),
                      void (*put_more)(json_writer *, const job *));
// Ends a stream: an event with the usage and no choices, if the request asked for it; then [DONE].
void openai_stream_end(job *j, const char *prefix, const char *object, bool has_usage);
const char *openai_finish(const job_part *p); // "stop", "length", "tool_calls"; only for a part that is done
// Writes the member `runnel`, which OpenAI's form does not have: {"seed", "finish_detail", "timing"}, and where there were guesses
// "speculation".
void openai_put_rest(json_writer *w, const job_part *p);
void openai_put_pictures(json_writer *w, const job *j); // the member picture_tokens, where there are any
// Where the request has a prediction: the counts of its guesses so far, as members of the details of the tokens that were generated.
void openai_put_prediction(json_writer *w, const job *j);
// Items of vLLM's prompt_logprobs: null for the first token, then objects by id: the token itself and the more probable ones.
void openai_put_prompt_scores(json_writer *w, const rn_model *m, const rn_token *tokens, size_t n);
// Items of logprobs.content.
void openai_put_logprobs(json_writer *w, const rn_model *m, const rn_token *tokens, size_t n, bool by_id);
// The tokens of a chunk that have text: one that ended the answer has none.
size_t openai_n_text_tokens(const job_part *p, const rn_chunk *c);
// An id for a tool call to which the model gave none: nine letters and digits, which some templates require.
void openai_call_id(const job_part *p, int32_t tool, char id[CALL_ID_BYTES]);
const rn_model *job_model(const job *j);

#endif
