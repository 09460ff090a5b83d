// tests/convert/quantize_test.c - rn_quantize(): what it carries over, what it rounds, what it refuses, what it leaves behind.
#include "base/mem.h"
#include "formats/gguf/gguf.h"
#include "formats/package.h"
#include "tests/check.h"
#include "tests/support/left_behind.h"
#include "tests/support/tiny_model.h"
#include <math.h>
#include <runnel/tools.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

// Paths of files in the temporary folder, in a static buffer of 8 rotating.
static const char *at(const char *name) {
    static char paths[8][512];
    static unsigned turn;
    char *path = paths[turn++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", temp_dir(), name);
    return path;
}

static rn_quantize_options options_of(const char *type) {
    rn_quantize_options o;
    rn_quantize_options_init(&o);
    o.type = type;
    o.n_threads = 1;
    return o;
}

// A model with everything: own head, biases, rope factors, unknown keys. Its path is kept.
static const char *source(enum tensor_type type) {
    static const char *const names[] = {"f32.gguf", "f16.gguf", "bf16.gguf", "q8_0.gguf"};
    static char paths[4][512];
    char *path = paths[type];
    snprintf(path, sizeof paths[0], "%s", at(names[type]));
    struct tiny_model m = tiny_model_default();
    struct gguf_builder b;
    m.type = type;
    m.rope_freqs = m.biases = m.own_head = true;
    gb_begin(&b, 3);
    gb_u32(&b, "general.file_type", 1);
    gb_str(&b, "someone.else", "keeps \xc3\xa9");
    gb_array(&b, "someone.list", GB_F64, (double[]){1, NAN}, 2, 8);
    tiny_model_build(&m, &b);
    gb_u32(&b, "split.count", 1);
    size_t n;
    uint8_t *file = gb_finish(&b, &n);
    write_file(path, file, n);
    free(file);
    return path;
}

// A file's bytes taken apart; close with opened_free().
struct opened {
    uint8_t *bytes;
    size_t n;
    struct gguf g;
    package *p;
};
static bool opened_read(struct opened *o, const char *path) {
    rn_error err = {0};
    *o = (struct opened){0};
    o->bytes = read_file(path, &o->n);
    return o->bytes && CHECK_OK(gguf_read(&o->g, o->bytes, o->n, &err), &err) &&
           CHECK_OK(package_from_bytes("out", o->bytes, o->n, &o->p, &err), &err);
}
static void opened_free(struct opened *o) {
    package_close(o->p);
    gguf_free(&o->g);
    free(o->bytes);
}

static bool has_key(const struct gguf_pair *pair, const char *key) {
    return strlen(key) == pair->n_key && memcmp(pair->key, key, pair->n_key) == 0;
}

TEST(every_pair_is_carried_over_but_for_those_that_are_no_longer_true) {
    const rn_quantize_options opt = options_of("Q8_0");
    rn_error err = {0};
    struct opened before, after;
    const char *in = source(TENSOR_F32);
    if (!CHECK_OK(rn_quantize(in, at("out.gguf"), &opt, &err), &err)) return;
    if (!opened_read(&before, in) || !opened_read(&after, at("out.gguf"))) return;
    size_t k = 0;
    for (size_t i = 0; i < before.g.n_pairs; i++) {
        const struct gguf_pair *x = &before.g.pairs[i], *y = &after.g.pairs[k];
        if (has_key(x, "split.count")) continue;
        check_note("%.*s", (int)x->n_key, x->key);
        k++;
        CHECK(x->n_key == y->n_key && memcmp(x->key, y->key, x->n_key) == 0 && x->type == y->type);
        if (has_key(x, "general.file_type"))
            CHECK_INT(gguf_load_u32(y->value), 7);
        else
            CHECK(gguf_value_bytes(x) == gguf_value_bytes(y) && memcmp(x->value, y->value, gguf_value_bytes(x)) == 0);
    }
    CHECK_INT(after.g.n_pairs, k + 1);
    CHECK(has_key(&after.g.pairs[k], "general.quantization_version"));
    opened_free(&before);
    opened_free(&after);
}

// What a matrix should hold: each row through the table's own functions.
static void check_tensor(const struct tensor_view *x, const struct tensor_view *y,
                         const struct tensor_type_info *want) {
    check_note("%s as %s", x->name, want->name);
    CHECK_STR(tensor_type_info(y->type)->name, want->name);
    CHECK(memcmp(x->ne, y->ne, sizeof x->ne) == 0 && x->n_dims == y->n_dims);
    if (y->type != want->type) return;
    float *row = malloc(x->ne[0] * sizeof *row);
    uint8_t *bytes = malloc(y->row_bytes);
    for (size_t r = 0; r < x->n_bytes / x->row_bytes; r++) {
        tensor_type_info(x->type)->dequantize_row(x->data + r * x->row_bytes, row, x->ne[0]);
        want->quantize_row(row, NULL, bytes, x->ne[0]);
        if (!CHECK_MEM(y->data + r * y->row_bytes, bytes, y->row_bytes)) break;
    }
    free(row);
    free(bytes);
}

TEST(every_matrix_is_what_the_types_own_rounding_gives_and_vectors_stay) {
    static const char *const types[] = {"F32", "F16", "BF16", "Q8_0", "Q4_0", "Q5_1", "IQ4_NL"};
    for (enum tensor_type from = TENSOR_F32; from <= TENSOR_BF16; from++)
        for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
            const rn_quantize_options opt = options_of(types[i]);
            rn_error err = {0};
            struct opened before, after;
            const char *in = source(from);
            if (!CHECK_OK(rn_quantize(in, at("out.gguf"), &opt, &err), &err)) return;
            if (!opened_read(&before, in) || !opened_read(&after, at("out.gguf"))) return;
            CHECK_INT(package_n_tensors(after.p), package_n_tensors(before.p));
            for (size_t k = 0; k < package_n_tensors(before.p); k++) {
                const struct tensor_view *x = package_tensor_at(before.p, k), *y = package_tensor_at(after.p, k);
                const struct tensor_type_info *want = tensor_type_by_name(types[i]);
                CHECK_STR(y->name, x->name);
                // The head is protected; rows of 64 and 96 have no Q6_K, so by Q8_0.
                if (strcmp(x->name, "output.weight") == 0 && want->block_len > 1)
                    want = tensor_type_info(TENSOR_Q8_0);
                if (x->n_dims < 2) want = tensor_type_info(x->type);
                check_tensor(x, y, want);
            }
            opened_free(&before);
            opened_free(&after);
        }
}

