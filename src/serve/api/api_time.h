// serve/api/api_time.h - points in time as RFC 3339 has them, for dialects that do not count seconds.
#ifndef RN_SERVE_API_API_TIME_H
#define RN_SERVE_API_API_TIME_H

#include <stdint.h>

enum { API_TIME_TEXT = 32 };
// "2026-11-23T08:30:00Z", in UTC. seconds: since 1970. Returns text.
const char *api_time_text(int64_t seconds, char text[API_TIME_TEXT]);

#endif
