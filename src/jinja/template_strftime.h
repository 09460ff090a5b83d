// jinja/template_strftime.h - a moment as text, with the names of days and months in English.
#ifndef RN_JINJA_TEMPLATE_STRFTIME_H
#define RN_JINJA_TEMPLATE_STRFTIME_H

#include "jinja/template_render.h"

// Puts `now` (seconds since 1970, in local time) after the format, as Python's datetime.strftime() does.
bool tr_put_time(struct render *r, const tval *format, int64_t now);

#endif
