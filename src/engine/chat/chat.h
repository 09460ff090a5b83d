// engine/chat/chat.h - conversations in requests: a compiled template, the prompt rendered with it, the part that a session
// already holds, and parsing the answer on the reader's side.
//
// A prompt is made in steps: the messages are read (chat_messages.c), rendered (chat_render.c), cut to the context and tokenized
// (chat_prompt.c), and joined to what a session holds (chat_match.c).
// Threads: everything here runs on the caller's thread, except answer_spells(), which reads only constant data.
#ifndef RN_ENGINE_CHAT_CHAT_H
#define RN_ENGINE_CHAT_CHAT_H

#include "engine/vision/prompt_pictures.h"
#include "jinja/template.h"
#include "output/output_parser.h"
#include "tokenizer/id_list.h"
#include "tokenizer/tokenizer.h"
#include <runnel/runnel.h>

// What is known of a template's tools. found[system][user]: with a system message, with a user's message at the end; 0: nothing yet,
// else one more than the form (enum chat_tools) in which a rendering had them.
struct template_tools {
    bool are_known;        // it names them, and does not refuse them
    output_format *format; // of answers where the built-in form is used
    _Atomic(unsigned char) found[2][2];
    _Atomic(unsigned char)
        wants_parts; // 0: not known; 1: no; 2: a content that is a text is lost, one in parts is written
};

struct rn_template {
    chat_template *compiled;
    char *origin;
    const output_format *format;
    struct template_tools *tools; // found by any thread
};

// What stands for pictures: in renderings, and among tokens around their rows (chat_pictures.c).
enum { PICTURE_MARK_TOKENS = 2 };
struct picture_marks {
    int32_t token, row_token;  // of the vocabulary, -1: none; of rows
    struct vocab_str spelling; // of `token`, or what the family's template writes; empty: none
    int32_t video_token;       // the same of videos
    struct vocab_str video_spelling;
    const char *before_in_text, *after_in_text; // where a content is a text
    int32_t before[PICTURE_MARK_TOKENS], after[PICTURE_MARK_TOKENS];
    size_t n_before, n_after;
};
void picture_marks_make(const struct vision_info *info, const struct vocab *v, struct picture_marks *out);

// chat_prompt.c
struct chat_prompt {
    struct id_list ids;
    struct prompt_pictures pictures; // not encoded
    struct text_buf text;            // as rendered
    size_t answer_from;              // offset of the text that the output parser starts with
    size_t reply_from;               // offset of the prefilled answer; the text's end if there is none
    bool has_own_tools;              // tools are in the built-in form: template_tools.format reads the answer
    int32_t n_dropped;               // messages left out
    int64_t untruncated;             // tokens with all messages
};
struct chat_prompt_plan {
    const rn_chat *chat;
    const int32_t *reply; // token ids that the answer starts with
    size_t n_reply;
    const rn_template *tmpl;
    const struct vocab *vocab;
    const tokenizer *tok;
    int32_t n_ctx, max_tokens; // limits that the prompt must fit
    struct vision *vision;     // of a chat with pictures, with their marks
    struct picture_marks marks;
    bool puts_bos; // puts a begin token where the model requires one and the template writes none
    bool is_text;  // the text alone, of any length: no ids, unless turns are left out by their number
};
// *p must be zeroed; call chat_prompt_free() whatever is returned. Errors: RN_E_ARG (which message and why, or the template's
// own error), RN_E_FORMAT (not JSON), RN_E_LIMIT (both lengths), RN_E_UNSUPPORTED (an answer that cannot be continued),
// RN_E_NOMEM.
rn_status chat_prompt_make(const struct chat_prompt_plan *plan, struct chat_prompt *p, rn_error *err);
void chat_prompt_free(struct chat_prompt *p);

// chat_request.c: what is missing of a plan for a request with a conversation. Errors: RN_E_UNSUPPORTED, the template's own.
struct model_slot;
rn_status chat_prompt_plan_make(const struct model_slot *l, const rn_request *r, struct chat_prompt_plan *plan,
                                rn_error *err);

// chat_match.c
#define CHAT_MISS_BYTES 192
// Returns the lengths of the longest prefixes of held[0..n_held) and ids[0..n_ids) that spell the same text and end on a token
// boundary in both. why: a sentence about the first difference; "" when one is a prefix of the other.
struct chat_match {
    size_t n_held, n_ids;
    char why[CHAT_MISS_BYTES];
};
void chat_match(const tokenizer *tok, const struct vocab *vocab, const int32_t *held, size_t n_held,
                const int32_t *ids, size_t n_ids, struct chat_match *m);

// chat_answer.c
struct answer; // the parsed answer of one stream
// The prompt may end in the middle of a channel. tools: n_tools bytes of JSON as rn_chat has them, whose schemas tell strings from other
// values where the format does not; NULL: none. Neither is used after the call. Errors: RN_E_NOMEM.
rn_status answer_create(const output_format *format, const tokenizer *tok, const struct vocab *vocab,
                        const struct chat_prompt *prompt, const char *tools, size_t n_tools, struct answer **out,
                        rn_error *err);
void answer_destroy(struct answer *a); // NULL is fine
// True if the control token is part of the format's tags, so that the parser needs its spelling.
bool answer_spells(const struct answer *a, int32_t id);
// Fills the chunk's channels, and the counts in the last chunk, except rn_usage. After RN_E_NOMEM every further call fails too.
rn_status answer_read(struct answer *a, rn_chunk *chunk, rn_error *err);
// Reads another answer to the same prompt from here on. Errors: RN_E_NOMEM, after which nothing can be read any more.
rn_status answer_restart(struct answer *a, rn_error *err);
int64_t answer_n_reasoning(const struct answer *a); // so far, for rn_usage.reasoning_tokens

#endif
