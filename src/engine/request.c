// engine/request.c - checks a whole request and creates its stream. After that, nothing in the request can fail.
#include "base/clock.h"
#include "base/mem.h"
#include "decoding/draft/drafts.h"
#include "engine/banned.h"
#include "engine/engine.h"
#include "engine/params.h"
#include "engine/picture_handle.h"
#include "engine/public_structs.h"
#include "engine/sampler_lists.h"
#include "engine/vision/picture_text.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

rn_status stream_rate_gap(double tokens_per_second, int64_t *gap_ns, rn_error *err) {
    if (!(tokens_per_second >= 0.0 && tokens_per_second <= 1e6))
        return fail(err, RN_E_ARG, "max_tokens_per_second: %g is outside 0..1e6", tokens_per_second);
    const double ns = tokens_per_second > 0.0 ? 1e9 / tokens_per_second : 0.0;
    *gap_ns = ns < 1e18 ? (int64_t)ns : INT64_C(1000000000000000000);
    return RN_OK;
}

static int32_t draft_most(const rn_request *r) { return r->draft_max ? r->draft_max : DRAFT_DEFAULT; }

static rn_status check_numbers(const rn_engine *e, const rn_request *r, rn_error *err) {
    rn_status st;
    if ((st = check_range("model", (int64_t)r->model, 0, (int64_t)e->n_models - 1, err)) != RN_OK) return st;
    if ((st = check_range("max_tokens", r->max_tokens, -1, INT32_MAX, err)) != RN_OK) return st;
    if ((st = check_range("stream_interval", r->stream_interval, 1, 1024, err)) != RN_OK) return st;
    if ((st = check_range("logprobs", r->logprobs, -1, LOGPROBS_MAX_TOP, err)) != RN_OK) return st;
    if ((st = check_range("sampled_logprobs", r->sampled_logprobs, -1, LOGPROBS_MAX_TOP, err)) != RN_OK) return st;
    if ((st = check_range("prompt_logprobs", r->prompt_logprobs, -1, LOGPROBS_MAX_TOP, err)) != RN_OK) return st;
    if ((st = check_range("buffer_tokens", r->buffer_tokens, 1, ENGINE_MAX_BUFFER, err)) != RN_OK) return st;
    if ((st = check_range("overflow", (int)r->overflow, RN_OVERFLOW_PARK, RN_OVERFLOW_CANCEL, err)) != RN_OK)
        return st;
    if (r->n_stop_tokens > ENGINE_MAX_STOP_IDS)
        return fail(err, RN_E_ARG, "stop_tokens: %zu, limit %d", r->n_stop_tokens, ENGINE_MAX_STOP_IDS);
    if ((st = check_range("priority", r->priority, RN_PRIORITY_LOW, RN_PRIORITY_HIGH, err)) != RN_OK) return st;
    if ((st = check_range("timeout_ms", r->timeout_ms, 0, INT32_MAX, err)) != RN_OK) return st;
    int64_t gap_ns;
    if ((st = stream_rate_gap(r->max_tokens_per_second, &gap_ns, err)) != RN_OK) return st;
    if (!(r->guidance_scale >= 0 && r->guidance_scale <= 100))
        return fail(err, RN_E_ARG, "guidance_scale: %g is outside 0..100", (double)r->guidance_scale);
    if (r->n_negative_prompt && !r->negative_prompt)
        return fail(err, RN_E_ARG, "negative_prompt: NULL with n_negative_prompt %zu", r->n_negative_prompt);
    if ((st = check_range("draft_max", r->draft_max, 0, DRAFT_MOST, err)) != RN_OK) return st;
    if ((st = check_range("draft_min", r->draft_min, 0, draft_most(r), err)) != RN_OK) return st;
    if ((st = check_range("spec_verify", (int)r->spec_verify, 0, N_VERIFY - 1, err)) != RN_OK) return st;
    if (!(r->draft_min_p >= 0 && r->draft_min_p <= 1))
        return fail(err, RN_E_ARG, "draft_min_p: %g is outside 0..1", (double)r->draft_min_p);
    if (r->n_negative_prompt && r->guidance_scale == 1)
        return fail(err, RN_E_ARG, "negative_prompt: has no effect with guidance_scale 1");
    if (r->n_prediction && !r->prediction)
        return fail(err, RN_E_ARG, "prediction: NULL with n_prediction %zu", r->n_prediction);
    if (r->n_parts && !r->parts) return fail(err, RN_E_ARG, "parts: NULL with n_parts %zu", r->n_parts);
    if (r->n_parts && r->chat) return fail(err, RN_E_ARG, "parts: exclude chat, which is the whole prompt");
    if (r->n_reply && (r->session || (r->chat && r->chat->continue_final)))
        return fail(err, RN_E_ARG, "reply: excludes %s",
                    r->session ? "a session, which holds the reply's tokens" : "continue_final");
    if (r->accept_revisions && r->chat)
        return fail(err, RN_E_ARG, "accept_revisions: excludes chat, whose output is parsed as it streams");
    if (r->echo && r->chat)
        return fail(err, RN_E_ARG, "echo: has no effect with chat: rn_request_text() shows the prompt");
    if (r->token_healing && r->chat && r->n_reply)
        return fail(err, RN_E_ARG, "token_healing: excludes reply in a chat, whose prefilled answer it would follow");
    return RN_OK;
}

static rn_status check_ids(const char *what, const int32_t *ids, size_t n, int32_t n_vocab, rn_error *err) {
    if (n && !ids) return fail(err, RN_E_ARG, "%s: NULL with %zu ids", what, n);
    for (size_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= n_vocab)
            return fail(err, RN_E_ARG, "%s[%zu]: token %d is outside 0..%d", what, i, ids[i], n_vocab - 1);
    return RN_OK;
}

