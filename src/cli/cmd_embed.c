// cli/cmd_embed.c - `runnel embed`: writes a vector or a score for each text; evaluates several texts at a time.
#include "app/base64_write.h"
#include "app/embed_form.h"
#include "app/files.h"
#include "app/interrupt.h"
#include "app/json_write.h"
#include "app/machine.h"
#include "app/rank_prompt.h"
#include "app/term.h"
#include "cli/command.h"
#include "cli/embed_picture.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOOK_NS = 100000000 }; // how often to check for Ctrl+C
enum encoding { ENCODING_FLOAT, ENCODING_BASE64 };

typedef struct embed_text {
    const char *text;
    size_t n;
    rn_stream *stream; // not NULL from begin_text() until the answer is written
    size_t n_tokens;
} embed_text;

typedef struct embed {
    machine on;
    int32_t pooling, encoding, n_parallel;
    bool no_normalize, is_json;
    int32_t n_dimensions; // 0: all
    const char *file, *query, *prompt_name;
    const char *prompt;   // text before each text
    const char *template; // joins query and text; NULL: an encoder's pair
    rn_embed_options opt;
    bytes input; // holds the texts that are not arguments
    embed_text *texts;
    size_t n_texts, n_begun;
    output out;
    embed_picture picture;
} embed;

static const option embed_rows[] = {
    {'f', "file", "FILE", OPTION_TEXT, offsetof(embed, file),
     .help = "embed each line of the file; blank lines are skipped; - is stdin"},
    {0, "pooling", "model|none|mean|first|last|rank", OPTION_CHOICE, offsetof(embed, pooling),
     .help =
         "how the tokens' vectors become one: none gives a line for each token, rank the scores of a reranker "
         "(default: as the file or the folder's modules.json says, else last; of encoders the mean, or the scores)"},
    {0, "query", "TEXT", OPTION_TEXT, offsetof(embed, query),
     .help =
         "score each text as an answer to this query, with the model's template for rerankers or as an encoder's pair "
         "of texts"},
    {0, "prompt-name", "NAME", OPTION_TEXT, offsetof(embed, prompt_name),
     .help = "put the model's prompt of this name before each text, such as query (default: the one that its "
             "config_sentence_transformers.json names, if any)"},
    {0, "dimensions", "N", OPTION_INT, offsetof(embed, n_dimensions), 1, INT32_MAX,
     .help = "the first N numbers of each vector, scaled to length 1 again, of models trained so (default: all)"},
    {0, "no-normalize", NULL, OPTION_FLAG, offsetof(embed, no_normalize),
     .help = "do not scale the vector to length 1 (default: scaled, except with none and rank, and for folders whose "
             "modules.json says otherwise)"},
    {0, "encoding", "float|base64", OPTION_CHOICE, offsetof(embed, encoding),
     .help = "numbers, or base64 of their bytes as float32, little-endian (default float)"},
    {0, "json", NULL, OPTION_FLAG, offsetof(embed, is_json),
     .help = "{\"index\": .., \"n_tokens\": .., \"embedding\": [..]} for each text"},
    {0, "parallel", "N", OPTION_INT, offsetof(embed, n_parallel), 1, 1024,
     .help = "texts evaluated at once, 1..1024 (default 16); the numbers do not depend on it"},
};

static const char *const notes = "Without --json a line holds one embedding, its numbers separated by spaces.\n"
                                 "With --pooling none the embedding is a list of rows, one for each token.\n"
                                 "The model's begin and end tokens are added to each text.";

// ---- texts ----------------------------------------------------------------------------------------------------------

static void add_text(embed *e, const char *text, size_t n) {
    if ((e->n_texts & (e->n_texts + 1)) == 0) // doubles at powers of two
        e->texts = app_realloc(e->texts, 2 * (e->n_texts + 1) * sizeof *e->texts);
    e->texts[e->n_texts++] = (embed_text){.text = text, .n = n};
}

