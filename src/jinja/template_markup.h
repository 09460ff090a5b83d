// jinja/template_markup.h - HTML-safe strings: Jinja's Markup, which the filters `safe` and `escape` return.
#ifndef RN_JINJA_TEMPLATE_MARKUP_H
#define RN_JINJA_TEMPLATE_MARKUP_H

#include "jinja/template_render.h"

const tval *tr_escaped(struct render *r,
                       const tval *v); // escape(v): Markup; a value that is Markup is returned unchanged
const tval *tr_marked_safe(struct render *r, const tval *s); // a string as Markup; NULL: NULL

#endif
