// engine/public_structs.c - see public_structs.h. A field appended to a public struct gets its default here unless that is 0. The
// last field of the first release, which is named here, never changes.
#include "engine/public_structs.h"

// ---- filled by callers ----------------------------------------------------------------------------------------------

// The defaults of a noun are the constant of the same name; the second form has none but 0.
#define FORM(noun, last, hint, ...)                                                                                  \
    const struct sized_struct public_##noun = {#noun, hint, SIZED_FIRST(rn_##noun, last), sizeof(rn_##noun),         \
                                               __VA_ARGS__}
#define FILLED_BY_CALLER(noun, last, ...)                                                                            \
    FORM(noun, last, "call rn_" #noun "_init()", __VA_ARGS__);                                                       \
    void rn_##noun##_init_sized(rn_##noun *s, size_t struct_size) { sized_init(&public_##noun, s, struct_size); }

FILLED_BY_CALLER(model_options, progress_user, &(const rn_model_options){.load = RN_LOAD_MAP})
FILLED_BY_CALLER(engine_options, progress_user,
                 &(const rn_engine_options){
                     .kv_type = RN_KV_F16, .n_streams = 1, .n_queue = 64, .picture_cache_bytes = 256 << 20})
FILLED_BY_CALLER(request, chat,
                 &(const rn_request){.add_special = true,
                                     .max_tokens = -1,
                                     .stream_interval = 1,
                                     .logprobs = -1,
                                     .prompt_logprobs = -1,
                                     .sampled_logprobs = -1,
                                     .guidance_scale = 1.0F,
                                     .overflow = RN_OVERFLOW_PARK,
                                     .buffer_tokens = 1024})
// The same as in sampling_fields; a test compares them.
FILLED_BY_CALLER(sampling, stage_user,
                 &(const rn_sampling){.temp = 0.8F,
                                      .top_k = 40,
                                      .top_p = 0.95F,
                                      .min_p = 0.05F,
                                      .min_keep = 1,
                                      .repeat_penalty = 1.0F,
                                      .penalty_last_n = 64,
                                      .penalty_prompt = true,
                                      .order = RN_ORDER_LLAMA_CPP,
                                      .dry_base = 1.75F,
                                      .dry_allowed_length = 2,
                                      .dry_penalty_last_n = -1,
                                      .xtc_threshold = 0.1F,
                                      .typical_p = 1.0F,
                                      .dynatemp_exponent = 1.0F,
                                      .mirostat_tau = 5.0F,
                                      .mirostat_eta = 0.1F,
                                      .tfs_z = 1.0F,
                                      .adaptive_target = -1.0F,
                                      .adaptive_decay = 0.9F,
                                      .encoder_repetition_penalty = 1.0F,
                                      .exponential_decay_factor = 1.0F})
// The same as in strategy_options_table; a test compares them.
FILLED_BY_CALLER(strategy_options, num_return_sequences,
                 &(const rn_strategy_options){.num_beams = 4,
                                              .num_beam_groups = 1,
                                              .length_penalty = 1.0F,
                                              .num_return_sequences = 1,
                                              .penalty_alpha = 0.6F,
                                              .num_candidates = 4,
                                              .amateur_weight = 1.0F,
                                              .amateur_temperature = 1.0F,
                                              .simulations = 32,
                                              .tree_width = 4,
                                              .c_puct = 1.25F,
                                              .relative_top = 0.1F,
                                              .best_of = 4})
FILLED_BY_CALLER(chat, truncate, &(const rn_chat){.add_generation_prompt = true})
FILLED_BY_CALLER(embed_options, cache_salt, NULL)
FILLED_BY_CALLER(save_options, with_kv, NULL)
FILLED_BY_CALLER(grammar_source, json_space, NULL)
FILLED_BY_CALLER(infill, max_ids, NULL)
FILLED_BY_CALLER(watermark, skip_first_ngram_calls,
                 &(const rn_watermark){.ngram_len = 5, .context_history_size = 1024, .sampling_table_size = 65536})

// ---- filled by the library ------------------------------------------------------------------------------------------

#define FILLED_BY_LIBRARY(noun, last) FORM(noun, last, "set it to sizeof(rn_" #noun ")", NULL)

FILLED_BY_LIBRARY(model_info, left_out);
FILLED_BY_LIBRARY(adapter_info, n_params);
FILLED_BY_LIBRARY(engine_info, no_repack);
FILLED_BY_LIBRARY(memory, huge_bytes);
FILLED_BY_LIBRARY(engine_stats, prefix_misses);
FILLED_BY_LIBRARY(stream_state, kv_pages);
FILLED_BY_LIBRARY(step_time, prefill_row_ms);
FILLED_BY_LIBRARY(embed_shape, n_row);
FILLED_BY_LIBRARY(limits, read_size_bytes);
FILLED_BY_LIBRARY(infill_prompt, order);
FILLED_BY_LIBRARY(watermark_score, p_value);
FILLED_BY_LIBRARY(picture_info, n_frames);
FILLED_BY_LIBRARY(pixels, shape);
FILLED_BY_CALLER(saved, reason, NULL)
FILLED_BY_CALLER(chunk, untruncated_tokens, &(const rn_chunk){.replace_from = -1})

// ---- requests and chunks --------------------------------------------------------------------------------------------

#define ELEMENTS(noun, type, last, field, of)                                                                        \
    const struct sized_array public_##noun = {of, field, "call rn_" of "_init()", SIZED_FIRST(type, last),           \
                                              sizeof(type)}

