// tests/output/output_parser_test.c - what each byte of a model's output becomes: every row at every cut into two, shorter ones into three.
#include "base/mem.h"
#include "output/output_tag.h"
#include "tests/check.h"
#include "tests/support/parsed_output.h"
#include <stdlib.h>

struct row {
    const char *why, *format, *prompt, *output;
    const char *story; // see tests/support/parsed_output.h
};

static bool same_story(const struct row *r, const size_t *cuts, size_t n_cuts) {
    static struct parsed d;
    parsed_run(&d, output_format_named(r->format), r->prompt, r->output, strlen(r->output), cuts, n_cuts);
    check_note("%s (%s, first cut at %zu)", r->why, r->format, n_cuts ? cuts[0] : 0);
    const bool ok = CHECK(!d.wrong) && CHECK_STR(d.story.s, r->story);
    parsed_free(&d);
    return ok;
}

#ifdef TESTS_SANITIZED
enum { STEP = 5 }; // of triples' first cuts
#else
enum { STEP = 1 };
#endif

static void check_rows(const struct row *rows, size_t n_rows) {
    for (const struct row *r = rows; r < rows + n_rows; r++) {
        const size_t n = strlen(r->output);
        bool ok = same_story(r, NULL, 0);
        for (size_t i = 0; ok && i <= n; i++) ok = same_story(r, &i, 1);
        for (size_t i = 0; ok && i <= n && n <= 120; i += STEP)
            for (size_t k = i; ok && k <= n; k++) ok = same_story(r, (size_t[]){i, k}, 2);
    }
}
#define CHECK_ROWS(rows) check_rows(rows, sizeof rows / sizeof *rows)

#define CALL_F  "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</tool_call>"
#define STORY_F "T0(f,{\"a\": 1})"
#define MARK    "]<]minimax[>["
#define DS_CALL "<｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{\"a\":1}\n```<｜tool▁call▁end｜>"

TEST(reasoning_loses_its_tags_and_the_line_breaks_around_them) {
    static const struct row rows[] = {
        {"a block", "think", "", "<think>\nHm\n\nso.\n</think>\n\nYes.", "R(Hm\n\nso.) C(Yes.)"},
        {"spaces are text", "think", "", "<think> Hm </think> Yes.", "R( Hm ) C( Yes.)"},
        {"nothing in it", "think", "", "<think>\n\n</think>\n\nYes.", "C(Yes.)"},
        {"nothing behind it", "think", "", "<think>Hm</think>\n\n", "R(Hm)"},
        {"the prompt opened it", "think", "<|im_start|>assistant\n<think>\n", "Hm\n</think>\nYes.", "R(Hm) C(Yes.)"},
        {"the prompt opened it and the model does so again", "think", "<think>\n", "<think>\nHm</think>Yes.",
         "R(Hm) C(Yes.)"},
        {"the prompt closed it", "think", "<think>\n\n</think>\n", "\nYes.", "C(Yes.)"},
        {"the prompt speaks of it", "think", "What is <think>?<|im_end|>\n<|im_start|>assistant\n", "A tag.",
         "C(A tag.)"},
        {"not closed", "think", "<think>", "Hm\n", "R(Hm\n)"},
        {"only closed, with nothing before it", "think", "", "\n</think>\nYes.", "C(Yes.)"},
        {"only closed, behind text", "think", "", "Yes</think>.", "C(Yes</think>.)"},
        {"a tag inside", "think", "", "<think>a <think> b</think>c", "R(a <think> b) C(c)"},
        {"a second block on a line of its own", "think", "", "<think>a</think>b\n<think>c</think>d",
         "R(a) C(b) R(c) C(d)"},
        {"half a tag at the end", "think", "", "<think>a</thi", "R(a</thi)"},
        {"half a tag, then another", "think", "", "<think>a</th</think>b", "R(a</th) C(b)"},
        {"a control token opens it anywhere", "mistral", "", "a[THINK]b[/THINK]c", "C(a) R(b) C(c)"},
        {"named tags", "command-a", "<|START_THINKING|>", "a<|END_THINKING|><|START_RESPONSE|>b<|END_RESPONSE|>",
         "R(a) C(b)"},
        {"none", "none", "<think>", "<think>a</think>", "C(<think>a</think>)"},
    };
    CHECK_ROWS(rows);
}

