/* SPDX-License-Identifier: MIT */
/* Empty records: header with size and kind, every field absent, as record.def says. */
#ifndef GPUPROBE_GPU_ABSENT_H
#define GPUPROBE_GPU_ABSENT_H

#include "types.h"
#include "../../bpf/record.h"

/* One record of the kind; kind must be one of enum record_kind without a tail. */
const struct record_header *absent_record(u32 kind);

#endif
