/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which first instructions can be probed, at what cost. What the kernel does with each of them was
 * tried on Linux 6.18 with one probe on each encoding. */
#include "code/instruction.h"

#include "unit.h"

struct row {
	const char *words;
	const char *bytes;
	int expected; /* enum instruction_cost, or REFUSED */
};

#define REFUSED (-1)

static const struct row rows[] = {
	{"nop", "\x90", COST_CHEAP},
	{"xchg %ax,%ax", "\x66\x90", COST_CHEAP},
	{"push %rbx", "\x53", COST_CHEAP},
	{"push %r12", "\x41\x54", COST_CHEAP},
	{"call", "\xe8\x10\x00\x00\x00", COST_CHEAP},
	{"jmp", "\xe9\x10\x00\x00\x00", COST_CHEAP},
	{"jmp short", "\xeb\x10", COST_CHEAP},
	{"je short", "\x74\x10", COST_CHEAP},
	{"jne", "\x0f\x85\x10\x00\x00\x00", COST_CHEAP},
	{"endbr64", "\xf3\x0f\x1e\xfa", COST_STEPPED},
	{"sub $8,%rsp", "\x48\x83\xec\x08", COST_STEPPED},
	{"mov %rdi,%rax", "\x48\x89\xf8", COST_STEPPED},
	{"lea", "\x48\x8d\x05\x00\x00\x00\x00", COST_STEPPED},
	{"xor %eax,%eax", "\x31\xc0", COST_STEPPED},
	{"cmp", "\x83\x3d\x00\x00\x00\x00\x00", COST_STEPPED},
	{"ret", "\xc3", COST_STEPPED},
	{"rex.W push", "\x48\x53", COST_STEPPED},
	{"push %ax", "\x66\x50", COST_STEPPED},
	{"push $1", "\x6a\x01", COST_STEPPED},
	{"jmp *%rax", "\xff\xe0", COST_STEPPED},
	{"nopl, emulated by new kernels only", "\x0f\x1f\x44\x00\x00", COST_STEPPED},
	{"mov %fs:0,%rax", "\x64\x48\x8b\x04\x25\x00\x00\x00\x00", COST_STEPPED},
	{"vxorps", "\xc5\xf8\x57\xc1", COST_STEPPED},
	{"vpshufb", "\xc4\xe2\x79\x00\xc1", COST_STEPPED},
	{"lock add", "\xf0\x48\x01\x07", REFUSED},
	{"notrack jmp", "\x3e\xff\xe0", REFUSED},
	{"cs nopw", "\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00", REFUSED},
	{"int3", "\xcc", REFUSED},
	{"int $0x80", "\xcd\x80", REFUSED},
	{"hlt", "\xf4", REFUSED},
	{"cli", "\xfa", REFUSED},
	{"in", "\xec", REFUSED},
	{"outsb", "\x6e", REFUSED},
	{"push %es of 32-bit code", "\x06", REFUSED},
	{"no instruction", "\x0f\x04", REFUSED},
	{"jmp with operand size", "\x66\xe9\x00\x00\x00\x00", REFUSED},
	{"xchg %rax,%r8, taken for a nop", "\x41\x90", REFUSED},
	{"vpshufd, taken for a branch", "\xc5\xf9\x70\xc0\x1b", REFUSED},
	{"vpcmpeqb, taken for a branch", "\xc5\xf9\x74\xc1", REFUSED},
	{"vpor, taken for a jump", "\xc5\xf9\xeb\xc1", REFUSED},
	{"vmovdqa", "\xc5\xf9\x6f\xc1", REFUSED},
	{"vpxor", "\xc5\xf9\xef\xc1", REFUSED},
};

TEST(instructions_are_sorted)
{
	struct decoder *decoder = NULL;
	struct err err = {0};

	CHECK_OK(decoder_create(&decoder, &err), err);
	for (size_t i = 0; decoder && i < ARRAY_SIZE(rows); i++) {
		u8 bytes[INSTRUCTION_MAX_BYTES];
		enum instruction_cost cost = COST_CHEAP;
		const char *reason;
		int actual;

		/* Rows with zeros inside are padded with zeros: strlen would cut them, this does
		 * not. */
		memset(bytes, 0, sizeof(bytes));
		memcpy(bytes, rows[i].bytes, strlen(rows[i].bytes));
		reason = decoder_check(decoder, bytes, sizeof(bytes), 0x1000, &cost);
		actual = reason ? REFUSED : (int)cost;
		if (actual != rows[i].expected)
			UNIT_FAIL("%s: %d, expected %d (%s)", rows[i].words, actual,
				  rows[i].expected, reason ? reason : "taken");
	}
	decoder_free(decoder);
}

TEST(few_bytes_and_none_do_no_harm)
{
	struct decoder *decoder = NULL;
	struct err err = {0};
	enum instruction_cost cost;

	CHECK_OK(decoder_create(&decoder, &err), err);
	for (size_t i = 0; decoder && i < ARRAY_SIZE(rows); i++) {
		for (size_t size = 0; size <= strlen(rows[i].bytes); size++) {
			u8 *exact = malloc(size + 1); /* so that the sanitizer sees the end */

			memcpy(exact + 1, rows[i].bytes, size);
			decoder_check(decoder, exact + 1, size, 0, &cost);
			free(exact);
		}
	}
	CHECK(decoder_check(decoder, (const u8 *)"", 0, 0, &cost) != NULL);
	/* Nothing but prefixes, one more than fit. */
	CHECK(decoder_check(decoder, (const u8 *)"ffffffffffffffff", 16, 0, &cost) != NULL);
	decoder_free(decoder);
}

UNIT_MAIN()
