// tests/engine/chat_template_test.c - chat templates behind the public API: those that are brought, and all published ones of the
// shared vectors, through contexts and through conversations.
#include "base/mem.h"
#include "chat_fixture.h"
#include "engine/chat/chat.h"
#include "formats/package.h"

// ---- built-in ones --------------------------------------------------------------------------------------------------

static const char talk[] =
    "{\"messages\": [{\"role\": \"system\", \"content\": \"S\"}, {\"role\": \"user\", \"content\": \"A\"}, "
    "{\"role\": \"assistant\", \"content\": \"B\"}, {\"role\": \"user\", \"content\": [{\"type\": "
    "\"text\", \"text\": \"C\"}]}], \"add_generation_prompt\": true, \"bos_token\": \"<s>\", "
    "\"eos_token\": \"</s>\"}";

static bool render_text(const rn_template *t, const char *context, char *out, size_t n_room, rn_error *err) {
    rn_rendering *r = NULL;
    size_t n;
    if (rn_template_render(t, context, strlen(context), 0, &r, err) != RN_OK) return false;
    const char *const text = rn_rendering_text(r, &n);
    snprintf(out, n_room, "%.*s", (int)n, text);
    rn_rendering_free(r);
    return true;
}

TEST(built_in_templates_write_the_formats_as_published) {
    static const struct {
        const char *name, *want;
    } rows[] = {
        {"chatml",
         "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nA<|im_end|>\n<|im_start|>assistant\nB<|im_end|>\n"
         "<|im_start|>user\nC<|im_end|>\n<|im_start|>assistant\n"},
        {"llama-2", "<s>[INST] <<SYS>>\nS\n<</SYS>>\n\nA [/INST] B </s><s>[INST] C [/INST]"},
        {"llama-3",
         "<s><|start_header_id|>system<|end_header_id|>\n\nS<|eot_id|><|start_header_id|>user<|end_header_id|>"
         "\n\nA<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nB<|eot_id|><|start_header_id|>user"
         "<|end_header_id|>\n\nC<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
        {"llama-4",
         "<s><|header_start|>system<|header_end|>\n\nS<|eot|><|header_start|>user<|header_end|>\n\nA<|eot|>"
         "<|header_start|>assistant<|header_end|>\n\nB<|eot|><|header_start|>user<|header_end|>\n\nC<|eot|>"
         "<|header_start|>assistant<|header_end|>\n\n"},
        {"mistral", "<s>[INST] S\n\nA[/INST] B</s>[INST] C[/INST]"},
        {"gemma",
         "<s><start_of_turn>user\nS\n\nA<end_of_turn>\n<start_of_turn>model\nB<end_of_turn>\n<start_of_turn>user\n"
         "C<end_of_turn>\n<start_of_turn>model\n"},
        {"phi-3",
         "<|system|>\nS<|end|>\n<|user|>\nA<|end|>\n<|assistant|>\nB<|end|>\n<|user|>\nC<|end|>\n<|assistant|>\n"},
        {"phi-4",
         "<|im_start|>system<|im_sep|>S<|im_end|><|im_start|>user<|im_sep|>A<|im_end|><|im_start|>assistant<|im_sep|>"
         "B<|im_end|><|im_start|>user<|im_sep|>C<|im_end|><|im_start|>assistant<|im_sep|>"},
        {"zephyr", "<|system|>\nS</s>\n<|user|>\nA</s>\n<|assistant|>\nB</s>\n<|user|>\nC</s>\n<|assistant|>\n"},
        {"vicuna", "<s>S USER: A ASSISTANT: B</s>USER: C ASSISTANT:"},
        {"alpaca", "<s>S\n\n### Instruction:\nA\n\n### Response:\nB\n\n### Instruction:\nC\n\n### Response:\n"},
        {"deepseek", "<s>S<｜User｜>A<｜Assistant｜>B</s><｜User｜>C<｜Assistant｜>"},
        {"command-r",
         "<s><|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>S<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|><|USER_TOKEN|>A"
         "<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>B<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|>"
         "<|USER_TOKEN|>C<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>"},
        {"granite",
         "<|start_of_role|>system<|end_of_role|>S<|end_of_text|>\n<|start_of_role|>user<|end_of_role|>A"
         "<|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>B<|end_of_text|>\n<|start_of_role|>user"
         "<|end_of_role|>C<|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>"},
    };
    CHECK_INT(rn_n_builtin_templates(), sizeof rows / sizeof *rows);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rn_template *t = NULL;
        rn_error err = {0};
        char got[2048] = "";
        const char *help = NULL;
        CHECK_STR(rn_builtin_template_name(i, &help), rows[i].name);
        CHECK(help && *help);
        if (!CHECK_OK(rn_template_builtin(rows[i].name, &t, &err), &err)) continue;
        check_note("%s", rows[i].name);
        CHECK(render_text(t, talk, got, sizeof got, &err));
        CHECK_STR(got, rows[i].want);
        CHECK_HAS(rn_template_origin(t), "built-in");
        CHECK(strlen(rn_template_source(t)) > 50);
        rn_template_close(t);
    }
    CHECK(rn_builtin_template_name(rn_n_builtin_templates(), NULL) == NULL);
}

