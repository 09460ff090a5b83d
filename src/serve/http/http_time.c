// serve/http/http_time.c - what each phase of a connection may take, and the signs of life of answers that wait.
#include "app/progress.h"
#include "serve/http/http_inside.h"

enum { LINGER_SECONDS = 10, LINGER_IDLE_SECONDS = 2 };

static bool is_over(int64_t since_ns, int64_t now, int32_t seconds) {
    return seconds > 0 && now - since_ns >= seconds * SECOND_NS;
}

static void refuse_slow(http_conn *c, const char *what, const char *name, int32_t seconds) {
    api_error e;
    api_fail(&e, API_REQUEST_TIMEOUT, NULL, "%s: not complete after %d s (%s)", what, seconds, name);
    conn_refuse(c, &e);
    if (conn_send(c)) loop_watch(c);
}

// An event stream gets a `: ping` when nothing was sent for long. So does, in its own way, a client that has stopped sending and
// waits for an answer.
static void check_quiet(http_exchange *x, int64_t now) {
    if (!is_over(x->touched_ns, now, x->conn->h->o->ping_seconds)) return;
    x->touched_ns = now;
    if (x->kind == ANSWER_EVENTS) {
        x->is_ping_due = true;
        loop_ready(x->conn);
    } else if (x->kind == ANSWER_LATER && x->conn->half_closed_ns)
        wait_probe(x);
}

void time_check(http_conn *c, int64_t now) {
    const http_options *const o = c->h->o;
    const bool has_out = conn_has_output(c);
    if (c->phase == CONN_UPGRADED) return;
    if (c->phase == CONN_HEAD && is_over(c->since_ns, now, o->header_seconds))
        refuse_slow(c, "headers", "--header-seconds", o->header_seconds);
    else if (c->phase == CONN_BODY && is_over(c->since_ns, now, o->body_seconds))
        refuse_slow(c, "body", "--body-seconds", o->body_seconds);
    else if ((c->phase == CONN_HANDSHAKE && is_over(c->since_ns, now, o->header_seconds)) ||
             (c->phase == CONN_IDLE && is_over(c->since_ns, now, o->idle_seconds)) ||
             (c->phase == CONN_LINGER &&
              (is_over(c->since_ns, now, LINGER_SECONDS) || is_over(c->moved_ns, now, LINGER_IDLE_SECONDS))) ||
             (has_out && is_over(c->moved_ns, now, o->write_seconds)))
        conn_end(c);
    else if (c->phase == CONN_ANSWER && !has_out)
        check_quiet(c->x, now);
}
