/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where probes of entries go: one string of bytes a case. */
#include "function_file.h"

/* Where a file's function is probed. */
static u64 placed_in(struct file file)
{
	examine(&file);
	free(file.sites);
	if (!file.place.address)
		return NOT_PLACED;
	CHECK_U64(file.place.address, FUNCTION + file.place.placed_bytes);
	CHECK_U64(file.place.file_offset, FUNCTION - CODE + file.place.placed_bytes);
	if (file.place.placed_bytes)
		CHECK_U64(file.place.cost, COST_CHEAP);
	return file.place.placed_bytes;
}

static u64 placed(const char *hex)
{
	return placed_in(file_with(hex));
}

/* Where it is probed when that is allowed: the bytes behind the start; what the program does there; how far sp is. */
struct expected {
	unsigned allowed;
	u64 placed_bytes;
	enum displaced_operation operation;
	u64 stack_bytes;
	enum instruction_cost cost;
};

static void check_place(const char *hex, struct expected expected)
{
	struct file file = file_with(hex);

	file.allowed = expected.allowed;
	examine(&file);
	free(file.sites);
	if (file.place.placed_bytes != expected.placed_bytes ||
	    file.place.displaced.operation != expected.operation ||
	    file.place.stack_bytes != expected.stack_bytes || file.place.cost != expected.cost)
		UNIT_FAIL("%s, allowed %u: +%u, operation %u, stack %u, cost %u", hex,
			  expected.allowed, file.place.placed_bytes, file.place.displaced.operation,
			  file.place.stack_bytes, file.place.cost);
}

#define SUB_8 "48 83 ec 08 " /* sub $8,%rsp */
#define ADD_8 "48 83 c4 08 " /* add $8,%rsp */
#define LOAD  "48 8b 07 "    /* mov (%rdi),%rax */
#define MOVE  "48 89 f8 "    /* mov %rdi,%rax */
#define BOTH  (PLACE_DISPLACED | PLACE_STACK_MOVED)

TEST(a_program_does_the_first_instruction)
{
	check_place(ENDBR64 SUB_8 LOAD ADD_8 RET,
		    (struct expected){PLACE_DISPLACED, 0, DISPLACED_SKIP, 0, COST_CHEAP});
	check_place(MOVE LOAD RET,
		    (struct expected){PLACE_DISPLACED, 0, DISPLACED_MOVE, 0, COST_CHEAP});
	check_place(MOVE LOAD RET, (struct expected){0, 0, DISPLACED_NONE, 0, COST_STEPPED});
	check_place(NOP5 RET,
		    (struct expected){PLACE_DISPLACED, 0, DISPLACED_NONE, 0, COST_STEPPED});
	/* What the kernel does comes first. */
	check_place(MOVE PUSH_RBX POP_RBX RET,
		    (struct expected){BOTH, 3, DISPLACED_NONE, 0, COST_CHEAP});
}

TEST(a_program_does_one_further_on)
{
	check_place(LOAD MOVE LOAD RET,
		    (struct expected){PLACE_DISPLACED, 3, DISPLACED_MOVE, 0, COST_CHEAP});
	check_place(LOAD MOVE LOAD RET, (struct expected){0, 0, DISPLACED_NONE, 0, COST_STEPPED});
	check_place("48 89 37" MOVE RET, /* mov %rsi,(%rdi): a store elsewhere */
		    (struct expected){PLACE_DISPLACED, 3, DISPLACED_MOVE, 0, COST_CHEAP});
	check_place(LOAD "48 89 c7" MOVE RET, /* mov %rax,%rdi: itself it may be */
		    (struct expected){PLACE_DISPLACED, 3, DISPLACED_MOVE, 0, COST_CHEAP});
}

