// tests/support/chat_model.h - small models with random weights that know ChatML: the vocabulary of tests/tokenizer/small_vocab.h.
//
// Ids: a byte's is the byte, 256 and up are merges (257 "he", 263 " the"), then control tokens from 272 on: <s> </s> <pad> <unk>
// <|im_start|> <|im_end|> <image> <|user|> <|assistant|> <|system|> <|end|> <tool_call> </tool_call> <think> </think> <|eot|>.
#ifndef RN_TESTS_CHAT_MODEL_H
#define RN_TESTS_CHAT_MODEL_H

#include <stdbool.h>

enum {
    CHAT_BOS = 272,
    CHAT_START = 276,
    CHAT_END = 277,
    CHAT_ASSISTANT_END = 282,
    CHAT_CALL,
    CHAT_CALL_END,
    CHAT_THINK,
    CHAT_THINK_END
};
enum chat_model_kind { CHAT_PLAIN, CHAT_WINDOWED, CHAT_RECURRENT };

struct chat_model {
    enum chat_model_kind kind;
    const char *chat_template; // NULL: the file has none
    bool add_bos;
    bool no_markers; // <|im_start|> and <|im_end|> are called otherwise
};
bool chat_model_write(const struct chat_model *m, const char *path);

#endif
