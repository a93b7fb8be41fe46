/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of a Go program by the table that its runtime has of them (.gopclntab), which is there when all symbols are stripped. */
#ifndef GPUPROBE_ELF_ELF_GO_FUNCTIONS_H
#define GPUPROBE_ELF_ELF_GO_FUNCTIONS_H

#include "elf/elf_file.h"

/*
 * Calls visit with each, in the table's order; a size reaches to where the next one begins. What lies outside of the table or of the
 * file's code is left out. Names stay in *ret_names, which the caller frees. Returns 0, -ENOENT (no such table, or of a layout that is
 * not known), -ENOMEM, or the first result of visit that is not 0: then *ret_names is not set.
 */
int elf_go_functions_visit(const struct elf_file *file,
			   int (*visit)(void *data, const struct elf_symbol *symbol), void *data,
			   char **ret_names);

#endif
