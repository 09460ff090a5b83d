// tests/install/stream.cpp - docs/examples/stream.c as a C++ program writes it: stream MODEL.gguf PROMPT MAX_TOKENS
#include <cstdio>
#include <iostream>
#include <memory>
#include <runnel/runnel.h>
#include <stdexcept>
#include <string>

static rn_error err;

static void must(rn_status status) {
    if (status != RN_OK) throw std::runtime_error(err.text);
}

static void stream_to(std::ostream &out, const char *path, const std::string &prompt, int max_tokens) {
    rn_model *opened = nullptr;
    must(rn_model_open(path, nullptr, &opened, &err));
    std::unique_ptr<rn_model, decltype(&rn_model_close)> model(opened, rn_model_close);
    rn_engine *started = nullptr;
    must(rn_engine_open(&opened, 1, nullptr, &started, &err));
    std::unique_ptr<rn_engine, decltype(&rn_engine_close)> engine(started, rn_engine_close);

    rn_part part{};
    part.kind = RN_PART_TEXT;
    part.text = prompt.data();
    part.n_text = prompt.size();
    rn_request request;
    rn_request_init(&request);
    request.parts = &part;
    request.n_parts = 1;
    request.max_tokens = max_tokens;
    request.seed = 3;
    request.has_seed = true;
    rn_stream *begun = nullptr;
    must(rn_stream_begin(engine.get(), &request, &begun, &err));
    std::unique_ptr<rn_stream, decltype(&rn_stream_close)> stream(begun, rn_stream_close);

    rn_chunk chunk;
    rn_chunk_init(&chunk);
    while (chunk.finish_reason == RN_FINISH_NONE) {
        must(rn_stream_next(stream.get(), -1, &chunk, &err));
        out << std::string(chunk.text, chunk.n_text) << std::flush;
    }
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    try {
        stream_to(std::cout, argv[1], argv[2], std::stoi(argv[3]));
    } catch (const std::exception &e) {
        std::fprintf(stderr, "stream: %s\n", e.what());
        return 1;
    }
}
