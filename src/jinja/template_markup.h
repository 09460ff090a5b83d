// jinja/template_markup.h - strings as HTML: what Jinja's Markup is, which `safe`, `escape` and the like make.
#ifndef RN_JINJA_TEMPLATE_MARKUP_H
#define RN_JINJA_TEMPLATE_MARKUP_H

#include "jinja/template_render.h"

const tval *tr_escaped(struct render *r, const tval *v);     // escape(v): Markup; what is Markup stays as it is
bool tr_put_escaped(struct render *r, const tval *s);        // a string's characters, whatever it is
const tval *tr_marked_safe(struct render *r, const tval *s); // a string as Markup; NULL: NULL

#endif
