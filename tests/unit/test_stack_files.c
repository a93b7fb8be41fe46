/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which files are on the stacks of children of our own. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "process/code_map.h"
#include "process/stack_files.h"
#include "unit.h"

static pid_t start_child(bool waits)
{
	pid_t pid = fork();
	volatile bool go_on = true;

	if (pid)
		return pid;
	while (waits)
		pause();
	while (go_on)
		;
	_exit(0);
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static char state_of(pid_t pid)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[64], state = '?';

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file || fscanf(file, "%*d %*s %c", &state) != 1)
		return '?';
	return state;
}

static bool is_used(const struct code_map *map, const bool *used, const char *name)
{
	for (size_t i = 0; i < map->count; i++)
		if (map->mappings[i].file != SIZE_MAX && strstr(map->mappings[i].path, name))
			return used[map->mappings[i].file];
	UNIT_FAIL("%s is not mapped", name);
	return false;
}

TEST(files_of_a_process_that_waits)
{
	pid_t pid = start_child(true);
	struct code_map map = {0};
	bool used[256] = {false};

	while (state_of(pid) != 'S')
		usleep(1000);
	CHECK(!code_map_look(&map, (u32)pid, true) && map.file_count < ARRAY_SIZE(used));
	CHECK(stack_files_mark(&map, (u32)pid, used));
	CHECK(is_used(&map, used, "/test_stack_files"));
	CHECK(is_used(&map, used, "/libc.so.6"));
	/* Its code runs only where a file is decompressed. */
	CHECK(!is_used(&map, used, "/libz.so.1"));
	code_map_free(&map);
	end_child(pid);
}

TEST(of_one_that_runs_they_are_not_known)
{
	pid_t pid = start_child(false);
	struct code_map map = {0};
	bool used[256] = {false}, known = true;

	CHECK(!code_map_look(&map, (u32)pid, true));
	/* One that has to leave its CPU is nowhere that is known, either. */
	for (int i = 0; i < 100 && known; i++)
		known = stack_files_mark(&map, (u32)pid, used);
	CHECK(!known);
	end_child(pid);
	CHECK(!stack_files_mark(&map, (u32)pid, used));
	code_map_free(&map);
}

UNIT_MAIN()
