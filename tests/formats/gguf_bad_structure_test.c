// tests/formats/gguf_bad_structure_test.c - malformed headers, pairs and names: items 1 to 6 of the list of malformed inputs.
#include "tests/check.h"
#include "tests/support/bad_gguf.h"
#include <stdlib.h>
#include <string.h>

#define N(rows) (sizeof(rows) / sizeof *(rows))

static void check_rows(const struct bad_gguf *rows, size_t n) {
    const struct tiny_model sound = bad_gguf_model(TINY_BYTES);
    check_bad_gguf(&sound, rows, n, NULL);
}

TEST(the_model_that_is_spoiled_here_is_sound) {
    const struct bad_gguf row = {"as it is", NULL, NULL, NULL, NULL};
    check_rows(&row, 1);
}

TEST(item_1_a_file_that_is_no_gguf_is_told_what_it_looks_like) {
    static const struct {
        const char *why, *bytes;
        size_t n;
        const char *want;
    } rows[] = {
        {"empty", "", 0, "it is an empty file (0 bytes)"},
        {"one byte", "G", 1, "a file of less than 4 bytes (1 bytes)"},
        {"two bytes", "GG", 2, "less than 4 bytes"},
        {"three bytes", "GGU", 3, "less than 4 bytes"},
        {"the magic alone", "GGUF", 4, "header: the version at byte 4 runs past the end of the file (4 bytes)"},
        {"magic and version", "GGUF\3\0\0\0", 8, "header: takes 24 bytes, the file has 8"},
        {"half a header", "GGUF\3\0\0\0\0\0\0\0\0\0\0\0\0\0", 18, "header: takes 24 bytes, the file has 18"},
        {"GGML as text", "GGML\1\0\0\0", 8, "an old GGML file"},
        {"GGML as stored", "lmgg\1\0\0\0", 8, "an old GGML file"},
        {"GGJT", "tjgg\3\0\0\0", 8, "an old GGJT file"},
        {"ZIP", "PK\3\4....", 8, "a ZIP archive"},
        {"HTML", "<!doctype html><html>", 21, "a web page (HTML): the download went wrong"},
        {"HTML without a doctype", "<HTML><body>", 12, "a web page (HTML)"},
        {"Git LFS", "version https://git-lfs.github.com/spec/v1\n", 43, "a Git LFS pointer"},
        {"gzip", "\x1f\x8b\x08\0\0\0", 6, "gzip-compressed"},
        {"safetensors", "\x40\0\0\0\0\0\0\0{\"__metadata__\"", 22, "a safetensors file"},
        {"JSON", "{\"architectures\":", 17, "JSON text"},
        {"noise", "\x93NUMPY\1\0", 8, "of no known kind"},
    };
    for (size_t i = 0; i < N(rows); i++) {
        rn_error err = {0};
        package *p = (package *)&err;
        check_note("%s", rows[i].why);
        uint8_t *exact = malloc(rows[i].n + 1);
        if (!exact) abort();
        memcpy(exact, rows[i].bytes, rows[i].n);
        CHECK(package_from_bytes("x.gguf", exact, rows[i].n, &p, &err) != RN_OK);
        CHECK(p == NULL);
        CHECK_HAS(err.text, rows[i].want);
        CHECK_HAS(err.text, "x.gguf: ");
        free(exact);
    }
}

static void set_u32(uint8_t *at, uint32_t v) {
    for (int i = 0; i < 4; i++) at[i] = (uint8_t)(v >> (8 * i));
}
static void set_u64(uint8_t *at, uint64_t v) {
    set_u32(at, (uint32_t)v);
    set_u32(at + 4, (uint32_t)(v >> 32));
}
#define VERSION(name, v)                                                                                             \
    static void name(uint8_t *file, size_t *n) {                                                                     \
        (void)n;                                                                                                     \
        set_u32(file + 4, v);                                                                                        \
    }
#define COUNT(name, at, v)                                                                                           \
    static void name(uint8_t *file, size_t *n) {                                                                     \
        (void)n;                                                                                                     \
        set_u64(file + (at), v);                                                                                     \
    }
VERSION(version_0, 0)
VERSION(version_1, 1)
VERSION(version_2, 2)
VERSION(version_4, 4)
VERSION(version_2_31, 1u << 31)
VERSION(version_3_swapped, 3u << 24)

TEST(item_2_versions_other_than_2_and_3_are_refused_and_big_endian_is_named) {
    static const struct bad_gguf rows[] = {
        {"version 0", NULL, NULL, version_0, "version: 0 is not supported; 2 and 3 are"},
        {"version 1", NULL, NULL, version_1, "version: 1 is not supported"},
        {"version 4", NULL, NULL, version_4, "version: 4 is not supported"},
        {"version 2^31", NULL, NULL, version_2_31, "version: 2147483648 is not supported"},
        {"swapped", NULL, NULL, version_3_swapped, "version: 3 in big-endian byte order"},
        {"version 2 is read", NULL, NULL, version_2, NULL},
    };
    check_rows(rows, N(rows));
}

