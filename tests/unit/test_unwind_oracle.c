/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind tables of real files against libdw's, address by address; and what becomes of them when they are damaged. Others than those of
 * the list: UNWIND_FILES=FILE:FILE... build/unit/test_unwind_oracle rows_say_what_libdw_says
 */
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "elf/elf.h"
#include "elf/elf_cfi.h"
#include "unwind_file.h"

#define FUNCTIONS	  1000
#define DIFFERENCES_SHOWN 10
#define UNFOLLOWED_MAX	  0.001 /* of the addresses of a file */

static const char *const paths[] = {
	"/lib/x86_64-linux-gnu/libc.so.6",
	"/lib64/ld-linux-x86-64.so.2",
	"/lib/x86_64-linux-gnu/libm.so.6",
	"/lib/x86_64-linux-gnu/libcrypto.so.3",
	"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
	"/lib/x86_64-linux-gnu/libgcc_s.so.1",
	"/usr/bin/python3",
	"/usr/bin/redis-server",
	"/usr/sbin/nginx",
	"/usr/lib/postgresql/15/bin/postgres",
	"/usr/lib/postgresql/17/bin/postgres",
	"/usr/bin/node",
	"/proc/self/exe",
};

/* Splitmix64: the same functions in every run. */
static u64 next_random(u64 *state)
{
	u64 value = *state += 0x9e3779b97f4a7c15ULL;

	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ULL;
	value = (value ^ value >> 27) * 0x94d049bb133111ebULL;
	return value ^ value >> 31;
}

/* ---- what libdw says, as a rule ---- */

/* Why no rule of ours says what libdw says: stacks end there. */
enum cause { FOLLOWED, CFA_IS_AN_EXPRESSION, RETURN_ADDRESS_ELSEWHERE, TOO_MANY_RULES, CAUSES };

static const char *const cause_words[CAUSES] = {
	[CFA_IS_AN_EXPRESSION] = "the CFA is an expression that is not followed",
	[RETURN_ADDRESS_ELSEWHERE] = "the return address does not lie right below the CFA",
	[TOO_MANY_RULES] = "more different rules than a table holds",
};

static bool register_sum(const Dwarf_Op *operation, u64 *ret_number, s64 *ret_offset)
{
	if (operation->atom == DW_OP_bregx) {
		*ret_number = operation->number;
		*ret_offset = (s64)operation->number2;
		return true;
	}
	if (operation->atom < DW_OP_breg0 || operation->atom > DW_OP_breg31)
		return false;
	*ret_number = operation->atom - DW_OP_breg0;
	*ret_offset = (s64)operation->number;
	return true;
}

static bool is_plt(const Dwarf_Op *operations, size_t count)
{
	static const u8 atoms[] = {DW_OP_breg7, DW_OP_breg16, DW_OP_lit15, DW_OP_and, 0,
				   DW_OP_ge,	DW_OP_lit3,   DW_OP_shl,   DW_OP_plus};

	if (count != ARRAY_SIZE(atoms) || operations[0].number != 8 || operations[1].number)
		return false;
	for (size_t i = 0; i < count; i++)
		if (atoms[i] && operations[i].atom != atoms[i])
			return false;
	return operations[4].atom >= DW_OP_lit0 && operations[4].atom <= DW_OP_lit15;
}

/* *(rsp + offset + 8 * register) + 8 * words */
static bool is_indexed(const Dwarf_Op *operations, size_t count)
{
	static const u8 atoms[] = {DW_OP_breg7, 0,	     DW_OP_lit8,       DW_OP_mul,
				   DW_OP_plus,	DW_OP_deref, DW_OP_plus_uconst};

	if (count != ARRAY_SIZE(atoms) || operations[1].atom < DW_OP_breg0 ||
	    operations[1].atom > DW_OP_breg15 || operations[1].number)
		return false;
	for (size_t i = 0; i < count; i++)
		if (atoms[i] && operations[i].atom != atoms[i])
			return false;
	return true;
}

static void frame_rule(const Dwarf_Op *operations, size_t count, bool signal_frame,
		       struct unwind_rule *rule)
{
	u64 number;
	s64 offset;

