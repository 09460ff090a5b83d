// tests/engine/picture_chats_test.c - conversations with pictures: templates get them in the form that they write, and their places become the
// rows of the pictures, as in a prompt of parts.
#include "engine/chat/chat.h"
#include "formats/vision/vision_files.h"
#include "tests/engine/fixture.h"

enum { MOST_TOKENS = 512 };

struct seeing {
    struct fixture f;
    rn_picture *cat, *dog;
    bool is_there;
};

static rn_picture *open_picture(const char *folder, const char *name) {
    char path[128];
    size_t n;
    rn_error err = {0};
    rn_picture *p = NULL;
    snprintf(path, sizeof path, "goldens/%s/%s.png", folder, name);
    uint8_t *const bytes = read_file(shared_path(path), &n);
    if (bytes) CHECK_OK(rn_picture_open(bytes, n, &p, &err), &err);
    free(bytes);
    return p;
}

static bool open_model(struct seeing *x, const char *folder, int32_t n_ctx) {
    char path[128];
    rn_error err = {0};
    rn_engine_options o = engine_options();
    *x = (struct seeing){0};
    o.n_ctx = n_ctx;
    snprintf(path, sizeof path, "goldens/%s", folder);
    if (!shared_path(path)) {
        test_skip("no shared material: set RUNNEL_SHARED");
        return false;
    }
    x->is_there = CHECK_OK(rn_model_open(shared_path(path), NULL, &x->f.model, &err), &err) &&
                  CHECK_OK(rn_model_add_vision(x->f.model, NULL, &err), &err) &&
                  CHECK_OK(rn_engine_open(&x->f.model, 1, &o, &x->f.engine, &err), &err);
    x->cat = open_picture(folder, "wide");
    x->dog = open_picture(folder, "tall");
    return x->is_there && x->cat && x->dog;
}

static void close_model(struct seeing *x) {
    rn_picture_close(x->cat);
    rn_picture_close(x->dog);
    fixture_close(&x->f);
}

static size_t tokens_of(const struct seeing *x, const rn_request *r, int32_t *ids) {
    rn_error err = {0};
    int32_t *made = NULL;
    size_t n = 0;
    if (!CHECK_OK(rn_request_tokens(x->f.engine, r, &made, &n, &err), &err) || !CHECK(n <= MOST_TOKENS)) return 0;
    memcpy(ids, made, n * sizeof *ids);
    rn_free(made);
    return n;
}

// The prompt of a text with "#" where the pictures stand.
static size_t tokens_of_parts(const struct seeing *x, const char *text, int32_t *ids) {
    rn_part parts[16];
    size_t n = 0, i_picture = 0;
    rn_request r;
    rn_request_init(&r);
    for (;;) {
        const size_t n_text = strcspn(text, "#");
        if (n_text)
            parts[n++] = (rn_part){.kind = RN_PART_TEXT, .text = text, .n_text = n_text, .parse_special = true};
        if (!text[n_text]) break;
        parts[n++] = (rn_part){.kind = RN_PART_PICTURE, .picture = i_picture++ == 0 ? x->cat : x->dog};
        text += n_text + 1;
    }
    r.parts = parts, r.n_parts = n;
    return tokens_of(x, &r, ids);
}

static size_t count_pictures(const struct seeing *x, const int32_t *ids, size_t n_ids) {
    rn_model_info info = {.struct_size = sizeof info};
    size_t n = 0;
    CHECK_OK(rn_model_get_info(x->f.model, &info, NULL), NULL);
    for (size_t i = 0; i < n_ids; i++) n += ids[i] == info.picture_token;
    return n;
}

struct asked {
    rn_chat chat;
    rn_request req;
    const rn_picture *pictures[2];
    rn_template *tmpl;
};

static bool ask(struct asked *a, const struct seeing *x, const char *tmpl, const char *messages, size_t n_pictures) {
    rn_error err = {0};
    *a = (struct asked){.pictures = {x->cat, x->dog}};
    if (tmpl && !CHECK_OK(rn_template_compile(tmpl, strlen(tmpl), NULL, &a->tmpl, &err), &err)) return false;
    rn_request_init(&a->req);
    rn_chat_init(&a->chat);
    a->chat.messages = messages, a->chat.n_messages = strlen(messages);
    a->chat.tmpl = a->tmpl;
    a->chat.pictures = a->pictures, a->chat.n_pictures = n_pictures;
    a->req.chat = &a->chat;
    return true;
}

