// serve/http/http_parse.c - see http_parse.h. llhttp runs in its strict mode; what it lets pass and another reader could take
// differently is refused here.
#include "serve/http/http_parse.h"
#include "app/memory.h"
#include <string.h>
#include <strings.h>

enum {
    SPACE_BYTES = 4096,        // around values, beyond the fields' own limit
    FRAMING_BYTES = 64 << 10,  // chunk extensions, trailers, leading zeros
    FRAMING_CHUNK = 16,        // what an ordinary chunk has around it
    HEAD_KEPT_BYTES = 16 << 10 // of a head's memory, kept for the connection's next request
};

typedef struct field_at {
    uint32_t name, value;
} field_at;

static const field_at *field_number(const http_head *h, size_t i) {
    return (const field_at *)(const void *)h->fields.data + i;
}
const char *head_name_at(const http_head *h, size_t i) { return h->text.data + field_number(h, i)->name; }
const char *head_value_at(const http_head *h, size_t i) { return h->text.data + field_number(h, i)->value; }

const char *head_field(const http_head *h, const char *name) {
    for (size_t i = 0; i < h->n_fields; i++)
        if (strcasecmp(head_name_at(h, i), name) == 0) return head_value_at(h, i);
    return NULL;
}

static http_parser *parser_of(llhttp_t *l) { return (http_parser *)l; } // its first member

// The result of a callback that may have run out of memory.
static int go_on(http_parser *p) {
    if (!memory_failed()) return 0;
    *p->e = api_no_memory;
    return -1;
}
static int refused(bool is_good) { return is_good ? 0 : -1; } // api_fail()'s false

static bool fail_version(api_error *e) {
    return api_fail(e, API_HTTP_VERSION, NULL, "request line: not HTTP/1.1 or HTTP/1.0");
}

static int take_target(llhttp_t *l, const char *at, size_t n) {
    http_parser *const p = parser_of(l);
    const char *const method = llhttp_method_name((llhttp_method_t)l->method);
    const size_t n_method = strlen(method), n_around = n_method + sizeof "  HTTP/1.1" - 1;
    if (p->n_line == 0 && p->first[n_method + 1] == ' ') // which llhttp passes over
        return refused(api_fail(p->e, API_INVALID_VALUE, NULL, "request line: more than one space after the method"));
    p->n_line += n;
    if (n_around + p->n_line > (size_t)p->o->max_line)
        return refused(api_fail(p->e, API_URI_TOO_LONG, NULL,
                                "request line: too many bytes, the limit is %d (--max-line)", p->o->max_line));
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)at[i] <= ' ' || (unsigned char)at[i] >= 0x7f || at[i] == '#')
            return refused(api_fail(p->e, API_INVALID_VALUE, NULL,
                                    "target: byte 0x%02x, which must be percent-encoded", (unsigned char)at[i]));
    bytes_add(&p->head.text, at, n);
    return go_on(p);
}
static int end_target(llhttp_t *l) {
    bytes_add(&parser_of(l)->head.text, "", 1);
    return go_on(parser_of(l));
}

static int end_version(llhttp_t *l) {
    parser_of(l)->has_version = true;
    return 0;
}

static int count_field(http_parser *p, size_t n) {
    const http_options *const o = p->o;
    p->n_field += n;
    p->n_block += n;
    if (p->n_field > (size_t)o->max_header)
        return refused(api_fail(p->e, API_HEADERS_TOO_LARGE, NULL,
                                "headers: one has too many bytes, the limit is %d (--max-header)", o->max_header));
    if (p->n_block > (size_t)o->max_header_block)
        return refused(api_fail(p->e, API_HEADERS_TOO_LARGE, NULL,
                                "headers: too many bytes together, the limit is %d (--max-header-block)",
                                o->max_header_block));
    return 0;
}

