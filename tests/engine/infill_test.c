// tests/engine/infill_test.c - prompts with a hole: the tokens and orders of model families, what is left out, what is refused.
#include "base/mem.h"
#include "engine/engine.h"
#include "fixture.h"
#include "tests/support/gguf_builder.h"
#include "tests/support/tiny_model.h"
#include <stdio.h>

#define BAR   "\xef\xbd\x9c"
#define BLANK "\xe2\x96\x81"

// A vocabulary of SentencePiece's kind: its bytes, some pieces, then the tokens of a family.
static const char *const pieces[] = {"<unk>", "<s>", "</s>"};
static const char *const words[] = {BLANK, "a", "b", "z", "x", BLANK "a", "ab", "/", "n", "f", "t", "y", ".", "c"};
enum {
    N_PIECES = 3,
    N_WORDS = sizeof words / sizeof *words,
    FIRST_WORD = N_PIECES + 256,
    FIRST_MARK = FIRST_WORD + N_WORDS
};

struct key {
    const char *name;
    int token; // of the family's
};
struct made {
    rn_model *m;
    char path[300];
};

// marks: up to 8, ended by NULL; keys: ended by {0}.
static bool write_model(struct made *x, const char *const *marks, const struct key *keys, bool is_spm) {
    struct gguf_builder b;
    const char *tokens[FIRST_MARK + 8];
    char bytes[256][8];
    int32_t kinds[FIRST_MARK + 8];
    float scores[FIRST_MARK + 8];
    size_t n = 0, n_file = 0;
    for (int i = 0; i < N_PIECES; i++) kinds[n] = i == 0 ? 2 : 3, tokens[n++] = pieces[i];
    for (int i = 0; i < 256; i++) {
        snprintf(bytes[i], sizeof bytes[i], "<0x%02X>", i);
        kinds[n] = 6, tokens[n++] = bytes[i];
    }
    for (int i = 0; i < N_WORDS; i++) kinds[n] = 1, tokens[n++] = words[i];
    for (int i = 0; marks[i]; i++) kinds[n] = 3, tokens[n++] = marks[i];
    for (size_t i = 0; i < n; i++) scores[i] = -(float)i;
    gb_begin(&b, 3);
    gb_str(&b, "general.architecture", "llama");
    gb_str(&b, "tokenizer.ggml.model", "llama");
    gb_str_array(&b, "tokenizer.ggml.tokens", tokens, n);
    gb_array(&b, "tokenizer.ggml.scores", GB_F32, scores, n, sizeof *scores);
    gb_array(&b, "tokenizer.ggml.token_type", GB_I32, kinds, n, sizeof *kinds);
    gb_u32(&b, "tokenizer.ggml.bos_token_id", 1);
    gb_u32(&b, "tokenizer.ggml.eos_token_id", 2);
    gb_bool(&b, "tokenizer.ggml.add_space_prefix", is_spm);
    for (; keys && keys->name; keys++) gb_u32(&b, keys->name, (uint32_t)(FIRST_MARK + keys->token));
    uint8_t *const file = gb_finish(&b, &n_file);
    snprintf(x->path, sizeof x->path, "%s/infill.gguf", temp_dir());
    FILE *const f = fopen(x->path, "wb");
    const bool ok = CHECK(f != NULL) && CHECK_INT(fwrite(file, 1, n_file, f), n_file) && CHECK(fclose(f) == 0);
    free(file);
    return ok;
}

static bool make(struct made *x, const char *const *marks, const struct key *keys, bool is_spm) {
    rn_error err = {0};
    return write_model(x, marks, keys, is_spm) && CHECK_OK(rn_model_open(x->path, NULL, &x->m, &err), &err);
}

static void drop(struct made *x) {
    rn_model_close(x->m);
    remove(x->path);
}

static rn_infill of(const char *prefix, const char *suffix) {
    rn_infill in;
    rn_infill_init(&in);
    in.prefix = prefix, in.n_prefix = strlen(prefix);
    in.suffix = suffix, in.n_suffix = strlen(suffix);
    return in;
}

