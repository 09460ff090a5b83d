// docs/examples/stream.c - a prompt's continuation, printed as it is made: stream MODEL.gguf PROMPT [MAX_TOKENS]
//
//     cc stream.c -o stream $(pkg-config --cflags --libs runnel)
#include <runnel/runnel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    if (argc < 3) return fputs("usage: stream MODEL.gguf PROMPT [MAX_TOKENS]\n", stderr), 2;
    rn_model *model = NULL;
    rn_engine *engine = NULL;
    rn_stream *stream = NULL;
    rn_error err = {0};

    // The file is checked whole; NULL options are the defaults.
    if (rn_model_open(argv[1], NULL, &model, &err) != RN_OK) goto out;
    if (rn_engine_open(&model, 1, NULL, &engine, &err) != RN_OK) goto out;

    rn_part prompt = {.kind = RN_PART_TEXT, .text = argv[2], .n_text = strlen(argv[2])};
    rn_request request;
    rn_request_init(&request);
    request.parts = &prompt;
    request.n_parts = 1;
    request.max_tokens = argc > 3 ? atoi(argv[3]) : -1; // -1: the rest of the context
    request.seed = 3;                                   // the same seed, the same text
    request.has_seed = true;
    if (rn_stream_begin(engine, &request, &stream, &err) != RN_OK) goto out;

    rn_chunk chunk;
    rn_chunk_init(&chunk);
    while (chunk.finish_reason == RN_FINISH_NONE) { // one chunk for each token; the last one says why it ended
        if (rn_stream_next(stream, -1, &chunk, &err) != RN_OK) goto out;
        fwrite(chunk.text, 1, chunk.n_text, stdout);
        fflush(stdout);
    }
    fprintf(stderr, "\n%s: %s\n", rn_finish_name(chunk.finish_reason), chunk.finish_detail);
out:
    if (err.code != RN_OK) fprintf(stderr, "stream: %s\n", err.text);
    rn_stream_close(stream); // each takes NULL; the model outlives its engine
    rn_engine_close(engine);
    rn_model_close(model);
    return err.code != RN_OK;
}
