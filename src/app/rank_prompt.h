// app/rank_prompt.h - what a reranker is asked: the model's template with a query and a document in it, as tokens.
#ifndef RN_APP_RANK_PROMPT_H
#define RN_APP_RANK_PROMPT_H

#include "app/bytes.h"
#include <runnel/runnel.h>

typedef struct rank_prompt {
    const char *text; // rn_model_info.rerank_template
    const char *query, *document;
    size_t n_query, n_document;
} rank_prompt;

// The template's own control tokens are tokens; what the query and the document spell is text. No begin or end token is added, as llama.cpp's
// server adds none. ids: empty, the caller's; int32_t each.
bool rank_prompt_is_template(const char *template); // has a place for each; NULL: it has not
rn_status rank_prompt_tokenize(const rn_model *model, const rank_prompt *p, bytes *ids, rn_error *err);

#endif