TEST(built_in_templates_refuse_what_they_have_no_form_for) {
    for (size_t i = 0; i < rn_n_builtin_templates(); i++) {
        rn_template *t = NULL;
        rn_error err = {0};
        char got[64];
        if (!CHECK_OK(rn_template_builtin(rn_builtin_template_name(i, NULL), &t, &err), &err)) continue;
        check_note("%s", rn_builtin_template_name(i, NULL));
        CHECK(!render_text(t, "{\"messages\": [], \"tools\": [{}]}", got, sizeof got, &err));
        CHECK_STR(err.text, "tools: this built-in chat template has no form for them");
        rn_template_close(t);
    }
}

TEST(a_built_in_template_that_does_not_exist_is_refused_with_the_names) {
    rn_template *t = (rn_template *)&t;
    rn_error err = {0};
    CHECK_FAILS(rn_template_builtin("chat-ml", &t, &err), RN_E_ARG, &err);
    CHECK(t == NULL);
    CHECK_HAS(err.text, "no built-in one is called chat-ml; there are chatml, llama-2");
    CHECK_HAS(err.text, "granite");
}

TEST(null_arguments_are_refused_and_nothing_is_closed_twice) {
    rn_template *t = NULL;
    rn_rendering *r = NULL;
    CHECK(rn_template_compile(NULL, 1, NULL, &t, NULL) == RN_E_ARG);
    CHECK(rn_template_compile("", 0, NULL, NULL, NULL) == RN_E_ARG);
    CHECK(rn_template_builtin(NULL, &t, NULL) == RN_E_ARG);
    CHECK(rn_template_of_model(NULL, &t, NULL) == RN_E_ARG);
    CHECK(rn_template_render(NULL, "{}", 2, 0, &r, NULL) == RN_E_ARG);
    rn_template_close(NULL);
    rn_rendering_free(NULL);
    CHECK(rn_template_source(NULL) == NULL && rn_template_origin(NULL) == NULL);
    if (CHECK(rn_template_compile(NULL, 0, NULL, &t, NULL) == RN_OK)) CHECK_STR(rn_template_source(t), "");
    rn_template_close(t);
}

TEST(output_formats_are_named_with_their_help) {
    const char *help = NULL;
    bool has_none = false;
    CHECK(rn_n_output_formats() > 10);
    for (size_t i = 0; i < rn_n_output_formats(); i++) {
        const char *const name = rn_output_format_name(i, &help);
        CHECK(name && *name && help && *help);
        has_none |= strcmp(name, "none") == 0;
    }
    CHECK(has_none);
    CHECK(rn_output_format_name(rn_n_output_formats(), &help) == NULL);
}

static rn_status compile_and_render(void *user) {
    rn_template *t = NULL;
    rn_rendering *r = NULL;
    (void)user;
    rn_status st = rn_template_builtin("chatml", &t, NULL);
    if (st == RN_OK) st = rn_template_render(t, talk, strlen(talk), 0, &r, NULL);
    rn_rendering_free(r);
    rn_template_close(t);
    return st;
}

TEST(each_failed_allocation_of_a_rendering_is_reported_and_leaks_nothing) {
    check_each_failed_allocation(compile_and_render, NULL, __FILE__, __LINE__);
}

// ---- published ones -------------------------------------------------------------------------------------------------

enum { FRIDAY = 1751619906 }; // 2025-07-04 09:05:06 UTC, where the vectors' clock stands

struct vectors {
    json_t *contexts, *cases;
};

static json_t *read_lines(const char *path) {
    size_t n;
    json_t *const all = json_array();
    char *const text = (char *)read_file(path, &n);
    for (char *line = text, *end; line && (end = strchr(line, '\n')) != NULL; line = end + 1)
        json_array_append_new(all, json_loadb(line, (size_t)(end - line), JSON_ALLOW_NUL, NULL));
    free(text);
    return all;
}

