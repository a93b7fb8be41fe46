/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "inject/inject_filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "process/proc_file.h"
#include "base/cleanup.h"

#ifndef PTRACE_SECCOMP_GET_FILTER
#define PTRACE_SECCOMP_GET_FILTER 0x420c
#endif
#define FILTERS_MAX 64

/* What our code, dlopen, the agent and the end of its thread take at the least. */
static const struct {
	u32 number;
	const char *name;
} calls[] = {
	{SYS_mmap, "mmap"},
	{SYS_munmap, "munmap"},
	{SYS_mprotect, "mprotect"},
	{SYS_madvise, "madvise"},
	{SYS_openat, "openat"},
	{SYS_read, "read"},
	{SYS_pread64, "pread64"},
	{SYS_fstat, "fstat"},
	{SYS_newfstatat, "newfstatat"},
	{SYS_close, "close"},
	{SYS_futex, "futex"},
	{SYS_poll, "poll"},
	{SYS_flock, "flock"},
	{SYS_nanosleep, "nanosleep"},
	{SYS_clock_nanosleep, "clock_nanosleep"},
	{SYS_gettid, "gettid"},
	{SYS_getpid, "getpid"},
	{SYS_prctl, "prctl"},
	{SYS_time, "time"},
	{SYS_set_robust_list, "set_robust_list"},
	{SYS_rt_sigprocmask, "rt_sigprocmask"},
	{SYS_rt_sigreturn, "rt_sigreturn"},
	{SYS_exit, "exit"},
};

/* What the borrowed thread does besides while its filters are held up. */
static const u32 start_calls[] = {SYS_memfd_create, SYS_clone, SYS_clone3};

struct machine {
	struct seccomp_data data;
	u32 accumulator, index, memory[BPF_MEMWORDS];
};

static u32 calculate(u16 operation, u32 left, u32 right)
{
	switch (operation) {
	case BPF_ADD:
		return left + right;
	case BPF_SUB:
		return left - right;
	case BPF_MUL:
		return left * right;
	case BPF_DIV:
		return right ? left / right : 0;
	case BPF_AND:
		return left & right;
	case BPF_OR:
		return left | right;
	case BPF_XOR:
		return left ^ right;
	case BPF_LSH:
		return right < 32 ? left << right : 0;
	case BPF_RSH:
		return right < 32 ? left >> right : 0;
	default:
		return -left; /* BPF_NEG */
	}
}

static bool jumps(u16 operation, u32 left, u32 right)
{
	switch (operation) {
	case BPF_JEQ:
		return left == right;
	case BPF_JGT:
		return left > right;
	case BPF_JGE:
		return left >= right;
	default:
		return left & right; /* BPF_JSET */
	}
}

static u32 value_load(const struct machine *machine, const struct sock_filter *at)
{
	u32 word = 0;

	switch (BPF_MODE(at->code)) {
	case BPF_IMM:
		return at->k;
	case BPF_MEM:
		return at->k < BPF_MEMWORDS ? machine->memory[at->k] : 0;
	case BPF_LEN:
		return sizeof(machine->data);
	default: /* BPF_ABS */
		if (at->k <= sizeof(machine->data) - sizeof(word))
			memcpy(&word, (const char *)&machine->data + at->k, sizeof(word));
		return word;
	}
}

static void step(struct machine *machine, const struct sock_filter *at)
{
	u32 operand = BPF_SRC(at->code) == BPF_X ? machine->index : at->k;

	switch (BPF_CLASS(at->code)) {
	case BPF_LD:
		machine->accumulator = value_load(machine, at);
		break;
	case BPF_LDX:
		machine->index = value_load(machine, at);
		break;
	case BPF_ST:
	case BPF_STX:
		if (at->k < BPF_MEMWORDS)
			machine->memory[at->k] = BPF_CLASS(at->code) == BPF_ST
							 ? machine->accumulator
							 : machine->index;
		break;
	case BPF_ALU:
		machine->accumulator = calculate(BPF_OP(at->code), machine->accumulator, operand);
		break;
	case BPF_MISC:
		if (BPF_MISCOP(at->code) == BPF_TAX)
			machine->index = machine->accumulator;
		else
			machine->accumulator = machine->index;
		break;
	default:
		break;
	}
}

