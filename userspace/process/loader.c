/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/loader.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "base/types.h"
#include "elf/elf_file.h"

static bool is_loader(const struct code_module *module)
{
	/* glibc and musl (of which the C library is the linker too). */
	static const char *const globs[] = {"ld-linux*", "ld-musl*", "libc.musl*", "ld-2.*.so",
					    "ld.so*"};

	for (size_t n = 0; n < module->name_count; n++)
		for (size_t g = 0; g < ARRAY_SIZE(globs); g++)
			if (fnmatch(globs[g], module->names[n], 0) == 0)
				return true;
	return false;
}

static int symbol_find(struct elf_file *file, u64 *ret_offset)
{
	/* struct r_debug's r_brk points to it. */
	static const char *const names[] = {"_dl_debug_state", "dl_debug_state"};
	struct elf_symbols symbols = {0};
	int result = elf_symbols_load(file, "", &symbols, NULL) ? -EINVAL : -ENODATA;

	for (size_t n = 0; n < ARRAY_SIZE(names) && result == -ENODATA; n++)
		for (size_t i = 0; i < symbols.count && result == -ENODATA; i++)
			if (strcmp(symbols.items[i].name, names[n]) == 0)
				result =
					elf_file_offset(file, symbols.items[i].address, ret_offset);
	elf_symbols_free(&symbols);
	return result ? -EINVAL : 0;
}

int loader_find(const struct code_module *module, u64 *ret_offset)
{
	struct elf_file *file;
	int result;

	if (!is_loader(module))
		return -ENOENT;
	if (elf_file_open(module->fd, module->path, &file, NULL))
		return -EINVAL;
	result = symbol_find(file, ret_offset);
	elf_file_free(file);
	return result;
}
