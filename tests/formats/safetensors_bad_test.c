// tests/formats/safetensors_bad_test.c - spoiled safetensors files: items 14 and 15 of the list of malformed inputs.
#include "base/mem.h"
#include "formats/folder/safetensors_read.h"
#include "formats/limits.h"
#include "tests/check.h"
#include "tests/support/folder_builder.h"
#include <stdlib.h>
#include <string.h>

#define N(rows) (sizeof(rows) / sizeof *(rows))

// ---- item 14: the header --------------------------------------------------------------------------------------------

static void cut_to_7(uint8_t *file, size_t *n) { (void)file, *n = 7; }
static void cut_to_8(uint8_t *file, size_t *n) { (void)file, *n = 8; }
static void empty(uint8_t *file, size_t *n) { (void)file, *n = 0; }
static void set_length(uint8_t *file, uint64_t length) {
    for (int i = 0; i < 8; i++) file[i] = (uint8_t)(length >> 8 * i);
}
static void length_0(uint8_t *file, size_t *n) { (void)n, set_length(file, 0); }
static void length_1(uint8_t *file, size_t *n) { (void)n, set_length(file, 1); }
static void length_at_limit(uint8_t *file, size_t *n) { (void)n, set_length(file, SAFETENSORS_MAX_HEADER_BYTES); }
static void length_over_limit(uint8_t *file, size_t *n) {
    (void)n, set_length(file, SAFETENSORS_MAX_HEADER_BYTES + 1);
}
static void length_wraps(uint8_t *file, size_t *n) { (void)n, set_length(file, UINT64_MAX - 7); }
static void length_of_all(uint8_t *file, size_t *n) { set_length(file, *n - 8); }
static void length_past_end(uint8_t *file, size_t *n) { set_length(file, *n - 7); }
static void no_brace(uint8_t *file, size_t *n) { (void)n, file[8] = '['; }
static void byte_order_mark(uint8_t *file, size_t *n) { (void)n, memcpy(file + 8, "\xef\xbb\xbf", 3); }
static void space_first(uint8_t *file, size_t *n) { (void)n, file[8] = ' '; }
static void not_utf8(uint8_t *file, size_t *n) { (void)n, file[12] = 0xff; }
static void control_character(uint8_t *file, size_t *n) { (void)n, file[12] = 1; }
static void unbalanced(uint8_t *file, size_t *n) { (void)n, *strchr((char *)file + 8, ']') = ' '; }

TEST(item_14_headers_that_are_none_are_refused) {
    static const struct bad_folder rows[] = {
        {"empty file", .spoil = empty, .want = "header: its length takes 8 bytes, the file has 0"},
        {"a file of 7 bytes", .spoil = cut_to_7, .want = "header: its length takes 8 bytes, the file has 7"},
        {"only a length", .spoil = cut_to_8, .want = ", 0 are left"},
        {"length 0", .spoil = length_0, .want = "header: does not begin with '{'"},
        {"length 1", .spoil = length_1, .want = "header: not JSON: expected a member's name"},
        {"length at the limit", .spoil = length_at_limit, .want = "header: 100000000 bytes, "},
        {"length over the limit", .spoil = length_over_limit, .want = "header: 100000001 bytes, limit 100000000"},
        {"length near 2^64", .spoil = length_wraps, .want = "limit 100000000"},
        {"the whole file is header", .spoil = length_of_all, .want = "header: not JSON"},
        {"one byte more than the file", .spoil = length_past_end, .want = " are left"},
        {"no object", .spoil = no_brace, .want = "header: does not begin with '{'"},
        {"byte order mark", .spoil = byte_order_mark, .want = "header: does not begin with '{'"},
        {"space before the brace", .spoil = space_first, .want = "header: does not begin with '{'"},
        {"not UTF-8", .spoil = not_utf8, .want = "header: not JSON: not valid UTF-8"},
        {"control character", .spoil = control_character, .want = "a control character in a string"},
        {"brackets that do not match", .spoil = unbalanced, .want = "header: not JSON"},
    };
    check_bad_folders(rows, N(rows));
}

static void twice(struct st_builder *b) {
    st_entry(b, "\"model.norm.weight\":{\"dtype\":\"F32\",\"shape\":[8],\"data_offsets\":[0,32]}");
}
static void metadata(struct st_builder *b) { st_entry(b, "\"__metadata__\":{\"format\":\"pt\",\"n\":\"1\"}"); }
static void metadata_number(struct st_builder *b) { st_entry(b, "\"__metadata__\":{\"format\":\"pt\",\"n\":1}"); }
static void metadata_text(struct st_builder *b) { st_entry(b, "\"__metadata__\":\"pt\""); }
static void metadata_twice(struct st_builder *b) {
    metadata(b);
    metadata(b);
}
static void member_twice(struct st_builder *b) {
    st_entry(b, "\"x\":{\"dtype\":\"F32\",\"dtype\":\"F16\",\"shape\":[0],\"data_offsets\":[0,0]}");
}
// Metadata of a length that leaves padding behind the header.
static void pad_first(struct st_builder *b) { st_entry(b, "\"__metadata__\":{\"p\":\"12345\"}"); }
static void trailing_text(uint8_t *file, size_t *n) {
    (void)n;
    char *end = strstr((char *)file + 8, "12345\"}}");
    if (!end || end[8] != ' ') abort();
    end[8] = 'x';
}

