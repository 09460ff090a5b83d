// convert/convert_options.h - rn_quantize_options as the caller's library has them, checked.
#ifndef RN_CONVERT_CONVERT_OPTIONS_H
#define RN_CONVERT_CONVERT_OPTIONS_H

#include "convert/mixes.h"
#include <runnel/tools.h>

// *mix: that of the type; NULL: none was given. Errors: RN_E_ARG.
rn_status convert_options_read(const rn_quantize_options *opt, rn_quantize_options *out, const struct mix **mix,
                               rn_error *err);

#endif
