/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as a file of code: everything that is read from files of a target. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/demangle.h"
#include "plan/usdt_arguments.h"
#include "elf/elf_file.h"
#include "elf/elf_go_table.h"
#include "elf/elf_sleds.h"
#include "elf/elf_usdt.h"
#include "../unit/unwind_sound.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

/* What elf_file.h promises of symbols. */
static void check_symbols(const struct elf_file *file, const struct elf_symbols *symbols)
{
	struct text name = {0};
	u64 offset;

	for (size_t i = 0; i < symbols->count; i++) {
		const struct elf_symbol *symbol = &symbols->items[i];

		if (!symbol->name[0] || elf_file_offset(file, symbol->address, &offset) < 0)
			abort();
		if (i && symbols->items[i - 1].address > symbol->address)
			abort();
		if (i < 100) {
			demangle(symbol->name, DEMANGLE_FULL, &name);
			demangle(symbol->name, DEMANGLE_NAME, &name);
		}
	}
	text_free(&name);
}

static bool find_variable(void *data, const char *name, size_t length, u64 *ret_address)
{
	return !elf_variables_find(data, name, length, ret_address);
}

static void check_arguments(const char *text, const struct usdt_place *place)
{
	struct usdt_argument arguments[USDT_ARGUMENTS_MAX];
	size_t count = usdt_arguments_parse(text, place, arguments);
	struct text shown = {0};

	for (size_t i = 0; i < count && i < USDT_ARGUMENTS_MAX; i++) {
		const struct usdt_argument *argument = &arguments[i];
		u8 size = argument->size_bytes;

		if ((size != 1 && size != 2 && size != 4 && size != 8) ||
		    argument->base > USDT_REGISTER_NONE || argument->index > USDT_REGISTER_NONE)
			abort();
	}
	usdt_arguments_append(arguments, count, &shown);
	text_free(&shown);
}

struct noted {
	const struct elf_file *file;
	struct elf_variables variables;
};

/* What elf_usdt.h promises of notes. */
static int check_note(void *data, const struct elf_usdt_note *note)
{
	struct noted *noted = data;
	const struct elf_file *file = noted->file;
	struct usdt_place place = {note->address, elf_file_is_movable(file), find_variable,
				   &noted->variables};
	u64 offset;

	if (!note->provider[0] || !note->name[0] ||
	    elf_file_offset(file, note->address, &offset) < 0 || offset != note->file_offset)
		abort();
	check_arguments(note->arguments, &place);
	return 0;
}

static bool no_variable(void *data, const char *name, size_t length, u64 *ret_address)
{
	*ret_address = length;
	return length % 2;
}

/* Each is a string of the table, which ends in it. */
static void check_go_lines(const struct elf_file *file)
{
	struct elf_go_table table;

	if (elf_go_table_read(file, &table))
		return;
	for (u64 i = 0; i < table.count && i < 100; i++) {
		struct elf_extent extent;
		struct elf_go_line line;

		for (u64 at = 0; elf_go_table_extent(&table, i, &extent) && at < 16; at += 3)
			if (elf_go_table_line(&table, extent.address + at, &line) &&
			    (!line.file[0] || !line.line))
				abort();
	}
	free(table.bytes);
}

static void read_file(int fd)
{
	u8 id[ELF_BUILD_ID_MAX_BYTES], bytes[16];
	struct elf_binding binding;
	struct elf_unwind_rows rows;
	struct elf_symbols symbols;
	struct elf_sleds sleds;
	struct elf_file *file;
	struct err err = {0};
	u64 offset;

	if (elf_file_open(fd, "/fuzzed", &file, &err) < 0) {
		if (!err.message[0])
			abort();
		return;
	}
	elf_file_build_id(file, id);
	elf_file_is_go(file);
	elf_file_is_static(file);
	if (!elf_sleds_load(file, &sleds))
		elf_sleds_has(&sleds, 0x1000, 0x1000);
	elf_sleds_free(&sleds);
	free(elf_file_soname(file));
	elf_file_has_personality(file);
	(void)elf_file_dynamic_symbol(file, "_PyRuntime", &offset);
	for (u64 slot = 0x3f80; slot < 0x4080; slot += 8)
		elf_file_binding(file, slot, &binding);
	if (!elf_file_offset(file, 0x1000, &offset))
		elf_file_read(file, offset, bytes, sizeof(bytes));
	if (!elf_symbols_load(file, "/nonexistent", &symbols, &err)) {
		check_symbols(file, &symbols);
		elf_symbols_free(&symbols);
	}
	check_go_lines(file);
	if (!elf_unwind_rows_read(file, &rows, &err)) {
		if (!rows_are_sound(&rows))
			abort();
		elf_unwind_rows_free(&rows);
	}
	struct noted noted = {.file = file};

	elf_variables_load(file, &noted.variables);
	elf_usdt_visit(file, check_note, &noted, NULL);
	elf_variables_free(&noted.variables);
	elf_file_free(file);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static int fd = -1;
	char name[256];
	struct text demangled = {0};

	if (fd < 0)
		fd = memfd_create("fuzzed", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	read_file(fd);

	/* The same bytes as arguments of a USDT probe, and as a mangled name. */
	if (size && size < sizeof(name) - 2) {
		const struct usdt_place place = {0x1000, size % 2, no_variable, NULL};

		memcpy(name, data, size);
		name[size] = 0;
		check_arguments(name, &place);
	}
	if (size && size < sizeof(name) - 2) {
		memcpy(name, "_Z", 2);
		memcpy(name + 2, data, size);
		name[size + 2] = 0;
		demangle(name, DEMANGLE_FULL, &demangled);
		name[1] = 'R';
		demangle(name, DEMANGLE_FULL, &demangled);
	}
	text_free(&demangled);
	return 0;
}
