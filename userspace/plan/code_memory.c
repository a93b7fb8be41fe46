/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/code_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "code/site_bytes.h"
#include "base/path.h"
#include "probe/known_uprobes.h"
#include "process/file_pages.h"
#include "process/proc_file.h"

#define PAGE_BYTES 4096
#define TRAMPOLINE "[uprobes-trampoline]"

/* Bits of /proc/PID/pagemap. */
#define PAGE_IS_FILES	(1ULL << 61) /* or shared */
#define PAGE_IS_SWAPPED (1ULL << 62)
#define PAGE_IS_PRESENT (1ULL << 63)

struct code_memory {
	u32 pid; /* of a thread that lives */
	int memory_fd, pagemap_fd;
	struct maps_line *lines; /* what is executable, without paths */
	size_t count, capacity;
	u64 trampolines[8]; /* where those of the kernel begin: one near each 2 GiB of code */
	size_t trampoline_count;
	bool doubts_breakpoints;
	struct known_uprobes *known; /* read when the first breakpoint is met that is doubted */
};

/* A page of a mapping and of its file. */
struct compared_page {
	u64 address, file_offset;
	u8 file[PAGE_BYTES], memory[PAGE_BYTES];
	size_t size_bytes; /* that both have; 0: it is the file's own */
};

static int read_maps(struct code_memory *memory, char *text)
{
	struct maps_line line;

	while (maps_next(&text, &line)) {
		if (!strcmp(line.path, TRAMPOLINE) &&
		    memory->trampoline_count < ARRAY_SIZE(memory->trampolines))
			memory->trampolines[memory->trampoline_count++] = line.start;
		if (!line.executable)
			continue;
		if (array_reserve(&memory->lines, &memory->capacity, memory->count + 1))
			return -ENOMEM;
		line.path = NULL;
		memory->lines[memory->count++] = line;
	}
	return 0;
}

int code_memory_open(const struct target *target, struct code_memory **ret_memory)
{
	struct code_memory *memory = calloc(1, sizeof(*memory));
	_cleanup_free_ char *text = NULL;

	if (!memory)
		return -ENOMEM;
	memory->pid = target->thread;
	memory->memory_fd = openat(target->proc_fd, "mem", O_RDONLY | O_CLOEXEC);
	memory->pagemap_fd = openat(target->proc_fd, "pagemap", O_RDONLY | O_CLOEXEC);
	if (!proc_file_read(target->proc_fd, "maps", &text, NULL) && read_maps(memory, text)) {
		code_memory_close(memory);
		return -ENOMEM;
	}
	*ret_memory = memory;
	return 0;
}

struct code_memory *code_memory_close(struct code_memory *memory)
{
	if (!memory)
		return NULL;
	cleanup_close(&memory->memory_fd);
	cleanup_close(&memory->pagemap_fd);
	known_uprobes_free(memory->known);
	free(memory->lines);
	free(memory);
	return NULL;
}

void code_memory_doubt_breakpoints(struct code_memory *memory, const struct target *target)
{
	_cleanup_free_ char *status = NULL;
	u64 caught = 0;

	if (!proc_file_read(target->proc_fd, "status", &status, NULL) &&
	    proc_status_number(status, "SigCgt", 16, &caught))
		memory->doubts_breakpoints = caught >> (SIGTRAP - 1) & 1;
}

const struct maps_line *code_memory_next(const struct code_memory *memory,
					 const struct code_module *module, size_t *index)
{
	while (*index < memory->count) {
		const struct maps_line *line = &memory->lines[(*index)++];

		if (line->inode && module_is_mapped_as(module, line->device, line->inode))
			return line;
	}
	return NULL;
}

bool code_memory_is_of_another_file(const struct code_memory *memory,
				    const struct code_module *module, int fd)
{
	const struct maps_line *line;
	size_t index = 0;

	while (module->overlay && (line = code_memory_next(memory, module, &index)))
		if (file_pages_are_others(fd, memory->pagemap_fd, line))
			return true;
	return false;
}

bool code_memory_has_code(const struct code_memory *memory, u64 address)
{
	for (size_t i = 0; i < memory->count; i++)
		if (address >= memory->lines[i].start && address < memory->lines[i].end)
			return true;
	return false;
}

static bool takes_no_breakpoint(const struct maps_line *line)
{
	return line->writable || line->shared;
}

bool code_memory_takes_breakpoint(const struct code_memory *memory, u64 address)
{
	for (size_t i = 0; i < memory->count; i++)
		if (address >= memory->lines[i].start && address < memory->lines[i].end)
			return !takes_no_breakpoint(&memory->lines[i]);
	return true;
}

