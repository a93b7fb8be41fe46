/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/bpf/bpf_records.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "base/cleanup.h"
#include "../bpf/record.h"

#define BUFFER_BYTES 4096

static int read_records(const struct bpf_program *iterator, union bpf_iter_link_info *over,
			size_t record_bytes, void (*callback)(void *data, const void *record),
			void *data)
{
	LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = over,
		    .link_info_len = over ? sizeof(*over) : 0);
	struct bpf_link *link = bpf_program__attach_iter(iterator, &options);
	char buffer[BUFFER_BYTES] __attribute__((aligned(8)));
	/* A multiple of a record, so that reads end between records. */
	size_t capacity = BUFFER_BYTES / record_bytes * record_bytes;
	_cleanup_close_ int fd = -1;
	ssize_t size = 0;
	int result;

	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	result = fd < 0 ? -errno : 0;
	while (fd >= 0 && (size = read(fd, buffer, capacity)) > 0)
		for (size_t at = 0; at + record_bytes <= (size_t)size; at += record_bytes)
			callback(data, buffer + at);
	if (size < 0)
		result = -errno;
	bpf_link__destroy(link);
	return result;
}

int bpf_records_read(const struct bpf_program *iterator, u32 tid, size_t record_bytes,
		     void (*callback)(void *data, const void *record), void *data)
{
	union bpf_iter_link_info thread = {.task.tid = tid};

	return read_records(iterator, tid ? &thread : NULL, record_bytes, callback, data);
}

struct record_taker {
	record_callback callback;
	void *data;
};

static void take_record(void *data, const void *record)
{
	const struct record_taker *taker = data;

	taker->callback(taker->data, record, ((const struct record_header *)record)->size_bytes);
}

int bpf_records_take(const struct bpf_program *iterator, size_t record_bytes,
		     record_callback callback, void *data)
{
	struct record_taker taker = {callback, data};

	return bpf_records_read(iterator, 0, record_bytes, take_record, &taker);
}

int bpf_records_take_map(const struct bpf_program *iterator, int map_fd, size_t record_bytes,
			 record_callback callback, void *data)
{
	union bpf_iter_link_info map = {.map.map_fd = map_fd};
	struct record_taker taker = {callback, data};

	return read_records(iterator, &map, record_bytes, take_record, &taker);
}

u64 bpf_program_missed(int program_fd)
{
	struct bpf_prog_info info = {0};
	u32 size = sizeof(info);

	return program_fd < 0 || bpf_obj_get_info_by_fd(program_fd, &info, &size)
		       ? 0
		       : info.recursion_misses;
}