TEST(the_same_bytes_come_out_for_every_number_of_threads_and_every_time) {
    static const char *const types[] = {"Q4_0", "Q6_K", "Q4_K_M"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        rn_quantize_options opt = options_of(types[i]);
        rn_error err = {0};
        size_t n_first = 0;
        uint8_t *first = NULL;
        const char *in = source(TENSOR_F32);
        for (int run = 0; run < 4; run++) {
            opt.n_threads = run == 3 ? 1 : run + 1;
            if (!CHECK_OK(rn_quantize(in, at("out.gguf"), &opt, &err), &err)) return;
            size_t n;
            uint8_t *bytes = read_file(at("out.gguf"), &n);
            check_note("%s, run %d", types[i], run);
            if (!first) {
                first = bytes, n_first = n;
                continue;
            }
            CHECK_INT(n, n_first);
            CHECK_MEM(bytes, first, n_first);
            free(bytes);
        }
        free(first);
    }
}

// ---- reports --------------------------------------------------------------------------------------------------------

struct seen {
    size_t n;
    double q_error; // of blk.0.attn_q.weight
    char note[128]; // of token_embd.weight
    uint64_t done, total;
    size_t n_progress;
    bool is_monotone;
};
static void see(void *user, const rn_tensor_report *r) {
    struct seen *s = user;
    CHECK_INT(r->index, s->n++);
    if (strcmp(r->name, "blk.0.attn_q.weight") == 0) {
        s->q_error = r->error;
        CHECK_STR(r->type_before, "F32");
        CHECK_STR(r->type_after, "Q4_0");
        CHECK_INT(r->n_elements, 64 * 64);
        CHECK_INT(r->bytes_before, 64 * 64 * 4);
        CHECK_INT(r->bytes_after, 64 * 64 / 32 * 18);
        CHECK(r->note == NULL);
    }
    if (strcmp(r->name, "output.weight") == 0 && r->note) snprintf(s->note, sizeof s->note, "%s", r->note);
    if (strcmp(r->name, "output_norm.weight") == 0) CHECK(r->error == 0);
}
static bool watch(void *user, rn_phase phase, uint64_t done, uint64_t total) {
    struct seen *s = user;
    if (phase != RN_PHASE_WRITE) return false;
    s->n_progress++;
    s->is_monotone &= done > s->done && done <= total && (s->total == 0 || s->total == total);
    s->done = done, s->total = total;
    return false;
}

