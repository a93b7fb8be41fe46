/* Functions of libraries that multiply matrices, with their sizes as arguments. */
#ifndef GPUPROBE_ATTACH_MATMULS_H
#define GPUPROBE_ATTACH_MATMULS_H

#include "base/types.h"
#include "../bpf/matmul.h"

/* That of this name; NULL: it is none. Lives for ever. */
const struct matmul_arguments *matmul_find(const char *name);

#endif