static rn_status ids_append(struct id_list *v, const int32_t *ids, size_t n, rn_error *err) {
    if (id_list_append(v, ids, n)) return RN_OK;
    return fail(err, RN_E_NOMEM, "prompt: out of memory for %zu tokens", v->n + n);
}

static rn_status append_text(const struct model_slot *l, const rn_part *p, struct id_list *v, rn_error *err) {
    const rn_model *const m = l->m;
    const size_t n_ctx = (size_t)l->n_ctx, max_ids = v->n < n_ctx ? n_ctx - v->n : 0;
    int32_t *ids = NULL;
    size_t n = 0;
    rn_status st = model_need_tokenizer(m, err);
    if (st != RN_OK) return fail_in(err, st, "prompt: only token ids can be given");
    st = v->n ? tokenizer_encode_more(m->tok, p->text, p->n_text, p->parse_special, max_ids, &ids, &n, err)
              : tokenizer_encode_at_most(m->tok, p->text, p->n_text, false, p->parse_special, max_ids, &ids, &n, err);
    if (st == RN_E_LIMIT && n > max_ids)
        return fail(err, st, "prompt: at least %zu tokens leave no room in the context of %zu", v->n + n, n_ctx);
    if (st == RN_OK) st = ids_append(v, ids, n, err);
    mem_free(ids);
    return st;
}

// The last picture of the list: rows of the model's token for pictures, and the marks that the family has around them.
static rn_status append_pieces(const struct model_slot *l, struct id_list *v, struct prompt_pictures *pictures,
                               rn_error *err) {
    const int32_t token = model_picture_token(l->m);
    const size_t last = pictures->n - 1;
    struct picture_piece piece;
    rn_status st = RN_OK;
    for (size_t i = 0; st == RN_OK && prompt_pictures_piece(pictures, last, i, &piece); i++) {
        const rn_part mark = {
            .kind = RN_PART_TEXT, .text = piece.text, .n_text = strlen(piece.text), .parse_special = true};
        if (mark.n_text) st = append_text(l, &mark, v, err);
        if (st == RN_OK && piece.n_rows) st = prompt_pictures_place(pictures, last, (int32_t)v->n, piece.n_rows, err);
        for (int32_t row = 0; st == RN_OK && row < piece.n_rows; row++)
            st = ids_append(v, piece.token >= 0 ? &piece.token : &token, 1, err);
    }
    return st;
}

// A part's picture into the list, which has no place in the prompt yet.
static rn_status add_picture(const struct model_slot *l, const rn_part *p, bool is_alone, const struct id_list *v,
                             struct prompt_pictures *pictures, rn_error *err) {
    const size_t n_ctx = (size_t)l->n_ctx;
    if (!p->picture) return fail(err, RN_E_ARG, "a picture: NULL");
    if (!pictures) return fail(err, RN_E_ARG, "a picture: only a prompt has pictures");
    if (!l->vision)
        return fail(err, RN_E_UNSUPPORTED, "a picture: %s takes none here (rn_model_add_vision())",
                    package_path(l->m->pkg));
    const rn_status st = prompt_pictures_add(pictures, l->vision, &p->picture->p, is_alone, err);
    if (st != RN_OK) return st;
    const size_t n = prompt_pictures_n_of(pictures, pictures->n - 1);
    if (v->n > n_ctx || n > n_ctx - v->n)
        return fail(err, RN_E_LIMIT, "%zu tokens with a picture of %zu leave no room in the context of %zu", v->n + n,
                    n, n_ctx);
    return RN_OK;
}

static size_t count_pictures(const rn_request *r, const rn_part *parts, size_t n_parts) {
    size_t n = 0;
    for (size_t i = 0; i < n_parts; i++) n += request_part(r, parts, i).kind == RN_PART_PICTURE;
    return n;
}

// Texts and pictures alone, of a family that writes text around pictures.
static bool are_joined(const struct model_slot *l, const rn_request *r, const rn_part *parts, size_t n_parts) {
    if (!l->vision || !picture_text_is_used(vision_info(l->vision)) || count_pictures(r, parts, n_parts) == 0)
        return false;
    for (size_t i = 0; i < n_parts; i++)
        if (request_part(r, parts, i).kind == RN_PART_IDS) return false;
    return true;
}

static rn_status append_joined(const struct model_slot *l, const rn_request *r, const char *what,
                               const rn_part *parts, size_t n_parts, struct id_list *v,
                               struct prompt_pictures *pictures, rn_error *err) {
    const struct vocab *const vocab = package_vocab(l->m->pkg);
    const bool is_alone = count_pictures(r, parts, n_parts) == 1;
    const size_t n_ctx = (size_t)l->n_ctx, max_ids = v->n < n_ctx ? n_ctx - v->n : 0;
    struct picture_text t = {0};
    rn_status st = model_need_tokenizer(l->m, err);
    for (size_t i = 0; st == RN_OK && i < n_parts; i++) {
        const rn_part p = request_part(r, parts, i);
        if (p.kind == RN_PART_TEXT && p.n_text && !p.text)
            st = fail(err, RN_E_ARG, "%s[%zu].text: NULL with n_text %zu", what, i, p.n_text);
        else if (p.kind == RN_PART_TEXT)
            picture_text_add(&t, p.text, p.n_text, p.parse_special);
        else if ((st = add_picture(l, &p, is_alone, v, pictures, err)) != RN_OK)
            st = fail_in(err, st, "%s[%zu]", what, i);
        else
            picture_text_add_picture(&t, pictures, pictures->n - 1, vocab);
    }
    if (st == RN_OK) st = picture_text_tokens(&t, pictures, l->m->tok, max_ids, v, err);
    if (st == RN_E_LIMIT && v->n > n_ctx)
        st = fail(err, st, "prompt: at least %zu tokens leave no room in the context of %zu", v->n, n_ctx);
    picture_text_free(&t);
    return st;
}

