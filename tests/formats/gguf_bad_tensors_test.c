// tests/formats/gguf_bad_tensors_test.c - malformed tensor records: items 7 to 10 of the list of malformed inputs.
#include "tests/check.h"
#include "tests/support/bad_gguf.h"
#include <stdlib.h>

#define N(rows) (sizeof(rows) / sizeof *(rows))
enum { F32 = 0, Q8_0 = 8 };

static void check_rows(const struct bad_gguf *rows, size_t n) {
    const struct tiny_model sound = bad_gguf_model(TINY_NO_VOCAB);
    check_bad_gguf(&sound, rows, n, NULL);
}

// A record "extra" of these dimensions, where the data of 256 more bytes begins.
static void extra(struct gguf_builder *b, uint32_t type, uint32_t n_dims, const uint64_t *dims) {
    gb_data(b, NULL, (32 - b->data.n % 32) % 32);
    gb_tensor_at(b, "extra", type, n_dims, dims, b->data.n);
    gb_data(b, NULL, 256);
}
#define EXTRA(name, type, n_dims, ...)                                                                               \
    static void name(struct gguf_builder *b) { extra(b, type, n_dims, (const uint64_t[]){__VA_ARGS__}); }
EXTRA(dims_0, F32, 0, 1)
EXTRA(dims_4, F32, 4, 2, 2, 2, 2)
EXTRA(dims_5, F32, 5, 1, 1, 1, 1, 1)
EXTRA(dims_8_of, F32, 8, 1, 1, 1, 1, 1, 1, 1, 1)
EXTRA(zero_first, F32, 1, 0)
EXTRA(zero_last, F32, 3, 4, 4, 0)
EXTRA(negative, F32, 2, 4, UINT64_MAX)
EXTRA(rows_overflow, F32, 3, 4, 1ull << 40, 1ull << 40)
EXTRA(elements_overflow, F32, 2, 1ull << 33, 1ull << 33)
EXTRA(bytes_overflow, F32, 2, 1ull << 32, 1ull << 31)
EXTRA(row_overflow, F32, 1, INT64_MAX)
EXTRA(part_of_block, Q8_0, 2, 33, 2)
EXTRA(less_than_block, Q8_0, 1, 31)
EXTRA(whole_block, Q8_0, 2, 32, 7)

TEST(item_7_dimensions_that_are_zero_negative_too_many_or_overflow_are_refused) {
    static const struct bad_gguf rows[] = {
        {"no dimensions", NULL, dims_0, NULL, "tensor extra: 0 dimensions: 1..4"},
        {"four dimensions are read", NULL, dims_4, NULL, NULL},
        {"five dimensions", NULL, dims_5, NULL, "tensor extra: 5 dimensions: 1..4"},
        {"eight dimensions", NULL, dims_8_of, NULL, "tensor extra: 8 dimensions: 1..4"},
        {"a dimension of 0", NULL, zero_first, NULL, "tensor extra: dimension 0 is 0"},
        {"the last dimension 0", NULL, zero_last, NULL, "tensor extra: dimension 2 is 0"},
        {"negative", NULL, negative, NULL,
         "tensor extra: dimension 1 is 18446744073709551615: negative as a signed number"},
        {"rows overflow", NULL, rows_overflow, NULL,
         "tensor extra: dimension 2 of 1099511627776: the number of rows"},
        {"elements overflow", NULL, elements_overflow, NULL, "the number of elements overflows"},
        {"bytes overflow", NULL, bytes_overflow, NULL, "the size in bytes overflows"},
        {"bytes of a row overflow", NULL, row_overflow, NULL, "the size in bytes overflows"},
        {"a row of 33 in blocks of 32", NULL, part_of_block, NULL,
         "tensor extra: a row of 33 elements is not a multiple of Q8_0's block of 32"},
        {"a row of 31", NULL, less_than_block, NULL, "a row of 31 elements is not a multiple"},
        {"a row of 32 is read", NULL, whole_block, NULL, NULL},
    };
    check_rows(rows, N(rows));
}