TEST(a_tag_that_is_written_about_is_content) {
    static const struct row rows[] = {
        {"in fenced code", "hermes", "", "So:\n```\n" CALL_F "\n<think>\n```\nok",
         "C(So:\n```\n" CALL_F "\n<think>\n```\nok)"},
        {"behind fenced code", "hermes", "", "```\nx\n```\n" CALL_F, "C(```\nx\n```) " STORY_F},
        {"three backticks within a line are no fence", "hermes", "", "a ``` b" CALL_F, "C(a ``` b) " STORY_F},
        {"in a line", "hermes", "", "Use `<think>` here.", "C(Use `<think>` here.)"},
        {"no call behind it", "hermes", "", "<tool_call> is a tag", "C(<tool_call> is a tag)"},
        {"twice, then a call", "hermes", "", "<tool_call><tool_call>" CALL_F, "C(<tool_call><tool_call>) " STORY_F},
        {"in a JSON string", "hermes", "",
         "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"</tool_call><think>\"}}</tool_call>",
         "T0(f,{\"a\":\"</tool_call><think>\"})"},
        {"a call in reasoning", "hermes", "<think>", "I may " CALL_F "</think>No.", "R(I may " CALL_F ") C(No.)"},
        {"calls by control tokens end reasoning", "kimi", "",
         "<think>so\n<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{\"a\":1}"
         "<|tool_call_end|><|tool_calls_section_end|>",
         "R(so) T0(f,{\"a\":1},functions.f:0)"},
        {"a fence that begins a call", "command-r", "",
         "Action:\n```json\n[{\"tool_name\":\"f\",\"parameters\":{\"a\":1}}]\n```\n", "T0(f,{\"a\":1})"},
    };
    CHECK_ROWS(rows);
}

TEST(white_space_around_calls_is_the_formats_and_elsewhere_content) {
    static const struct row rows[] = {
        {"before, between, behind", "hermes", "", "a\n\n" CALL_F "\n" CALL_F "\n\n",
         "C(a) " STORY_F " T1(f,{\"a\": 1})"},
        {"before text that follows", "hermes", "", CALL_F "\n b", STORY_F " C(\n b)"},
        {"at the ends of a text", "hermes", "", " \n a \n", "C( \n a \n)"},
        {"alone", "hermes", "", " \n", "C( \n)"},
        {"inside the tags", "hermes", "", "<tool_call>\n  {\"name\": \"f\"}\n  </tool_call>", "T0(f,{})"},
    };
    CHECK_ROWS(rows);
}

TEST(a_call_in_an_object_is_read_in_any_order_of_members) {
    static const struct row rows[] = {
        {"arguments first", "hermes", "", "<tool_call>{\"arguments\": {\"a\": [1, {}]}, \"name\": \"f\"}</tool_call>",
         "T0(f,{\"a\": [1, {}]})"},
        {"arguments as a string", "hermes", "",
         "<tool_call>{\"name\":\"f\",\"arguments\":\"{\\\"a\\\": \\\"\\\\u00e9\\\\n\\\"}\"}</tool_call>",
         "T0(f,{\"a\": \"\\u00e9\\n\"})"},
        {"such a string first", "hermes", "",
         "<tool_call>{\"arguments\":\"{\\\"a\\\":1}\",\"name\":\"f\"}</tool_call>", "T0(f,{\"a\":1})"},
        {"no arguments", "hermes", "", "<tool_call>{\"name\":\"f\"}</tool_call>", "T0(f,{})"},
        {"null", "hermes", "", "<tool_call>{\"name\":\"f\",\"arguments\":null}</tool_call>", "T0(f,{})"},
        {"an empty string", "hermes", "", "<tool_call>{\"name\":\"f\",\"arguments\":\"\"}</tool_call>", "T0(f,{})"},
        {"empty", "hermes", "", "<tool_call>{\"name\":\"f\",\"arguments\":{ }}</tool_call>", "T0(f,{ })"},
        {"an id behind", "mistral", "", "[TOOL_CALLS][{\"name\":\"f\",\"arguments\":{\"a\":1},\"id\":\"x1\"}]",
         "T0(f,{\"a\":1},x1)"},
        {"an id before", "mistral", "", "[TOOL_CALLS][{\"id\":\"x1\",\"name\":\"f\",\"arguments\":{\"a\":1}}]",
         "T0(f,{\"a\":1},x1)"},
        {"in a function", "hermes", "",
         "<tool_call>{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"a\":1}},\"id\":\"7\"}</tool_call>",
         "T0(f,{\"a\":1},7)"},
        {"the function is its name", "llama-3", "", "{\"function\": \"f\", \"parameters\": {\"a\": 1}}",
         "T0(f,{\"a\": 1})"},
        {"escapes in a name", "hermes", "", "<tool_call>{\"name\":\"\\u0066\"}</tool_call>", "T0(f,{})"},
        {"a list", "hermes", "", "<tool_call>[{\"name\":\"f\"}, {\"name\":\"g\"}]</tool_call>", "T0(f,{}) T1(g,{})"},
        {"a list and more", "granite", "", "<|tool_call|>[{\"name\":\"f\"}]\nok", "T0(f,{}) C(\nok)"},
        {"one behind another", "tool-calls", "", "<tool_calls>\n{\"name\":\"f\"}\n{\"name\":\"g\"}\n</tool_calls>",
         "T0(f,{}) T1(g,{})"},
    };
    CHECK_ROWS(rows);
}

