// serve/api/api_generation.h - the members that all generating routes share (sampling, stopping, delivery), and their use in a request.
//
// Ownership: plain data; strings are the request's document's.
// Threads:   one at a time.
#ifndef RN_SERVE_API_API_GENERATION_H
#define RN_SERVE_API_API_GENERATION_H

#include "serve/api/api_request.h"
#include "serve/api/prompt_form.h"
#include "serve/api/token_rules.h"
#include "serve/jobs/job.h"
#include "serve/jobs/job_http.h"

enum { API_CHOICES = JOB_PARTS };

typedef struct api_generation {
    generation g;
    delivery delivery;
    int32_t n;                                              // answers
    int32_t max_completion_tokens, overflow, buffer_tokens; // -2: not given
    double max_tokens_per_second, timeout;
    int32_t prompt_logprobs, priority; // -1: none; of rn_priority
    const char *session;               // NULL: none
    const char *cache_salt;            // NULL: none
    bool uses_beams;                   // use_beam_search, which excludes other strategies
    int32_t best_of;                   // 0: not given
    bool caches_prompt;                // reuse cached prefixes; default true
    bool no_progress, wants_progress, include_usage, has_stream_options;
    bool continuous_usage;        // each event has the usage so far
    const json_item *allowed_ids; // NULL: all; token_rules.h has this and the next
    const json_item *bad_words;   // NULL: none
    const json_item *lora;        // adapters (adapter_list.h); NULL: not given
    int32_t n_prompt_kept;        // truncate_prompt_tokens; 0: all, -1: as many as the context has room for
    bool includes_stop;           // include_stop_str_in_output
    bool has_ids, logprobs_by_id; // return_token_ids, return_tokens_as_token_ids
    bool is_unsupported;          // the member that failed is known but not supported
} api_generation;

typedef struct api_generation_rows {
    member rows[GENERATION_MEMBERS + 64]; // the library's, aliases, and those of delivery
    size_t n;
} api_generation_rows;

void api_generation_init(api_generation *g);
// The library's name of a sampling member: of an alias another one, else the same.
const char *api_generation_name(const char *name);
// left_out: names of library members that the route reads differently, terminated by NULL.
void api_generation_make_rows(api_generation_rows *rows, const char *const *left_out);
#define API_GENERATION_GROUP(made, g) {(made)->rows, (made)->n, (g)}
extern const member api_lora_rows[1]; // `lora` alone, of routes that generate nothing
#define API_LORA_GROUP(g) {api_lora_rows, 1, (g)}
// Sampling members of other engines that runnel does not support: refused by name.
extern const api_refusals api_foreign_members;

// Call after reading: checks combinations of members, and whether the server can ever run n_answers at once or let them wait.
bool api_generation_check(api_generation *g, const struct server *s, size_t n_answers, api_error *e);
// All of the request but its prompt; parts is the caller's. part: which of the job's, whose seed is `seed` + choice.
bool api_generation_apply(const api_generation *g, const struct server *s, rn_request *req, generation_parts *parts,
                          int32_t choice, api_error *e);
// Tokenizes the prompts where the request wants their ids or the last of them. After api_request_find_model().
bool api_generation_prompts(const api_generation *g, api_request *r, prompt_form *prompts);
// Must a worker begin it (http_defer())? A session may wait for the engine's step; many answers, rules about tokens, and a grammar
// take long.
bool api_generation_is_long(const api_generation *g, size_t n_answers);
// Takes what the key may spend and the session. False: r->error says why, and the job is to be closed.
bool api_generation_admit(const api_generation *g, api_request *r, job *j);

#endif
