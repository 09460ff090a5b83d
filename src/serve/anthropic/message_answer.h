// serve/anthropic/message_answer.h - an answer as Anthropic's message: blocks of text, thinking and tool calls, streamed or whole.
//
// Threads: one at a time.
#ifndef RN_SERVE_ANTHROPIC_MESSAGE_ANSWER_H
#define RN_SERVE_ANTHROPIC_MESSAGE_ANSWER_H

#include "serve/jobs/job.h"

// A job's `more`; its one part is the message. stop: the request's stop strings, copied. tells_cache: usage has cached tokens beside
// the others, as for requests that ask for caching, instead of among them.
typedef struct message_answer message_answer;
message_answer *message_answer_new(const char *const *stop, size_t n_stop, bool tells_cache);
extern const job_format message_stream_format, message_whole_format;

#endif
