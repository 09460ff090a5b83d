// cli/embed_picture.c - see embed_picture.h.
#include "cli/embed_picture.h"
#include "app/files.h"
#include "app/machine.h"
#include "app/model_path.h"
#include "app/npy.h"
#include "app/pictures.h"
#include "app/say.h"
#include <runnel/runnel.h>
#include <stdlib.h>
#include <string.h>

enum stage { STAGE_DECODED, STAGE_PIXELS, STAGE_FEATURES, STAGE_PROJECTED };

const option embed_picture_rows[EMBED_PICTURE_ROWS] = {
    {0, "image", "FILE", OPTION_TEXT, offsetof(embed_picture, image),
     .help = "in place of texts, a picture: PNG, JPEG, WebP, GIF or BMP; - is stdin"},
    {0, "stage", "decoded|pixels|features|projected", OPTION_CHOICE, offsetof(embed_picture, stage),
     .help =
         "decoded: its pixels, bytes [height][width][3]: upright, RGB, transparent parts over white; needs no model. "
         "pixels: float32, as the model's preprocessor_config.json resizes, crops and normalizes them. "
         "features, projected: what its vision tower makes of these, and its projector of that, which is what the text "
         "model reads (default decoded)"},
    {0, "npy", "FILE", OPTION_TEXT, offsetof(embed_picture, npy), .help = "where they go, in NumPy's format"},
};

bool embed_picture_is_asked(const embed_picture *p) { return p->image || p->npy || p->stage; }

// Of the command's other options -m has an effect where a model is read, threads and CPU set where its tower runs.
static bool has_effect(const embed_picture *p, const option *o) {
    if (o == &machine_model_rows[0]) return p->stage != STAGE_DECODED;
    if (o == &machine_mmproj_rows[0]) return p->stage != STAGE_DECODED;
    return p->stage >= STAGE_FEATURES && o->name && (strcmp(o->name, "threads") == 0 || strcmp(o->name, "cpu") == 0);
}

static bool refuse_others(const embed_picture *p, const options *parsed) {
    for (size_t i = 0; i < parsed->n_given; i++) {
        const option *const o = parsed->given[i];
        bool is_ours = has_effect(p, o);
        for (size_t k = 0; k < EMBED_PICTURE_ROWS; k++) is_ours = is_ours || o == &embed_picture_rows[k];
        if (!is_ours)
            return options_refuse(parsed, o->name, p->stage ? "with --image" : "with --image and --stage decoded");
    }
    return false;
}

static int write_npy(const char *path, const char *descr, const uint64_t *shape, size_t n_dims, const void *data,
                     size_t n_bytes) {
    out_file to = {0};
    if (!out_file_open(&to, path)) return EXIT_CODE_FAILED;
    npy_write_head(&to, descr, shape, n_dims);
    out_file_write(&to, data, n_bytes);
    const bool is_there = out_file_commit(&to);
    out_file_drop(&to);
    return is_there ? EXIT_CODE_OK : EXIT_CODE_FAILED;
}

static int write_decoded(const embed_picture *p, const rn_picture *picture) {
    rn_picture_info info = {.struct_size = sizeof info};
    rn_error err = {0};
    if (rn_picture_get_info(picture, &info, &err) != RN_OK) return machine_failed(&err);
    const uint64_t shape[] = {info.height, info.width, 3};
    return write_npy(p->npy, "|u1", shape, 3, info.rgb, (size_t)3 * info.width * info.height);
}

static rn_status make_pixels(const char *model, const rn_picture *picture, rn_pixels *out, rn_error *err) {
    rn_picture_processor *processor = NULL;
    rn_status st = rn_picture_processor_open(model, &processor, err);
    if (st == RN_OK) st = rn_picture_process(processor, picture, out, err);
    rn_picture_processor_close(processor);
    return st;
}

static rn_status make_rows(const embed_picture *p, const machine *on, const char *model, const rn_picture *picture,
                           rn_pixels *out, rn_error *err) {
    const rn_vision_stage stage = p->stage == STAGE_FEATURES ? RN_VISION_FEATURES : RN_VISION_PROJECTED;
    rn_vision *vision = NULL;
    rn_status st = rn_vision_open(model, on->n_threads, on->cpu, &vision, err);
    if (st == RN_OK) st = rn_vision_encode(vision, picture, stage, out, err);
    rn_vision_close(vision);
    return st;
}

static int write_numbers(const embed_picture *p, const machine *on, const char *model, const rn_picture *picture) {
    rn_pixels pixels = {.struct_size = sizeof pixels};
    rn_error err = {0};
    uint64_t shape[NPY_MAX_DIMS];
    size_t n_bytes = sizeof(float);
    const rn_status st = p->stage == STAGE_PIXELS ? make_pixels(model, picture, &pixels, &err)
                                                  : make_rows(p, on, model, picture, &pixels, &err);
    if (st != RN_OK) return machine_failed(&err);
    for (size_t i = 0; i < pixels.n_dims; i++) shape[i] = pixels.shape[i], n_bytes *= pixels.shape[i];
    const int code = write_npy(p->npy, "<f4", shape, pixels.n_dims, pixels.values, n_bytes);
    rn_free(pixels.values);
    return code;
}

static int write_stage(const embed_picture *p, const machine *on, const rn_picture *picture) {
    if (p->stage == STAGE_DECODED) return write_decoded(p, picture);
    if (on->mmproj) return write_numbers(p, on, on->mmproj, picture);
    char *const model = model_path_find(on->model_name);
    const int code = model ? write_numbers(p, on, model, picture) : EXIT_CODE_FAILED;
    free(model);
    return code;
}

static bool is_usable(const embed_picture *p, const options *parsed) {
    if (!p->image || !p->npy)
        say("embed: --image FILE needs --npy OUT, and --stage and --npy need --image");
    else if (parsed->n_positional)
        say("embed: TEXT and --image exclude each other");
    else if (strcmp(p->image, "-") != 0 && file_is_same(p->image, p->npy))
        say("%s: --npy would overwrite the picture", p->npy);
    else
        return !refuse_others(p, parsed);
    return false;
}

int embed_picture_run(const embed_picture *p, const machine *on, const options *parsed) {
    rn_picture *picture = NULL;
    if (!is_usable(p, parsed)) return EXIT_CODE_USAGE;
    const int code = picture_file_open(p->image, &picture) ? write_stage(p, on, picture) : EXIT_CODE_FAILED;
    rn_picture_close(picture);
    return code;
}
