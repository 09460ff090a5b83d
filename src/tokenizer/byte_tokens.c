// tokenizer/byte_tokens.c - see byte_tokens.h.
#include "tokenizer/byte_tokens.h"
#include <string.h>

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

int byte_token_value(struct vocab_str t) {
    if (t.n != 6 || memcmp(t.s, "<0x", 3) != 0 || t.s[5] != '>') return -1;
    const int high = hex_digit(t.s[3]), low = hex_digit(t.s[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

int byte_tokens_find(const struct vocab *v, int32_t byte_id[256]) {
    int n = 0;
    for (int byte = 0; byte < 256; byte++) byte_id[byte] = -1;
    for (int32_t id = 0; id < v->n_tokens; id++) {
        const int byte = v->tokens[id].kind == TOKEN_BYTE ? byte_token_value(v->tokens[id].text) : -1;
        if (byte < 0 || byte_id[byte] >= 0) continue;
        byte_id[byte] = id;
        n++;
    }
    return n;
}
