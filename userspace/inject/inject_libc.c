/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "inject/inject_libc.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "inject/inject_registers.h"
#include "base/cleanup.h"
#include "elf/elf_file.h"

#define BANNER_PIECE_BYTES (256U << 10)
#define CODE_MAX_BYTES	   (64U << 20)

/* The libraries that the functions may be in, by how their files are called. */
enum library { LIBRARY_C, LIBRARY_THREADS, LIBRARY_LOADER, LIBRARIES };
static const char *const library_globs[LIBRARIES][3] = {
	[LIBRARY_C] = {"libc.so.6", "libc-2.*.so"},
	[LIBRARY_THREADS] = {"libpthread.so.0", "libpthread-2.*.so"},
	[LIBRARY_LOADER] = {"libdl.so.2", "libdl-2.*.so"},
};

/* What is wanted, by its names in order of preference. */
static const struct wanted {
	const char *names[2]; /* the second: in a libc of which libdl is not loaded */
	size_t offset;	      /* of the u64 in struct inject_plan */
	bool optional;
} wanted[] = {
	{{"pthread_create"}, offsetof(struct inject_plan, pthread_create_address), false},
	{{"pthread_detach"}, offsetof(struct inject_plan, pthread_detach_address), false},
	{{"dlopen", "__libc_dlopen_mode"}, offsetof(struct inject_plan, dlopen_address), false},
	{{"dlsym", "__libc_dlsym"}, offsetof(struct inject_plan, dlsym_address), false},
	{{"dlclose", "__libc_dlclose"}, offsetof(struct inject_plan, dlclose_address), false},
	{{"dlerror"}, offsetof(struct inject_plan, dlerror_address), true},
	{{"munmap"}, offsetof(struct inject_plan, munmap_address), false},
};

struct library_file {
	const struct code_module *module;
	struct elf_file *file;
	struct elf_symbols symbols;
};

static bool name_matches(const struct code_module *module, const char *const *globs)
{
	for (size_t n = 0; n < module->name_count; n++)
		for (size_t g = 0; globs[g]; g++)
			if (fnmatch(globs[g], module->names[n], 0) == 0)
				return true;
	return false;
}

static int libraries_open(const struct module_list *modules,
			  struct library_file libraries[LIBRARIES], struct err *err)
{
	for (size_t i = 0; i < modules->count; i++)
		for (unsigned l = 0; l < LIBRARIES; l++) {
			struct library_file *library = &libraries[l];
			const struct code_module *module = &modules->items[i];
			int result;

			if (library->module || !name_matches(module, library_globs[l]))
				continue;
			result = elf_file_open(module->fd, module->path, &library->file, err);
			if (!result)
				result =
					elf_symbols_load(library->file, "", &library->symbols, err);
			if (result)
				return result;
			library->module = module;
		}
	return 0;
}

/* Where a place in a file is in the target; 0: not in the mapping that is known. */
static u64 address_of_offset(const struct code_module *module, u64 offset)
{
	if (offset < module->file_offset ||
	    offset - module->file_offset >= module->end - module->start)
		return 0;
	return module->start + (offset - module->file_offset);
}

static u64 symbol_find(const struct library_file libraries[LIBRARIES], const char *name)
{
	for (unsigned l = 0; l < LIBRARIES; l++)
		for (size_t i = 0; i < libraries[l].symbols.count; i++) {
			const struct elf_symbol *symbol = &libraries[l].symbols.items[i];
			u64 offset;

			if (symbol->global && !symbol->ifunc && strcmp(symbol->name, name) == 0 &&
			    !elf_file_offset(libraries[l].file, symbol->address, &offset))
				return address_of_offset(libraries[l].module, offset);
		}
	return 0;
}