TEST(behind_the_frame_sp_is_known)
{
	check_place(SUB_8 "e8 f7 fd ff ff" ADD_8 RET, /* call */
		    (struct expected){PLACE_STACK_MOVED, 4, DISPLACED_NONE, 8, COST_CHEAP});
	check_place(SUB_8 "e8 f7 fd ff ff" ADD_8 RET,
		    (struct expected){PLACE_DISPLACED, 0, DISPLACED_NONE, 0, COST_STEPPED});
	check_place(SUB_8 MOVE ADD_8 RET,
		    (struct expected){BOTH, 4, DISPLACED_MOVE, 8, COST_CHEAP});
	check_place(SUB_8 MOVE ADD_8 RET,
		    (struct expected){PLACE_STACK_MOVED, 0, DISPLACED_NONE, 0, COST_STEPPED});
	check_place("48 81 ec 08 01 00 00" MOVE RET,
		    (struct expected){BOTH, 7, DISPLACED_MOVE, 264, COST_CHEAP});
	/* It stores into its frame: no one else's memory. */
	check_place(SUB_8 "48 89 3c 24" MOVE RET,
		    (struct expected){BOTH, 8, DISPLACED_MOVE, 8, COST_CHEAP});
	/* Above it, below it; elsewhere it may. */
	check_place(SUB_8 "48 89 7c 24 08" MOVE RET,
		    (struct expected){BOTH, 0, DISPLACED_NONE, 0, COST_STEPPED});
	check_place(SUB_8 "48 89 7c 24 04" MOVE RET,
		    (struct expected){BOTH, 0, DISPLACED_NONE, 0, COST_STEPPED});
	check_place(SUB_8 "48 89 7c 24 f8" MOVE RET,
		    (struct expected){BOTH, 0, DISPLACED_NONE, 0, COST_STEPPED});
	check_place(SUB_8 "48 89 37" MOVE RET,
		    (struct expected){BOTH, 7, DISPLACED_MOVE, 8, COST_CHEAP});
	/* Twice, by an odd number, upwards. */
	check_place(SUB_8 SUB_8 MOVE RET,
		    (struct expected){BOTH, 0, DISPLACED_NONE, 0, COST_STEPPED});
	check_place("48 83 ec 04" MOVE RET,
		    (struct expected){BOTH, 0, DISPLACED_NONE, 0, COST_STEPPED});
	check_place("48 83 ec f8" MOVE RET,
		    (struct expected){BOTH, 0, DISPLACED_NONE, 0, COST_STEPPED});
}

TEST(a_cheap_first_instruction_stays)
{
	struct file file = file_with(PUSH_RBX POP_RBX RET);

	examine(&file);
	free(file.sites);
	CHECK_U64(file.place.placed_bytes, 0);
	CHECK_U64(file.place.cost, COST_CHEAP);
}

TEST(the_first_cheap_instruction_is_chosen)
{
	CHECK_U64(placed(ENDBR64 PUSH_RBX PUSH_RBX RET), 4);
	CHECK_U64(placed(ENDBR64 "41 54" RET), 4);		   /* push %r12 */
	CHECK_U64(placed("85 ff 74 00" RET), 2);		   /* test; je */
	CHECK_U64(placed("85 ff 0f 84 00 00 00 00" RET), 2);	   /* the same, far */
	CHECK_U64(placed("48 83 3f 00 74 00" RET), 4);		   /* cmpq $0,(%rdi); je */
	CHECK_U64(placed(ENDBR64 "e8 f7 fd ff ff" RET), 4);	   /* call */
	CHECK_U64(placed(ENDBR64 "e9 f7 fd ff ff"), 4);		   /* jmp */
	CHECK_U64(placed(ENDBR64 "90" RET), 4);			   /* nop */
	CHECK_U64(placed("49 89 fb" PUSH_RBX POP_RBX RET), 3);	   /* mov %rdi,%r11 */
	CHECK_U64(placed("4c 8d 1d f9 fb 00 00" PUSH_RBX RET), 7); /* lea DATA,%r11 */
	CHECK_U64(placed("66 0f 2f c8 76 00" RET), 4);		   /* comisd; jbe */
}

