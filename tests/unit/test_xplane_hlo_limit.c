/* SPDX-License-Identifier: GPL-2.0-or-later */
/* More kinds of work on GPUs than a program may have instructions, with a limit that a test can reach. */
#define XPLANE_HLO_INSTRUCTIONS_MAX 3
#include "../../exporters/xplane/xplane_hlo.c" /* in place of the library's */

#include <fcntl.h>

#include "capture_fixture.h"
#include "exporters/exporter.h"

#define PROFILE_BYTES_MAX (1 << 20)

#define KERNEL(name, ts)                                                                        \
	"{\"kind\":\"kernel\",\"source\":3,\"ts\":" #ts ",\"dur\":5,\"pid\":1,\"name\":\"" name \
	"\","                                                                                   \
	"\"stream\":\"#1\",\"grid\":[1,1,1],\"block\":[1,1,1]}\n"
#define STREAM "{\"kind\":\"stream\",\"source\":3,\"pid\":1,\"id\":\"#1\",\"number\":7}\n"

/* Does the profile of a capture hold the words? */
static bool profile_holds(const char *capture, const char *words)
{
	struct fixture fixture _fixture_ = fixture_open(capture);
	const struct exporter *exporter;
	char folder[] = "/tmp/gpuprobe-unit-XXXXXX", path[64];
	_cleanup_free_ char *bytes = calloc(1, PROFILE_BYTES_MAX);
	ssize_t length;
	u64 size_bytes;
	int fd;

	CHECK(mkdtemp(folder) && bytes);
	snprintf(path, sizeof(path), "%s/a.xplane.pb", folder);
	CHECK_OK(exporter_find(path, NULL, &exporter, &fixture.err), fixture.err);
	CHECK_OK(exporter_write(exporter, fixture.view, path, &size_bytes, &fixture.err),
		 fixture.err);
	fd = open(path, O_RDONLY);
	length = read(fd, bytes, PROFILE_BYTES_MAX);
	close(fd);
	unlink(path);
	rmdir(folder);
	return length > 0 && memmem(bytes, length, words, strlen(words));
}

#define FEW	STREAM KERNEL("a", 10) KERNEL("b", 20) KERNEL("c", 30) KERNEL("a", 40)
#define MANY	FEW KERNEL("d", 50) KERNEL("e", 60) KERNEL("d", 70)
#define WARNING "more than 3 kinds of work on GPUs"

TEST(up_to_the_limit_each_kernel_has_its_own)
{
	CHECK(!profile_holds(FEW, "other_work"));
	CHECK(!profile_holds(FEW, WARNING));
}

TEST(beyond_it_they_share_one_and_a_warning_says_so)
{
	CHECK(profile_holds(MANY, "other_work"));
	CHECK(profile_holds(MANY, WARNING));
	/* Under their own names in all else. */
	CHECK(profile_holds(MANY, "\x12\x01"
				  "e"));
}

UNIT_MAIN()
