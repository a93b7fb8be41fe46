/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions in assembler that end in every way in which functions do, called with their results checked: they are
 * what a probe on a wrong byte, an instruction done twice, or a stack pointer off by one would show in.
 */
#include "protocol.h"

#define ROUNDS 500

/* clang-format off */
#define FUNCTION(name, code)                                       \
	__asm__(".text\n.p2align 4\n.type " #name ", @function\n"  \
		#name ":\n" code "\n.size " #name ", . - " #name "\n")
/* clang-format on */

/* Nothing but the exit: entry and exit are one instruction. */
FUNCTION(single_return, "ret");
FUNCTION(single_repeated_return, "rep; ret");
FUNCTION(single_jump, "jmp plus_one");

FUNCTION(plus_one, "lea 1(%rdi), %rax\n ret");
FUNCTION(repeated_return, "lea 2(%rdi), %rax\n rep; ret");
FUNCTION(bounded_return, "lea 3(%rdi), %rax\n .byte 0xf2\n ret");
FUNCTION(marked_return, "endbr64\n lea 4(%rdi), %rax\n ret");
FUNCTION(pops_arguments, "mov 8(%rsp), %rax\n add 16(%rsp), %rax\n ret $16");
FUNCTION(jumps_on, "push %rbx\n lea 10(%rdi), %rbx\n mov %rbx, %rdi\n pop %rbx\n jmp plus_one");
FUNCTION(jumps_by_register, "lea 20(%rdi), %rdi\n lea plus_one(%rip), %rax\n jmp *%rax");
FUNCTION(jumps_by_memory, "lea 30(%rdi), %rdi\n jmp *pointer(%rip)");
FUNCTION(jumps_if_odd, "test $1, %dil\n jne plus_one\n lea 100(%rdi), %rax\n ret");
FUNCTION(returns_twice_over, "cmp $5, %rdi\n jl 1f\n mov $5, %eax\n ret\n 1: mov %rdi, %rax\n ret");
/* Its first instruction is jumped to: one call, many times through it. */
FUNCTION(loops_to_entry, "add $1, %rdi\n sub $1, %rsi\n jne loops_to_entry\n mov %rdi, %rax\n ret");
/* Stores below sp, then has a nop that the kernel would make a call of. */
FUNCTION(red_zone, "mov %rdi, -8(%rsp)\n mov %rdi, -16(%rsp)\n .byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
		   "mov -8(%rsp), %rax\n add -16(%rsp), %rax\n ret");
/* The nop is its first instruction: nothing lies below sp yet. */
FUNCTION(nop_first,
	 ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n mov %rdi, -8(%rsp)\n mov -8(%rsp), %rax\n ret");
/* A value below sp at its exits. */
FUNCTION(red_zone_at_exit, "mov %rdi, -8(%rsp)\n push %rbx\n pop %rbx\n mov %rdi, -8(%rsp)\n mov "
			   "-8(%rsp), %rax\n ret");
/* Flags are its result. */
FUNCTION(returns_flags, "cmp $7, %rdi\n ret");

__asm__(".data\n.p2align 3\npointer: .quad plus_one\n.text");

extern void single_return(void), single_repeated_return(void);
extern long single_jump(long), plus_one(long), repeated_return(long), bounded_return(long),
	marked_return(long);
extern long jumps_on(long), jumps_by_register(long), jumps_by_memory(long), jumps_if_odd(long);
extern long returns_twice_over(long), loops_to_entry(long, long), red_zone(long), nop_first(long);
extern long red_zone_at_exit(long);

/* Calls a function with all registers that it must keep, and the stack's words, set to known values. */
static unsigned long call_keeping(void (*function)(void))
{
	unsigned long wrong;

	__asm__ volatile(
		"sub $256, %%rsp\n"
		"push $0x1234\n push $0x5678\n"
		"mov $0x1111, %%rbx\n mov $0x2222, %%r12\n mov $0x3333, %%r15\n mov $0x4444, "
		"%%rax\n"
		"mov %%rsp, %%r13\n"
		"call *%[function]\n"
		"xor %%rsp, %%r13\n xor $0x1111, %%rbx\n xor $0x2222, %%r12\n xor $0x3333, %%r15\n"
		"xor $0x4444, %%rax\n"
		"or %%r13, %%rbx\n or %%r12, %%rbx\n or %%r15, %%rbx\n or %%rax, %%rbx\n"
		"pop %%rax\n xor $0x5678, %%rax\n or %%rax, %%rbx\n"
		"pop %%rax\n xor $0x1234, %%rax\n or %%rax, %%rbx\n"
		"add $256, %%rsp\n"
		"mov %%rbx, %[wrong]\n"
		: [wrong] "=r"(wrong)
		: [function] "r"(function)
		: "rax", "rbx", "r12", "r13", "r15", "cc", "memory");
	return wrong != 0;
}

static long call_pops_arguments(long one, long two)
{
	long sum;

	__asm__ volatile("mov %%rsp, %%r12\n sub $256, %%rsp\n and $-16, %%rsp\n mov %%rsp, %%rbx\n"
			 "push %[two]\n push %[one]\n call pops_arguments\n"
			 "sub %%rsp, %%rbx\n add %%rbx, %%rax\n mov %%r12, %%rsp\n"
			 : "=&a"(sum)
			 : [one] "r"(one), [two] "r"(two)
			 : "rbx", "r12", "cc", "memory");
	return sum;
}

static int call_returns_flags(long value)
{
	unsigned char below;

	__asm__ volatile("sub $256, %%rsp\n call returns_flags\n setl %[below]\n add $256, %%rsp\n"
			 : [below] "=&r"(below)
			 : "D"(value)
			 : "cc", "memory");
	return below;
}

static unsigned long call_all(long i)
{
	unsigned long failures = 0;

	failures += call_keeping(single_return);
	failures += call_keeping(single_repeated_return);
	failures += single_jump(i) != i + 1;
	failures += repeated_return(i) != i + 2;
	failures += bounded_return(i) != i + 3;
	failures += marked_return(i) != i + 4;
	failures += call_pops_arguments(i, 2 * i) != 3 * i;
	failures += jumps_on(i) != i + 11;
	failures += jumps_by_register(i) != i + 21;
	failures += jumps_by_memory(i) != i + 31;
	failures += jumps_if_odd(i) != (i % 2 ? i + 1 : i + 100);
	failures += returns_twice_over(i) != (i < 5 ? i : 5);
	failures += loops_to_entry(i, 10) != i + 10;
	failures += red_zone(i) != 2 * i;
	failures += nop_first(i) != i;
	failures += red_zone_at_exit(i) != i;
	failures += call_returns_flags(i) != (i < 7);
	return failures;
}

int main(void)
{
	static const char *const once[] = {"single_return",	"single_repeated_return",
					   "single_jump",	"repeated_return",
					   "bounded_return",	"marked_return",
					   "pops_arguments",	"jumps_on",
					   "jumps_by_register", "jumps_by_memory",
					   "jumps_if_odd",	"returns_twice_over",
					   "red_zone",		"nop_first",
					   "red_zone_at_exit",	"returns_flags"};
	unsigned long failures = 0;

	protocol_begin();
	for (long i = 0; i < ROUNDS; i++)
		failures += call_all(i);
	for (size_t i = 0; i < sizeof(once) / sizeof(once[0]); i++)
		protocol_count(once[i], ROUNDS);
	protocol_count("loops_to_entry", 10 * ROUNDS);
	protocol_count("plus_one", 4 * ROUNDS + ROUNDS / 2);
	protocol_count("failures", failures);
	protocol_end();
	return 0;
}
