// serve/api/api_time.c - see api_time.h.
#include "serve/api/api_time.h"
#include <time.h>

const char *api_time_text(int64_t seconds, char text[API_TIME_TEXT]) {
    const time_t t = (time_t)seconds;
    struct tm utc = {0};
    gmtime_r(&t, &utc);
    if (strftime(text, API_TIME_TEXT, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0) text[0] = '\0';
    return text;
}
