// tests/tokenizer/marked_test.c - texts put together from markup and content: control tokens only where the markup spells them, and else
// the ids of the whole text. Over the renderings of the shared vectors, with every vocabulary there.
#include "base/mem.h"
#include "formats/package.h"
#include "tests/check.h"
#include "tests/tokenizer/small_vocab.h"
#include "tokenizer/tokenizer.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static struct small_vocab sv; // the running test's

// In a row's text [ and ] enclose what is content; markup is the rest.
struct marked {
    char text[4096];
    size_t n, n_markup;
    struct text_range markup[64];
};
static void read_marks(const char *s, struct marked *m) {
    bool is_content = false;
    *m = (struct marked){0};
    for (; *s; s++) {
        if (*s == '[' || *s == ']') {
            is_content = *s == '[';
            continue;
        }
        if (!is_content) {
            if (m->n_markup == 0 || m->markup[m->n_markup - 1].end != m->n)
                m->markup[m->n_markup++] = (struct text_range){m->n, m->n};
            m->markup[m->n_markup - 1].end++;
        }
        m->text[m->n++] = *s;
    }
}

static void list_ids(const int32_t *ids, size_t n, char *out, size_t n_out) {
    size_t at = 0;
    *out = '\0';
    for (size_t i = 0; i < n && at + 16 < n_out; i++)
        at += (size_t)snprintf(out + at, n_out - at, i ? " %d" : "%d", ids[i]);
}

static void check_marked(const tokenizer *t, const char *why, const char *text, const char *want) {
    struct marked m;
    int32_t *ids = NULL;
    size_t n = 0;
    rn_error err = {0};
    char got[1024];
    read_marks(text, &m);
    check_note("%s: %s", why, text);
    if (!CHECK_OK(tokenizer_encode_marked(t, m.text, m.n, m.markup, m.n_markup, SIZE_MAX, &ids, &n, &err), &err))
        return;
    list_ids(ids, n, got, sizeof got);
    CHECK_STR(got, want);
    mem_free(ids);
}

// small_bpe(): a byte's id is the byte; 272 <s>, 276 <|im_start|>, 277 <|im_end|>, 280 <|assistant|>, 282 <|end|>.
TEST(field_2_7_content_never_spells_a_control_token) {
    static const struct {
        const char *why, *text, *want;
    } rows[] = {
        {"markup alone", "<|im_start|>a", "276 97"},
        {"content alone", "[<|im_end|>]", "60 124 105 109 95 266 100 124 62"},
        {"content between markup", "<|im_start|>[<s>]<|im_end|>", "276 60 115 62 277"},
        {"a spelling that markup begins and content ends", "<|im_[end|>]", "60 124 105 109 95 266 100 124 62"},
        {"a spelling that content begins and markup ends", "[<]s>", "60 115 62"},
        {"a spelling with content in its middle", "<[s]>", "60 115 62"},
        {"a spelling that content cuts in two", "<|im_[]start|>", "276"},
        {"text goes on over a border", "[t]he", "116 257"},
        {"text goes on over two", "t[h]e", "116 257"},
        {"a spelling behind content", "[a]<s>[b]", "97 272 98"},
        {"nothing", "", ""},
        {"empty content", "<s>[]<s>", "272 272"},
    };
    tokenizer *t = NULL;
    rn_error err = {0};
    small_bpe(&sv, "gpt-2");
    if (!CHECK_OK(tokenizer_create(&sv.v, &t, &err), &err)) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check_marked(t, rows[i].why, rows[i].text, rows[i].want);
    tokenizer_destroy(t);
}

// A longer control token that reaches into content gives way to a shorter one that does not.
TEST(the_longest_spelling_that_lies_in_the_markup_counts) {
    tokenizer *t = NULL;
    rn_error err = {0};
    small_bpe(&sv, "gpt-2");
    sv.tokens[286].text = str_of("<s>>"); // beside 272 <s>
    sv.tokens[287] = (struct vocab_token){str_of("<u>"), 0, TOKEN_USER_DEFINED};
    if (!CHECK_OK(tokenizer_create(&sv.v, &t, &err), &err)) return;
    check_marked(t, "both in markup", "<s>>", "286");
    check_marked(t, "the longer one ends in content", "<s>[>]", "272 62");
    check_marked(t, "user-defined tokens count everywhere", "[<u><s>]<u>", "287 60 115 62 287");
    check_marked(t, "and over borders", "<[u]>", "287");
    tokenizer_destroy(t);
}

// ---- spellings that are looked for behind the normalizer -------------------------------------------------------------

static void lowercase_first(const struct norm_step *step) {
    small_bpe(&sv, "gpt-2");
    for (int32_t i = 272; i < 288; i++) sv.tokens[i].flags = TOKEN_IN_NORMALIZED;
    sv.v.norms = step;
    sv.v.n_norms = sv.v.n_norms_before = 1;
}

TEST(control_tokens_of_rewritten_text_count_in_the_markup_alone) {
    static const struct norm_step lower = {.kind = NORM_LOWERCASE};
    tokenizer *t = NULL;
    rn_error err = {0};
    lowercase_first(&lower);
    if (!CHECK_OK(tokenizer_create(&sv.v, &t, &err), &err)) return;
    check_marked(t, "content without a spelling", "<S>[T]HE", "272 116 257");
    check_marked(t, "content that is one when rewritten", "<s>[<S>]t", "272 60 115 62 116");
    check_marked(t, "one that reaches into content", "<s>a<[S]>", "272 97 60 115 62");
    check_marked(t, "before the first markup", "[<S>]<S>", "60 115 62 272");
    tokenizer_destroy(t);
}

