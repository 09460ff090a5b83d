// fuzz/fuzz_output_parser.c - a model's output in random pieces: the pieces never show, and nothing is lost but tags.
//
// The first byte chooses the format, the second where the prompt ends (nowhere, or in one of the format's tags) and, with its highest bit,
// tools that declare types for some arguments.
#include "base/mem.h"
#include "output/output_formats.h"
#include "output/output_literal.h"
#include "output/output_tag.h"
#include "text/text_buf.h"
#include <stdlib.h>
#include <string.h>

#define MUST(c)                                                                                                      \
    do {                                                                                                             \
        if (!(c)) abort();                                                                                           \
    } while (0)

enum { MAX_TEXT = 2048, MAX_EXACT = 256, MAX_TAGS = 32 };

struct record {
    struct text_buf text;  // content and reasoning
    struct text_buf story; // everything, with a byte that no text holds where another part begins
    size_t call_at;        // where its arguments begin in the story
    int part;              // 0 content, 1 reasoning, 2 a call
    int n_calls, n_ended;
};

static const char *prompt_of(const output_format *f, uint8_t choice) {
    if (choice == 1 && f->reasoning[0].open) return f->reasoning[0].open;
    if (choice == 2 && f->reasoning[0].close) return f->reasoning[0].close;
    if (choice == 3 && f->framing[0] && !strchr(f->framing[0], '%')) return f->framing[0];
    return "";
}

// Whole arguments are one JSON object; what reads values says so of its own output.
static void check_arguments(const char *s, size_t n) {
    struct literal l;
    struct literal_out out;
    literal_begin(&l, &LITERAL_JSON);
    for (size_t i = 0; i < n; i++) {
        enum literal_result r = LITERAL_AGAIN;
        while (r == LITERAL_AGAIN) r = literal_step(&l, (unsigned char)s[i], &out);
        MUST(r != LITERAL_BAD && (r == LITERAL_DONE) == (i + 1 == n));
    }
    MUST(n >= 2 && s[0] == '{');
}

static void part_begins(struct record *r, int part) {
    const char mark = (char)(0xf8 + part);
    if (r->part != part) text_buf_add(&r->story, &mark, 1);
    r->part = part;
}

static void note(void *user, const struct output_event *e) {
    struct record *const r = user;
    if (e->channel != OUTPUT_TOOL_CALL) {
        MUST(r->n_calls == r->n_ended && e->n_text && !e->name && !e->id && !e->ends && !e->broken && e->tool == -1);
        part_begins(r, e->channel == OUTPUT_REASONING);
        text_buf_add(&r->story, e->text, e->n_text);
        return text_buf_add(&r->text, e->text, e->n_text);
    }
    if (e->name) {
        MUST(r->n_calls++ == r->n_ended && *e->name);
        r->part = -1;
        part_begins(r, 2);
        text_buf_add(&r->story, e->name, strlen(e->name));
        part_begins(r, 3);
        r->call_at = r->story.n;
    }
    MUST(e->tool == r->n_calls - 1 && r->n_ended < r->n_calls && (e->ends || !e->broken));
    text_buf_add(&r->story, e->text, e->n_text);
    if (!e->ends) return;
    if (!e->broken) check_arguments(r->story.s + r->call_at, r->story.n - r->call_at);
    r->n_ended++;
    part_begins(r, e->broken ? 4 : 5);
}

// Types that follow from the names: a place is a set of them.
static const char places[OUTPUT_ANY + 1];
static struct output_place place_of(const char *name, size_t n) {
    unsigned hash = 0;
    for (size_t i = 0; i < n; i++) hash = hash * 31 + (unsigned char)name[i];
    return (struct output_place){places, hash % 5 ? &places[hash & OUTPUT_ANY] : NULL};
}
static struct output_place arguments_of(const void *user, const char *tool, size_t n) {
    MUST(user == places && n > 0);
    return place_of(tool, n);
}
static struct output_place part_of(struct output_place of, const char *name, size_t n) {
    MUST(of.root == places && of.at);
    return name ? place_of(name, n) : of;
}
static unsigned types_at(struct output_place at) { return (unsigned)((const char *)at.at - places); }
static const struct output_tools declared = {places, arguments_of, part_of, types_at};