static rn_status append_parts(const struct model_slot *l, const rn_request *r, const char *what, const rn_part *parts,
                              size_t n_parts, struct id_list *v, struct prompt_pictures *pictures, rn_error *err) {
    const bool is_alone = count_pictures(r, parts, n_parts) == 1;
    rn_status st = RN_OK;
    for (size_t i = 0; i < n_parts && st == RN_OK; i++) {
        const rn_part part = request_part(r, parts, i), *const p = &part;
        if (p->kind == RN_PART_TEXT && p->n_text && !p->text)
            st = fail(err, RN_E_ARG, "%s[%zu].text: NULL with n_text %zu", what, i, p->n_text);
        else if (p->kind == RN_PART_TEXT)
            st = append_text(l, p, v, err);
        else if (p->kind == RN_PART_PICTURE) {
            st = add_picture(l, p, is_alone, v, pictures, err);
            if (st == RN_OK) st = append_pieces(l, v, pictures, err);
            if (st != RN_OK) st = fail_in(err, st, "%s[%zu]", what, i);
        } else if ((st = check_ids("ids", p->ids, p->n_ids, l->lm->n_vocab, err)) == RN_OK)
            st = ids_append(v, p->ids, p->n_ids, err);
    }
    return st;
}

rn_status request_append_parts(const struct model_slot *l, const rn_request *r, const char *what,
                               const rn_part *parts, size_t n_parts, struct id_list *v,
                               struct prompt_pictures *pictures, rn_error *err) {
    const struct vocab *vocab = package_vocab(l->m->pkg);
    const bool wants_bos = r->add_special && v->n == 0 && vocab->add_bos && vocab->bos >= 0 && n_parts &&
                           request_part(r, parts, 0).kind != RN_PART_IDS;
    rn_status st = are_joined(l, r, parts, n_parts) && pictures
                       ? append_joined(l, r, what, parts, n_parts, v, pictures, err)
                       : append_parts(l, r, what, parts, n_parts, v, pictures, err);
    if (st == RN_OK && wants_bos && (v->n == 0 || v->ids[0] != vocab->bos)) {
        if ((st = ids_append(v, &vocab->bos, 1, err)) != RN_OK) return st;
        memmove(v->ids + 1, v->ids, (v->n - 1) * sizeof *v->ids);
        v->ids[0] = vocab->bos;
        if (pictures) prompt_pictures_move(pictures, 1);
    }
    return st;
}

static rn_status join_parts(rn_stream *s, const rn_request *r, struct id_list *v, rn_error *err) {
    rn_status st = RN_OK;
    if (r->session) st = ids_append(v, r->session->tokens, (size_t)r->session->n_tokens, err);
    s->prefix.n_matched = (int32_t)v->n;
    if (st == RN_OK) st = request_append_parts(s->model_slot, r, "parts", r->parts, r->n_parts, v, &s->pictures, err);
    if (st == RN_OK && r->session && s->pictures.n)
        return fail(err, RN_E_UNSUPPORTED, "session: keeps no pictures; give the whole prompt without one");
    return st;
}

static rn_status check_prompt(const struct model_slot *l, const struct id_list *v, rn_error *err) {
    const rn_status st =
        check_ids("prompt", v->ids, v->n, l->lm->n_vocab, err); // a vocabulary may be larger than the head
    if (st == RN_OK && v->n == 0)
        return fail(err, RN_E_ARG, "prompt: empty, and the model has no begin token to start from");
    return st;
}

static rn_status use_prompt(rn_stream *s, const rn_request *r, struct id_list *v, rn_error *err) {
    const rn_prompt *const p = r->prompt;
    if (p->model_slot != s->model_slot) return fail(err, RN_E_ARG, "prompt: belongs to another engine or model");
    if (r->session) return fail(err, RN_E_ARG, "prompt: excludes a session, to which it would be joined");
    if (!p->format != !r->chat) return fail(err, RN_E_ARG, "prompt: was not made of this request");
    rn_status st = ids_append(v, p->ids.ids, p->ids.n, err);
    if (st == RN_OK) st = prompt_pictures_share(&p->pictures, &s->pictures, err);
    return st == RN_OK && p->format ? stream_make_answer(s, r, p->format, &p->chat, &p->ids, err) : st;
}

static rn_status make_prompt(rn_stream *s, const rn_request *r, struct id_list *v, rn_error *err) {
    if (r->prompt) return use_prompt(s, r, v, err);
    rn_status st = check_ids("reply", r->reply, r->n_reply, s->model_slot->lm->n_vocab, err);
    if (st == RN_OK) st = r->chat ? stream_make_chat_prompt(s, r, v, err) : join_parts(s, r, v, err);
    if (st == RN_OK && !r->chat) st = ids_append(v, r->reply, r->n_reply, err);
    return st == RN_OK ? check_prompt(s->model_slot, v, err) : st;
}

static rn_status make_healed_prompt(rn_stream *s, const rn_request *r, struct id_list *v, rn_error *err) {
    s->text.heal_most = SIZE_MAX;
    const rn_status st = make_prompt(s, r, v, err);
    return st == RN_OK && r->token_healing ? stream_heal_prompt(s, r, v, err) : st;
}

// On this thread: the engine's steps go on meanwhile.
static rn_status encode_pictures(rn_stream *s, rn_error *err) {
    const int64_t before = clock_now_ns();
    if (s->pictures.n == 0) return RN_OK;
    const rn_status st = prompt_pictures_encode(&s->pictures, err);
    s->time.pictures_ns = clock_now_ns() - before;
    return st;
}

