/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwind tables made by hand: each construct of call frame information by itself. Real files: test_unwind_oracle. */
#include <sys/auxv.h>

#include "base/cleanup.h"
#include "unwind_file.h"

/* One function of 0x100 bytes at TEXT, of the usual CIE: what is in force at an offset in it. */
struct construct {
	const char *instructions;
	u32 at;
	const char *rule;
};

static const struct construct constructs[] = {
	{"", 0, "rsp+8"},
	{"", 0xff, "rsp+8"},
	{"", 0x100, "none"},
	/* push rbp; mov rbp, rsp; ...; leave: what gcc writes. */
	{"41 0e10 8602 43 0d06 02 20 0c0708", 0, "rsp+8"},
	{"41 0e10 8602 43 0d06 02 20 0c0708", 1, "rsp+16 rbp=cfa-16"},
	{"41 0e10 8602 43 0d06 02 20 0c0708", 3, "rsp+16 rbp=cfa-16"},
	{"41 0e10 8602 43 0d06 02 20 0c0708", 4, "rbp+16 rbp=cfa-16"},
	{"41 0e10 8602 43 0d06 02 20 0c0708", 0x23, "rbp+16 rbp=cfa-16"},
	{"41 0e10 8602 43 0d06 02 20 0c0708", 0x24, "rsp+8 rbp=cfa-16"},
	/* Advances of 1, 2, 4 and 8 bytes, and to an address. */
	{"02 10 0e10", 0x0f, "rsp+8"},
	{"02 10 0e10", 0x10, "rsp+16"},
	{"03 1000 0e10", 0x10, "rsp+16"},
	{"04 10000000 0e10", 0x10, "rsp+16"},
	{"1d 1000000000000000 0e10", 0x10, "rsp+16"},
	{"1d ffffffffffffffff 0e10", 0xff, "rsp+8"},
	{"0a 41 0e10 41 0b", 1, "rsp+16"},
	{"0a 41 0e10 8302 41 0b", 2, "rsp+8"},
	{"0a 0a 41 0e10 0b 41 0e18 0b", 1, "rsp+8"},
	/* Without an address of their own: the last word counts. */
	{"0e10 0e18", 0, "rsp+24"},
	{"41 0e10 40 0e18", 1, "rsp+24"},
	{"41 0e10 40 0e08", 1, "rsp+8"},
	/* Registers: saved, restored, the same, lost, saved elsewhere. */
	{"8302 41 c3", 0, "rsp+8 rbx=cfa-16"},
	{"8302 41 c3", 1, "rsp+8"},
	{"05 0302 41 0603", 0, "rsp+8 rbx=cfa-16"},
	{"05 0302 41 0603", 1, "rsp+8"},
	{"11 067e", 0, "rsp+8 rbp=cfa+16"},
	{"2f 0602", 0, "rsp+8 rbp=cfa+16"},
	{"0706", 0, "rsp+8 rbp lost"},
	{"0806", 0, "rsp+8"},
	{"09 060c", 0, "rsp+8 rbp lost"},
	{"14 0602", 0, "rsp+8 rbp lost"},
	{"15 067e", 0, "rsp+8 rbp lost"},
	{"8c02 8d03 8e04 8f05", 0, "rsp+8"},
	{"05 06ffff7f", 0, "rsp+8 rbp lost"},
	/* Frames at other registers. */
	{"0c 0310", 0, "rbx+16"},
	{"0c 0a00", 0, "r10+0"},
	{"0c 0f00", 0, "r15+0"},
	{"0c 1000", 0, "unsupported"},
	{"12 0776", 0, "rsp+80"},
	{"13 76", 0, "rsp+80"},
	{"0e f08240", 0, "rsp+1048944"},
	{"0e ffffffff0f", 0, "unsupported"},
	/* Expressions of frames: breg; breg and deref (gcc where it aligns the stack), and a word more (OpenSSL). */
	{"0f 02 7710", 0, "rsp+16"},
	{"0f 03 920610", 0, "rbp+16"},
	{"0f 03 767806", 0, "*(rbp-8)+0"},
	{"0f 05 77d8000623 08", 0, "unsupported"},
	{"0f 06 77d800062308", 0, "*(rsp+88)+8"},
	{"0f 06 77d80006230c", 0, "unsupported"},
	{"0f 03 737806", 0, "unsupported"},
	{"0f 04 76780606", 0, "unsupported"},
	{"0f 00", 0, "unsupported"},
	{"0f 01 03", 0, "unsupported"},
	{"0f 03 767806 0e10", 0, "unsupported"},
	{"0f 03 767806 41 0c0708", 1, "rsp+8"},
	/* The same with an index in a register (OpenSSL). */
	{"0f 0a 7708 7900 381e2206 2308", 0, "*(rsp+8+8*r9)+8"},
	{"0f 0a 7708 7f00 381e2206 2310", 0, "*(rsp+8+8*r15)+16"},
	{"0f 0a 7708 7901 381e2206 2308", 0, "unsupported"},
	{"0f 0a 7608 7900 381e2206 2308", 0, "unsupported"},
	{"0f 0a 7708 8000 381e2206 2308", 0, "unsupported"},
	{"0f 0a 7708 7900 381e2206 230c", 0, "unsupported"},
	{"0f 0b 7708 7900 381e2206 2308 06", 0, "unsupported"},
	{"0f 08 7708 7900 381e2206", 0, "unsupported"},
	{"0f 0b 7708 7900 381e2206 23 8010", 0, "unsupported"},
	/* Linkage tables: the number is pushed by the instruction at 11, or with IBT at 10. */
	{"0f 0b 7708 8000 3f1a3b2a332422", 0, "plt 11"},
	{"0f 0b 7708 8000 3f1a3a2a332422", 0, "plt 10"},
	{"0f 0b 7708 8000 3f1a3b2a322422", 0, "unsupported"},
	/* Expressions of registers. */
	{"10 06 02 7600", 0, "rsp+8 rbp=rbp+0"},
	{"10 03 02 7668", 0, "rsp+8 rbx=rbp-24"},
	{"10 03 02 7708", 0, "rsp+8 rbx lost"},
	{"10 03 03 766806", 0, "rsp+8 rbx lost"},
	{"10 03 04 76808020", 0, "rsp+8 rbx lost"},
	{"16 03 02 7668", 0, "rsp+8 rbx lost"},
	{"10 0c 02 7600", 0, "rsp+8"},
	/* The return address: the first function has none; elsewhere than below the frame it is not followed. */
	{"0710", 0, "end"},
	{"41 0710 8602", 1, "end"},
	{"9002", 0, "unsupported"},
	{"0810", 0, "unsupported"},
	{"09 1005", 0, "unsupported"},
	{"10 10 02 7600", 0, "unsupported"},
	{"9002 41 d0", 1, "rsp+8"},
	/* What is not known, or damaged: so far, and no further. */
	{"2e 10 41 0e10", 1, "rsp+16"},
	{"41 0e10 41 3c", 1, "rsp+16"},
	{"41 0e10 41 3c", 2, "unsupported"},
	{"41 0e10 41 3c", 0xff, "unsupported"},
	{"2d", 0, "unsupported"},
	{"0b", 0, "unsupported"},
	{"41 0e 80", 0, "rsp+8"},
	{"41 0e 80", 1, "unsupported"},
	{"0f 7f 7708", 0, "unsupported"},
};

