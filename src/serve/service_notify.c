// serve/service_notify.c - reports the server's state to the service manager: the protocol of sd_notify(3)
// without libsystemd.
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
    // A failure is ignored: without a service manager the message is not needed.
    (void)!sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&to,
                  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
    close(fd);
}
