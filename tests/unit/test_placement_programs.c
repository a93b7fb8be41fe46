/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Places of probes in programs: placement_judge.h. */
#include "placement_judge.h"

TEST(python)
{
	check_file("/usr/bin/python3");
}

TEST(redis)
{
	check_file("/usr/bin/redis-server");
}

TEST(postgresql)
{
	check_file("/usr/lib/postgresql/*/bin/postgres");
}

UNIT_MAIN()
