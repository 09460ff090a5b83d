// tests/abi/client.c - a program of an older release: everything that crosses the boundary, with memory watched behind each struct.
//
//     client MODEL FILE      prints what the model says; FILE is written
#include <math.h>
#include <runnel/runnel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rn_error err;

static void must(bool ok, const char *what, int line) {
    if (ok) return;
    fprintf(stderr, "client.c:%d: %s: %s\n", line, what, err.text);
    exit(1);
}
#define MUST(x)  must(x, #x, __LINE__)
#define OK(call) must((call) == RN_OK, #call, __LINE__)

// A struct with a mark behind it, which the library must not touch.
static const char mark[64] = "what lies behind a struct of the program's is the program's own";
#define GUARDED(type, name)                                                                                          \
    struct {                                                                                                         \
        type s;                                                                                                      \
        char behind[64];                                                                                             \
    } name
#define BEGIN(name)                                                                                                  \
    (memset(&(name).s, 0, sizeof(name).s), memcpy((name).behind, mark, 64), (name).s.struct_size = sizeof(name).s)
#define INIT(name, init) (memcpy((name).behind, mark, 64), init(&(name).s))
#define WHOLE(name)      MUST(memcmp((name).behind, mark, 64) == 0 && (name).s.struct_size == sizeof(name).s)

static void see_model(rn_model *model, rn_engine *engine) {
    GUARDED(rn_model_info, m);
    GUARDED(rn_engine_info, e);
    GUARDED(rn_memory, memory);
    GUARDED(rn_engine_stats, all);
    GUARDED(rn_engine_stats, one);
    GUARDED(rn_embed_shape, shape);
    BEGIN(m), BEGIN(e), BEGIN(memory), BEGIN(all), BEGIN(one), BEGIN(shape);
    OK(rn_model_get_info(model, &m.s, &err));
    WHOLE(m);
    MUST(m.s.n_vocab > 0 && m.s.n_types > 0 && m.s.types[m.s.n_types - 1].n_tensors > 0);
    MUST(strcmp(m.s.architecture, "llama") == 0);
    OK(rn_engine_get_info(engine, 0, &e.s, &err));
    WHOLE(e);
    MUST(e.s.n_threads == 1 && e.s.plan[0]);
    OK(rn_engine_get_memory(engine, &memory.s, &err));
    WHOLE(memory);
    MUST(memory.s.part[RN_MEMORY_KV].planned > 0);
    OK(rn_engine_get_stats(engine, &all.s, &err));
    OK(rn_engine_get_model_stats(engine, 0, &one.s, &err));
    WHOLE(all);
    WHOLE(one);
    MUST(all.s.n_steps > 0 && one.s.n_ended[RN_FINISH_LENGTH] == all.s.n_ended[RN_FINISH_LENGTH]);
    OK(rn_embed_get_shape(engine, 0, NULL, 3, &shape.s, &err));
    WHOLE(shape);
    MUST(shape.s.n_rows == 1 && shape.s.n_row > 0);
}

static bool is_token(const rn_token *t, int32_t id) {
    return t->id == id && t->n_top == 3 && t->top[0].logprob >= t->top[2].logprob && t->rank >= 0;
}

// Two parts, token data of prompt and answer.
static void generate(rn_engine *engine, const char *prompt) {
    const rn_part parts[2] = {{.kind = RN_PART_TEXT, .text = prompt, .n_text = 4},
                              {.kind = RN_PART_TEXT, .text = prompt + 4, .n_text = strlen(prompt) - 4}};
    GUARDED(rn_request, r);
    GUARDED(rn_sampling, sampling);
    GUARDED(rn_chunk, c);
    GUARDED(rn_stream_state, state);
    rn_stream *stream = NULL;
    size_t n_prompt = 0, n_made = 0;
    INIT(r, rn_request_init), INIT(sampling, rn_sampling_init), INIT(c, rn_chunk_init), BEGIN(state);
    WHOLE(r);
    WHOLE(sampling);
    WHOLE(c);
    OK(rn_sampling_set(&sampling.s, "temp", 0, &err));
    WHOLE(sampling);
    r.s.parts = parts, r.s.n_parts = 2;
    r.s.sampling = &sampling.s;
    r.s.max_tokens = 12, r.s.stream_interval = 3;
    r.s.logprobs = r.s.prompt_logprobs = 3;
    r.s.token_times = true;
    OK(rn_stream_begin(engine, &r.s, &stream, &err));
    OK(rn_stream_get_state(stream, &state.s, &err));
    WHOLE(state);
    do {
        OK(rn_stream_next(stream, -1, &c.s, &err));
        WHOLE(c);
        MUST(c.s.token_stride == sizeof(rn_token) && c.s.delta_stride == sizeof(rn_delta));
        for (size_t i = 1; i < c.s.n_prompt_data; i++) MUST(is_token(&c.s.prompt_data[i], c.s.prompt_data[i].id));
        for (size_t i = 0; i < c.s.n_tokens; i++) MUST(is_token(&c.s.token_data[i], c.s.tokens[i]));
        n_prompt += c.s.n_prompt_data, n_made += c.s.n_tokens;
        fwrite(c.s.text, 1, c.s.n_text, stdout);
    } while (c.s.finish_reason == RN_FINISH_NONE);
    putchar('\n');
    const rn_usage usage = *c.s.usage;
    MUST(usage.prompt_tokens == (int64_t)n_prompt && usage.completion_tokens == (int64_t)n_made && n_made == 12);
    MUST(RN_HAS(c.s.usage, miss) && usage.miss[0]);
    MUST(c.s.timing->n_token_ms == 12 && c.s.timing->token_ms[11] >= c.s.timing->token_ms[0]);
    rn_stream_close(stream);
}

