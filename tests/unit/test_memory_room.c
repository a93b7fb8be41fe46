/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much of a target's memory the probes take: one page for all that lie in it. */
#include "plan/memory_room.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/types.h"
#include "unit.h"

#define PAGE 4096

TEST(each_page_with_a_probe_counts_once_for_who_maps_it)
{
	size_t both[] = {0, 1}, second[] = {1};
	struct code_module modules[] = {{.targets = both, .target_count = 2},
					{.targets = second, .target_count = 1}};
	struct return_site sites[] = {{.file_offset = PAGE + 1}, {.file_offset = 9 * PAGE}};
	struct plan_function functions[] = {
		{.module = 0, .file_offset = PAGE - 1},
		{.module = 0, .file_offset = 0},
		{.module = 0, .file_offset = PAGE, .sites = sites, .site_count = 2},
		{.module = 1, .file_offset = 0}, /* the same page of another file */
	};
	struct plan plan = {.modules = modules,
			    .module_count = ARRAY_SIZE(modules),
			    .functions = functions,
			    .function_count = ARRAY_SIZE(functions)};

	CHECK_U64(memory_room_needed(&plan, 0), 3 * PAGE);
	CHECK_U64(memory_room_needed(&plan, 1), 4 * PAGE);
	CHECK_U64(memory_room_needed(&plan, 2), 0);
	plan.function_count = 0;
	CHECK_U64(memory_room_needed(&plan, 1), 0);
}

TEST(a_plan_without_probes_needs_no_room_anywhere)
{
	struct plan plan = {0};
	struct target target = {.pid = (u32)getpid(),
				.proc_fd = open("/proc/self", O_PATH | O_CLOEXEC)};
	struct err err = {0};

	CHECK(memory_room_left(&target) > 0);
	CHECK_OK(memory_room_check(&plan, &target, 1, &err), err);
	close(target.proc_fd);
}

UNIT_MAIN()
