/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a session program runs at its function's return. The includer has defined PREEMPTION_FLAVOUR (preemption.h),
 * since each file needs names of its own here too.
 */
#ifndef GPUPROBE_BPF_SESSION_RETURN_H
#define GPUPROBE_BPF_SESSION_RETURN_H

#include "preemption.h"

#define SESSION_NAME(name, flavour)    SESSION_JOIN(name, flavour)
#define SESSION_JOIN(name, flavour)    bpf_session_is_return___##flavour##_##name
#define session_is_return_with_context SESSION_NAME(with_context, PREEMPTION_FLAVOUR)
#define session_is_return_alone	       SESSION_NAME(alone, PREEMPTION_FLAVOUR)

/* From 7.x on the kfunc takes the context. */
extern bool session_is_return_alone(void) __ksym __weak;
extern bool session_is_return_with_context(void *context) __ksym __weak;

static __always_inline bool session_is_return(struct pt_regs *registers)
{
	if (bpf_ksym_exists(session_is_return_with_context))
		return session_is_return_with_context(registers);
	if (bpf_ksym_exists(session_is_return_alone))
		return session_is_return_alone();
	return false;
}

#endif
