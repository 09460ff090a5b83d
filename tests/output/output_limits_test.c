// tests/output/output_limits_test.c - the bounds of the output parser, its memory, and the questions about formats.
#include "base/mem.h"
#include "output/output_state.h"
#include "tests/check.h"
#include "tests/support/parsed_output.h"
#include <stdlib.h>

// `before`, then n bytes c, then `after`, given in one piece or byte by byte.
static void parse_run(struct parsed *d, const char *format, const char *before, char c, size_t n, const char *after,
                      bool bytes) {
    struct text_buf b = {0};
    text_buf_add(&b, before, strlen(before));
    const size_t at = b.n;
    if (text_buf_reserve(&b, n)) memset(b.s + at, c, n);
    b.n += n;
    text_buf_add(&b, after, strlen(after));
    size_t *const cuts = calloc(b.n, sizeof *cuts);
    for (size_t i = 0; i < b.n; i++) cuts[i] = i;
    parsed_run(d, output_format_named(format), "", b.s, b.n, cuts, bytes ? b.n : 0);
    CHECK(!d->wrong);
    free(cuts);
    text_buf_free(&b);
}

TEST(what_is_over_a_limit_is_no_call_and_one_byte_less_is_one) {
    static const struct {
        const char *why, *format, *before, *after;
        char c;
        size_t n; // of c: the most that makes a call
    } rows[] = {
        {"a name in an object", "hermes", "<tool_call>{\"name\":\"", "\"}</tool_call>", 'n', OUTPUT_MAX_NAME},
        {"a name in a tag", "functionary-3.1", "<function=", ">{}</function>", 'n', OUTPUT_MAX_NAME},
        {"an id", "mistral", "[TOOL_CALLS]f[CALL_ID]", "[ARGS]{}", 'i', OUTPUT_MAX_NAME},
        {"a key in a tag", "qwen3-coder", "<function=f><parameter=", ">\nx\n</parameter></function>", 'k',
         OUTPUT_MAX_NAME},
        {"white space in a call", "hermes", "<tool_call>", "{\"name\":\"f\"}</tool_call>", ' ', OUTPUT_MAX_HELD - 23},
        {"arguments before the name", "hermes", "<tool_call>{\"arguments\":{\"a\":\"", "\"},\"name\":\"f\"}", 'a',
         OUTPUT_MAX_HELD - 43},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t over = 0; over < 2; over++)
            for (int bytes = 0; bytes < 2; bytes++) {
                static struct parsed d;
                parse_run(&d, rows[i].format, rows[i].before, rows[i].c, rows[i].n + over, rows[i].after, bytes);
                check_note("%s, %zu over", rows[i].why, over);
                CHECK_INT(d.n_calls, 1 - (int)over);
                if (over) CHECK_INT(d.content.n, strlen(rows[i].before) + rows[i].n + 1 + strlen(rows[i].after));
                parsed_free(&d);
            }
}

TEST(values_deeper_than_the_limit_break_the_call_there) {
    for (size_t deep = OUTPUT_MAX_DEPTH - 1; deep <= OUTPUT_MAX_DEPTH; deep++) {
        static struct parsed d;
        parse_run(&d, "hermes", "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":", '[', deep, "", false);
        CHECK_INT(d.n_calls, 1);
        CHECK_INT(d.calls[0].n, 5 + OUTPUT_MAX_DEPTH - 1); // the object is a level, too
        CHECK_INT(d.content.n, deep - (OUTPUT_MAX_DEPTH - 1));
        parsed_free(&d);
    }
}

TEST(numbers_longer_than_the_limit_break_the_call_and_between_tags_are_strings) {
    for (size_t n = OUTPUT_MAX_WORD; n <= OUTPUT_MAX_WORD + 1; n++) {
        static struct parsed d;
        parse_run(&d, "hermes", "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":", '1', n, "}}</tool_call>", true);
        CHECK(d.broken[0] == (n > OUTPUT_MAX_WORD));
        CHECK_INT(d.calls[0].n + d.content.n, n <= OUTPUT_MAX_WORD ? 6 + n : 5 + n + strlen("}}</tool_call>"));
        parsed_free(&d);
        parse_run(&d, "glm", "<tool_call>f<arg_key>a</arg_key><arg_value>", '1', n, "</arg_value></tool_call>", true);
        CHECK(!d.broken[0]);
        CHECK_INT(d.calls[0].s[6] == '"', n > OUTPUT_MAX_WORD);
        parsed_free(&d);
    }
}

TEST(a_value_too_long_to_be_held_is_a_string) {
    for (size_t over = 0; over < 2; over++)
        for (int bytes = 0; bytes < 2; bytes++) {
            static struct parsed d;
            parse_run(&d, "glm", "<tool_call>f<arg_key>a</arg_key><arg_value>[", ' ', OUTPUT_MAX_HELD - 14 + over,
                      "]</arg_value></tool_call>", bytes);
            CHECK_INT(d.n_calls, 1);
            CHECK(!d.broken[0]);
            CHECK_INT(d.calls[0].s[6] == '"', over);
            parsed_free(&d);
        }
}

