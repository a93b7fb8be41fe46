/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of the kernel's functions and those of its modules, by /proc/kallsyms. */
#ifndef GPUPROBE_RESOLVE_KERNEL_SYMBOLS_H
#define GPUPROBE_RESOLVE_KERNEL_SYMBOLS_H

#include "base/types.h"

struct kernel_symbol {
	u64 address;
	const char *name;
	const char *module; /* "nf_tables"; "": of the kernel itself */
};

/* Zero-initialise. */
struct kernel_symbols {
	char *content; /* that the strings lie in */
	struct kernel_symbol *items; /* functions, by address */
	size_t count, capacity;
};

/* The file has some 10 MB and takes some 100 ms. None are there where the kernel hides addresses (kptr_restrict, no CAP_SYSLOG).
 * 0 or -errno. */
int kernel_symbols_read(const char *path, struct kernel_symbols *ret_symbols);
/* The function that the address lies in; NULL: none is known. */
const struct kernel_symbol *kernel_symbols_find(const struct kernel_symbols *symbols, u64 address);
void kernel_symbols_free(struct kernel_symbols *symbols);

#define KERNEL_SYMBOLS_PATH "/proc/kallsyms"

#endif