TEST(every_construct_has_its_rule)
{
	for (size_t i = 0; i < ARRAY_SIZE(constructs); i++) {
		const struct construct *construct = &constructs[i];
		struct unwind_file file = {0};
		struct elf_unwind_rows rows;
		char text[96];

		put_fde(&file, put_cie(&file, USUAL), TEXT, 0x100, construct->instructions);
		if (!read_rows(&file, &rows))
			continue;
		show_rule(text, elf_unwind_rows_find(&rows, TEXT + construct->at));
		if (strcmp(text, construct->rule) != 0)
			UNIT_FAIL("\"%s\" at %u is \"%s\", expected \"%s\"",
				  construct->instructions, construct->at, text, construct->rule);
		CHECK(rows_are_sound(&rows));
		CHECK_U64(rows.fde_count, 1);
		CHECK_U64(rows.code_bytes, TEXT_BYTES);
		CHECK_U64(rows.uncovered_bytes, TEXT_BYTES - 0x100);
		elf_unwind_rows_free(&rows);
	}
}

/* ---- CIEs ---- */

struct common {
	const char *what;
	u8 version;
	const char *letters, *after, *before; /* see put_cie_whole(), put_fde_whole() */
	const char *rule; /* in force at TEXT + 1, which the FDE says 0e10 for */
};