TEST(item_14_members_given_twice_and_text_behind_the_header_are_refused) {
    static const struct bad_folder rows[] = {
        {"a tensor twice", .add = twice, .want = "header: member \"model.norm.weight\" is given twice"},
        {"metadata is read over", .add = metadata},
        {"metadata with a number", .add = metadata_number,
         .want = "header: __metadata__: member 1 is a number, must be a string"},
        {"metadata that is a text", .add = metadata_text,
         .want = "header: __metadata__: is a string, must be an object"},
        {"metadata twice", .add = metadata_twice, .want = "member \"__metadata__\" is given twice"},
        {"a member of a tensor twice", .add = member_twice, .want = "member \"dtype\" is given twice"},
        {"text behind the header", .add = pad_first, .spoil = trailing_text,
         .want = "header: not JSON: text after the end of the JSON value"},
    };
    check_bad_folders(rows, N(rows));
}

// ---- item 15: tensors -----------------------------------------------------------------------------------------------

// Headers of their own over 64 bytes of data.
struct entry_row {
    const char *why, *header, *want;
    rn_status status;
};
static void check_entries(const struct entry_row *rows, size_t n_rows) {
    static const uint8_t data[64];
    for (size_t i = 0; i < n_rows; i++) {
        struct safetensors s = {0};
        struct arena mem = {0};
        rn_error err = {0};
        size_t n;
        uint8_t *file = st_file(rows[i].header, strlen(rows[i].header), data, sizeof data, &n);
        check_note("%s", rows[i].why);
        const rn_status st = safetensors_read(file, n, &mem, &s, &err);
        CHECK_INT(st, rows[i].status);
        CHECK_HAS(err.text, rows[i].want);
        arena_free(&mem);
        free(file);
    }
    check_note("%s", "");
}

#define T(name, dtype, shape, begin, end)                                                                            \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" #begin "," #end "]}"

TEST(item_15_offsets_that_do_not_tile_the_data_are_refused) {
    static const struct entry_row rows[] = {
        {"sound", "{" T("a", "F32", "[8]", 0, 32) "," T("b", "BF16", "[2,8]", 32, 64) "}", "", RN_OK},
        {"sound, in another order", "{" T("b", "F16", "[16]", 32, 64) "," T("a", "F32", "[8]", 0, 32) "}", "", RN_OK},
        {"an empty tensor between",
         "{" T("a", "F32", "[16]", 0, 64) "," T("b", "F32", "[0,3]", 64, 64) "," T("c", "F32", "[0]", 0, 0) "}", "",
         RN_OK},
        {"a number without a shape", "{" T("a", "F32", "[]", 0, 4) "," T("b", "F32", "[15]", 4, 64) "}", "", RN_OK},
        {"reversed", "{" T("a", "F32", "[8]", 32, 0) "}",
         "tensor a: member data_offsets: ends at 0, before its beginning at 32", RN_E_FORMAT},
        {"overlap", "{" T("a", "F32", "[8]", 0, 32) "," T("b", "F32", "[9]", 28, 64) "}",
         "tensor b: begins at byte 28 of the data, expected byte 32: it overlaps another tensor", RN_E_FORMAT},
        {"equal", "{" T("a", "F32", "[16]", 0, 64) "," T("b", "F32", "[16]", 0, 64) "}",
         "expected byte 64: it overlaps another tensor", RN_E_FORMAT},
        {"hole", "{" T("a", "F32", "[8]", 0, 32) "," T("b", "F32", "[7]", 36, 64) "}",
         "expected byte 32: there is a gap before it", RN_E_FORMAT},
        {"hole at the beginning", "{" T("a", "F32", "[15]", 4, 64) "}", "expected byte 0: there is a gap before it",
         RN_E_FORMAT},
        {"hole at the end", "{" T("a", "F32", "[15]", 0, 60) "}", "4 bytes after the last tensor belong to none",
         RN_E_FORMAT},
        {"no tensor over data", "{}", "64 bytes after the last tensor belong to none", RN_E_FORMAT},
        {"past the end", "{" T("a", "F32", "[17]", 0, 68) "}",
         "tensor a: ends at byte 68 of the data, which has 64 bytes", RN_E_FORMAT},
        {"far past the end", "{" T("a", "U8", "[2305843009213693951]", 0, 2305843009213693951) "}",
         "ends at byte 2305843009213693951", RN_E_FORMAT},
        {"2^63", "{" T("a", "F32", "[16]", 0, 9223372036854775808) "}",
         "9223372036854775808 is outside 0..9223372036854775807", RN_E_FORMAT},
        {"negative", "{" T("a", "F32", "[16]", -4, 60) "}", "member data_offsets: number 0: -4 is outside",
         RN_E_FORMAT},
        {"fractional", "{" T("a", "F32", "[16]", 0, 64.0) "}",
         "member data_offsets: number 1: is 64.0, must be an integer", RN_E_FORMAT},
        {"exponent", "{" T("a", "F32", "[16]", 0, 64e0) "}", "must be an integer", RN_E_FORMAT},
        {"a text", "{" T("a", "F32", "[16]", "0", 64) "}", "number 0: is a string, must be an integer", RN_E_FORMAT},
        {"three of them", "{\"a\":{\"dtype\":\"F32\",\"shape\":[16],\"data_offsets\":[0,64,64]}}",
         "member data_offsets: missing, or no array of two", RN_E_FORMAT},
        {"none of them", "{\"a\":{\"dtype\":\"F32\",\"shape\":[16]}}", "member data_offsets: missing", RN_E_FORMAT},
    };
    check_entries(rows, N(rows));
}

