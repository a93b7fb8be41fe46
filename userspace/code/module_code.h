/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code of a file, for code/function_code.h: reads functions, finds their parts and what refers to them. */
#ifndef GPUPROBE_CODE_MODULE_CODE_H
#define GPUPROBE_CODE_MODULE_CODE_H

#include "code/function_code.h"
#include "elf/elf_file.h"

struct module_code;

/* fd stays the caller's and must stay open; root_path as for elf_symbols_load(). Reads the symbols; the code is
 * gone through when it is first needed (code/code_scan.h), once for all functions that are expected, and once more for
 * any others. */
int module_code_open(int fd, const char *path, const char *root_path, struct module_code **ret_code,
		     struct err *err);
struct module_code *module_code_free(struct module_code *code); /* NULL allowed; returns NULL */

struct elf_file *module_code_file(const struct module_code *code);
const struct elf_symbols *module_code_symbols(const struct module_code *code);

/* These are for the function of which a symbol is at this address. */

/* What is found out by going through the code is kept there: see code/code_cache.h. folder_fd stays the caller's and must stay
 * open; -1: nowhere, as without this call. */
void module_code_use_cache(struct module_code *code, int folder_fd);
/* It will be asked for. 0 or -ENOMEM. */
int module_code_expect(struct module_code *code, u64 address);
/* Its first instruction, or behind a restart: what function_code_place() says without knowing what refers to the code. */
const char *module_code_place_quickly(struct module_code *code, u64 address,
				      struct function_place *ret_place);
/* See function_code_place(). NULL; or why it can't be probed. */
const char *module_code_place(struct module_code *code, u64 address, unsigned allowed,
			      struct function_place *ret_place);
/* See function_code_place_first(). False: it can't be read. */
bool module_code_place_first(struct module_code *code, u64 address,
			     struct function_place *ret_place);
/* See function_code_returns(). */
int module_code_returns(struct module_code *code, u64 address, struct return_site **ret_sites,
			size_t *ret_count, const char **ret_reason);

/* How many addresses the calls of module_code_returns() since the last answer would like to know more about: what a function gave
 * as its reason meanwhile may be none when they are answered. */
size_t module_code_questions(const struct module_code *code);
/* Answers all of them, by reading the code once. 0 or -errno: what is not known stays so. */
int module_code_answer(struct module_code *code);

#endif
