// tokenizer/windows.h - a word of any length through the merge loop: a long one in windows that stay in the processor's cache.
//
// The result is that of one run over the whole word. It rests on this: if a merge of the whole word crossed the boundary between two
// neighbouring symbols x and y of a result, the first one that does so would also happen in a run over x and y alone, since until then
// both are joined by their own merges only. So symbols are the result of a word exactly if each two neighbours are the result of
// themselves (van Antwerpen and Neubeck, "So many tokens, so little time", 2024). Neighbours within one window are; where two windows
// meet they are checked, and the window is made larger if they are not.
//
// Equal windows are merged once: a run of one thing costs a comparison of its bytes.
//
// Ownership: the windows belong to the merger. Threads: one at a time.
#ifndef RN_TOKENIZER_WINDOWS_H
#define RN_TOKENIZER_WINDOWS_H

#include "tokenizer/merger.h"

struct window_rules {
    const void *rules; // of the model, for both functions
    // Adds the symbols of word[begin..n) until one ends at `end` or after it. Returns where that is. Where symbols begin must not
    // depend on what is before `begin`, if a symbol begins there.
    size_t (*add_symbols)(const void *rules, struct merger *m, const char *word, size_t begin, size_t end, size_t n);
    merge_rule joins;
    // A symbol of the result: word[pos..end), of which n bytes are the symbol's and the others have no token. false: out of memory.
    bool (*emit)(void *user, const char *word, size_t pos, size_t end, size_t n, int32_t id);
};

// window: bytes of a window, WINDOW_BYTES but in tests. false: out of memory.
enum { WINDOW_BYTES = 512 };
bool windows_encode(struct merger *m, const struct window_rules *r, const char *word, size_t n, size_t window,
                    void *user);
void windows_free(struct windows *w); // NULL is fine

#endif