// ---- renderings of published templates ------------------------------------------------------------------------------

struct vocab_files {
    package *p;
    tokenizer *t;
};

static bool open_vocab(const char *name, struct vocab_files *f) {
    char rel[128], path[512], command[1200];
    rn_error err = {0};
    snprintf(rel, sizeof rel, "vectors/tokenizers/%s/vocab.gguf.gz", name);
    const char *packed = shared_path(rel);
    *f = (struct vocab_files){0};
    if (!packed) return test_skip("no shared material: set RUNNEL_SHARED"), false;
    snprintf(path, sizeof path, "%s/%s.gguf", temp_dir(), name);
    snprintf(command, sizeof command, "gzip -dc '%s' > '%s'", packed, path);
    if (system(command) != 0) return test_skip("no gzip"), false;
    const struct package_options opt = {.load = FILE_LOAD_READ};
    const bool ok = CHECK_OK(package_open(path, &opt, &f->p, &err), &err) &&
                    CHECK_OK(tokenizer_create(package_vocab(f->p), &f->t, &err), &err);
    remove(path);
    return ok;
}

// What the messages say, found in the rendering in their order, is content. None of it spells a control token of these vocabularies.
static size_t mark_contents(const json_t *messages, const char *text, size_t n, struct text_range *markup) {
    size_t n_markup = 0, at = 0, i;
    const json_t *m;
    json_array_foreach(messages, i, m) {
        const json_t *content = json_object_get(m, "content");
        const char *said = json_string_value(content);
        const char *found = said && *said ? memmem(text + at, n - at, said, json_string_length(content)) : NULL;
        if (!found) continue;
        const size_t begin = (size_t)(found - text);
        if (begin > at) markup[n_markup++] = (struct text_range){at, begin};
        at = begin + json_string_length(content);
    }
    if (at < n) markup[n_markup++] = (struct text_range){at, n};
    return n_markup;
}

static void compare(const tokenizer *t, const json_t *messages, const char *text, size_t n) {
    struct text_range markup[64];
    const size_t n_markup = mark_contents(messages, text, n, markup);
    int32_t *whole = NULL, *marked = NULL;
    size_t n_whole = 0, n_marked = 0;
    rn_error err = {0};
    if (CHECK_OK(tokenizer_encode(t, text, n, false, true, &whole, &n_whole, NULL, &err), &err) &&
        CHECK_OK(tokenizer_encode_marked(t, text, n, markup, n_markup, SIZE_MAX, &marked, &n_marked, &err), &err)) {
        check_note("rendering %.200s", text);
        if (CHECK_INT(n_marked, n_whole)) CHECK_MEM(marked, whole, n_whole * sizeof *whole);
    }
    mem_free(whole);
    mem_free(marked);
}

static int compare_all(const tokenizer *t, const json_t *contexts) {
    size_t n_file = 0;
    int n = 0;
    char *all = (char *)read_file(shared_path("vectors/templates/cases.jsonl"), &n_file);
    for (char *line = all, *end; line && (end = strchr(line, '\n')) != NULL; line = end + 1) {
        json_t *c = json_loadb(line, (size_t)(end - line), JSON_ALLOW_NUL, NULL);
        const char *const name = json_string_value(json_object_get(c, "context"));
        const json_t *const text = json_object_get(c, "output");
        const json_t *const messages = json_object_get(json_object_get(contexts, name), "messages");
        if (text && messages) {
            compare(t, messages, json_string_value(text), json_string_length(text));
            n++;
        }
        json_decref(c);
    }
    free(all);
    return n;
}

TEST(renderings_get_the_ids_of_the_whole_text_in_every_vocabulary) {
    static const char *const names[] = {"llama-2",    "phi-3",     "mistral-v3-spm", "gemma-3",        "gemma-4",
                                        "gpt-2",      "smollm2",   "llama-3",        "mistral-tekken", "qwen2",
                                        "starcoder2", "command-r", "falcon",         "deepseek-coder", "deepseek-llm",
                                        "cl100k",     "o200k"};
    const char *path = shared_path("vectors/templates/contexts.json");
    if (!path) {
        test_skip("no shared material: set RUNNEL_SHARED");
        return;
    }
    json_t *contexts = json_load_file(path, 0, NULL);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct vocab_files f;
        if (open_vocab(names[i], &f)) CHECK(compare_all(f.t, contexts) > 2000);
        tokenizer_destroy(f.t);
        package_close(f.p);
    }
    json_decref(contexts);
}

// ---- memory ---------------------------------------------------------------------------------------------------------

static rn_status encode_rewritten(void *user) {
    struct marked m;
    int32_t *ids = NULL;
    size_t n = 0;
    read_marks("<s>[<S>]the <|im_end|>[a]", &m);
    const rn_status st = tokenizer_encode_marked(user, m.text, m.n, m.markup, m.n_markup, SIZE_MAX, &ids, &n, NULL);
    mem_free(ids);
    return st;
}

TEST(each_failed_allocation_of_marked_text_is_reported_and_leaks_nothing) {
    static const struct norm_step lower = {.kind = NORM_LOWERCASE};
    tokenizer *t = NULL;
    rn_error err = {0};
    lowercase_first(&lower);
    if (CHECK_OK(tokenizer_create(&sv.v, &t, &err), &err))
        check_each_failed_allocation(encode_rewritten, t, __FILE__, __LINE__);
    tokenizer_destroy(t);
}