static rn_status set_limits(rn_stream *s, int32_t max_tokens, rn_error *err) {
    const int32_t n_ctx = s->model_slot->n_ctx;
    if (s->n_prompt > n_ctx || (s->n_prompt == n_ctx && max_tokens != 0))
        return fail(err, RN_E_LIMIT, "prompt: %d tokens leave no room in the context of %d", s->n_prompt, n_ctx);
    s->context_binds = max_tokens < 0 || max_tokens > n_ctx - s->n_prompt;
    s->n_limit = s->context_binds ? n_ctx : s->n_prompt + max_tokens;
    s->play.n_seq_limit = s->n_limit;
    return RN_OK;
}

// Several texts may part behind the prompt and share nothing more: they end where all of them together have all keys and values.
static void leave_room_for_texts(rn_stream *s, int32_t n_texts) {
    const int64_t n_pages = (int64_t)ceil_div((size_t)s->model_slot->n_kv, KV_PAGE) + s->engine->opt.n_seqs,
                  n_own = (n_pages - s->n_prompt / KV_PAGE) / n_texts, most = n_own * KV_PAGE - s->n_prompt % KV_PAGE;
    // More texts than there are sequences planned for are refused later.
    if (s->n_limit - s->n_prompt <= most || n_texts > s->engine->opt.n_seqs + 1) return;
    s->n_limit = s->n_prompt + (int32_t)most;
    s->play.n_seq_limit = s->n_limit;
    s->room_binds = "room beside the other texts";
}

static rn_status copy_stops(rn_stream *s, const rn_request *r, rn_error *err) {
    size_t n_bytes[STOP_MAX_STRINGS] = {0};
    rn_status st = check_ids("stop_tokens", r->stop_tokens, r->n_stop_tokens, s->model_slot->lm->n_vocab, err);
    if (st != RN_OK) return st;
    if (r->n_stop_tokens) memcpy(s->text.stop_ids, r->stop_tokens, r->n_stop_tokens * sizeof *s->text.stop_ids);
    s->text.n_stop_ids = r->n_stop_tokens;
    if (r->n_stop == 0) return RN_OK;
    if (!r->stop) return fail(err, RN_E_ARG, "stop: NULL with n_stop %zu", r->n_stop);
    if (r->n_stop > STOP_MAX_STRINGS)
        return fail(err, RN_E_ARG, "stop: %zu strings, limit %d", r->n_stop, STOP_MAX_STRINGS);
    if ((st = model_need_tokenizer(s->model_slot->m, err)) != RN_OK) return fail_in(err, st, "stop");
    for (size_t i = 0; i < r->n_stop; i++) {
        if (!r->stop[i]) return fail(err, RN_E_ARG, "stop[%zu]: NULL", i);
        n_bytes[i] = r->stop_bytes ? r->stop_bytes[i] : strlen(r->stop[i]);
        if (!r->raw_bytes && !utf8_valid(r->stop[i], n_bytes[i]))
            return fail(err, RN_E_ARG, "stop[%zu]: is not valid UTF-8, so it needs raw_bytes", i);
    }
    return stop_set_create(r->stop, n_bytes, r->n_stop, &s->text.stops, err);
}

static rn_status make_sampler(rn_stream *s, const rn_request *r, const struct strategy_kind *kind,
                              const struct strategy_options *options, rn_error *err) {
    struct sampling_params *const p = &s->play.sampling;
    const int32_t n_vocab = s->model_slot->lm->n_vocab;
    rn_status st = RN_OK;
    sampling_from_public(r->sampling, p);
    p->seed = r->has_seed ? r->seed : clock_entropy() >> 11; // 53 bits: survives JSON readers that count in doubles
    if ((int)r->sampling->order >= (int)SAMPLING_N_ORDERS || (int)r->sampling->order < 0)
        return fail(err, RN_E_ARG, "order: %d is unknown", (int)r->sampling->order);
    if (r->sampling->samplers) st = sampling_parse_sequence(r->sampling->samplers, &p->sequence, err);
    if (st != RN_OK) return st;
    struct sampler_lists lists;
    p->masked = s->play.gate_mask != NULL;
    if ((st = sampler_lists_make(&lists, s->model_slot->m, r, n_vocab, p, err)) == RN_OK && kind->set_sampling)
        st = kind->set_sampling(options, p, err);
    if (st == RN_OK)
        st = sampler_create(p, &s->engine->kernels->row, n_vocab, s->model_slot->n_ctx, &s->play.sampler, err);
    sampler_lists_free(&lists, p); // the sampler has its own copies
    if (st == RN_OK && r->n_reply && sampler_has_feedback(s->play.sampler))
        st = fail(err, RN_E_UNSUPPORTED, "reply: mirostat and adaptive-p cannot continue one");
    const size_t n_prompt = (size_t)s->n_prompt - r->n_reply; // a prefilled reply counts as generated
    if (st == RN_OK) sampler_see_prompt(s->play.sampler, s->tokens, n_prompt);
    for (size_t i = 0; i < r->n_reply && st == RN_OK; i++) sampler_accept(s->play.sampler, r->reply[i]);
    return st;
}

static rn_status no_memory(rn_error *err) { return fail(err, RN_E_NOMEM, "stream: out of memory"); }

static struct strategy_spec strategy_spec(const rn_stream *s, const void *params) {
    return (struct strategy_spec){.sampler = s->play.sampler,
                                  .rowmath = &s->engine->kernels->row,
                                  .n_vocab = s->model_slot->lm->n_vocab,
                                  .n_embd = s->model_slot->lm->n_embd,
                                  .n_prompt = s->n_prompt,
                                  .slots = s->model_slot->slots,
                                  .n_slots = (int32_t)s->engine->n_model_slots,
                                  .params = params};
}

