/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPython in a process: where its interpreter is, which version it has, and whether its frames can be read there. What a target has in
 * memory is untrusted: nothing of it is believed but what a walk of the frames of its own threads confirms.
 */
#ifndef GPUPROBE_PYTHON_PYTHON_RUNTIME_H
#define GPUPROBE_PYTHON_PYTHON_RUNTIME_H

#include "base/err.h"
#include "base/types.h"
#include "python/python_symbols.h"
#include "../bpf/python_layout.h"

#define PYTHON_VERSION_BYTES 16

/* Memory of a process. */
struct python_memory {
	/* All of these bytes or false. */
	bool (*read)(void *data, u64 address, void *ret_bytes, size_t size);
	void *data;
};

/* ret_version: "3.11.2", "" where it is not known. -EAGAIN: the interpreter has not begun to run, or runs no code now: then ret_process
 * is set, as its threads say, and no frame has confirmed it;
 * -EILSEQ: its threads and frames are not what they should be, which may be so since they run: refused where it stays so; -ENOTSUP: its
 * frames are not read. err says why, of all. Blocks for some ms at most. */
int python_runtime_open(const struct python_memory *memory, const struct python_symbols *symbols,
			char ret_version[PYTHON_VERSION_BYTES], struct python_process *ret_process,
			struct err *err);

/* Memory of the process with this id; data: where the id stands. */
bool python_memory_of_process(void *pid, u64 address, void *ret_bytes, size_t size);

#endif