u32 inject_filter_run(const struct sock_filter *program, size_t count, u32 number)
{
	struct machine machine = {.data = {.nr = (int)number, .arch = AUDIT_ARCH_X86_64}};

	/* Jumps only lead forward, so it ends. */
	for (size_t i = 0; i < count; i++) {
		const struct sock_filter *at = &program[i];
		u32 operand = BPF_SRC(at->code) == BPF_X ? machine.index : at->k;

		if (BPF_CLASS(at->code) == BPF_RET)
			return BPF_RVAL(at->code) == BPF_A ? machine.accumulator : at->k;
		if (BPF_CLASS(at->code) != BPF_JMP)
			step(&machine, at);
		else if (BPF_OP(at->code) == BPF_JA)
			i += at->k;
		else
			i += jumps(BPF_OP(at->code), machine.accumulator, operand) ? at->jt
										   : at->jf;
	}
	return SECCOMP_RET_KILL_PROCESS;
}

int inject_filter_mode(int proc_fd, u32 tid, u32 *ret_mode)
{
	_cleanup_free_ char *status = NULL;
	u64 mode = SECCOMP_MODE_DISABLED;
	char path[64];

	snprintf(path, sizeof(path), "task/%u/status", tid);
	if (proc_file_read(proc_fd, path, &status, NULL))
		return -ESRCH;
	/* No such line: a kernel without seccomp. */
	proc_status_number(status, "Seccomp", 10, &mode);
	*ret_mode = (u32)mode;
	return 0;
}

static bool kills(u32 action)
{
	action &= SECCOMP_RET_ACTION_FULL;
	return action == SECCOMP_RET_KILL_PROCESS || action == SECCOMP_RET_KILL_THREAD ||
	       action == SECCOMP_RET_TRAP;
}

/* How many instructions; -ENOENT: there is no such one; -1: it cannot be read. */
static long read_filter(u32 tid, unsigned long n, struct sock_filter program[BPF_MAXINSNS])
{
	long count = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, n, NULL);

	if (count >= 0 && count <= BPF_MAXINSNS)
		count = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, n, program);
	if (count < 0 && errno == ENOENT && n)
		return -ENOENT;
	return count < 0 || count > BPF_MAXINSNS ? -1 : count;
}

bool inject_filter_allows(u32 tid, u32 number)
{
	struct sock_filter program[BPF_MAXINSNS];

	for (unsigned long n = 0; n < FILTERS_MAX; n++) {
		long count = read_filter(tid, n, program);

		if (count < 0)
			return count == -ENOENT;
		if ((inject_filter_run(program, (size_t)count, number) & SECCOMP_RET_ACTION_FULL) !=
		    SECCOMP_RET_ALLOW)
			return false;
	}
	return false;
}

int inject_filter_check(u32 tid, bool *ret_kills_start, struct err *err)
{
	struct sock_filter program[BPF_MAXINSNS];

	*ret_kills_start = false;

	for (unsigned long n = 0; n < FILTERS_MAX; n++) {
		long count = read_filter(tid, n, program);

		if (count == -ENOENT)
			return 0;
		if (count < 0)
			return err_set(err, -EOPNOTSUPP,
				       "it has a system call filter (seccomp) that cannot be read, "
				       "and that may kill it for what the agent does");
		for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
			if (kills(inject_filter_run(program, (size_t)count, calls[i].number)))
				return err_set(
					err, -EOPNOTSUPP,
					"its system call filter (seccomp) would kill it at %s, "
					"which the agent calls",
					calls[i].name);
		for (size_t i = 0; i < ARRAY_SIZE(start_calls); i++)
			*ret_kills_start |=
				kills(inject_filter_run(program, (size_t)count, start_calls[i]));
	}
	return err_set(err, -EOPNOTSUPP, "it has more than %d system call filters", FILTERS_MAX);
}