TEST(item_15_shapes_and_types_that_are_not_the_data_are_refused) {
    static const struct entry_row rows[] = {
        {"one element short", "{" T("a", "F32", "[15]", 0, 64) "}",
         "member data_offsets: 64 bytes, where its shape needs 60 of F32", RN_E_FORMAT},
        {"one element long", "{" T("a", "F16", "[33]", 0, 64) "}", "64 bytes, where its shape needs 66 of F16",
         RN_E_FORMAT},
        {"another type", "{" T("a", "BF16", "[16]", 0, 64) "}", "where its shape needs 32 of BF16", RN_E_FORMAT},
        {"elements overflow", "{" T("a", "F32", "[4294967296,4294967296,4]", 0, 64) "}",
         "member shape: the number of its bytes overflows at dimension 1", RN_E_FORMAT},
        {"bits overflow", "{" T("a", "F32", "[1152921504606846976]", 0, 64) "}", "overflows at dimension 0",
         RN_E_FORMAT},
        {"dimension 0 of a tensor with data", "{" T("a", "F32", "[16,0]", 0, 64) "}",
         "where its shape needs 0 of F32", RN_E_FORMAT},
        {"negative dimension", "{" T("a", "F32", "[-16]", 0, 64) "}", "member shape: dimension 0: -16 is outside",
         RN_E_FORMAT},
        {"fractional dimension", "{" T("a", "F32", "[16.5]", 0, 64) "}", "is 16.5, must be an integer", RN_E_FORMAT},
        {"dimension of 401 digits",
         "{" T("a", "F32", "[10000000000000000000000000000000000000000000000000000000000000000000000000000000]", 0,
               64) "}",
         "is outside 0..", RN_E_FORMAT},
        {"four dimensions", "{" T("a", "F32", "[2,2,2,2]", 0, 64) "}", "", RN_OK},
        {"eight dimensions", "{" T("a", "F32", "[2,2,2,2,1,1,1,1]", 0, 64) "}", "", RN_OK},
        {"nine dimensions", "{" T("a", "F32", "[2,2,2,2,1,1,1,1,1]", 0, 64) "}",
         "member shape: 9 dimensions, limit 8", RN_E_LIMIT},
        {"shape that is a number", "{" T("a", "F32", "16", 0, 64) "}", "member shape: missing, or no array",
         RN_E_FORMAT},
        {"unknown type", "{" T("a", "F33", "[16]", 0, 64) "}", "member dtype: \"F33\" is not known", RN_E_FORMAT},
        {"a type in small letters", "{" T("a", "f32", "[16]", 0, 64) "}", "member dtype: \"f32\" is not known",
         RN_E_FORMAT},
        {"no type", "{\"a\":{\"shape\":[16],\"data_offsets\":[0,64]}}", "member dtype: missing", RN_E_FORMAT},
        {"half bytes that add up", "{" T("a", "F4", "[128]", 0, 64) "}", "", RN_OK},
        {"half bytes that do not", "{" T("a", "F4", "[127]", 0, 64) "}", "where its shape needs 63 of F4",
         RN_E_FORMAT},
        {"a tensor that is a number", "{\"a\":1}", "tensor a: is a number, must be an object", RN_E_FORMAT},
        {"a name with a NUL", "{\"a\\u0000b\":{}}", "a NUL byte in its name", RN_E_FORMAT},
        {"an empty name", "{\"\":{}}", "its name has 0 bytes: 1..256", RN_E_LIMIT},
        {"a name written with escapes", "{" T("\\u0061\\u00e9\\ud83d\\ude00", "F32", "[16]", 0, 64) "}", "", RN_OK},
    };
    check_entries(rows, N(rows));
}

