// serve/jobs/embed_batch.h - a job whose parts are embeddings or scores of texts: begun a few at a time, the next one when one has
// ended, so that a long list neither fills the engine's queue nor waits for all of it to be free.
//
// Ownership: the batch is part of the job's `more`; embed_batch_free(). The texts' tokens are the batch's.
// Threads:   as the job: a worker fills it and begins the first parts, the job's owner begins the next ones.
#ifndef RN_SERVE_JOBS_EMBED_BATCH_H
#define RN_SERVE_JOBS_EMBED_BATCH_H

#include "serve/jobs/job.h"

enum { EMBED_AT_ONCE = 16, EMBED_TEXTS = 2048, EMBED_TOKENS = 300000 };

typedef struct embed_text {
    int32_t *ids;
    size_t n, n_first; // n_first: rn_embed_options'
} embed_text;
typedef struct embed_batch {
    const char *name; // of the member that holds the texts: "input"
    bool is_numbered; // errors name the text: "documents[3]"
    rn_embed_options options;
    embed_text *texts;                    // [n]
    size_t n, n_begun, n_ended, n_tokens; // n_tokens: of all texts so far
} embed_batch;

bool embed_batch_open(embed_batch *b, size_t n); // false: out of memory
void embed_batch_free(embed_batch *b);
void embed_batch_set(embed_batch *b, size_t i, const int32_t *ids, size_t n, size_t n_first); // copies them
// Call before each text is tokenized. False: the client has disconnected, memory is out, or the texts so far have more than
// EMBED_TOKENS together.
bool embed_batch_check(const embed_batch *b, api_error *e);
// The error for a text that was not tokenized. n_least: rn_tokenize_at_most()'s number of tokens; 0: it was not that.
bool embed_batch_fail(const embed_batch *b, size_t i, const rn_error *err, size_t n_least, int32_t n_ctx,
                      api_error *e);
// Begins the first parts, when the job has been admitted. False: e holds the error.
bool embed_batch_begin(embed_batch *b, job *j, api_error *e);
void embed_batch_go_on(embed_batch *b, job *j); // a part has ended

#endif
