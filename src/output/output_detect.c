// output/output_detect.c - finds a format by its name, or by the marks in a chat template.
#include "base/mem.h"
#include "output/output_formats.h"
#include "output/output_tag.h"
#include <assert.h>
#include <string.h>

// Marks in a template's source and the format that they indicate. The first match wins, so rare
// marks come before marks that several formats share.
static const struct {
    const char *mark, *also; // NULL: the mark alone is enough
    const char *format;
} marks[] = {
    {"<|tool_calls_section_begin|>", NULL, "kimi"},
    {"<|im_middle|>", NULL, "kimi"}, // Kimi's first template writes no calls
    {"<|close|>", "<|end_of_msg|>", "kimi-k3"},
    {"<｜tool▁calls▁begin｜>", NULL, "deepseek"},
    {"｜DSML｜", NULL, "deepseek-dsml"},
    {"<|channel|>analysis", NULL, "harmony"},
    {"<atem:function_calls>", NULL, "muse"},
    {"atem:", "to=self", "muse"},
    {"<|tool_call>call:", NULL, "gemma-4"},
    {"<start_function_call>", NULL, "functiongemma"},
    {"<|START_ACTION|>", NULL, "command-a"},
    {"Action:", "```json", "command-r"},
    {"<arg_key:opensource>", NULL, "hy3"},
    {"<arg_key{}>", NULL, "hy3"},
    {"<arg_key>", NULL, "glm"},
    {"minimax[>[", NULL, "minimax-m3"},
    {"<minimax:tool_call>", NULL, "minimax-m2"},
    {"<seed:tool_call>", NULL, "seed-oss"},
    {"<function name=", NULL, "minicpm"},
    {"<|tool_call:begin|>", NULL, "solar"},
    {"<|tools_prefix|>", NULL, "apertus"},
    {"<|tool_call_start|>", NULL, "lfm2"},
    {"<|tool_list_start|>", NULL, "lfm2"},
    {"List of tools: [", NULL, "lfm2"},
    {"<TOOLCALL>", NULL, "nemotron"},
    {"[BEGIN FINAL RESPONSE]", NULL, "apriel"},
    {"<|tool_call|>", NULL, "granite"},
    {"<|action_start|>", NULL, "internlm"},
    {"function call", "<|role_sep|>", "gigachat"},
    {"available functions", "additional_special_tokens", "gigachat"},
    {"[TOOL_CALL_START]", NULL, "yandexgpt"},
    {"functools", NULL, "functools"},
    {">>>${recipient}", NULL, "functionary-3.2"},
    {">>>all", NULL, "functionary-3.2"},
    {"<tool_call>", "<parameter=", "qwen3-coder"},
    {"<function=", "</function>", "functionary-3.1"},
    {"<function_calls>", NULL, "olmo-3"},
    {"<tool_calls>", NULL, "tool-calls"},
    {"[TOOL_CALLS]", NULL, "mistral"},
    {"[SYSTEM_PROMPT]", NULL, "mistral"}, // these tokenizers also have [TOOL_CALLS]
    {"<tool_call>", NULL, "hermes"},
    {"<|python_start|>", NULL, "llama-4"},
    {"<|python_tag|>", NULL, "llama-3"},
    {"Environment: ipython", NULL, "llama-3"},
    {"Reasoning Mode: ", "</think>", "hermes"}, // SmolLM3: the template lists tools but writes no calls
    {"</think>", NULL, "think"},
};

const output_format *output_format_named(const char *name) {
    for (size_t i = 0; i < n_output_formats; i++)
        if (strcmp(output_formats[i].name, name) == 0) return &output_formats[i];
    return NULL;
}

static bool has(const char *source, size_t n, const char *mark) {
    return !mark || memmem(source, n, mark, strlen(mark)) != NULL;
}

const output_format *output_format_of_template(const char *source, size_t n) {
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (has(source, n, marks[i].mark) && has(source, n, marks[i].also))
            return output_format_named(marks[i].format);
    return &output_formats[0];
}

