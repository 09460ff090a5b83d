// fuzz/fuzz_sent_pictures.c - any bytes as a data: URL and as base64, and as the JSON of messages with pictures.
#include "app/base64_read.h"
#include "app/base64_write.h"
#include "app/sent_pictures.h"
#include "base/mem.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool holds) {
    if (!holds) abort();
}

// What is read is what was written, and a failure leaves what was there.
static void read_texts(const char *text, size_t n) {
    char why[JSON_WHY] = "";
    bytes got = {0}, again = {0}, back = {0};
    bytes_add_text(&got, "before");
    if (base64_read(text, n, &got, why)) {
        must(got.n >= 6 && (got.n - 6) <= n / 4 * 3 + 2 && memcmp(got.data, "before", 6) == 0);
        base64_add(&again, (const uint8_t *)got.data + 6, got.n - 6);
        must(base64_read(again.n ? again.data : "", again.n, &back, why));
        must(back.n == got.n - 6 && (back.n == 0 || memcmp(back.data, got.data + 6, back.n) == 0));
    } else
        must(got.n == 6 && why[0] != 0 && memcmp(got.data, "before", 6) == 0);
    bytes_free(&got);
    why[0] = 0;
    const bool ok = data_url_read(n % 2 ? "video" : "image", text, n, &got, why);
    must(ok || (why[0] != 0 && got.n == 0));
    must(!ok || is_data_url(text, n));
    bytes_free(&got);
    bytes_free(&again);
    bytes_free(&back);
}

struct messages {
    sent_pictures pictures;
    bytes json;
};

static bool each_message(void *target, size_t i, const char *key, const json_item *value, char *why) {
    struct messages *const m = target;
    (void)i, (void)key;
    return sent_pictures_add_message(&m->pictures, value, "messages[0]", &m->json, why);
}

static void read_messages(const char *text, size_t n) {
    static const member rows[] = {{"messages", MEMBER_EACH, .shape = SHAPE_ARRAY, .each = each_message}};
    char why[JSON_WHY] = "";
    const video_opening no_model = {0}; // videos stay closed: their decoder is another program
    struct messages m = {0};
    json_doc *doc = NULL;
    size_t failed = 0;
    if (json_doc_parse(text, n, &doc, why)) {
        const bool ok = json_doc_read(doc, &(member_group){rows, 1, &m}, 1, why);
        must(ok || why[0] != 0);
        must(m.pictures.n <= SENT_PICTURES_MOST);
        why[0] = 0;
        if (ok && !sent_pictures_open(&m.pictures, &no_model, &failed, why))
            must(why[0] != 0 && failed < m.pictures.n);
    }
    sent_pictures_free(&m.pictures);
    bytes_free(&m.json);
    json_doc_free(doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    const long live = mem_live();
    read_texts((const char *)data, n);
    read_messages((const char *)data, n);
    must(mem_live() == live);
    return 0;
}