	rule->cfa = UNWIND_CFA_UNSUPPORTED;
	if (is_plt(operations, count)) {
		rule->cfa = UNWIND_CFA_PLT;
		rule->cfa_offset = operations[4].atom - DW_OP_lit0;
	} else if (is_indexed(operations, count)) {
		rule->cfa = (u8)(UNWIND_CFA_INDEXED + operations[1].atom - DW_OP_breg0);
		rule->cfa_offset = (s32)operations[0].number;
		rule->words = (u8)(operations[6].number / 8);
	} else if (count && count <= 3 && register_sum(operations, &number, &offset) &&
		   number < 16 && offset == (s32)offset) {
		rule->cfa_offset = (s32)offset;
		if (count == 1)
			rule->cfa = number == 7	  ? UNWIND_CFA_RSP
				    : number == 6 ? UNWIND_CFA_RBP
				    : number == 3 ? UNWIND_CFA_RBX
						  : (u8)(UNWIND_CFA_REGISTER + number);
		else if (operations[1].atom == DW_OP_deref && (number == 6 || number == 7) &&
			 (count == 2 || operations[2].atom == DW_OP_plus_uconst)) {
			rule->cfa = number == 7 ? UNWIND_CFA_RSP_POINTS : UNWIND_CFA_RBP_POINTS;
			rule->words = count == 2 ? 0 : (u8)(operations[2].number / 8);
		}
	}
	if (signal_frame && rule->cfa == UNWIND_CFA_RSP_POINTS && rule->cfa_offset == 160 &&
	    !rule->words)
		*rule = (struct unwind_rule){.cfa = UNWIND_CFA_SIGNAL};
}

static u8 register_rule(Dwarf_Frame *frame, int number, s16 *ret_offset)
{
	Dwarf_Op memory[3], *operations;
	u64 other;
	size_t count;
	s64 offset = 0;

	if (dwarf_frame_register(frame, number, memory, &operations, &count))
		return 0xff;
	/* Of a register that nothing is said of: elfutils' table of the ABI (x86_64_abi_cfi) says that rbp stays the same, but
	 * where it means rbx it names rax. */
	if (!count)
		return operations && number != 3 ? UNWIND_LOST : UNWIND_SAME;
	if (count > 2 || operations[0].atom != DW_OP_call_frame_cfa)
		return UNWIND_LOST;
	if (count == 2 && register_sum(&operations[1], &other, &offset)) {
		*ret_offset = other == 6 ? (s16)offset : 0;
		return other == 6 && offset == (s16)offset ? UNWIND_AT_RBP : UNWIND_LOST;
	}
	if (count == 2 && operations[1].atom != DW_OP_plus_uconst)
		return UNWIND_LOST;
	offset = count == 2 ? (s64)operations[1].number : 0;
	*ret_offset = offset == (s16)offset ? (s16)offset : 0;
	return offset == (s16)offset ? UNWIND_AT_CFA : UNWIND_LOST;
}

static enum cause expected_rule(Dwarf_Frame *frame, bool signal_frame, struct unwind_rule *rule)
{
	Dwarf_Op memory[3], *operations;
	size_t count;

	*rule = (struct unwind_rule){0};
	if (dwarf_frame_register(frame, 16, memory, &operations, &count))
		abort();
	if (!count && operations) {
		rule->cfa = UNWIND_CFA_END;
		return FOLLOWED;
	}
	bool below = count == 2 && operations[0].atom == DW_OP_call_frame_cfa &&
		     operations[1].atom == DW_OP_plus_uconst && (s64)operations[1].number == -8;
	if (dwarf_frame_cfa(frame, &operations, &count))
		abort();
	frame_rule(operations, count, signal_frame, rule);
	if (rule->cfa == UNWIND_CFA_SIGNAL)
		return FOLLOWED;
	if (!below || rule->cfa == UNWIND_CFA_UNSUPPORTED) {
		*rule = (struct unwind_rule){.cfa = UNWIND_CFA_UNSUPPORTED};
		return below ? CFA_IS_AN_EXPRESSION : RETURN_ADDRESS_ELSEWHERE;
	}
	rule->rbp = register_rule(frame, 6, &rule->rbp_offset);
	rule->rbx = register_rule(frame, 3, &rule->rbx_offset);
	return FOLLOWED;
}

/* ---- one file ---- */

struct oracle {
	const char *path;
	struct elf_file *elf;
	Dwarf_CFI *tables;
	struct elf_unwind_rows rows;
	struct elf_fde *functions;
	size_t function_count;
	u64 addresses, places, differences; /* compared: bytes, stretches of them */
	u64 unfollowed[CAUSES];		    /* of the addresses */
};

static void differ(struct oracle *oracle, u64 address, const struct unwind_rule *expected)
{
	char ours[96], theirs[96];

	if (oracle->differences++ < DIFFERENCES_SHOWN)
		UNIT_FAIL("%s: %#llx is \"%s\", libdw says \"%s\"", oracle->path,
			  (unsigned long long)address,
			  show_rule(ours, elf_unwind_rows_find(&oracle->rows, address)),
			  expected ? show_rule(theirs, expected) : "nothing");
}