// The texts of the prompt's tokens.
static char *spelled(const rn_model *m, const rn_infill *in, rn_infill_prompt *p) {
    const struct vocab_token *const tokens = package_vocab(m->pkg)->tokens;
    char *const text = mem_calloc(1, 4096);
    rn_error err = {0};
    *p = (rn_infill_prompt){sizeof *p};
    if (!CHECK_OK(rn_infill_make(m, in, p, &err), &err)) return text;
    for (size_t i = 0, n = 0; i < p->n_ids; i++) {
        const struct vocab_token *const t = &tokens[p->ids[i]];
        const bool is_byte = t->kind == TOKEN_BYTE;
        const char byte = (char)(p->ids[i] - N_PIECES);
        n += (size_t)snprintf(text + n, 4096 - n, "%.*s", is_byte ? 1 : (int)t->text.n, is_byte ? &byte : t->text.s);
    }
    return text;
}

static void check_text(const rn_model *m, const rn_infill *in, const char *want) {
    rn_infill_prompt p;
    char *const text = spelled(m, in, &p);
    CHECK_STR(text, want);
    mem_free(text);
    mem_free(p.ids);
}

static void check_orders(const char *const *marks, const struct key *keys, const char *family, rn_infill_order order,
                         const char *psm, const char *spm, bool is_spm, size_t n_stops) {
    struct made x;
    rn_infill in = of("ab", "z");
    rn_infill_prompt p;
    check_note("%s", family);
    if (!make(&x, marks, keys, is_spm)) return;
    char *text = spelled(x.m, &in, &p);
    CHECK_STR(text, order == RN_INFILL_PSM ? psm : spm);
    CHECK_STR(p.family ? p.family : "", family);
    CHECK_INT(p.order, order);
    CHECK_INT(p.n_stop_tokens, n_stops);
    CHECK_INT(p.n_left_out, 0);
    mem_free(text), mem_free(p.ids);
    in.order = RN_INFILL_PSM;
    check_text(x.m, &in, psm);
    in.order = RN_INFILL_SPM;
    check_text(x.m, &in, spm);
    drop(&x);
}

TEST(each_family_has_the_order_in_which_it_was_published) {
    const char *const qwen[] =
        {"<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>", NULL},
                      *const gemma[] = {"<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|file_separator|>",
                                        NULL},
                      *const star[] = {"<fim_prefix>", "<fim_middle>", "<fim_suffix>", "<reponame>", NULL},
                      *const santa[] = {"<fim-prefix>", "<fim-middle>", "<fim-suffix>", NULL},
                      *const deepseek[] = {"<" BAR "fim" BLANK "hole" BAR ">", "<" BAR "fim" BLANK "begin" BAR ">",
                                           "<" BAR "fim" BLANK "end" BAR ">", NULL},
                      *const code_llama[] = {BLANK "<PRE>", BLANK "<MID>", BLANK "<SUF>", BLANK "<EOT>", NULL},
                      *const codestral[] = {"[SUFFIX]", "[PREFIX]", "[MIDDLE]", NULL},
                      *const seed[] = {"<[fim-suffix]>", "<[fim-prefix]>", "<[fim-middle]>", NULL},
                      *const glm[] = {"<|code_prefix|>", "<|code_middle|>", "<|code_suffix|>", NULL};
    check_orders(qwen, NULL, "Qwen Coder", RN_INFILL_PSM, "<s><|fim_prefix|>ab<|fim_suffix|>z<|fim_middle|>",
                 "<s><|fim_suffix|>z<|fim_prefix|>ab<|fim_middle|>", false, 6);
    check_orders(gemma, NULL, "CodeGemma", RN_INFILL_PSM, "<s><|fim_prefix|>ab<|fim_suffix|>z<|fim_middle|>",
                 "<s><|fim_suffix|>z<|fim_prefix|>ab<|fim_middle|>", false, 4);
    check_orders(star, NULL, "StarCoder, Granite Code", RN_INFILL_PSM, "<s><fim_prefix>ab<fim_suffix>z<fim_middle>",
                 "<s><fim_prefix><fim_suffix>z<fim_middle>ab", false, 4);
    check_orders(santa, NULL, "SantaCoder, Refact", RN_INFILL_PSM, "<s><fim-prefix>ab<fim-suffix>z<fim-middle>",
                 "<s><fim-prefix><fim-suffix>z<fim-middle>ab", false, 3);
    check_orders(
        deepseek, NULL, "DeepSeek Coder", RN_INFILL_PSM,
        "<s><" BAR "fim" BLANK "begin" BAR ">ab<" BAR "fim" BLANK "hole" BAR ">z<" BAR "fim" BLANK "end" BAR ">",
        "<s><" BAR "fim" BLANK "hole" BAR ">z<" BAR "fim" BLANK "begin" BAR ">ab<" BAR "fim" BLANK "end" BAR ">",
        false, 3);
    // Code Llama's space stands before the prefix alone, Codestral's too.
    check_orders(code_llama, NULL, "Code Llama", RN_INFILL_PSM,
                 "<s>" BLANK "<PRE>" BLANK "ab" BLANK "<SUF>z" BLANK "<MID>",
                 "<s>" BLANK "<PRE>" BLANK "<SUF>z" BLANK "<MID>" BLANK "ab", true, 4);
    check_orders(codestral, NULL, "Codestral", RN_INFILL_SPM, "<s>[PREFIX]" BLANK "ab[SUFFIX]z[MIDDLE]",
                 "<s>[SUFFIX]z[PREFIX]" BLANK "ab", true, 3);
    check_orders(seed, NULL, "Seed-Coder", RN_INFILL_SPM, "<s><[fim-prefix]>ab<[fim-suffix]>z<[fim-middle]>",
                 "<s><[fim-suffix]>z<[fim-prefix]>ab<[fim-middle]>", false, 3);
    check_orders(glm, NULL, "CodeGeeX, GLM", RN_INFILL_SPM, "<s><|code_prefix|>ab<|code_suffix|>z<|code_middle|>",
                 "<s><|code_suffix|>z<|code_prefix|>ab<|code_middle|>", false, 3);
}

