// video/video_reader.c - see video_reader.h.
#include "video/video_reader.h"
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/display.h>
#include <libswscale/swscale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Names of FFmpeg's demuxers and decoders. None of these demuxers is a list of other files; those of images are left out, as the library has its own readers.
static const char formats[] = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,gif,mpegts,mpeg,flv,ogg,asf,ivf";
static const char decoders[] =
    "h264,hevc,vp8,vp9,libvpx,libvpx-vp9,libdav1d,libaom-av1,av1,mpeg4,mpeg2video,mpeg1video,h263,"
    "flv,theora,libtheora,mjpeg,gif,wmv1,wmv2,wmv3,vc1,msmpeg4,msmpeg4v2,prores,ffv1,rawvideo";
enum { BUFFER = 32 << 10, PROBE = 5 << 20 };

struct video_decoder {
    AVFormatContext *format;
    AVIOContext *io;
    AVCodecContext *codec;
    AVPacket *packet;
    AVFrame *frame;
    struct SwsContext *scale;
    uint8_t *rgba, *upright; // a frame as it is stored; and as it is to be seen
    int stream;
};

static bool refuse(char *why, const char *what) {
    snprintf(why, VIDEO_WHY, "%s", what);
    return false;
}

// ---- the file -------------------------------------------------------------------------------------------------------

static int read_memory(void *user, uint8_t *to, int n) {
    video_reader *const r = user;
    const size_t n_left = r->n_file - r->at, n_now = (size_t)n < n_left ? (size_t)n : n_left;
    if (n_now == 0) return AVERROR_EOF;
    memcpy(to, r->file + r->at, n_now);
    r->at += n_now;
    return (int)n_now;
}

static int64_t seek_memory(void *user, int64_t offset, int whence) {
    video_reader *const r = user;
    if (whence & AVSEEK_SIZE) return (int64_t)r->n_file;
    const int64_t from = (whence & ~AVSEEK_FORCE) == SEEK_SET   ? 0
                         : (whence & ~AVSEEK_FORCE) == SEEK_CUR ? (int64_t)r->at
                                                                : (int64_t)r->n_file;
    if (offset < -from || offset > (int64_t)r->n_file - from) return AVERROR(EINVAL);
    r->at = (size_t)(from + offset);
    return (int64_t)r->at;
}

static int open_nothing(AVFormatContext *f, AVIOContext **io, const char *url, int flags, AVDictionary **options) {
    (void)f, (void)io, (void)url, (void)flags, (void)options;
    return AVERROR(EACCES);
}

static void close_decoder(video_reader *r) {
    struct video_decoder *const d = r->decoder;
    if (!d) return;
    sws_freeContext(d->scale);
    av_freep(&d->rgba);
    av_freep(&d->upright);
    av_frame_free(&d->frame);
    av_packet_free(&d->packet);
    avcodec_free_context(&d->codec);
    avformat_close_input(&d->format);
    if (d->io) av_freep(&d->io->buffer);
    avio_context_free(&d->io);
    free(d);
    r->decoder = NULL;
}

static bool open_format(video_reader *r, char *why) {
    struct video_decoder *const d = r->decoder;
    uint8_t *const buffer = av_malloc(BUFFER);
    if (buffer) d->io = avio_alloc_context(buffer, BUFFER, 0, r, read_memory, NULL, seek_memory);
    if (!d->io) av_free(buffer);
    d->format = avformat_alloc_context();
    if (!d->io || !d->format) return refuse(why, "out of memory");
    d->format->pb = d->io;
    d->format->flags |= AVFMT_FLAG_CUSTOM_IO;
    d->format->io_open = open_nothing;
    d->format->format_whitelist = av_strdup(formats);
    d->format->codec_whitelist = av_strdup(decoders);
    d->format->protocol_whitelist = av_strdup("none");
    d->format->probesize = PROBE;
    if (!d->format->format_whitelist || !d->format->codec_whitelist || !d->format->protocol_whitelist)
        return refuse(why, "out of memory");
    const int code = avformat_open_input(&d->format, NULL, NULL, NULL);
    if (code == AVERROR(ENOMEM)) return refuse(why, "out of memory");
    if (code < 0) return refuse(why, "not a video of a format that is read, or a broken one");
    if (avformat_find_stream_info(d->format, NULL) < 0) return refuse(why, "a broken file");
    d->stream = av_find_best_stream(d->format, AVMEDIA_TYPE_VIDEO, -1, -1, NULL, 0);
    return d->stream >= 0 ? true : refuse(why, "has no pictures that move");
}

