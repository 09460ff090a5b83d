// app/content_part.h - the parts of a message's content, as rn_chat has them.
//
// Threads: one at a time.
#ifndef RN_APP_CONTENT_PART_H
#define RN_APP_CONTENT_PART_H

#include "app/json_write.h"

void json_put_text_part(json_writer *w, const char *text, size_t n_text); // text may be NULL where n_text is 0
void json_put_picture_part(json_writer *w, bool is_video);                // stands for the next of rn_chat.pictures

#endif
