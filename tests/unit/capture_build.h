/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Captures for tests, built record by record. */
#ifndef GPUPROBE_TESTS_CAPTURE_BUILD_H
#define GPUPROBE_TESTS_CAPTURE_BUILD_H

#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "store/capture_reader.h"
#include "store/capture_writer.h"
#include "unit.h"

static inline int memory_file(void)
{
	int fd = memfd_create("capture", MFD_CLOEXEC);

	CHECK(fd >= 0);
	return fd;
}

static inline void add_probe(struct batch *batch, u32 source, u32 id, u32 name)
{
	struct record_probe probe;

	schema_record_clear(schema_kind(KIND_probe), &probe.header);
	probe.header.source = source;
	probe.header.name = name;
	probe.id = id;
	CHECK(batch_add(batch, &probe.header) == 0);
}

static inline void add_call(struct batch *batch, u64 ts, u64 dur, u32 tid, u32 probe)
{
	struct record_call call = {
		.header = {.size_bytes = sizeof(call),
			   .kind = KIND_call,
			   .source = RECORD_SOURCE_BPF,
			   .ts = ts,
			   .dur = dur,
			   .pid = 1,
			   .tid = tid},
		.probe = probe,
		.ended = VALUE_call_ended_returned,
	};

	CHECK(batch_add(batch, &call.header) == 0);
}

static inline u64 file_size(int fd)
{
	return lseek(fd, 0, SEEK_END);
}

#endif