ELEMENTS(parts, rn_part, n_ids, "part_stride", "request");
ELEMENTS(tokens, rn_token, rank, "token_stride", "chunk");
ELEMENTS(deltas, rn_delta, broken, "delta_stride", "chunk");

rn_status own_request_read(const rn_request *theirs, struct own_request *own, rn_error *err) {
    rn_status st = sized_read(&public_request, theirs, &own->r, err);
    if (st == RN_OK && (own->r.n_parts || own->r.n_negative_prompt || own->r.n_prediction))
        st = sized_check_stride(&public_parts, own->r.part_stride, err);
    if (st == RN_OK) st = sized_read(&public_sampling, own->r.sampling, &own->sampling, err);
    if (st == RN_OK) st = sized_read(&public_strategy_options, own->r.strategy_options, &own->options, err);
    if (st == RN_OK && own->r.chat) st = sized_read(&public_chat, own->r.chat, &own->chat, err);
    if (st != RN_OK) return st;
    own->r.sampling = &own->sampling;
    own->r.strategy_options = &own->options;
    if (own->r.chat) own->r.chat = &own->chat;
    return RN_OK;
}

rn_part request_part(const rn_request *r, const rn_part *parts, size_t i) {
    rn_part p;
    sized_get_element(&public_parts, parts, r->part_stride, i, &p);
    return p;
}

rn_status chunk_check(const rn_chunk *theirs, rn_error *err) {
    rn_status st = sized_check(&public_chunk, theirs, err);
    if (st == RN_OK) st = sized_check_stride(&public_tokens, theirs->token_stride, err);
    return st == RN_OK ? sized_check_stride(&public_deltas, theirs->delta_stride, err) : st;
}

// The arrays belong to the stream, and only the reader of this chunk uses them from here on.
void chunk_write(rn_chunk *ours, rn_chunk *theirs) {
    ours->token_stride = theirs->token_stride;
    ours->delta_stride = theirs->delta_stride;
    if (ours->token_data) sized_pack(&public_tokens, (void *)ours->token_data, ours->n_tokens, ours->token_stride);
    if (ours->prompt_data)
        sized_pack(&public_tokens, (void *)ours->prompt_data, ours->n_prompt_data, ours->token_stride);
    if (ours->deltas) sized_pack(&public_deltas, (void *)ours->deltas, ours->n_deltas, ours->delta_stride);
    sized_write(&public_chunk, ours, theirs);
}
