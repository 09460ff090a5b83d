// tokenizer/charsmap.c - see charsmap.h. Every step through the trie is checked, since its bytes come from a file.
#include "tokenizer/charsmap.h"
#include <string.h>

static uint32_t read_u32(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

rn_status charsmap_init(struct charsmap *m, struct vocab_str bytes, rn_error *err) {
    const uint8_t *const data = (const uint8_t *)bytes.s;
    *m = (struct charsmap){0};
    if (bytes.n == 0) return RN_OK; // an empty map
    const uint32_t n_trie = bytes.n >= 4 ? read_u32(data) : 0;
    if (bytes.n < 4 || n_trie % 4 != 0 || n_trie == 0 || n_trie > bytes.n - 4)
        return fail(err, RN_E_FORMAT, "character map: a trie of %u bytes in a map of %u bytes", n_trie, bytes.n);
    m->units = data + 4;
    m->n_units = n_trie / 4;
    m->texts = bytes.s + 4 + n_trie;
    m->n_texts = bytes.n - 4 - n_trie;
    if (m->n_texts > 0 && m->texts[m->n_texts - 1] == '\0') return RN_OK;
    return fail(err, RN_E_FORMAT, "character map: its last text is not terminated");
}

static uint32_t children_of(uint32_t unit) { return (unit >> 10) << ((unit & 0x200) >> 6); }

static bool take_value(const struct charsmap *m, uint32_t at, struct vocab_str *to) {
    if (at >= m->n_units) return false;
    const uint32_t value = read_u32(m->units + 4 * (size_t)at) & 0x7FFFFFFF;
    if (value >= m->n_texts) return false;
    to->s = m->texts + value;
    to->n = (uint32_t)strlen(to->s); // terminated: the last byte of the texts is zero
    return true;
}

size_t charsmap_find(const struct charsmap *m, const char *s, size_t n, bool longest, struct vocab_str *to) {
    size_t found = 0;
    if (m->n_units == 0) return 0;
    uint32_t at = children_of(read_u32(m->units));
    for (size_t i = 0; i < n; i++) {
        const uint8_t byte = (uint8_t)s[i];
        at ^= byte;
        if (byte == 0 || at >= m->n_units) break;
        const uint32_t unit = read_u32(m->units + 4 * (size_t)at);
        if ((unit & 0x800000FF) != byte) break;
        at ^= children_of(unit);
        if (unit & 0x100 && take_value(m, at, to)) {
            found = i + 1;
            if (!longest) break;
        }
    }
    return found;
}
