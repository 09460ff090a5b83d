// serve/serve_signals.h - the signals that a server obeys, as something to wait for.
//
// Threads: one waits.
#ifndef RN_SERVE_SERVE_SIGNALS_H
#define RN_SERVE_SERVE_SIGNALS_H

#include <stdbool.h>

bool signals_catch(void);         // SIGTERM, SIGINT, SIGHUP from here on; false: said
int signals_wait(int timeout_ms); // the next one that came, 0: none in time; negative: no limit

#endif
