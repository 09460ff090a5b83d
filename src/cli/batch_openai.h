// cli/batch_openai.h - lines of OpenAI's batches: {"custom_id", "method", "url", "body"} in, {"custom_id", "response", "error"} out.
//
// Ownership: batch_openai_free() ends what a line holds; spans point into its document.
// Threads:   one at a time.
#ifndef RN_CLI_BATCH_OPENAI_H
#define RN_CLI_BATCH_OPENAI_H

#include "app/chat_message.h"
#include "app/generation.h"

typedef struct batch_openai {
    char *custom_id; // as JSON; NULL: the line is none of OpenAI's
    char *model;     // as JSON: what the body says, which chooses nothing; NULL: nothing
    bool is_chat;    // /v1/chat/completions, else /v1/completions
    const json_item *body;
} batch_openai;

// Is it a line of this kind?
bool batch_openai_is(const json_doc *doc);
// Reads all of the line but the members of its body. False: the reason is in why.
bool batch_openai_open(const json_doc *doc, batch_openai *b, char *why);
// Reads the body: its names for what a line of batch has (max_tokens, temperature, response_format, ...), else the rows of `line` and of
// the generation.
bool batch_openai_read(batch_openai *b, const generation_members *members, const member_group *line, generation *g,
                       char *why);
void batch_openai_free(batch_openai *b);

// Appends the answer's line. last: the stream's last chunk.
void batch_openai_add_answer(const batch_openai *b, uint64_t line, const chat_message *message, const bytes *text,
                             const rn_chunk *last, bytes *to);
void batch_openai_add_error(const batch_openai *b, const char *why, bytes *to);

#endif
