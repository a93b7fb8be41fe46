/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The probes that a file carries for tracers (USDT, SystemTap's <sys/sdt.h>): what its notes say. They are untrusted. */
#ifndef GPUPROBE_ELF_ELF_USDT_H
#define GPUPROBE_ELF_ELF_USDT_H

#include "base/map.h"
#include "elf/elf_file.h"

/* One place of a probe. Addresses are those of the file, shifts by prelink undone. */
struct elf_usdt_note {
	const char *provider, *name; /* not empty; valid during the visit */
	const char *arguments;	     /* as the compiler wrote them: "-4@%edi 8@-8(%rbp)" */
	u64 address;
	u64 file_offset;	   /* of it */
	u64 semaphore_file_offset; /* of the counter of its listeners; 0: it has none */
};

/* Calls visit for each, in the order of the file, until it returns something else than 0, which is the result. What is
 * damaged, or lies outside of what is loaded, is left out and counted (ret_damaged may be NULL). */
int elf_usdt_visit(const struct elf_file *file, int (*visit)(void *data, const struct elf_usdt_note *note),
		   void *data, size_t *ret_damaged);

#define ELF_VARIABLE_AMBIGUOUS (~0ULL)

/* The variables of a file by name, of .symtab. Zero-initialise it. */
struct elf_variables {
	struct string_table names;
	u64 *addresses; /* of each name; ELF_VARIABLE_AMBIGUOUS: several have it */
	size_t count, capacity;
};

/* -ENOMEM; then some are missing. A file without symbols has none. */
int elf_variables_load(const struct elf_file *file, struct elf_variables *variables);
/* -ENOENT, or -ENOTUNIQ where several have the name. */
int elf_variables_find(const struct elf_variables *variables, const char *name, size_t name_length, u64 *ret_address);
void elf_variables_free(struct elf_variables *variables);

#endif
