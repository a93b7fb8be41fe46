/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "resolve/kernel_symbols.h"

/* Reads the text as a file; the caller frees. */
static struct kernel_symbols symbols_of(const char *text)
{
	struct kernel_symbols symbols = {0};
	char path[] = "/tmp/gpuprobe-symbols-XXXXXX";
	int fd = mkstemp(path);

	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	CHECK(!kernel_symbols_read(path, &symbols));
	close(fd);
	unlink(path);
	return symbols;
}

TEST(functions_are_found_by_any_address_in_them)
{
	struct kernel_symbols symbols = symbols_of("ffffffff81000100 T second\n"
						   "ffffffff81000000 T first\n"
						   "ffffffff81000080 D data\n"
						   "ffffffff81000100 t alias_of_second\n"
						   "ffffffffc0000000 t in_module\t[nf_tables]\n"
						   "ffffffffc0000100 t last\t[nf_tables]\n");
	const struct kernel_symbol *symbol = kernel_symbols_find(&symbols, 0xffffffff810000ffULL);

	CHECK(symbol);
	CHECK_STRING(symbol->name, "first");
	CHECK_STRING(symbol->module, "");
	CHECK_STRING(kernel_symbols_find(&symbols, 0xffffffff81000100ULL)->name, "second");
	CHECK_STRING(kernel_symbols_find(&symbols, 0xffffffffc0000010ULL)->module, "nf_tables");
	CHECK(!kernel_symbols_find(&symbols, 0xffffffff80ffffffULL));
	CHECK(!kernel_symbols_find(&symbols, 0xffffffffc0000200ULL));
	kernel_symbols_free(&symbols);
}

TEST(hidden_addresses_and_broken_lines_name_nothing)
{
	struct kernel_symbols symbols = symbols_of("0000000000000000 T hidden\n"
						   "no address\n"
						   "ffffffff81000000\n"
						   "ffffffff81000000 \n"
						   "ffffffff81000000 T\n"
						   "\n");

	CHECK_U64(symbols.count, 0);
	CHECK(!kernel_symbols_find(&symbols, 0xffffffff81000000ULL));
	kernel_symbols_free(&symbols);
	CHECK(kernel_symbols_read("/nonexistent", &symbols) == -ENOENT);
}

UNIT_MAIN()