static void run(struct record *r, const output_format *f, const struct output_tools *tools, const char *prompt,
                const uint8_t *s, size_t n, bool whole) {
    output_parser *p = NULL;
    MUST(output_parser_create(f, tools, prompt, strlen(prompt), &p, NULL) == RN_OK);
    for (size_t i = 0; i < n;) { // a piece is as long as its first byte says
        const size_t want = whole ? n : 1 + (size_t)(s[i] & 15), len = want < n - i ? want : n - i;
        MUST(output_parser_push(p, (const char *)s + i, len, note, r, NULL) == RN_OK);
        i += len;
    }
    MUST(output_parser_finish(p, note, r, NULL) == RN_OK);
    MUST(r->n_calls == r->n_ended && !r->text.failed && !r->story.failed);
    output_parser_destroy(p);
}

static size_t tags_of(const output_format *f, const char **tags) {
    size_t n = 0;
    for (int i = 0; i < FORMAT_BLOCKS && f->reasoning[i].open; i++)
        tags[n++] = f->reasoning[i].open, tags[n++] = f->reasoning[i].close;
    for (int i = 0; i < FORMAT_TAGS && f->framing[i]; i++) tags[n++] = f->framing[i];
    return n;
}

// Where the tags end that begin at `at`.
static size_t tag_ends(const output_format *f, const char *s, size_t n, size_t at, size_t ends[MAX_TAGS]) {
    const char *tags[MAX_TAGS];
    const size_t n_tags = tags_of(f, tags);
    size_t n_ends = 0;
    for (size_t t = 0; t < n_tags; t++) {
        struct tag_match m;
        enum tag_result r = TAG_MORE;
        tag_begin(&m, tags[t], NULL);
        for (size_t i = at; i < n && r == TAG_MORE; i++)
            if ((r = tag_step(&m, (unsigned char)s[i], i)) == TAG_DONE) ends[n_ends++] = i + 1;
    }
    return n_ends;
}

// Content and reasoning are bytes of the output, in its order.
static void check_order(const uint8_t *s, size_t n, const char *got, size_t n_got) {
    size_t k = 0;
    for (size_t i = 0; i < n && k < n_got; i++) k += s[i] == (uint8_t)got[k];
    MUST(k == n_got);
}

// Where no call was read, the output is what came out, with tags and white space between.
static void check_nothing_lost(const output_format *f, const char *s, size_t n, const char *got, size_t n_got) {
    static bool may[MAX_EXACT + 1][MAX_EXACT + 1]; // may[i][k]: s[0..i) can have given got[0..k)
    for (size_t i = 0; i <= n; i++) memset(may[i], 0, n_got + 1);
    may[0][0] = true;
    for (size_t i = 0; i < n; i++) {
        size_t ends[MAX_TAGS];
        const size_t n_ends = tag_ends(f, s, n, i, ends);
        for (size_t k = 0; k <= n_got; k++) {
            if (!may[i][k]) continue;
            if (k < n_got && s[i] == got[k]) may[i + 1][k + 1] = true;
            if (is_space((unsigned char)s[i])) may[i + 1][k] = true;
            for (size_t e = 0; e < n_ends; e++) may[ends[e]][k] = true;
        }
    }
    MUST(may[n][n_got]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct record whole = {0}, pieces = {0};
    if (size < 2) return 0;
    const output_format *const f = output_format_at(data[0] % output_n_formats(), NULL);
    const char *const prompt = prompt_of(f, data[1] & 0x7f);
    const struct output_tools *const tools = data[1] & 0x80 ? &declared : NULL;
    const size_t n = size - 2 < MAX_TEXT ? size - 2 : MAX_TEXT;
    run(&whole, f, tools, prompt, data + 2, n, true);
    run(&pieces, f, tools, prompt, data + 2, n, false);
    MUST(whole.story.n == pieces.story.n && whole.n_calls == pieces.n_calls);
    MUST(whole.story.n == 0 || memcmp(whole.story.s, pieces.story.s, whole.story.n) == 0);
    check_order(data + 2, n, whole.text.s, whole.text.n);
    if (whole.n_calls == 0 && n <= MAX_EXACT)
        check_nothing_lost(f, (const char *)data + 2, n, whole.text.s, whole.text.n);
    text_buf_free(&whole.text);
    text_buf_free(&whole.story);
    text_buf_free(&pieces.text);
    text_buf_free(&pieces.story);
    MUST(mem_live() == 0);
    return 0;
}
