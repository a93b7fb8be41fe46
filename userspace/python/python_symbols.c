/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "python/python_symbols.h"

#include <errno.h>
#include <string.h>

#include "elf/elf_file.h"

/* The first minor version that tells of its calls of the loop by C frames, and that which says its version by a symbol. */
#define WITH_CFRAMES 10
#define WITH_VERSION 11
#define PAGE_BYTES   4096ULL
#define SECTION	     ".PyRuntime" /* where _PyRuntime is, from 3.10 on */

enum name {
	NAME_CODE_TYPE,
	NAME_RUNTIME,
	NAME_THIS_THREAD,
	NAME_VERSION,
	NAME_NEW_IN_11,
	NAME_NEW_IN_10,
	NAME_NEW_IN_9,
	NAMES
};

static const char *const names[NAMES] = {
	[NAME_CODE_TYPE] = "PyCode_Type",
	[NAME_RUNTIME] = "_PyRuntime",
	[NAME_THIS_THREAD] = "PyGILState_GetThisThreadState",
	[NAME_VERSION] = "Py_Version", /* from 3.11 on */
	[NAME_NEW_IN_11] = "PyFrame_GetLasti",
	[NAME_NEW_IN_10] = "PyIter_Send",
	[NAME_NEW_IN_9] = "PyObject_CallNoArgs",
};

/* The part of it that lies elsewhere is known only where the file has all of its symbols. */
static int find_loop(struct elf_file *file, struct python_symbols *symbols)
{
	struct elf_symbols all;

	if (elf_symbols_load(file, "", &all, NULL))
		return -ENOTSUP;
	for (size_t i = 0; i < all.count; i++) {
		const struct elf_symbol *symbol = &all.items[i];
		const struct python_extent extent = {symbol->address,
						     symbol->address + symbol->size_bytes};

		if (!strcmp(symbol->name, "_PyEval_EvalFrameDefault"))
			symbols->loop = extent;
		else if (!strcmp(symbol->name, "_PyEval_EvalFrameDefault.cold"))
			symbols->loop_cold = extent;
	}
	elf_symbols_free(&all);
	return symbols->loop.end > symbols->loop.start ? 0 : -ENOTSUP;
}

static void move(struct python_extent *extent, u64 bias)
{
	if (!extent->end)
		return;
	extent->start += bias;
	extent->end += bias;
}

/* ret_addresses: 0 where it has none of that name. */
static int find_addresses(const struct elf_file *file, u64 ret_addresses[NAMES])
{
	bool all = true;

	for (size_t i = 0; i < NAMES; i++) {
		ret_addresses[i] = 0;
		elf_file_dynamic_symbol(file, names[i], &ret_addresses[i]);
		all = all && (ret_addresses[i] || i > NAME_THIS_THREAD);
	}
	if (all)
		return 0;
	/* Before 3.7 there was no _PyRuntime. Programs may have a copy of PyCode_Type, and that alone. */
	if (!elf_file_has_section(file, SECTION))
		return ret_addresses[NAME_CODE_TYPE] && ret_addresses[NAME_THIS_THREAD] ? -ENOTSUP
											: -ENOENT;
	elf_file_static_symbols(file, names, NAMES, ret_addresses);
	if (!ret_addresses[NAME_CODE_TYPE] || !ret_addresses[NAME_RUNTIME])
		return -ENODATA;
	return ret_addresses[NAME_THIS_THREAD] ? 0 : -ENOTSUP;
}

/* By what was new in each version. 0: it is older, or should say it itself. */
static unsigned minor_of(const u64 addresses[NAMES])
{
	if (addresses[NAME_NEW_IN_11])
		return 0;
	return addresses[NAME_NEW_IN_10]  ? WITH_VERSION - 1
	       : addresses[NAME_NEW_IN_9] ? WITH_VERSION - 2
					  : 0;
}

int python_symbols_find(int fd, const char *path, struct python_symbols *ret_symbols)
{
	struct python_symbols symbols = {0};
	u64 addresses[NAMES];
	struct elf_file *file;
	int result = elf_file_open(fd, path, &file, NULL);

	if (result)
		return -ENOENT;
	result = find_addresses(file, addresses);
	if (!result) {
		symbols.code_type = addresses[NAME_CODE_TYPE];
		symbols.runtime = addresses[NAME_RUNTIME];
		symbols.this_thread = addresses[NAME_THIS_THREAD];
		symbols.version = addresses[NAME_VERSION];
		if (!symbols.version)
			symbols.minor = minor_of(addresses);
		if (!symbols.version &&
		    (!symbols.minor || (symbols.minor < WITH_CFRAMES && find_loop(file, &symbols))))
			result = -ENOTSUP;
	}
	elf_file_free(file);
	if (!result)
		*ret_symbols = symbols;
	return result;
}

int python_symbols_place(int fd, const char *path, u64 start, u64 file_offset,
			 struct python_symbols *symbols)
{
	const struct elf_segment *segments;
	struct elf_file *file;
	size_t count;
	int result = -ENOENT;

	if (elf_file_open(fd, path, &file, NULL))
		return -ENOENT;
	count = elf_file_segments(file, true, &segments);
	for (size_t i = 0; i < count && result; i++) {
		const struct elf_segment *segment = &segments[i];
		u64 bias = start - file_offset + segment->offset - segment->address;

		if (file_offset < (segment->offset & ~(PAGE_BYTES - 1)) ||
		    file_offset >= segment->offset + segment->file_size_bytes)
			continue;
		symbols->runtime += bias;
		symbols->version += symbols->version ? bias : 0;
		symbols->code_type += bias;
		symbols->this_thread += bias;
		move(&symbols->loop, bias);
		move(&symbols->loop_cold, bias);
		result = 0;
	}
	elf_file_free(file);
	return result;
}
