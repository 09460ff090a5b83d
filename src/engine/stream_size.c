// engine/stream_size.c - memory of queued and running streams besides keys and values, for the memory plan.
#include "engine/engine.h"
#include "output/output_parser.h"
#include "sampling/sampler.h"

enum { TOKENS_WAITING = 1024, TEXT_PER_TOKEN = 16 }; // rn_request's default buffer_tokens

static size_t outbox_bytes(void) {
    const size_t text = (size_t)2 * TOKENS_WAITING * TEXT_PER_TOKEN, // the ring's, and the reader's copy
        each = sizeof(struct outbox_token) + sizeof(struct outbox_chunk);
    return text + TOKENS_WAITING * each;
}

uint64_t stream_waiting_bytes(void) {
    return sizeof(rn_stream) + sizeof(struct choice) + sizeof(struct stream_seq) + outbox_bytes() +
           OUTPUT_PARSER_BYTES;
}

// With a full context, a sampler whose candidates are the whole vocabulary, and log-probabilities.
uint64_t stream_running_bytes(const rn_engine *e, const struct model_slot *l) {
    const struct program *p = model_program(l->program);
    const uint64_t n_vocab = p->width[p->logits],
                   n_ctx = (uint64_t)(e->opt.n_ctx ? e->opt.n_ctx : package_hparams(l->m->pkg)->n_ctx_train);
    return stream_waiting_bytes() + sizeof(int32_t) * (n_ctx + 1) +
           n_vocab * (SAMPLER_TOKEN_BYTES + 2 * sizeof *((rn_stream *)0)->scores.scratch);
}
