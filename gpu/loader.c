/* SPDX-License-Identifier: MIT */
#include "loader.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

#include "words.h"

/* Not there in a process that has no libdl in its global scope. */
extern void *dlopen(const char *path, int flags) __attribute__((weak));
extern void *dlsym(void *restrict handle, const char *restrict name) __attribute__((weak));
extern int dlclose(void *handle) __attribute__((weak));

bool loader_find(struct loader *loader, const struct agent_start *start)
{
	bool has_addresses = start->start_bytes >= sizeof(*start);

	*loader = (struct loader){dlopen, dlsym, dlclose};
	if (has_addresses && start->dlopen_address)
		loader->open = (void *(*)(const char *, int))start->dlopen_address;
	if (has_addresses && start->dlsym_address)
		loader->symbol = (void *(*)(void *, const char *))start->dlsym_address;
	if (has_addresses && start->dlclose_address)
		loader->close = (int (*)(void *))start->dlclose_address;
	return loader->open && loader->symbol && loader->close;
}

static bool begins_with(const char *string, const char *prefix)
{
	while (*prefix && *string == *prefix)
		string++, prefix++;
	return !*prefix;
}

static bool equal(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

static const char *file_name(const char *path)
{
	const char *name = path;

	for (; *path; path++)
		if (*path == '/')
			name = path + 1;
	return name;
}

/* The name that the library gives itself, NULL: none. glibc has made the address of the strings absolute. */
static const char *soname_of(const struct dl_phdr_info *info)
{
	const ElfW(Dyn) *entry = NULL;
	const char *strings = NULL;
	u64 name = 0;

	for (u32 i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			entry = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	for (; entry && entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_STRTAB)
			strings = (const char *)entry->d_un.d_ptr;
		if (entry->d_tag == DT_SONAME)
			name = entry->d_un.d_val;
	}
	return name && (u64)strings > info->dlpi_addr ? strings + name : NULL;
}

/* Under the loader's lock: notes only. */
static int look(struct dl_phdr_info *info, size_t info_bytes, void *data)
{
	struct loader_match *match = data;
	const char *soname;

	if (!info->dlpi_name || !*info->dlpi_name)
		return 0;
	if (!begins_with(file_name(info->dlpi_name), match->prefix)) {
		soname = soname_of(info);
		if (!soname || !begins_with(soname, match->prefix))
			return 0;
	}
	for (u32 i = 0; i < match->count && i < ARRAY_SIZE(match->paths); i++)
		if (equal(match->paths[i], info->dlpi_name))
			return 0;
	if (match->count < ARRAY_SIZE(match->paths))
		words_set(match->paths[match->count], LOADER_PATH_BYTES, info->dlpi_name);
	match->count++;
	return 0;
}

void loader_match(struct loader_match *match)
{
	match->count = 0;
	dl_iterate_phdr(look, match);
}
