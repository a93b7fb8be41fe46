/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/path.h"

TEST(base_names)
{
	CHECK_STRING(path_base_name("/usr/lib/libc.so.6"), "libc.so.6");
	CHECK_STRING(path_base_name("libc.so.6"), "libc.so.6");
	CHECK_STRING(path_base_name("/"), "/");
	CHECK_STRING(path_base_name("folder/"), "folder/");
	CHECK_STRING(path_base_name(""), "");
}

static void check_from_proc(const char *path, const char *root, const char *expected,
			    bool expected_deleted)
{
	bool deleted = !expected_deleted;
	_cleanup_free_ char *seen = path_from_proc(path, root, &deleted),
			    *again = path_from_proc(path, root, NULL);

	CHECK_STRING(seen, expected);
	CHECK_STRING(again, expected);
	CHECK(deleted == expected_deleted);
}

TEST(paths_of_proc)
{
	check_from_proc("/bin/program", "", "/bin/program", false);
	check_from_proc("/bin/program", "/", "/bin/program", false);
	check_from_proc("/bin/program (deleted)", "", "/bin/program", true);
	check_from_proc("/jail/bin/program", "/jail", "/bin/program", false);
	check_from_proc("/jail/bin/program (deleted)", "/jail", "/bin/program", true);
	check_from_proc("/jailed/program", "/jail", "/jailed/program", false);
	check_from_proc("/jail", "/jail", "/jail", false);
	check_from_proc(" (deleted)", "", " (deleted)", false);
	check_from_proc("", "/jail", "", false);
}

UNIT_MAIN()
