// media/bmp_read.c - BMP: uncompressed rows of 1 to 32 bits, and bit fields. No library of Debian's reads it alone.
//
// Layout: BITMAPFILEHEADER, then a header of the size in its first field (12: OS/2's, 40 to 124: Windows'), then colors.
#include "media/picture_reader.h"
#include <stdbool.h>
#include <string.h>

enum { RAW = 0, RLE8 = 1, RLE4 = 2, BITFIELDS = 3 };

struct bmp {
    uint32_t data_at, header_bytes, width, height, n_bits, compression, n_colors;
    uint32_t mask[4]; // red, green, blue, alpha
    bool is_top_down;
    uint8_t rgb[256][3];
};

// Where a mask's bits are and how many: 8 bits are taken as they are, fewer are scaled to 0..255.
struct field {
    uint32_t mask, shift, max;
};

static struct field field_of(uint32_t mask) {
    struct field f = {mask, 0, 0};
    if (!mask) return f;
    f.shift = (uint32_t)__builtin_ctz(mask);
    f.max = mask >> f.shift;
    return f;
}

static bool mask_is_read(uint32_t mask) { // up to 8 bits without a hole
    const struct field f = field_of(mask);
    return f.max <= 255 && (f.max & (f.max + 1)) == 0;
}

static uint8_t value_of(const struct field *f, uint32_t pixel) {
    const uint32_t value = (pixel & f->mask) >> f->shift;
    return (uint8_t)(f->max ? value * 255 / f->max : 0);
}

static rn_status read_header(cursor *in, struct bmp *b, rn_error *err) {
    uint32_t skipped = 0, planes_and_bits = 0;
    cursor_skip(in, 10);
    cursor_u32(in, &b->data_at);
    if (!cursor_u32(in, &b->header_bytes)) return fail(err, RN_E_FORMAT, "it ends early");
    if (b->header_bytes == 12) {
        uint32_t sides = 0;
        cursor_u32(in, &sides);
        b->width = sides & 0xffff, b->height = sides >> 16;
        cursor_u32(in, &planes_and_bits);
    } else if (b->header_bytes == 40 || b->header_bytes == 52 || b->header_bytes == 56 || b->header_bytes == 64 ||
               b->header_bytes == 108 || b->header_bytes == 124) {
        cursor header = *in;
        cursor_u32(&header, &b->width);
        cursor_u32(&header, &b->height);
        cursor_u32(&header, &planes_and_bits);
        cursor_u32(&header, &b->compression);
        for (int i = 0; i < 3; i++) cursor_u32(&header, &skipped); // bytes, resolution
        cursor_u32(&header, &b->n_colors);
        cursor_u32(&header, &skipped);   // important colors
        if (b->compression == BITFIELDS) // in the header, or behind one of 40 bytes
            for (int i = 0; i < (b->header_bytes >= 56 ? 4 : 3); i++) cursor_u32(&header, &b->mask[i]);
        cursor_skip(in, b->header_bytes - 4 + (b->compression == BITFIELDS && b->header_bytes == 40 ? 12 : 0));
        in->failed = in->failed || header.failed;
        b->is_top_down = b->height > INT32_MAX;
        if (b->is_top_down) b->height = 0U - b->height;
    } else {
        return fail(err, RN_E_FORMAT, "its header has %u bytes: 12, 40, 52, 56, 64, 108 and 124 are known",
                    b->header_bytes);
    }
    b->n_bits = planes_and_bits >> 16;
    return in->failed ? fail(err, RN_E_FORMAT, "it ends early") : RN_OK;
}

static rn_status check_form(struct bmp *b, rn_error *err) {
    if (b->compression == RLE8 || b->compression == RLE4)
        return fail(err, RN_E_UNSUPPORTED, "run-length encoded (compression %u): save it uncompressed, or as PNG",
                    b->compression);
    if (b->compression != RAW && b->compression != BITFIELDS)
        return fail(err, RN_E_UNSUPPORTED, "compression %u: 0 and 3 are read", b->compression);
    if (b->n_bits != 1 && b->n_bits != 4 && b->n_bits != 8 && b->n_bits != 16 && b->n_bits != 24 && b->n_bits != 32)
        return fail(err, RN_E_FORMAT, "%u bits a pixel: 1, 4, 8, 16, 24 and 32 are known", b->n_bits);
    if (b->compression == BITFIELDS && b->n_bits < 16)
        return fail(err, RN_E_FORMAT, "bit fields of %u bits a pixel: 16, 24 and 32 are known", b->n_bits);
    for (int i = 0; i < 4; i++)
        if (!mask_is_read(b->mask[i]))
            return fail(err, RN_E_UNSUPPORTED, "bit field %08x: up to 8 bits in a row are read", b->mask[i]);
    static const uint32_t of_16[4] = {0x7c00, 0x3e0, 0x1f, 0}, of_more[4] = {0xff0000, 0xff00, 0xff, 0},
                          of_32[4] = {0xff0000, 0xff00, 0xff, 0xff000000};
    if (b->compression == RAW) memcpy(b->mask, b->n_bits == 16 ? of_16 : of_more, sizeof b->mask);
    const bool has_masks = b->mask[0] || b->mask[1] || b->mask[2] || b->mask[3];
    if (!has_masks) memcpy(b->mask, of_32, sizeof b->mask); // as Pillow reads such files
    return RN_OK;
}