static int take_name(llhttp_t *l, const char *at, size_t n) {
    http_parser *const p = parser_of(l);
    if (p->has_head) return 0; // trailers are read and not used
    if (!p->in_field) {
        const field_at field = {.name = (uint32_t)p->head.text.n};
        if (p->head.n_fields == (size_t)p->o->max_headers)
            return refused(api_fail(p->e, API_HEADERS_TOO_LARGE, NULL,
                                    "headers: too many, the limit is %d (--max-headers)", p->o->max_headers));
        bytes_add(&p->head.fields, &field, sizeof field);
        p->in_field = true;
        p->n_field = 0;
        if (count_field(p, sizeof ": \r\n" - 1) != 0) return -1;
    }
    bytes_add(&p->head.text, at, n);
    return count_field(p, n) ? -1 : go_on(p);
}
static int end_name(llhttp_t *l) {
    http_parser *const p = parser_of(l);
    if (p->has_head) return 0;
    bytes_add(&p->head.text, "", 1);
    if (go_on(p) != 0) return -1;
    ((field_at *)(void *)p->head.fields.data)[p->head.n_fields].value = (uint32_t)p->head.text.n;
    return 0;
}
static int take_value(llhttp_t *l, const char *at, size_t n) {
    http_parser *const p = parser_of(l);
    if (p->has_head) return 0;
    for (size_t i = 0; i < n; i++)
        if (((unsigned char)at[i] < ' ' && at[i] != '\t') || at[i] == 0x7f)
            return refused(api_fail(p->e, API_INVALID_VALUE, NULL, "headers: control character 0x%02x in a value",
                                    (unsigned char)at[i]));
    bytes_add(&p->head.text, at, n);
    return count_field(p, n) ? -1 : go_on(p);
}
static int end_value(llhttp_t *l) {
    http_parser *const p = parser_of(l);
    bytes *const text = &p->head.text;
    if (p->has_head) return 0;
    const size_t begin = field_number(&p->head, p->head.n_fields)->value;
    while (text->n > begin && (text->data[text->n - 1] == ' ' || text->data[text->n - 1] == '\t')) text->n--;
    bytes_add(text, "", 1);
    p->head.n_fields++;
    p->in_field = false;
    return go_on(p);
}

static int end_head(llhttp_t *l) {
    http_parser *const p = parser_of(l);
    l->upgrade = 0; // whether to upgrade is the route's decision (http_upgrade())
    if (l->http_major != 1 || l->http_minor > 1) return refused(fail_version(p->e));
    p->head.method = llhttp_method_name((llhttp_method_t)l->method);
    p->head.minor = l->http_minor;
    p->head.keeps_alive = llhttp_should_keep_alive(l) != 0;
    p->has_head = true;
    p->is_stopped = !p->events->head(p->user);
    return p->is_stopped ? -1 : 0;
}