static bool vectors_open(struct vectors *v) {
    const char *const contexts = shared_path("vectors/templates/contexts.json");
    *v = (struct vectors){0};
    if (!contexts) return test_skip("no shared material: set RUNNEL_SHARED"), false;
    setenv("TZ", "UTC", 1);
    v->contexts = json_load_file(contexts, JSON_ALLOW_NUL, NULL);
    v->cases = read_lines(shared_path("vectors/templates/cases.jsonl"));
    return CHECK(json_array_size(v->cases) > 2800);
}
static void vectors_close(struct vectors *v) {
    json_decref(v->contexts);
    json_decref(v->cases);
}

// The template of a case; the one of the case before is kept.
static const rn_template *template_of(const json_t *c, rn_template **kept, char name[128]) {
    const char *const file = json_string_value(json_object_get(c, "template"));
    char rel[160];
    size_t n;
    rn_error err = {0};
    if (strcmp(name, file) == 0) return *kept;
    rn_template_close(*kept);
    snprintf(name, 128, "%s", file);
    snprintf(rel, sizeof rel, "vectors/templates/%s", file);
    uint8_t *const source = read_file(shared_path(rel), &n);
    CHECK_OK(rn_template_compile((const char *)source, n, file, kept, &err), &err);
    free(source);
    return *kept;
}

static json_t *context_of(const struct vectors *v, const json_t *c) {
    json_t *const context = json_copy(json_object_get(v->contexts, json_string_value(json_object_get(c, "context"))));
    json_object_update(context, json_object_get(c, "with"));
    return context;
}

TEST(contexts_as_json_render_as_published_and_segments_make_the_text) {
    struct vectors v;
    size_t i, n_equal = 0;
    json_t *c;
    rn_template *t = NULL;
    char name[128] = "";
    if (!vectors_open(&v)) return;
    json_array_foreach(v.cases, i, c) {
        json_t *const context = context_of(&v, c), *const want = json_object_get(c, "output");
        char *const text = json_dumps(context, JSON_COMPACT);
        rn_rendering *r = NULL;
        rn_error err = {0};
        if (!template_of(c, &t, name)) continue;
        check_note("%s, %s", name, json_string_value(json_object_get(c, "context")));
        const rn_status st = rn_template_render(t, text, strlen(text), FRIDAY, &r, &err);
        if (CHECK((st == RN_OK) == (want != NULL)) && want) {
            size_t n, n_segments, n_sum = 0;
            const char *const got = rn_rendering_text(r, &n);
            const rn_segment *const s = rn_rendering_segments(r, &n_segments);
            for (size_t k = 0; k < n_segments; k++) {
                CHECK(s[k].n_text > 0 && (k == 0 || s[k].is_content != s[k - 1].is_content));
                CHECK(s[k].text == got + n_sum);
                n_sum += s[k].n_text;
            }
            CHECK_INT(n_sum, n);
            if (CHECK_INT(n, json_string_length(want)) && CHECK_MEM(got, json_string_value(want), n)) n_equal++;
        }
        rn_rendering_free(r);
        free(text);
        json_decref(context);
    }
    CHECK(n_equal > 2300);
    rn_template_close(t);
    vectors_close(&v);
}

// ---- published ones, as prompts -------------------------------------------------------------------------------------

struct vocab_files {
    package *p;
    tokenizer *t;
};

static bool open_vocab(const char *name, struct vocab_files *f) {
    char rel[128], path[512], command[1200];
    rn_error err = {0};
    snprintf(rel, sizeof rel, "vectors/tokenizers/%s/vocab.gguf.gz", name);
    snprintf(path, sizeof path, "%s/%s.gguf", temp_dir(), name);
    snprintf(command, sizeof command, "gzip -dc '%s' > '%s'", shared_path(rel), path);
    *f = (struct vocab_files){0};
    if (system(command) != 0) return test_skip("no gzip"), false;
    const struct package_options opt = {.load = FILE_LOAD_READ};
    const bool ok = CHECK_OK(package_open(path, &opt, &f->p, &err), &err) &&
                    CHECK_OK(tokenizer_create(package_vocab(f->p), &f->t, &err), &err);
    remove(path);
    return ok;
}

static bool is_token(const struct vocab *v, int32_t id, const json_t *text) {
    const char *const s = json_string_value(text);
    return id >= 0 && s && v->tokens[id].text.n == strlen(s) && memcmp(v->tokens[id].text.s, s, strlen(s)) == 0;
}

