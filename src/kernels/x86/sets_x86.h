// kernels/x86/sets_x86.h - the sets of x86-64, and what each needs: the first thing that this machine lacks, or NULL.
#ifndef RN_KERNELS_X86_SETS_X86_H
#define RN_KERNELS_X86_SETS_X86_H

#include "kernels/kernels.h"

extern const struct kernel_set kernel_set_avx2, kernel_set_avx512, kernel_set_avx512vnni, kernel_set_amx;
extern const struct kernel_set kernel_set_avx512vnni_amd; // its kernels, with the crossovers of AMD's cores
bool x86_is_amd(void);
const char *avx2_lacks(void);
const char *avx512_lacks(void);
const char *avx512vnni_lacks(void);
const char *amx_lacks(void); // asks the system for the right to use tiles, for the whole process

#endif