static bool open_codec(video_reader *r, char *why) {
    struct video_decoder *const d = r->decoder;
    const AVCodecParameters *const p = d->format->streams[d->stream]->codecpar;
    const AVCodec *const codec = avcodec_find_decoder(p->codec_id);
    if (!codec) {
        snprintf(why, VIDEO_WHY, "frames of the kind '%s' are not read", avcodec_get_name(p->codec_id));
        return false;
    }
    d->codec = avcodec_alloc_context3(codec);
    d->packet = av_packet_alloc();
    d->frame = av_frame_alloc();
    if (!d->codec || !d->packet || !d->frame || avcodec_parameters_to_context(d->codec, p) < 0)
        return refuse(why, "out of memory");
    d->codec->codec_whitelist = av_strdup(decoders);
    d->codec->max_pixels = VIDEO_FRAME_PIXELS;
    d->codec->thread_count = 1;
    d->codec->pkt_timebase = d->format->streams[d->stream]->time_base;
    if (avcodec_open2(d->codec, codec, NULL) < 0) {
        snprintf(why, VIDEO_WHY, "frames of the kind '%s' are not read", avcodec_get_name(p->codec_id));
        return false;
    }
    return true;
}

static bool open_decoder(video_reader *r, char *why) {
    close_decoder(r);
    r->at = 0;
    r->decoder = calloc(1, sizeof *r->decoder);
    if (!r->decoder) return refuse(why, "out of memory");
    return open_format(r, why) && open_codec(r, why);
}

// ---- what it has ----------------------------------------------------------------------------------------------------

static bool check_size(const AVCodecParameters *p, char *why) {
    const int64_t w = p->width, h = p->height;
    if (w < 1 || h < 1) return refuse(why, "has no size");
    if (w <= VIDEO_SIDE && h <= VIDEO_SIDE && w * h <= VIDEO_FRAME_PIXELS && w <= VIDEO_RATIO * h &&
        h <= VIDEO_RATIO * w)
        return true;
    snprintf(why, VIDEO_WHY,
             "%lld x %lld pixels: a frame has at most %d, a side at most %d and %d times the other one", (long long)w,
             (long long)h, VIDEO_FRAME_PIXELS, VIDEO_SIDE, VIDEO_RATIO);
    return false;
}

static int quarters(const AVStream *s) {
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 30, 100)
    const AVPacketSideData *const side = av_packet_side_data_get(
        s->codecpar->coded_side_data, s->codecpar->nb_coded_side_data, AV_PKT_DATA_DISPLAYMATRIX);
    const int32_t *const matrix =
        side && side->size >= 9 * sizeof(int32_t) ? (const int32_t *)(const void *)side->data : NULL;
#else
    size_t n = 0;
    const uint8_t *const side = av_stream_get_side_data(s, AV_PKT_DATA_DISPLAYMATRIX, &n);
    const int32_t *const matrix = side && n >= 9 * sizeof(int32_t) ? (const int32_t *)(const void *)side : NULL;
#endif
    const double angle = matrix ? av_display_rotation_get(matrix) : 0; // counterclockwise
    return isnan(angle) ? 0 : ((int)lrint(-angle / 90) % 4 + 4) % 4;
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool add_time(video_reader *r, size_t *n_room, double second, char *why) {
    if (r->head.n_frames == VIDEO_FILE_FRAMES) {
        snprintf(why, VIDEO_WHY, "more than %d frames", VIDEO_FILE_FRAMES);
        return false;
    }
    if (r->head.n_frames == *n_room) {
        *n_room = *n_room ? 2 * *n_room : 256;
        double *const more = realloc(r->seconds, *n_room * sizeof *more);
        if (!more) return refuse(why, "out of memory");
        r->seconds = more;
    }
    r->seconds[r->head.n_frames++] = second;
    return true;
}