TEST(nothing_cheap_is_the_first_instruction)
{
	struct file file = file_with("48 89 f8" RET);

	examine(&file);
	free(file.sites);
	CHECK_U64(file.place.placed_bytes, 0);
	CHECK_U64(file.place.cost, COST_STEPPED);
}

TEST(the_stack_pointer_is_as_at_the_start)
{
	CHECK_U64(placed("48 83 ec 08" PUSH_RBX RET), 0);    /* sub */
	CHECK_U64(placed("48 8d 64 24 f8" PUSH_RBX RET), 0); /* lea -8(%rsp),%rsp */
	CHECK_U64(placed("c8 10 00 00" PUSH_RBX RET), 0);    /* enter */
	CHECK_U64(placed("48 83 e4 f0" PUSH_RBX RET), 0);    /* and */
	CHECK_U64(placed("9c" PUSH_RBX RET), 0);	     /* pushf */
	CHECK_U64(placed("6a 00" PUSH_RBX RET), 0);	     /* push $0 */
}

TEST(arguments_are_as_at_the_start)
{
	CHECK_U64(placed("48 89 fe 48 89 d7" PUSH_RBX RET), 0); /* mov %rdi,%rsi; mov %rdx,%rdi */
	CHECK_U64(placed("48 8b 3f" PUSH_RBX RET), 0);		/* mov (%rdi),%rdi */
	CHECK_U64(placed("48 8b 3c f7" PUSH_RBX RET), 0);	/* mov (%rdi,%rsi,8),%rdi */
	CHECK_U64(placed("48 85 f6 31 f6" PUSH_RBX RET), 0);	/* test %rsi,%rsi; xor %esi,%esi */
	CHECK_U64(placed("48 01 f7" PUSH_RBX RET), 0);		/* add %rsi,%rdi */
	CHECK_U64(placed("83 c7 01" PUSH_RBX RET), 0);		/* add $1,%edi */
	CHECK_U64(placed("48 29 f7" PUSH_RBX RET), 0); /* sub %rsi,%rdi: not a register by itself */
	CHECK_U64(placed("c1 e1 02" PUSH_RBX RET), 0); /* shl $2,%ecx */
	CHECK_U64(placed("48 0f 44 fe" PUSH_RBX RET), 0);   /* cmove %rsi,%rdi */
	CHECK_U64(placed("66 0f ef c0" PUSH_RBX RET), 0);   /* pxor %xmm0,%xmm0 */
	CHECK_U64(placed("48 87 fe" PUSH_RBX RET), 0);	    /* xchg */
	CHECK_U64(placed("48 f7 e7" PUSH_RBX RET), 0);	    /* mul: changes rdx unsaid */
	CHECK_U64(placed("0f a2" PUSH_RBX RET), 0);	    /* cpuid */
	CHECK_U64(placed("f3 a4" PUSH_RBX RET), 0);	    /* rep movsb */
	CHECK_U64(placed(ENDBR64 "0f 05" PUSH_RBX RET), 0); /* syscall */
}

