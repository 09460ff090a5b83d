// serve/ollama/ollama_answer.h - an answer as Ollama has it: lines of JSON (application/x-ndjson), or one object.
//
// Threads: one at a time.
#ifndef RN_SERVE_OLLAMA_OLLAMA_ANSWER_H
#define RN_SERVE_OLLAMA_OLLAMA_ANSWER_H

#include "serve/jobs/job.h"

// A job's `more`; its one part is the answer.
typedef struct ollama_answer {
    bool is_chat;  // of /api/chat, else of /api/generate
    bool is_split; // thinking, content and calls are apart; else there is only text
    bool has_logprobs, has_context;
    bytes context; // ids of prompt and answer, as items of an array
} ollama_answer;
extern const job_format ollama_stream_format, ollama_whole_format;

// The answer to a request without a prompt, which only asks for the model to be loaded.
void ollama_put_loaded(json_writer *w, const char *model, bool is_chat);

#endif