// The times of all frames, in the order in which they are shown.
static bool read_times(video_reader *r, char *why) {
    struct video_decoder *const d = r->decoder;
    const AVStream *const s = d->format->streams[d->stream];
    const double tick = av_q2d(s->time_base);
    size_t n_room = 0;
    bool ok = true;
    while (ok && av_read_frame(d->format, d->packet) >= 0) {
        const AVPacket *const p = d->packet;
        const int64_t at = p->pts != AV_NOPTS_VALUE ? p->pts : p->dts;
        if (p->stream_index == d->stream && !(p->flags & AV_PKT_FLAG_DISCARD))
            ok = add_time(r, &n_room, at == AV_NOPTS_VALUE ? NAN : (double)at * tick, why);
        av_packet_unref(d->packet);
    }
    if (!ok) return false;
    if (r->head.n_frames == 0) return refuse(why, "has no frames, or ends before the first one");
    return true;
}

/*
 * Frames in a second: what the file says, else by the times. Times are a file's ticks, which Matroska rounds to milliseconds: a frame that is where an even
 * rate has it, but for a tick, is where that rate has it.
 */
static bool settle_times(video_reader *r, char *why) {
    const AVStream *const s = r->decoder->format->streams[r->decoder->stream];
    const double tick = av_q2d(s->time_base), said = av_q2d(s->avg_frame_rate);
    const uint32_t n = r->head.n_frames;
    bool has_times = isfinite(tick) && tick > 0;
    for (uint32_t i = 0; i < n; i++) has_times = has_times && isfinite(r->seconds[i]);
    if (has_times) qsort(r->seconds, n, sizeof *r->seconds, by_value);
    const double first = has_times ? r->seconds[0] : 0, length = has_times ? r->seconds[n - 1] - first : 0;
    r->head.fps = s->avg_frame_rate.den && said > 0 ? said : length > 0 ? (n - 1) / length : 25;
    if (!(r->head.fps > 1e-4 && r->head.fps <= 1000)) {
        snprintf(why, VIDEO_WHY, "%g frames in a second: 0.0001..1000 are read", r->head.fps);
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        const double even = i / r->head.fps, own = has_times ? r->seconds[i] - first : even;
        r->seconds[i] = fabs(own - even) <= tick ? even : own;
        if (i && r->seconds[i] < r->seconds[i - 1]) r->seconds[i] = r->seconds[i - 1];
    }
    if (r->seconds[n - 1] <= VIDEO_FILE_SECONDS) return true;
    snprintf(why, VIDEO_WHY, "%.0f seconds, at most %d are read", r->seconds[n - 1], VIDEO_FILE_SECONDS);
    return false;
}

bool video_reader_open(video_reader *r, const uint8_t *file, size_t n, char *why) {
    av_log_set_level(AV_LOG_QUIET);
    r->file = file, r->n_file = n;
    if (!open_decoder(r, why)) return false;
    const AVStream *const s = r->decoder->format->streams[r->decoder->stream];
    if (!check_size(s->codecpar, why) || !read_times(r, why) || !settle_times(r, why)) return false;
    r->quarter = quarters(s);
    r->head.width = (uint32_t)(r->quarter % 2 ? s->codecpar->height : s->codecpar->width);
    r->head.height = (uint32_t)(r->quarter % 2 ? s->codecpar->width : s->codecpar->height);
    return true;
}

// ---- frames ---------------------------------------------------------------------------------------------------------

