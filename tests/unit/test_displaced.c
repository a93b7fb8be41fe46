/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instructions that our programs do instead of the kernel: described from their bytes, carried out by the code that
 * the BPF programs are built of, and held against the processor, which runs the same bytes on the same registers.
 */
#include <asm/ptrace.h>
#include <sys/mman.h>

#include "code/displaced.h"
#include "../bpf/displaced_execute.h"
#include "function_file.h"

/* Flags that an instruction leaves undefined are not compared: the auxiliary carry of logic. */
#define LOGIC_FLAGS (DISPLACED_FLAGS & ~DISPLACED_FLAG_ADJUST)

/* What the code of code_build() takes the registers from, and puts them back into. */
struct machine {
	u64 registers[16]; /* numbered as in machine code; rsp is left alone */
	u64 flags;
};

struct processor {
	struct decoder *decoder;
	u8 *code; /* a page: what runs between taking the registers from a machine and putting them back */
};

static size_t emit(u8 *code, size_t at, const char *hex)
{
	return at + put(code + at, hex);
}

/* mov between register and [rsp + 8 * slot], with the machine on the stack. */
static size_t emit_move(u8 *code, size_t at, u8 opcode, unsigned number, unsigned slot)
{
	code[at++] = (u8)(0x48 | (number >= 8 ? 4 : 0));
	code[at++] = opcode;
	code[at++] = (u8)(0x84 | (number & 7) << 3);
	code[at++] = 0x24;
	memcpy(code + at, &(int32_t){(int32_t)slot * 8}, 4);
	return at + 4;
}

/* A function void (struct machine *): saves what is not its own, switches to the machine as its stack, so that all
 * registers are free, runs the bytes, and back. */
static u64 code_build(struct processor *processor, const u8 *bytes, size_t size)
{
	u8 *code = processor->code;
	size_t at = emit(code, 0, "53 55 41 54 41 55 41 56 41 57"), instruction;

	at = emit(code, at, "48 89 a7 88 00 00 00"); /* mov %rsp,136(%rdi) */
	at = emit(code, at, "48 89 fc");	     /* mov %rdi,%rsp */
	at = emit(code, at, "ff b4 24 80 00 00 00"); /* push 128(%rsp): overwrites what is below */
	at = emit(code, at, "9d");		     /* popf */
	for (unsigned i = 0; i < 16; i++)
		if (i != 4)
			at = emit_move(code, at, 0x8b, i, i);
	instruction = at;
	memcpy(code + at, bytes, size);
	at += size;
	for (unsigned i = 0; i < 16; i++)
		if (i != 4)
			at = emit_move(code, at, 0x89, i, i);
	at = emit(code, at, "9c");		     /* pushf */
	at = emit(code, at, "8f 84 24 80 00 00 00"); /* pop 128(%rsp), counted behind the pop */
	at = emit(code, at, "48 8b a4 24 88 00 00 00");
	emit(code, at, "41 5f 41 5e 41 5d 41 5c 5d 5b fc c3");
	return (uintptr_t)code + instruction;
}

