/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose calls a link sees that names a process: of a real one, in the kernel at hand. */
#include "probe/multi_filter.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe/kernel.h"
#include "unit.h"

TEST(a_link_that_names_us_sees_a_second_thread)
{
	struct kernel_abilities abilities;
	struct err err = {0};

	if (kernel_abilities_probe(&abilities, &err))
		SKIP(err.message);
	if (!abilities.uprobe_multi)
		SKIP("this kernel has no uprobe_multi that sees all threads");
	CHECK(multi_filter_sees_threads((u32)getpid()));
}

/* As a kernel does that compares something else than the process. */
TEST(a_link_that_names_someone_else_sees_no_call_of_ours)
{
	struct kernel_abilities abilities;
	struct err err = {0};
	bool sees;
	pid_t child;

	if (kernel_abilities_probe(&abilities, &err))
		SKIP(err.message);
	if (!abilities.uprobe_multi)
		SKIP("this kernel has no uprobe_multi that sees all threads");
	child = fork();
	if (!child) {
		pause();
		_exit(0);
	}
	sees = multi_filter_sees_threads((u32)child);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	CHECK(!sees);
}

UNIT_MAIN()