static rn_status make_strategy(rn_stream *s, const rn_request *r, const struct strategy_kind *kind,
                               const struct strategy_options *options, const void *params, rn_error *err) {
    struct strategy_spec spec = strategy_spec(s, params);
    struct drafter_choice drafters[ENGINE_MAX_DRAFTERS];
    spec.options = options;
    stream_walk_describe(s);
    spec.walk = &s->play.walk_ops;
    spec.n_given = (int32_t)r->n_reply;
    spec.guidance = s->play.negative ? &s->play.guidance : NULL;
    spec.tells_drawn_from = r->sampled_logprobs >= 0;
    spec.tells_each_row = r->logprobs >= 0 || r->sampled_logprobs >= 0 || r->want_logits;
    spec.gate = s->play.gate_mask ? &s->play.gate : NULL;
    spec.text = s->tokens, spec.n_text_most = s->n_limit + 1, spec.n_before = s->n_predicted;
    spec.figures = &s->play.drafts;
    spec.drafters = drafters;
    spec.draft_most = draft_most(r), spec.draft_least = r->draft_min, spec.draft_min_p = r->draft_min_p;
    spec.verify = (enum draft_verify)r->spec_verify;
    spec.draws = (struct draft_draws){.is_on = spec.verify == VERIFY_REJECT && s->play.sampling.temp > 0,
                                      .temp = s->play.sampling.temp,
                                      .seed = s->play.sampling.seed,
                                      .choice = s->play.sampling.choice,
                                      .n_given = (uint32_t)r->n_reply};
    const struct sampling_params *const p = &s->play.sampling;
    if (spec.verify != VERIFY_MATCH && (p->mirostat || p->adaptive_target >= 0 || p->watermark.n_keys))
        return fail(err, RN_E_UNSUPPORTED, "spec_verify: %s: not with %s, which only match keeps",
                    spec.verify == VERIFY_REJECT ? "reject" : "typical",
                    p->mirostat               ? "mirostat"
                    : p->adaptive_target >= 0 ? "adaptive-p"
                                              : "a watermark");
    spec.draws_on_step_thread = s->play.sampling.stage != NULL;
    rn_status st = RN_OK;
    if (r->strategy_options && r->strategy_options->value_fn)
        st = value_call_create(s, r->strategy_options->value_fn, r->strategy_options->value_user, err);
    spec.judge = value_call_judge(s);
    if (st == RN_OK && spec.judge && kind->helper != STRATEGY_VALUE)
        st = fail(err, RN_E_ARG, "value_fn: is an option of the strategy tree, not of %s", kind->name);
    if (st == RN_OK) st = request_find_helper(s->engine, s->model_slot, kind, options, &spec.helper_slot, err);
    s->play.helper_slot = spec.helper_slot;
    if (st == RN_OK) st = request_read_drafters(s->engine, s->model_slot, r, drafters, &spec.n_drafters, err);
    if (st == RN_OK) st = stream_check_prediction(r, drafters, spec.n_drafters, err);
    if (st == RN_OK) stream_show_outputs(s, drafters, spec.n_drafters);
    spec.outputs = s->play.keeps_output ? &s->play.outputs : NULL;
    spec.ngrams = s->model_slot->m->ngrams;
    if (st == RN_OK) st = kind->create(&spec, &s->play.strategy, err);
    s->play.speculates = st == RN_OK && s->play.strategy->drafter;
    if (st == RN_OK && s->play.strategy->can_walk) st = stream_walk_create(s, options, err);
    if (st == RN_OK && r->accept_revisions && s->grammar.g && !s->play.walk)
        st = fail(err, RN_E_ARG, "accept_revisions: excludes a grammar");
    if (st == RN_OK && spec.gate && !s->play.strategy->can_rewind && !s->play.walk)
        st = fail(err, RN_E_UNSUPPORTED, "%s: the strategy \"%s\" cannot rule tokens out",
                  r->n_banned_strings ? "banned_strings"
                  : r->grammar        ? "grammar"
                                      : "token_healing",
                  kind->name);
    if (st != RN_OK || !s->scores.prompt) return st;
    spec.inner = s->play.strategy;
    strategy *outer;
    if ((st = strategy_create("prompt_scores", &spec, &outer, err)) == RN_OK) s->play.strategy = outer;
    return st;
}

// Sets s->text.echo to the prompt's text without the session's part: whole characters unless raw_bytes.
static rn_status make_echo(rn_stream *s, const rn_request *r, rn_error *err) {
    const size_t n_held = r->session ? (size_t)r->session->n_tokens : 0;
    utf8_assembler a = {.keep_invalid = r->raw_bytes};
    char *text = NULL;
    size_t n = 0;
    if (!r->echo) return RN_OK;
    rn_status st = model_need_tokenizer(s->model_slot->m, err);
    if (st != RN_OK) return fail_in(err, st, "echo");
    st = tokenizer_decode(s->model_slot->m->tok, s->tokens + n_held, (size_t)s->n_prompt - n_held, s->text.special,
                          &text, &n, err);
    if (st != RN_OK) return st;
    if (n > UINT32_MAX / 16)
        st = fail(err, RN_E_LIMIT, "echo: a prompt of %zu bytes, limit %u", n, UINT32_MAX / 16);
    else if (!(s->text.echo = mem_alloc(UTF8_ASSEMBLER_MAX_OUT(n + s->text.n_heal))))
        st = no_memory(err);
    else {
        s->text.n_echo = utf8_assembler_push(&a, text, n, s->text.echo);
        s->text.n_echo += utf8_assembler_push(&a, s->text.heal + s->text.n_heal_given,
                                              s->text.n_heal - s->text.n_heal_given, s->text.echo + s->text.n_echo);
        s->text.n_echo += utf8_assembler_finish(&a, s->text.echo + s->text.n_echo);
    }
    mem_free(text);
    return st;
}

