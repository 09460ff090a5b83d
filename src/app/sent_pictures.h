// app/sent_pictures.h - pictures that a request brings within its JSON, as data: URLs or as base64, or names by their addresses.
//
// They are noted while the request is read, and decoded once it is known to be one for a model that sees.
// Ownership: the caller's struct, {0} is empty; sent_pictures_free(). Texts are the document's, which outlives it.
// Threads:   one at a time.
#ifndef RN_APP_SENT_PICTURES_H
#define RN_APP_SENT_PICTURES_H

#include "app/json_read.h"
#include "app/video_open.h"
#include <runnel/picture.h>

// PLACE: bytes of the name of a member that has one. PIXELS: of all together, before the last one.
enum { SENT_PICTURES_MOST = 16, SENT_PICTURE_PLACE = 64, SENT_PICTURE_PIXELS = 50000000 };
// Of a picture that is fetched: bytes of its address and of its file (no more are decoded), seconds it may take.
enum { SENT_PICTURE_URL = 8192, SENT_PICTURE_BYTES = 20 << 20, SENT_PICTURE_SECONDS = 10 };

typedef struct sent_picture {
    json_span text;
    bool is_url, is_remote; // a data: URL; an address, of which `file` gets what was fetched
    bool is_video;
    bytes file;
    int64_t id;                     // its number in the request, unless the request gives it one
    char place[SENT_PICTURE_PLACE]; // "messages[0].content[1].image_url.url"
} sent_picture;
typedef struct sent_pictures {
    sent_picture sent[SENT_PICTURES_MOST];
    rn_picture *open[SENT_PICTURES_MOST]; // [n] once they are open
    size_t n;
    bool are_open;
    bool lacks_memory;   // why they could not be opened
    bool is_unsupported; // what the last reason is about is known, but not honoured
} sent_pictures;

// Is the value one that sent_pictures_take() takes: an object of the type image_url, input_image or image, or of a video video_url, input_video or video?
bool sent_pictures_is_part(const json_item *part);
bool sent_pictures_is_video(const json_item *part);
// Notes the picture of a part of a message: {"type": "image_url", "image_url": {"url": ..} or a URL} as in OpenAI's chats, {"type": "input_image",
// "image_url": URL} as in its responses, {"type": "image", "source": {"type": "base64", "data": ..}} or {"type": "url", "url": URL} as Anthropic's. Videos: {"type":
// "video_url", "video_url": {"url": ..} or a URL} as vLLM's chats, {"type": "input_video", "video_url": URL}, {"type": "video", "video": URL} as Qwen's. place:
// where the part stands.
// False: why begins with the name of its member.
bool sent_pictures_take(sent_pictures *p, const json_item *part, const char *place, char *why);
// Notes base64, or a data: URL, which is at the place.
bool sent_pictures_add(sent_pictures *p, const json_item *value, const char *place, char *why);
// Decodes them; nothing if they are decoded. Those with an address need their file. video: the model and the choice of frames of videos; NULL: none is taken;
// without a model they are left closed.
// False: why has the reason, *failed is which of them.
bool sent_pictures_open(sent_pictures *p, const video_opening *video, size_t *failed, char *why);
// A message with its pictures noted and left as {"type": "image"} or {"type": "video"}, all else as it is: an item of an array. place: of the message.
bool sent_pictures_add_message(sent_pictures *p, const json_item *message, const char *place, bytes *to, char *why);
void sent_pictures_free(sent_pictures *p);

#endif