/* 0x71000 is TEXT; the function has 0x20 bytes. */
static const struct common commons[] = {
	{"no augmentation, plain addresses", 1, "", "01 78 10 " USUAL,
	 "0010070000000000 2000000000000000", "rsp+16"},
	{"version 3", 3, "", "01 78 10 " USUAL, "0010070000000000 2000000000000000", "rsp+16"},
	{"version 3, the column in two bytes", 3, "", "01 78 9000 " USUAL,
	 "0010070000000000 2000000000000000", "rsp+16"},
	{"version 4", 4, "", "08 00 01 78 10 " USUAL, "0010070000000000 2000000000000000",
	 "rsp+16"},
	{"version 4, addresses of 4 bytes", 4, "", "04 00 01 78 10 " USUAL, "00100700 20000000",
	 "none"},
	{"version 2", 2, "", "01 78 10 " USUAL, "0010070000000000 2000000000000000", "none"},
	{"gcc 2", 1, "eh", "0000000000000000 01 78 10 " USUAL, "0010070000000000 2000000000000000",
	 "rsp+16"},
	{"udata8", 1, "zR", "01 78 10 01 04 " USUAL, "0010070000000000 2000000000000000 00",
	 "rsp+16"},
	{"udata4", 1, "zR", "01 78 10 01 03 " USUAL, "00100700 20000000 00", "rsp+16"},
	{"sdata4", 1, "zR", "01 78 10 01 0b " USUAL, "00100700 20000000 00", "rsp+16"},
	{"uleb128", 1, "zR", "01 78 10 01 01 " USUAL, "80a01c 20 00", "rsp+16"},
	{"indirect", 1, "zR", "01 78 10 01 83 " USUAL, "00100700 20000000 00", "none"},
	{"from the text: nobody says where that is", 1, "zR", "01 78 10 01 2b " USUAL,
	 "00100700 20000000 00", "none"},
	{"personality, exceptions", 1, "zPLR", "01 78 10 07 9b 11223344 1b 03 " USUAL,
	 "00100700 20000000 0411223344", "rsp+16"},
	{"personality of 8 bytes", 1, "zPR", "01 78 10 0a 00 1122334455667788 03 " USUAL,
	 "00100700 20000000 00", "rsp+16"},
	{"a letter that is not known", 1, "zXR", "01 78 10 01 03 " USUAL, "00100700 20000000 00",
	 "none"},
	{"without z", 1, "R", "01 78 10 01 03 " USUAL, "00100700 20000000 00", "none"},
	{"signal, but not the kernel's frame", 1, "zRS", "01 78 10 01 03 " USUAL,
	 "00100700 20000000 00", "rsp+16"},
	{"the return address in another column", 1, "zR", "01 78 11 01 03 " USUAL,
	 "00100700 20000000 00", "unsupported"},
	{"an instruction that is not known", 1, "zR", "01 78 10 01 03 3c " USUAL,
	 "00100700 20000000 00", "unsupported"},
	{"restores in the CIE", 1, "zR", "01 78 10 01 03 c6 " USUAL, "00100700 20000000 00",
	 "unsupported"},
	{"cut", 1, "zR", "01 78 10 7f 03 " USUAL, "00100700 20000000 00", "none"},
	{"no code", 1, "zR", "01 78 10 01 03 " USUAL, "00100700 00000000 00", "none"},
	{"code beyond all addresses", 1, "", "01 78 10 " USUAL, "0010070000000000 ffffffffffffffff",
	 "none"},
	{"code elsewhere", 1, "", "01 78 10 " USUAL, "0010070000100000 2000000000000000", "none"},
};