TEST(a_register_that_is_overwritten_unread_is_no_argument)
{
	CHECK_U64(placed("48 89 f7" PUSH_RBX RET), 3);		   /* mov %rsi,%rdi */
	CHECK_U64(placed("31 f6" PUSH_RBX RET), 2);		   /* xor %esi,%esi */
	CHECK_U64(placed("b9 01 00 00 00" PUSH_RBX RET), 5);	   /* mov $1,%ecx */
	CHECK_U64(placed("49 89 f8" PUSH_RBX RET), 3);		   /* mov %rdi,%r8 */
	CHECK_U64(placed("4d 8b 08" PUSH_RBX RET), 3);		   /* mov (%r8),%r9 */
	CHECK_U64(placed("48 8d 57 08" PUSH_RBX RET), 4);	   /* lea 8(%rdi),%rdx */
	CHECK_U64(placed("0f b6 16" PUSH_RBX RET), 3);		   /* movzbl (%rsi),%edx */
	CHECK_U64(placed("31 d2 83 c2 01 31 d2" PUSH_RBX RET), 7); /* then it is its own */
	CHECK_U64(placed("b2 01" PUSH_RBX RET), 0);		   /* mov $1,%dl: the rest stays */
	CHECK_U64(placed("b6 01" PUSH_RBX RET), 0);		   /* mov $1,%dh */
	CHECK_U64(placed("66 ba 01 00" PUSH_RBX RET), 0);	   /* mov $1,%dx */
	CHECK_U64(placed("30 d2" PUSH_RBX RET), 0);		   /* xor %dl,%dl */
	CHECK_U64(placed("0f 94 c2" PUSH_RBX RET), 0);		   /* sete %dl */
	CHECK_U64(placed("48 31 e4" PUSH_RBX RET), 0);		   /* xor %rsp,%rsp */
	CHECK_U64(placed("48 89 fc" PUSH_RBX RET), 0);		   /* mov %rdi,%rsp */
}

static u64 lost_arguments(const char *hex, unsigned allowed)
{
	struct file file = file_with(hex);

	file.allowed = allowed;
	examine(&file);
	free(file.sites);
	return file.place.lost_arguments;
}

TEST(registers_that_are_overwritten_before_the_probe_are_told)
{
	const u64 rcx = instruction_argument_register(4), r9 = instruction_argument_register(6);

	CHECK_U64(lost_arguments("b9 01 00 00 00" PUSH_RBX RET, 0), rcx); /* mov $1,%ecx */
	CHECK_U64(lost_arguments("31 c9 4d 8b 08" PUSH_RBX RET, 0), rcx | r9);
	CHECK_U64(lost_arguments("49 89 cb" PUSH_RBX RET, 0), 0);      /* mov %rcx,%r11 */
	CHECK_U64(lost_arguments("31 c0" PUSH_RBX RET, 0), 0);	       /* rax holds none of these */
	CHECK_U64(lost_arguments(PUSH_RBX "31 c9" POP_RBX RET, 0), 0); /* behind the probe */
	CHECK_U64(lost_arguments(SUB_8 "31 c9" MOVE ADD_8 RET, BOTH), 0);
	CHECK_U64(lost_arguments(SUB_8 "31 c9 90" ADD_8 RET, PLACE_STACK_MOVED), rcx);
}

TEST(registers_of_arguments)
{
	u32 all = REGISTERS_STACK;

	CHECK_U64(instruction_argument_register(0), 0);
	CHECK_U64(instruction_argument_register(7), 0);
	for (unsigned number = 1; number <= 6; number++)
		all |= instruction_argument_register(number);
	CHECK_U64(all, REGISTERS_ARGUMENTS);
}

TEST(what_only_some_functions_are_given)
{
	CHECK_U64(placed("31 c0" PUSH_RBX RET), 2);		/* overwritten: not given */
	CHECK_U64(placed("48 8b 07" PUSH_RBX RET), 3);		/* mov (%rdi),%rax */
	CHECK_U64(placed("84 c0 74 00" RET), 2);		/* variadic: test %al,%al; je */
	CHECK_U64(placed("84 c0 31 c0" PUSH_RBX RET), 0);	/* read, then overwritten */
	CHECK_U64(placed("49 89 c3 31 c0" PUSH_RBX RET), 0);	/* the same: mov %rax,%r11 */
	CHECK_U64(placed("ff c0" PUSH_RBX RET), 0);		/* inc %eax: reads it */
	CHECK_U64(placed("49 89 fa" PUSH_RBX RET), 3);		/* mov %rdi,%r10 */
	CHECK_U64(placed("4d 89 d3 49 89 fa" PUSH_RBX RET), 0); /* r10 read before */
	CHECK_U64(placed("31 c0 89 c3 31 c0" PUSH_RBX RET), 6); /* read as its own */
}

