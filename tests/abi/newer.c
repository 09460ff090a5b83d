// tests/abi/newer.c - a program of a newer release, whose structs are longer than the library's: each call says so and does nothing.
//
//     newer MODEL
#include <runnel/runnel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rn_error err;

// `what` takes a struct of `size` bytes.
static void refused(rn_status st, const char *what, size_t size, int line) {
    char want[128];
    snprintf(want, sizeof want, ": struct_size is %zu, this library (", size);
    if (st == RN_E_ARG && strstr(err.text, want) && strstr(err.text, "built against a newer one")) return;
    fprintf(stderr, "newer.c:%d: %s: %d, %s\n", line, what, (int)st, err.text);
    exit(1);
}
#define REFUSED(call, s) refused(call, #call, sizeof(s), __LINE__)
#define MUST(x)                                                                                                      \
    do                                                                                                               \
        if (!(x)) return fprintf(stderr, "newer.c:%d: %s: %s\n", __LINE__, #x, err.text), 1;                         \
    while (0)

int main(int argc, char **argv) {
    rn_model_options mo;
    rn_engine_options eo;
    rn_request r;
    rn_sampling sampling;
    rn_chat chat;
    rn_chunk c;
    rn_embed_options embed;
    rn_save_options save;
    rn_saved saved;
    rn_quantize_options quantize;
    rn_imatrix_options imatrix;
    rn_model_info mi = {sizeof mi};
    rn_engine_info ei = {sizeof ei};
    rn_memory memory = {sizeof memory};
    rn_engine_stats stats = {sizeof stats};
    rn_stream_state state = {sizeof state};
    rn_embed_shape shape = {sizeof shape};
    rn_limits limits = {sizeof limits};
    const int32_t ids[] = {1, 5};
    const rn_part part = {.kind = RN_PART_IDS, .ids = ids, .n_ids = 2};
    rn_model *model = NULL;
    rn_engine *engine = NULL;
    rn_session *session = NULL;
    rn_stream *stream = NULL;
    if (argc != 2) return 2;
    rn_model_options_init(&mo), rn_engine_options_init(&eo), rn_request_init(&r), rn_sampling_init(&sampling);
    rn_chat_init(&chat), rn_chunk_init(&c), rn_embed_options_init(&embed), rn_save_options_init(&save);
    rn_saved_init(&saved), rn_quantize_options_init(&quantize), rn_imatrix_options_init(&imatrix);
    REFUSED(rn_model_open(argv[1], &mo, &model, &err), mo);
    MUST(rn_model_open(argv[1], NULL, &model, &err) == RN_OK);
    REFUSED(rn_engine_open(&model, 1, &eo, &engine, &err), eo);
    MUST(rn_engine_open(&model, 1, NULL, &engine, &err) == RN_OK &&
         rn_session_open(engine, 0, &session, &err) == RN_OK);
    REFUSED(rn_stream_begin(engine, &r, &stream, &err), r);
    REFUSED(rn_sampling_preset(&sampling, "greedy", &err), sampling);
    REFUSED(rn_sampling_set(&sampling, "temp", 1, &err), sampling);
    REFUSED(rn_embed_begin(engine, 0, ids, 2, &embed, &stream, &err), embed);
    MUST(!stream);

    // What an older program would have sent gets further, as far as the next struct.
    r.struct_size = OLD_REQUEST, r.parts = &part, r.n_parts = 1, r.part_stride = OLD_PART, r.max_tokens = 1;
    r.sampling = &sampling;
    REFUSED(rn_stream_begin(engine, &r, &stream, &err), sampling);
    r.sampling = NULL, r.chat = &chat;
    REFUSED(rn_stream_begin(engine, &r, &stream, &err), chat);
    r.chat = NULL;
    MUST(rn_stream_begin(engine, &r, &stream, &err) == RN_OK);
    REFUSED(rn_stream_next(stream, -1, &c, &err), c);
    REFUSED(rn_stream_get_state(stream, &state, &err), state);
    REFUSED(rn_model_get_info(model, &mi, &err), mi);
    REFUSED(rn_engine_get_info(engine, 0, &ei, &err), ei);
    REFUSED(rn_engine_get_memory(engine, &memory, &err), memory);
    REFUSED(rn_engine_get_stats(engine, &stats, &err), stats);
    REFUSED(rn_embed_get_shape(engine, 0, NULL, 2, &shape, &err), shape);
    REFUSED(rn_measure_limits(engine, &limits, &err), limits);
    REFUSED(rn_session_save(session, "/nowhere/file", &save, &err), save);
    REFUSED(rn_session_peek("/nowhere/file", &saved, &err), saved);
    REFUSED(rn_quantize(argv[1], "/nowhere/file", &quantize, &err), quantize);
    REFUSED(rn_imatrix(engine, 0, ids, 2, "/nowhere/file", &imatrix, &err), imatrix);
    rn_stream_close(stream);
    rn_session_close(session);
    rn_engine_close(engine);
    rn_model_close(model);
    return 0;
}