TEST(every_kind_of_CIE_is_read)
{
	for (size_t i = 0; i < ARRAY_SIZE(commons); i++) {
		const struct common *common = &commons[i];
		struct unwind_file file = {0};
		struct elf_unwind_rows rows;
		char text[96];

		put_fde_whole(&file,
			      put_cie_whole(&file, common->version, common->letters, common->after),
			      common->before, "41 0e10");
		if (!read_rows(&file, &rows))
			continue;
		show_rule(text, elf_unwind_rows_find(&rows, TEXT + 1));
		if (strcmp(text, common->rule) != 0)
			UNIT_FAIL("%s: \"%s\", expected \"%s\"", common->what, text, common->rule);
		CHECK(rows_are_sound(&rows));
		elf_unwind_rows_free(&rows);
	}
}

static void expect(const struct elf_unwind_rows *rows, u64 address, const char *expected)
{
	char text[96];

	show_rule(text, elf_unwind_rows_find(rows, address));
	if (strcmp(text, expected) != 0)
		UNIT_FAIL("%#llx is \"%s\", expected \"%s\"", (unsigned long long)address, text,
			  expected);
}

TEST(the_kernels_signal_frame)
{
	struct unwind_file file = {0};
	struct elf_unwind_rows rows;

	/* As glibc writes __restore_rt: CFA is what stands at rsp + 160, the return address at rsp + 168. */
	put_fde(&file, put_cie_whole(&file, 1, "zRS", "01 78 10 01 1b"), TEXT - 1, 10,
		"0f 04 77a00106 10 10 03 77a801 10 06 03 77f800");
	if (!read_rows(&file, &rows))
		return;
	expect(&rows, TEXT - 1, "signal");
	expect(&rows, TEXT + 8, "signal");
	expect(&rows, TEXT + 9, "none");
	elf_unwind_rows_free(&rows);
}

TEST(the_end_of_a_file_without_sections_is_a_zero)
{
	struct unwind_file file = {.no_sections = true};
	struct elf_unwind_rows rows;
	size_t cie = put_cie(&file, USUAL);

	put_fde(&file, cie, TEXT, 0x100, "0e10");
	put_number(&file, 0, 4);
	put_fde(&file, cie, TEXT + 0x200, 0x100, "0e20");
	if (!read_rows(&file, &rows))
		return;
	CHECK(rows_are_sound(&rows));
	CHECK_U64(rows.fde_count, 1);
	CHECK_U64(rows.code_bytes, FILE_BYTES);
	expect(&rows, TEXT, "rsp+16");
	expect(&rows, TEXT + 0x200, "none");
	elf_unwind_rows_free(&rows);
	/* With a table of sections there may be others behind. */
	file.no_sections = false;
	if (!read_rows(&file, &rows))
		return;
	expect(&rows, TEXT, "rsp+16");
	expect(&rows, TEXT + 0x200, "rsp+32");
	elf_unwind_rows_free(&rows);
}

/* ---- functions among each other ---- */