TEST(what_was_stored_before_is_no_part_of_a_frame)
{
	CHECK_U64(placed("48 89 7c 24 f8" PUSH_RBX RET), 0);	/* mov %rdi,-8(%rsp) */
	CHECK_U64(placed("48 89 3c 24" PUSH_RBX RET), 0);	/* mov %rdi,(%rsp) */
	CHECK_U64(placed("48 89 7d f8" PUSH_RBX RET), 0);	/* mov %rdi,-8(%rbp) */
	CHECK_U64(placed("48 89 74 2f 08" PUSH_RBX RET), 0);	/* mov %rsi,8(%rdi,%rbp) */
	CHECK_U64(placed("64 48 89 37" PUSH_RBX RET), 0);	/* mov %rsi,%fs:(%rdi) */
	CHECK_U64(placed("48 ff 07" PUSH_RBX RET), 0);		/* incq (%rdi) */
	CHECK_U64(placed("0f 94 07" PUSH_RBX RET), 0);		/* sete (%rdi) */
	CHECK_U64(placed("48 c7 07 00 00 00 00 74 00" RET), 7); /* movq $0,(%rdi); je */
	CHECK_U64(placed("48 89 77 08" PUSH_RBX RET), 4);	/* mov %rsi,8(%rdi) */
	CHECK_U64(placed("89 3d 00 00 00 00" PUSH_RBX RET), 6); /* mov %edi,VARIABLE */
	CHECK_U64(placed("48 89 77 08 31 ff" PUSH_RBX RET), 0); /* rdi was read */
	CHECK_U64(placed("48 89 77 08 0f 1f 44 00 00" RET), 0); /* a 5-byte nop */
}

TEST(five_byte_nops_are_for_the_start_only)
{
	CHECK_U64(placed(NOP5 RET), 0);
	CHECK_U64(placed(ENDBR64 NOP5 RET), 0);
	CHECK_U64(placed(ENDBR64 "66 0f 1f 40 00" RET), 0);
	CHECK_U64(placed(ENDBR64 "66 66 66 66 90" RET), 0);
	CHECK_U64(placed(ENDBR64 NOP5 PUSH_RBX RET), 9);
	/* A leaf with a red zone. */
	CHECK_U64(placed("48 89 7c 24 f8" NOP5 "48 8b 44 24 f8" RET), 0);
}

TEST(five_byte_nops_are_no_place_where_the_kernel_harms)
{
	const unsigned allowed = PLACE_NO_LONG_NOP;

	/* What is cheap behind it, else what comes next, stepped. */
	check_place(NOP5 PUSH_RBX RET, (struct expected){allowed, 5, .cost = COST_CHEAP});
	check_place(NOP5 "89 f9 " PUSH_RBX RET, (struct expected){allowed, 7, .cost = COST_CHEAP});
	check_place(NOP5 "8d 47 01" RET, (struct expected){allowed, 5, .cost = COST_STEPPED});
	check_place(NOP5 "90" NOP5 "8d 47 01" RET,
		    (struct expected){allowed, 5, .cost = COST_CHEAP});
	check_place(NOP5 NOP5 "8d 47 01" RET, (struct expected){allowed, 10, .cost = COST_STEPPED});
	/* What the nop is jumped over to would be no call; a nop at the end. */
	check_place(NOP5 "8d 47 01 75 fb" RET, (struct expected){allowed, 0, .cost = COST_STEPPED});
	check_place(NOP5, (struct expected){allowed, 0, .cost = COST_STEPPED});
	/* Others are as they are without. */
	check_place(PUSH_RBX RET, (struct expected){allowed, 0, .cost = COST_CHEAP});
	check_place(ENDBR64 NOP5 PUSH_RBX RET, (struct expected){allowed, 9, .cost = COST_CHEAP});
}