TEST(each_tensor_is_reported_with_the_error_it_got) {
    rn_quantize_options opt = options_of("Q4_0");
    struct seen s = {.is_monotone = true};
    rn_error err = {0};
    struct opened before, after;
    opt.report = see, opt.report_user = &s;
    opt.progress = watch, opt.progress_user = &s;
    opt.n_threads = 2;
    const char *in = source(TENSOR_F32);
    if (!CHECK_OK(rn_quantize(in, at("out.gguf"), &opt, &err), &err)) return;
    if (!opened_read(&before, in) || !opened_read(&after, at("out.gguf"))) return;
    const struct tensor_view *x = package_tensor(before.p, "blk.0.attn_q.weight"),
                             *y = package_tensor(after.p, "blk.0.attn_q.weight");
    double difference = 0, square = 0;
    float row[64];
    for (size_t r = 0; r < 64; r++) {
        double row_difference = 0, row_square = 0;
        tensor_type_info(y->type)->dequantize_row(y->data + r * y->row_bytes, row, 64);
        for (size_t i = 0; i < 64; i++) {
            float v;
            memcpy(&v, x->data + r * x->row_bytes + 4 * i, 4);
            row_difference += ((double)row[i] - (double)v) * ((double)row[i] - (double)v);
            row_square += (double)v * (double)v;
        }
        difference += row_difference, square += row_square;
    }
    CHECK(s.q_error == sqrt(difference / square) && s.q_error > 0.01 && s.q_error < 0.2);
    CHECK_INT(s.n, package_n_tensors(before.p));
    CHECK_STR(s.note, "its rows of 64 are not a multiple of 256");
    CHECK(s.is_monotone && s.n_progress >= s.n);
    CHECK(s.done <= s.total && s.total - s.done < 32 * s.n); // what is missing is padding
    opened_free(&before);
    opened_free(&after);
}

// ---- refusals -------------------------------------------------------------------------------------------------------

TEST(a_quantized_matrix_is_quantized_again_only_where_that_is_asked_for) {
    static const struct {
        const char *type;
        bool allow;
        rn_status want;
    } rows[] = {{"Q4_0", false, RN_E_ARG},
                {"Q4_0", true, RN_OK},
                {"F16", false, RN_E_ARG},
                {"F32", false, RN_OK},
                {"Q8_0", false, RN_OK}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rn_quantize_options opt = options_of(rows[i].type);
        rn_error err = {0};
        opt.allow_requantize = rows[i].allow;
        check_note("%s, allowed %d", rows[i].type, rows[i].allow);
        remove(at("out.gguf"));
        CHECK_INT(rn_quantize(source(TENSOR_Q8_0), at("out.gguf"), &opt, &err), rows[i].want);
        if (rows[i].want != RN_OK) CHECK_HAS(err.text, "tensor token_embd.weight: is Q8_0 already");
        CHECK_INT(n_files_in(temp_dir(), "out.gguf"), rows[i].want == RN_OK);
    }
}

