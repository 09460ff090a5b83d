// serve/serve_signals.h - waits for the signals that control the server.
//
// Threads: one waits.
#ifndef RN_SERVE_SERVE_SIGNALS_H
#define RN_SERVE_SERVE_SIGNALS_H

#include <stdbool.h>

bool signals_catch(void); // blocks SIGTERM, SIGINT and SIGHUP for signals_wait(); false: the error has been printed
int signals_wait(int timeout_ms); // the next signal's number; 0: none in time. Negative timeout: no limit

#endif