static rn_status make_outbox(rn_stream *s, const rn_request *r, rn_error *err) {
    const size_t piece = s->model_slot->m->tok ? tokenizer_max_piece(s->model_slot->m->tok) : 1;
    if (piece > UINT32_MAX / 64) return fail(err, RN_E_LIMIT, "stream: tokens of %zu bytes", piece);
    rn_status st = make_echo(s, r, err);
    if (st != RN_OK) return st;
    struct outbox_sizes z = stream_outbox_sizes(s->model_slot, r, s->text.n_choices, s->text.n_echo);
    if (s->text.banned) banned_add_sizes(s->text.banned, &z);
    s->text.a = mem_alloc(z.token_text), s->text.b = mem_alloc(z.token_text);
    if (!s->text.a || !s->text.b) return no_memory(err);
    if ((st = outbox_init(&s->out, &z, err)) != RN_OK || s->text.n_echo == 0) return st;
    outbox_push_echo(&s->out, s->text.echo);
    if (r->prompt_logprobs < 0) outbox_close_chunk(&s->out); // else it comes with them
    return RN_OK;
}

// Shared by generations and scores.
static rn_stream *new_stream(rn_engine *e, size_t model) {
    rn_stream *s = mem_calloc(1, sizeof *s);
    if (!s) return NULL;
    s->engine = e;
    s->model_slot = &e->model_slots[model];
    s->scores.n_logprobs = s->scores.n_sampled = -1;
    s->turn.slot = -1;
    s->prefix.adapters = model_slot_adapters(e, s->model_slot);
    s->time.begin = clock_now_ns();
    return s;
}

// Copies the ids into the stream, with room for the tokens to generate.
static rn_status take_tokens(rn_stream *s, const struct id_list *v, const struct id_list *prediction,
                             int32_t max_tokens, rn_error *err) {
    if (v->n > INT32_MAX) return fail(err, RN_E_LIMIT, "prompt: %zu tokens", v->n);
    s->n_prompt = s->n_tokens = (int32_t)v->n;
    const rn_status st = set_limits(s, max_tokens, err);
    if (st != RN_OK) return st;
    s->predicted = mem_calloc(prediction->n + (size_t)s->n_limit + 1, sizeof *s->predicted);
    if (!s->predicted) return no_memory(err);
    if (prediction->n) memcpy(s->predicted, prediction->ids, prediction->n * sizeof *s->predicted);
    s->n_predicted = (int32_t)prediction->n;
    s->tokens = s->predicted + prediction->n;
    memcpy(s->tokens, v->ids, v->n * sizeof *v->ids);
    return RN_OK;
}

// Claims the session until the stream ends: no other stream reads or changes the session's tokens.
static rn_status claim_session(rn_stream *s, rn_session *session, rn_error *err) {
    rn_status st = RN_OK;
    if (!session) return RN_OK;
    mutex_lock(&s->engine->lock);
    if (session->stream)
        st = fail(err, RN_E_STATE, "session: has a running stream");
    else {
        session->stream = s;
        s->session = session;
    }
    mutex_unlock(&s->engine->lock);
    return st;
}

static rn_status check_request(const rn_engine *e, const rn_request *r, rn_error *err) {
    const rn_status st = check_numbers(e, r, err);
    if (st == RN_OK && r->session && (r->session->engine != e || r->session->model_slot != &e->model_slots[r->model]))
        return fail(err, RN_E_ARG, "session: belongs to another engine or model");
    return st == RN_OK ? model_slot_check_writes(&e->model_slots[r->model], err) : st;
}

// The stream is never submitted, and is destroyed with the parser of the answer.
rn_status rn_request_tokens(rn_engine *engine, const rn_request *req, int32_t **ids, size_t *n_ids, rn_error *err) {
    struct own_request own;
    struct id_list v = {0};
    rn_stream *s = NULL;
    if (ids) *ids = NULL;
    if (n_ids) *n_ids = 0;
    if (!engine || !req || !ids || !n_ids) return fail(err, RN_E_ARG, "rn_request_tokens: NULL argument");
    rn_status st = own_request_read(req, &own, err);
    if (st == RN_OK) st = check_request(engine, &own.r, err);
    if (st == RN_OK && !(s = new_stream(engine, own.r.model))) st = no_memory(err);
    if (st == RN_OK) st = claim_session(s, own.r.session, err);
    if (st == RN_OK) st = make_healed_prompt(s, &own.r, &v, err);
    stream_destroy(s);
    if (st != RN_OK) {
        mem_free(v.ids);
        return st;
    }
    *ids = v.ids;
    *n_ids = v.n;
    return RN_OK;
}

rn_status rn_prompt_open(rn_engine *engine, const rn_request *req, rn_prompt **prompt, rn_error *err) {
    struct own_request own;
    rn_stream *s = NULL;
    if (prompt) *prompt = NULL;
    if (!engine || !req || !prompt) return fail(err, RN_E_ARG, "rn_prompt_open: NULL argument");
    rn_status st = own_request_read(req, &own, err);
    if (st == RN_OK) st = check_request(engine, &own.r, err);
    if (st == RN_OK && own.r.session) st = fail(err, RN_E_ARG, "session: excludes rn_prompt_open()");
    rn_prompt *p = NULL;
    if (st == RN_OK && (!(p = mem_calloc(1, sizeof *p)) || !(s = new_stream(engine, own.r.model))))
        st = no_memory(err);
    if (st == RN_OK) {
        const rn_request *const r = &own.r;
        p->model_slot = s->model_slot;
        st = check_ids("reply", r->reply, r->n_reply, s->model_slot->lm->n_vocab, err);
        if (st == RN_OK && r->chat) {
            st = chat_prompt_open(s->model_slot, r, &p->chat, &p->format, err);
            p->ids = p->chat.ids;
            p->chat.ids = (struct id_list){0};
            s->pictures = p->chat.pictures;
            p->chat.pictures = (struct prompt_pictures){0};
        } else if (st == RN_OK) {
            st = join_parts(s, r, &p->ids, err);
            if (st == RN_OK) st = ids_append(&p->ids, r->reply, r->n_reply, err);
        }
        if (st == RN_OK) st = check_prompt(s->model_slot, &p->ids, err);
        if (st == RN_OK) st = encode_pictures(s, err);
        p->pictures = s->pictures;
        s->pictures = (struct prompt_pictures){0};
    }
    stream_destroy(s);
    if (st == RN_OK)
        *prompt = p;
    else
        rn_prompt_close(p);
    return st;
}

