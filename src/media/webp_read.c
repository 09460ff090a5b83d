// media/webp_read.c - WebP by libwebp: the first frame on its canvas, as Pillow reads it.
#include "base/mem.h"
#include "media/picture.h"
#include "media/picture_reader.h"
#include <string.h>
#include <webp/decode.h>
#include <webp/demux.h>

static uint8_t find_orientation(const WebPDemuxer *parts) {
    WebPChunkIterator chunk;
    uint8_t found = 0;
    if (WebPDemuxGetChunk(parts, "EXIF", 1, &chunk)) {
        found = exif_orientation(chunk.chunk.bytes, chunk.chunk.size);
        WebPDemuxReleaseChunkIterator(&chunk);
    }
    if (!found && WebPDemuxGetChunk(parts, "XMP ", 1, &chunk)) {
        found = xmp_orientation(chunk.chunk.bytes, chunk.chunk.size);
        WebPDemuxReleaseChunkIterator(&chunk);
    }
    return found;
}

// libwebp lists all frames of a film before it decodes the first one, and takes memory for each.
static rn_status check_frames(cursor file, rn_error *err) {
    uint32_t n = 0, id = 0, n_bytes = 0;
    cursor_skip(&file, 12);
    while (cursor_u32(&file, &id) && cursor_u32(&file, &n_bytes) &&
           cursor_skip(&file, (uint64_t)n_bytes + n_bytes % 2))
        n += memcmp(&id, "ANMF", 4) == 0;
    return n <= PICTURE_MAX_FRAMES ? RN_OK
                                   : fail(err, RN_E_LIMIT, "%u frames: at most %d are read", n, PICTURE_MAX_FRAMES);
}

static rn_status read_first_frame(WebPAnimDecoder *film, struct raw_picture *out, rn_error *err) {
    const WebPDemuxer *const parts = WebPAnimDecoderGetDemuxer(film);
    const uint32_t flags = WebPDemuxGetI(parts, WEBP_FF_FORMAT_FLAGS);
    uint8_t *canvas = NULL;
    int at_ms = 0;
    if (!WebPAnimDecoderGetNext(film, &canvas, &at_ms))
        return fail(err, RN_E_FORMAT, "its first frame is malformed, or its decoder found no memory");
    memcpy(out->pixels, canvas, 4 * (size_t)out->width * out->height);
    if (!(flags & ALPHA_FLAG)) // the canvas is transparent where the frame is not; the file says that nothing is
        for (size_t i = 0; i < (size_t)out->width * out->height; i++) out->pixels[4 * i + 3] = 255;
    out->orientation = find_orientation(parts);
    return RN_OK;
}

rn_status webp_read(cursor file, struct raw_picture *out, rn_error *err) {
    const WebPData data = {file.data, file.size};
    WebPBitstreamFeatures features;
    const VP8StatusCode code = WebPGetFeatures(file.data, file.size, &features);
    if (code == VP8_STATUS_NOT_ENOUGH_DATA) return fail(err, RN_E_FORMAT, "it ends early");
    if (code != VP8_STATUS_OK) return fail(err, RN_E_FORMAT, "its header is malformed");
    rn_status st = check_frames(file, err);
    if (st == RN_OK) st = raw_picture_begin(out, (uint64_t)features.width, (uint64_t)features.height, 4, err);
    if (st != RN_OK) return st;
    WebPAnimDecoder *const film = WebPAnimDecoderNew(&data, NULL);
    if (!film) return fail(err, RN_E_FORMAT, "it is malformed, ends early, or its decoder found no memory");
    WebPAnimInfo info = {0};
    if (!WebPAnimDecoderGetInfo(film, &info) || info.canvas_width != out->width || info.canvas_height != out->height)
        st = fail(err, RN_E_FORMAT, "its headers contradict each other");
    else
        st = read_first_frame(film, out, err);
    WebPAnimDecoderDelete(film);
    return st;
}
