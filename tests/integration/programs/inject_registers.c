/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waits in read() with something known in every register that a system call keeps, and in the red zone, and looks
 * at all of it behind the call. Handlers count what signals carry.
 *
 * Input: a byte ends a wait. After each: "same" or what differs. At the end of input: "signals COUNT SUM".
 */
#include <immintrin.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_long signals, sum;

static void handler(int number, siginfo_t *info, void *context)
{
	signals++;
	sum += info->si_value.sival_int;
}

struct state {
	uint64_t general[12]; /* rbx rbp r12-r15, rdi rsi rdx r8 r9 r10 */
	uint64_t red_zone[16];
	uint32_t mxcsr;
	uint16_t control;
	uint8_t vectors[16][32] __attribute__((aligned(32)));
};

#define RED_SAVE(n)    "mov " #n "*8-128(%%rsp), %%rax\n mov %%rax, 96+" #n "*8(%%rcx)\n"
#define RED_LOAD(n)    "mov 96+" #n "*8(%%rcx), %%rax\n mov %%rax, " #n "*8-128(%%rsp)\n"
#define RED(f)	       f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11) f(12) f(13) f(14) f(15)
#define VECTOR_LOAD(n) "vmovdqa 256+" #n "*32(%%rcx), %%ymm" #n "\n"
#define VECTOR_SAVE(n) "vmovdqa %%ymm" #n ", 256+" #n "*32(%%rcx)\n"

_Static_assert(offsetof(struct state, vectors) == 256, "offsets in the assembler");

/* In one piece of assembler, so that nothing else touches a register. */
static long __attribute__((noinline, target("avx2")))
wait_in_read(struct state *before, struct state *after, char *byte)
{
	long result;
	struct state *states[2] = {before, after};

	/* clang-format off */
	__asm__ volatile(
		"sub $256, %%rsp\n" /* over the compiler's own red zone */
		"push %%rbx\n push %%rbp\n push %%r12\n push %%r13\n push %%r14\n push %%r15\n"
		"push %[states]\n"
		"push %[byte]\n"
		/* So that our stack can be followed to its end. */
		".cfi_remember_state\n .cfi_adjust_cfa_offset 320\n"
		".cfi_rel_offset rbx, 56\n .cfi_rel_offset rbp, 48\n .cfi_rel_offset r12, 40\n"
		".cfi_rel_offset r13, 32\n .cfi_rel_offset r14, 24\n .cfi_rel_offset r15, 16\n"
		"mov (%[states]), %%rcx\n"
		RED(RED_LOAD)
		RED(VECTOR_LOAD)
		"ldmxcsr 224(%%rcx)\n fldcw 228(%%rcx)\n"
		"mov 0(%%rcx), %%rbx\n mov 8(%%rcx), %%rbp\n mov 16(%%rcx), %%r12\n"
		"mov 24(%%rcx), %%r13\n mov 32(%%rcx), %%r14\n mov 40(%%rcx), %%r15\n"
		"mov 72(%%rcx), %%r8\n mov 80(%%rcx), %%r9\n mov 88(%%rcx), %%r10\n"
		"xor %%edi, %%edi\n mov (%%rsp), %%rsi\n mov $1, %%edx\n xor %%eax, %%eax\n"
		"syscall\n"
		"mov %%rax, %%r11\n"
		"mov 8(%%rsp), %%rcx\n mov 8(%%rcx), %%rcx\n"
		RED(VECTOR_SAVE)
		"stmxcsr 224(%%rcx)\n fstcw 228(%%rcx)\n"
		"mov %%rbx, 0(%%rcx)\n mov %%rbp, 8(%%rcx)\n mov %%r12, 16(%%rcx)\n"
		"mov %%r13, 24(%%rcx)\n mov %%r14, 32(%%rcx)\n mov %%r15, 40(%%rcx)\n"
		"mov %%rdi, 48(%%rcx)\n mov %%rsi, 56(%%rcx)\n mov %%rdx, 64(%%rcx)\n"
		"mov %%r8, 72(%%rcx)\n mov %%r9, 80(%%rcx)\n mov %%r10, 88(%%rcx)\n"
		RED(RED_SAVE)
		"pop %%rax\n pop %%rax\n"
		"pop %%r15\n pop %%r14\n pop %%r13\n pop %%r12\n pop %%rbp\n pop %%rbx\n"
		"add $256, %%rsp\n"
		".cfi_restore_state\n"
		"mov %%r11, %[result]\n"
		: [result] "=&d"(result)
		: [states] "S"(states), [byte] "D"(byte)
		: "rax", "rcx", "r8", "r9", "r10", "r11", "memory", "cc", "xmm0", "xmm1", "xmm2",
		  "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
		  "xmm13", "xmm14", "xmm15");
	/* clang-format on */
	return result;
}

static void fill(struct state *state, unsigned seed, char *byte)
{
	memset(state, 0, sizeof(*state));
	for (unsigned i = 0; i < 12; i++)
		state->general[i] = 0x0101010101010101ULL * (seed + i);
	state->general[6] = 0;
	state->general[7] = (uint64_t)byte;
	state->general[8] = 1;
	for (unsigned i = 0; i < 16; i++)
		state->red_zone[i] = 0x1111111111111111ULL * i + seed;
	for (unsigned i = 0; i < 16; i++)
		memset(state->vectors[i], (int)(seed * 16 + i), sizeof(state->vectors[i]));
	state->mxcsr = 0x1f80 | (seed & 3) << 13; /* how it rounds */
	state->control = (uint16_t)(0x37f | (seed & 3) << 10);
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct state before, after;
	char byte;

	setvbuf(stdout, NULL, _IOLBF, 0);
	sigaction(SIGRTMIN, &action, NULL);
	printf("ready\n");
	for (unsigned seed = 1;; seed++) {
		long result;

		fill(&before, seed, &byte);
		memset(&after, 0, sizeof(after));
		result = wait_in_read(&before, &after, &byte);
		__asm__ volatile("ldmxcsr %0" ::"m"((uint32_t){0x1f80}));
		if (result <= 0)
			break;
		if (!memcmp(&before, &after, sizeof(before)))
			printf("same\n");
		else
			for (size_t i = 0; i < sizeof(before) / 8; i++)
				if (((uint64_t *)&before)[i] != ((uint64_t *)&after)[i])
					printf("word %zu: %#llx, was %#llx\n", i,
					       (unsigned long long)((uint64_t *)&after)[i],
					       (unsigned long long)((uint64_t *)&before)[i]);
	}
	printf("signals %ld %ld\n", (long)signals, (long)sum);
	return 0;
}
