// formats/folder_vocab.c - the vocabulary of a Hugging Face folder; see folder.h.
#include "formats/folder.h"

rn_status package_folder_vocab(const struct folder *f, rn_error *err) {
    (void)err;
    struct vocab *v = &f->p->vocab;
    v->bos = v->eos = v->eot = v->eom = v->unk = v->pad = -1;
    return RN_OK;
}
