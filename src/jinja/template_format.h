// jinja/template_format.h - Python's string formatting: text % values, text.format(values), and what both share.
#ifndef RN_JINJA_TEMPLATE_FORMAT_H
#define RN_JINJA_TEMPLATE_FORMAT_H

#include "jinja/template_render.h"

// The format of one value.
struct format_spec {
    const tval *fill; // one character
    char align;       // < > ^, or = (between sign and digits); 0: the type's default
    char sign;        // + or a space; 0: only minus signs
    bool alternate;
    char grouping; // , or _ between groups of digits; 0: none
    size_t width;
    int precision; // -1: none
    char type;     // 0: none
};

const tval *tr_percent_format(struct render *r, const tval *format, const tval *values);
const tval *tr_brace_format(struct render *r, const tval *format,
                            const struct call *c); // values by position and name

extern const tval format_space, format_zero; // fills

// precision: the least number of digits of an integer.
bool tr_put_int(struct render *r, const struct format_spec *spec, tv_int i);
bool tr_put_float(struct render *r, const struct format_spec *spec, double d);
// Writes a string, truncated to the precision and padded to the width.
bool tr_put_padded(struct render *r, const struct format_spec *spec, const tval *s, char align);

#endif