static int functions_find(const struct library_file libraries[LIBRARIES], struct inject_plan *plan,
			  struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		u64 *address = (u64 *)((char *)plan + wanted[i].offset);

		*address = symbol_find(libraries, wanted[i].names[0]);
		if (!*address && wanted[i].names[1]) {
			*address = symbol_find(libraries, wanted[i].names[1]);
			plan->dlopen_internal |= *address != 0;
		}
		if (!*address && !wanted[i].optional)
			return err_set(err, -EOPNOTSUPP,
				       "%s (glibc %s) has no %s, which the agent is started with: "
				       "the program was linked without threads",
				       plan->libc_path, plan->libc_version, wanted[i].names[0]);
	}
	if (plan->dlopen_internal)
		plan->dlerror_address = 0;
	return 0;
}

/* "... release version 2.36", which it prints when it is run. */
static void version_read(const struct library_file *library, char version[16])
{
	static const char banner[] = "GNU C Library", before[] = " version ";
	_cleanup_free_ char *piece = malloc(BANNER_PIECE_BYTES + 1);
	ssize_t count;

	for (u64 offset = 0; piece && !*version; offset += BANNER_PIECE_BYTES / 2) {
		char *at;

		count = elf_file_read(library->file, offset, piece, BANNER_PIECE_BYTES);
		if (count <= 0)
			return;
		piece[count] = 0;
		at = memmem(piece, (size_t)count, banner, strlen(banner));
		at = at ? strstr(at, before) : NULL;
		if (at)
			snprintf(version, 16, "%.*s",
				 (int)strspn(at + strlen(before), "0123456789."),
				 at + strlen(before));
	}
	if (*version && version[strlen(version) - 1] == '.')
		version[strlen(version) - 1] = 0;
}

/* The two pieces of code are taken as they are in the file. */
static int code_find(const struct library_file *library, struct inject_plan *plan, struct err *err)
{
	const struct code_module *module = library->module;
	size_t mapped = module->end - module->start, found;
	size_t size = mapped < CODE_MAX_BYTES ? mapped : CODE_MAX_BYTES;
	_cleanup_free_ u8 *code = malloc(size);
	ssize_t count = code ? elf_file_read(library->file, module->file_offset, code, size) : -1;

	if (count <= 0)
		return err_set(err, -ENOMEM, "can't read %s", plan->libc_path);
	found = registers_find_syscall_return(code, (size_t)count);
	plan->syscall_return_address = found == (size_t)-1 ? 0 : module->start + found;
	found = registers_find_signal_return(code, (size_t)count);
	plan->signal_return_address = found == (size_t)-1 ? 0 : module->start + found;
	if (!plan->syscall_return_address || !plan->signal_return_address)
		return err_set(err, -EOPNOTSUPP,
			       "%s is not built as glibc is: it has no system call or no signal "
			       "return that could be used",
			       plan->libc_path);
	return 0;
}

static int refuse_without(const struct module_list *modules, struct err *err)
{
	/* "libc.so": as musl itself installs it; glibc's is never called so. */
	static const char *const musl[] = {"ld-musl*", "libc.musl*", "libc.so", NULL};

	for (size_t i = 0; i < modules->count; i++)
		if (name_matches(&modules->items[i], musl))
			return err_set(
				err, -EOPNOTSUPP,
				"its C library is musl (%s); CUDA and the agent are for glibc",
				modules->items[i].path);
	return err_set(err, -EOPNOTSUPP,
		       "it has no C library loaded (%s is linked statically), so no library can be "
		       "loaded into it",
		       modules->count ? modules->items[0].path : "its program");
}

int inject_libc_find(const struct module_list *modules, struct inject_plan *plan, struct err *err)
{
	struct library_file libraries[LIBRARIES] = {0};
	int result = libraries_open(modules, libraries, err);

	if (!result && !libraries[LIBRARY_C].module)
		result = refuse_without(modules, err);
	if (!result) {
		snprintf(plan->libc_path, sizeof(plan->libc_path), "%s",
			 libraries[LIBRARY_C].module->path);
		version_read(&libraries[LIBRARY_C], plan->libc_version);
		result = functions_find(libraries, plan, err);
	}
	if (!result)
		result = code_find(&libraries[LIBRARY_C], plan, err);
	for (unsigned l = 0; l < LIBRARIES; l++) {
		elf_symbols_free(&libraries[l].symbols);
		elf_file_free(libraries[l].file);
	}
	return result;
}