static int take_body(llhttp_t *l, const char *at, size_t n) {
    http_parser *const p = parser_of(l);
    p->n_body += n;
    p->is_stopped = !p->events->body(p->user, at, n);
    return p->is_stopped ? -1 : 0;
}
static int count_chunk(llhttp_t *l) {
    parser_of(l)->n_chunks++;
    return 0;
}
static int end_request(llhttp_t *l) {
    (void)l;
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {.on_url = take_target,
                                           .on_url_complete = end_target,
                                           .on_version_complete = end_version,
                                           .on_header_field = take_name,
                                           .on_header_field_complete = end_name,
                                           .on_header_value = take_value,
                                           .on_header_value_complete = end_value,
                                           .on_headers_complete = end_head,
                                           .on_body = take_body,
                                           .on_chunk_header = count_chunk,
                                           .on_message_complete = end_request};

void parser_init(http_parser *p, const http_options *o, const parser_events *events, void *user) {
    *p = (http_parser){.o = o, .events = events, .user = user};
    llhttp_init(&p->llhttp, HTTP_REQUEST, &settings);
}

void parser_reset(http_parser *p) {
    bytes text = p->head.text, fields = p->head.fields;
    if (text.n_room + fields.n_room > HEAD_KEPT_BYTES) bytes_free(&text), bytes_free(&fields);
    parser_init(p, p->o, p->events, p->user);
    text.n = fields.n = 0;
    p->head.text = text, p->head.fields = fields;
}

void parser_free(http_parser *p) {
    bytes_free(&p->head.text);
    bytes_free(&p->head.fields);
}

// An empty line before a request is passed over (RFC 9112, section 2.2), one and no more. Returns how many bytes it takes; false:
// what is there begins no request.
static bool pass_blank(http_parser *p, const char *data, size_t n, size_t *n_taken, api_error *e) {
    for (; *n_taken < n; ++*n_taken) {
        const char c = data[*n_taken], wanted = "\r\n"[p->n_blank == 1];
        if (p->n_blank != 1 && c != '\r' && c != '\n') {
            p->has_begun = true;
            return true;
        }
        if (p->n_blank == 2 || c != wanted)
            return api_fail(e, API_INVALID_VALUE, NULL, "request line: line breaks before it");
        p->n_blank++;
    }
    return true;
}

static bool is_token(const char *text, size_t n) {
    for (size_t i = 0; i < n; i++)
        if ((text[i] < 'A' || text[i] > 'Z') && text[i] != '-') return false;
    return n > 0;
}

// RFC 9110, section 9.1: a method that is not known is 501. Anything that is no method in capitals is no HTTP at all.
// n_read: bytes up to the one that llhttp stopped at.
static parse_result refuse_method(const http_parser *p, size_t n_read, api_error *e) {
    const size_t n = n_read < p->n_first ? n_read : p->n_first;
    const char *const end = memchr(p->first, ' ', n);
    if (is_token(p->first, end ? (size_t)(end - p->first) : n))
        api_fail(e, API_NOT_IMPLEMENTED, NULL, "method: unknown");
    else
        api_fail(e, API_INVALID_VALUE, NULL, "request line: it does not begin with a method");
    return PARSE_REFUSED;
}

static parse_result refuse(http_parser *p, llhttp_errno_t why, size_t n_used, api_error *e) {
    if (e->code != API_N_CODES) return PARSE_REFUSED; // a callback said why
    if (why == HPE_INVALID_METHOD) return refuse_method(p, p->n_head + n_used + 1, e);
    const bool is_good_version =
        p->llhttp.http_major == 1 && p->llhttp.http_minor <= 1; // and something wrong after it
    if ((why == HPE_INVALID_VERSION && !is_good_version) || why == HPE_PAUSED_H2_UPGRADE)
        fail_version(e);
    else {
        const char *const reason = llhttp_get_error_reason(&p->llhttp);
        api_fail(e, API_INVALID_VALUE, NULL, "%s: %s", p->has_head ? "body" : "head",
                 reason && *reason ? reason : llhttp_errno_name(why));
    }
    return PARSE_REFUSED;
}

// Limits on what no callback sees: spaces around values, extensions of chunks, trailers.
static bool check_unseen(http_parser *p, size_t n, uint64_t n_body, bool had_head, api_error *e) {
    if (!had_head && !p->has_head) {
        p->n_head += n;
        if (p->n_head > (size_t)p->o->max_line + (size_t)p->o->max_header_block + SPACE_BYTES)
            return api_fail(e, API_HEADERS_TOO_LARGE, NULL,
                            "headers: too many bytes together, the limit is %d (--max-header-block)",
                            p->o->max_header_block);
    }
    if (had_head) p->n_framing += n - (p->n_body - n_body);
    if (p->n_framing > FRAMING_BYTES + p->n_chunks * FRAMING_CHUNK)
        return api_fail(e, API_REQUEST_TOO_LARGE, NULL,
                        "body: chunk extensions and trailers of more than the limit of %d bytes", FRAMING_BYTES);
    return true;
}

parse_result parser_feed(http_parser *p, const char *data, size_t n, size_t *n_taken, api_error *e) {
    e->code = API_N_CODES;
    p->e = e;
    *n_taken = 0;
    if (!p->has_begun && !pass_blank(p, data, n, n_taken, e)) return PARSE_REFUSED;
    const char *const at = data + *n_taken;
    const size_t n_left = n - *n_taken;
    if (n_left == 0) return PARSE_MORE;
    for (size_t i = 0; i < n_left && p->n_first < sizeof p->first; i++) p->first[p->n_first++] = at[i];
    const bool had_head = p->has_head;
    const uint64_t n_body = p->n_body;
    const llhttp_errno_t result = llhttp_execute(&p->llhttp, at, n_left);
    const size_t n_used = result == HPE_OK ? n_left : (size_t)(llhttp_get_error_pos(&p->llhttp) - at);
    *n_taken += n_used;
    if (result == HPE_PAUSED) return PARSE_END;
    if (p->is_stopped) return PARSE_STOPPED;
    // HTTP/0.9, a line without a version: its answer would have no head.
    if (p->n_line && !p->has_version && memchr(at, '\n', n_used)) {
        fail_version(e);
        return PARSE_REFUSED;
    }
    if (result != HPE_OK) return refuse(p, result, n_used, e);
    return check_unseen(p, n_used, n_body, had_head, e) ? PARSE_MORE : PARSE_REFUSED;
}
