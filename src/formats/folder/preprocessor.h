// formats/folder/preprocessor.h - how a Hugging Face folder's model wants its pictures: preprocessor_config.json as a pipeline.
#ifndef RN_FORMATS_FOLDER_PREPROCESSOR_H
#define RN_FORMATS_FOLDER_PREPROCESSOR_H

#include "media/pipeline.h"

/**
 * Read video_preprocessor_config.json, where it is there, and preprocessor_config.json, the image_processor of processor_config.json, or vision_tower/preprocessor_config.json (VILA):
 * the first that is there.
 *
 * @param folder  of the model.
 * @return RN_E_FORMAT: malformed, or outside of docs/limits.md; RN_E_UNSUPPORTED: another class, or a member of it, by name; RN_E_IO: no such
 *         file, or it cannot be read; RN_E_LIMIT; RN_E_NOMEM.
 */
rn_status preprocessor_open(const char *folder, struct pipeline *out, rn_error *err);
// A video's frames, where the folder has a file for them: their area. Without, they are as large as pictures.
#define PREPROCESSOR_VIDEO "video_preprocessor_config.json"
rn_status preprocessor_read_video(const char *text, size_t n, struct pipeline *out, rn_error *err);
// The file's text, freed with mem_free(); *text NULL: the folder has none. Errors: those of reading.
rn_status preprocessor_text(const char *folder, char **text, size_t *n, rn_error *err);
rn_status preprocessor_read(const char *text, size_t n, struct pipeline *out,
                            rn_error *err); // of the first form or the second

#endif