TEST(gaps_have_no_rule_and_padding_that_before)
{
	struct unwind_file file = {0};
	struct elf_unwind_rows rows;
	size_t cie = put_cie(&file, USUAL);

	put_fde(&file, cie, TEXT + 0x100, 0x31, "0e10");
	put_fde(&file, cie, TEXT + 0x140, 0x30, "0e20");
	put_fde(&file, cie, TEXT + 0x180, 0x10, "0e28");
	if (!read_rows(&file, &rows))
		return;
	CHECK(rows_are_sound(&rows));
	expect(&rows, TEXT + 0xff, "none");
	expect(&rows, TEXT + 0x100, "rsp+16");
	expect(&rows, TEXT + 0x13f, "rsp+16"); /* 15 bytes */
	expect(&rows, TEXT + 0x140, "rsp+32");
	expect(&rows, TEXT + 0x170, "none"); /* 16 bytes */
	expect(&rows, TEXT + 0x17f, "none");
	expect(&rows, TEXT + 0x18f, "rsp+40");
	expect(&rows, TEXT + 0x190, "none");
	CHECK_U64(rows.fde_count, 3);
	CHECK_U64(rows.uncovered_bytes, TEXT_BYTES - 0x40 - 0x30 - 0x10);
	/* Of the first page of the code 1, 2 and 3 functions, and the gaps; one for each other page. */
	CHECK_U64(rows.page_count, FILE_BYTES / 4096);
	CHECK_U64(rows.row_count, 5 + FILE_BYTES / 4096);
	elf_unwind_rows_free(&rows);
}

TEST(pages_begin_with_what_is_in_force)
{
	struct unwind_file file = {0};
	struct elf_unwind_rows rows;
	size_t cie = put_cie(&file, USUAL);

	put_fde(&file, cie, TEXT + 0x800, 0x2000, "41 0e10 04 ff070000 0e20");
	if (!read_rows(&file, &rows))
		return;
	CHECK(rows_are_sound(&rows));
	expect(&rows, TEXT + 0x800, "rsp+8");
	expect(&rows, TEXT + 0xfff, "rsp+16");
	/* 0x800 + 1 + 0x7ff: the page's first row is the function's last. */
	expect(&rows, TEXT + 0x1000, "rsp+32");
	expect(&rows, TEXT + 0x2000, "rsp+32");
	expect(&rows, TEXT + 0x27ff, "rsp+32");
	expect(&rows, TEXT + 0x2800, "none");
	expect(&rows, 0, "none");
	expect(&rows, BASE - 1, "none");
	expect(&rows, BASE + FILE_BYTES, "none");
	expect(&rows, UINT64_MAX, "none");
	CHECK_U64(rows.row_count, FILE_BYTES / 4096 + 3);
	elf_unwind_rows_free(&rows);
}

TEST(functions_are_sorted_and_overlaps_cut)
{
	struct unwind_file file = {0};
	struct elf_unwind_rows rows;
	size_t cie = put_cie(&file, USUAL);

	put_fde(&file, cie, TEXT + 0x400, 0x100, "0e40");
	put_fde(&file, cie, TEXT + 0x100, 0x100, "0e10 02 80 0e18");
	put_fde(&file, cie, TEXT + 0x140, 0x20, "0e20");
	put_fde(&file, cie, TEXT + 0x400, 0x80, "0e50");
	put_fde(&file, cie, TEXT + 0x20, 0x10, "0e60");
	if (!read_rows(&file, &rows))
		return;
	CHECK(rows_are_sound(&rows));
	expect(&rows, TEXT + 0x20, "rsp+96");
	expect(&rows, TEXT + 0x13f, "rsp+16");
	expect(&rows, TEXT + 0x140, "rsp+32");
	expect(&rows, TEXT + 0x160, "none");
	expect(&rows, TEXT + 0x180, "none");
	/* The first of two that begin together. */
	expect(&rows, TEXT + 0x400, "rsp+64");
	expect(&rows, TEXT + 0x4ff, "rsp+64");
	CHECK_U64(rows.fde_count, 4);
	elf_unwind_rows_free(&rows);
}