void rn_prompt_close(rn_prompt *p) {
    if (!p) return;
    chat_prompt_free(&p->chat);
    prompt_pictures_free(&p->pictures);
    mem_free(p->ids.ids);
    mem_free(p);
}

rn_status rn_request_text(rn_engine *engine, const rn_request *req, char **text, size_t *n_text, rn_error *err) {
    struct own_request own;
    struct chat_prompt p = {0};
    struct chat_prompt_plan plan;
    if (text) *text = NULL;
    if (n_text) *n_text = 0;
    if (!engine || !req || !text || !n_text) return fail(err, RN_E_ARG, "rn_request_text: NULL argument");
    rn_status st = own_request_read(req, &own, err);
    if (st == RN_OK) st = check_request(engine, &own.r, err);
    if (st != RN_OK) return st;
    const struct model_slot *const l = &engine->model_slots[own.r.model];
    if (!own.r.chat) return fail(err, RN_E_ARG, "chat: NULL: a prompt of parts has no other text than theirs");
    st = check_ids("reply", own.r.reply, own.r.n_reply, l->lm->n_vocab, err);
    if (st == RN_OK) st = chat_prompt_plan_make(l, &own.r, &plan, err);
    if (st != RN_OK) return st;
    plan.is_text = true;
    st = chat_prompt_make(&plan, &p, err);
    if (st == RN_OK && !(*text = mem_strndup(p.text.n ? p.text.s : "", p.text.n)))
        st = fail(err, RN_E_NOMEM, "prompt: out of memory for %zu bytes", p.text.n);
    if (st == RN_OK) *n_text = p.text.n;
    chat_prompt_free(&p);
    return st;
}

// Of the model that the strategy reads beside the stream's.
static rn_status check_helper_needs(const rn_stream *s, const char *name, rn_error *err) {
    const struct strategy_needs needs = {.n_scratch = s->play.strategy->needs.n_helper_scratch};
    if (needs.n_scratch == 0) return RN_OK;
    return model_slot_check_needs(s->engine, stream_slot(s, s->play.helper_slot), name, &needs, err);
}

rn_status stream_create(rn_engine *e, const rn_request *r, const struct strategy_kind *kind, const void *params,
                        rn_stream **out, rn_error *err) {
    struct id_list v = {0}, prediction = {0};
    rn_stream *s = NULL;
    *out = NULL;
    rn_status st = check_request(e, r, err);
    if (st != RN_OK) return st;
    if (!(s = new_stream(e, r->model))) return no_memory(err);
    if ((st = claim_session(s, r->session, err)) != RN_OK) {
        stream_destroy(s);
        return st;
    }
    s->text.ignore_eos = r->ignore_eos, s->text.special = r->special;
    s->scores.n_logprobs = r->logprobs, s->scores.n_sampled = r->sampled_logprobs, s->overflow = r->overflow;
    int64_t gap_ns = 0;
    (void)stream_rate_gap(r->max_tokens_per_second, &gap_ns, NULL); // checked above
    s->time.token_gap_ns = gap_ns;
    s->turn.priority = r->priority, s->turn.client = r->client, s->prefix.salt = r->cache_salt,
    s->prefix.whole_pages = r->cache_whole_pages, s->time.timeout_ms = r->timeout_ms;
    s->progress = r->progress, s->progress_user = r->progress_user;

    if (r->own_adapters)
        st = model_slot_read_adapters(s->model_slot, r->adapters, r->n_adapters, &s->prefix.adapters, err);
    if (st == RN_OK) st = make_healed_prompt(s, r, &v, err);
    if (st == RN_OK) st = stream_read_prediction(s, r, &v, &prediction, err);
    if (st == RN_OK) st = take_tokens(s, &v, &prediction, r->max_tokens, err);
    if (st == RN_OK) st = stream_guidance_create(s, r, err);
    if (st == RN_OK) st = copy_stops(s, r, err);
    if (st == RN_OK) st = stream_grammar_create(s, r, err);
    if (st == RN_OK) st = stream_gate_create(s, r, err);
    struct strategy_options options;
    strategy_options_from_public(r->strategy_options, &options);
    if (st == RN_OK) st = strategy_options_check(&options, kind->name, err);
    if (st == RN_OK && kind->n_texts) leave_room_for_texts(s, kind->n_texts(&options));
    if (st == RN_OK) st = strategy_check_excluded(kind, r, err);
    if (st == RN_OK) st = make_sampler(s, r, kind, &options, err);
    if (st == RN_OK && r->prompt_logprobs >= 0) st = prompt_scores_create(s, r->prompt_logprobs, err);
    if (st == RN_OK) st = make_strategy(s, r, kind, &options, params, err);
    if (st == RN_OK) st = model_slot_check_needs(e, s->model_slot, kind->name, &s->play.strategy->needs, err);
    if (st == RN_OK) st = stream_seqs_create(s, err);
    if (st == RN_OK) st = check_helper_needs(s, kind->name, err);
    if (st == RN_OK) st = stream_choices_create(s, r->raw_bytes, r->accept_revisions, err);
    if (st == RN_OK) st = stream_sequences_create(s, err);
    if (st == RN_OK) st = banned_create(s, r, err);
    if (st == RN_OK) st = make_outbox(s, r, err);
    if (st == RN_OK && r->token_times &&
        !(s->time.token_ms = mem_calloc((size_t)(s->n_limit - s->n_prompt) + 1, sizeof *s->time.token_ms)))
        st = no_memory(err);
    if (st == RN_OK && (r->logprobs >= 0 || r->prompt_logprobs >= 0 || r->sampled_logprobs >= 0) &&
        !(s->scores.scratch = mem_calloc(stream_scratch_numbers(s->model_slot), sizeof *s->scores.scratch)))
        st = no_memory(err);
    if (st == RN_OK) st = encode_pictures(s, err); // last, as it takes time
    mem_free(v.ids);
    mem_free(prediction.ids);
    if (st == RN_OK)
        *out = s;
    else
        stream_destroy(s);
    return st;
}