static u64 random_next(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Often where carries, signs and zeros change. */
static u64 random_value(u64 *state)
{
	static const u64 edges[] = {0,
				    1,
				    0x7f,
				    0x80,
				    0xff,
				    0x7fff,
				    0x8000,
				    0x7fffffff,
				    0x80000000,
				    0xffffffff,
				    0x100000000,
				    0x7fffffffffffffff,
				    0x8000000000000000,
				    0xffffffffffffffff,
				    0xffffffff80000000};
	u64 random = random_next(state);

	return random & 1 ? random_next(state) : edges[(random >> 8) % ARRAY_SIZE(edges)];
}

/* Below the machine is room for the flags on their way. */
static struct machine *machine_random(u8 *room, size_t size, u64 *state)
{
	struct machine *machine = (void *)(room + size / 2);

	for (unsigned i = 0; i < 16; i++)
		machine->registers[i] = random_value(state);
	machine->registers[4] = (uintptr_t)machine;
	machine->flags = 0x202 | (random_next(state) & DISPLACED_FLAGS);
	return machine;
}

static void registers_from(struct pt_regs *registers, const struct machine *machine, u64 ip)
{
	*registers = (struct pt_regs){.eflags = machine->flags, .rip = ip};
#define TAKE(number, name)          \
	if (number != DISPLACED_IP) \
		registers->name = machine->registers[(number)&15];
	DISPLACED_REGISTERS(TAKE)
#undef TAKE
}

/* Differences between what the program makes of the instruction and what the processor does. */
static void instruction_check(struct processor *processor, const u8 *bytes,
			      const struct displaced_instruction *displaced, u64 *state)
{
	bool logic = displaced->operation >= DISPLACED_AND;
	u64 flags = logic ? LOGIC_FLAGS : DISPLACED_FLAGS;
	u64 ip = code_build(processor, bytes, displaced->size_bytes);
	_Alignas(16) u8 room[2048];
	struct machine *machine = machine_random(room, sizeof(room), state);
	struct pt_regs registers;

	registers_from(&registers, machine, ip);
	displaced_execute(&registers, displaced);
	((void (*)(struct machine *))(uintptr_t)processor->code)(machine);
	if (registers.rip != ip + displaced->size_bytes)
		UNIT_FAIL("ip moved by %lld", (long long)(registers.rip - ip));
#define COMPARE(number, name)                                                                    \
	if (number != DISPLACED_IP && registers.name != machine->registers[(number)&15])         \
		UNIT_FAIL("%02x %02x %02x %02x %02x: " #name " is %llx, the processor has %llx", \
			  bytes[0], bytes[1], bytes[2], bytes[3], bytes[4],                      \
			  (unsigned long long)registers.name,                                    \
			  (unsigned long long)machine->registers[(number)&15]);
	DISPLACED_REGISTERS(COMPARE)
#undef COMPARE
	if ((registers.eflags ^ machine->flags) & flags)
		UNIT_FAIL("%02x %02x %02x %02x %02x: flags are %llx, the processor has %llx",
			  bytes[0], bytes[1], bytes[2], bytes[3], bytes[4],
			  (unsigned long long)registers.eflags, (unsigned long long)machine->flags);
	CHECK((registers.eflags & ~DISPLACED_FLAGS) == (machine->flags & ~DISPLACED_FLAGS));
}

static struct processor processor_open(void)
{
	struct processor processor = {0};
	struct err err = {0};

	CHECK_OK(decoder_create(&processor.decoder, &err), err);
	processor.code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(processor.code != MAP_FAILED);
	return processor;
}

static void processor_close(struct processor *processor)
{
	munmap(processor->code, 4096);
	decoder_free(processor->decoder);
}

/* Opcode, and what follows it. */
struct form {
	const char *opcode;
	enum {
		PLAIN,
		REGISTERS, /* modrm with two registers */
		MEMORY,	   /* modrm with any memory */
		NUMBERED,  /* modrm with one register, and number in place of the other */
	} modrm;
	u8 number;
};

static const struct form described_forms[] = {
	{"89", REGISTERS, 0},	 {"8b", REGISTERS, 0},	  {"01", REGISTERS, 0},
	{"03", REGISTERS, 0},	 {"29", REGISTERS, 0},	  {"2b", REGISTERS, 0},
	{"21", REGISTERS, 0},	 {"23", REGISTERS, 0},	  {"09", REGISTERS, 0},
	{"0b", REGISTERS, 0},	 {"31", REGISTERS, 0},	  {"33", REGISTERS, 0},
	{"39", REGISTERS, 0},	 {"3b", REGISTERS, 0},	  {"85", REGISTERS, 0},
	{"63", REGISTERS, 0},	 {"0f b6", REGISTERS, 0}, {"0f b7", REGISTERS, 0},
	{"0f be", REGISTERS, 0}, {"0f bf", REGISTERS, 0}, {"8d", MEMORY, 0},
	{"b8", PLAIN, 0},	 {"bf", PLAIN, 0},	  {"05", PLAIN, 0},
	{"2d", PLAIN, 0},	 {"25", PLAIN, 0},	  {"0d", PLAIN, 0},
	{"35", PLAIN, 0},	 {"3d", PLAIN, 0},	  {"a9", PLAIN, 0},
	{"81", NUMBERED, 0},	 {"81", NUMBERED, 1},	  {"81", NUMBERED, 4},
	{"81", NUMBERED, 5},	 {"81", NUMBERED, 6},	  {"81", NUMBERED, 7},
	{"83", NUMBERED, 0},	 {"83", NUMBERED, 1},	  {"83", NUMBERED, 4},
	{"83", NUMBERED, 5},	 {"83", NUMBERED, 6},	  {"83", NUMBERED, 7},
	{"c7", NUMBERED, 0},	 {"f7", NUMBERED, 0},	  {"0f 1f", MEMORY, 0},
};

/* Memory, the carry as an operand, what is seldom: left to the kernel. */
static const struct form refused_forms[] = {
	{"8b", MEMORY, 0},   {"89", MEMORY, 0},	      {"01", MEMORY, 0},    {"3b", MEMORY, 0},
	{"85", MEMORY, 0},   {"0f b6", MEMORY, 0},    {"87", REGISTERS, 0}, {"11", REGISTERS, 0},
	{"83", NUMBERED, 2}, {"83", NUMBERED, 3},     {"f7", NUMBERED, 3},  {"c1", NUMBERED, 4},
	{"ff", NUMBERED, 4}, {"0f af", REGISTERS, 0},
};

/* One of a form, with everything else at random. */
static void instruction_make(const struct form *form, u8 *bytes, u64 *state)
{
	u64 random = random_next(state);
	size_t at = 0;

	for (size_t i = 0; i < 16; i++)
		bytes[i] = (u8)random_next(state);
	if (random & 1)
		bytes[at++] = (u8)(0x40 | (random >> 8 & 0xf));
	at = emit(bytes, at, form->opcode);
	if (form->modrm == REGISTERS)
		bytes[at] |= 0xc0;
	else if (form->modrm == MEMORY)
		bytes[at] = (u8)(bytes[at] % 0xc0);
	else if (form->modrm == NUMBERED)
		bytes[at] = (u8)(0xc0 | form->number << 3 | (bytes[at] & 7));
}

/* How many of 4000 are described; each of those is right. */
static size_t form_check(struct processor *processor, const struct form *form, u64 *state)
{
	size_t described = 0;

	for (int round = 0; round < 4000; round++) {
		struct displaced_instruction displaced;
		u8 bytes[16];

		instruction_make(form, bytes, state);
		if (!decoder_displace(processor->decoder, bytes, sizeof(bytes), 0x1000, &displaced))
			continue;
		described++;
		instruction_check(processor, bytes, &displaced, state);
	}
	return described;
}

TEST(every_form_does_what_the_processor_does)
{
	struct processor processor = processor_open();
	u64 state = 0x9e3779b97f4a7c15;

	for (size_t f = 0; f < ARRAY_SIZE(described_forms); f++) {
		size_t described = form_check(&processor, &described_forms[f], &state);

		if (described < 500)
			UNIT_FAIL("%s/%u: %zu of 4000 described", described_forms[f].opcode,
				  described_forms[f].number, described);
	}
	for (size_t f = 0; f < ARRAY_SIZE(refused_forms); f++) {
		size_t described = form_check(&processor, &refused_forms[f], &state);

		if (described)
			UNIT_FAIL("%s/%u: %zu of 4000 described", refused_forms[f].opcode,
				  refused_forms[f].number, described);
	}
	processor_close(&processor);
}

/* Whatever the bytes are: what is described is right. Prefixes and odd encodings come about here. */
TEST(any_bytes_that_are_described_do_what_the_processor_does)
{
	static const u8 prefixes[] = {0x66, 0x67, 0xf2, 0xf3, 0x40, 0x48, 0x4f, 0x64, 0x0f};
	struct processor processor = processor_open();
	u64 state = 0x2545f4914f6cdd1d;
	size_t described = 0;

	for (int round = 0; round < 2000000; round++) {
		struct displaced_instruction displaced;
		u8 bytes[16];

		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (u8)(random_next(&state) >> 20);
		for (size_t i = 0; i < 3 && random_next(&state) & 1; i++)
			bytes[i] = prefixes[random_next(&state) % ARRAY_SIZE(prefixes)];
		if (!decoder_displace(processor.decoder, bytes, sizeof(bytes), 0x1000, &displaced))
			continue;
		described++;
		instruction_check(&processor, bytes, &displaced, &state);
	}
	printf("# %zu of 2000000 described\n", described);
	CHECK(described > 20000);
	processor_close(&processor);
}

static bool is_described(const char *hex)
{
	struct processor processor = processor_open();
	struct displaced_instruction displaced;
	u8 bytes[16] = {0};
	size_t size = put(bytes, hex);
	bool described = decoder_displace(processor.decoder, bytes, size, 0x1000, &displaced);

	CHECK(!described || displaced.size_bytes == size);
	processor_close(&processor);
	return described;
}

TEST(the_stack_pointer_is_never_set)
{
	CHECK(!is_described("48 83 ec 08"));	      /* sub $8,%rsp */
	CHECK(!is_described("48 81 ec 08 01 00 00")); /* sub $264,%rsp */
	CHECK(!is_described("48 83 e4 f0"));	      /* and $-16,%rsp */
	CHECK(!is_described("48 8d 64 24 f8"));	      /* lea -8(%rsp),%rsp */
	CHECK(!is_described("48 89 fc"));	      /* mov %rdi,%rsp */
	CHECK(!is_described("31 e4"));		      /* xor %esp,%esp */
	CHECK(!is_described("63 e0"));		      /* movslq %eax,%esp */
	CHECK(is_described("48 89 e5"));	      /* mov %rsp,%rbp */
	CHECK(is_described("4c 8d 54 24 08"));	      /* lea 8(%rsp),%r10 */
	CHECK(is_described("48 39 e7"));	      /* cmp %rsp,%rdi */
}

TEST(what_does_nothing_is_gone_over)
{
	CHECK(is_described("f3 0f 1e fa")); /* endbr64 */
	CHECK(is_described("66 90"));
	CHECK(is_described("0f 1f 40 00"));
	CHECK(!is_described("0f 1f 44 00 00")); /* the kernel makes a call of it */
	CHECK(!is_described("c3"));
	CHECK(!is_described("55"));
	CHECK(!is_described("64 48 8b 04 25 28 00 00 00")); /* mov %fs:40,%rax */
	CHECK(!is_described("67 8d 47 01"));		    /* lea 1(%edi),%eax */
	CHECK(!is_described("66 b8 01 00"));		    /* mov $1,%ax */
	CHECK(!is_described("0f b6 c4"));		    /* movzbl %ah,%eax */
	CHECK(!is_described(""));
}

UNIT_MAIN()
