// app/rank_prompt.h - a reranker's prompt: the model's template filled with a query and a document, or an encoder's pair of texts, as
// tokens.
#ifndef RN_APP_RANK_PROMPT_H
#define RN_APP_RANK_PROMPT_H

#include "app/bytes.h"
#include <runnel/runnel.h>

typedef struct rank_prompt {
    const char *text; // rn_model_info.rerank_template; NULL: a pair, where rn_model_info.has_pairs
    const char *query, *document;
    size_t n_query, n_document;
    size_t max_ids; // the context; 0: no limit
} rank_prompt;

// Control tokens of the template are parsed; query and document are plain text. No begin or end token is added, as in llama.cpp's
// server. ids: an empty buffer of the caller's; receives int32_t values. RN_E_LIMIT with *n_least > 0 (NULL: not needed): query or document alone has at
// least so many tokens, more than max_ids. *n_first: rn_embed_options.n_first.
rn_status rank_prompt_tokenize(const rn_model *model, const rank_prompt *p, bytes *ids, size_t *n_first,
                               size_t *n_least, rn_error *err);
// What a model ranks with: *text as in struct rank_prompt. Else NULL, or why not: "no tokenizer.chat_template.rerank".
const char *rank_prompt_find(const rn_model_info *info, const char **text);

#endif
