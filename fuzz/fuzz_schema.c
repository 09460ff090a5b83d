// fuzz/fuzz_schema.c - a JSON Schema, a zero byte, and a text: what is accepted is JSON, and no byte that may follow is a dead end.
#include "base/mem.h"
#include "formats/json/json_tree.h"
#include "grammar/automata.h"
#include "grammar/schema/schema.h"
#include "walk_package.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { MAX_EXPRS = 1 << 14, MAX_SEARCH = 500, MAX_NODES = 1 << 15, MAX_CONFIGS = 1 << 12, MAX_WALK = 200 };

// Follows bytes that may come next, chosen by the input: there is one, unless the text is whole.
static void walk(struct recognizer *p, const uint8_t *data, size_t n) {
    uint32_t config = p->first;
    for (size_t i = 0; i < n && i < MAX_WALK; i++) {
        uint32_t next[256];
        int n_next = 0;
        for (int b = 0; b < 256; b++) {
            const uint32_t to = recognizer_next(p, config, (uint8_t)b);
            must(to == CONFIG_DEAD || byte_set_has(recognizer_live(p, config), (uint8_t)b));
            if (to != CONFIG_DEAD) next[n_next++] = to;
        }
        if (p->e->status != RN_OK) return;
        must(n_next > 0 || recognizer_accepts(p, config));
        if (n_next == 0) return;
        config = next[data[i] % n_next];
    }
}

static void check_text(struct recognizer *p, const char *text, size_t n) {
    const uint32_t config = recognizer_read(p, p->first, text, n);
    struct json_tree tree = {0};
    rn_error err = {0};
    if (config == CONFIG_DEAD || !recognizer_accepts(p, config)) return;
    // Names that are not declared are not compared with each other.
    must(json_read(&tree, text, n, &err) == RN_OK || err.code == RN_E_LIMIT || strstr(err.text, "twice"));
    json_free(&tree);
}

static rn_status compile(struct rules *r, const void *source, uint32_t *start, rn_error *err) {
    return schema_compile(r, source, (struct json_texts){JSON_SPACE_FREE, true}, start, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    const uint8_t *const zero = n ? memchr(data, 0, n) : NULL;
    const size_t n_schema = zero ? (size_t)(zero - data) : n, n_text = zero ? n - n_schema - 1 : 0;
    const long live = mem_live();
    struct json_tree tree = {0};
    if (json_read(&tree, (const char *)data, n_schema, NULL) == RN_OK) {
        static const struct automata_limits limits = {MAX_EXPRS, MAX_NODES, MAX_SEARCH, MAX_CONFIGS};
        struct automata a;
        rn_error err = {0};
        const rn_status st = automata_make(&a, &limits, compile, &tree, &err);
        must(st == RN_OK || err.text[0]);
        if (st == RN_OK) {
            check_text(&a.recognizer, (const char *)data + n - n_text, n_text);
            walk(&a.recognizer, data, n);
        }
        automata_free(&a);
    }
    json_free(&tree);
    must(mem_live() == live);
    return 0;
}