// Colors stand behind the header; what they leave out is gray.
static rn_status read_colors(cursor *in, struct bmp *b, rn_error *err) {
    const uint32_t entry_bytes = b->header_bytes == 12 ? 3 : 4;
    const uint32_t n = b->n_colors ? b->n_colors : 1U << b->n_bits;
    if (n > 65536) return fail(err, RN_E_FORMAT, "%u colors", n);
    for (uint32_t i = 0; i < 256; i++) memset(b->rgb[i], (int)i, 3);
    const uint8_t *from = NULL;
    if (!cursor_bytes(in, (uint64_t)n * entry_bytes, &from)) return fail(err, RN_E_FORMAT, "it ends early");
    for (uint32_t i = 0; i < n && i < 256; i++)
        for (uint32_t c = 0; c < 3; c++) b->rgb[i][c] = from[i * entry_bytes + 2 - c];
    // Pillow's reader: files whose pixels are said to begin where the colors do.
    if (b->data_at == 14 + b->header_bytes) b->data_at += n * entry_bytes;
    return RN_OK;
}

static void read_indices(const struct bmp *b, const uint8_t *from, uint8_t *to) {
    const uint32_t each = 8 / b->n_bits, mask = (1U << b->n_bits) - 1;
    for (uint32_t x = 0; x < b->width; x++)
        memcpy(to + 3 * x, b->rgb[((uint32_t)from[x / each] >> (each - 1 - x % each) * b->n_bits) & mask], 3);
}

static void read_fields(const struct bmp *b, const struct field *f, const uint8_t *from, uint8_t *to,
                        int n_channels) {
    const uint32_t n_bytes = b->n_bits / 8;
    for (uint32_t x = 0; x < b->width; x++, from += n_bytes, to += n_channels) {
        uint32_t pixel = 0;
        for (uint32_t i = 0; i < n_bytes; i++) pixel |= (uint32_t)from[i] << 8 * i;
        for (int c = 0; c < n_channels; c++) to[c] = value_of(&f[c], pixel);
    }
}

rn_status bmp_read(cursor file, struct raw_picture *out, rn_error *err) {
    struct bmp b = {0};
    cursor in = file;
    rn_status st = read_header(&in, &b, err);
    if (st == RN_OK) st = check_form(&b, err);
    if (st == RN_OK && b.n_bits <= 8) st = read_colors(&in, &b, err);
    const int n_channels = b.mask[3] ? 4 : 3;
    if (st == RN_OK) st = raw_picture_begin(out, b.width, b.height, n_channels, err);
    if (st != RN_OK) return st;
    const uint64_t row_bytes = ((uint64_t)b.width * b.n_bits + 31) / 32 * 4;
    const uint8_t *rows = NULL;
    cursor data = file;
    if (!cursor_skip(&data, b.data_at ? b.data_at : in.pos) || !cursor_bytes(&data, row_bytes * b.height, &rows))
        return fail(err, RN_E_FORMAT, "it ends early");
    const struct field f[4] = {field_of(b.mask[0]), field_of(b.mask[1]), field_of(b.mask[2]), field_of(b.mask[3])};
    for (uint32_t y = 0; y < b.height; y++) {
        const uint32_t row = b.is_top_down ? y : b.height - 1 - y;
        uint8_t *const to = out->pixels + (size_t)y * b.width * (size_t)n_channels;
        if (b.n_bits <= 8)
            read_indices(&b, rows + row_bytes * row, to);
        else
            read_fields(&b, f, rows + row_bytes * row, to, n_channels);
    }
    return RN_OK;
}
