/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Filters of system calls as programs have them: what they would do is what the kernel would do. */
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/inject_filter.h"
#include "unit.h"

#define LOAD(offset)	  BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)
#define RETURN(action)	  BPF_STMT(BPF_RET | BPF_K, action)
#define NUMBER		  offsetof(struct seccomp_data, nr)
#define ARCHITECTURE	  offsetof(struct seccomp_data, arch)
#define RUN(filter, nr)	  inject_filter_run(filter, ARRAY_SIZE(filter), nr)
#define JUMP(op, k, t, f) BPF_JUMP(BPF_JMP | (op) | BPF_K, k, t, f)

TEST(list_of_what_is_forbidden)
{
	static const struct sock_filter filter[] = {
		LOAD(ARCHITECTURE),
		JUMP(BPF_JEQ, AUDIT_ARCH_X86_64, 1, 0),
		RETURN(SECCOMP_RET_KILL_PROCESS),
		LOAD(NUMBER),
		JUMP(BPF_JEQ, SYS_mmap, 1, 0),
		JUMP(BPF_JEQ, SYS_clone, 1, 2),
		RETURN(SECCOMP_RET_KILL_THREAD),
		RETURN(SECCOMP_RET_ERRNO | 1),
		RETURN(SECCOMP_RET_ALLOW),
	};

	CHECK_U64(RUN(filter, SYS_mmap), SECCOMP_RET_KILL_THREAD);
	CHECK_U64(RUN(filter, SYS_clone), SECCOMP_RET_ERRNO | 1);
	CHECK_U64(RUN(filter, SYS_read), SECCOMP_RET_ALLOW);
}

/* As libseccomp and Chromium make them: by a tree of ranges. */
TEST(tree_of_ranges)
{
	static const struct sock_filter filter[] = {
		LOAD(NUMBER),
		JUMP(BPF_JGE, 100, 2, 0),
		JUMP(BPF_JGT, 50, 0, 2),
		BPF_STMT(BPF_JMP | BPF_JA, 2),
		JUMP(BPF_JSET, 1, 1, 2),
		RETURN(SECCOMP_RET_TRACE),
		RETURN(SECCOMP_RET_TRAP),
		RETURN(SECCOMP_RET_LOG),
	};

	CHECK_U64(RUN(filter, 101), SECCOMP_RET_TRAP);
	CHECK_U64(RUN(filter, 102), SECCOMP_RET_LOG);
	CHECK_U64(RUN(filter, 51), SECCOMP_RET_TRAP);
	CHECK_U64(RUN(filter, 50), SECCOMP_RET_TRACE);
}

TEST(arithmetic_and_memory)
{
	/* ((nr + 3) * 2 ^ 1) by way of memory and the index, against which it is compared. */
	static const struct sock_filter filter[] = {
		LOAD(NUMBER),
		BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, 3),
		BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, 2),
		BPF_STMT(BPF_ALU | BPF_XOR | BPF_K, 1),
		BPF_STMT(BPF_ST, 7),
		BPF_STMT(BPF_LDX | BPF_W | BPF_IMM, 27),
		BPF_STMT(BPF_LD | BPF_W | BPF_MEM, 7),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 0, 1),
		BPF_STMT(BPF_RET | BPF_A, 0),
		BPF_STMT(BPF_MISC | BPF_TXA, 0),
		BPF_STMT(BPF_ALU | BPF_LSH | BPF_K, 4),
		BPF_STMT(BPF_ALU | BPF_OR | BPF_K, 5),
		BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 7),
		BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, 60),
		BPF_STMT(BPF_ALU | BPF_NEG, 0),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xff),
		BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 1),
		BPF_STMT(BPF_RET | BPF_A, 0),
	};

	CHECK_U64(RUN(filter, 10), 27);
	/* 27 << 4 | 5 = 437; / 7 = 62; - 60 = 2; -2 & 255 = 254; >> 1 */
	CHECK_U64(RUN(filter, 11), 127);
}

/* The kernel takes none of these; what is read from a target may be anything. */
TEST(damaged_ones_kill_and_read_nothing_else)
{
	static const struct sock_filter ends[] = {LOAD(NUMBER)};
	static const struct sock_filter jumps[] = {BPF_STMT(BPF_JMP | BPF_JA, 0x7fffffff),
						   RETURN(0)};
	static const struct sock_filter outside[] = {
		LOAD(0xfffffffe),
		BPF_STMT(BPF_ST, 1000000),
		BPF_STMT(BPF_LD | BPF_W | BPF_MEM, 1000000),
		BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 0),
		BPF_STMT(BPF_ALU | BPF_LSH | BPF_K, 99),
		BPF_STMT(BPF_RET | BPF_A, 0),
	};

	CHECK_U64(RUN(ends, 1), SECCOMP_RET_KILL_PROCESS);
	CHECK_U64(RUN(jumps, 1), SECCOMP_RET_KILL_PROCESS);
	CHECK_U64(RUN(outside, 1), 0);
	CHECK_U64(inject_filter_run(ends, 0, 1), SECCOMP_RET_KILL_PROCESS);
}

UNIT_MAIN()