TEST(tokens_that_a_file_names_come_first) {
    const char *const own[] = {"<p>", "<s2>", "<m>", "<end>", NULL}, *const both[] = {"<fim_prefix>",
                                                                                      "<fim_suffix>",
                                                                                      "<fim_middle>",
                                                                                      "[PREFIX]",
                                                                                      "[SUFFIX]",
                                                                                      "[MIDDLE]",
                                                                                      NULL};
    const struct key new_keys[] = {{"tokenizer.ggml.fim_pre_token_id", 0},
                                   {"tokenizer.ggml.fim_suf_token_id", 1},
                                   {"tokenizer.ggml.fim_mid_token_id", 2},
                                   {"tokenizer.ggml.fim_pad_token_id", 3},
                                   {0}},
                     old_keys[] = {{"tokenizer.ggml.prefix_token_id", 0},
                                   {"tokenizer.ggml.suffix_token_id", 1},
                                   {"tokenizer.ggml.middle_token_id", 2},
                                   {0}},
                     prefix[] = {{"tokenizer.ggml.fim_pre_token_id", 3}, {0}},
                     outside[] = {{"tokenizer.ggml.fim_pre_token_id", 9}, {0}};
    check_orders(own, new_keys, "unknown", RN_INFILL_PSM, "<s><p>ab<s2>z<m>", "<s><s2>z<p>ab<m>", false, 4);
    check_orders(own, old_keys, "unknown", RN_INFILL_PSM, "<s><p>ab<s2>z<m>", "<s><s2>z<p>ab<m>", false, 3);
    // A key chooses among the families whose spellings there are.
    check_orders(both, NULL, "StarCoder 2", RN_INFILL_PSM, "<s><fim_prefix>ab<fim_suffix>z<fim_middle>",
                 "<s><fim_prefix><fim_suffix>z<fim_middle>ab", false, 3);
    check_orders(both, prefix, "Codestral", RN_INFILL_SPM, "<s>[PREFIX]ab[SUFFIX]z[MIDDLE]", "<s>[SUFFIX]z[PREFIX]ab",
                 false, 3);
    struct made x = {0};
    rn_error err = {0};
    if (!write_model(&x, own, outside, false)) return;
    CHECK_INT(rn_model_open(x.path, NULL, &x.m, &err), RN_E_FORMAT);
    CHECK(strstr(err.text, "tokenizer.ggml.fim_pre_token_id") != NULL);
    drop(&x);
}