static const char *const models[] = {"llava", "siglip", "qwen2-vl", "smolvlm"};

static const char both[] =
    "[{\"role\":\"system\",\"content\":\"See.\"},{\"role\":\"user\",\"content\":[{\"type\":\"image\"},{\"type\":\"text\","
    "\"text\":\"or\"},{\"type\":\"image\"},{\"type\":\"text\",\"text\":\"a <image>?\"}]}]";
#define ROLE "{% for m in messages %}<|im_start|>{{ m['role'] }}\n"
#define END  "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"

TEST(the_places_of_pictures_have_the_tokens_of_a_prompt_of_parts) {
    static const struct {
        const char *tmpl, *text;
    } rows[] = {
        // a content that is a text
        {ROLE "{{ m.content }}" END,
         "<|im_start|>system\nSee.<|im_end|>\n<|im_start|>user\n#\nor\n#\na Picture?<|im_end|>\n<|im_start|>assistant\n"},
        // in parts alone, whose text without them would be lost: as transformers' templates of LLaVA and SmolVLM
        {ROLE
         "{% for c in m['content'] %}{% if c['type'] == 'image' %}<image>{% elif c['type'] == 'text' %}{{ c['text'] }}{% endif %}{% endfor %}" END,
         "<|im_start|>system\nSee.<|im_end|>\n<|im_start|>user\n#or#a Picture?<|im_end|>\n<|im_start|>assistant\n"},
        // pictures first, whatever the order, as LLaVA-1.5's
        {ROLE "{% for c in m.content | selectattr('type', 'equalto', 'image') %}{{ '<image>\n' }}{% endfor %}"
              "{% for c in m.content | selectattr('type', 'equalto', 'text') %}{{ c.text }}{% endfor %}" END,
         "<|im_start|>system\nSee.<|im_end|>\n<|im_start|>user\n#\n#\nora Picture?<|im_end|>\n<|im_start|>assistant\n"},
        // a text or parts of the type image_url, as Pixtral's
        {ROLE
         "{% if m.content is string %}{{ m.content }}{% else %}{% for c in m.content %}{% if c.type == 'image_url' %}<image>"
         "{% elif c.type == 'text' %}{{ c.text }}{% endif %}{% endfor %}{% endif %}" END,
         "<|im_start|>system\nSee.<|im_end|>\n<|im_start|>user\n#or#a Picture?<|im_end|>\n<|im_start|>assistant\n"},
    };
    static const char said[] = "Picture";
    for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
        struct seeing x;
        struct asked a;
        int32_t got[MOST_TOKENS], want[MOST_TOKENS];
        char messages[sizeof both];
        if (!open_model(&x, models[k], 512)) return;
        memcpy(messages, both, sizeof both);
        memcpy(strstr(messages, "<image>"), said, sizeof said - 1);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            if (ask(&a, &x, rows[i].tmpl, messages, 2)) {
                const size_t n = tokens_of(&x, &a.req, got), n_pictures = count_pictures(&x, got, n);
                check_note("%s, row %zu", models[k], i);
                CHECK_INT(n, tokens_of_parts(&x, rows[i].text, want));
                CHECK_MEM(got, want, n * sizeof *got);
                // A mark in a content takes no picture's place.
                a.chat.messages = both;
                CHECK(n_pictures > 0);
                CHECK_INT(count_pictures(&x, got, tokens_of(&x, &a.req, got)), n_pictures);
            }
            rn_template_close(a.tmpl);
        }
        close_model(&x);
    }
}

