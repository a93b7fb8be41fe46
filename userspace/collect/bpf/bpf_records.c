/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/bpf/bpf_records.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "base/cleanup.h"
#include "collect/bpf/bpf_elements.h"
#include "../bpf/record.h"
#include "../bpf/shared.h"

#define BUFFER_BYTES 4096

int bpf_records_read(const struct bpf_program *iterator, u32 tid, size_t record_bytes,
		     void (*callback)(void *data, const void *record), void *data)
{
	union bpf_iter_link_info thread = {.task.tid = tid};
	LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = tid ? &thread : NULL,
		    .link_info_len = tid ? sizeof(thread) : 0);
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

struct element_taker {
	struct record_taker taker;
	int program_fd;
};

static int take_element(void *data, const void *key, const void *value)
{
	const struct element_taker *elements = data;
	struct element_request request = {.key = *(const u32 *)key};
	LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = &request, .ctx_size_in = sizeof(request));
	int result = bpf_prog_test_run_opts(elements->program_fd, &options);

	(void)value;
	if (!result && request.answered)
		take_record((void *)&elements->taker, request.record);
	return result;
}

int bpf_records_take_map(const struct bpf_program *program, const struct bpf_map *map,
			 record_callback callback, void *data)
{
	struct element_taker elements = {{callback, data}, bpf_program__fd(program)};

	return bpf_elements_read(map, take_element, &elements);
}

u64 bpf_program_missed(int program_fd)
{
	struct bpf_prog_info info = {0};
	u32 size = sizeof(info);

	return program_fd < 0 || bpf_obj_get_info_by_fd(program_fd, &info, &size)
		       ? 0
		       : info.recursion_misses;
}
