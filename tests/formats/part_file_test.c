// tests/formats/part_file_test.c - files of draft heads: what is read, and every malformed one refused by name.
#include "base/mem.h"
#include "tests/check.h"
#include "tests/support/folder_builder.h"
#include <stdlib.h>
#include <string.h>

static void put_map(struct st_builder *b, const int64_t *d2t, const char *shape) {
    st_bytes(b, "d2t", "I64", shape, d2t, 3 * sizeof *d2t);
}

// Tokens 1, 2 and 5 of the base model's 7.
static void sound(struct st_builder *b) {
    static const uint8_t t2d[] = {0, 1, 1, 0, 0, 1, 0};
    st_tensor(b, "a.weight", 2, 2, 3);
    put_map(b, (const int64_t[]){1, 1, 3}, "3");
    st_bytes(b, "t2d", "BOOL", "7", t2d, sizeof t2d);
    st_tensor(b, "b.bias", 1, 4, 0);
}

static uint8_t *made(void (*fill)(struct st_builder *b), size_t *n) {
    struct st_builder b;
    st_begin(&b);
    fill(&b);
    return st_finish(&b, n);
}

TEST(tensors_keep_their_names_and_the_token_map_is_taken_from_offsets) {
    size_t n, n_map;
    uint8_t *bytes = made(sound, &n);
    package *p;
    rn_error err = {0};
    if (CHECK_OK(package_part_from_bytes("head", bytes, n, &p, &err), &err)) {
        const struct tensor_view *t = package_tensor(p, "a.weight");
        const int32_t *map = package_token_map(p, &n_map);
        CHECK_INT(package_n_tensors(p), 2);
        CHECK(t && t->ne[0] == 3 && t->ne[1] == 2 && t->type == TENSOR_F32);
        CHECK_INT(n_map, 3);
        CHECK(map && map[0] == 1 && map[1] == 2 && map[2] == 5);
        CHECK_STR(package_format(p), "safetensors, tensors alone");
    }
    package_close(p);
    free(bytes);
}

TEST(a_part_cut_at_any_of_its_bytes_is_refused) {
    size_t n;
    uint8_t *bytes = made(sound, &n);
    for (size_t cut = 0; cut < n; cut++) {
        uint8_t *some = malloc(cut ? cut : 1); // so that ASan sees a read beyond it
        package *p = NULL;
        rn_error err = {0};
        if (!some) abort();
        memcpy(some, bytes, cut);
        check_note("%zu of %zu bytes", cut, n);
        CHECK(package_part_from_bytes("head", some, cut, &p, &err) != RN_OK);
        CHECK(p == NULL && strncmp(err.text, "head: ", 6) == 0);
        free(some);
    }
    free(bytes);
}

static void scalar(struct st_builder *b) { st_bytes(b, "x", "F32", "", "abcd", 4); }
static void five(struct st_builder *b) { st_bytes(b, "x", "F32", "1,1,1,1,1", "abcd", 4); }
static void in_f8(struct st_builder *b) { st_bytes(b, "x", "F8_E4M3", "2,2", "abcd", 4); }
static void twice(struct st_builder *b) { st_tensor(b, "x", 1, 2, 0), st_tensor(b, "x", 1, 2, 0); }
static void map_in_i32(struct st_builder *b) { st_bytes(b, "d2t", "I32", "2", "\1\0\0\0\1\0\0", 8); }
static void map_of_rows(struct st_builder *b) { put_map(b, (const int64_t[]){1, 1, 3}, "1,3"); }
static void map_empty(struct st_builder *b) { st_bytes(b, "d2t", "I64", "0", "", 0); }
static void map_back(struct st_builder *b) { put_map(b, (const int64_t[]){4, 2, 9}, "3"); }
static void map_same(struct st_builder *b) { put_map(b, (const int64_t[]){4, 3, 9}, "3"); }
static void map_negative(struct st_builder *b) { put_map(b, (const int64_t[]){-1, 1, 3}, "3"); }
static void map_wide(struct st_builder *b) { put_map(b, (const int64_t[]){1, 1, INT32_MAX}, "3"); }
static void map_widest(struct st_builder *b) { put_map(b, (const int64_t[]){1, 1, INT64_MAX}, "3"); }
static void reverse_alone(struct st_builder *b) { st_bytes(b, "t2d", "BOOL", "2", "\1", 2); }
static void reverse_in_u8(struct st_builder *b) {
    put_map(b, (const int64_t[]){1, 1, 3}, "3");
    st_bytes(b, "t2d", "U8", "7", "\0\1\1\0\0\1", 7);
}
static void reverse_lacks(struct st_builder *b) {
    put_map(b, (const int64_t[]){1, 1, 3}, "3");
    st_bytes(b, "t2d", "BOOL", "7", "\0\1\0\0\0\1", 7);
}
static void reverse_adds(struct st_builder *b) {
    put_map(b, (const int64_t[]){1, 1, 3}, "3");
    st_bytes(b, "t2d", "BOOL", "7", "\0\1\1\0\0\1\1", 7);
}
static void reverse_short(struct st_builder *b) {
    put_map(b, (const int64_t[]){1, 1, 3}, "3");
    st_bytes(b, "t2d", "BOOL", "4", "\0\1\1", 4);
}

