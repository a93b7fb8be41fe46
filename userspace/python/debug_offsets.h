/* SPDX-License-Identifier: GPL-2.0-or-later */
/* _Py_DebugOffsets, with which _PyRuntime begins from Python 3.13 on, as far as it is read: each minor version has fields of its own. */
#ifndef GPUPROBE_PYTHON_DEBUG_OFFSETS_H
#define GPUPROBE_PYTHON_DEBUG_OFFSETS_H

#include "base/types.h"

#define DEBUG_OFFSETS_COOKIE "xdebugpy"

struct debug_offsets_3_13 {
	char cookie[8];
	u64 version;
	u64 free_threaded;
	struct {
		u64 size, finalizing, interpreters_head;
	} runtime_state;
	struct {
		u64 size, id, next, threads_head, gc, imports_modules, sysdict, builtins, ceval_gil, gil_runtime_state,
			gil_runtime_state_enabled, gil_runtime_state_locked, gil_runtime_state_holder;
	} interpreter_state;
	struct {
		u64 size, prev, next, interp, current_frame, thread_id, native_thread_id, datastack_chunk, status;
	} thread_state;
	struct {
		u64 size, previous, executable, instr_ptr, localsplus, owner;
	} interpreter_frame;
	struct {
		u64 size, filename, name, qualname, linetable, firstlineno, argcount, localsplusnames, localspluskinds,
			co_code_adaptive;
	} code_object;
};

struct debug_offsets_3_14 {
	char cookie[8];
	u64 version;
	u64 free_threaded;
	struct {
		u64 size, finalizing, interpreters_head;
	} runtime_state;
	struct {
		u64 size, id, next, threads_head, threads_main, gc, imports_modules, sysdict, builtins, ceval_gil, gil_runtime_state,
			gil_runtime_state_enabled, gil_runtime_state_locked, gil_runtime_state_holder, code_object_generation,
			tlbc_generation;
	} interpreter_state;
	struct {
		u64 size, prev, next, interp, current_frame, thread_id, native_thread_id, datastack_chunk, status;
	} thread_state;
	struct {
		u64 size, previous, executable, instr_ptr, localsplus, owner, stackpointer, tlbc_index;
	} interpreter_frame;
	struct {
		u64 size, filename, name, qualname, linetable, firstlineno, argcount, localsplusnames, localspluskinds,
			co_code_adaptive, co_tlbc;
	} code_object;
};

struct debug_offsets_3_15 {
	char cookie[8];
	u64 version;
	u64 free_threaded;
	struct {
		u64 size, finalizing, interpreters_head;
	} runtime_state;
	struct {
		u64 size, id, next, threads_head, threads_main, gc, imports_modules, sysdict, builtins, ceval_gil, gil_runtime_state,
			gil_runtime_state_enabled, gil_runtime_state_locked, gil_runtime_state_holder, code_object_generation,
			tlbc_generation;
	} interpreter_state;
	struct {
		u64 size, prev, next, interp, current_frame, base_frame, last_profiled_frame, last_profiled_frame_seq, thread_id,
			native_thread_id, datastack_chunk, status, holds_gil, gil_requested, current_exception, exc_state;
	} thread_state;
	struct {
		u64 exc_value;
	} err_stackitem;
	struct {
		u64 size, previous, executable, instr_ptr, localsplus, owner, stackpointer, tlbc_index;
	} interpreter_frame;
	struct {
		u64 size, filename, name, qualname, linetable, firstlineno, argcount, localsplusnames, localspluskinds,
			co_code_adaptive, co_tlbc;
	} code_object;
};

#endif
