// engine/stream_size.c - memory of queued and running streams besides keys and values, for the memory plan.
//
// Planned is a request with the default buffer and stream_interval. What a request asks for beyond that is not: a larger buffer or
// interval, logits, candidates of each token, what it was drawn from, a watermark, guesses, a negative prompt, lists of biases and of
// banned strings, echo, prompt_logprobs and token_times.
#include "base/mem.h"
#include "engine/engine.h"
#include "output/output_parser.h"
#include "sampling/sampler.h"

// Limits for tokens of a chunk and waiting tokens if each carries logits of the whole vocabulary.
enum { BUFFERED_LOGITS = 16 };
// The allocator's rounding, of some thirty blocks, and small things: the strategy, stop strings, an answer's text.
enum { OTHER_BYTES = 8 << 10 };

static uint32_t least_of(int32_t a, int32_t b) { return (uint32_t)(a < b ? a : b); }

struct outbox_sizes stream_outbox_sizes(const struct model_slot *l, const rn_request *r, int32_t n_choices,
                                        size_t n_echo) {
    const size_t piece = l->m->tok ? tokenizer_max_piece(l->m->tok) : 1;
    const int32_t most = r->want_logits ? BUFFERED_LOGITS : INT32_MAX;
    return (struct outbox_sizes){
        .buffer_tokens = least_of(r->buffer_tokens, most),
        .chunk_tokens = least_of(r->stream_interval, most),
        .token_text = UTF8_ASSEMBLER_MAX_OUT(piece) + STOP_MAX_BYTES,
        .end_text = (size_t)n_choices * (UTF8_ASSEMBLER_MAX_OUT(0) + STOP_MAX_BYTES),
        .n_choices = (uint32_t)n_choices,
        .n_echo = n_echo,
        .n_top = (r->logprobs > 0 ? r->logprobs : 0) + (r->sampled_logprobs > 0 ? r->sampled_logprobs : 0),
        .n_logits = r->want_logits ? model_slot_n_vocab(l) : 0,
        .has_sampled = r->sampled_logprobs >= 0,
        .has_data = r->logprobs >= 0 || r->sampled_logprobs >= 0 || r->want_logits,
    };
}

size_t stream_scratch_numbers(const struct model_slot *l) {
    return 2 * (size_t)model_slot_n_vocab(l) + 8 * LOGPROBS_MAX_TOP;
}

// Its sampler and lists of tokens are there as well, but they are not resident before it runs, beyond the prompt.
uint64_t stream_waiting_bytes(const struct model_slot *l) {
    rn_request r;
    rn_request_init(&r);
    const struct outbox_sizes z = stream_outbox_sizes(l, &r, 1, 0);
    return sizeof(rn_stream) + sizeof(struct choice) + sizeof(struct stream_seq) + outbox_bytes(&z) +
           2 * z.token_text + OUTPUT_PARSER_BYTES + OTHER_BYTES;
}

// With a full context, the largest sampler, log-probabilities, and the sequences that a strategy may have, of which those that
// rn_engine_options.n_seqs reserves may each have a fork of the sampler.
uint64_t stream_running_bytes(const rn_engine *e, const struct model_slot *l) {
    const int32_t n_ctx = e->opt.n_ctx ? e->opt.n_ctx : package_hparams(l->m->pkg)->n_ctx_train;
    const struct stream_room room = model_slot_room(e, l);
    const uint64_t seq = sizeof(struct stream_seq) + sizeof(int32_t) * ((uint64_t)n_ctx + 1) +
                         sizeof(struct seq_node) * (uint64_t)room.n_scratch,
                   n_samplers = 1 + (uint64_t)e->opt.n_seqs;
    return stream_waiting_bytes(l) + (uint64_t)room.n_seqs * seq +
           n_samplers * sampler_most_bytes(model_slot_n_vocab(l), n_ctx) +
           stream_scratch_numbers(l) * sizeof *((rn_stream *)0)->scores.scratch +
           request_default_drafter_bytes(e, n_ctx + 1);
}
