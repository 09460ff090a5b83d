// base/log.h - log messages to the callback given when the object was opened. The library never prints.
#ifndef RN_BASE_LOG_H
#define RN_BASE_LOG_H

enum log_level { LOG_ERROR = 0, LOG_WARN = 1, LOG_INFO = 2, LOG_DEBUG = 3 };

typedef struct log_sink {
    void (*fn)(void *user, int level, const char *text); // NULL: dropped. Any thread; must not call back into runnel
    void *user;
    int max_level;
} log_sink;

// sink NULL is fine. One line, no line break, at most 4 KiB (cut), control characters replaced.
__attribute__((format(printf, 3, 4))) void log_to(const log_sink *sink, enum log_level level, const char *fmt, ...);

#endif