TEST(only_the_entry_block)
{
	CHECK_U64(placed(ENDBR64 RET PUSH_RBX RET), 0);
	CHECK_U64(placed(ENDBR64 "ff e0" PUSH_RBX RET), 0);
	CHECK_U64(placed(ENDBR64 "ff d0" PUSH_RBX RET), 0);
	CHECK_U64(placed(ENDBR64 "0f 0b" PUSH_RBX RET), 0);
	CHECK_U64(placed("85 ff 2e 74 00" PUSH_RBX RET), 0); /* a jcc that the kernel refuses */
	CHECK_U64(placed(ENDBR64 "e3 00" PUSH_RBX RET), 0);  /* jrcxz */
	CHECK_U64(placed(ENDBR64 "06" PUSH_RBX RET), 0);     /* no instruction */
	CHECK_U64(placed(ENDBR64), 0);			     /* its end */
	CHECK_U64(placed(ENDBR64 "0f 85 00"), 0);	     /* cut */
}

TEST(the_start_may_be_jumped_to)
{
	CHECK_U64(placed(ENDBR64 PUSH_RBX POP_RBX "85 ff 75 f6" RET), 4);
	CHECK_U64(placed(ENDBR64 PUSH_RBX POP_RBX "e9 f5 ff ff ff"), 4);
}

TEST(what_is_jumped_to_is_not_probed)
{
	CHECK_U64(placed(ENDBR64 PUSH_RBX POP_RBX "85 ff 75 fa" RET), 0); /* jne +4 */
	CHECK_U64(placed(ENDBR64 PUSH_RBX POP_RBX "85 ff 0f 85 f6 ff ff ff" RET), 0);
	CHECK_U64(placed(ENDBR64 PUSH_RBX POP_RBX "eb fc"), 0); /* jmp +4 */
	CHECK_U64(placed(ENDBR64 PUSH_RBX POP_RBX "e9 f9 ff ff ff"), 0);
	CHECK_U64(placed(ENDBR64 PUSH_RBX POP_RBX "e8 f9 ff ff ff" RET), 0);	/* call +4 */
	CHECK_U64(placed(ENDBR64 PUSH_RBX POP_RBX "e2 fc" RET), 0);		/* loop */
	CHECK_U64(placed(ENDBR64 PUSH_RBX POP_RBX "e3 fc" RET), 0);		/* jrcxz */
	CHECK_U64(placed(ENDBR64 PUSH_RBX POP_RBX "c7 f8 f8 ff ff ff" RET), 0); /* xbegin */
	CHECK_U64(placed(ENDBR64 "75 fe" RET), 0);				/* itself */
	/* Between the start and the cheap instruction. */
	CHECK_U64(placed(ENDBR64 "85 ff" PUSH_RBX POP_RBX "75 fa" RET), 0);
	/* Hidden in another instruction: mov $0xfc75,%eax at +6 holds a jne to +4. */
	CHECK_U64(placed(ENDBR64 PUSH_RBX POP_RBX "b8 75 fb 00 00" RET), 0);
}

TEST(other_code_that_jumps_there)
{
	struct file file = file_with(ENDBR64 PUSH_RBX POP_RBX RET);

	CHECK_U64(placed_in(file), 4);
	put(file.code + (OTHER - CODE), "e9 ff 01 00 00"); /* jmp FUNCTION + 4 */
	CHECK_U64(placed_in(file), 0);
	put(file.code + (OTHER - CODE), "e9 fb 01 00 00"); /* jmp FUNCTION */
	CHECK_U64(placed_in(file), 4);
	put(file.code + (FUNCTION - CODE) - 4, "eb 06"); /* from the function before */
	CHECK_U64(placed_in(file), 0);
	put(file.code + (FUNCTION - CODE) - 4, "eb 02");
	CHECK_U64(placed_in(file), 4);
	put(file.code + (FUNCTION - CODE) + 0x20, "75 e2"); /* from the one behind */
	CHECK_U64(placed_in(file), 0);
}

