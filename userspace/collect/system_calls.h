/* The names of system calls, as this architecture numbers them. */
#ifndef GPUPROBE_COLLECT_SYSTEM_CALLS_H
#define GPUPROBE_COLLECT_SYSTEM_CALLS_H

#include "base/types.h"

#define SYSTEM_CALL_NUMBERS 1024 /* are below this */

/* NULL: this build knows of none with the number. */
const char *system_call_name(u32 number);

#endif
