/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of /proc/PID/status and fields of /proc/PID/stat. */
#include "process/proc_file.h"
#include "unit.h"

TEST(shadow_stacks)
{
	CHECK(proc_status_has_shadow_stack(
		"Name:\tx\nx86_Thread_features:\tshstk wrss\nx86_Thread_features_locked:\t\n"));
	CHECK(!proc_status_has_shadow_stack("Name:\tx\nx86_Thread_features:\t\n"));
	CHECK(!proc_status_has_shadow_stack("Name:\tx\n"));
	CHECK(!proc_status_has_shadow_stack(""));
	/* Locked is not switched on. */
	CHECK(!proc_status_has_shadow_stack(
		"Name:\tx\nx86_Thread_features:\t\nx86_Thread_features_locked:\tshstk wrss\n"));
	/* A thread can be called as it likes; what it writes into its name the kernel escapes. */
	CHECK(!proc_status_has_shadow_stack("Name:\tshstk\nx86_Thread_features:\t\n"));
}

TEST(numbers_of_status)
{
	static const char status[] = "Name:\tSeccomp:\t9\nSeccomp:\t2\nSigBlk:\t00000000000000ff\n";
	u64 value = 0;

	CHECK(proc_status_number(status, "Seccomp", 10, &value));
	CHECK_U64(value, 2);
	CHECK(proc_status_number(status, "SigBlk", 16, &value));
	CHECK_U64(value, 255);
	CHECK(!proc_status_number(status, "Sig", 10, &value));
	CHECK(!proc_status_number(status, "Threads", 10, &value));
}

TEST(fields_of_stat)
{
	static const char stat[] = "42 (a) b) (c 1 2 ) S 7 8 9";

	CHECK_U64(proc_stat_field(stat, 1), 42);
	CHECK_U64(proc_stat_field(stat, 4), 7);
	CHECK_U64(proc_stat_field(stat, 6), 9);
	CHECK_U64(proc_stat_field(stat, 7), 0);
	CHECK_U64(proc_stat_field("", 4), 0);
	CHECK_U64(proc_stat_field("42 (x", 4), 0);
}

TEST(id_in_the_innermost_namespace)
{
	CHECK_U64(proc_status_id_in_namespace("Name:\tx\nNSpid:\t4242\nNSpgid:\t1\n"), 4242);
	CHECK_U64(proc_status_id_in_namespace("Name:\tx\nNSpid:\t4242\t17\t3\nNSpgid:\t1\n"), 3);
	CHECK_U64(proc_status_id_in_namespace("Name:\tx\nNSpid:\t4242\t17"), 17);
	CHECK_U64(proc_status_id_in_namespace("Name:\tx\nNSpid:\nNSpgid:\t1\n"), 0);
	CHECK_U64(proc_status_id_in_namespace("Name:\tNSpid:\t9\nNSpgid:\t1\n"), 0);
	CHECK_U64(proc_status_id_in_namespace(""), 0);
}

UNIT_MAIN()
