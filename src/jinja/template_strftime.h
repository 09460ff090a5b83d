// jinja/template_strftime.h - formats a point in time, with English names of days and months.
#ifndef RN_JINJA_TEMPLATE_STRFTIME_H
#define RN_JINJA_TEMPLATE_STRFTIME_H

#include "jinja/template_render.h"

// Writes `now` (seconds since 1970, in local time) by the format, as Python's datetime.strftime() does.
bool tr_put_time(struct render *r, const tval *format, int64_t now);

#endif