static void split_lines(embed *e) {
    for (size_t at = 0; at < e->input.n;) {
        const char *line = e->input.data + at, *end = memchr(line, '\n', e->input.n - at);
        size_t n = end ? (size_t)(end - line) : e->input.n - at;
        at += n + 1;
        if (n && line[n - 1] == '\r') n--;
        if (!line_is_blank(line, n)) add_text(e, line, n);
    }
}

static int find_texts(embed *e, const options *parsed) {
    if (e->file && parsed->n_positional) {
        say("embed: TEXT and -f exclude each other");
        return EXIT_CODE_USAGE;
    }
    for (size_t i = 0; i < parsed->n_positional; i++)
        add_text(e, parsed->positional[i], strlen(parsed->positional[i]));
    if (e->n_texts) return EXIT_CODE_OK;
    if (!e->file && term_is(STDIN_FILENO)) {
        say("texts: none given: runnel embed TEXT .., -f FILE, or a pipe into stdin");
        return EXIT_CODE_USAGE;
    }
    if (!file_read(e->file ? e->file : "-", TEXT_LIMIT, &e->input)) return EXIT_CODE_FAILED;
    split_lines(e);
    if (e->n_texts) return EXIT_CODE_OK;
    say("%s: holds no text", e->file && strcmp(e->file, "-") != 0 ? e->file : "stdin");
    return EXIT_CODE_FAILED;
}

// ---- vectors --------------------------------------------------------------------------------------------------------

static void add_base64(bytes *to, const float *x, size_t n) {
    uint8_t *const little = app_alloc(n * sizeof *x);
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        for (size_t k = 0; k < sizeof bits; k++) little[i * sizeof bits + k] = (uint8_t)(bits >> 8 * k);
    }
    base64_add(to, little, n * sizeof *x);
    free(little);
}

static void add_plain_row(const embed *e, bytes *to, const float *x, size_t n) {
    if (e->encoding == ENCODING_BASE64) {
        add_base64(to, x, n);
    } else {
        for (size_t i = 0; i < n; i++) {
            json_writer w = {to, false};
            if (i) bytes_add_text(to, " ");
            json_put_float(&w, x[i]);
        }
    }
    bytes_add_text(to, "\n");
}

static void put_json_row(const embed *e, json_writer *w, const float *x, size_t n) {
    if (e->encoding == ENCODING_BASE64) {
        bytes text = {0};
        add_base64(&text, x, n);
        json_put_text(w, text.data, text.n);
        bytes_free(&text);
        return;
    }
    json_put_begin(w, '[');
    for (size_t i = 0; i < n; i++) json_put_float(w, x[i]);
    json_put_end(w, ']');
}

static void add_answer(const embed *e, size_t index, const rn_embed_shape *shape, const float *x, bytes *to) {
    json_writer w = {to, false};
    const bool is_list = shape->pooling == RN_POOLING_NONE;
    if (!e->is_json) {
        for (size_t r = 0; r < shape->n_rows; r++) add_plain_row(e, to, x + r * shape->n_row, shape->n_row);
        return;
    }
    json_put_begin(&w, '{');
    json_member_u64(&w, "index", index);
    json_member_u64(&w, "n_tokens", e->texts[index].n_tokens);
    json_put_key(&w, "embedding");
    if (is_list) json_put_begin(&w, '[');
    for (size_t r = 0; r < shape->n_rows; r++) put_json_row(e, &w, x + r * shape->n_row, shape->n_row);
    if (is_list) json_put_end(&w, ']');
    json_put_end(&w, '}');
    bytes_add_text(to, "\n");
}

// ---- the run --------------------------------------------------------------------------------------------------------

// Prints the error, with the number of the text if there are several.
static int failed(const embed *e, size_t index, const rn_error *err) {
    rn_error whole = *err;
    char *text = e->n_texts > 1 ? app_text("text %zu: %s", index + 1, err->text) : app_text("%s", err->text);
    snprintf(whole.text, sizeof whole.text, "%s", text);
    free(text);
    return machine_failed(&whole);
}

