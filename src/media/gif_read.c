// media/gif_read.c - the first picture of a GIF by giflib, on its screen, as Pillow shows it.
#include "base/mem.h"
#include "media/picture_reader.h"
#include <gif_lib.h>
#include <stdbool.h>
#include <string.h>

struct colors {
    uint8_t rgb[256][3];
    int transparent; // -1: none
};

static int read_bytes(GifFileType *gif, GifByteType *to, int n) {
    cursor *const in = gif->UserData;
    const uint8_t *from = NULL;
    const size_t left = cursor_left(in), m = (size_t)n < left ? (size_t)n : left;
    if (!cursor_bytes(in, m, &from)) return 0;
    memcpy(to, from, m);
    return (int)m;
}

static rn_status failed(const GifFileType *gif, rn_error *err) {
    const int code = gif->Error;
    if (code == D_GIF_ERR_NOT_ENOUGH_MEM) return fail(err, RN_E_NOMEM, "out of memory");
    if (code == D_GIF_ERR_READ_FAILED || code == D_GIF_ERR_EOF_TOO_SOON)
        return fail(err, RN_E_FORMAT, "it ends early");
    const char *const why = GifErrorString(code);
    return fail(err, RN_E_FORMAT, "%s", why ? why : "malformed");
}

// Of all extensions, the last graphic control block before the picture names a transparent color.
static rn_status read_extension(GifFileType *gif, struct colors *c, rn_error *err) {
    int code = 0;
    GifByteType *block = NULL;
    if (DGifGetExtension(gif, &code, &block) == GIF_ERROR) return failed(gif, err);
    if (code == GRAPHICS_EXT_FUNC_CODE && block && block[0] >= 4 && block[1] & 1) c->transparent = block[4];
    while (block)
        if (DGifGetExtensionNext(gif, &block) == GIF_ERROR) return failed(gif, err);
    return RN_OK;
}

// What a map leaves out is gray, as it all is without a map.
static void take_colors(const ColorMapObject *map, struct colors *c) {
    for (int i = 0; i < 256; i++) memset(c->rgb[i], i, 3);
    for (int i = 0; map && i < map->ColorCount && i < 256; i++) {
        c->rgb[i][0] = map->Colors[i].Red;
        c->rgb[i][1] = map->Colors[i].Green;
        c->rgb[i][2] = map->Colors[i].Blue;
    }
}

static void put(const struct colors *c, uint8_t *to, int index) {
    memcpy(to, c->rgb[index], 3);
    to[3] = index == c->transparent ? 0 : 255;
}

static rn_status read_rows(GifFileType *gif, const struct colors *c, GifByteType *line, struct raw_picture *out,
                           rn_error *err) {
    static const struct {
        int first, step;
    } whole[] = {{0, 1}}, interlaced[] = {{0, 8}, {4, 8}, {2, 4}, {1, 2}};
    const GifImageDesc *const d = &gif->Image;
    for (int pass = 0; pass < (d->Interlace ? 4 : 1); pass++)
        for (int y = d->Interlace ? interlaced[pass].first : 0; y < d->Height;
             y += d->Interlace ? interlaced[pass].step : whole[0].step) {
            if (DGifGetLine(gif, line, d->Width) == GIF_ERROR) return failed(gif, err);
            uint8_t *const to = out->pixels + 4 * ((size_t)(d->Top + y) * out->width + (size_t)d->Left);
            for (int x = 0; x < d->Width; x++) put(c, to + 4 * x, line[x]);
        }
    return RN_OK;
}

// The screen grows where the picture is beyond it; what the picture leaves free is transparent, else the first color.
static rn_status read_picture(GifFileType *gif, struct colors *c, struct raw_picture *out, rn_error *err) {
    if (DGifGetImageDesc(gif) == GIF_ERROR) return failed(gif, err);
    const GifImageDesc *const d = &gif->Image;
    const int right = d->Left + d->Width, bottom = d->Top + d->Height;
    if (d->Width <= 0 || d->Height <= 0)
        return fail(err, RN_E_FORMAT, "its first frame has %d x %d pixels", d->Width, d->Height);
    take_colors(d->ColorMap ? d->ColorMap : gif->SColorMap, c);
    rn_status st = raw_picture_begin(out, (uint64_t)(gif->SWidth > right ? gif->SWidth : right),
                                     (uint64_t)(gif->SHeight > bottom ? gif->SHeight : bottom), 4, err);
    GifByteType *const line = st == RN_OK ? mem_alloc((size_t)d->Width) : NULL;
    if (st == RN_OK && !line) st = fail(err, RN_E_NOMEM, "out of memory");
    if (st != RN_OK) return st;
    for (size_t i = 0; i < (size_t)out->width * out->height; i++)
        put(c, out->pixels + 4 * i, c->transparent < 0 ? 0 : c->transparent);
    st = read_rows(gif, c, line, out, err);
    mem_free(line);
    return st;
}

static rn_status read_records(GifFileType *gif, struct raw_picture *out, rn_error *err) {
    struct colors c = {.transparent = -1};
    GifRecordType type = UNDEFINED_RECORD_TYPE;
    rn_status st = RN_OK;
    while (st == RN_OK) {
        if (DGifGetRecordType(gif, &type) == GIF_ERROR) return failed(gif, err);
        if (type == TERMINATE_RECORD_TYPE) return fail(err, RN_E_FORMAT, "it has no picture");
        if (type == IMAGE_DESC_RECORD_TYPE) break;
        st = read_extension(gif, &c, err);
    }
    if (st == RN_OK) st = read_picture(gif, &c, out, err);
    if (st == RN_OK && DGifGetRecordType(gif, &type) == GIF_ERROR) st = failed(gif, err); // the end, or another frame
    return st;
}

rn_status gif_read(cursor file, struct raw_picture *out, rn_error *err) {
    int code = 0;
    GifFileType *const gif = DGifOpen(&file, read_bytes, &code);
    if (!gif) return failed(&(GifFileType){.Error = code}, err);
    const rn_status st = read_records(gif, out, err);
    DGifCloseFile(gif, &code);
    return st;
}
