/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file of code with its symbols, for tests of what is found out about it. */
#ifndef GPUPROBE_TESTS_CODE_FILE_H
#define GPUPROBE_TESTS_CODE_FILE_H

#include <fcntl.h>
#include <unistd.h>

#include "elf/elf_file.h"
#include "unit.h"

struct code_file {
	int fd;
	struct elf_file *file;
	struct elf_symbols symbols;
};

/* One that can't be opened fails the test. Close it in any case. */
static inline struct code_file code_file_open(const char *path)
{
	struct code_file code = {.fd = open(path, O_RDONLY | O_CLOEXEC)};
	struct err err = {0};

	CHECK_OK(elf_file_open(code.fd, path, &code.file, &err), err);
	CHECK_OK(elf_symbols_load(code.file, "", &code.symbols, &err), err);
	return code;
}

static inline void code_file_close(struct code_file *code)
{
	elf_symbols_free(&code->symbols);
	elf_file_free(code->file);
	close(code->fd);
}

static inline u64 code_file_address(const struct code_file *code, const char *name)
{
	for (size_t i = 0; i < code->symbols.count; i++)
		if (!strcmp(code->symbols.items[i].name, name))
			return code->symbols.items[i].address;
	UNIT_FAIL("no symbol %s", name);
	return 0;
}

#endif