static const uint64_t dims_8[] = {8}; // 32 bytes of F32
static uint64_t room(struct gguf_builder *b, size_t n) {
    gb_data(b, NULL, (32 - b->data.n % 32) % 32);
    const uint64_t offset = b->data.n;
    gb_data(b, NULL, n);
    return offset;
}
static void misaligned(struct gguf_builder *b) { gb_tensor_at(b, "extra", F32, 1, dims_8, room(b, 64) + 4); }
static void equal(struct gguf_builder *b) {
    const uint64_t at = room(b, 64);
    gb_tensor_at(b, "one", F32, 1, dims_8, at);
    gb_tensor_at(b, "two", F32, 1, dims_8, at);
}
static void overlapping(struct gguf_builder *b) {
    const uint64_t at = room(b, 128);
    gb_tensor_at(b, "one", F32, 1, (const uint64_t[]){16}, at);
    gb_tensor_at(b, "two", F32, 1, dims_8, at + 32);
}
static void overlapping_by_a_byte_out_of_order(struct gguf_builder *b) {
    const uint64_t at = room(b, 128);
    gb_tensor_at(b, "two", F32, 1, dims_8, at + 32);
    gb_tensor_at(b, "one", F32, 1, (const uint64_t[]){9}, at);
}
static void out_of_order(struct gguf_builder *b) {
    const uint64_t at = room(b, 64);
    gb_tensor_at(b, "two", F32, 1, dims_8, at + 32);
    gb_tensor_at(b, "one", F32, 1, dims_8, at);
}
static void with_a_hole(struct gguf_builder *b) { gb_tensor_at(b, "extra", F32, 1, dims_8, room(b, 512) + 320); }
static void beyond_the_file(struct gguf_builder *b) { gb_tensor_at(b, "extra", F32, 1, dims_8, 1 << 30); }
static void at_the_end(struct gguf_builder *b) { gb_tensor_at(b, "extra", F32, 1, dims_8, room(b, 0)); }
static void four_bytes_short(struct gguf_builder *b) {
    gb_tensor_at(b, "extra", F32, 1, (const uint64_t[]){9}, room(b, 32));
}
static void last_byte(struct gguf_builder *b) { gb_tensor_at(b, "extra", F32, 1, dims_8, room(b, 32)); }
static void offset_wraps(struct gguf_builder *b) { gb_tensor_at(b, "extra", F32, 1, dims_8, UINT64_MAX - 31); }
static void end_wraps(struct gguf_builder *b) {
    gb_tensor_at(b, "extra", F32, 1, (const uint64_t[]){1ull << 61}, 1ull << 63);
}

TEST(item_8_offsets_that_are_misaligned_overlap_or_leave_the_file_are_refused) {
    static const struct bad_gguf rows[] = {
        {"misaligned", NULL, misaligned, NULL, "is not a multiple of the alignment 32"},
        {"equal", NULL, equal, NULL, "inside tensor"},
        {"overlapping", NULL, overlapping, NULL, "tensor two: begins at byte "},
        {"overlapping, out of order", NULL, overlapping_by_a_byte_out_of_order, NULL, "inside tensor one (bytes "},
        {"out of order is read", NULL, out_of_order, NULL, NULL},
        {"a hole is read", NULL, with_a_hole, NULL, NULL},
        {"beyond the file", NULL, beyond_the_file, NULL, "tensor extra: 32 bytes at byte 10737"},
        {"at the end", NULL, at_the_end, NULL, "tensor extra: 32 bytes at byte "},
        {"four bytes past the end", NULL, four_bytes_short, NULL, "tensor extra: 36 bytes at byte "},
        {"up to the last byte is read", NULL, last_byte, NULL, NULL},
        {"offset wraps", NULL, offset_wraps, NULL, "tensor extra: offset 18446744073709551584 overflows"},
        {"offset and size wrap", NULL, end_wraps, NULL, "run past the end of the file"},
    };
    check_rows(rows, N(rows));
}

