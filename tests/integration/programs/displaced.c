/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A function for every kind of first instruction that a probe's program does itself, with every register, each with
 * a twin of the same bytes that has no name and hence no probe. Both are called with the same values in all registers
 * and flags and must leave the same behind.
 */
#include <stdint.h>
#include <string.h>

#include "protocol.h"

#define ROUNDS 10
#define FLAGS  0x8d5

/* name, a pair of the same code, the name as text. */
__asm__(".macro pair name, code\n"
	".text\n.p2align 4\n.type \\name, @function\n\\name: \\code\n.size \\name, . - \\name\n"
	".p2align 4\n.Ltwin\\@: \\code\n"
	".section .rodata\n.Lname\\@: .asciz \"\\name\"\n"
	".section .data.rel,\"aw\"\n.quad \\name, .Ltwin\\@, .Lname\\@\n.text\n.endm\n"
	".macro forms full, half\n"
	"pair mov_\\full, \"mov %rcx, %\\full; ret\"\n"
	"pair mov_half_\\full, \"mov %esi, %\\half; ret\"\n"
	"pair mov_constant_\\full, \"mov $-5, %\\full; ret\"\n"
	"pair mov_half_constant_\\full, \"mov $0x87654321, %\\half; ret\"\n"
	"pair movabs_\\full, \"movabs $0x123456789abcdef0, %\\full; ret\"\n"
	"pair lea_\\full, \"lea 5(%rdx,%rcx,4), %\\full; ret\"\n"
	"pair lea_half_\\full, \"lea -1(%r13,%\\full), %\\half; ret\"\n"
	"pair lea_stack_\\full, \"lea 24(%rsp), %\\full; ret\"\n"
	"pair lea_code_\\full, \"lea registers_in(%rip), %\\full; ret\"\n"
	"pair xor_self_\\full, \"xor %\\half, %\\half; ret\"\n"
	"pair xor_\\full, \"xor %rcx, %\\full; ret\"\n"
	"pair add_\\full, \"add $-100, %\\full; ret\"\n"
	"pair sub_\\full, \"sub $5, %\\half; ret\"\n"
	"pair cmp_\\full, \"cmp %rsi, %\\full; ret\"\n"
	"pair test_\\full, \"test %\\half, %\\half; ret\"\n"
	"pair and_\\full, \"and %rdx, %\\full; ret\"\n"
	"pair or_\\full, \"or $0x80, %\\half; ret\"\n"
	"pair movslq_\\full, \"movslq %ecx, %\\full; ret\"\n"
	"pair movzbl_\\full, \"movzbl %cl, %\\half; ret\"\n"
	"pair movsbq_\\full, \"movsbq %cl, %\\full; ret\"\n"
	"pair frame_\\full, \"sub $24, %rsp; mov %rcx, %\\full; add $24, %rsp; ret\"\n"
	".endm\n"
	".section .data.rel,\"aw\"\n.p2align 3\npairs:\n"
	"forms rax, eax\nforms rcx, ecx\nforms rdx, edx\nforms rbx, ebx\nforms rbp, ebp\n"
	"forms rsi, esi\nforms rdi, edi\nforms r8, r8d\nforms r9, r9d\nforms r10, r10d\n"
	"forms r11, r11d\nforms r12, r12d\nforms r13, r13d\nforms r14, r14d\nforms r15, r15d\n"
	"pair endbr, \"endbr64; ret\"\n"
	"pair long_nop, \"nopl 0x12345678(%rax); ret\"\n"
	"pair frame_stores, \"sub $16, %rsp; mov %rdi, 8(%rsp); mov %rcx, %rax; mov 8(%rsp), %rdx; "
	"add $16, %rsp; ret\"\n"
	"pair frame_calls, \"sub $4096, %rsp; call called; add $4096, %rsp; ret\"\n"
	"pair load_then_move, \"mov pairs(%rip), %rax; mov %rcx, %r11; ret\"\n"
	"pair reads_flags, \"mov %rcx, %rax; adc %rdx, %rax; ret\"\n"
	"pair compares, \"cmp %rcx, %rdx; setg %al; ret\"\n"
	".section .data.rel,\"aw\"\n.quad 0\n.text\n");