static rn_status begin_alone(embed *e, embed_text *t, rn_error *err) {
    int32_t *ids = NULL;
    rn_status st = embed_tokenize(e->on.model, e->prompt, t->text, t->n, SIZE_MAX, &ids, &t->n_tokens, err);
    if (st == RN_OK) st = rn_embed_begin(e->on.engine, 0, ids, t->n_tokens, &e->opt, &t->stream, err);
    rn_free(ids);
    return st;
}

static rn_status begin_with_query(embed *e, embed_text *t, rn_error *err) {
    const rank_prompt p = {e->template, e->query, t->text, strlen(e->query), t->n};
    rn_embed_options opt = e->opt;
    bytes ids = {0};
    rn_status st = rank_prompt_tokenize(e->on.model, &p, &ids, &opt.n_first, NULL, err);
    t->n_tokens = ids.n / sizeof(int32_t);
    if (st == RN_OK)
        st = rn_embed_begin(e->on.engine, 0, (const int32_t *)(const void *)ids.data, t->n_tokens, &opt, &t->stream,
                            err);
    bytes_free(&ids);
    return st;
}

static int begin_text(embed *e, size_t index) {
    embed_text *t = &e->texts[index];
    rn_error err = {0};
    const rn_status st = e->query ? begin_with_query(e, t, &err) : begin_alone(e, t, &err);
    return st == RN_OK ? EXIT_CODE_OK : failed(e, index, &err);
}

static int write_text(embed *e, size_t index) {
    embed_text *t = &e->texts[index];
    rn_chunk last;
    rn_error err = {0};
    rn_embed_shape shape = {.struct_size = sizeof shape};
    bytes line = {0};
    rn_status st;
    rn_chunk_init(&last);
    while ((st = rn_stream_next(t->stream, LOOK_NS, &last, &err)) == RN_E_AGAIN)
        if (interrupt_came()) return EXIT_CODE_INTERRUPTED;
    if (st == RN_OK && last.finish_reason != RN_FINISH_STOP) {
        err.code = RN_E_INTERNAL;
        snprintf(err.text, sizeof err.text, "%s", last.finish_detail);
        st = err.code;
    }
    if (st == RN_OK) st = rn_embed_get_shape(e->on.engine, 0, &e->opt, t->n_tokens, &shape, &err);
    if (st != RN_OK) return failed(e, index, &err);
    float *const x = app_alloc(shape.n_rows * shape.n_row * sizeof *x);
    const size_t n_row = shape.n_row;
    memcpy(x, last.embedding, shape.n_rows * n_row * sizeof *x);
    for (size_t r = 0; r < shape.n_rows; r++) {
        shape.n_row = embed_cut(x + r * n_row, n_row, (size_t)e->n_dimensions, shape.is_normalized);
        memmove(x + r * shape.n_row, x + r * n_row, shape.n_row * sizeof *x);
    }
    add_answer(e, index, &shape, x, &line);
    free(x);
    progress_hide(&e->on.bar);
    output_write(&e->out, line.data, line.n);
    bytes_free(&line);
    rn_stream_close(t->stream);
    t->stream = NULL;
    progress_update(&e->on.bar, "embedding", PROGRESS_COUNT, NULL, index + 1, e->n_texts);
    return EXIT_CODE_OK;
}

// Writes answers in order; the next n_parallel - 1 texts are evaluated meanwhile.
static int embed_texts(embed *e) {
    int code = EXIT_CODE_OK;
    for (size_t i = 0; i < e->n_texts && code == EXIT_CODE_OK && e->out.state == OUT_OPEN; i++) {
        while (code == EXIT_CODE_OK && e->n_begun < e->n_texts && e->n_begun - i < (size_t)e->n_parallel)
            code = begin_text(e, e->n_begun++);
        if (e->texts[i].stream) { // if a later text failed to begin, earlier answers are still written
            const int written = write_text(e, i);
            if (code == EXIT_CODE_OK || written == EXIT_CODE_INTERRUPTED) code = written;
        }
    }
    progress_hide(&e->on.bar);
    return output_exit(&e->out, code);
}