COUNT(tensors_minus_1, 8, UINT64_MAX)
COUNT(tensors_2_63, 8, 1ull << 63)
COUNT(tensors_over_limit, 8, 65537)
COUNT(tensors_over_file, 8, 65536)
COUNT(tensors_one_more, 8, 12)
COUNT(tensors_none, 8, 0)
COUNT(pairs_minus_1, 16, UINT64_MAX)
COUNT(pairs_2_63, 16, 1ull << 63)
COUNT(pairs_wrap, 16, SIZE_MAX / 14 + 2)
COUNT(pairs_over_limit, 16, 65537)
COUNT(pairs_over_file, 16, 65536)
COUNT(pairs_one_less, 16, 18)

TEST(item_3_counts_that_the_file_cannot_hold_are_refused_before_anything_is_allocated) {
    static const struct bad_gguf rows[] = {
        {"tensors -1", NULL, NULL, tensors_minus_1, "18446744073709551615 tensors: negative as a signed number"},
        {"tensors 2^63", NULL, NULL, tensors_2_63, "9223372036854775808 tensors: negative"},
        {"tensors over the limit", NULL, NULL, tensors_over_limit, "header: 65537 tensors, limit 65536"},
        {"tensors over the file", NULL, NULL, tensors_over_file, "65536 tensors need at least 2162688 bytes"},
        {"one tensor more than there is", NULL, NULL, tensors_one_more, "tensor record 11: "},
        {"tensor data without tensors is padding", NULL, NULL, tensors_none, NULL},
        {"pairs -1", NULL, NULL, pairs_minus_1, "18446744073709551615 metadata pairs: negative"},
        {"pairs 2^63", NULL, NULL, pairs_2_63, "9223372036854775808 metadata pairs: negative"},
        {"pairs x record size wraps", NULL, NULL, pairs_wrap, "metadata pairs, limit 65536"},
        {"pairs over the limit", NULL, NULL, pairs_over_limit, "header: 65537 metadata pairs, limit 65536"},
        {"pairs over the file", NULL, NULL, pairs_over_file, "65536 metadata pairs need at least 917504 bytes"},
        {"one pair less than there is: it reads as a tensor", NULL, NULL, pairs_one_less, "tensor "},
    };
    check_rows(rows, N(rows));
}

// A pair or record by hand: a key of the length said, and these bytes.
static void raw_pair(struct gguf_builder *b, uint64_t key_length, const void *key, size_t n_key, const void *rest,
                     size_t n_rest) {
    struct gb_bytes pair = {0};
    gb_put_u64(&pair, key_length);
    gb_put(&pair, key, n_key);
    gb_put(&pair, rest, n_rest);
    gb_raw_pair(b, pair.data, pair.n);
    free(pair.data);
}
static const uint8_t u8_value[] = {GB_U8, 0, 0, 0, 1};

static void key_past_end(struct gguf_builder *b) { raw_pair(b, 65535, "abc", 3, u8_value, sizeof u8_value); }
static void key_2_64(struct gguf_builder *b) { raw_pair(b, UINT64_MAX, "abc", 3, u8_value, sizeof u8_value); }
static void key_empty(struct gguf_builder *b) { raw_pair(b, 0, "", 0, u8_value, sizeof u8_value); }
static void key_nul(struct gguf_builder *b) { raw_pair(b, 3, "a\0c", 3, u8_value, sizeof u8_value); }
static void key_no_utf8(struct gguf_builder *b) {
    raw_pair(b, 3,
             "a\xff"
             "c",
             3, u8_value, sizeof u8_value);
}
static void key_overlong(struct gguf_builder *b) { raw_pair(b, 2, "\xc0\xaf", 2, u8_value, sizeof u8_value); }
static void string_of(struct gguf_builder *b, uint64_t length) {
    uint8_t bytes[8];
    set_u64(bytes, length);
    gb_value(b, "my.text", GB_STR, bytes, sizeof bytes);
}
static void string_past_end(struct gguf_builder *b) { string_of(b, 1 << 20); }
static void string_2_64(struct gguf_builder *b) { string_of(b, UINT64_MAX); }
static void string_over_limit(struct gguf_builder *b) { string_of(b, (16 << 20) + 1); }
static void arch_nul(struct gguf_builder *b) { gb_str_n(b, "general.architecture", "lla\0ma", 6); }
static void arch_no_utf8(struct gguf_builder *b) { gb_str(b, "general.architecture", "ll\xf8ma"); }
static const uint64_t one[] = {1};
static void name_empty(struct gguf_builder *b) { gb_tensor_at(b, "", 0, 1, one, 0); }
static void name_no_utf8(struct gguf_builder *b) { gb_tensor_at(b, "x\x80", 0, 1, one, 0); }
static void name_65(struct gguf_builder *b) {
    char name[66] = {0};
    memset(name, 'n', 65);
    gb_tensor_at(b, name, 0, 1, one, 0);
}
static void name_past_end(uint8_t *file, size_t *n) {
    for (size_t i = 0; i + 22 < *n; i++)
        if (memcmp(file + i, "output_norm.weight", 18) == 0) {
            set_u64(file + i - 8, 64);
            *n = i + 18;
            return;
        }
}

