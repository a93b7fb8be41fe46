/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of code that has no .eh_frame, but debug information: against libdw's, address by address, and by hand. */
#include <elfutils/libdw.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "elf/elf.h"
#include "scratch_folder.h"
#include "unwind_file.h"

static const char source[] = "#include <string.h>\n"
			     "#include <stdarg.h>\n"
			     "int other(char *text, ...);\n"
			     "int small(int a) { return other(0, a) + 1; }\n"
			     "int large(const char *from) { char text[500]; strcpy(text, from); "
			     "return other(text) + small(3); }\n"
			     "int dynamic(int count) { char text[count]; return other(text, count) "
			     "+ large(text) * small(count); }\n"
			     "int many(int a, int b, int c, int d, int e, int f)\n"
			     "{ for (int i = a; i < b; i++) f += other(0, a, b, c, d, e, f, i, a * "
			     "b, c * d, e * i); return f; }\n"
			     "int main(int count, char **words) { return dynamic(count) + many(1, "
			     "2, 3, 4, 5, count) + large(words[0]); }\n";

/* What libdw says of a register's or the frame's place, where it is a sum. */
static bool sum_of(const Dwarf_Op *operations, size_t count, u64 *ret_register, s64 *ret_offset)
{
	if (count == 1 && operations[0].atom == DW_OP_bregx) {
		*ret_register = operations[0].number;
		*ret_offset = (s64)operations[0].number2;
		return true;
	}
	if (count != 1 || operations[0].atom < DW_OP_breg0 || operations[0].atom > DW_OP_breg31)
		return false;
	*ret_register = operations[0].atom - DW_OP_breg0;
	*ret_offset = (s64)operations[0].number;
	return true;
}

static bool is_kept_as(Dwarf_Frame *frame, int number, u8 how, s16 offset)
{
	Dwarf_Op memory[3], *operations;
	size_t count;

	if (dwarf_frame_register(frame, number, memory, &operations, &count))
		return false;
	/* Of rbx of which nothing is said elfutils' table of the ABI has the name of another register. */
	if (!count)
		return how == (operations && number != 3 ? UNWIND_LOST : UNWIND_SAME);
	return how == UNWIND_AT_CFA && count == 2 && operations[0].atom == DW_OP_call_frame_cfa &&
	       (s64)operations[1].number == offset;
}

static bool is_same(Dwarf_Frame *frame, const struct unwind_rule *rule)
{
	Dwarf_Op *operations;
	size_t count;
	u64 number = 0;
	s64 offset = 0;

	if (dwarf_frame_cfa(frame, &operations, &count) ||
	    !sum_of(operations, count, &number, &offset) || offset != rule->cfa_offset)
		return false;
	if (number != (rule->cfa == UNWIND_CFA_RSP ? 7 : rule->cfa == UNWIND_CFA_RBP ? 6 : 99))
		return false;
	return is_kept_as(frame, 6, rule->rbp, rule->rbp_offset) &&
	       is_kept_as(frame, 3, rule->rbx, rule->rbx_offset);
}

/* All addresses that libdw has an entry for in .debug_frame. */
static void compare(const char *name, u64 least)
{
	char path[SCRATCH_PATH_BYTES];
	_cleanup_close_ int fd = open(in_folder(path, name), O_RDONLY | O_CLOEXEC);
	Dwarf *dwarf = dwarf_begin(fd, DWARF_C_READ);
	Dwarf_CFI *tables = dwarf ? dwarf_getcfi(dwarf) : NULL;
	struct elf_file *elf = NULL;
	struct elf_unwind_rows rows = {0};
	u64 compared = 0, differences = 0;
	struct err err = {0};

	CHECK_OK(elf_file_open(fd, name, &elf, &err), err);
	CHECK_OK(elf_unwind_rows_read(elf, &rows, &err), err);
	CHECK(rows_are_sound(&rows));
	CHECK(tables);
	for (u64 address = rows.first_page * UNWIND_PAGE_BYTES;
	     tables && address < (rows.first_page + rows.page_count) * UNWIND_PAGE_BYTES;
	     address++) {
		const struct unwind_rule *rule = elf_unwind_rows_find(&rows, address);
		Dwarf_Frame *frame;
		char shown[96];

		if (dwarf_cfi_addrframe(tables, address, &frame))
			continue;
		compared++;
		if (!is_same(frame, rule) && differences++ < 5)
			UNIT_FAIL("%s: %#llx is \"%s\"", name, (unsigned long long)address,
				  show_rule(shown, rule));
		free(frame);
	}
	CHECK_U64(differences, 0);
	CHECK(compared > least);
	printf("# %s: %llu addresses, %u functions\n", name, (unsigned long long)compared,
	       rows.fde_count);
	elf_unwind_rows_free(&rows);
	elf_file_free(elf);
	dwarf_end(dwarf);
}

TEST(rows_say_what_libdw_says)
{
	if (system("gcc --version >/dev/null 2>&1"))
		SKIP("no gcc");
	write_file("code.c", source);
#define WITHOUT \
	"gcc -g -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-exceptions -Wl,-z,undefs "
	/* None but this; beside the .eh_frame of what a program begins with; with other frames; as earlier compilers wrote it. */
	if (!shell(WITHOUT "-O2 -shared -fPIC -nostdlib -o alone code.c && " WITHOUT
			   "-O2 -shared -fPIC -o beside code.c && " WITHOUT
			   "-O0 -shared -fPIC -o frames code.c && " WITHOUT
			   "-O2 -gdwarf-2 -shared -fPIC -nostdlib -o second code.c"))
		return;
	compare("alone", 300);
	compare("beside", 300);
	compare("frames", 300);
	compare("second", 300);
}

UNIT_MAIN()
