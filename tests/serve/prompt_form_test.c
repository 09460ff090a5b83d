// tests/serve/prompt_form_test.c - prompts as clients write them: a text, ids, several of either.
#include "serve/api/prompt_form.h"
#include "tests/check.h"
#include <string.h>

static bool read_form(const char *prompt, prompt_form *f, char *why) {
    static const member rows[] = {{"prompt", MEMBER_EACH, .each = prompt_form_each}};
    char text[1024];
    json_doc *doc;
    *f = (prompt_form){0};
    const int n = snprintf(text, sizeof text, "{\"prompt\": %s}", prompt);
    if (!CHECK(json_doc_parse(text, (size_t)n, &doc, why))) return false;
    const bool ok = json_doc_read(doc, &(member_group){rows, 1, f}, 1, why);
    json_doc_free(doc);
    return ok;
}

TEST(each_form_of_a_prompt_is_what_it_says) {
    static const struct {
        const char *prompt;
        size_t n, n_ids; // of the first; 0: a text
        bool is_several;
        const char *why; // of a refusal
    } rows[] = {
        {"\"a\"", 1, 0, false, NULL},           {"\"\"", 1, 0, false, NULL},
        {"[1, 2, 3]", 1, 3, false, NULL},       {"[\"a\", \"b\"]", 2, 0, true, NULL},
        {"[\"a\"]", 1, 0, true, NULL},          {"[[1, 2], [3]]", 2, 2, true, NULL},
        {"[[1, 2], \"a\"]", 2, 2, true, NULL},  {"[]", 0, 0, false, "an empty array"},
        {"[1, \"a\"]", 0, 0, false, "must be"}, {"[\"a\", 1]", 0, 0, false, "[1]: "},
        {"[[1, 1.5]]", 0, 0, false, "[0]: "},   {"[[1, [2]]]", 0, 0, false, "[0]: "},
        {"[4294967296]", 0, 0, false, ""},      {"1", 0, 0, false, "must be"},
        {"{\"a\": 1}", 0, 0, false, "must be"}, {"true", 0, 0, false, "must be"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        prompt_form f;
        char why[JSON_WHY] = "";
        check_note("%s", rows[i].prompt);
        const bool ok = read_form(rows[i].prompt, &f, why);
        CHECK_INT(ok, rows[i].why == NULL);
        if (rows[i].why)
            CHECK_HAS(why, rows[i].why);
        else {
            CHECK_INT(f.n, rows[i].n);
            CHECK_INT(f.items[0].ids.n, rows[i].n_ids);
            CHECK_INT(f.is_several, rows[i].is_several);
        }
        prompt_form_free(&f);
    }
}

TEST(there_may_be_128_prompts_and_not_one_more) {
    char many[JOB_PARTS * 4 + 16] = "[";
    char why[JSON_WHY] = "";
    prompt_form f;
    for (int i = 0; i < JOB_PARTS; i++) strcat(many, i ? ",[1]" : "[1]");
    strcat(many, "]");
    CHECK(read_form(many, &f, why));
    CHECK_INT(f.n, JOB_PARTS);
    prompt_form_free(&f);
    strcpy(many + strlen(many) - 1, ",[1]]");
    CHECK(!read_form(many, &f, why));
    CHECK_HAS(why, "more than 128 texts");
    prompt_form_free(&f);
}