TEST(the_last_bytes_of_the_code_count)
{
	struct file file = file_with(ENDBR64 PUSH_RBX POP_RBX RET);

	put(file.code + CODE_BYTES - 5, "e9 04 f4 ff ff"); /* jmp FUNCTION + 4 */
	CHECK_U64(placed_in(file), 0);
}

TEST(symbols_and_pointers_inside_the_block)
{
	struct file file = file_with(ENDBR64 "85 ff" PUSH_RBX POP_RBX RET);

	CHECK_U64(placed_in(file), 6);
	file.symbol = FUNCTION + 6;
	CHECK_U64(placed_in(file), 0);
	file.symbol = FUNCTION + 4;
	CHECK_U64(placed_in(file), 0);
	file.symbol = FUNCTION + 7;
	CHECK_U64(placed_in(file), 6);
	file.symbol = 0;
	file.pointer = FUNCTION + 6;
	CHECK_U64(placed_in(file), 0);
	file.pointer = FUNCTION;
	CHECK_U64(placed_in(file), 6);
	file.pointer = 0;
	put(file.code + (OTHER - CODE), "48 8d 05 ff 01 00 00 c3"); /* lea FUNCTION + 6 */
	CHECK_U64(placed_in(file), 0);
}

TEST(unknown_size_steps_over_endbr64_only)
{
	struct file file = file_with(ENDBR64 PUSH_RBX RET);

	file.size_unknown = true;
	CHECK_U64(placed_in(file), 4);
	file = file_with("85 ff 74 00" RET);
	file.size_unknown = true;
	CHECK_U64(placed_in(file), 0);
	file = file_with(ENDBR64 "85 ff 74 00" RET);
	file.size_unknown = true;
	CHECK_U64(placed_in(file), 0);
	file = file_with(ENDBR64 "0f 84 00 00"); /* the next symbol cuts it */
	file.size_unknown = true;
	CHECK_U64(placed_in(file), 0);
}

TEST(what_the_kernel_refuses_first)
{
	CHECK_U64(placed("f0 48 ff 07" RET), NOT_PLACED);
	CHECK_U64(placed("3e ff e0"), NOT_PLACED);
	CHECK_U64(placed("06"), NOT_PLACED);
	CHECK_U64(placed("cc"), NOT_PLACED);
}

TEST(jump_tables)
{
	struct file file = file_with_switch(CASE_0, CASE_1);

	CHECK_U64(placed_in(file), 4);
	put_distance(&file, 1, FUNCTION + 4);
	CHECK_U64(placed_in(file), 0);
	/* Behind what any comparison lets through, even behind an entry that leads nowhere. */
	put_distance(&file, 1, CASE_1);
	put_distance(&file, 9, FUNCTION + 4);
	CHECK_U64(placed_in(file), 0);
	put_distance(&file, 9, FUNCTION);
	CHECK_U64(placed_in(file), 4);
}

TEST(computed_jumps)
{
	/* lea +11(%rip) = FUNCTION + 22,%rax; add %rdi,%rax; jmp *%rax */
	CHECK_U64(placed(ENDBR64 PUSH_RBX "48 8d 05 05 00 00 00 48 01 f8 ff e0 5b c3"), 0);
	/* the same distance as a constant of 64 bits */
	CHECK_U64(placed(ENDBR64 PUSH_RBX "48 b8 00 00 00 00 01 00 00 00 48 01 f8 ff e0"), 0);
	/* as an address: mov $FUNCTION + 12,%eax */
	CHECK_U64(placed(ENDBR64 PUSH_RBX "b8 0c 04 01 00 48 01 f8 ff e0"), 0);
	/* and without any of them: it leads elsewhere */
	CHECK_U64(placed(ENDBR64 PUSH_RBX "48 89 f8 5b ff e0"), 4);
	CHECK_U64(placed(ENDBR64 PUSH_RBX "06 ff e0"), 0);
}

