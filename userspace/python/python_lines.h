/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of lines of a code object of Python (co_linetable, co_lnotab; as CPython describes them beside its code objects). */
#ifndef GPUPROBE_PYTHON_PYTHON_LINES_H
#define GPUPROBE_PYTHON_PYTHON_LINES_H

#include "base/types.h"
#include "../bpf/python_layout.h"

/* The line of an instruction, by its index in code units. 0: it has none, or the table, which may be cut or damaged, does not say. */
u32 python_line_of(enum python_lines form, const u8 *table, size_t bytes, s32 first_line, u32 unit);

#endif
