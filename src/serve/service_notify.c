// serve/service_notify.c - tells a service manager how the server is: a datagram to a socket (sd_notify(3)), without its library.
#include "serve/server.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void service_notify(const char *state) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    const char *const path = getenv("NOTIFY_SOCKET");
    const size_t n = path ? strlen(path) : 0;
    if (n < 2 || n >= sizeof to.sun_path || (*path != '/' && *path != '@')) return;
    memcpy(to.sun_path, path, n);
    if (*path == '@') to.sun_path[0] = '\0'; // an abstract name
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return;
    // Who started the server without listening to it loses nothing by a failure here.
    (void)!sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&to,
                  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
    close(fd);
}
