/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where functions are left: one string of bytes a case. */
#include "function_file.h"

static struct file returns_in(struct file file)
{
	examine(&file);
	return file;
}

static struct file returns(const char *hex)
{
	return returns_in(file_with(hex));
}

static void check_site(const struct file *file, size_t index, u64 offset,
		       enum return_site_kind kind, u64 instruction_bytes)
{
	if (index >= file->site_count) {
		UNIT_FAIL("no site %zu: %s", index, file->reason ? file->reason : "no reason");
		return;
	}
	CHECK_U64(file->sites[index].address, FUNCTION + offset);
	CHECK_U64(file->sites[index].file_offset, FUNCTION + offset - CODE);
	CHECK_U64(file->sites[index].kind, kind);
	CHECK_U64(file->sites[index].instruction_bytes, instruction_bytes);
}

static void check_reason(struct file file, const char *part)
{
	examine(&file);
	CHECK(!file.sites);
	CHECK_U64(file.site_count, 0);
	if (!file.reason || !strstr(file.reason, part))
		UNIT_FAIL("the reason is \"%s\", expected \"%s\"",
			  file.reason ? file.reason : "none", part);
}

TEST(every_kind_of_ret)
{
	struct file file = returns("85 ff 74 01" RET "75 02 f3 c3 78 02 f2 c3 c2 10 00");

	CHECK_U64(file.site_count, 4);
	check_site(&file, 0, 4, RETURN_SITE_RET, 1);
	check_site(&file, 1, 7, RETURN_SITE_RET, 2);
	check_site(&file, 2, 11, RETURN_SITE_RET, 2);
	check_site(&file, 3, 13, RETURN_SITE_RET, 3);
	if (file.site_count == 4) {
		CHECK_U64(file.sites[0].popped_bytes, 0);
		CHECK_U64(file.sites[3].popped_bytes, 16);
	}
	free(file.sites);
}

TEST(a_single_ret)
{
	struct file file = returns(RET);

	CHECK_U64(file.site_count, 1);
	check_site(&file, 0, 0, RETURN_SITE_RET, 1);
	free(file.sites);
}

TEST(relative_tail_jumps)
{
	struct file file = returns("85 ff 0f 84 f8 fd ff ff e9 f3 fd ff ff");

	CHECK_U64(file.site_count, 2);
	check_site(&file, 0, 2, RETURN_SITE_JUMP_CONDITIONAL, 6);
	check_site(&file, 1, 8, RETURN_SITE_JUMP, 5);
	if (file.site_count)
		CHECK_U64(file.sites[0].condition, 4);
	free(file.sites);
	file = returns("85 ff 74 fc" RET); /* jumps inside are none */
	CHECK_U64(file.site_count, 1);
	free(file.sites);
	check_reason(file_with("e9 00 01 00 00"), "without a name");
}

TEST(indirect_tail_jumps)
{
	struct file file = returns("48 89 f8 ff e0"); /* mov %rdi,%rax; jmp *%rax */

	check_site(&file, 0, 3, RETURN_SITE_JUMP_REGISTER, 2);
	if (file.site_count)
		CHECK_U64(file.sites[0].register_number, 0);
	free(file.sites);
	file = returns("41 ff e3"); /* jmp *%r11 */
	check_site(&file, 0, 0, RETURN_SITE_JUMP_REGISTER, 3);
	if (file.site_count)
		CHECK_U64(file.sites[0].register_number, 11);
	free(file.sites);
	file = returns("ff 67 18"); /* jmp *0x18(%rdi) */
	check_site(&file, 0, 0, RETURN_SITE_JUMP_MEMORY, 3);
	if (file.site_count) {
		CHECK_U64(file.sites[0].base, 7);
		CHECK_U64(file.sites[0].index, REGISTER_NONE);
		CHECK_U64(file.sites[0].displacement, 0x18);
	}
	free(file.sites);
	file = returns("41 ff 64 f2 f8"); /* jmp *-8(%r10,%rsi,8) */
	check_site(&file, 0, 0, RETURN_SITE_JUMP_MEMORY, 5);
	if (file.site_count) {
		CHECK_U64(file.sites[0].base, 10);
		CHECK_U64(file.sites[0].index, 6);
		CHECK_U64(file.sites[0].scale, 8);
		CHECK(file.sites[0].displacement == -8);
	}
	free(file.sites);
	file = returns("ff 25 00 00 01 00"); /* jmp *0x10000(%rip) */
	check_site(&file, 0, 0, RETURN_SITE_JUMP_MEMORY, 6);
	if (file.site_count) {
		CHECK_U64(file.sites[0].base, REGISTER_RIP);
		CHECK_U64(file.sites[0].displacement, 0x10000);
	}
	free(file.sites);
	check_reason(file_with("64 ff 67 18"), "thread-local");
}

TEST(a_switch_is_no_way_out)
{
	struct file file = returns_in(file_with_switch(CASE_0, CASE_1));

	CHECK(!file.reason);
	CHECK_U64(file.site_count, 3);
	check_site(&file, 0, 27, RETURN_SITE_RET, 1);
	check_site(&file, 2, 31, RETURN_SITE_RET, 1);
	free(file.sites);
}

TEST(a_switch_by_notrack)
{
	struct file file =
		file_with("83 ff 01 77 13 48 8d 15 f4 fb 00 00 48 63 04 ba 48 01 d0 3e ff e0"
			  "c3 c3 c3");

	put_distance(&file, 0, FUNCTION + 22);
	put_distance(&file, 1, FUNCTION + 23);
	examine(&file);
	CHECK(!file.reason);
	CHECK_U64(file.site_count, 3);
	free(file.sites);
}