TEST(a_type_that_is_already_there_is_copied) {
    rn_quantize_options opt = options_of("Q8_0");
    rn_error err = {0};
    struct opened before, after;
    const char *in = source(TENSOR_Q8_0);
    if (!CHECK_OK(rn_quantize(in, at("out.gguf"), &opt, &err), &err)) return;
    if (!opened_read(&before, in) || !opened_read(&after, at("out.gguf"))) return;
    for (size_t i = 0; i < package_n_tensors(before.p); i++) {
        const struct tensor_view *x = package_tensor_at(before.p, i), *y = package_tensor_at(after.p, i);
        CHECK(x->n_bytes == y->n_bytes && memcmp(x->data, y->data, x->n_bytes) == 0);
    }
    opened_free(&before);
    opened_free(&after);
}

TEST(the_input_is_not_overwritten_whatever_it_is_called) {
    const rn_quantize_options opt = options_of("Q4_0");
    const char *in = source(TENSOR_F32);
    char direct[512], link_path[512], hard[512];
    size_t n_before, n_after;
    snprintf(direct, sizeof direct, "%s", in);
    snprintf(link_path, sizeof link_path, "%s", at("soft.gguf"));
    snprintf(hard, sizeof hard, "%s", at("hard.gguf"));
    CHECK(symlink(direct, link_path) == 0 && link(direct, hard) == 0);
    const char *const outs[] = {direct, link_path, hard};
    uint8_t *before = read_file(direct, &n_before);
    for (size_t i = 0; i < 3; i++) {
        rn_error err = {0};
        check_note("%s", outs[i]);
        CHECK_FAILS(rn_quantize(direct, outs[i], &opt, &err), RN_E_ARG, &err);
        CHECK_HAS(err.text, "is an input file too");
    }
    write_file(at("im.gguf"), "guide", 5);
    rn_quantize_options guided = opt;
    rn_error err = {0};
    guided.imatrix = at("im.gguf");
    CHECK_FAILS(rn_quantize(direct, at("im.gguf"), &guided, &err), RN_E_ARG, &err);
    CHECK_HAS(err.text, "im.gguf: is an input file too");
    uint8_t *after = read_file(direct, &n_after);
    CHECK(n_before == n_after && memcmp(before, after, n_after) == 0);
    free(before);
    free(after);
    unlink(link_path);
    unlink(hard);
}