/* Whoever follows it goes round and round, or takes an FDE for a CIE. */
TEST(what_points_to_itself_is_left_out)
{
	struct unwind_file file = {0};
	struct elf_unwind_rows rows;
	size_t cie = put_cie(&file, USUAL), itself = file.size_bytes, other;

	/* A CIE but for its id, which leads back to its own start; and a function of it. */
	put_fde_whole(&file, itself, "01 7a5200 01 78 10 01 1b", USUAL);
	put_fde(&file, itself, TEXT + 0x200, 0x100, "0e40");
	/* Two that are each other's. */
	other = file.size_bytes;
	put_fde(&file, other + 20, TEXT + 0x400, 0x100, "0e50");
	CHECK_U64(file.size_bytes, other + 20);
	put_fde(&file, other, TEXT + 0x600, 0x100, "0e60");
	put_fde(&file, cie, TEXT, 0x100, "0e10");
	if (!read_rows(&file, &rows))
		return;
	CHECK(rows_are_sound(&rows));
	expect(&rows, TEXT, "rsp+16");
	expect(&rows, TEXT + 0x200, "none");
	expect(&rows, TEXT + 0x400, "none");
	expect(&rows, TEXT + 0x600, "none");
	CHECK_U64(rows.fde_count, 1);
	elf_unwind_rows_free(&rows);
}

TEST(a_file_without_tables_has_no_rule)
{
	struct unwind_file file = {0};
	struct elf_unwind_rows rows;

	if (!read_rows(&file, &rows))
		return;
	CHECK(rows_are_sound(&rows));
	CHECK_U64(rows.rule_count, 1);
	CHECK_U64(rows.uncovered_bytes, TEXT_BYTES);
	expect(&rows, TEXT, "none");
	elf_unwind_rows_free(&rows);
}

/* A function whose frame grows with each instruction. */
TEST(rules_beyond_65536_are_not_followed)
{
	enum { ROWS = 70000, FIRST_OFFSET = 16 };
	_cleanup_free_ char *instructions = malloc(11 * ROWS + 1);
	struct unwind_file file = {0};
	struct elf_unwind_rows rows;

	for (u32 i = 0; i < ROWS; i++) {
		u32 offset = FIRST_OFFSET + i;

		snprintf(instructions + 11 * i, 12, "410e%02x%02x%02x ", (offset & 0x7f) | 0x80,
			 (offset >> 7 & 0x7f) | 0x80, offset >> 14);
	}
	put_fde(&file, put_cie(&file, USUAL), TEXT, ROWS + 1, instructions);
	CHECK(file.size_bytes < SECTIONS_OFFSET - FRAME_OFFSET);
	if (!read_rows(&file, &rows))
		return;
	CHECK(rows_are_sound(&rows));
	CHECK_U64(rows.rule_count, UNWIND_RULES_MAX);
	/* None, the two words at the start, and "unsupported" are rules too. */
	expect(&rows, TEXT + 1, "rsp+16");
	expect(&rows, TEXT + 65533, "rsp+65548");
	expect(&rows, TEXT + 65534, "unsupported");
	expect(&rows, TEXT + ROWS, "unsupported");
	CHECK_U64(rows.unsupported_bytes, ROWS + 1 - 65534);
	elf_unwind_rows_free(&rows);
}

/* The kernel's own, out of memory. */
TEST(the_vdso_has_rows)
{
	const u8 *image = (const u8 *)getauxval(AT_SYSINFO_EHDR);
	int fd = memfd_create("vdso", MFD_CLOEXEC);
	struct elf_unwind_rows rows;

	if (!image)
		SKIP("no vdso in this process");
	CHECK(write(fd, image, 2 * 4096) == 2 * 4096);
	if (read_rows_of(fd, &rows)) {
		CHECK(rows_are_sound(&rows));
		CHECK(rows.fde_count > 3);
		CHECK(rows.code_bytes > 500 && rows.uncovered_bytes * 4 < rows.code_bytes);
		elf_unwind_rows_free(&rows);
	}
	close(fd);
}

UNIT_MAIN()