TEST(white_space_that_nothing_follows_is_held_up_to_the_limit) {
    for (size_t n = OUTPUT_MAX_SPACE; n <= OUTPUT_MAX_SPACE + 1; n++) {
        struct parsed d = {0};
        output_parser *p = NULL;
        char spaces[OUTPUT_MAX_SPACE + 1];
        memset(spaces, ' ', sizeof spaces);
        if (!CHECK(output_parser_create(output_format_named("hermes"), NULL, "", 0, &p, NULL) == RN_OK)) return;
        output_parser_push(p, spaces, n, parsed_event, &d, NULL);
        CHECK_INT(d.content.n, n > OUTPUT_MAX_SPACE ? n : 0);
        output_parser_destroy(p);
        parsed_free(&d);
    }
}

// Openers that may all begin calls: were each tried to the end, this would take minutes.
TEST(hostile_output_takes_time_in_proportion_to_its_length) {
    static const char *const units[] = {"<tool_call>{\"arguments\":{\"a\":\"", "<tool_call>{\"arguments\":{'",
                                        "<tool_call>[{", "<tool_call>  ", "<tool_call>{\"arguments\":\"{\\\"a\\\":"};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        static struct parsed d;
        struct text_buf b = {0};
        while (b.n < 1000000) text_buf_add(&b, units[i], strlen(units[i]));
        parsed_run(&d, output_format_named("hermes"), "", b.s, b.n, NULL, 0);
        CHECK_INT(d.content.n, b.n);
        parsed_free(&d);
        text_buf_free(&b);
    }
}

static rn_status create_and_destroy(void *user) {
    output_parser *p = NULL;
    const rn_status st = output_parser_create(output_format_named("hermes"), NULL, "<think>", 7, &p, user);
    output_parser_destroy(p);
    return st;
}

static void ignore(void *user, const struct output_event *e) { *(size_t *)user += e->n_text; }

TEST(an_allocation_that_fails_is_reported_and_none_is_made_after_create) {
    output_parser *p = NULL;
    size_t n_text = 0;
    rn_error err = {0};
    static const char text[] = "<think>a</think>b<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1}}</tool_call>";
    if (!CHECK_OK(output_parser_create(output_format_named("hermes"), NULL, "", 0, &p, &err), &err)) return;
    const long before = mem_count();
    for (int i = 0; i < 1000; i++) output_parser_push(p, text, sizeof text - 1, ignore, &n_text, NULL);
    output_parser_finish(p, ignore, &n_text, NULL);
    CHECK_INT(mem_count(), before);
    output_parser_destroy(p);
    CHECK(check_each_failed_allocation(create_and_destroy, &err, __FILE__, __LINE__));
    CHECK_HAS(err.text, "output parser: out of memory");
}

TEST(every_format_has_a_name_of_its_own_and_a_help_of_one_line) {
    for (size_t i = 0; i < output_n_formats(); i++) {
        const char *help = NULL;
        const output_format *const f = output_format_at(i, &help);
        CHECK(output_format_named(output_format_name(f)) == f);
        CHECK(help && *help && !strchr(help, '\n'));
    }
    CHECK(output_format_named("no such") == NULL);
    CHECK_STR(output_format_name(output_format_of_template("{{ messages }}", 14)), "none");
}

TEST(the_page_about_formats_has_each_of_them) {
    char *const page = (char *)read_file(tests_path("../docs/output-formats.md"), NULL);
    for (size_t i = 0; page && i < output_n_formats(); i++) {
        char row[64];
        snprintf(row, sizeof row, "\n| `%s` |", output_format_name(output_format_at(i, NULL)));
        CHECK_HAS(page, row);
    }
    free(page);
}

TEST(a_format_reads_the_control_tokens_of_its_tags_and_no_others) {
    static const struct {
        const char *format, *token;
        bool reads;
    } rows[] = {
        {"harmony", "<|channel|>", true},
        {"harmony", "<|message|>", true},
        {"harmony", "<|end|>", true},
        {"harmony", "<|startoftext|>", false},
        {"hermes", "<tool_call>", true},
        {"hermes", "</think>", true},
        {"hermes", "<|im_end|>", false},
        {"none", "<think>", false},
        {"deepseek-dsml", "｜DSML｜", true},
        {"deepseek", "<｜tool▁sep｜>", true},
        {"deepseek", "<｜end▁of▁sentence｜>", false},
        {"mistral", "[ARGS]", true},
        {"gemma-4", "<|\"|>", true},
        {"gemma-4", "<turn|>", false},
        {"kimi", "", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_note("%s: %s", rows[i].format, rows[i].token);
        CHECK(output_format_reads(output_format_named(rows[i].format), rows[i].token, strlen(rows[i].token)) ==
              rows[i].reads);
    }
}