TEST(the_text_of_a_conversation_is_that_of_the_prompt_of_parts) {
    for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
        struct seeing x;
        struct asked a;
        struct outcome got, want;
        static const char one[] =
            "[{\"role\":\"user\",\"content\":[{\"type\":\"image\"},{\"type\":\"text\",\"text\":\"What?\"}]}]";
        if (!open_model(&x, models[k], 512)) return;
        if (ask(&a, &x, NULL, one, 1)) {
            rn_sampling greedy;
            rn_sampling_init(&greedy);
            greedy.temp = 0;
            a.req.sampling = &greedy, a.req.max_tokens = 24, a.req.ignore_eos = true;
            rn_request r = a.req;
            const rn_part parts[] = {
                {.text = "<|im_start|>user\n", .n_text = 17, .parse_special = true},
                {.kind = RN_PART_PICTURE, .picture = x.cat},
                {.text = "\nWhat?<|im_end|>\n<|im_start|>assistant\n", .n_text = 39, .parse_special = true}};
            r.chat = NULL, r.parts = parts, r.n_parts = 3;
            if (run_request(x.f.engine, &a.req, &got) && run_request(x.f.engine, &r, &want)) {
                CHECK_INT(got.n_tokens, 24);
                CHECK_MEM(got.tokens, want.tokens, 24 * sizeof *got.tokens);
                CHECK_INT(got.usage.picture_tokens, want.usage.picture_tokens);
                CHECK(got.usage.picture_tokens > 0);
            }
            // A prompt that several streams share.
            rn_error err = {0};
            rn_prompt *prompt = NULL;
            if (CHECK_OK(rn_prompt_open(x.f.engine, &a.req, &prompt, &err), &err)) {
                rn_request again = a.req;
                again.prompt = prompt;
                for (int i = 0; i < 2; i++)
                    if (run_request(x.f.engine, &again, &got))
                        CHECK_MEM(got.tokens, want.tokens, 24 * sizeof *got.tokens);
                rn_prompt_close(prompt);
            }
        }
        rn_template_close(a.tmpl);
        close_model(&x);
    }
}

TEST(turns_that_are_left_out_take_their_pictures_along) {
    struct seeing x;
    struct asked a;
    int32_t got[MOST_TOKENS], want[MOST_TOKENS];
    static const char two[] =
        "[{\"role\":\"user\",\"content\":[{\"type\":\"image\"},{\"type\":\"text\",\"text\":\"What is this, said at some length?\"}]},"
        "{\"role\":\"assistant\",\"content\":\"That.\"},{\"role\":\"user\",\"content\":[{\"type\":\"image\"},{\"type\":\"text\",\"text\":\"And?\"}]}]";
    static const char last[] =
        "[{\"role\":\"user\",\"content\":[{\"type\":\"image\"},{\"type\":\"text\",\"text\":\"And?\"}]}]";
    if (!open_model(&x, "llava", 80)) return;
    if (ask(&a, &x, NULL, two, 2)) {
        a.chat.truncate = RN_TRUNCATE_OLD;
        a.req.max_tokens = 8;
        const size_t n = tokens_of(&x, &a.req, got);
        struct outcome all, one;
        rn_sampling greedy;
        rn_sampling_init(&greedy);
        greedy.temp = 0;
        a.req.sampling = &greedy, a.req.ignore_eos = true;
        CHECK(run_request(x.f.engine, &a.req, &all));
        CHECK_INT(all.usage.picture_tokens, 16);
        a.chat.messages = last, a.chat.n_messages = strlen(last);
        a.pictures[0] = x.dog, a.chat.n_pictures = 1;
        CHECK_INT(n, tokens_of(&x, &a.req, want));
        CHECK_MEM(got, want, n * sizeof *got);
        if (run_request(x.f.engine, &a.req, &one)) CHECK_MEM(all.tokens, one.tokens, 8 * sizeof *one.tokens);
    }
    close_model(&x);
}

static void refused(const struct seeing *x, const struct asked *a, rn_status want, const char *why) {
    rn_stream *s = NULL;
    rn_error err = {0};
    CHECK_FAILS(rn_stream_begin(x->f.engine, &a->req, &s, &err), want, &err);
    CHECK_HAS(err.text, why);
    rn_stream_close(s);
}