TEST(what_models_write_for_json_becomes_json) {
    static const struct row rows[] = {
        {"Python's constants", "hermes", "",
         "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":None,\"b\":[True,False]}}</tool_call>",
         "T0(f,{\"a\":null,\"b\":[true,false]})"},
        {"single quotes", "hermes", "", "<tool_call>{'name':'f','arguments':{'a':'x\"y\\'z'}}</tool_call>",
         "T0(f,{\"a\":\"x\\\"y'z\"})"},
        {"a line break in a string", "hermes", "",
         "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"x\ny\tz\"}}</tool_call>", "T0(f,{\"a\":\"x\\ny\\tz\"})"},
        {"escapes that there are not", "hermes", "",
         "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"\\d\\u12\"}}</tool_call>",
         "T0(f,{\"a\":\"\\\\d\\\\u12\"})"},
        {"Python calls", "lfm2", "",
         "<|tool_call_start|>[f(a='x', b=[1, {'c': None}], d=-2.5e3), g()]<|tool_call_end|>ok",
         "T0(f,{\"a\":\"x\", \"b\":[1, {\"c\": null}], \"d\":-2.5e3}) T1(g,{}) C(ok)"},
        {"lines of them", "olmo-3", "", "<function_calls>\nf(a=1)\ng(b=2)\n</function_calls>",
         "T0(f,{\"a\":1}) T1(g,{\"b\":2})"},
        {"a list of them", "llama-4", "", "[f(a=\"x\"), g(b=2)]", "T0(f,{\"a\":\"x\"}) T1(g,{\"b\":2})"},
        {"a link is none", "llama-4", "", "[see](http://x) [f(x)]", "C([see](http://x) [f(x)])"},
        {"a call of a builtin tool", "llama-3", "", "<|python_tag|>brave_search.call(query=\"x\")",
         "T0(brave_search,{\"query\":\"x\"})"},
        {"keys without quotes", "gemma-4", "",
         "<|tool_call>call:f{a:<|\"|>x \"<|y\\<|\"|>,b:{c:[1,None]},d:word}<tool_call|>",
         "T0(f,{\"a\":\"x \\\"<|y\\\\\",\"b\":{\"c\":[1,null]},\"d\":\"word\"})"},
        {"other quotes", "functiongemma", "", "<start_function_call>call:f{a:<escape>x<escape>}<end_function_call>",
         "T0(f,{\"a\":\"x\"})"},
    };
    CHECK_ROWS(rows);
}

#define CODER(value) "<tool_call>\n<function=f>\n<parameter=a>\n" value "\n</parameter>\n</function>\n</tool_call>"
#define GLM(value)   "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>" value "</arg_value>\n</tool_call>"

