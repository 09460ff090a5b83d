// engine/picture_handle.h - what a picture of the public interface holds.
#ifndef RN_ENGINE_PICTURE_HANDLE_H
#define RN_ENGINE_PICTURE_HANDLE_H

#include "media/picture.h"
#include <runnel/picture.h>

struct rn_picture {
    struct picture p;
};

#endif