static void align(struct gguf_builder *b, uint32_t v) { gb_u32(b, "general.alignment", v); }
static void align_0(struct gguf_builder *b) { align(b, 0); }
static void align_1(struct gguf_builder *b) { align(b, 1); }
static void align_3(struct gguf_builder *b) { align(b, 3); }
static void align_4(struct gguf_builder *b) { align(b, 4); }
static void align_24(struct gguf_builder *b) { align(b, 24); }
static void align_131072(struct gguf_builder *b) { align(b, 131072); }
static void align_2_31(struct gguf_builder *b) { align(b, 1u << 31); }
static void align_2_63(struct gguf_builder *b) { gb_u64(b, "general.alignment", 1ull << 63); }
static void align_64(struct gguf_builder *b) { align(b, 64); }
static void align_65536(struct gguf_builder *b) { align(b, 65536); }
static void no_tensors_align_65536(struct gguf_builder *b) {
    struct gguf_builder fresh;
    gb_begin(&fresh, 3);
    gb_str(&fresh, "general.architecture", "other");
    gb_u32(&fresh, "general.alignment", 65536);
    gb_tensor_at(&fresh, "t", F32, 1, dims_8, 0);
    fresh.alignment = 65536;
    gb_data(&fresh, NULL, 32);
    struct gguf_builder old = *b;
    *b = fresh;
    size_t n;
    free(gb_finish(&old, &n));
}

TEST(item_9_alignments_other_than_powers_of_two_from_8_to_65536_are_refused) {
    static const struct bad_gguf rows[] = {
        {"0", NULL, align_0, NULL, "key general.alignment: 0 is not a power of two in 8..65536"},
        {"1", NULL, align_1, NULL, "key general.alignment: 1 is no"},
        {"3", NULL, align_3, NULL, "key general.alignment: 3 is no"},
        {"4: under the limit", NULL, align_4, NULL, "key general.alignment: 4 is no"},
        {"24: no power of two", NULL, align_24, NULL, "key general.alignment: 24 is not"},
        {"2^17: over the limit", NULL, align_131072, NULL, "key general.alignment: 131072 is no"},
        {"2^31", NULL, align_2_31, NULL, "key general.alignment: 2147483648 is no"},
        {"2^63, as u64", NULL, align_2_63, NULL, "key general.alignment: is a u64, must be a u32"},
        {"offsets were made for 32", NULL, align_64, NULL, "is not a multiple of the alignment 64"},
        {"padding leads out of the file", NULL, align_65536, NULL,
         "tensor data: begins at byte 65536, past the end of the file"},
        {"65536 is read", NULL, no_tensors_align_65536, NULL, NULL},
        {"absent means 32", NULL, NULL, NULL, NULL},
    };
    check_rows(rows, N(rows));
}

EXTRA(type_200, 200, 1, 32)
EXTRA(type_removed, 4, 1, 32)
EXTRA(type_minus_1, UINT32_MAX, 1, 32)
EXTRA(type_q8_k, 15, 1, 256)
EXTRA(type_i64, 27, 1, 4)

TEST(item_10_tensor_types_unknown_removed_or_not_read_are_refused_by_name) {
    static const struct bad_gguf rows[] = {
        {"unknown", NULL, type_200, NULL,
         "tensor extra: type 200 is not a GGUF tensor type; F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, IQ4_NL, MXFP4, "
         "Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_XS, TQ1_0, TQ2_0, IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS, IQ3_S, IQ1_S, IQ1_M, Q1_0, Q2_0, NVFP4 are read"},
        {"removed", NULL, type_removed, NULL, "tensor extra: type 4 is not a GGUF tensor type"},
        {"negative", NULL, type_minus_1, NULL, "tensor extra: type 4294967295 is not"},
        {"known, not read", NULL, type_q8_k, NULL, "tensor extra: type Q8_K is not supported; F32, F16"},
        {"integers", NULL, type_i64, NULL, "tensor extra: type I64 is not supported"},
    };
    check_rows(rows, N(rows));
}