/* The same, but that ours has no number for it any more. */
static bool has_too_many_rules(const struct oracle *oracle, const struct unwind_rule *rule)
{
	return rule->cfa == UNWIND_CFA_UNSUPPORTED &&
	       oracle->rows.rule_count >= UNWIND_RULES_MAX - 1;
}

/* Compares what is in force from address on, byte by byte. Returns where something else is. */
static u64 compare_place(struct oracle *oracle, u64 address, u64 end)
{
	struct unwind_rule expected;
	Dwarf_Addr start, place_end;
	Dwarf_Frame *frame;
	bool signal_frame;
	enum cause cause;

	if (dwarf_cfi_addrframe(oracle->tables, address, &frame)) {
		differ(oracle, address, NULL);
		return end;
	}
	dwarf_frame_info(frame, &start, &place_end, &signal_frame);
	cause = expected_rule(frame, signal_frame, &expected);
	free(frame);
	oracle->places++;
	if (place_end > end)
		place_end = end;
	for (; address < place_end; address++) {
		const struct unwind_rule *rule = elf_unwind_rows_find(&oracle->rows, address);

		oracle->addresses++;
		if (!memcmp(rule, &expected, sizeof(expected))) {
			oracle->unfollowed[cause]++;
		} else if (has_too_many_rules(oracle, rule)) {
			oracle->unfollowed[TOO_MANY_RULES]++;
		} else {
			differ(oracle, address, &expected);
			break;
		}
	}
	return place_end;
}

/* Addresses anywhere in the code: what libdw has no entry for has no rule, or is padding behind a function. */
static void compare_gaps(struct oracle *oracle, u64 *random)
{
	u64 first = oracle->rows.first_page * UNWIND_PAGE_BYTES,
	    span = (u64)oracle->rows.page_count * UNWIND_PAGE_BYTES;

	for (int i = 0; i < FUNCTIONS; i++) {
		u64 address = first + next_random(random) % span, back = 1;
		Dwarf_Frame *frame;

		if (!dwarf_cfi_addrframe(oracle->tables, address, &frame)) {
			free(frame);
			compare_place(oracle, address, address + 1);
			continue;
		}
		oracle->addresses++;
		if (elf_unwind_rows_find(&oracle->rows, address)->cfa == UNWIND_CFA_NONE)
			continue;
		while (back <= 15 && dwarf_cfi_addrframe(oracle->tables, address - back, &frame))
			back++;
		if (back > 15)
			differ(oracle, address, NULL);
		else
			free(frame);
	}
}

static void list_functions(struct oracle *oracle)
{
	struct elf_cfi cfi;
	struct elf_cfi_entry entry;
	struct elf_cie cie = {0};
	struct err err = {0};
	u32 offset = 0;
	size_t capacity = 0;

	CHECK_OK(elf_cfi_read(oracle->elf, &cfi, &err), err);
	while (!err.code && elf_cfi_next(&cfi, &offset, &entry)) {
		struct elf_cfi_entry common;

		if (entry.is_cie || !elf_cfi_entry_at(&cfi, entry.cie_offset, &common) ||
		    !elf_cie_parse(&cfi, &common, &cie))
			continue;
		if (oracle->function_count == capacity) {
			capacity = capacity ? capacity * 2 : 1024;
			oracle->functions =
				realloc(oracle->functions, capacity * sizeof(*oracle->functions));
		}
		if (elf_fde_parse(&cfi, &cie, &entry, &oracle->functions[oracle->function_count]))
			oracle->function_count++;
	}
	elf_cfi_free(&cfi);
}

static void check_unfollowed(const struct oracle *oracle)
{
	u64 sum = 0;

	for (size_t cause = FOLLOWED + 1; cause < CAUSES; cause++) {
		sum += oracle->unfollowed[cause];
		if (oracle->unfollowed[cause])
			printf("#   %llu addresses without a rule: %s\n",
			       (unsigned long long)oracle->unfollowed[cause], cause_words[cause]);
	}
	if ((double)sum > UNFOLLOWED_MAX * (double)oracle->addresses)
		UNIT_FAIL("%s: %llu of %llu addresses have no rule", oracle->path,
			  (unsigned long long)sum, (unsigned long long)oracle->addresses);
}