rn_status output_format_with_calls(const output_format *f, const output_format *calls, output_format **out,
                                   rn_error *err) {
    output_format *const made = mem_alloc(sizeof *made);
    *out = made;
    if (!made) return fail(err, RN_E_NOMEM, "output format %s: out of memory", calls->name);
    memcpy(made, calls, sizeof *made);
    memcpy(made->framing, f->framing, sizeof made->framing);
    made->frame = f->frame;
    made->frame.calls = made->frame.calls_end = NULL;
    made->frame.says_calls = true;
    if (f->reasoning[0].open) memcpy(made->reasoning, f->reasoning, sizeof made->reasoning);
    return RN_OK;
}

void output_format_free(output_format *f) { mem_free(f); }

const char *output_format_name(const output_format *f) { return f->name; }

bool output_format_reasoning(const output_format *f, const char **open, const char **close) {
    *open = f->reasoning[0].open;
    *close = f->reasoning[0].close;
    return *open != NULL;
}

// The length of the spelling; 0: not all of it is in the source. Tags are looked for one by one, since templates put them together.
static size_t length_in(const char *source, const char *spelling) {
    size_t length = 0;
    for (const char *s = spelling ? spelling : ""; *s;) {
        char tag[OUTPUT_MAX_NAME];
        size_t n = 0;
        if (*s == '%') {
            s += 2;
            continue;
        }
        do tag[n++] = *s++;
        while (*s && n + 1 < sizeof tag && !strchr("%<[", *s) && s[-1] != '>' && s[-1] != ']');
        tag[n] = 0;
        if (n > 1 && !strstr(source, tag)) return 0;
        length += n;
    }
    return length;
}

uint32_t output_format_form(const output_format *f, const char *source) {
    uint32_t best = UINT32_MAX;
    size_t most = 0;
    for (uint32_t i = 0; i < FORMAT_FORMS && f->forms[i].body; i++) {
        const struct call_form *const form = &f->forms[i];
        const char *const parts[] = {form->open, form->head, form->tails[0], form->tails[1]};
        size_t length = 0;
        bool is_there = true;
        if (form->writes.never) continue;
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
            const size_t n = length_in(source, parts[k]);
            is_there &= n > 0 || !parts[k];
            length += n;
        }
        if (best == UINT32_MAX || (is_there && length > most)) best = i, most = is_there ? length : 0;
    }
    return best == UINT32_MAX ? 0 : best;
}

bool output_format_has_calls(const output_format *f) { return f->forms[0].body != BODY_NONE; }
bool output_format_has_bare_strings(const output_format *f) {
    for (int i = 0; i < FORMAT_FORMS; i++)
        if (f->forms[i].body == BODY_PARAMETERS || f->forms[i].body == BODY_ELEMENTS) return true;
    return false;
}
bool output_format_frames(const output_format *f) { return f->frame.content[0].open != NULL; }
size_t output_n_formats(void) { return n_output_formats; }

const output_format *output_format_at(size_t i, const char **help) {
    assert(i < n_output_formats);
    if (help) *help = output_formats[i].help;
    return &output_formats[i];
}

static bool spelled(const char *tag, const char *spelling, size_t n) {
    return tag && memmem(tag, strlen(tag), spelling, n) != NULL;
}

static bool form_reads(const struct call_form *f, const char *s, size_t n) {
    bool reads = spelled(f->open, s, n) || spelled(f->head, s, n) || spelled(f->end, s, n) ||
                 spelled(f->close, s, n) || spelled(f->quote, s, n);
    for (int i = 0; i < 2; i++)
        reads |= spelled(f->tails[i], s, n) || spelled(f->params[i].tag, s, n) || spelled(f->params[i].end, s, n);
    return reads;
}

bool output_format_reads(const output_format *f, const char *spelling, size_t n) {
    bool reads = false;
    if (n == 0) return false;
    for (int i = 0; i < FORMAT_BLOCKS; i++)
        reads |= spelled(f->reasoning[i].open, spelling, n) || spelled(f->reasoning[i].close, spelling, n);
    for (int i = 0; i < FORMAT_TAGS; i++) reads |= spelled(f->framing[i], spelling, n);
    for (int i = 0; i < FORMAT_FORMS; i++) reads |= form_reads(&f->forms[i], spelling, n);
    return reads;
}
