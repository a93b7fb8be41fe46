/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that would be too large, with a limit that a test can reach. */
#define XPLANE_FILE_BYTES_MAX 2000ULL
#include "../../exporters/xplane/xplane_file.c" /* in place of the library's */

#include "capture_fixture.h"
#include "exporters/xplane/xplane.h"

#define CALL  "{\"kind\":\"call\",\"pid\":1,\"tid\":1,\"name\":\"f\",\"ts\":10,\"dur\":5}\n"
#define CALLS CALL CALL CALL CALL CALL CALL CALL CALL CALL CALL
#define MANY                                                                                      \
	CALLS CALLS CALLS CALLS CALLS CALLS CALLS CALLS CALLS CALLS CALLS CALLS CALLS CALLS CALLS \
		CALLS CALLS CALLS CALLS CALLS

static int write_calls(const char *calls, const char *path, struct err *err)
{
	struct fixture fixture _fixture_ = fixture_open(calls);
	const struct exporter *exporter;
	u64 size_bytes;

	CHECK_OK(exporter_find(path, "xplane", &exporter, err), *err);
	return exporter_write(exporter, fixture.view, path, &size_bytes, err);
}

static char folder[] = "/tmp/gpuprobe-test-XXXXXX";

static void begin(void)
{
	CHECK(mkdtemp(folder) && chdir(folder) == 0);
}

static void end(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	CHECK(system(command) == 0);
	memset(folder + strlen(folder) - 6, 'X', 6);
}

TEST(what_fits_is_written)
{
	struct err err = {};

	begin();
	CHECK_OK(write_calls(CALLS, "new/logdir/", &err), err);
	CHECK(access("new/logdir/plugins/profile", F_OK) == 0);
	CHECK_OK(write_calls(CALLS, "one.xplane.pb", &err), err);
	CHECK(access("one.xplane.pb", F_OK) == 0);
	end();
}

TEST(too_much_is_refused_with_a_hint_and_leaves_nothing)
{
	struct err err = {};

	begin();
	CHECK_U64(-write_calls(MANY MANY MANY, "new/logdir/", &err), EFBIG);
	CHECK(strstr(err.message, "larger than 2 GiB"));
	CHECK(strstr(err.message, "shorter time (-d)"));
	CHECK(access("new", F_OK) < 0);
	CHECK(write_calls(MANY MANY MANY, "one.xplane.pb", &err) == -EFBIG);
	CHECK(access("one.xplane.pb", F_OK) < 0);
	end();
}

UNIT_MAIN()