TEST(pictures_that_a_conversation_has_no_place_for_are_refused) {
    struct seeing x;
    struct asked a;
    rn_session *session = NULL;
    rn_error err = {0};
    static const char one[] =
        "[{\"role\":\"user\",\"content\":[{\"type\":\"image\"},{\"type\":\"text\",\"text\":\"What?\"}]}]";
    if (!open_model(&x, "llava", 128)) return;
    if (ask(&a, &x, NULL, one, 2))
        refused(&x, &a, RN_E_ARG, "messages: 1 of their parts are pictures, and there are 2 pictures");
    a.chat.pictures = NULL, a.chat.n_pictures = 1;
    refused(&x, &a, RN_E_ARG, "pictures: NULL with n_pictures 1");
    a.chat.pictures = a.pictures;
    rn_picture *video = NULL;
    if (CHECK_OK(rn_picture_from_frames(a.pictures, 1, (const double[]){0}, 1, &video, &err), &err)) {
        a.pictures[0] = video;
        refused(&x, &a, RN_E_ARG, "messages: picture 0 is a video, and its part of the type image");
        rn_picture_close(video);
    }
    a.pictures[0] = NULL;
    refused(&x, &a, RN_E_ARG, "pictures[0]: NULL");
    if (ask(&a, &x, "{% for m in messages %}{{ m.role }}{% endfor %}", one, 1))
        refused(&x, &a, RN_E_UNSUPPORTED, "messages: the chat template leaves pictures out");
    rn_template_close(a.tmpl);
    if (ask(&a, &x,
            "{{ raise_exception('no lists') if messages[0].content is not string else raise_exception('no texts') }}",
            one, 1))
        refused(&x, &a, RN_E_ARG, "no lists");
    rn_template_close(a.tmpl);
    if (ask(&a, &x, NULL, one, 1) && CHECK_OK(rn_session_open(x.f.engine, 0, &session, &err), &err)) {
        a.req.session = session;
        refused(&x, &a, RN_E_UNSUPPORTED, "session: keeps no pictures");
        rn_session_close(session);
    }
    close_model(&x);
    struct fixture f;
    rn_engine_options o = engine_options();
    o.n_ctx = 64;
    if (!fixture_open(&f, &o)) return;
    struct seeing blind = {.f = f, .cat = open_picture("llava", "wide")};
    if (ask(&a, &blind, "{{ messages[0].content }}", one, 1))
        refused(&blind, &a, RN_E_UNSUPPORTED, "stories.gguf takes none here");
    rn_template_close(a.tmpl);
    close_model(&blind);
}

// Of the vocabulary's tokens those that there are: a family's marks around a picture.
TEST(marks_are_those_of_the_family_that_the_vocabulary_has) {
    static const struct vocab_token tokens[] = {
        {.text = {"a", 1}},
        {.text = {"<|vision_start|>", 16}, .kind = TOKEN_CONTROL},
        {.text = {"<|vision_end|>", 14}, .kind = TOKEN_CONTROL},
        {.text = {"<|image_pad|>", 13}, .kind = TOKEN_CONTROL},
        {.text = {"<fake_token_around_image>", 25}, .kind = TOKEN_USER_DEFINED},
        {.text = {"<global-img>", 12}, .kind = TOKEN_CONTROL},
    };
    struct vocab v = {.tokens = tokens, .n_tokens = 6};
    struct vision_info info = {.family = "Qwen2-VL", .image_token = 3};
    struct picture_marks m;
    picture_marks_make(&info, &v, &m);
    CHECK_STR(m.before_in_text, "<|vision_start|>");
    CHECK_STR(m.after_in_text, "<|vision_end|>");
    CHECK_INT(m.n_before + m.n_after, 0);
    CHECK(m.token == 3 && m.row_token == 3 && m.spelling.n == 13);
    info.family = "Qwen2.5-VL";
    picture_marks_make(&info, &v, &m);
    CHECK_STR(m.before_in_text, "<|vision_start|>");
    info = (struct vision_info){.family = "SmolVLM", .image_token = -1};
    picture_marks_make(&info, &v, &m);
    CHECK_STR(m.before_in_text, "");
    CHECK(m.n_before == 2 && m.before[0] == 4 && m.before[1] == 5 && m.n_after == 1 && m.after[0] == 4);
    CHECK(m.token == -1 && m.row_token == 0 && m.spelling.n == 0);
    v.n_tokens = 5;
    picture_marks_make(&info, &v, &m);
    CHECK(m.n_before == 1 && m.before[0] == 4);
}

struct body {
    struct seeing *x;
    struct asked *a;
};
static rn_status begin(void *user) {
    struct body *const b = user;
    rn_stream *s;
    const rn_status st = rn_stream_begin(b->x->f.engine, &b->a->req, &s, NULL);
    if (st == RN_OK) rn_stream_close(s);
    return st;
}

TEST(every_allocation_of_a_conversation_with_pictures_may_fail) {
    struct seeing x;
    struct asked a;
    struct outcome first;
    if (!open_model(&x, "llava", 256)) return;
    if (ask(&a, &x, NULL, both, 2)) {
        a.req.max_tokens = 2;
        if (run_request(x.f.engine, &a.req, &first)) {
            struct body b = {&x, &a};
            CHECK(check_each_failed_allocation(begin, &b, __FILE__, __LINE__));
        }
    }
    close_model(&x);
}