TEST(a_switch_of_addresses)
{
	/* cmp $1,%edi; ja; jmp *DATA(,%rdi,8) in a file that is not moved */
	struct file file = file_with("83 ff 01 77 09 ff 24 fd 00 00 02 00 c3 c3 c3");
	u64 cases[] = {FUNCTION + 12, FUNCTION + 13};

	memcpy(file.data, cases, sizeof(cases));
	file.pointer = FUNCTION + 12;
	examine(&file);
	CHECK(!file.reason);
	CHECK_U64(file.site_count, 3);
	free(file.sites);
}

TEST(what_may_be_a_switch_gives_no_sites)
{
	struct file file = file_with_switch(CASE_0, OTHER);

	check_reason(file, "may be a switch");
	/* Without the comparison: its length is not known. */
	file = file_with_switch(CASE_0, CASE_1);
	put(file.code + (FUNCTION - CODE) + 5, "90 90 90");
	check_reason(file, "may be a switch");
	/* Computed goto: a pointer leads inside. */
	file = file_with("48 8b 07 ff e0 c3");
	file.pointer = FUNCTION + 5;
	check_reason(file, "may be a switch");
	file = file_with("48 8b 07 3e ff e0 c3");
	file.pointer = FUNCTION + 6;
	check_reason(file, "notrack");
	check_reason(file_with(PUSH_RBX POP_RBX "3e ff e0"), "notrack");
}

TEST(behind_an_epilogue_it_is_a_way_out)
{
	/* The pointer inside would let it be a switch. */
	struct file file = file_with(PUSH_RBX "48 89 f8" POP_RBX "ff e0 c3");

	file.pointer = FUNCTION + 7;
	examine(&file);
	CHECK(!file.reason);
	CHECK_U64(file.site_count, 2);
	check_site(&file, 0, 5, RETURN_SITE_JUMP_REGISTER, 2);
	free(file.sites);
	file = file_with("48 83 ec 08 48 89 f8 48 83 c4 08 ff e0 c3"); /* add $8,%rsp */
	file.pointer = FUNCTION + 13;
	examine(&file);
	CHECK_U64(file.site_count, 2);
	free(file.sites);
	file = file_with(PUSH_RBX "58 ff e0 c3"); /* the popped register itself */
	file.pointer = FUNCTION + 4;
	check_reason(file, "may be a switch");
	file = file_with(PUSH_RBX POP_RBX "74 00 ff e0 c3"); /* another block between */
	file.pointer = FUNCTION + 6;
	check_reason(file, "may be a switch");
}

TEST(cold_parts)
{
	/* test; jne COLD; ret - and there: ret */
	struct file file = file_with("85 ff 0f 85 f8 03 00 00 c3");

	check_reason(file, "without a name");
	put_range(&file, COLD, RET);
	file.symbol = COLD;
	examine(&file);
	CHECK(!file.reason);
	CHECK_U64(file.site_count, 2);
	check_site(&file, 1, COLD - FUNCTION, RETURN_SITE_RET, 1);
	free(file.sites);
	/* It goes back. */
	file = file_with("85 ff 0f 85 f8 03 00 00 c3");
	put_range(&file, COLD, "e9 03 fc ff ff");
	examine(&file);
	CHECK(!file.reason);
	CHECK_U64(file.site_count, 1);
	free(file.sites);
	/* One that is called is a function of its own; one that only the unwinder enters is a part.
	 */
	file = file_with("e8 fb 03 00 00 c3");
	put_range(&file, COLD, RET);
	examine(&file);
	CHECK_U64(file.site_count, 1);
	free(file.sites);
	file = file_with(RET);
	put_range(&file, COLD, RET);
	examine(&file);
	CHECK_U64(file.site_count, 2);
	free(file.sites);
	/* Whose it is, is not known. */
	file.ranges[1].uncertain = true;
	check_reason(file, "several functions have its name");
	file = file_with("85 ff 0f 85 f8 03 00 00 c3");
	put_range(&file, COLD, RET);
	file.ranges[1].uncertain = true;
	examine(&file);
	CHECK_U64(file.site_count, 2);
	free(file.sites);
}

TEST(exits_that_are_not_known)
{
	struct file file = file_with(RET);

	file.size_unknown = true;
	check_reason(file, "size is unknown");
	file = file_with(RET);
	file.no_references = true;
	check_reason(file, "not known what jumps");
	check_reason(file_with(PUSH_RBX), "behind its end");
	check_reason(file_with("c3 74 fd"), "behind its end");
	check_reason(file_with("53 06 5b c3"), "no known instruction");
	check_reason(file_with("90 48 cf"), "operating system");
	check_reason(file_with("e8 00 00 00 00 c3"), "jumps into it"); /* a subroutine of its own */
	file = file_with("90 c3");
	file.symbol = FUNCTION + 1;
	check_reason(file, "a name in it");
	file = file_with("90 c3");
	put(file.code + (OTHER - CODE), "e9 fc 01 00 00"); /* jmp FUNCTION + 1 */
	check_reason(file, "jumps into it");
}

TEST(a_function_that_does_not_return)
{
	struct file file = returns("eb fe");

	CHECK(!file.reason);
	CHECK_U64(file.site_count, 0);
	file = returns("e8 fb fd ff ff"); /* call OTHER, and nothing behind */
	CHECK(!file.reason);
	CHECK_U64(file.site_count, 0);
	file = returns("e8 fb fd ff ff 90 90");
	CHECK(!file.reason);
	file = returns("0f 0b 0f 1f 00");
	CHECK(!file.reason);
}

UNIT_MAIN()