TEST(the_repository_stands_in_front) {
    const char *const qwen[] = {"<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>",
                                "<|repo_name|>",  "<|file_sep|>",   NULL},
                      *const star[] = {"<fim_prefix>", "<fim_middle>", "<fim_suffix>",
                                       "<repo_name>",  "<file_sep>",   NULL},
                      *const plain[] = {"<fim-prefix>", "<fim-middle>", "<fim-suffix>", NULL};
    const rn_infill_file files[] = {{"a.c", "x", 3, 1}, {NULL, "y", 0, 1}};
    struct made x;
    rn_infill in = of("ab", "z"), alone = in;
    in.files = files, in.n_files = 2;
    alone.middle = "x", alone.n_middle = 1;
    if (make(&x, qwen, NULL, false)) {
        check_text(x.m, &in,
                   "<s><|repo_name|>myproject\n<|file_sep|>a.c\nx<|file_sep|>tmp\ny<|file_sep|>filename\n"
                   "<|fim_prefix|>ab<|fim_suffix|>z<|fim_middle|>");
        in.repo_name = "cab", in.n_repo_name = 3, in.file_name = "b.c", in.n_file_name = 3, in.n_files = 0;
        check_text(x.m, &in, "<s><|repo_name|>cab\n<|file_sep|>b.c\n<|fim_prefix|>ab<|fim_suffix|>z<|fim_middle|>");
        check_text(x.m, &alone, "<s><|fim_prefix|>abx<|fim_suffix|>z<|fim_middle|>");
        in.n_files = 2;
        drop(&x);
    }
    if (make(&x, star, NULL, false)) { // the file's name is a part of its prefix
        check_text(x.m, &in,
                   "<s><repo_name>cab<file_sep>a.c\nx<file_sep>tmp\ny<file_sep><fim_prefix>b.c\nab<fim_suffix>z"
                   "<fim_middle>");
        drop(&x);
    }
    if (make(&x, plain, NULL, false)) {
        check_text(x.m, &in,
                   "<s>\n\n---" BLANK "snippet" BLANK "---\n\nx\n\n---" BLANK "snippet" BLANK
                   "---\n\ny<fim-prefix>ab<fim-suffix>z<fim-middle>");
        drop(&x);
    }
}