TEST(malformed_tensors_and_token_maps_are_refused_by_name) {
    static const struct {
        void (*fill)(struct st_builder *b);
        const char *want;
    } rows[] = {
        {scalar, "head: tensor x: 0 dimensions, 1..4 are read"},
        {five, "head: tensor x: 5 dimensions, 1..4 are read"},
        {in_f8, "head: tensor x: type F8_E4M3 is not supported; F32, F16 and BF16 are"},
        {twice, "head: header: member \"x\" is given twice (by byte 108)"},
        {map_in_i32, "head: tensor d2t: is I32 of 1 dimensions, must be I64 of 1, not empty"},
        {map_of_rows, "head: tensor d2t: is I64 of 2 dimensions, must be I64 of 1, not empty"},
        {map_empty, "head: tensor d2t: is I64 of 1 dimensions, must be I64 of 1, not empty"},
        {map_back, "head: tensor d2t: item 1: 2 makes no token after the one before"},
        {map_same, "head: tensor d2t: item 1: 3 makes no token after the one before"},
        {map_negative, "head: tensor d2t: item 0: -1 makes no token after the one before"},
        {map_wide, "head: tensor d2t: item 2: 2147483647 makes no token after the one before"},
        {map_widest, "head: tensor d2t: item 2: 9223372036854775807 makes no token after the one before"},
        {reverse_alone, "head: tensor d2t: missing, where the file has t2d"},
        {reverse_in_u8, "head: tensor t2d: is U8 of 1 dimensions, must be BOOL of 1, not empty"},
        {reverse_lacks, "head: tensor t2d: token 2 is not there, but is in d2t"},
        {reverse_adds, "head: tensor t2d: token 6 is there, but is not in d2t"},
        {reverse_short, "head: tensor t2d: 4 tokens, d2t has token 5"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t n;
        uint8_t *bytes = made(rows[i].fill, &n);
        package *p = NULL;
        rn_error err = {0};
        check_note("row %zu", i);
        CHECK(package_part_from_bytes("head", bytes, n, &p, &err) != RN_OK);
        CHECK_STR(err.text, rows[i].want);
        CHECK(p == NULL);
        free(bytes);
    }
}

TEST(a_file_that_is_not_there_is_refused) {
    char path[600];
    package *p = NULL;
    rn_error err = {0};
    snprintf(path, sizeof path, "%s/none.safetensors", temp_dir());
    CHECK_INT(package_open_part(path, NULL, &p, &err), RN_E_IO);
    CHECK(p == NULL && strncmp(err.text, path, strlen(path)) == 0);
}

// ---- config.json beside an EAGLE head -------------------------------------------------------------------------------

static void with_fc(struct st_builder *b) { st_tensor(b, "fc.weight", 2, 2, 3); }

// With this config.json; NULL: none.
static rn_status open_beside(const char *config, package **p, rn_error *err) {
    char path[2][600];
    size_t n;
    uint8_t *const bytes = made(with_fc, &n);
    snprintf(path[0], sizeof path[0], "%s/eagle.safetensors", temp_dir());
    snprintf(path[1], sizeof path[1], "%s/config.json", temp_dir());
    remove(path[1]);
    *p = NULL;
    CHECK(write_file(path[0], bytes, n) && (!config || write_file(path[1], config, strlen(config))));
    free(bytes);
    const rn_status st = package_open_part(path[0], NULL, p, err);
    remove(path[1]);
    return st;
}

TEST(the_config_beside_an_eagle_head_says_what_it_reads) {
    static const struct {
        const char *config;
        bool has_taps, before_residual, before_fc;
    } cases[] = {
        {NULL, false, false, false},
        {"{}", false, false, false},
        {"{\"eagle_aux_hidden_state_layer_ids\": [2, 5, 9], \"norm_before_residual\": true}", true, true, false},
        {"{\"eagle_config\": {\"eagle_aux_hidden_state_layer_ids\": [2, 5, 9]}, \"norm_before_fc\": true}", true,
         false, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        package *p;
        rn_error err = {0};
        check_note("case %zu", i);
        if (CHECK_OK(open_beside(cases[i].config, &p, &err), &err)) {
            const struct part_options *const o = package_part_options(p);
            CHECK(o->has_taps == cases[i].has_taps);
            CHECK(!o->has_taps || (o->taps[0] == 2 && o->taps[1] == 5 && o->taps[2] == 9));
            CHECK(o->norm_before_residual == cases[i].before_residual && o->norm_before_fc == cases[i].before_fc);
        }
        package_close(p);
    }
}

TEST(a_config_beside_an_eagle_head_that_is_wrong_is_refused_by_member) {
    static const char *const cases[][2] = {
        {"[]", "config.json: an array, expected an object"},
        {"{", "config.json: not JSON"},
        {"{\"norm_before_residual\": 1}", "config.json: member norm_before_residual: "},
        {"{\"eagle_aux_hidden_state_layer_ids\": [1, 2]}", "must be an array of 3 layers"},
        {"{\"eagle_aux_hidden_state_layer_ids\": [1, 4, 4]}", "member eagle_aux_hidden_state_layer_ids[2]: "},
        {"{\"eagle_aux_hidden_state_layer_ids\": [0, 4, 5]}", "member eagle_aux_hidden_state_layer_ids[0]: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        package *p;
        rn_error err = {0};
        check_note("case %zu: %s", i, err.text);
        CHECK_INT(open_beside(cases[i][0], &p, &err), RN_E_FORMAT);
        CHECK_HAS(err.text, cases[i][1]);
        package_close(p);
    }
}

static rn_status open_and_close(void *path) {
    package *p = NULL;
    const rn_status st = package_open_part(path, NULL, &p, NULL);
    package_close(p);
    return st;
}

TEST(every_failed_allocation_of_a_part_file_is_reported_and_leaks_nothing) {
    char path[600];
    size_t n;
    uint8_t *bytes = made(sound, &n);
    snprintf(path, sizeof path, "%s/head.safetensors", temp_dir());
    if (CHECK(write_file(path, bytes, n)))
        CHECK(check_each_failed_allocation(open_and_close, path, __FILE__, __LINE__));
    free(bytes);
}
