// serve/websocket/websocket_wslay.c - one WebSocket: wslay parses and writes frames; the limits of
// docs/limits.md are enforced here.
#include "app/progress.h"
#include "serve/server.h"
#include "serve/websocket/websocket_inside.h"
#include <stdlib.h>
#include <string.h>

enum { FRAME_MAX = 1 << 20, FRAGMENTS_MAX = 1024, ANSWERS_MAX = 64 };

void websocket_shut(websocket *w, uint16_t code, const char *reason) {
    if (w->closing_ns) return;
    w->closing_ns = now_ns();
    wslay_event_queue_close(w->ctx, code, (const uint8_t *)reason, strlen(reason));
}

// Closes the socket because of a message that is too big, without reading the rest of it.
static void shut_at_once(websocket *w, const char *reason) {
    websocket_shut(w, WEBSOCKET_TOO_BIG, reason);
    wslay_event_shutdown_read(w->ctx);
}

// Are too many control frames queued, because the client sends pings but does not read the answers? Nothing is
// read from it until it does.
bool websocket_is_drowning(const websocket *w) {
    return w->is_held || wslay_event_get_queued_msg_count(w->ctx) >= ANSWERS_MAX;
}

void websocket_hold(websocket *w, bool is_held) { w->is_held = is_held; }

static ssize_t take_early(websocket *w, uint8_t *to, size_t n) {
    const size_t left = w->early.n - w->n_early_taken;
    if (n > left) n = left;
    memcpy(to, w->early.data + w->n_early_taken, n);
    w->n_early_taken += n;
    return (ssize_t)n;
}

static ssize_t take_bytes(wslay_event_context_ptr ctx, uint8_t *to, size_t n, int flags, void *user) {
    websocket *const w = user;
    (void)flags;
    if (websocket_is_drowning(w)) {
        wslay_event_set_error(ctx, WSLAY_ERR_WOULDBLOCK);
        return -1;
    }
    if (w->early.n > w->n_early_taken) return take_early(w, to, n);
    const ssize_t got = io_read(w->io, to, n);
    if (got > 0) {
        w->heard_ns = now_ns();
        return got;
    }
    const bool is_later = got < 0 && io_is_later();
    wslay_event_set_error(ctx, is_later ? WSLAY_ERR_WOULDBLOCK : WSLAY_ERR_CALLBACK_FAILURE);
    if (!is_later) w->is_failed = true;
    return -1;
}

static ssize_t give_bytes(wslay_event_context_ptr ctx, const uint8_t *data, size_t n, int flags, void *user) {
    websocket *const w = user;
    const ssize_t sent = io_write(w->io, data, n, (flags & WSLAY_MSG_MORE) != 0);
    if (sent >= 0) {
        w->moved_ns = now_ns();
        return sent;
    }
    const bool is_later = io_is_later();
    wslay_event_set_error(ctx, is_later ? WSLAY_ERR_WOULDBLOCK : WSLAY_ERR_CALLBACK_FAILURE);
    if (!is_later) w->is_failed = true;
    return -1;
}

static void check_frame(wslay_event_context_ptr ctx, const struct wslay_event_on_frame_recv_start_arg *frame,
                        void *user) {
    websocket *const w = user;
    (void)ctx;
    if (frame->opcode == WSLAY_TEXT_FRAME || frame->opcode == WSLAY_BINARY_FRAME) w->n_fragments = 0;
    if (frame->opcode < WSLAY_CONNECTION_CLOSE && ++w->n_fragments > FRAGMENTS_MAX)
        shut_at_once(w, "message: more than 1024 fragments");
    if (frame->payload_length > FRAME_MAX) shut_at_once(w, "frame: more than 1 MiB");
}

static void take_message(wslay_event_context_ptr ctx, const struct wslay_event_on_msg_recv_arg *m, void *user) {
    websocket *const w = user;
    (void)ctx;
    if (m->opcode == WSLAY_CONNECTION_CLOSE && !w->closing_ns) w->closing_ns = now_ns();
    if (w->closing_ns) return;
    if (m->opcode == WSLAY_BINARY_FRAME)
        websocket_shut(w, WEBSOCKET_NO_BINARY, "only text messages are supported");
    else if (m->opcode == WSLAY_TEXT_FRAME)
        // Wslay gives NULL for an empty message.
        w->handler->message(w->self, m->msg ? (const char *)m->msg : "", m->msg_length);
}

bool websocket_start(websocket *w) {
    static const struct wslay_event_callbacks callbacks = {.recv_callback = take_bytes,
                                                           .send_callback = give_bytes,
                                                           .on_frame_recv_start_callback = check_frame,
                                                           .on_msg_recv_callback = take_message};
    if (wslay_event_context_server_init(&w->ctx, &callbacks, w) != 0) return false;
    wslay_event_config_set_max_recv_msg_length(w->ctx, (uint64_t)w->conn->h->o->max_body_mib << 20);
    return true;
}

// After the close frame was sent: reads and discards what still arrives. Closing a socket with unread bytes
// would reset the connection before the client has read the close frame.
static void linger(websocket *w) {
    char scratch[4096];
    ssize_t n;
    do n = io_read(w->io, scratch, sizeof scratch);
    while (n > 0);
    if (n == 0 || !io_is_later()) w->is_failed = true;
}

void websocket_read(websocket *w) {
    if (w->is_lingering) {
        linger(w);
        return;
    }
    // On a protocol error wslay queues a close frame itself, which is still sent.
    wslay_event_recv(w->ctx);
    if (!wslay_event_get_read_enabled(w->ctx) && !w->closing_ns) w->closing_ns = now_ns();
}

void websocket_check_end(websocket *w) {
    if (!wslay_event_get_close_sent(w->ctx) || w->is_lingering || w->is_failed) return;
    if (wslay_event_get_close_received(w->ctx))
        w->is_failed = true; // both sides have sent a close frame
    else if (!wslay_event_get_read_enabled(w->ctx)) {
        io_end_writing(w->io);
        w->is_lingering = true;
    }
}

static message *take_queued(websocket *w, bool *has_room) {
    pthread_mutex_lock(&w->all->lock);
    message *const m = w->first;
    if (m) {
        w->first = m->next;
        if (!w->first) w->last = NULL;
        w->n_queued--;
        w->n_queued_bytes -= m->n;
    }
    *has_room = w->wants_room && w->n_queued <= WEBSOCKET_QUEUE / 2 && w->n_queued_bytes <= WEBSOCKET_QUEUE_BYTES / 2;
    if (*has_room) w->wants_room = false;
    pthread_mutex_unlock(&w->all->lock);
    return m;
}

// Passes one message at a time to wslay, so that only our queue has to be counted against the limits.
void websocket_write(websocket *w) {
    bool has_room = false;
    for (message *m; !w->is_failed;) {
        if (wslay_event_send(w->ctx) != 0) w->is_failed = true;
        if (wslay_event_want_write(w->ctx) || w->is_failed) break;
        w->moved_ns = now_ns();
        if (!(m = take_queued(w, &has_room))) break;
        const struct wslay_event_msg out = {WSLAY_TEXT_FRAME, (const uint8_t *)m->text, m->n};
        if (wslay_event_queue_msg(w->ctx, &out) == WSLAY_ERR_NOMEM) w->is_failed = true;
        free(m);
        if (has_room && !w->closing_ns) w->handler->wake(w->self);
    }
}