// The next one in d->frame. False: there is none.
static bool next_frame(struct video_decoder *d) {
    for (;;) {
        const int code = avcodec_receive_frame(d->codec, d->frame);
        if (code >= 0 && !(d->frame->flags & AV_FRAME_FLAG_DISCARD)) return true;
        if (code >= 0) continue;
        if (code != AVERROR(EAGAIN)) return false;
        int n;
        while ((n = av_read_frame(d->format, d->packet)) >= 0 && d->packet->stream_index != d->stream)
            av_packet_unref(d->packet);
        // One that cannot be decoded is left out, as a player does; at the end the decoder gives what it holds back.
        (void)avcodec_send_packet(d->codec, n >= 0 ? d->packet : NULL);
        if (n >= 0) av_packet_unref(d->packet);
    }
}

static void over_white(uint8_t *rgba, size_t n) {
    for (size_t i = 0; i < n; i++)
        for (int c = 0; c < 3; c++) {
            const unsigned alpha = rgba[4 * i + 3];
            rgba[4 * i + (size_t)c] = (uint8_t)((rgba[4 * i + (size_t)c] * alpha + 255 * (255 - alpha) + 127) / 255);
        }
}

// width x height of RGBA, turned to the right by so many quarters, as RGB.
static void turn(const uint8_t *rgba, uint32_t width, uint32_t height, int quarter, uint8_t *rgb) {
    const uint32_t to_width = quarter % 2 ? height : width;
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++) {
            const uint32_t to_x = quarter == 1 ? height - 1 - y : quarter == 2 ? width - 1 - x : quarter == 3 ? y : x;
            const uint32_t to_y = quarter == 1 ? x : quarter == 2 ? height - 1 - y : quarter == 3 ? width - 1 - x : y;
            memcpy(rgb + 3 * ((size_t)to_y * to_width + to_x), rgba + 4 * ((size_t)y * width + x), 3);
        }
}

static bool give(video_reader *r, uint32_t width, uint32_t height, video_take_fn take, void *user, char *why) {
    struct video_decoder *const d = r->decoder;
    const uint32_t w = r->quarter % 2 ? height : width, h = r->quarter % 2 ? width : height; // as it is stored
    const AVFrame *const f = d->frame;
    const size_t n = (size_t)width * height;
    if (f->width < 1 || f->height < 1) return refuse(why, "a frame has no size");
    if (!d->rgba) d->rgba = av_malloc(4 * n + 64);
    if (!d->upright) d->upright = av_malloc(3 * n);
    d->scale =
        sws_getCachedContext(d->scale, f->width, f->height, (enum AVPixelFormat)f->format, (int)w, (int)h,
                             AV_PIX_FMT_RGBA, SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT, NULL, NULL, NULL);
    if (!d->rgba || !d->upright || !d->scale)
        return refuse(why, "out of memory, or numbers of a kind that is not read");
    const int *const table = sws_getCoefficients(f->colorspace);
    (void)sws_setColorspaceDetails(d->scale, table, f->color_range == AVCOL_RANGE_JPEG, table, 1, 0, 1 << 16,
                                   1 << 16);
    uint8_t *const to[4] = {d->rgba};
    const int line[4] = {4 * (int)w};
    if (sws_scale(d->scale, (const uint8_t *const *)f->data, f->linesize, 0, f->height, to, line) < 0)
        return refuse(why, "a frame cannot be read");
    over_white(d->rgba, n);
    turn(d->rgba, w, h, r->quarter, d->upright);
    return take(user, d->upright, 3 * n);
}

bool video_reader_frames(video_reader *r, const uint32_t *at, size_t n, uint32_t width, uint32_t height,
                         video_take_fn take, void *user, char *why) {
    uint32_t i_frame = 0;
    if (!open_decoder(r, why)) return false;
    for (size_t i = 0; i < n; i_frame++) {
        if (!next_frame(r->decoder)) {
            snprintf(why, VIDEO_WHY, "frame %u of %u cannot be decoded: it ends early, or is broken", i_frame,
                     r->head.n_frames);
            return false;
        }
        for (; i < n && at[i] == i_frame; i++)
            if (!give(r, width, height, take, user, why)) return false;
        av_frame_unref(r->decoder->frame);
    }
    return true;
}

void video_reader_close(video_reader *r) {
    close_decoder(r);
    free(r->seconds);
    *r = (video_reader){0};
}