TEST(item_4_strings_that_lie_about_their_length_or_hold_what_they_must_not_are_refused) {
    static const struct bad_gguf rows[] = {
        {"key past the end", NULL, key_past_end, NULL, "metadata pair 19: its name at byte "},
        {"key of 2^64-1", NULL, key_2_64, NULL,
         "metadata pair 19: its name has 18446744073709551615 bytes, limit 65535"},
        {"empty key", NULL, key_empty, NULL, "metadata pair 19: its name is empty"},
        {"NUL in a key", NULL, key_nul, NULL, "metadata pair 19: a NUL byte in its name"},
        {"key is not UTF-8", NULL, key_no_utf8, NULL, "metadata pair 19: its name is not UTF-8"},
        {"key in an overlong form", NULL, key_overlong, NULL, "its name is not UTF-8"},
        {"string past the end", NULL, string_past_end, NULL, "key my.text: a string of 1048576 bytes at byte "},
        {"string of 2^64-1", NULL, string_2_64, NULL,
         "key my.text: a string of 18446744073709551615 bytes, limit 16777216"},
        {"string over the limit", NULL, string_over_limit, NULL, "a string of 16777217 bytes, limit 16777216"},
        {"NUL in a text that is used", "general.architecture", arch_nul, NULL,
         "key general.architecture: contains a NUL byte"},
        {"text that is not UTF-8", "general.architecture", arch_no_utf8, NULL,
         "key general.architecture: its text is not UTF-8"},
        {"tensor name empty", NULL, name_empty, NULL, "tensor record 11: its name is empty"},
        {"tensor name not UTF-8", NULL, name_no_utf8, NULL, "tensor record 11: its name is not UTF-8"},
        {"tensor name of 65 bytes", NULL, name_65, NULL, "tensor record 11: its name has 65 bytes, limit 64"},
        {"tensor name past the end", NULL, NULL, name_past_end, "its name at byte "},
    };
    check_rows(rows, N(rows));
}

static void type_13(struct gguf_builder *b) { gb_value(b, "my.key", 13, u8_value, 4); }
static void type_255(struct gguf_builder *b) { gb_value(b, "my.key", 255, u8_value, 4); }
static void type_minus_1(struct gguf_builder *b) { gb_value(b, "my.key", UINT32_MAX, u8_value, 4); }
static void bool_2(struct gguf_builder *b) { gb_value(b, "my.key", GB_BOOL, "\2", 1); }
static void bools_2(struct gguf_builder *b) { gb_array(b, "my.key", GB_BOOL, "\1\0\2", 3, 1); }
static void array_of(struct gguf_builder *b, uint32_t item_type, uint64_t n) {
    uint8_t head[12];
    set_u32(head, item_type);
    set_u64(head + 4, n);
    gb_value(b, "my.key", GB_ARRAY, head, sizeof head);
}
static void array_of_13(struct gguf_builder *b) { array_of(b, 13, 1); }
static void array_over_file(struct gguf_builder *b) { array_of(b, GB_F64, 1 << 20); }
static void array_over_limit(struct gguf_builder *b) { array_of(b, GB_U8, (16 << 20) + 1); }
static void array_wraps(struct gguf_builder *b) { array_of(b, GB_U64, (1ull << 61) + 1); }
static void array_negative(struct gguf_builder *b) { array_of(b, GB_U8, UINT64_MAX); }
static void strings_over_file(struct gguf_builder *b) { array_of(b, GB_STR, 1 << 20); }
static void nested_arrays(struct gguf_builder *b) {
    struct gb_bytes value = {0};
    for (int i = 0; i < 10000; i++) {
        gb_put_u32(&value, GB_ARRAY);
        gb_put_u64(&value, 1);
    }
    gb_value(b, "my.key", GB_ARRAY, value.data, value.n);
    free(value.data);
}
static void alignment_i32(struct gguf_builder *b) { gb_i32(b, "general.alignment", 32); }
static void arch_number(struct gguf_builder *b) { gb_u32(b, "general.architecture", 5); }
static void arch_array(struct gguf_builder *b) { gb_array(b, "general.architecture", GB_U8, "llama", 5, 1); }
static void layers_float(struct gguf_builder *b) { gb_f32(b, "llama.block_count", 1); }
static void layers_text(struct gguf_builder *b) { gb_str(b, "llama.block_count", "1"); }
static void eps_int(struct gguf_builder *b) { gb_u32(b, "llama.attention.layer_norm_rms_epsilon", 1); }
static void tokens_numbers(struct gguf_builder *b) { gb_array(b, "tokenizer.ggml.tokens", GB_U8, "abc", 3, 1); }
static void bos_text(struct gguf_builder *b) { gb_str(b, "tokenizer.ggml.bos_token_id", "<s>"); }
static void add_bos_int(struct gguf_builder *b) { gb_u32(b, "tokenizer.ggml.add_bos_token", 1); }
static void split_in_3(struct gguf_builder *b) {
    gb_u16(b, "split.count", 3);
    gb_u16(b, "split.no", 1);
}

