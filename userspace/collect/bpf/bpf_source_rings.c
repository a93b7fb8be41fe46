/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rings that the programs write into, one a CPU. After each change of an array of maps the kernel waits until no program
 * can see the old one any more (7 to 26 ms measured on two processors, longer where more is going on), so all are put in by one
 * call, and by a thread, while the programs are loaded.
 */
#include "collect/bpf/bpf_source_parts.h"

#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/thread.h"

static int ring_create(u64 bytes)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "gpuprobe_ring", 0, 0, (u32)bytes, NULL);

	return fd < 0 ? -errno : fd;
}

/* Kernels before 5.14 can't do it by one call. */
static int put_all(const struct bpf_rings *rings)
{
	u32 numbers[RINGS_MAX], count = rings->count;

	for (u32 i = 0; i < rings->count; i++)
		numbers[i] = i;
	if (!bpf_map_update_batch(rings->array_fd, numbers, rings->fds, &count, NULL))
		return 0;
	for (u32 i = 0; i < rings->count; i++)
		if (bpf_map_update_elem(rings->array_fd, &i, &rings->fds[i], BPF_ANY))
			return -errno;
	return 0;
}

static void *fill(void *data)
{
	struct bpf_rings *rings = data;

	for (u32 i = 0; i < rings->count && !rings->result; i++) {
		rings->fds[i] = ring_create(rings->ring_bytes);
		if (rings->fds[i] < 0)
			rings->result = rings->fds[i];
	}
	if (!rings->result)
		rings->result = put_all(rings);
	return NULL;
}

static int fail(const struct bpf_rings *rings, int result, struct err *err)
{
	return err_errno(err, result,
			 "can't make a ring buffer of %llu MiB (out of locked memory? ulimit -l "
			 "unlimited, a larger memory cgroup, or --buffer-mb)",
			 (unsigned long long)rings->ring_bytes >> 20);
}

int bpf_source_rings_begin(struct bpf_source *source, u64 ring_bytes, struct err *err)
{
	LIBBPF_OPTS(bpf_map_create_opts, options);
	struct bpf_rings *rings = &source->made_rings;
	_cleanup_close_ int template = ring_create(ring_bytes);
	int cpus = libbpf_num_possible_cpus(), result;

	*rings = (struct bpf_rings){.ring_bytes = ring_bytes, .array_fd = -1};
	rings->count = source->ring_count = cpus < 1 ? 1 : cpus > RINGS_MAX ? RINGS_MAX : cpus;
	for (u32 i = 0; i < RINGS_MAX; i++)
		rings->fds[i] = -1;
	if (template <0)
		return fail(rings, template, err);
	options.inner_map_fd = (u32) template;
	rings->array_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "rings", sizeof(u32),
					 sizeof(u32), RINGS_MAX, &options);
	if (rings->array_fd < 0)
		return err_errno(err, -errno, "can't make the array of ring buffers");
	result = bpf_map__reuse_fd(source->skeleton->maps.rings, rings->array_fd);
	if (result)
		return err_errno(err, result, "can't hand the ring buffers to the BPF programs");
	rings->fills = !thread_start(&rings->filler, fill, rings);
	if (!rings->fills)
		fill(rings);
	return 0;
}

static void rings_wait(struct bpf_rings *rings)
{
	if (rings->fills)
		pthread_join(rings->filler, NULL);
	rings->fills = false;
}

void bpf_source_rings_free(struct bpf_source *source)
{
	struct bpf_rings *rings = &source->made_rings;

	rings_wait(rings);
	for (u32 i = 0; i < rings->count; i++)
		cleanup_close(&rings->fds[i]);
	if (rings->count)
		cleanup_close(&rings->array_fd);
	rings->count = 0;
}

int bpf_source_rings_read(struct bpf_source *source, ring_buffer_sample_fn on_record,
			  struct err *err)
{
	struct bpf_rings *rings = &source->made_rings;
	int result = 0;

	rings_wait(rings);
	if (rings->result)
		return fail(rings, rings->result, err);
	for (u32 i = 0; i < rings->count && !result; i++) {
		if (source->rings)
			result = ring_buffer__add(source->rings, rings->fds[i], on_record, source);
		else if (!(source->rings =
				   ring_buffer__new(rings->fds[i], on_record, source, NULL)))
			result = -errno;
	}
	/* They live as long as they are mapped. */
	bpf_source_rings_free(source);
	return result ? err_errno(err, result, "can't map a ring buffer") : 0;
}