TEST(wrong_arguments_are_refused_by_name) {
    const char *in = source(TENSOR_F32);
    char folder[512];
    snprintf(folder, sizeof folder, "%s", temp_dir());
    rn_quantize_options none = options_of(NULL), unknown = options_of("Q9_9"), many = options_of("Q8_0"), old = many,
                        no_rules = many;
    many.n_threads = 65;
    old.struct_size = 8;
    no_rules.n_keep = 1;
    const struct {
        const char *in;
        const rn_quantize_options *opt;
        rn_status want;
        const char *text;
    } rows[] = {
        {in, &none, RN_E_ARG, "type: none given"},
        {in, NULL, RN_E_ARG, "type: none given"},
        {in, &unknown, RN_E_ARG, "type: Q9_9 is unknown; F32, F16, BF16, Q8_0, Q6_K, Q5_K_M"},
        {in, &many, RN_E_ARG, "n_threads: 65 is outside 0..64"},
        {in, &old, RN_E_ARG, "struct_size is 8"},
        {in, &no_rules, RN_E_ARG, "keep: NULL argument"},
        {NULL, &many, RN_E_ARG, "rn_quantize: NULL argument"},
        {folder, &no_rules, RN_E_ARG, "keep: NULL argument"},
        {"/nowhere/m.gguf", &none, RN_E_ARG, "type: none"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rn_error err = {0};
        check_note("%s", rows[i].text);
        CHECK_FAILS(rn_quantize(rows[i].in, at("never.gguf"), rows[i].opt, &err), rows[i].want, &err);
        CHECK_HAS(err.text, rows[i].text);
        CHECK_INT(n_files_in(temp_dir(), "never"), 0);
    }
    rn_error err = {0};
    const rn_quantize_options fine = options_of("Q8_0");
    CHECK_FAILS(rn_quantize(folder, at("never.gguf"), &fine, &err), RN_E_ARG, &err);
    CHECK_HAS(err.text, "is a folder: convert makes a GGUF file of it first");
    CHECK_FAILS(rn_convert(in, at("never.gguf"), &fine, &err), RN_E_ARG, &err);
    CHECK_HAS(err.text, "is not a folder: quantize takes GGUF files");
    CHECK_FAILS(rn_quantize("/nowhere/m.gguf", at("never.gguf"), &fine, &err), RN_E_IO, &err);
    CHECK_FAILS(rn_quantize(in, "/nowhere/out.gguf", &fine, &err), RN_E_IO, &err);
    CHECK_HAS(err.text, "/nowhere/out.gguf: cannot be created");
}

TEST(weights_that_a_type_cannot_hold_are_refused_by_their_row) {
    static const struct {
        float value;
        const char *type, *text;
    } rows[] = {
        {NAN, "Q8_0", "tensor blk.0.attn_q.weight: row 3 has a number that is not finite"},
        {INFINITY, "BF16", "tensor blk.0.attn_q.weight: row 3 has a number that is not finite"},
        {70000.0f, "F16", "tensor blk.0.attn_q.weight: row 3 has a number too large for F16"},
        {65504.0f, "F16", NULL},
        {1e30f, "Q4_0", "tensor blk.0.attn_q.weight: row 3 has a number too large for Q4_0"},
        {1e20f, "IQ4_NL", "tensor blk.0.attn_q.weight: row 3 has a number too large for IQ4_NL"},
        {1e30f, "BF16", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t n;
        struct opened o;
        const char *in = source(TENSOR_F32);
        if (!opened_read(&o, in)) return;
        const struct tensor_view *t = package_tensor(o.p, "blk.0.attn_q.weight");
        n = o.n;
        memcpy(o.bytes + (t->data - o.bytes) + 3 * t->row_bytes + 8, &rows[i].value, 4);
        write_file(at("odd.gguf"), o.bytes, n);
        opened_free(&o);
        rn_quantize_options opt = options_of(rows[i].type);
        opt.n_threads = 3;
        rn_error err = {0};
        check_note("%g as %s", (double)rows[i].value, rows[i].type);
        remove(at("got.gguf"));
        CHECK_INT(rn_quantize(at("odd.gguf"), at("got.gguf"), &opt, &err), rows[i].text ? RN_E_FORMAT : RN_OK);
        if (rows[i].text) CHECK_STR(err.text, rows[i].text);
        CHECK_INT(n_files_in(temp_dir(), "got.gguf"), !rows[i].text);
    }
}

// ---- complete or absent ---------------------------------------------------------------------------------------------

static bool stop_at_half(void *user, rn_phase phase, uint64_t done, uint64_t total) {
    (void)user;
    return phase == RN_PHASE_WRITE && done > total / 2;
}
TEST(a_stopped_run_keeps_the_old_file_and_leaves_nothing_else) {
    rn_quantize_options opt = options_of("Q4_0");
    rn_error err = {0};
    size_t n;
    write_file(at("kept.gguf"), "old", 3);
    opt.progress = stop_at_half;
    CHECK_FAILS(rn_quantize(source(TENSOR_F32), at("kept.gguf"), &opt, &err), RN_E_CANCELLED, &err);
    char *old = (char *)read_file(at("kept.gguf"), &n);
    CHECK_STR(old, "old");
    CHECK_INT(n_files_in(temp_dir(), "kept"), 1);
    free(old);
}

TEST(a_full_disk_keeps_the_old_file_and_leaves_nothing_else) {
    const rn_quantize_options opt = options_of("Q8_0");
    const char *in = source(TENSOR_F32);
    struct rlimit before;
    getrlimit(RLIMIT_FSIZE, &before);
    void (*const handler)(int) = signal(SIGXFSZ, SIG_IGN);
    write_file(at("full.gguf"), "old", 3);
    for (size_t room = 0; room < 100000; room += 9973) {
        rn_error err = {0};
        size_t n;
        check_note("room for %zu bytes", room);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){room, before.rlim_max});
        const rn_status st = rn_quantize(in, at("full.gguf"), &opt, &err);
        setrlimit(RLIMIT_FSIZE, &before);
        CHECK_FAILS(st, RN_E_IO, &err);
        CHECK_HAS(err.text, "full.gguf: cannot be written: File too large");
        char *old = (char *)read_file(at("full.gguf"), &n);
        CHECK_STR(old, "old");
        CHECK_INT(n_files_in(temp_dir(), "full"), 1);
        free(old);
    }
    signal(SIGXFSZ, handler);
}

