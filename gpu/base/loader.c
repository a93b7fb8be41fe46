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

/* The linker's: the first byte of this library. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

void loader_own_code(u64 *ret_begin, u64 *ret_end)
{
	const u8 *base = (const u8 *)&__ehdr_start;
	const ElfW(Phdr) *segment = (const ElfW(Phdr) *)(base + __ehdr_start.e_phoff);

	*ret_begin = *ret_end = 0;
	for (u32 i = 0; i < __ehdr_start.e_phnum; i++, segment++)
		if (segment->p_type == PT_LOAD && segment->p_flags & PF_X) {
			*ret_begin = (u64)base + segment->p_vaddr;
			*ret_end = *ret_begin + segment->p_memsz;
		}
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

static const ElfW(Dyn) * dynamic_of(const struct dl_phdr_info *info)
{
	for (u32 i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			return (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	return NULL;
}

/* glibc has made their address absolute; NULL: it has not. */
static const char *strings_of(const struct dl_phdr_info *info)
{
	const ElfW(Dyn) *entry = dynamic_of(info);

	for (; entry && entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == DT_STRTAB && entry->d_un.d_ptr > info->dlpi_addr)
			return (const char *)entry->d_un.d_ptr;
	return NULL;
}

/* A string of the tag that begins with the prefix, NULL: there is none. */
static const char *entry_of(const struct dl_phdr_info *info, s64 tag, const char *prefix)
{
	const ElfW(Dyn) *entry = dynamic_of(info);
	const char *strings = strings_of(info);

	for (; strings && entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == tag && words_begin_with(strings + entry->d_un.d_val, prefix))
			return strings + entry->d_un.d_val;
	return NULL;
}

struct each {
	const char *needed;
	bool (*visit)(void *data, const struct loader_library *library);
	void *data;
};

/* Under the loader's lock: notes only. */
static int look(struct dl_phdr_info *info, size_t info_bytes, void *data)
{
	const struct each *each = data;
	const char *soname = entry_of(info, DT_SONAME, "");
	struct loader_library library = {
		.path = info->dlpi_name ? info->dlpi_name : "",
		.soname = soname ? soname : "",
		.needs = each->needed && entry_of(info, DT_NEEDED, each->needed),
	};

	library.name = file_name(library.path);
	return each->visit(each->data, &library);
}

void loader_each(const char *needed,
		 bool (*visit)(void *data, const struct loader_library *library), void *data)
{
	struct each each = {needed, visit, data};

	dl_iterate_phdr(look, &each);
}

bool loader_is(const struct loader_library *library, const char *prefix)
{
	return words_begin_with(library->name, prefix) || words_begin_with(library->soname, prefix);
}

static bool note(void *data, const struct loader_library *library)
{
	struct loader_match *match = data;

	if (!*library->path || !loader_is(library, match->prefix))
		return false;
	for (u32 i = 0; i < match->count && i < ARRAY_SIZE(match->paths); i++)
		if (equal(match->paths[i], library->path))
			return false;
	if (match->count < ARRAY_SIZE(match->paths))
		words_set(match->paths[match->count], LOADER_PATH_BYTES, library->path);
	match->count++;
	return false;
}

void loader_match(struct loader_match *match)
{
	match->count = 0;
	loader_each(NULL, note, match);
}