// Every limit: the prompt has no more ids, the ids that remain are those next to the hole, and nothing is left out without need.
TEST(what_has_no_room_is_left_out_from_the_far_ends) {
    const char *const qwen[] = {"<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>",
                                "<|repo_name|>",  "<|file_sep|>",   NULL};
    static const char prefix[] = "abxzabxzabxzabxz", suffix[] = "zyzyzyzyzyzy";
    const rn_infill_file file = {"a.c", "xyz", 3, 3};
    struct made x;
    rn_infill in = of(prefix, suffix);
    rn_infill_prompt all;
    in.files = &file, in.n_files = 1;
    if (!make(&x, qwen, NULL, false)) return;
    char *text = spelled(x.m, &in, &all);
    mem_free(text);
    in.files = NULL, in.n_files = 0;
    rn_infill_prompt bare;
    text = spelled(x.m, &in, &bare);
    mem_free(text);
    in.files = &file, in.n_files = 1;
    const size_t n_tokens = 4; // <s> and the three of the hole
    for (size_t most = 1; most <= all.n_ids; most++) {
        rn_infill_prompt p = {sizeof p};
        rn_error err = {0};
        in.max_ids = most;
        const rn_status st = rn_infill_make(x.m, &in, &p, &err);
        check_note("max_ids %zu", most);
        if (most <= n_tokens) {
            CHECK_INT(st, RN_E_LIMIT);
            CHECK(strstr(err.text, "no room for prefix and suffix") != NULL && !p.ids);
            continue;
        }
        if (!CHECK_OK(st, &err)) continue;
        CHECK_INT(p.n_ids, most);
        CHECK_INT(p.n_ids + p.n_left_out, all.n_ids);
        CHECK_INT(p.ids[0], 1);
        if (most >= bare.n_ids) { // the end of what is in front, then all of the rest
            CHECK_MEM(p.ids + most - (bare.n_ids - 1), bare.ids + 1, (bare.n_ids - 1) * sizeof *p.ids);
            CHECK_MEM(p.ids + 1, all.ids + all.n_ids - (most - 1), (most - bare.n_ids) * sizeof *p.ids);
            mem_free(p.ids);
            continue;
        }
        size_t at_suffix = 1;
        while (p.ids[at_suffix] != FIRST_MARK + 2) at_suffix++;
        const size_t n_prefix = at_suffix - 2, n_suffix = most - at_suffix - 2;
        size_t whole_prefix = 0;
        while (bare.ids[2 + whole_prefix] != FIRST_MARK + 2) whole_prefix++;
        CHECK_INT(p.ids[1], FIRST_MARK);
        CHECK_MEM(p.ids + 2, bare.ids + 2 + whole_prefix - n_prefix, n_prefix * sizeof *p.ids);  // its end
        CHECK_MEM(p.ids + at_suffix + 1, bare.ids + 3 + whole_prefix, n_suffix * sizeof *p.ids); // its beginning
        const size_t n_left = most - n_tokens, share = n_left * 3 / 4;
        CHECK_INT(n_prefix + n_suffix, n_left);
        CHECK(n_prefix >= (share < whole_prefix ? share : whole_prefix));
        CHECK(n_prefix <= share || n_suffix == sizeof suffix - 1);
        mem_free(p.ids);
    }
    mem_free(all.ids), mem_free(bare.ids);
    drop(&x);
}

TEST(an_order_whose_tokens_are_missing_is_refused) {
    const char *const codestral[] = {"[SUFFIX]", "[PREFIX]", NULL};
    struct made x;
    rn_infill in = of("ab", "z");
    rn_infill_prompt p = {sizeof p};
    rn_error err = {0};
    if (!make(&x, codestral, NULL, false)) return;
    check_text(x.m, &in, "<s>[SUFFIX]z[PREFIX]ab");
    in.order = RN_INFILL_PSM;
    CHECK_INT(rn_infill_make(x.m, &in, &p, &err), RN_E_UNSUPPORTED);
    CHECK_STR(err.text,
              "infill: order psm needs a token where the middle begins, and Codestral's vocabulary has none");
    CHECK(!p.ids);
    drop(&x);
}

TEST(what_cannot_be_made_is_refused_by_name) {
    struct fixture f = {0};
    rn_error err = {0};
    rn_infill in = of("a", "b");
    rn_infill_prompt p = {sizeof p};
    if (!CHECK_OK(rn_model_open(stories(), NULL, &f.model, &err), &err)) return;
    CHECK_INT(rn_infill_make(f.model, &in, &p, &err), RN_E_UNSUPPORTED);
    CHECK(strstr(err.text, "tokenizer.ggml.fim_pre_token_id") && strstr(err.text, "<|fim_prefix|>, <fim_prefix>, ") &&
          strstr(err.text, "[PREFIX], <[fim-prefix]>, <|code_prefix|>"));
    CHECK_INT(rn_infill_make(f.model, NULL, &p, &err), RN_E_ARG);
    in.prefix = NULL;
    CHECK_INT(rn_infill_make(f.model, &in, &p, &err), RN_E_ARG);
    in.n_prefix = 0, in.order = (rn_infill_order)3;
    CHECK_INT(rn_infill_make(f.model, &in, &p, &err), RN_E_ARG);
    CHECK_STR(err.text, "order: 3 is unknown");
    in.order = RN_INFILL_PSM, in.files = &(rn_infill_file){0}, in.n_files = 1025;
    CHECK_INT(rn_infill_make(f.model, &in, &p, &err), RN_E_ARG);
    CHECK_STR(err.text, "files: 1025, limit 1024");
    fixture_close(&f);
}
