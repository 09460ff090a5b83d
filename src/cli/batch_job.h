// cli/batch_job.h - one line of `batch`: its request, its stream, its answer.
//
// Ownership: batch_job_begin() / batch_job_free(), which also closes the stream.
// Threads:   one at a time.
#ifndef RN_CLI_BATCH_JOB_H
#define RN_CLI_BATCH_JOB_H

#include "app/bytes.h"
#include "app/chat_message.h"
#include "app/chat_options.h"
#include "app/generation.h"
#include "app/grammar_cache.h"
#include "app/json_write.h"
#include "cli/batch_openai.h"

// What all lines share.
typedef struct batch_plan {
    rn_engine *engine;
    bool has_token_times;
    generation defaults;
    generation_members members;
    chat_options chat; // for lines with messages
    const rn_model *model;
    grammar_cache *grammars; // of the lines that give a form
} batch_plan;

typedef struct batch_job {
    uint64_t line;       // its number, from 1
    char *id;            // as JSON; NULL: the line has none
    batch_openai openai; // custom_id NULL: the line is none of OpenAI's
    rn_stream *stream;   // NULL: never begun, or ended
    bool has_failed;
    bool is_done;              // answer is complete
    bytes text, ids, logprobs; // collected so far; ids and logprobs are items of JSON arrays
    chat_message message;      // the answer to a conversation
    bool is_chat, has_logprobs;
    json_writer ids_writer, logprobs_writer;
    uint64_t n_tokens;
    uint64_t n_source_bytes; // input bytes up to this line, for the progress bar; set by the command
    bytes answer;            // a line of JSON with its line break
} batch_job;

// Never NULL: a line whose request is refused is a finished job with an error as its answer. why: NULL, or why the line could not
// be read.
batch_job *batch_job_begin(const batch_plan *plan, uint64_t line, const char *text, size_t n_text, const char *why);
// Takes all available chunks. Returns whether the job is done.
bool batch_job_read(const batch_plan *plan, batch_job *job);
void batch_job_free(batch_job *job);

#endif