TEST(item_5_values_of_wrong_types_and_arrays_that_do_not_fit_are_refused) {
    static const struct bad_gguf rows[] = {
        {"type 13", NULL, type_13, NULL, "key my.key: type 13 is not a GGUF value type, 0..12"},
        {"type 255", NULL, type_255, NULL, "key my.key: type 255 is not"},
        {"type -1", NULL, type_minus_1, NULL, "key my.key: type 4294967295 is not"},
        {"arrays 10,000 deep", NULL, nested_arrays, NULL, "key my.key: an array of arrays"},
        {"array over the file", NULL, array_over_file, NULL,
         "key my.key: 1048576 array items need at least 8388608 bytes"},
        {"strings over the file", NULL, strings_over_file, NULL, "1048576 array items need at least 8388608 bytes"},
        {"array over the limit", NULL, array_over_limit, NULL, "key my.key: 16777217 array items, limit 16777216"},
        {"count x size wraps", NULL, array_wraps, NULL, "key my.key: 2305843009213693953 array items, limit"},
        {"count is negative", NULL, array_negative, NULL, "array items: negative as a signed number"},
        {"array of type 13", NULL, array_of_13, NULL, "key my.key: array: type 13 is not a GGUF value type"},
        {"bool of 2", NULL, bool_2, NULL, "key my.key: a bool of 2: 0 or 1"},
        {"bool of 2 in an array", NULL, bools_2, NULL, "key my.key: a bool of 2: 0 or 1"},
        {"alignment as i32", NULL, alignment_i32, NULL, "key general.alignment: is a i32, must be a u32"},
        {"architecture as number", "general.architecture", arch_number, NULL,
         "key general.architecture: is of type u32, must be a string"},
        {"architecture as array", "general.architecture", arch_array, NULL,
         "key general.architecture: is an array of u8, must be a string"},
        {"layers as f32", "llama.block_count", layers_float, NULL,
         "key llama.block_count: is of type f32, must be an integer"},
        {"layers as text", "llama.block_count", layers_text, NULL, "is of type string, must be an integer"},
        {"epsilon as integer", "llama.attention.layer_norm_rms_epsilon", eps_int, NULL,
         "is of type u32, must be an f32"},
        {"tokens as numbers", "tokenizer.ggml.tokens", tokens_numbers, NULL,
         "key tokenizer.ggml.tokens: is an array of u8, must be an array of string"},
        {"BOS as text", "tokenizer.ggml.bos_token_id", bos_text, NULL, "must be an integer"},
        {"flag as integer", "tokenizer.ggml.add_bos_token", add_bos_int, NULL, "is of type u32, must be a bool"},
        {"one part of three", NULL, split_in_3, NULL, "key split.count: the file is part 2 of 3"},
    };
    check_rows(rows, N(rows));
}

static void key_twice(struct gguf_builder *b) { gb_u32(b, "llama.block_count", 1); }
static void unknown_key_twice(struct gguf_builder *b) {
    gb_u8(b, "my.key", 1);
    gb_str(b, "my.key", "other");
}
static void tensor_twice(struct gguf_builder *b) {
    const float zeros[32] = {0};
    gb_tensor(b, "output_norm.weight", 0, 1, (uint64_t[]){32}, zeros, sizeof zeros);
}

TEST(item_6_a_key_or_tensor_given_twice_is_refused) {
    static const struct bad_gguf rows[] = {
        {"key twice", NULL, key_twice, NULL, "key llama.block_count: given twice (pairs 2 and 19)"},
        {"key twice, other type", NULL, unknown_key_twice, NULL, "key my.key: given twice (pairs 19 and 20)"},
        {"tensor twice", NULL, tensor_twice, NULL, "tensor output_norm.weight: named twice (tensors 10 and 11)"},
    };
    check_rows(rows, N(rows));
}
