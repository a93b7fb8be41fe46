/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an interpreter of CPython is known by, in a file that has one. Files are the target's, and untrusted. */
#ifndef GPUPROBE_PYTHON_PYTHON_SYMBOLS_H
#define GPUPROBE_PYTHON_PYTHON_SYMBOLS_H

#include "base/types.h"
#include "../bpf/python_layout.h"

/* Where a file, or a process, has what an interpreter is known by. */
struct python_symbols {
	u64 runtime;   /* _PyRuntime */
	u64 version;   /* Py_Version; 0: there is none (before 3.11), */
	unsigned minor; /* but what else there is tells this */
	u64 code_type; /* PyCode_Type */
	u64 this_thread; /* PyGILState_GetThisThreadState() */
	struct python_extent loop, loop_cold; /* _PyEval_EvalFrameDefault, where it is needed; else empty */
};

/* By the dynamic symbols of a file; where it was linked into a program that exports none (libpython.a), by those of its .symtab. -ENOENT:
 * there is no interpreter in it; -ENODATA: there is one, but its symbols were stripped; -ENOTSUP: one that is older than 3.9. fd stays
 * the caller's. */
int python_symbols_find(int fd, const char *path, struct python_symbols *ret_symbols);
/* Where a mapping of the file puts them: start of it, and where in the file it begins. -ENOENT: none of its code is mapped there. */
int python_symbols_place(int fd, const char *path, u64 start, u64 file_offset, struct python_symbols *symbols);

#endif
