// tokenizer/bert_text.h - what BERT's tokenizer does to a text before its words are looked up (Devlin et al. 2018, 1810.04805;
// BertNormalizer and BertPreTokenizer of Hugging Face's tokenizers).
//
// Linear time. The first step reads bytes as loose_utf8.h does, and so removes those that begin no character; the others pass them on.
// Check out->failed afterwards. Threads: pure functions.
#ifndef RN_TOKENIZER_BERT_TEXT_H
#define RN_TOKENIZER_BERT_TEXT_H

#include "text/text_buf.h"

// Each appends s[0..n): without control characters and U+FFFD, with U+0020 for any white space; with a space on both sides of each Chinese
// character; without nonspacing marks (the text is decomposed before); with a space on both sides of each punctuation character.
void bert_clean(const char *s, size_t n, struct text_buf *out);
void bert_space_han(const char *s, size_t n, struct text_buf *out);
void bert_strip_accents(const char *s, size_t n, struct text_buf *out);
void bert_space_punctuation(const char *s, size_t n, struct text_buf *out);

#endif