size_t code_memory_read(const struct code_memory *memory, u64 address, void *ret_bytes,
			size_t size_bytes)
{
	struct iovec local = {ret_bytes, size_bytes}, remote = {(void *)address, size_bytes};
	ssize_t got = process_vm_readv((pid_t)memory->pid, &local, 1, &remote, 1, 0);

	/* That page may be executed but not read. */
	if (got < 0)
		got = pread(memory->memory_fd, ret_bytes, size_bytes, (off_t)address);
	return got > 0 ? (size_t)got : 0;
}

/* They begin with their page. */
static bool is_trampoline(const void *data, u64 address)
{
	const struct code_memory *memory = data;

	for (size_t i = 0; i < memory->trampoline_count; i++)
		if (memory->trampolines[i] == address)
			return true;
	return false;
}

/* One that is neither there nor swapped out would be read from the file; so would what the kernel tells nothing of, if it were: it is
 * looked at. */
static bool is_the_files(const struct code_memory *memory, u64 address)
{
	u64 page;

	if (pread(memory->pagemap_fd, &page, sizeof(page),
		  (off_t)(address / PAGE_BYTES * sizeof(page))) != sizeof(page))
		return false;
	return !(page & PAGE_IS_SWAPPED) && (!(page & PAGE_IS_PRESENT) || page & PAGE_IS_FILES);
}

static void page_get(const struct code_memory *memory, const struct code_module *module,
		     const struct maps_line *line, u64 address, struct compared_page *page)
{
	size_t in_memory;
	ssize_t in_file;

	if (page->address == address)
		return;
	page->address = address;
	page->size_bytes = 0;
	if (is_the_files(memory, address))
		return;
	page->file_offset = address - line->start + line->file_offset;
	in_file = pread(module->fd, page->file, PAGE_BYTES, (off_t)page->file_offset);
	in_memory = code_memory_read(memory, address, page->memory, PAGE_BYTES);
	if (in_file > 0)
		page->size_bytes = (size_t)in_file < in_memory ? (size_t)in_file : in_memory;
}

/* Nobody else tells of those that the kernel does not tell of, and a process that does not catch SIGTRAP has none of its own. */
static bool is_own_breakpoint(struct code_memory *memory, const struct code_module *module,
			      u64 file_offset)
{
	_cleanup_free_ char *path = NULL, *seen = NULL;
	char link[32];

	if (!memory->known)
		memory->known = known_uprobes_read();
	snprintf(link, sizeof(link), "/proc/self/fd/%d", module->fd);
	if (!memory->known || proc_link_read(AT_FDCWD, link, &path))
		return false;
	seen = path_from_proc(path, "", NULL);
	return seen && !known_uprobes_has(memory->known, path_base_name(seen), file_offset);
}

static bool page_differs(struct code_memory *memory, const struct code_module *module,
			 const struct compared_page *page, size_t begin, size_t end)
{
	end = end < page->size_bytes ? end : page->size_bytes;
	for (size_t i = begin; i < end; i++)
		if (page->file[i] != page->memory[i] &&
		    (!site_byte_is_probe(page->memory, page->size_bytes, i, page->address,
					 is_trampoline, memory) ||
		     (memory->doubts_breakpoints && site_byte_is_breakpoint(page->memory[i]) &&
		      is_own_breakpoint(memory, module, page->file_offset + i))))
			return true;
	return false;
}

static void compare_in(struct code_memory *memory, const struct code_module *module,
		       const struct maps_line *line, const struct code_piece *piece,
		       struct compared_page *page, code_difference_callback callback, void *data)
{
	u64 offset =
		piece->file_offset < line->file_offset ? line->file_offset : piece->file_offset;
	u64 line_end = line->file_offset + (line->end - line->start);
	u64 piece_end = piece->file_offset + piece->size_bytes;
	u64 end = piece_end < line_end ? piece_end : line_end;

	while (offset < end) {
		u64 address = line->start + (offset - line->file_offset);
		size_t begin = address % PAGE_BYTES;
		size_t left = PAGE_BYTES - begin;
		size_t size = end - offset < left ? end - offset : left;

		page_get(memory, module, line, address - begin, page);
		if (takes_no_breakpoint(line) ||
		    page_differs(memory, module, page, begin, begin + size)) {
			callback(data, piece,
				 line->start + (piece->file_offset - line->file_offset));
			return;
		}
		offset += size;
	}
}

void code_memory_compare(struct code_memory *memory, const struct code_module *module,
			 const struct code_piece *pieces, size_t count,
			 code_difference_callback callback, void *data)
{
	struct compared_page page = {.address = UINT64_MAX};
	const struct maps_line *line;
	size_t index = 0;

	while ((line = code_memory_next(memory, module, &index)))
		for (size_t i = 0; i < count; i++)
			compare_in(memory, module, line, &pieces[i], &page, callback, data);
}