static void compare_functions(struct oracle *oracle)
{
	size_t count = oracle->function_count < FUNCTIONS ? oracle->function_count : FUNCTIONS;
	u64 random = 1;

	/* All of them where there are not more; else some may be taken twice. */
	for (size_t i = 0; i < count; i++) {
		size_t at = count < FUNCTIONS ? i : next_random(&random) % oracle->function_count;
		u64 address = oracle->functions[at].start, end = oracle->functions[at].end;

		while (address < end)
			address = compare_place(oracle, address, end);
	}
	compare_gaps(oracle, &random);
	printf("# %s: %zu functions, %llu addresses in %llu places, %llu differences; %u rows, %u "
	       "rules\n",
	       oracle->path, count, (unsigned long long)oracle->addresses,
	       (unsigned long long)oracle->places, (unsigned long long)oracle->differences,
	       oracle->rows.row_count, oracle->rows.rule_count);
	check_unfollowed(oracle);
	CHECK_U64(oracle->differences, 0);
	CHECK(oracle->places > count);
}

/* False: there is no such file here. */
static bool compare_file(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct oracle oracle = {.path = path};
	struct err err = {0};

	if (fd < 0)
		return false;
	CHECK_OK(elf_file_open(fd, path, &oracle.elf, &err), err);
	if (err.code)
		return true;
	CHECK_OK(elf_unwind_rows_read(oracle.elf, &oracle.rows, &err), err);
	CHECK(rows_are_sound(&oracle.rows));
	oracle.tables = dwarf_getcfi_elf(oracle.elf->elf);
	CHECK(oracle.tables);
	list_functions(&oracle);
	if (oracle.tables && oracle.function_count)
		compare_functions(&oracle);
	dwarf_cfi_end(oracle.tables);
	free(oracle.functions);
	elf_unwind_rows_free(&oracle.rows);
	elf_file_free(oracle.elf);
	return true;
}

TEST(rows_say_what_libdw_says)
{
	_cleanup_free_ char *more = getenv("UNWIND_FILES") ? strdup(getenv("UNWIND_FILES")) : NULL;
	size_t compared = 0;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		compared += compare_file(paths[i]);
	for (char *path = more ? strtok(more, ":") : NULL; path; path = strtok(NULL, ":"))
		CHECK(compare_file(path));
	/* The C library, the loader, and this program. */
	CHECK(compared >= 3);
}

/* ---- damage ---- */

static int copy_of(const char *path)
{
	_cleanup_close_ int from = open(path, O_RDONLY | O_CLOEXEC);
	int to = memfd_create("damaged", MFD_CLOEXEC);
	struct stat status;
	void *bytes;

	if (from < 0 || to < 0 || fstat(from, &status) || !(bytes = malloc((size_t)status.st_size)))
		abort();
	if (file_read_at(from, bytes, (size_t)status.st_size, 0) != status.st_size ||
	    file_write(to, bytes, (size_t)status.st_size))
		abort();
	free(bytes);
	return to;
}

static void find_frames(int fd, u64 *ret_offset, u64 *ret_size)
{
	struct elf_file *file = NULL;
	GElf_Shdr header = {0};

	CHECK(!elf_file_open(fd, "damaged", &file, NULL));
	CHECK(elf_section_find(file, ".eh_frame", SHT_NULL, &header));
	*ret_offset = header.sh_offset;
	*ret_size = header.sh_size;
	elf_file_free(file);
}

/* Some bytes of .eh_frame are others; they are put back. The sanitizers are the judges, and what is promised of every table. */
static void damage(int fd, u64 offset, u64 size, u64 *random)
{
	u8 before[64], others[64];
	struct elf_unwind_rows rows;
	u64 first = offset + next_random(random) % (size - sizeof(before));
	size_t count = 1 + next_random(random) % 8;

	CHECK(file_read_at(fd, before, sizeof(before), first) == sizeof(before));
	memcpy(others, before, sizeof(others));
	for (size_t i = 0; i < count; i++)
		others[next_random(random) % sizeof(others)] = (u8)next_random(random);
	CHECK(!file_write_at(fd, others, sizeof(others), first));
	if (read_rows_of(fd, &rows)) {
		CHECK(rows_are_sound(&rows));
		elf_unwind_rows_free(&rows);
	}
	CHECK(!file_write_at(fd, before, sizeof(before), first));
}

TEST(damaged_tables_stay_tables)
{
	_cleanup_close_ int fd = copy_of("/lib64/ld-linux-x86-64.so.2");
	u64 offset, size, random = 2;

	find_frames(fd, &offset, &size);
	CHECK(size > 4096);
	for (int i = 0; i < 3000 && size > 4096; i++)
		damage(fd, offset, size, &random);
}

UNIT_MAIN()
