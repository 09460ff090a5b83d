// tests/convert/mixes_test.c - which matrix gets which type, and what is refused before a byte is written.
#include "base/mem.h"
#include "convert/imatrix_file.h"
#include "convert/tensor_order.h"
#include "convert/type_plan.h"
#include "tests/check.h"
#include "tests/support/gguf_builder.h"
#include <stdlib.h>
#include <string.h>

// The models of make_mix_types.py: all their weights are 0.
struct shape {
    const char *name;
    int n_layer, n_head, n_kv, row;
    bool own_head;
    int n_expert;
};
static const struct shape shapes[] = {
    {"few", 6, 4, 2, 256, false, 0},     {"shared", 32, 8, 2, 256, true, 0}, {"alone", 25, 8, 8, 512, false, 0},
    {"narrow", 30, 6, 2, 288, false, 0}, {"big", 80, 16, 2, 256, true, 0},   {"experts", 9, 8, 2, 256, true, 8},
};
enum { N_ROWS = 8 };

static void put(struct gguf_builder *b, const char *name, uint64_t row, uint64_t n_rows, uint64_t n_matrices) {
    const uint64_t dims[3] = {row, n_rows, n_matrices};
    gb_tensor(b, name, 0, n_matrices > 1 ? 3 : 2, dims, NULL, row * n_rows * n_matrices * 4);
}
static void put_in_layer(struct gguf_builder *b, int layer, const char *what, uint64_t row, uint64_t n_rows,
                         uint64_t n_matrices) {
    char name[64];
    snprintf(name, sizeof name, "blk.%d.%s.weight", layer, what);
    put(b, name, row, n_rows, n_matrices);
}