TEST(values_between_tags_are_json_where_they_read_as_it_and_else_strings) {
    static const struct row rows[] = {
        {"a word", "qwen3-coder", "", CODER("Oslo"), "T0(f,{\"a\": \"Oslo\"})"},
        {"an integer", "qwen3-coder", "", CODER("-12"), "T0(f,{\"a\": -12})"},
        {"a number", "qwen3-coder", "", CODER("1.5e-3"), "T0(f,{\"a\": 1.5e-3})"},
        {"zeros in front", "qwen3-coder", "", CODER("007"), "T0(f,{\"a\": \"007\"})"},
        {"a date", "qwen3-coder", "", CODER("2025-07-04"), "T0(f,{\"a\": \"2025-07-04\"})"},
        {"a constant", "qwen3-coder", "", CODER("True"), "T0(f,{\"a\": true})"},
        {"the beginning of one", "qwen3-coder", "", CODER("Tru"), "T0(f,{\"a\": \"Tru\"})"},
        {"more than one", "qwen3-coder", "", CODER("nullify"), "T0(f,{\"a\": \"nullify\"})"},
        {"an object", "qwen3-coder", "", CODER("{\"x\": [1, 'y']}"), "T0(f,{\"a\": {\"x\": [1, \"y\"]}})"},
        {"no object", "qwen3-coder", "", CODER("{x}"), "T0(f,{\"a\": \"{x}\"})"},
        {"half an object", "qwen3-coder", "", CODER("{\"x\": 1"), "T0(f,{\"a\": \"{\\\"x\\\": 1\"})"},
        {"a quoted string", "qwen3-coder", "", CODER("\"x\""), "T0(f,{\"a\": \"\\\"x\\\"\"})"},
        {"empty", "qwen3-coder", "", CODER(""), "T0(f,{\"a\": \"\"})"},
        {"only the outer line breaks are the tags'", "qwen3-coder", "", CODER("\n x\n\ny\n"),
         "T0(f,{\"a\": \"\\n x\\n\\ny\\n\"})"},
        {"code with tags", "qwen3-coder", "", CODER("if a < b:\n  </para>\n</parameter"),
         "T0(f,{\"a\": \"if a < b:\\n  </para>\\n</parameter\"})"},
        {"line breaks elsewhere are the value's", "glm", "", GLM("\nx\n"), "T0(f,{\"a\": \"\\nx\\n\"})"},
        {"no arguments", "glm", "", "<tool_call>f\n</tool_call>", "T0(f,{})"},
        {"the opening tag forgotten", "qwen3-coder", "", "<function=f>\n</function>\n", "T0(f,{})"},
        {"said to be a string", "deepseek-dsml", "",
         "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"f\">\n<｜DSML｜parameter name=\"a\" string=\"true\">1</｜DSML｜parameter>"
         "<｜DSML｜parameter name=\"b\" string=\"false\">1</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>",
         "T0(f,{\"a\": \"1\", \"b\": 1})"},
        {"typed by a tag, its end half written before", "kimi-k3", "",
         "<|open|>tools<|sep|><|open|>call tool=\"f\" index=\"1\"<|sep|><|open|>argument key=\"a\" type=\"number\"<|sep|>"
         "1<|close|>argument<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>",
         "T0(f,{\"a\": \"1<|close|>argument\"})"},
        {"character data", "minicpm", "",
         "<function name=\"f\"><param name=\"a\"><![CDATA[<b>1</param>]]></param></function>",
         "T0(f,{\"a\": \"<b>1</param>\"})"},
        {"elements", "minimax-m3", "",
         MARK "<tool_call>\n" MARK "<invoke name=\"f\">" MARK "<a>" MARK "<b>]<x" MARK "</b>" MARK "<c>" MARK
              "<item>1" MARK "</item>" MARK "</c>" MARK "</a>" MARK "<d>" MARK "</d>" MARK "</invoke>\n" MARK
              "</tool_call>",
         "T0(f,{\"a\": {\"b\": \"]<x\", \"c\": [1]}, \"d\": \"\"})"},
        {"no elements", "minimax-m3", "", MARK "<invoke name=\"f\">" MARK "</invoke>", "T0(f,{})"},
    };
    CHECK_ROWS(rows);
}