// --query needs a reranker whose file has a template, or an encoder that reads pairs of texts.
static int find_template(embed *e) {
    rn_model_info info = {.struct_size = sizeof info};
    rn_embed_shape shape = {.struct_size = sizeof shape};
    rn_error err = {0};
    if (!e->query) return EXIT_CODE_OK;
    rn_status st = rn_model_get_info(e->on.model, &info, &err);
    if (st == RN_OK) st = rn_embed_get_shape(e->on.engine, 0, &e->opt, 1, &shape, &err);
    if (st != RN_OK) return machine_failed(&err);
    if (shape.pooling != RN_POOLING_RANK) {
        say("--query: needs --pooling rank, not %s", rn_pooling_name(shape.pooling));
        return EXIT_CODE_USAGE;
    }
    const char *const why = rank_prompt_find(&info, &e->template);
    if (!why) return EXIT_CODE_OK;
    say("--query: %s: %s", info.path, why);
    return EXIT_CODE_FAILED;
}

static int find_prompt(embed *e) {
    rn_model_info info = {.struct_size = sizeof info};
    rn_embed_shape shape = {.struct_size = sizeof shape};
    rn_error err = {0};
    bytes why = {0};
    rn_status st = rn_model_get_info(e->on.model, &info, &err);
    if (st == RN_OK) st = rn_embed_get_shape(e->on.engine, 0, &e->opt, 1, &shape, &err);
    if (st != RN_OK) return machine_failed(&err);
    if ((size_t)e->n_dimensions > shape.n_row) {
        say("--dimensions: %d is outside 1..%zu", e->n_dimensions, shape.n_row);
        return EXIT_CODE_USAGE;
    }
    e->prompt = embed_prompt_find(&info, e->prompt_name, &why);
    if (!e->prompt) say("--prompt-name: %s", why.data ? why.data : "");
    bytes_free(&why);
    return e->prompt ? EXIT_CODE_OK : EXIT_CODE_USAGE;
}

static int run_embed(embed *e, const options *parsed) {
    int code = find_texts(e, parsed);
    if (code != EXIT_CODE_OK) return code;
    interrupt_catch();
    if ((size_t)e->n_parallel > e->n_texts) e->n_parallel = (int32_t)e->n_texts;
    e->on.n_streams = e->n_parallel;
    rn_embed_options_init(&e->opt);
    e->opt.pooling = (rn_pooling)e->pooling;
    e->opt.normalize = e->no_normalize ? RN_NORMALIZE_OFF : RN_NORMALIZE_DEFAULT;
    if ((code = machine_open_model(&e->on)) == EXIT_CODE_OK && (code = machine_open_engine(&e->on)) == EXIT_CODE_OK &&
        (code = find_template(e)) == EXIT_CODE_OK && (code = find_prompt(e)) == EXIT_CODE_OK)
        code = embed_texts(e);
    for (size_t i = 0; i < e->n_begun; i++) rn_stream_close(e->texts[i].stream);
    return code;
}

int cmd_embed(int n_args, char **args) {
    embed e = {.n_parallel = 16};
    options parsed;
    machine_init(&e.on);
    const option_group groups[] = {
        MACHINE_MODEL_GROUP(&e.on),
        MACHINE_SIZE_GROUP(&e.on),
        MACHINE_ENGINE_GROUP(&e.on),
        MACHINE_MMPROJ_GROUP(&e.on),
        {"Embeddings", embed_rows, sizeof embed_rows / sizeof *embed_rows, &e},
        EMBED_PICTURE_GROUP(&e.picture),
    };
    const option_spec spec = {
        .command = "embed",
        .usage = "[-m MODEL] [TEXT .. | -f FILE | --image FILE] [options]",
        .about = "Convert each TEXT, each line of FILE or each line of stdin to a vector.",
        .notes = notes,
        .groups = groups,
        .n_groups = sizeof groups / sizeof *groups,
        .max_positional = (size_t)n_args,
    };
    int code;
    if (options_parse(&spec, n_args, args, &parsed, &code))
        code = embed_picture_is_asked(&e.picture) ? embed_picture_run(&e.picture, &e.on, &parsed)
                                                  : run_embed(&e, &parsed);
    options_free(&parsed);
    machine_close(&e.on);
    free(e.texts);
    bytes_free(&e.input);
    return code;
}