// A conversation's answer: its pieces together are the text.
static void talk(rn_engine *engine) {
    static const char source[] = "{{ messages[0].content }}",
                      messages[] = "[{\"role\": \"user\", \"content\": \"Once upon a time\"}]";
    GUARDED(rn_chat, chat);
    GUARDED(rn_request, r);
    GUARDED(rn_chunk, c);
    rn_template *t = NULL;
    rn_stream *stream = NULL;
    size_t n_text = 0, n_pieces = 0;
    INIT(chat, rn_chat_init), INIT(r, rn_request_init), INIT(c, rn_chunk_init);
    WHOLE(chat);
    OK(rn_template_compile(source, sizeof source - 1, NULL, &t, &err));
    chat.s.messages = messages, chat.s.n_messages = sizeof messages - 1, chat.s.tmpl = t;
    r.s.chat = &chat.s;
    r.s.max_tokens = 20, r.s.stream_interval = 20;
    OK(rn_stream_begin(engine, &r.s, &stream, &err));
    do {
        OK(rn_stream_next(stream, -1, &c.s, &err));
        for (size_t i = 0; i < c.s.n_deltas; i++) {
            MUST(c.s.deltas[i].channel == RN_CHANNEL_CONTENT && c.s.deltas[i].tool == -1);
            n_pieces += c.s.deltas[i].n_text;
        }
        n_text += c.s.n_text;
    } while (c.s.finish_reason == RN_FINISH_NONE);
    WHOLE(c);
    MUST(n_text > 0 && n_pieces == n_text);
    rn_stream_close(stream);
    rn_template_close(t);
}

static void save_and_load(rn_engine *engine, const char *path) {
    GUARDED(rn_save_options, o);
    GUARDED(rn_saved, seen);
    GUARDED(rn_saved, loaded);
    rn_session *s = NULL, *copy = NULL;
    INIT(o, rn_save_options_init), INIT(seen, rn_saved_init), INIT(loaded, rn_saved_init);
    o.s.note = "note", o.s.n_note = 4;
    OK(rn_session_open(engine, 0, &s, &err));
    OK(rn_session_save(s, path, &o.s, &err));
    OK(rn_session_peek(path, &seen.s, &err));
    OK(rn_session_load(engine, 0, path, &copy, &loaded.s, &err));
    WHOLE(o);
    WHOLE(seen);
    WHOLE(loaded);
    MUST(seen.s.n_note == 4 && strcmp(loaded.s.note, "note") == 0);
    rn_free(seen.s.note), rn_free(loaded.s.note);
    rn_session_close(s), rn_session_close(copy);
}

static void profile(rn_engine *engine) {
    rn_profile *p = NULL;
    uint64_t n = 0;
    OK(rn_profile_begin(engine, 0, 100, &err));
    generate(engine, "Once upon a time");
    OK(rn_profile_end(engine, 0, &p, &err));
    for (size_t i = 0; i < p->n_ops; i++) n += p->ops[i]->kind[0] && p->ops[i]->calls > 0;
    for (size_t i = 0; i < p->n_events; i++) MUST(p->events[i].op >= 0 && (size_t)p->events[i].op < p->n_ops);
    MUST(n > 0 && p->n_events == 100);
    rn_profile_free(p);
}

static bool see_input(void *user, const rn_input *in) {
    MUST(in->name[0] && in->k > 0 && isfinite(in->x[in->k - 1]));
    return ++*(int *)user == 10;
}

static void embed(rn_engine *engine) {
    const int32_t ids[] = {1, 5, 9};
    GUARDED(rn_embed_options, o);
    GUARDED(rn_embed_shape, shape);
    int n_inputs = 0;
    INIT(o, rn_embed_options_init), BEGIN(shape);
    o.s.pooling = RN_POOLING_MEAN;
    OK(rn_embed_get_shape(engine, 0, &o.s, 3, &shape.s, &err));
    float *out = calloc(shape.s.n_row, sizeof *out);
    OK(rn_embed(engine, 0, ids, 3, &o.s, out, shape.s.n_row, &err));
    WHOLE(o);
    WHOLE(shape);
    free(out);
    MUST(rn_observe(engine, 0, ids, 3, see_input, &n_inputs, &err) == RN_E_CANCELLED && n_inputs == 10);
}

static void see_tensor(void *user, const rn_tensor_report *r) {
    MUST(r->n_tensors > 0 && r->name[0] && r->type_after[0]);
    ++*(size_t *)user;
}

static void quantize(const char *in, const char *out) {
    GUARDED(rn_quantize_options, o);
    size_t n = 0;
    INIT(o, rn_quantize_options_init);
    o.s.type = "Q8_0", o.s.allow_requantize = true, o.s.n_threads = 1;
    o.s.report = see_tensor, o.s.report_user = &n;
    OK(rn_quantize(in, out, &o.s, &err));
    WHOLE(o);
    MUST(n > 0);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    GUARDED(rn_model_options, mo);
    GUARDED(rn_engine_options, eo);
    rn_model *model = NULL;
    rn_engine *engine = NULL;
    INIT(mo, rn_model_options_init), INIT(eo, rn_engine_options_init);
    WHOLE(mo);
    WHOLE(eo);
    eo.s.n_threads = 1, eo.s.n_ctx = 256;
    OK(rn_model_open(argv[1], &mo.s, &model, &err));
    OK(rn_engine_open(&model, 1, &eo.s, &engine, &err));
    profile(engine);
    see_model(model, engine);
    talk(engine);
    embed(engine);
    save_and_load(engine, argv[2]);
    rn_engine_close(engine);
    rn_model_close(model);
    quantize(argv[1], argv[2]);
    return 0;
}