TEST(channels_and_recipients_are_read_from_headers) {
    static const char start[] = "<|end|><|start|>assistant";
    static const struct row rows[] = {
        {"analysis, then the answer", "harmony", start,
         "<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>final<|message|>Yes<|return|>",
         "R(Hm) C(Yes)"},
        {"a preamble", "harmony", start, "<|channel|>commentary<|message|>I look.<|end|>", "C(I look.)"},
        {"the recipient behind the channel", "harmony", start,
         "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"a\":1}<|call|>", "T0(f,{\"a\":1})"},
        {"before the channel", "harmony", start,
         " to=functions.f<|channel|>commentary json<|message|>{\"a\":1}<|call|>", "T0(f,{\"a\":1})"},
        {"of the analysis", "harmony", start, "<|channel|>analysis to=f code<|message|>{\"a\":1}", "T0(f,{\"a\":1})"},
        {"no prompt", "harmony", "", "<|start|>assistant<|channel|>final<|message|>Yes", "C(Yes)"},
        {"a header that ends nowhere", "harmony", start, "<|channel|>commentary to=fun",
         "C(<|channel|>commentary to=fun)"},
        {"no object behind it", "harmony", start, "<|channel|>commentary to=python<|message|>1+1<|call|>",
         "C(<|channel|>commentary to=python<|message|>1+1)"},
        {"plain text", "harmony", start, "Yes", "C(Yes)"},
        {"only the beginning of a header", "harmony", start, " to", "C( to)"},
        {"the prompt began it", "functionary-3.2", "<|end_header_id|>\n\n>>>", "all\nYes>>>f\n{\"a\":1}",
         "C(Yes) T0(f,{\"a\":1})"},
        {"what is said is an object", "functionary-3.2", ">>>", "all\n{\"a\":1}>>>f\n{}", "C({\"a\":1}) T0(f,{})"},
        {"the prompt began it, a call", "functionary-3.2", ">>>", "f\n{\"a\":1}", "T0(f,{\"a\":1})"},
        {"the prompt began it, and no call", "functionary-3.2", ">>>", "f\nx", "C(f\nx)"},
        {"the prompt began a call", "mistral", "[TOOL_CALLS]", "f[ARGS]{\"a\":1}", "T0(f,{\"a\":1})"},
        {"to itself, then to the user", "muse", "<|start|>assistant",
         " to=self<|message|>Hm<|eom|><|start|>assistant to=user<|message|>Yes", "R(Hm) C(Yes)"},
    };
    CHECK_ROWS(rows);
}

TEST(a_format_with_the_calls_of_another_keeps_its_reasoning_and_framing) {
    static const struct {
        const char *of, *output, *story;
    } rows[] = {
        {"none", "<think>Hm</think>" CALL_F, "R(Hm) " STORY_F},
        {"mistral", "[THINK]Hm[/THINK]" CALL_F, "R(Hm) " STORY_F},
        {"granite", "<response>Yes</response>" CALL_F, "C(Yes) " STORY_F},
        {"deepseek", DS_CALL, "C(" DS_CALL ")"}, // its calls are no more
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        static struct parsed d;
        output_format *f = NULL;
        rn_error err = {0};
        const output_format *const hermes = output_format_named("hermes");
        CHECK_OK(output_format_with_calls(output_format_named(rows[i].of), hermes, &f, &err), &err);
        CHECK_STR(output_format_name(f), "hermes");
        parsed_run(&d, f, "", rows[i].output, strlen(rows[i].output), NULL, 0);
        check_note("%s", rows[i].of);
        CHECK(!d.wrong);
        CHECK_STR(d.story.s, rows[i].story);
        parsed_free(&d);
        output_format_free(f);
    }
}

