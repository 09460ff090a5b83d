// cli/new_file.c - see new_file.h.
#include "cli/new_file.h"
#include "app/interrupt.h"
#include "app/json_write.h"
#include "app/machine.h"
#include "app/numbers.h"
#include "app/term.h"
#include "app/wrap.h"
#include <stdlib.h>
#include <string.h>

// Reads PATTERN=TYPE. Patterns may contain `=`, types may not.
static bool take_rule(void *target, const char *value, char *why) {
    new_file *const f = target;
    const char *const sign = strrchr(value, '=');
    if (!sign || sign == value || !sign[1]) {
        snprintf(why, NUMBER_WHY, "'%.80s' is not PATTERN=TYPE", value);
        return false;
    }
    if (f->opt.n_keep == NEW_FILE_MAX_RULES) {
        snprintf(why, NUMBER_WHY, "given more than %d times", NEW_FILE_MAX_RULES);
        return false;
    }
    char *const pattern = app_copy_text(value);
    pattern[sign - value] = '\0';
    f->patterns[f->opt.n_keep] = pattern;
    f->rules[f->opt.n_keep++] = (rn_type_rule){pattern, sign + 1};
    return true;
}

const option new_file_rows[NEW_FILE_ROWS] = {
    {0, "imatrix", "FILE", OPTION_TEXT, offsetof(new_file, opt.imatrix),
     .help = "importance matrix, from `runnel imatrix` or from llama.cpp (GGUF)"},
    {0, "keep", "PATTERN=TYPE", OPTION_EACH, .each = take_rule,
     .help = "use this type for matrices whose name matches: *ffn_down*=Q6_K (* any text, ? one "
             "character); repeatable, up to 64, the last match wins"},
    {0, "allow-requantize", NULL, OPTION_FLAG, offsetof(new_file, opt.allow_requantize),
     .help = "quantize matrices that are quantized already, too; this loses more than quantizing the original"},
    {'t', "threads", "N", OPTION_INT, offsetof(new_file, opt.n_threads), 1, 64,
     .help = "compute threads, 1..64 (default: what CPU quota, affinity and physical cores allow)"},
    {0, "json", NULL, OPTION_FLAG, offsetof(new_file, is_json),
     .help = "print a JSON line for each tensor, and one for the file"},
};

static bool show_progress(void *user, rn_phase phase, uint64_t done, uint64_t total) {
    new_file *const f = user;
    progress_update(&f->bar, phase == RN_PHASE_WRITE ? "writing" : "loading", PROGRESS_BYTES, NULL, done, total);
    return interrupt_came();
}

static void print_warning(void *user, rn_log_level level, const char *text) {
    new_file *const f = user;
    if (level > RN_LOG_WARN) return;
    progress_hide(&f->bar);
    say("warning: %s", text);
}

static void add_tensor_json(bytes *line, const rn_tensor_report *r) {
    json_writer w = {line, false};
    json_put_begin(&w, '{');
    json_member_string(&w, "name", r->name);
    json_member_string(&w, "from", r->type_before);
    json_member_string(&w, "to", r->type_after);
    json_member_u64(&w, "elements", r->n_elements);
    json_member_u64(&w, "bytes", r->bytes_after);
    json_member_real(&w, "error", r->error);
    json_member_string(&w, "note", r->note);
    json_put_end(&w, '}');
}

// Adds a name from an untrusted file on one line, without control characters.
static void add_name(bytes *line, const char *name, int width) {
    bytes shown = {0};
    term_add_plain(&shown, name, strlen(name));
    for (size_t i = 0; i < shown.n; i++)
        if (shown.data[i] == '\n' || shown.data[i] == '\t') shown.data[i] = ' ';
    bytes_add_format(line, "%-*s", width, shown.n ? shown.data : "");
    bytes_free(&shown);
}

// "blk.0.ffn_down.weight          BF16 -> Q4_K   110.6 kB  error 0.0712  (why)"
static void add_tensor_text(bytes *line, const rn_tensor_report *r) {
    char size[HUMAN_BYTES];
    const bool changes = strcmp(r->type_before, r->type_after) != 0;
    add_name(line, r->name, 30);
    bytes_add_format(line, "  %-4s %s %-6s  %9s", r->type_before, changes ? "->" : "  ", changes ? r->type_after : "",
                     human_size(r->bytes_after, size));
    if (r->error > 0) bytes_add_format(line, "  error %.4f", r->error);
    if (r->note) bytes_add_format(line, "  (%s)", r->note);
}

static void take_report(void *user, const rn_tensor_report *r) {
    new_file *const f = user;
    bytes line = {0};
    (f->is_json ? add_tensor_json : add_tensor_text)(&line, r);
    bytes_add_text(&line, "\n");
    progress_hide(&f->bar);
    output_write(&f->out, line.data, line.n);
    bytes_free(&line);
    f->n_tensors++;
    f->n_elements += r->n_elements;
    f->bytes_before += r->bytes_before;
    f->bytes_after += r->bytes_after;
}

static void print_total(new_file *f, const char *path) {
    const double bits = (double)f->bytes_after * 8 / (double)f->n_elements;
    bytes line = {0};
    if (f->is_json) {
        json_writer w = {&line, false};
        json_put_begin(&w, '{');
        json_member_string(&w, "file", path);
        json_member_u64(&w, "tensors", f->n_tensors);
        json_member_u64(&w, "bytes_before", f->bytes_before);
        json_member_u64(&w, "bytes", f->bytes_after);
        json_member_rounded(&w, "bits_per_weight", bits, 3);
        json_put_end(&w, '}');
        bytes_add_text(&line, "\n");
    } else {
        char before[HUMAN_BYTES], after[HUMAN_BYTES];
        add_name(&line, path, 0);
        bytes_add_format(&line, ": %zu tensors, %s -> %s, %.2f bits a weight\n", f->n_tensors,
                         human_size(f->bytes_before, before), human_size(f->bytes_after, after), bits);
    }
    output_write(&f->out, line.data, line.n);
    bytes_free(&line);
}

void new_file_init(new_file *f) {
    *f = (new_file){0};
    rn_quantize_options_init(&f->opt);
    progress_begin(&f->bar);
}

int new_file_make(new_file *f, new_file_fn make, const char *in, const char *out) {
    rn_error err = {0};
    f->opt.keep = f->rules;
    f->opt.log = print_warning;
    f->opt.progress = show_progress;
    f->opt.report = take_report;
    f->opt.log_user = f->opt.progress_user = f->opt.report_user = f;
    interrupt_catch();
    const rn_status st = make(in, out, &f->opt, &err);
    progress_end(&f->bar);
    if (st != RN_OK) return machine_failed(&err);
    print_total(f, out);
    return output_exit(&f->out, EXIT_CODE_OK);
}

void new_file_close(new_file *f) {
    progress_end(&f->bar);
    for (size_t i = 0; i < f->opt.n_keep; i++) free(f->patterns[i]);
}

char *new_file_types_text(void) {
    bytes text = {0};
    rn_quantization q;
    bytes_add_text(&text, "Types:\n");
    for (size_t i = 0; rn_quantization_at(i, &q); i++) bytes_add_format(&text, "  %-8s%s\n", q.name, q.help);
    bytes_add_text(&text, "Where a type's blocks do not divide a tensor's rows, the next larger type whose\n"
                          "blocks do is used, and the tensor's line says so. error is the root of the sum\n"
                          "of squared differences over the sum of squares.");
    return text.data;
}
