/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/file_pages.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"

#define PAGE_BYTES   4096
#define PAGES_A_READ 512
#define LOOKS	     3 /* the kernel may move a page between two of them */

/* Bits of /proc/PID/pagemap. */
#define PAGE_NUMBER	((1ULL << 55) - 1)
#define PAGE_IS_FILES	(1ULL << 61) /* or shared */
#define PAGE_IS_PRESENT (1ULL << 63)

bool file_pages_is_overlay(int fd)
{
	struct statfs system;

	return fstatfs(fd, &system) == 0 && system.f_type == OVERLAYFS_SUPER_MAGIC;
}

/* 0: not there, not the file's, or not told. */
static u64 number_of(u64 page)
{
	return page & PAGE_IS_PRESENT && page & PAGE_IS_FILES ? page & PAGE_NUMBER : 0;
}

static u64 page_number(int pagemap_fd, u64 address)
{
	u64 page;

	if (pread(pagemap_fd, &page, sizeof(page), (off_t)(address / PAGE_BYTES * sizeof(page))) !=
	    sizeof(page))
		return 0;
	return number_of(page);
}

/* The page of a file, mapped for as long. NULL: it has none there. */
static void *page_map(int fd, u64 file_offset)
{
	void *page = mmap(NULL, PAGE_BYTES, PROT_READ, MAP_SHARED | MAP_POPULATE, fd,
			  (off_t)file_offset);

	return page == MAP_FAILED ? NULL : page;
}

static void page_unmap(void *page)
{
	if (page)
		munmap(page, PAGE_BYTES);
}

bool file_pages_are_shared(int fd, int other_fd)
{
	_cleanup_close_ int pagemap_fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	void *page = page_map(fd, 0), *other = page_map(other_fd, 0);
	bool shared = false;

	for (int i = 0; i < LOOKS && page && other && !shared; i++) {
		u64 number = page_number(pagemap_fd, (u64)page);

		shared = number && number == page_number(pagemap_fd, (u64)other);
	}
	page_unmap(page);
	page_unmap(other);
	return shared;
}

/* The first page of the mapping that is there, and the file's own; 0: none. Nothing is faulted in. */
static u64 present_page(int pagemap_fd, const struct maps_line *line)
{
	u64 pages[PAGES_A_READ];
	u64 address = line->start;

	while (address < line->end) {
		ssize_t got = pread(pagemap_fd, pages, sizeof(pages),
				    (off_t)(address / PAGE_BYTES * sizeof(*pages)));

		if (got < (ssize_t)sizeof(*pages))
			return 0;
		for (size_t i = 0; i < got / sizeof(*pages) && address < line->end;
		     i++, address += PAGE_BYTES)
			if (number_of(pages[i]))
				return address;
	}
	return 0;
}

static int fd_open_again(int fd)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

bool file_pages_are_others(int fd, int pagemap_fd, const struct maps_line *line)
{
	_cleanup_close_ int own_fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	/* What was opened before a copy was made leads to the file below still, its name no longer does. */
	_cleanup_close_ int now_fd = fd_open_again(fd);
	u64 address = present_page(pagemap_fd, line);
	void *page = address ? page_map(now_fd, address - line->start + line->file_offset) : NULL;
	bool others = page;

	for (int i = 0; i < LOOKS && others; i++) {
		u64 number = page_number(pagemap_fd, address);
		u64 own = page_number(own_fd, (u64)page);

		others = number && own && number != own;
	}
	page_unmap(page);
	return others;
}