// Does the case go with the vocabulary: are its own tokens called so there?
static bool fits(const struct vocab *v, const json_t *c) {
    const json_t *const with = json_object_get(c, "with");
    return is_token(v, v->bos, json_object_get(with, "bos_token")) && json_object_size(with) == 2;
}

// The prompt of a case: the ids of what it renders, and one begin token before it where it has none and the file wants one.
static void check_prompt_of(const struct vectors *v, const json_t *c, const rn_template *t,
                            const struct vocab_files *f, int counts[3]) {
    const struct vocab *const vocab = package_vocab(f->p);
    json_t *const context = context_of(v, c);
    const json_t *const want = json_object_get(c, "output");
    struct chat_prompt p = {0};
    rn_chat chat;
    rn_error err = {0};
    int32_t *ids = NULL;
    size_t n = 0;
    // The vocabulary's own end token may be called otherwise than the case's.
    struct vocab named = *vocab;
    char *const messages = json_dumps(json_object_get(context, "messages"), JSON_COMPACT);
    json_t *const more = json_copy(context);
    json_object_del(more, "messages");
    json_object_del(more, "bos_token");
    char *const variables = json_dumps(more, JSON_COMPACT);
    rn_chat_init(&chat);
    chat.messages = messages, chat.n_messages = strlen(messages);
    chat.variables = variables, chat.n_variables = strlen(variables);
    chat.parse_special = true; // contexts hold spellings of their own, and the reference reads them all
    const struct chat_prompt_plan plan = {.chat = &chat,
                                          .tmpl = t,
                                          .vocab = &named,
                                          .tok = f->t,
                                          .n_ctx = INT32_MAX,
                                          .max_tokens = -1,
                                          .puts_bos = true};
    if (CHECK_OK(chat_prompt_make(&plan, &p, &err), &err) &&
        CHECK_OK(tokenizer_encode(f->t, json_string_value(want), json_string_length(want), false, true, &ids, &n,
                                  NULL, &err),
                 &err)) {
        const bool has_bos = n > 0 && ids[0] == vocab->bos;
        const size_t put = !has_bos && vocab->add_bos;
        if (CHECK_INT(p.ids.n, n + put)) CHECK_MEM(p.ids.ids + put, ids, n * sizeof *ids);
        if (vocab->add_bos) CHECK(p.ids.ids[0] == vocab->bos);
        CHECK(p.ids.n < 2 || !(p.ids.ids[0] == vocab->bos && p.ids.ids[1] == vocab->bos));
        counts[has_bos ? 0 : put ? 1 : 2]++;
    }
    mem_free(ids);
    chat_prompt_free(&p);
    free(messages);
    free(variables);
    json_decref(more);
    json_decref(context);
}

// Contexts that are conversations as they are: what transformers changes in messages is not in them.
static bool is_talk(const char *name) {
    static const char *const names[] = {"one",     "one_nogen", "system", "turns", "turns_system_nogen",
                                        "unicode", "spaces"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

TEST(field_2_6_every_published_template_gives_one_begin_token_at_most_and_the_references_ids) {
    static const char *const vocabs[] = {"llama-2", "phi-3",   "mistral-v3-spm", "mistral-tekken",
                                         "gemma-3", "llama-3", "command-r",      "deepseek-llm",
                                         "smollm2", "qwen2",   "gpt-2"};
    struct vectors v;
    int counts[3] = {0}; // prompts with the template's begin token, with one that was put, with none
    if (!vectors_open(&v)) return;
    for (size_t k = 0; k < sizeof vocabs / sizeof *vocabs; k++) {
        struct vocab_files f;
        rn_template *t = NULL;
        char name[128] = "";
        size_t i;
        json_t *c;
        if (open_vocab(vocabs[k], &f)) json_array_foreach(v.cases, i, c) {
                if (!json_object_get(c, "output") || !is_talk(json_string_value(json_object_get(c, "context"))))
                    continue;
                if (strstr(json_string_value(json_object_get(c, "output")), "2025") || !fits(package_vocab(f.p), c))
                    continue;
                if (!template_of(c, &t, name)) continue;
                check_note("%s, %s, %s", vocabs[k], name, json_string_value(json_object_get(c, "context")));
                check_prompt_of(&v, c, t, &f, counts);
            }
        rn_template_close(t);
        tokenizer_destroy(f.t);
        package_close(f.p);
    }
    check_note("%d written, %d put, %d without", counts[0], counts[1], counts[2]);
    CHECK(counts[0] > 100 && counts[1] > 50);
    vectors_close(&v);
}
