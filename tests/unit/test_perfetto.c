/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traces of Perfetto of captures that are made of text. */
#include "unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture_fixture.h"
#include "exporters/exporter.h"
#include "exporters/perfetto/perfetto_packets.h"

static size_t count_of(const char *data, size_t size, const char *string, size_t length)
{
	size_t count = 0;
	const char *at = data;

	while ((at = memmem(at, size - (size_t)(at - data), string, length))) {
		count++;
		at++;
	}
	return count;
}

/* How often bytes stand in the trace of a capture. */
static size_t bytes_count(const char *text, const char *bytes, size_t length)
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
	count = count_of(data, size, bytes, length);
	close(fd);
	unlink(path);
	free(data);
	return count;
}

static size_t name_count(const char *text, const char *name)
{
	return bytes_count(text, name, strlen(name));
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

#define HEAP_STACK(ts)                                                \
	"{\"kind\":\"heap_stack\",\"ts\":" ts ",\"dur\":5,\"pid\":7," \
	"\"stack\":[\"0x1\"],\"calls\":2,\"bytes\":6,\"live_calls\":1,\"live_bytes\":2}\n"

/* Numbers are kept by address: other words may stand there now, and be those of before again. */
TEST(a_string_that_is_written_over_is_another_one)
{
	struct perfetto_packets packets = {0};
	char name[16] = "first";
	u64 first, second;

	perfetto_packets_at(&packets, 1);
	first = perfetto_intern(&packets, PERFETTO_EVENT_NAME, name);
	CHECK_U64(perfetto_intern(&packets, PERFETTO_EVENT_NAME, name), first);
	strcpy(name, "second");
	second = perfetto_intern(&packets, PERFETTO_EVENT_NAME, name);
	CHECK(second != first);
	CHECK_U64(perfetto_intern(&packets, PERFETTO_EVENT_NAME, "first"), first);
	strcpy(name, "first");
	CHECK_U64(perfetto_intern(&packets, PERFETTO_EVENT_NAME, name), first);
	CHECK(!perfetto_is_told(&packets, INTERNED_KERNELS, 5));
	CHECK(perfetto_is_told(&packets, INTERNED_KERNELS, 5));
	CHECK(!perfetto_is_told(&packets, INTERNED_CONTEXTS, 5));
	/* Nothing of it holds in the next state. */
	perfetto_packets_at(&packets, 1 + PERFETTO_STATE_NS + 1);
	CHECK(!perfetto_is_told(&packets, INTERNED_KERNELS, 5));
	CHECK_U64(perfetto_intern(&packets, PERFETTO_EVENT_NAME, "second"), 1);
	CHECK_U64(perfetto_intern(&packets, PERFETTO_EVENT_NAME, name), 2);
	perfetto_packets_free(&packets);
}

/* Readers count profiles from 0 since the state was cleared, and miss one where a number is another. */
TEST(profiles_of_a_heap_are_counted_anew_when_the_state_is_cleared)
{
	/* Behind the name of the heap. */
	CHECK_U64(bytes_count(HEAP_STACK("1000000000") HEAP_STACK("1000000000"), "heap\x38\x00", 6),
		  1);
	CHECK_U64(bytes_count(HEAP_STACK("1000000000") HEAP_STACK("1000000000"), "heap\x38\x01", 6),
		  1);
	CHECK_U64(bytes_count(HEAP_STACK("1000000000") HEAP_STACK("6100000000"), "heap\x38\x00", 6),
		  2);
}

#define KERNEL(ts, shared, node)                                               \
	"{\"kind\":\"kernel\",\"source\":3,\"ts\":" ts ",\"dur\":5,\"pid\":7," \
	"\"name\":\"k\",\"device\":\"GPU\",\"grid\":[3,1,1],"                  \
	"\"block\":[32,1,1],\"static_shared_memory_bytes\":" shared ",\"graph_node\":" node "}\n"

/* What makes a kernel's shape is written from bytes that are kept, and these two are kept in one place. */
TEST(kernels_have_the_arguments_of_their_own_shape)
{
	static const char alternating[] =
		"{\"kind\":\"device\",\"id\":\"GPU\",\"source\":3,\"ts\":1,\"name\":\"GPU\"}"
		"\n" KERNEL("1000000000", "12345", "1001") KERNEL("1000000010", "54321", "1002")
			KERNEL("1000000020", "12345", "1003") KERNEL("1000000030", "12345", "1003");

	CHECK_U64(bytes_count(alternating, "\x20\xb9\x60", 3), 3);     /* 12345 */
	CHECK_U64(bytes_count(alternating, "\x20\xb1\xa8\x03", 4), 1); /* 54321 */
	/* What differs from run to run is of each. */
	CHECK_U64(bytes_count(alternating, "\x20\xe9\x07", 3), 1);
	CHECK_U64(bytes_count(alternating, "\x20\xea\x07", 3), 1);
	CHECK_U64(bytes_count(alternating, "\x20\xeb\x07", 3), 2);
}

/* Their numbers are told of anew. */
TEST(a_shape_is_not_kept_beyond_the_state_its_names_are_of)
{
	CHECK_U64(name_count("{\"kind\":\"device\",\"id\":\"GPU\",\"source\":3,\"ts\":1,\"name\":"
			     "\"GPU\"}\n" KERNEL("1000000000", "12345", "1001")
				     KERNEL("1100000000", "12345", "1001")
					     KERNEL("6200000000", "12345", "1001"),
			     "shared_mem_static"),
		  2);
}

UNIT_MAIN()
