// serve/http/http_tls.h - TLS 1.2 and 1.3 over a socket that does not block (GnuTLS).
//
// Ownership: the caller owns contexts and sessions; a context outlives its sessions. The socket stays the caller's.
// Threads: a context may be shared; a session belongs to one thread at a time.
#ifndef RN_SERVE_HTTP_HTTP_TLS_H
#define RN_SERVE_HTTP_HTTP_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

typedef struct tls_context tls_context;
typedef struct tls_session tls_session;

// cert, key: PEM files. NULL: failed, the error has been printed.
tls_context *tls_context_open(const char *cert, const char *key);
void tls_context_free(tls_context *t); // NULL is fine

tls_session *tls_session_open(tls_context *t, int fd); // NULL: out of memory
void tls_session_free(tls_session *s);                 // NULL is fine

typedef enum tls_state { TLS_DONE, TLS_READS, TLS_WRITES, TLS_FAILED } tls_state; // READS, WRITES: waits for that
tls_state tls_handshake(tls_session *s);

// As read() and write() of a socket that does not block: -1 with errno, EAGAIN when it would block.
ssize_t tls_read(tls_session *s, void *to, size_t n);
ssize_t tls_write(tls_session *s, const void *data, size_t n); // after EAGAIN: again with data that begin alike
bool tls_has_pending(tls_session *s); // bytes that were received and not read: the socket does not show them
void tls_end_writing(tls_session *s); // tells the peer that nothing more comes

#endif
