// serve/serve_signals.c - turns signals into bytes in a pipe, since a handler may call only async-signal-safe
// functions.
#include "serve/serve_signals.h"
#include "app/say.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

static int ends[2]; // the pipe; set before the handlers are installed

static void note(int number) {
    const int why = errno;
    const unsigned char byte = (unsigned char)number;
    (void)!write(ends[1], &byte, 1); // the pipe is full: enough signals are pending
    errno = why;
}

bool signals_catch(void) {
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        say("signals: %s", strerror(errno));
        return false;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction was, act = {.sa_handler = note, .sa_flags = (int)SA_RESTART};
        sigemptyset(&act.sa_mask);
        // Shells start background jobs of scripts with SIGINT ignored; it stays ignored.
        if (numbers[i] == SIGINT && sigaction(SIGINT, NULL, &was) == 0 && was.sa_handler == SIG_IGN) continue;
        sigaction(numbers[i], &act, NULL);
    }
    return true;
}

int signals_wait(int timeout_ms) {
    struct pollfd there = {.fd = ends[0], .events = POLLIN};
    unsigned char byte = 0;
    if (poll(&there, 1, timeout_ms) > 0 && read(ends[0], &byte, 1) == 1) return byte;
    return 0;
}
