// media/jpeg_read.c - JPEG by libjpeg-turbo.
#include "base/mem.h"
#include "media/picture.h"
#include "media/picture_reader.h"
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
// jpeglib.h stands behind stdio.h, whose types it has, and before jerror.h.
#include <jpeglib.h>

#include <jerror.h>

struct jpeg_job {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr source;
    struct jpeg_progress_mgr progress;
    cursor in;
    struct raw_picture *out;
    uint8_t *row; // of CMYK
    jmp_buf on_error;
    rn_error *err;
    rn_status status;
};

// ---- what libjpeg calls: client_data is the job -----------------------------------------------------------------------

static void give_up(j_common_ptr jpeg, rn_status code, const char *why) {
    struct jpeg_job *const job = jpeg->client_data;
    job->status = fail(job->err, code, "%s", why);
    longjmp(job->on_error, 1);
}

static void on_error(j_common_ptr jpeg) {
    char why[JMSG_LENGTH_MAX];
    jpeg->err->format_message(jpeg, why);
    if (jpeg->err->msg_code == JERR_OUT_OF_MEMORY) give_up(jpeg, RN_E_NOMEM, "out of memory");
    give_up(jpeg, RN_E_FORMAT, why);
}

static void ignore_message(j_common_ptr jpeg) { (void)jpeg; }
static void ignore_level(j_common_ptr jpeg, int level) { (void)jpeg, (void)level; }
static void ignore_source(j_decompress_ptr jpeg) { (void)jpeg; }

// All bytes are there from the start: whoever wants more is at the file's end.
static boolean no_more_bytes(j_decompress_ptr jpeg) {
    give_up((j_common_ptr)jpeg, RN_E_FORMAT, "it ends early");
    return FALSE;
}

static void skip_bytes(j_decompress_ptr jpeg, long n) {
    if (n <= 0) return;
    if ((size_t)n > jpeg->src->bytes_in_buffer) no_more_bytes(jpeg);
    jpeg->src->next_input_byte += n;
    jpeg->src->bytes_in_buffer -= (size_t)n;
}

static void count_scans(j_common_ptr jpeg) {
    if (((j_decompress_ptr)jpeg)->input_scan_number > PICTURE_MAX_SCANS)
        give_up(jpeg, RN_E_LIMIT, "too many scans: at most 50 are read");
}
_Static_assert(PICTURE_MAX_SCANS == 50, "as the message says");

// ---- the picture ------------------------------------------------------------------------------------------------------

static uint8_t find_orientation(const struct jpeg_decompress_struct *jpeg) {
    static const char xmp[] = "http://ns.adobe.com/xap/1.0/";
    uint8_t found = 0;
    for (jpeg_saved_marker_ptr m = jpeg->marker_list; m && !found; m = m->next)
        if (m->data_length >= 6 && memcmp(m->data, "Exif\0", 6) == 0)
            found = exif_orientation(m->data, m->data_length);
    for (jpeg_saved_marker_ptr m = jpeg->marker_list; m && !found; m = m->next)
        if (m->data_length > sizeof xmp && memcmp(m->data, xmp, sizeof xmp) == 0)
            found = xmp_orientation(m->data + sizeof xmp, m->data_length - sizeof xmp);
    return found;
}

// Ink, stored inverted as Adobe does it, to light; Pillow's arithmetic.
static void cmyk_to_rgb(const uint8_t *from, uint8_t *to, uint32_t width) {
    for (uint32_t x = 0; x < width; x++, from += 4, to += 3)
        for (int c = 0; c < 3; c++) {
            const uint32_t black = from[3], product = (255U - from[c]) * black + 128;
            to[c] = (uint8_t)(black - ((product + (product >> 8)) >> 8));
        }
}

static void read_picture(struct jpeg_job *job) {
    struct jpeg_decompress_struct *const jpeg = &job->jpeg;
    jpeg_save_markers(jpeg, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(jpeg, TRUE);
    const bool is_cmyk = jpeg->num_components == 4;
    if (jpeg->num_components == 2 || jpeg->num_components > 4)
        give_up((j_common_ptr)jpeg, RN_E_UNSUPPORTED, "has neither 1, 3 nor 4 components");
    jpeg->out_color_space = is_cmyk ? JCS_CMYK : JCS_RGB;
    job->status = raw_picture_begin(job->out, jpeg->image_width, jpeg->image_height, 3, job->err);
    if (job->status == RN_OK && is_cmyk && !(job->row = mem_alloc(4 * (size_t)jpeg->image_width)))
        job->status = fail(job->err, RN_E_NOMEM, "out of memory");
    if (job->status != RN_OK) return;
    job->out->orientation = find_orientation(jpeg); // the markers are gone at the end
    jpeg_start_decompress(jpeg);
    while (jpeg->output_scanline < jpeg->output_height) {
        uint8_t *const to = job->out->pixels + 3 * (size_t)jpeg->output_scanline * job->out->width;
        JSAMPROW row = is_cmyk ? job->row : to;
        jpeg_read_scanlines(jpeg, &row, 1);
        if (is_cmyk) cmyk_to_rgb(job->row, to, job->out->width);
    }
    jpeg_finish_decompress(jpeg);
}

rn_status jpeg_read(cursor file, struct raw_picture *out, rn_error *err) {
    struct jpeg_job job = {.in = file, .out = out, .err = err};
    job.jpeg.err = jpeg_std_error(&job.errors);
    job.errors.error_exit = on_error;
    job.errors.output_message = ignore_message;
    job.errors.emit_message = ignore_level;
    job.jpeg.client_data = &job;
    job.source = (struct jpeg_source_mgr){.next_input_byte = file.data,
                                          .bytes_in_buffer = file.size,
                                          .init_source = ignore_source,
                                          .fill_input_buffer = no_more_bytes,
                                          .skip_input_data = skip_bytes,
                                          .resync_to_restart = jpeg_resync_to_restart,
                                          .term_source = ignore_source};
    job.progress.progress_monitor = count_scans;
    if (setjmp(job.on_error) == 0) {
        jpeg_create_decompress(&job.jpeg);
        job.jpeg.src = &job.source;
        job.jpeg.progress = &job.progress;
        read_picture(&job);
    }
    jpeg_destroy_decompress(&job.jpeg);
    mem_free(job.row);
    return job.status;
}
