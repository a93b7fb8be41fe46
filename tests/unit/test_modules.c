/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of code that a process maps: this one. */
#include "process/modules.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "unit.h"

#define ELSEWHERE \
	((void *)0x20000000) /* below a program, and below what sanitizers keep for themselves */
#define PAGE_BYTES 4096

static const struct code_module *executable_of(const struct module_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].main_executable)
			return &list->items[i];
	return NULL;
}

TEST(code_that_is_mapped_once_more_does_not_stand_for_its_file)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct target target = {.pidfd = -1, .proc_fd = -1};
	struct module_list before = {0}, after = {0};
	const struct code_module *module, *now;
	struct err err = {0};
	u64 here = (u64)(uintptr_t)executable_of;
	void *copy;

	CHECK(!target_open((u32)getpid(), true, &target, &err));
	CHECK(!modules_load(&target, 1, &before, &err));
	module = executable_of(&before);
	CHECK(module && here >= module->start && here < module->end);
	copy = mmap(ELSEWHERE, PAGE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED_NOREPLACE,
		    fd, module ? (off_t)module->file_offset + PAGE_BYTES : 0);
	CHECK(copy == ELSEWHERE);
	CHECK(!modules_load(&target, 1, &after, &err));
	now = executable_of(&after);
	CHECK(module && now && now->range_count == module->range_count + 1);
	CHECK(module && now && now->start == module->start && now->end == module->end &&
	      now->file_offset == module->file_offset);
	if (copy != MAP_FAILED)
		munmap(copy, PAGE_BYTES);
	modules_free(&before);
	modules_free(&after);
	target_close(&target);
}

UNIT_MAIN()
