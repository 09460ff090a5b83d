// serve/http/http_tls.c - see http_tls.h.
#include "serve/http/http_tls.h"
#include "app/files.h"
#include "app/say.h"
#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { PEM_LIMIT = 1 << 20 };

struct tls_context {
    gnutls_certificate_credentials_t credentials;
    gnutls_priority_t priority;
};
struct tls_session {
    gnutls_session_t session;
    bool has_unsent; // GnuTLS took bytes and could not send them yet
};

static bool read_pem(const char *name, bytes *to) { return file_read(name, PEM_LIMIT, to); }

static void free_pem(bytes *b) {
    if (b->n_room) explicit_bzero(b->data, b->n_room);
    bytes_free(b);
}

static int set_key(tls_context *t, const bytes *cert, const bytes *key) {
    const gnutls_datum_t c = {(unsigned char *)cert->data, (unsigned)cert->n},
                         k = {(unsigned char *)key->data, (unsigned)key->n};
    return gnutls_certificate_set_x509_key_mem(t->credentials, &c, &k, GNUTLS_X509_FMT_PEM);
}

tls_context *tls_context_open(const char *cert, const char *key) {
    static const char versions[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";
    tls_context *const t = app_alloc(sizeof *t);
    bytes c = {0}, k = {0};
    int why = t ? 0 : GNUTLS_E_MEMORY_ERROR;
    bool is_read = false;
    if (t && (is_read = read_pem(cert, &c) && read_pem(key, &k))) {
        why = gnutls_certificate_allocate_credentials(&t->credentials);
        if (why == 0) why = gnutls_priority_init(&t->priority, versions, NULL);
        if (why == 0) why = set_key(t, &c, &k);
        if (why < 0) say("--tls-cert %s, --tls-key %s: %s", cert, key, gnutls_strerror(why));
    }
    free_pem(&c);
    free_pem(&k);
    if (is_read && why >= 0) return t;
    tls_context_free(t);
    return NULL;
}

void tls_context_free(tls_context *t) {
    if (!t) return;
    if (t->priority) gnutls_priority_deinit(t->priority);
    if (t->credentials) gnutls_certificate_free_credentials(t->credentials);
    free(t);
}

tls_session *tls_session_open(tls_context *t, int fd) {
    static const gnutls_datum_t http = {(unsigned char *)(uintptr_t) "http/1.1", 8};
    tls_session *const s = app_alloc(sizeof *s);
    if (!s) return NULL;
    if (gnutls_init(&s->session, GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL) != 0) {
        free(s);
        return memory_noted(NULL);
    }
    if (gnutls_priority_set(s->session, t->priority) != 0 ||
        gnutls_credentials_set(s->session, GNUTLS_CRD_CERTIFICATE, t->credentials) != 0 ||
        gnutls_alpn_set_protocols(s->session, &http, 1, 0) != 0) {
        tls_session_free(s);
        return memory_noted(NULL);
    }
    gnutls_transport_set_int(s->session, fd);
    gnutls_handshake_set_timeout(s->session, 0); // the connection has its own timeout
    return s;
}

void tls_session_free(tls_session *s) {
    if (!s) return;
    gnutls_deinit(s->session);
    free(s);
}

tls_state tls_handshake(tls_session *s) {
    const int why = gnutls_handshake(s->session);
    if (why == 0) return TLS_DONE;
    if (gnutls_error_is_fatal(why)) return TLS_FAILED;
    return gnutls_record_get_direction(s->session) ? TLS_WRITES : TLS_READS;
}

// GnuTLS's result as read() and write() give theirs.
static ssize_t result_of(ssize_t n) {
    if (n >= 0) return n;
    // A renegotiation is not fatal: it is not answered, and what comes after it is read.
    errno = gnutls_error_is_fatal((int)n) ? ECONNRESET : EAGAIN;
    return -1;
}

ssize_t tls_read(tls_session *s, void *to, size_t n) { return result_of(gnutls_record_recv(s->session, to, n)); }

ssize_t tls_write(tls_session *s, const void *data, size_t n) {
    // What GnuTLS has taken already is not given again: a NULL goes on with it.
    const ssize_t sent =
        s->has_unsent ? gnutls_record_send(s->session, NULL, 0) : gnutls_record_send(s->session, data, n);
    s->has_unsent = sent == GNUTLS_E_AGAIN || sent == GNUTLS_E_INTERRUPTED;
    return result_of(sent);
}

bool tls_has_pending(tls_session *s) { return gnutls_record_check_pending(s->session) > 0; }
void tls_end_writing(tls_session *s) { gnutls_bye(s->session, GNUTLS_SHUT_WR); }