static bool die_at_half(void *user, rn_phase phase, uint64_t done, uint64_t total) {
    (void)user;
    if (phase == RN_PHASE_WRITE && done > total / 2) raise(SIGKILL);
    return false;
}
TEST(a_killed_run_leaves_no_file_under_the_name) {
    const char *in = source(TENSOR_F32);
    char out[512];
    snprintf(out, sizeof out, "%s", at("killed.gguf"));
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        rn_quantize_options opt = options_of("Q4_0");
        opt.progress = die_at_half;
        rn_quantize(in, out, &opt, NULL);
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    CHECK(access(out, F_OK) != 0);
}

static bool shrink_at_half(void *user, rn_phase phase, uint64_t done, uint64_t total) {
    if (phase == RN_PHASE_WRITE && done > total / 2) CHECK(truncate(user, 4096) == 0);
    return false;
}
TEST(a_source_that_shrinks_is_noticed) {
    rn_quantize_options opt = options_of("Q4_0");
    rn_error err = {0};
    char in[512];
    snprintf(in, sizeof in, "%s", source(TENSOR_F32));
    opt.progress = shrink_at_half, opt.progress_user = in;
    CHECK_FAILS(rn_quantize(in, at("shrunk.gguf"), &opt, &err), RN_E_IO, &err);
    CHECK_HAS(err.text, "shrank from");
    CHECK_INT(n_files_in(temp_dir(), "shrunk"), 0);
}

static rn_status quantize_once(void *user) {
    const rn_quantize_options opt = options_of("Q4_K_M");
    return rn_quantize(user, at("nomem.gguf"), &opt, NULL);
}
TEST(each_failed_allocation_is_reported_and_leaves_nothing) {
    char in[512];
    snprintf(in, sizeof in, "%s", source(TENSOR_F32));
    CHECK(check_each_failed_allocation(quantize_once, in, __FILE__, __LINE__));
    CHECK_INT(n_files_in(temp_dir(), "nomem"), 1); // of the last run, in which none failed
}

TEST(the_list_of_types_is_what_is_accepted) {
    rn_quantization q;
    CHECK_INT(rn_n_quantizations(), 38);
    CHECK(!rn_quantization_at(rn_n_quantizations(), &q));
    for (size_t i = 0; rn_quantization_at(i, &q); i++) {
        const rn_quantize_options opt = options_of(q.name);
        rn_error err = {0};
        check_note("%s", q.name);
        CHECK(*q.help);
        CHECK_OK(rn_quantize(source(TENSOR_F32), at("listed.gguf"), &opt, &err), &err);
    }
}