rn_status stream_create_reader(rn_engine *e, size_t model, const int32_t *ids, size_t n, const char *strategy_name,
                               const void *params, rn_stream **out, rn_error *err) {
    *out = NULL;
    rn_status st = check_range("model", (int64_t)model, 0, (int64_t)e->n_models - 1, err);
    if (st == RN_OK && strcmp(strategy_name, "embed") != 0) st = model_slot_check_writes(&e->model_slots[model], err);
    if (st == RN_OK) st = check_ids("ids", ids, n, e->model_slots[model].lm->n_tokens, err);
    if (st == RN_OK && n == 0) st = fail(err, RN_E_ARG, "ids: none given");
    if (st == RN_OK && n > (size_t)e->model_slots[model].n_ctx)
        st = fail(err, RN_E_LIMIT, "ids: %zu tokens do not fit the context of %d", n, e->model_slots[model].n_ctx);
    if (st != RN_OK) return st;
    rn_stream *s = new_stream(e, model);
    if (!s) return no_memory(err);
    st = take_tokens(s, &(struct id_list){(int32_t *)ids, n, n}, &(struct id_list){0}, 0, err); // only read
    const struct outbox_sizes z = {.buffer_tokens = 1, .chunk_tokens = 1, .end_text = UTF8_ASSEMBLER_MAX_OUT(0)};
    if (st == RN_OK && (!(s->text.a = mem_alloc(z.end_text)) || !(s->text.b = mem_alloc(z.end_text))))
        st = no_memory(err);
    if (st == RN_OK) st = outbox_init(&s->out, &z, err);
    const struct strategy_spec spec = strategy_spec(s, params);
    if (st == RN_OK) st = strategy_create(strategy_name, &spec, &s->play.strategy, err);
    if (st == RN_OK) st = stream_seqs_create(s, err);
    if (st == RN_OK) st = stream_choices_create(s, false, false, err);
    if (st == RN_OK)
        *out = s;
    else
        stream_destroy(s);
    return st;
}

rn_status stream_create_prompt_reader(rn_engine *e, const rn_request *req, const char *strategy_name,
                                      const void *params, rn_stream **out, rn_error *err) {
    struct own_request own;
    struct id_list v = {0};
    rn_stream *made = NULL; // what makes the prompt
    *out = NULL;
    rn_status st = own_request_read(req, &own, err);
    if (st == RN_OK) st = check_request(e, &own.r, err);
    if (st == RN_OK && (own.r.session || own.r.prompt || own.r.chat))
        st = fail(err, RN_E_ARG, "score: a prompt is made of parts, not of a session, a prompt or a chat");
    if (st == RN_OK && !(made = new_stream(e, own.r.model))) st = no_memory(err);
    if (st == RN_OK) st = make_prompt(made, &own.r, &v, err);
    if (st == RN_OK) st = stream_create_reader(e, own.r.model, v.ids, v.n, strategy_name, params, out, err);
    if (st == RN_OK) {
        (*out)->pictures = made->pictures;
        made->pictures = (struct prompt_pictures){0};
        st = encode_pictures(*out, err);
    }
    stream_destroy(made);
    mem_free(v.ids);
    if (st == RN_OK) return RN_OK;
    stream_destroy(*out);
    *out = NULL;
    return st;
}

void stream_destroy(rn_stream *s) {
    if (!s) return;
    if (s->session && s->state == STREAM_NEW) { // never submitted: the session is free again
        mutex_lock(&s->engine->lock);
        s->session->stream = NULL;
        mutex_unlock(&s->engine->lock);
    }
    strategy_destroy(s->play.strategy); // it never ran: stream_end() destroys those that did
    stream_seqs_destroy(s);
    stream_choices_destroy(s);
    sampler_destroy(s->play.sampler);
    stop_set_destroy(s->text.stops);
    banned_destroy(s->text.banned);
    stream_grammar_destroy(s);
    stream_walk_destroy(s);
    value_call_destroy(s);
    stream_sequences_destroy(s);
    mem_free(s->play.gate_mask);
    mem_free(s->play.negative);
    outbox_free(&s->out);
    mem_free(s->predicted);
    mem_free(s->text.echo);
    mem_free(s->text.heal);
    mem_free(s->text.a);
    mem_free(s->text.b);
    mem_free(s->scores.scratch);
    mem_free(s->time.token_ms);
    embedding_destroy(s->embed);
    prompt_scores_destroy(s->scores.prompt);
    answer_destroy(s->answer);
    prompt_pictures_free(&s->pictures);
    mem_free(s);
}
