/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that begin and end with every instruction that a probe may have to stand in for, called with values in
 * all registers. Checks its own results: a wrong ip, sp, flag or register shows as a failure, or kills it.
 */
#include "protocol.h"

#define ROUNDS 100

#define FUNCTION(name, code)                                                              \
	__asm__(".text\n.p2align 4\n.globl " #name "\n.type " #name ", @function\n" #name \
		":\n" code "\n.size " #name ", . - " #name "\n");                         \
	extern char name[];

/* Each gives 42 in rax. */
#define JUMPS(X) \
	X(rax)   \
	X(rcx)   \
	X(rdx) X(rbx) X(rbp) X(rsi) X(rdi) X(r8) X(r9) X(r10) X(r11) X(r12) X(r13) X(r14) X(r15)
#define RESULT "mov $42, %eax\n"

FUNCTION(jump_target, RESULT "ret")
#define JUMP(name)            \
	FUNCTION(jump_##name, \
		 "push %rcx\npop %rcx\nlea jump_target(%rip), %" #name "\njmp *%" #name)
JUMPS(JUMP)
FUNCTION(plain_ret, RESULT "ret")
FUNCTION(rep_ret, RESULT "rep ret")
FUNCTION(bnd_ret, RESULT ".byte 0xf2\n ret")
FUNCTION(endbr_ret, "endbr64\n" RESULT "ret")
FUNCTION(endbr_sub, "endbr64\nsub $24, %rsp\n" RESULT "add $24, %rsp\nret")
FUNCTION(endbr_push, "endbr64\npush %rbx\n" RESULT "pop %rbx\nret")
FUNCTION(endbr_jump, "endbr64\njmp jump_target")
FUNCTION(jump_direct, "jmp jump_target")
FUNCTION(jump_memory, "push %rcx\npop %rcx\njmp *jump_slot(%rip)")
FUNCTION(jump_if_zero, "test %rdi, %rdi\nje jump_target\n" RESULT "ret")
FUNCTION(jump_if_not, "test %rdi, %rdi\njne jump_target\n" RESULT "ret")
FUNCTION(loops, "dec %rdi\njnz loops\n" RESULT "ret")
/* They leave everything as it is. */
FUNCTION(single_ret, "ret")
FUNCTION(endbr_single_ret, "endbr64\nret")
FUNCTION(keeps, "endbr64\nlea -64(%rsp), %rsp\nlea 64(%rsp), %rsp\nret")
/* Two arguments on the stack, which it takes off. */
FUNCTION(ret_n, "mov 8(%rsp), %rax\nadd 16(%rsp), %rax\nret $16")
FUNCTION(ret_n_deep,
	 "endbr64\nsub $8, %rsp\nmov 16(%rsp), %rax\nadd 24(%rsp), %rax\nadd $8, %rsp\nret $16")

void *jump_slot = jump_target;

#define PUSH_ALL "push %%rbx\npush %%rbp\npush %%r12\npush %%r13\npush %%r14\npush %%r15\n"
#define POP_ALL	 "pop %%r15\npop %%r14\npop %%r13\npop %%r12\npop %%rbp\npop %%rbx\n"
#define CHANGED	 "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc"

/* Of a function that may change every register. The red zone is stepped over. */
static long call(void *function, long argument)
{
	long result;

	__asm__ volatile("sub $128, %%rsp\n" PUSH_ALL "call *%1\n" POP_ALL "add $128, %%rsp\n"
			 : "=a"(result), "+r"(function), "+D"(argument)
			 :
			 : CHANGED);
	return result;
}

/* Two numbers; sp must be the same again. */
static long call_with_two(void *function, long a, long b)
{
	long result, lost;

	__asm__ volatile("sub $128, %%rsp\nmov %%rsp, %%rbx\npush %3\npush %4\ncall *%2\n"
			 "sub %%rsp, %%rbx\nmov %%rbx, %1\nadd %%rbx, %%rsp\nadd $128, %%rsp\n"
			 : "=&a"(result), "=&d"(lost)
			 : "r"(function), "r"(a), "r"(b)
			 : "rbx", "rcx", "rsi", "rdi", "memory", "cc");
	return lost ? -1 : result;
}

/* All flags that arithmetic sets, and registers; 0 when they are the same behind the call. */
static long call_that_keeps(void *function, unsigned long flags)
{
	unsigned long changed;

	__asm__ volatile("sub $128, %%rsp\n" PUSH_ALL "push %2\nmov %1, %%rax\n"
			 "mov $1, %%ebx\nmov $2, %%ecx\nmov $3, %%edx\nmov $4, %%esi\nmov $5, "
			 "%%edi\nmov $6, %%ebp\n"
			 "mov $8, %%r8d\nmov $9, %%r9d\nmov $10, %%r10d\nmov $11, %%r11d\n"
			 "mov $12, %%r12d\nmov $13, %%r13d\nmov $14, %%r14d\nmov $15, %%r15d\n"
			 "popf\ncall *%%rax\npushf\n"
			 "add %%rbx, %%rcx\nadd %%rcx, %%rdx\nadd %%rdx, %%rsi\nadd %%rsi, "
			 "%%rdi\nadd %%rdi, %%rbp\n"
			 "add %%rbp, %%r8\nadd %%r8, %%r9\nadd %%r9, %%r10\nadd %%r10, %%r11\nadd "
			 "%%r11, %%r12\n"
			 "add %%r12, %%r13\nadd %%r13, %%r14\nadd %%r14, %%r15\nmov %%r15, %%rdx\n"
			 "pop %%rcx\n" POP_ALL "add $128, %%rsp\n"
			 "sub $113, %%rdx\nmov %%rcx, %%rax\nand $0x8d5, %%eax\n"
			 : "=&a"(changed), "+D"(function), "+S"(flags)
			 :
			 : "rcx", "rdx", "r8", "r9", "r10", "r11", "memory", "cc");
	return changed;
}

static unsigned long run_jumps(void)
{
	static void *const functions[] = {
#define ADDRESS(name) jump_##name,
		JUMPS(ADDRESS)
#undef ADDRESS
			plain_ret,
		rep_ret,
		bnd_ret,
		endbr_ret,
		endbr_sub,
		endbr_push,
		endbr_jump,
		jump_direct,
		jump_memory,
		jump_if_not,
	};
	unsigned long failures = 0;

	for (unsigned long i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		failures += call(functions[i], 1) != 42;
	failures += call(jump_if_zero, 0) != 42;
	failures += call(jump_if_zero, 1) != 42;
	failures += call(jump_if_not, 0) != 42;
	failures += call(loops, 10) != 42;
	return failures;
}

static unsigned long run_flags(void)
{
	static const unsigned long flags[] = {0x202, 0x203, 0x206, 0x212,
					      0x242, 0x282, 0xa02, 0xad7};
	static void *const functions[] = {single_ret, endbr_single_ret, keeps};
	unsigned long failures = 0;

	for (int f = 0; f < 8; f++)
		for (int i = 0; i < 3; i++)
			failures += (unsigned long)call_that_keeps(functions[i], flags[f]) !=
				    (flags[f] & 0x8d5);
	return failures;
}

int main(void)
{
	unsigned long failures = 0;

	protocol_begin();
	for (int i = 0; i < ROUNDS; i++) {
		failures += run_jumps() + run_flags();
		failures += call_with_two(ret_n, i, 1) != i + 1;
		failures += call_with_two(ret_n_deep, i, 1) != i + 1;
	}
#define COUNT(name) protocol_count("jump_" #name, ROUNDS);
	JUMPS(COUNT)
	protocol_count("plain_ret", ROUNDS);
	protocol_count("rep_ret", ROUNDS);
	protocol_count("bnd_ret", ROUNDS);
	protocol_count("endbr_ret", ROUNDS);
	protocol_count("endbr_sub", ROUNDS);
	protocol_count("endbr_push", ROUNDS);
	protocol_count("endbr_jump", ROUNDS);
	protocol_count("jump_direct", ROUNDS);
	protocol_count("jump_memory", ROUNDS);
	protocol_count("jump_if_zero", 2 * ROUNDS);
	protocol_count("jump_if_not", 2 * ROUNDS);
	protocol_count("jump_target", (15 + 3 + 1 + 1) * ROUNDS);
	protocol_count("loops", 10 * ROUNDS);
	protocol_count("single_ret", 8 * ROUNDS);
	protocol_count("endbr_single_ret", 8 * ROUNDS);
	protocol_count("keeps", 8 * ROUNDS);
	protocol_count("ret_n", ROUNDS);
	protocol_count("ret_n_deep", ROUNDS);
	protocol_count("failures", failures);
	protocol_end();
	return 0;
}