TEST(item_15_types_that_a_model_here_cannot_have_are_refused_by_name) {
    static const char *const types[] = {"F64", "I64", "U8", "F8_E4M3", "BOOL"};
    for (size_t i = 0; i < N(types); i++) {
        struct st_builder b;
        rn_error err = {0};
        package *p = NULL;
        size_t n;
        char entry[200], want[100];
        static const int n_bytes[] = {64, 64, 8, 8, 8};
        st_begin(&b);
        b.omit = "model.norm.weight";
        st_model(&b);
        snprintf(entry, sizeof entry,
                 "\"model.norm.weight\":{\"dtype\":\"%s\",\"shape\":[8],\"data_offsets\":[%zu,%zu]}", types[i],
                 b.data.n, b.data.n + (size_t)n_bytes[i]);
        st_entry(&b, entry);
        gb_put(&b.data, NULL, (size_t)n_bytes[i]);
        uint8_t *file = st_finish(&b, &n);
        const struct package_bytes files[] = {{"config.json", (const uint8_t *)folder_config, strlen(folder_config)},
                                              {"model.safetensors", file, n}};
        snprintf(want, sizeof want, "tensor model.norm.weight: type %s is not supported; F32, F16 and BF16 are",
                 types[i]);
        CHECK_FAILS(package_from_folder_bytes("dir", files, 2, &p, &err), RN_E_UNSUPPORTED, &err);
        CHECK_HAS(err.text, "dir/model.safetensors: tensor");
        CHECK_HAS(err.text, want);
        free(file);
    }
}

// ---- limits ---------------------------------------------------------------------------------------------------------

static rn_status read_names(size_t n_name, size_t n_tensors, rn_error *err) {
    struct gb_bytes header = {0};
    struct safetensors s = {0};
    struct arena mem = {0};
    char name[512];
    size_t n;
    gb_put(&header, "{", 1);
    for (size_t i = 0; i < n_tensors; i++) {
        char entry[700];
        snprintf(name, sizeof name, "%0*zu", (int)n_name, i);
        const int k =
            snprintf(entry, sizeof entry, "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[%zu,%zu]}",
                     i ? "," : "", name, 4 * i, 4 * i + 4);
        gb_put(&header, entry, (size_t)k);
    }
    gb_put(&header, "}", 1);
    uint8_t *file = st_file((const char *)header.data, header.n, NULL, 4 * n_tensors, &n);
    const rn_status st = safetensors_read(file, n, &mem, &s, err);
    if (st == RN_OK) CHECK_INT(s.n_records, n_tensors);
    arena_free(&mem);
    free(file);
    free(header.data);
    return st;
}

TEST(names_and_numbers_of_tensors_are_read_up_to_their_limits) {
    rn_error err = {0};
    CHECK_OK(read_names(SAFETENSORS_MAX_NAME_BYTES, 1, &err), &err);
    CHECK_FAILS(read_names(SAFETENSORS_MAX_NAME_BYTES + 1, 1, &err), RN_E_LIMIT, &err);
    CHECK_HAS(err.text, "its name has 257 bytes: 1..256");
    CHECK_OK(read_names(8, SAFETENSORS_MAX_TENSORS, &err), &err);
    CHECK_FAILS(read_names(8, SAFETENSORS_MAX_TENSORS + 1, &err), RN_E_LIMIT, &err);
    CHECK_HAS(err.text, "more than 65536 tensors");
}

// A file cut anywhere is refused: its last tensor ends with it.
TEST(item_14_a_file_cut_at_any_byte_is_refused) {
    struct st_builder b;
    size_t n;
    st_begin(&b);
    st_model(&b);
    uint8_t *file = st_finish(&b, &n);
    const long live = mem_live();
    for (size_t cut = 0; cut <= n; cut++) {
        rn_error err = {0};
        package *p = NULL;
        uint8_t *exact = malloc(cut ? cut : 1);
        if (!exact) abort();
        memcpy(exact, file, cut);
        const struct package_bytes files[] = {{"config.json", (const uint8_t *)folder_config, strlen(folder_config)},
                                              {"model.safetensors", exact, cut}};
        const rn_status st = package_from_folder_bytes("cut", files, 2, &p, &err);
        check_note("cut at byte %zu of %zu: %s", cut, n, err.text);
        CHECK(cut == n ? st == RN_OK : st == RN_E_FORMAT && !p);
        package_close(p);
        free(exact);
    }
    CHECK_INT(mem_live(), live);
    free(file);
}