static uint8_t *model_of(const struct shape *s, size_t *n) {
    struct gguf_builder b;
    const uint64_t row = (uint64_t)s->row;
    gb_begin(&b, 3);
    gb_str(&b, "general.architecture", "llama");
    gb_u32(&b, "llama.block_count", (uint32_t)s->n_layer);
    gb_u32(&b, "llama.context_length", 64);
    gb_u32(&b, "llama.embedding_length", (uint32_t)s->row);
    gb_u32(&b, "llama.feed_forward_length", (uint32_t)s->row);
    gb_u32(&b, "llama.attention.head_count", (uint32_t)s->n_head);
    gb_u32(&b, "llama.attention.head_count_kv", (uint32_t)s->n_kv);
    gb_f32(&b, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    put(&b, "token_embd.weight", row, N_ROWS, 1);
    for (int i = 0; i < s->n_layer; i++) {
        put_in_layer(&b, i, "attn_q", row, (uint64_t)s->n_head, 1);
        put_in_layer(&b, i, "attn_k", row, (uint64_t)s->n_kv, 1);
        put_in_layer(&b, i, "attn_v", row, (uint64_t)s->n_kv, 1);
        put_in_layer(&b, i, "attn_output", row, N_ROWS, 1);
        for (int j = 0; j < 3; j++) {
            static const char *const plain[] = {"ffn_up", "ffn_gate", "ffn_down"}, *const experts[] = {
                                                                                       "ffn_up_exps", "ffn_gate_exps",
                                                                                       "ffn_down_exps"};
            put_in_layer(&b, i, s->n_expert ? experts[j] : plain[j], row, N_ROWS,
                         s->n_expert ? (uint64_t)s->n_expert : 1);
        }
    }
    if (s->own_head) put(&b, "output.weight", row, N_ROWS, 1);
    return gb_finish(&b, n);
}

// An importance matrix of every matrix in the shape's layers, all columns alike, as make_mix_types.py writes it; free the bytes after it.
static uint8_t *importance_of(const struct shape *s, struct imatrix *m) {
    enum { MOST_COLUMNS = 512, MOST_MATRICES = 8 };
    static const char *const kinds[] = {"attn_q", "attn_k",   "attn_v",  "attn_output",
                                        "ffn_up", "ffn_gate", "ffn_down"};
    static float ones[MOST_COLUMNS * MOST_MATRICES];
    struct gguf_builder b;
    size_t n;
    for (size_t i = 0; i < sizeof ones / sizeof *ones; i++) ones[i] = 1;
    gb_begin(&b, 3);
    gb_str(&b, "general.type", "imatrix");
    for (int i = 0; i < s->n_layer; i++)
        for (size_t j = 0; j < sizeof kinds / sizeof *kinds; j++) {
            char name[96];
            const bool of_experts = s->n_expert && j > 3;
            const uint64_t n_matrices = of_experts ? (uint64_t)s->n_expert : 1;
            const uint64_t sums[2] = {(uint64_t)s->row, n_matrices}, counts[2] = {1, n_matrices};
            const char *const suffix = of_experts ? "_exps" : "";
            snprintf(name, sizeof name, "blk.%d.%s%s.weight.in_sum2", i, kinds[j], suffix);
            gb_tensor(&b, name, 0, 2, sums, ones, sums[0] * sums[1] * sizeof *ones);
            snprintf(name, sizeof name, "blk.%d.%s%s.weight.counts", i, kinds[j], suffix);
            gb_tensor(&b, name, 0, 2, counts, ones, counts[1] * sizeof *ones);
        }
    uint8_t *const bytes = gb_finish(&b, &n);
    rn_error err = {0};
    *m = (struct imatrix){0};
    CHECK_OK(imatrix_read(m, bytes, n, &err), &err);
    return bytes;
}

// Mixes that llama.cpp makes with an importance matrix only.
static bool is_guided(const char *mix) {
    static const char *const guided[] = {"Q2_K_S", "IQ3_XS",  "IQ3_XXS", "IQ2_M", "IQ2_S",
                                         "IQ2_XS", "IQ2_XXS", "IQ1_M",   "IQ1_S"};
    for (size_t i = 0; i < sizeof guided / sizeof *guided; i++)
        if (strcmp(mix, guided[i]) == 0) return true;
    return false;
}

// A plan over bytes; close with planned_free().
struct planned {
    uint8_t *file;
    package *p;
    struct arena arena;
    struct tensor_plan *plans;
};
static rn_status plan_shape(struct planned *o, const struct shape *s, const struct plan_request *r, rn_error *err) {
    size_t n;
    *o = (struct planned){.file = model_of(s, &n)};
    rn_status st = package_from_bytes(s->name, o->file, n, &o->p, err);
    return st == RN_OK ? plan_types(o->p, r, &o->arena, &o->plans, err) : st;
}
static void planned_free(struct planned *o) {
    arena_free(&o->arena);
    package_close(o->p);
    free(o->file);
}
static const struct tensor_plan *plan_of(const struct planned *o, const char *name) {
    for (size_t i = 0; i < package_n_tensors(o->p); i++)
        if (strcmp(o->plans[i].t->name, name) == 0) return &o->plans[i];
    check_note("the model has no tensor %s", name);
    CHECK(false);
    return o->plans;
}
static const char *type_of(const struct planned *o, const char *name) {
    return tensor_type_info(plan_of(o, name)->type)->name;
}

static const char *type_by_letter(char letter) {
    static const char *const names[] = {"Q4_0",  "Q4_1",   "Q5_0",  "Q5_1",    "Q8_0",  "Q4_K",   "Q5_K",
                                        "Q6_K",  "IQ4_NL", "F16",   "IQ4_XS",  "Q2_K",  "Q3_K",   "MXFP4",
                                        "TQ1_0", "TQ2_0",  "IQ3_S", "IQ3_XXS", "IQ2_S", "IQ2_XS", "IQ2_XXS",
                                        "IQ1_M", "IQ1_S",  "Q1_0",  "Q2_0"};
    const int n = (int)(sizeof names / sizeof *names);
    return letter >= 'a' && letter < 'a' + n ? names[letter - 'a'] : "?";
}

// One line of mix_types.txt: a kind of matrix in all layers.
static void check_kind(const struct planned *o, const struct shape *s, const char *kind, const char *letters) {
    char name[64];
    const bool in_layers = strcmp(kind, "token_embd") != 0 && strcmp(kind, "output") != 0;
    const char *suffix = s->n_expert && strncmp(kind, "ffn_", 4) == 0 ? "_exps" : "";
    for (int i = 0; i < (in_layers ? s->n_layer : 1); i++) {
        if (in_layers)
            snprintf(name, sizeof name, "blk.%d.%s%s.weight", i, kind, suffix);
        else
            snprintf(name, sizeof name, "%s.weight", kind);
        check_note("%s: %s", s->name, name);
        CHECK_STR(type_of(o, name), type_by_letter(letters[1] ? letters[i] : letters[0]));
    }
}

TEST(every_matrix_of_every_mix_has_the_type_that_llama_cpp_gives_it) {
    size_t n_bytes;
    char *text = (char *)read_file(tests_path("convert/mix_types.txt"), &n_bytes), *rest = text;
    int n_lines = 0;
    struct planned o = {0};
    char held[32] = "";
    if (!text) return;
    for (char *line; (line = strsep(&rest, "\n")) && *line; n_lines++) {
        char model[16], mix[16], kind[16], letters[128];
        if (!CHECK(sscanf(line, "%15s %15s %15s %127s", model, mix, kind, letters) == 4)) break;
        const struct shape *s = shapes;
        while (strcmp(s->name, model) != 0) s++;
        char key[32];
        snprintf(key, sizeof key, "%s %s", model, mix);
        if (strcmp(key, held) != 0) {
            rn_error err = {0};
            if (*held) planned_free(&o);
            strcpy(held, key);
            struct imatrix m;
            uint8_t *const bytes = importance_of(s, &m);
            const struct plan_request r = {.mix = mix_find(mix), .imatrix = is_guided(mix) ? &m : NULL};
            const bool planned = CHECK_OK(plan_shape(&o, s, &r, &err), &err);
            imatrix_free(&m);
            free(bytes);
            if (!planned) break;
        }
        check_note("%s", mix);
        check_kind(&o, s, kind, letters);
    }
    CHECK_INT(n_lines, 1616);
    planned_free(&o);
    free(text);
}

// What an importance matrix changes, by src/llama-quant.cpp: Q4_0 and Q5_0 protect the first eighth of ffn_down, IQ4_NL need not.
TEST(with_an_importance_matrix_the_first_ffn_down_are_treated_otherwise) {
    static const struct {
        const char *mix;
        int layer;
        const char *without, *with;
    } rows[] = {
        {"Q4_0", 0, "Q4_0", "Q4_1"},     {"Q4_0", 3, "Q4_0", "Q4_1"},     {"Q4_0", 4, "Q4_0", "Q4_0"},
        {"Q5_0", 3, "Q5_0", "Q5_1"},     {"IQ4_NL", 3, "Q5_K", "IQ4_NL"}, {"Q4_K_S", 3, "Q5_K", "Q5_K"},
        {"IQ4_XS", 3, "Q5_K", "IQ4_XS"}, {"Q2_K", 3, "Q3_K", "Q3_K"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int has = 0; has < 2; has++) {
            const struct model_facts model = {.n_layer = 32, .n_gqa = 4, .n_v = 32, .has_imatrix = has};
            const struct matrix_facts f = {PART_DOWN, rows[i].layer, 256};
            const enum tensor_type type = mix_type(mix_find(rows[i].mix), &model, &f);
            check_note("%s, layer %d, imatrix %d", rows[i].mix, rows[i].layer, has);
            CHECK_STR(tensor_type_info(type)->name, has ? rows[i].with : rows[i].without);
        }
}

TEST(rows_that_no_block_fits_become_f16) {
    static const struct {
        int row;
        const char *mix, *want;
    } rows[] = {{256, "Q4_K", "Q4_K"}, {224, "Q4_K", "Q5_0"},   {224, "Q5_K", "Q5_1"},   {224, "Q6_K", "Q8_0"},
                {48, "Q4_K", "F16"},   {224, "Q3_K_S", "Q4_0"}, {224, "Q2_K_S", "Q4_0"}, {224, "IQ4_XS", "IQ4_NL"},
                {48, "IQ4_XS", "F16"}, {48, "Q8_0", "F16"},     {32, "Q8_0", "Q8_0"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct planned o;
        rn_error err = {0};
        const struct shape s = {"odd", 9, 4, 2, rows[i].row, false, 0}; // layer 2's values get the mix's own type
        check_note("%s, rows of %d", rows[i].mix, rows[i].row);
        if (CHECK_OK(plan_shape(&o, &s, &(struct plan_request){.mix = mix_find(rows[i].mix)}, &err), &err)) {
            CHECK_STR(type_of(&o, "blk.1.attn_q.weight"), rows[i].want);
            const char *note = plan_of(&o, "blk.1.attn_q.weight")->note;
            CHECK((note != NULL) == (strncmp(rows[i].want, rows[i].mix, strlen(rows[i].want) < 5 ? 4 : 5) != 0));
            if (note)
                CHECK_HAS(note, rows[i].row == 48 && rows[i].mix[3] == '0' ? "of 48 are not a multiple of 32"
                                                                           : "not a multiple of");
        }
        planned_free(&o);
    }
}

TEST(a_name_says_whether_a_matrix_is_quantized) {
    static const struct {
        const char *name;
        bool want;
    } rows[] = {
        {"blk.0.attn_q.weight", true},
        {"token_embd.weight", true},
        {"output.weight", true},
        {"blk.0.ffn_down_exps.weight", true},
        {"blk.0.attn_norm.weight", false},
        {"blk.0.attn_q.bias", false},
        {"blk.0.ffn_gate_inp.weight", false},
        {"weight", true},
        {"eight", false},
        {"position_embd.weight", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_note("%s", rows[i].name);
        CHECK_INT(matrix_is_quantized(rows[i].name), rows[i].want);
    }
}

TEST(a_pattern_is_the_whole_name_with_stars_and_marks) {
    static const struct {
        const char *pattern, *name;
        bool want;
    } rows[] = {
        {"output.weight", "output.weight", true},
        {"output", "output.weight", false},
        {"*", "", true},
        {"*", "x", true},
        {"", "", true},
        {"", "x", false},
        {"?", "x", true},
        {"?", "", false},
        {"*down*", "blk.0.ffn_down.weight", true},
        {"*.weight", "a.bias", false},
        {"a*b*c", "aXbXbYc", true},
        {"a*b*c", "aXbXbYcd", false},
        {"blk.?.attn_q.*", "blk.10.attn_q.weight", false},
        {"blk.1*.attn_q.weight", "blk.10.attn_q.weight", true},
        {"**a", "bca", true},
        {"*ab", "aab", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_note("%s against %s", rows[i].pattern, rows[i].name);
        CHECK_INT(pattern_matches(rows[i].pattern, rows[i].name), rows[i].want);
    }
}

TEST(a_pattern_of_many_stars_takes_no_exponential_time) {
    char name[4096];
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = 0;
    CHECK(!pattern_matches("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", name));
}

TEST(rules_go_before_the_mix_and_the_last_one_counts) {
    static const rn_type_rule rules[] = {{"*ffn_down*", "Q6_K"}, {"blk.0.*", "f16"}, {"token_embd.weight", "Q5_0"}};
    struct planned o;
    rn_error err = {0};
    const struct plan_request r = {.mix = mix_find("q4_0"), .rules = rules, .n_rules = 3};
    if (!CHECK_OK(plan_shape(&o, &shapes[0], &r, &err), &err)) return;
    CHECK_STR(type_of(&o, "blk.0.ffn_down.weight"), "F16");
    CHECK_STR(type_of(&o, "blk.1.ffn_down.weight"), "Q6_K");
    CHECK_STR(type_of(&o, "blk.1.attn_q.weight"), "Q4_0");
    CHECK_STR(type_of(&o, "token_embd.weight"), "Q5_0");
    planned_free(&o);
}

TEST(rules_that_cannot_be_honoured_are_refused) {
    static const struct {
        const char *why;
        rn_type_rule rule;
        const char *text;
    } rows[] = {
        {"no such type", {"*", "Q9_0"}, "keep: *: Q9_0 is not a type of weights"},
        {"a mix is no type", {"*", "Q4_K_M"}, "keep: *: Q4_K_M is not a type of weights"},
        {"nothing matches", {"*.bias", "F16"}, "keep: no matrix matches *.bias"},
        {"rows do not fit",
         {"blk.3.attn_q.weight", "Q4_K"},
         "keep: blk.3.attn_q.weight cannot be Q4_K: its rows of 288 are not a multiple of 256"},
        {"no pattern", {NULL, "F16"}, "keep[0]: a pattern and a type are needed"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct planned o;
        rn_error err = {0};
        const struct plan_request r = {.mix = mix_find("Q8_0"), .rules = &rows[i].rule, .n_rules = 1};
        check_note("%s", rows[i].why);
        CHECK_FAILS(plan_shape(&o, &shapes[3], &r, &err), RN_E_ARG, &err);
        CHECK_STR(err.text, rows[i].text);
        planned_free(&o);
    }
}

TEST(types_of_few_bits_are_refused_without_an_importance_matrix_that_has_the_matrix) {
    static const struct {
        const char *why, *mix;
        int with_shape; // whose importance matrix is given; -1: none
        const char *text;
    } rows[] = {
        {"none", "IQ2_XXS", -1,
         "tensor blk.0.attn_q.weight: IQ2_XXS needs an importance matrix: runnel imatrix makes one, runnel quantize "
         "--imatrix takes it"},
        {"of fewer layers", "IQ3_XXS", 0,
         "tensor blk.6.attn_q.weight: IQ2_S needs an importance matrix, and the one given does not have it: choose "
         "another type for it (--keep)"},
        {"IQ3_S needs none", "IQ3_S", -1, NULL},
        {"nor does IQ3_M", "IQ3_M", -1, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct planned o;
        struct imatrix m;
        rn_error err = {0};
        uint8_t *const bytes = rows[i].with_shape < 0 ? NULL : importance_of(&shapes[rows[i].with_shape], &m);
        const struct plan_request r = {.mix = mix_find(rows[i].mix), .imatrix = bytes ? &m : NULL};
        const rn_status st = plan_shape(&o, &shapes[1], &r, &err); // "shared", of 32 layers
        check_note("%s", rows[i].why);
        if (rows[i].text) {
            CHECK_FAILS(st, RN_E_ARG, &err);
            CHECK_STR(err.text, rows[i].text);
        } else {
            CHECK_OK(st, &err);
        }
        planned_free(&o);
        if (bytes) imatrix_free(&m);
        free(bytes);
    }
}

TEST(tensors_are_put_in_the_usual_order) {
    static const char *const want[] = {
        "token_embd.weight",   "rope_freqs.weight",    "blk.0.attn_norm.weight", "blk.0.attn_q.weight",
        "blk.0.attn_q.bias",   "blk.0.attn_v.weight",  "blk.0.ffn_down.weight",  "blk.0.unknown.weight",
        "blk.2.attn_q.weight", "blk.10.attn_q.weight", "output_norm.weight",     "output.weight",
        "other.weight",
    };
    enum { N = sizeof want / sizeof *want };
    struct tensor_view views[N];
    struct tensor_plan plans[N];
    for (size_t shift = 0; shift < N; shift++) { // from every rotation, every second one swapped
        for (size_t i = 0; i < N; i++) {
            views[i] = (struct tensor_view){.name = want[(i * 5 + shift) % N]};
            plans[i] = (struct tensor_plan){.t = &views[i]};
        }
        tensor_order(plans, N);
        for (size_t i = 0; i < N; i++) CHECK_STR(plans[i].t->name, want[i]);
    }
}

static rn_status plan_once(void *user) {
    struct planned o;
    const rn_status st = plan_shape(&o, user, &(struct plan_request){.mix = mix_find("Q4_K_M")}, NULL);
    planned_free(&o);
    return st;
}
TEST(each_failed_allocation_of_a_plan_is_reported) {
    struct shape s = {"odd", 2, 4, 2, 96, false, 0}; // every matrix has a note
    CHECK(check_each_failed_allocation(plan_once, &s, __FILE__, __LINE__));
}