struct pair {
	void *probed, *twin;
	const char *name;
};

extern const struct pair pairs[];

/* By both names alike, and no function of interest. */
__asm__(".text\n.type called, @function\ncalled: ret\n.size called, . - called\n");

/* rax, rcx, rdx, rbx, rbp, rsi, rdi, r8 ... r15, flags. */
#define VALUES 16
uint64_t registers_in[VALUES], registers_out[VALUES];
void *to_call;

#define FIRST(X)	    X(0, rax) X(8, rcx) X(16, rdx) X(24, rbx) X(32, rbp)
#define SECOND(X)	    X(40, rsi) X(48, rdi) X(56, r8) X(64, r9) X(72, r10)
#define THIRD(X)	    X(80, r11) X(88, r12) X(96, r13) X(104, r14) X(112, r15)
#define EACH(X)		    FIRST(X) SECOND(X) THIRD(X)
#define LOAD(offset, name)  "mov registers_in+" #offset "(%rip), %" #name "\n"
#define STORE(offset, name) "mov %" #name ", registers_out+" #offset "(%rip)\n"

/* Calls to_call with registers_in. */
void call_with_registers(void);
__asm__(".text\n.type call_with_registers, @function\ncall_with_registers:\n"
	"push %rbx\npush %rbp\npush %r12\npush %r13\npush %r14\npush %r15\n"
	"push registers_in+120(%rip)\npopf\n" EACH(LOAD) "call *to_call(%rip)\n" EACH(
		STORE) "pushf\npop registers_out+120(%rip)\ncld\n"
		       "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbp\npop %rbx\nret\n"
		       ".size call_with_registers, . - call_with_registers\n");

/* No functions of their own, which would be probed too. */
#define INLINE static inline __attribute__((always_inline))

INLINE uint64_t random_next(void)
{
	static uint64_t state = 0x9e3779b97f4a7c15;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

INLINE uint64_t random_value(void)
{
	static const uint64_t edges[] = {0,
					 1,
					 0x7f,
					 0x80,
					 0x7fffffff,
					 0x80000000,
					 0xffffffff,
					 0x7fffffffffffffff,
					 0x8000000000000000,
					 0xffffffffffffffff};
	uint64_t random = random_next();

	return random & 1 ? random_next() : edges[(random >> 8) % 10];
}

INLINE void call_one(void *function, uint64_t *ret_out)
{
	to_call = function;
	call_with_registers();
	registers_out[VALUES - 1] &= FLAGS;
	memcpy(ret_out, registers_out, sizeof(registers_out));
}

/* The auxiliary carry is undefined behind and, or, xor, test: emulators and processors differ. */
INLINE uint64_t flags_that_count(const char *name)
{
	static const char *const logic[] = {"xor", "and", "or_", "test"};

	for (int i = 0; i < 4; i++)
		if (strncmp(name, logic[i], strlen(logic[i])) == 0)
			return ~0x10ULL;
	return ~0ULL;
}

INLINE unsigned long pair_check(const struct pair *pair)
{
	uint64_t probed[VALUES], twin[VALUES], mask = flags_that_count(pair->name);

	for (int i = 0; i < VALUES; i++)
		registers_in[i] = random_value();
	registers_in[VALUES - 1] = 0x202 | (random_next() & FLAGS);
	call_one(pair->probed, probed);
	call_one(pair->twin, twin);
	probed[VALUES - 1] &= mask;
	twin[VALUES - 1] &= mask;
	for (int i = 0; i < VALUES; i++)
		if (probed[i] != twin[i])
			fprintf(stderr, "%s: value %d is %llx, not %llx\n", pair->name, i,
				(unsigned long long)probed[i], (unsigned long long)twin[i]);
	return memcmp(probed, twin, sizeof(probed)) != 0;
}

int main(void)
{
	unsigned long failures = 0;

	protocol_begin();
	for (int round = 0; round < ROUNDS; round++)
		for (const struct pair *pair = pairs; pair->probed; pair++)
			failures += pair_check(pair);
	for (const struct pair *pair = pairs; pair->probed; pair++)
		protocol_count(pair->name, ROUNDS);
	protocol_count("failures", failures);
	protocol_end();
	return 0;
}
