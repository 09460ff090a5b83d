// engine/chat/chat.h - conversations as requests see them: a compiled template, a prompt made with it, where a session goes along, and the
// reader's side of the answer.
//
// A prompt is made in steps: the messages are read (chat_messages.c), rendered (chat_render.c), cut to the context and tokenized
// (chat_prompt.c), and joined to what a session holds (chat_match.c).
// Threads: everything here runs on the caller's thread, but for what answer_spells() reads, which is constant once made.
#ifndef RN_ENGINE_CHAT_CHAT_H
#define RN_ENGINE_CHAT_CHAT_H

#include "jinja/template.h"
#include "output/output_parser.h"
#include "tokenizer/id_list.h"
#include "tokenizer/tokenizer.h"
#include <runnel/runnel.h>

struct rn_template {
    chat_template *compiled;
    char *origin;
    const output_format *format;
};

// chat_prompt.c
struct chat_prompt {
    struct id_list ids;
    struct text_buf text; // as rendered
    size_t answer_from;   // where in it begins what the output parser has to know
    size_t reply_from;    // and where the answer that was begun; the text's end, if none was
    int32_t n_dropped;    // messages
    int64_t untruncated;  // tokens before they went
};
struct chat_prompt_plan {
    const rn_chat *chat;
    const int32_t *reply; // ids that the answer begins with
    size_t n_reply;
    const rn_template *tmpl;
    const struct vocab *vocab;
    const tokenizer *tok;
    int32_t n_ctx, max_tokens; // what it must fit
    bool puts_bos;             // where the file wants one and the template writes none
};
// *p: zeroed; chat_prompt_free() whatever comes back. Errors: RN_E_ARG (which message, what of it; or the template refuses), RN_E_FORMAT
// (not JSON), RN_E_LIMIT (what does not fit: both lengths), RN_E_UNSUPPORTED (an answer that cannot be gone on with), RN_E_NOMEM.
rn_status chat_prompt_make(const struct chat_prompt_plan *plan, struct chat_prompt *p, rn_error *err);
void chat_prompt_free(struct chat_prompt *p);

// chat_match.c
#define CHAT_MISS_BYTES 192
// The longest place at which held[0..n_held) and ids[0..n_ids) say the same and both have a token border: where in either. why: the
// sentence for what differs there; "" when one of them just ends.
struct chat_match {
    size_t n_held, n_ids;
    char why[CHAT_MISS_BYTES];
};
void chat_match(const tokenizer *tok, const struct vocab *vocab, const int32_t *held, size_t n_held,
                const int32_t *ids, size_t n_ids, struct chat_match *m);

// chat_answer.c
struct answer; // of one stream
// The prompt may end in the middle of a channel, and may be freed afterwards. Errors: RN_E_NOMEM.
rn_status answer_create(const output_format *format, const tokenizer *tok, const struct vocab *vocab,
                        const struct chat_prompt *prompt, struct answer **out, rn_error *err);
void answer_destroy(struct answer *a); // NULL is fine
// Is this control token a part of the format's tags, so that its spelling belongs into the text?
bool answer_spells(const struct answer *a, int32_t id);
// Fills the chunk's channels, and in the last one what is counted, but for rn_usage. Errors: RN_E_NOMEM, now and ever after.
rn_status answer_read(struct answer *a, rn_chunk *chunk, rn_error *err);
int64_t answer_n_reasoning(const struct answer *a); // tokens so far, as rn_usage.reasoning_tokens

#endif
