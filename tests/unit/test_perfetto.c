/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traces of Perfetto of captures that are made of text. */
#include "unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture_fixture.h"
#include "exporters/exporter.h"

static size_t count_of(const char *data, size_t size, const char *string)
{
	size_t count = 0;
	const char *at = data;

	while ((at = memmem(at, size - (size_t)(at - data), string, strlen(string)))) {
		count++;
		at++;
	}
	return count;
}

/* How often a name stands in the trace of a capture. */
static size_t name_count(const char *text, const char *name)
{
	struct fixture fixture _fixture_ = fixture_open(text);
	char path[] = "/tmp/gpuprobe-test-XXXXXX", *data;
	const struct exporter *exporter;
	struct err err = {0};
	size_t count;
	u64 size = 0;
	int fd = mkstemp(path);

	CHECK_OK(exporter_find(path, "perfetto", &exporter, &err), err);
	CHECK_OK(exporter_write(exporter, fixture.view, path, &size, &err), err);
	close(fd);
	fd = open(path, O_RDONLY);
	data = malloc(size);
	CHECK_U64(read(fd, data, size), size);
	count = count_of(data, size, name);
	close(fd);
	unlink(path);
	free(data);
	return count;
}

/* Once for all events, and again where the state was cleared, 5 s later: after that a reader can begin. */
TEST(a_name_stands_once_until_the_state_is_cleared)
{
	CHECK_U64(name_count("{\"kind\":\"call\",\"ts\":1000000000,\"dur\":5,\"pid\":7,\"tid\":7,"
			     "\"name\":\"work\"}\n"
			     "{\"kind\":\"call\",\"ts\":2000000000,\"dur\":5,\"pid\":7,\"tid\":7,"
			     "\"name\":\"work\"}\n"
			     "{\"kind\":\"call\",\"ts\":5900000000,\"dur\":5,\"pid\":7,\"tid\":7,"
			     "\"name\":\"work\"}\n",
			     "work"),
		  1);
	CHECK_U64(name_count("{\"kind\":\"call\",\"ts\":1000000000,\"dur\":5,\"pid\":7,\"tid\":7,"
			     "\"name\":\"work\"}\n"
			     "{\"kind\":\"call\",\"ts\":2000000000,\"dur\":5,\"pid\":7,\"tid\":7,"
			     "\"name\":\"work\"}\n"
			     "{\"kind\":\"call\",\"ts\":6100000000,\"dur\":5,\"pid\":7,\"tid\":7,"
			     "\"name\":\"work\"}\n"
			     "{\"kind\":\"call\",\"ts\":6200000000,\"dur\":5,\"pid\":7,\"tid\":7,"
			     "\"name\":\"work\"}\n"
			     "{\"kind\":\"call\",\"ts\":11200000000,\"dur\":5,\"pid\":7,\"tid\":7,"
			     "\"name\":\"work\"}\n",
			     "work"),
		  3);
}

UNIT_MAIN()
