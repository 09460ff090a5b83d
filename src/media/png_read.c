// media/png_read.c - PNG by libpng.
#include "base/mem.h"
#include "media/picture.h"
#include "media/picture_reader.h"
#include <png.h>
#include <setjmp.h>
#include <string.h>

struct png_job {
    cursor in;
    png_structp png;
    png_infop info;
    struct raw_picture *out;
    jmp_buf on_error;
    rn_error *err;
    rn_status status;
    bool is_out_of_memory;
};

// libpng reports through functions that may not return; nothing with a destructor lies between them and setjmp().
static void on_error(png_structp png, png_const_charp why) {
    struct png_job *const job = png_get_error_ptr(png);
    if (job->status == RN_OK) job->status = fail(job->err, RN_E_FORMAT, "%s", why);
    longjmp(job->on_error, 1);
}

static void ignore_warning(png_structp png, png_const_charp why) { (void)png, (void)why; }

static png_voidp allocate(png_structp png, png_alloc_size_t n) {
    struct png_job *const job = png_get_mem_ptr(png);
    void *const p = mem_alloc(n);
    if (!p) job->is_out_of_memory = true;
    return p;
}

static void release(png_structp png, png_voidp p) {
    (void)png;
    mem_free(p);
}

static void read_bytes(png_structp png, png_bytep to, size_t n) {
    struct png_job *const job = png_get_io_ptr(png);
    const uint8_t *from = NULL;
    if (!cursor_bytes(&job->in, n, &from)) png_error(png, "it ends early");
    memcpy(to, from, n);
}

// Everything becomes 8 bits of RGB, with alpha where the file has transparency of any kind.
static void ask_for_rgb(const struct png_job *job) {
    png_set_expand(job->png); // palettes, fewer than 8 bits, tRNS
    png_set_strip_16(job->png);
    png_set_gray_to_rgb(job->png);
}

static uint8_t find_orientation(const struct png_job *job) {
    png_bytep exif = NULL;
    png_uint_32 n_exif = 0;
    png_textp texts = NULL;
    uint8_t found = 0;
    if (png_get_eXIf_1(job->png, job->info, &n_exif, &exif)) found = exif_orientation(exif, n_exif);
    const int n = found ? 0 : png_get_text(job->png, job->info, &texts, NULL);
    for (int i = 0; i < n && !found; i++)
        if (strcmp(texts[i].key, "XML:com.adobe.xmp") == 0)
            found = xmp_orientation((const uint8_t *)texts[i].text, strlen(texts[i].text));
    return found;
}

static void read_picture(struct png_job *job) {
    png_set_read_fn(job->png, job, read_bytes);
    png_set_user_limits(job->png, PNG_UINT_31_MAX,
                        PNG_UINT_31_MAX); // raw_picture_begin() has the limits, and names them
    png_read_info(job->png, job->info);
    ask_for_rgb(job);
    const int n_passes = png_set_interlace_handling(job->png);
    png_read_update_info(job->png, job->info);
    const int n_channels = png_get_channels(job->png, job->info);
    job->status = raw_picture_begin(job->out, png_get_image_width(job->png, job->info),
                                    png_get_image_height(job->png, job->info), n_channels, job->err);
    if (job->status != RN_OK) return;
    for (int pass = 0; pass < n_passes; pass++)
        for (uint32_t y = 0; y < job->out->height; y++)
            png_read_row(job->png, job->out->pixels + (size_t)y * job->out->width * (size_t)n_channels, NULL);
    png_read_end(job->png, job->info);
    job->out->orientation = find_orientation(job);
}

rn_status png_read(cursor file, struct raw_picture *out, rn_error *err) {
    struct png_job job = {.in = file, .out = out, .err = err};
    if (setjmp(job.on_error) == 0) {
        job.png =
            png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &job, on_error, ignore_warning, &job, allocate, release);
        job.info = job.png ? png_create_info_struct(job.png) : NULL;
        if (job.info)
            read_picture(&job);
        else
            job.is_out_of_memory = true;
    }
    png_destroy_read_struct(&job.png, &job.info, NULL);
    // libpng goes on without a chunk that it found no memory for.
    return job.is_out_of_memory ? fail(err, RN_E_NOMEM, "out of memory") : job.status;
}