/* The prologue of Go: cmp 0x10(%r14),%rsp; jbe to what calls and begins again; push. */
static struct function_place place_of(struct file file)
{
	examine(&file);
	free(file.sites);
	return file.place;
}

TEST(a_function_that_begins_again_is_probed_where_it_no_longer_does)
{
	struct file file = file_with("49 3b 66 10 76 05" PUSH_RBX POP_RBX RET "90 90"
				     "e8 f0 fd ff ff eb ee");
	struct function_place place = place_of(file);

	CHECK_U64(place.placed_bytes, 4);
	CHECK_U64(place.file_offset, FUNCTION + 4 - CODE);
	CHECK_U64(place.cost, COST_CHEAP);
	CHECK(place.restarts);
	CHECK_U64(place.condition, 6);
	/* What looks like a jump to it in the bytes of another instruction does not count. */
	file = file_with("49 3b 66 10 76 05 b8 76 fc 00 00 c3 e8 ef fd ff ff eb ed");
	place = place_of(file);
	CHECK(!place.restarts);
	file = file_with("49 3b 66 10 76 06 b8 76 fc 00 00 c3 e8 ef fd ff ff eb ed");
	place = place_of(file);
	CHECK(place.restarts);
	CHECK_U64(place.placed_bytes, 4);
}

TEST(a_function_that_begins_again_by_two_jumps)
{
	/* mov %rsp,%r12; sub $0x1000,%r12; jb; cmp 0x10(%r14),%r12; jbe; push; pop; ret; mov %rax,8(%rsp);
	 * call OTHER; mov 8(%rsp),%rax; jmp FUNCTION */
	struct file file = file_with(
		"49 89 e4 49 81 ec 00 10 00 00 72 09 4d 3b 66 10 76 03" PUSH_RBX POP_RBX RET
		"48 89 44 24 08 e8 e1 fd ff ff 48 8b 44 24 08 eb da");
	struct function_place place = place_of(file);

	CHECK(place.restarts);
	CHECK_U64(place.placed_bytes, 16);
	CHECK_U64(place.condition, 6);
}

TEST(what_only_looks_as_if_it_began_again)
{
	/* It leaves by another way too. */
	struct file file =
		file_with("49 3b 66 10 76 03" PUSH_RBX POP_RBX RET "74 00 e8 ee fd ff ff eb ec");

	CHECK(!place_of(file).restarts);
	/* It jumps behind its start. */
	file = file_with("49 3b 66 10 76 03" PUSH_RBX POP_RBX RET "e8 f2 fd ff ff eb f1");
	CHECK(!place_of(file).restarts);
	/* A loop without a call. */
	file = file_with("49 3b 66 10 76 03" PUSH_RBX POP_RBX RET "90 eb f4");
	CHECK(!place_of(file).restarts);
	/* sp is another. */
	file = file_with("50 49 3b 66 10 76 03" PUSH_RBX POP_RBX RET "e8 f1 fd ff ff eb ef");
	CHECK(!place_of(file).restarts);
	/* Its end is not known. */
	file = file_with("49 3b 66 10 76 03" PUSH_RBX POP_RBX RET "e8 f2 fd ff ff");
	CHECK(!place_of(file).restarts);
}

TEST(a_function_that_begins_again_and_is_jumped_to)
{
	/* jne to the jbe */
	struct file file = file_with("49 3b 66 10 76 04"
				     "75 fc" POP_RBX RET "e8 f1 fd ff ff eb ef");

	examine(&file);
	free(file.sites);
	CHECK(file.reason != NULL);
}

TEST(without_references_it_is_the_first_instruction)
{
	struct file file = file_with(ENDBR64 PUSH_RBX RET);

	file.no_references = true;
	examine(&file);
	CHECK_U64(file.place.placed_bytes, 0);
	CHECK_U64(file.place.cost, COST_STEPPED);
}

UNIT_MAIN()