TEST(what_is_no_call_is_content_and_a_call_cut_off_is_broken) {
    static const struct row rows[] = {
        {"bad JSON before the call is known", "hermes", "", "<tool_call>{\"name\": f}</tool_call>",
         "C(<tool_call>{\"name\": f}</tool_call>)"},
        {"no name", "hermes", "", "<tool_call>{\"arguments\": {\"a\": 1}}</tool_call>",
         "C(<tool_call>{\"arguments\": {\"a\": 1}}</tool_call>)"},
        {"an empty name", "hermes", "", "<tool_call>{\"name\": \"\"}", "C(<tool_call>{\"name\": \"\"})"},
        {"arguments that are no object", "hermes", "", "<tool_call>{\"name\": \"f\", \"arguments\": [1]}",
         "C(<tool_call>{\"name\": \"f\", \"arguments\": [1]})"},
        {"a member that nobody knows", "llama-3", "", "{\"name\": \"f\", \"age\": 3}",
         "C({\"name\": \"f\", \"age\": 3})"},
        {"an empty list", "hermes", "", "<tool_call>[]</tool_call>", "C(<tool_call>[]</tool_call>)"},
        {"JSON that is the answer", "llama-3", "", "{\"a\": [1, 2]}", "C({\"a\": [1, 2]})"},
        {"bad JSON in the arguments", "hermes", "", "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1 x}}",
         "T0(f,{\"a\": 1 !) C(x}})"},
        {"a number that is none", "hermes", "", "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1x}}",
         "T0(f,{\"a\":1!) C(x}})"},
        {"bad JSON in a string", "hermes", "", "<tool_call>{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":1x\"}",
         "T0(f,{\"a\":1!) C(x\"})"},
        {"more in the string than the arguments", "hermes", "", "<tool_call>{\"name\":\"f\",\"arguments\":\"{} x\"}",
         "T0(f,{}) C( x\"})"},
        {"the same behind a name", "functionary-3.2", "", ">>>f\n\"{}>", "T0(f,{}) C(>)"},
        {"the same with an argument", "yandexgpt", "", "[TOOL_CALL_START]f\n\"{\\\"a\\\":1}x\"",
         "T0(f,{\"a\":1}) C(x\")"},
        {"a member behind the arguments", "hermes", "",
         "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}, \"x\": 2}", "T0(f,{\"a\": 1}) C(, \"x\": 2})"},
        {"arguments twice", "hermes", "", "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1},\"arguments\":{}}",
         "T0(f,{\"a\":1}) C(,\"arguments\":{}})"},
        {"the second of a list", "mistral", "", "[TOOL_CALLS][{\"name\":\"f\"}, {\"nam\":1}]",
         "T0(f,{}) C(, {\"nam\":1}])"},
        {"cut within a list", "mistral", "", "[TOOL_CALLS][{\"name\":\"f\"}", "T0(f,{})"},
        {"cut behind a separator", "mistral", "", "[TOOL_CALLS][{\"name\":\"f\"} ,", "T0(f,{}) C( ,)"},
        {"cut in the second of a list", "mistral", "[THINK]", "a[TOOL_CALLS][{\"name\":\"f\"}, {\"na",
         "R(a) T0(f,{}) C(, {\"na)"},
        {"cut in the name", "hermes", "", "<tool_call>{\"name\": \"f", "C(<tool_call>{\"name\": \"f)"},
        {"cut in a string", "hermes", "", "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"x\\u00",
         "T0(f,{\"a\":\"x\\u00!)"},
        {"cut in a number", "hermes", "", "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":12", "T0(f,{\"a\":12!)"},
        {"cut behind the arguments", "hermes", "", "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1}",
         "T0(f,{\"a\":1})"},
        {"cut in the closing tag", "hermes", "", CALL_F "\n</tool_", STORY_F " C(\n</tool_)"},
        {"cut in a value", "qwen3-coder", "", "<tool_call><function=f><parameter=a>\nx\n</para",
         "T0(f,{\"a\": \"x\\n</para!)"},
        {"cut in a value that is held", "qwen3-coder", "", "<function=f><parameter=a>\n[1, ",
         "T0(f,{\"a\": \"[1, !)"},
        {"cut between values", "qwen3-coder", "", "<function=f><parameter=a>1</parameter>\n",
         "T0(f,{\"a\": 1!) C(\n)"},
        {"text between values", "qwen3-coder", "", "<function=f><parameter=a>1</parameter>so",
         "T0(f,{\"a\": 1!) C(so)"},
        {"cut before the first value", "qwen3-coder", "", "<tool_call><function=f>\n<para",
         "C(<tool_call><function=f>\n<para)"},
        {"cut behind a tag that might be longer", "minicpm", "", "<function name=\"f\"><param name=\"a\">",
         "T0(f,{\"a\": \"!)"},
        {"cut in the longer one", "minicpm", "", "<function name=\"f\"><param name=\"a\"><![CD",
         "T0(f,{\"a\": \"<![CD!)"},
        {"cut in an element", "minimax-m3", "", MARK "<invoke name=\"f\">" MARK "<a>x]<", "T0(f,{\"a\": \"x]<!)"},
        {"an element without a name", "minimax-m3", "", MARK "<invoke name=\"f\">" MARK "<>",
         "C(" MARK "<invoke name=\"f\">" MARK "<>)"},
        {"a mark alone", "mistral", "", "a [TOOL_CALLS]", "C(a [TOOL_CALLS])"},
        {"a section that holds none", "kimi", "", "<|tool_calls_section_begin|>no",
         "C(<|tool_calls_section_begin|>no)"},
        {"the fence of a call forgotten", "deepseek", "", "<｜tool▁calls▁begin｜>" DS_CALL "\n" DS_CALL,
         "T0(f,{\"a\":1}) T1(f,{\"a\":1})"},
        {"separators between calls only", "llama-3", "", "{\"name\":\"f\"}; {\"name\":\"g\"};",
         "T0(f,{}) T1(g,{}) C(;)"},
    };
    CHECK_ROWS(rows);
}

// ---- how much is held ------------------------------------------------------------------------------------------------------------------

TEST(nothing_is_held_but_what_may_become_a_tag_or_a_call) {
    static const struct {
        const char *why, *format, *output, *story;
    } rows[] = {
        {"text", "hermes", "Hello", "C(Hello)"},
        {"the beginning of a tag", "hermes", "Hello <tool_", "C(Hello)"},
        {"no tag any more", "hermes", "Hello <tool_x", "C(Hello <tool_x)"},
        {"white space", "hermes", "Hello \n", "C(Hello)"},
        {"a tag for reasoning within a line", "hermes", "Hello <think", "C(Hello <think)"},
        {"reasoning: line breaks", "hermes", "<think>a \n", "R(a )"},
        {"reasoning: no tag for calls", "hermes", "<think>a<tool_call", "R(a<tool_call)"},
        {"JSON that cannot be a call", "llama-3", "{\"a\"", "C({\"a\")"},
        {"a call without arguments yet", "hermes", "<tool_call>{\"name\":\"f\",\"arguments\":{", ""},
        {"a call from its first argument on", "hermes", "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"xy",
         "T0(f,{\"a\":\"xy)"},
        {"a number", "hermes", "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"x\",\"b\":12",
         "T0(f,{\"a\":\"x\",\"b\":)"},
        {"arguments as a string", "hermes", "<tool_call>{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":\\\"xy",
         "T0(f,{\"a\":\"xy)"},
        {"a value that is a string", "qwen3-coder", "<function=f><parameter=a>\nOslo ", "T0(f,{\"a\": \"Oslo )"},
        {"a value that may be a number", "qwen3-coder", "<function=f><parameter=a>\n12", "T0(f,{\"a\": )"},
        {"a value that may end", "qwen3-coder", "<function=f><parameter=a>\nx\n</par", "T0(f,{\"a\": \"x)"},
        {"the name of a GLM call is none behind one", "glm", "<tool_call>f</tool_call>Hello", "T0(f,{}) C(Hello)"},
        {"a control token's beginning", "mistral", "a[TOOL", "C(a)"},
        {"a bracket", "mistral", "a[1", "C(a[1)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct parsed d = {0};
        output_parser *p = NULL;
        rn_error err = {0};
        if (!CHECK_OK(output_parser_create(output_format_named(rows[i].format), NULL, "", 0, &p, &err), &err)) return;
        CHECK_OK(output_parser_push(p, rows[i].output, strlen(rows[i].output), parsed_event, &d, &err), &err);
        parsed_end(&d);
        check_note("%s", rows[i].why);
        CHECK_STR(d.story.s, rows[i].story);
        parsed_free(&d);
        output_parser_destroy(p);
    }
}
