/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/unwinding.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cache_folder.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/path.h"
#include "base/thread.h"
#include "elf/elf_vdso.h"
#include "process/stack_files.h"
#include "session/unwinding_parts.h"
#include "unwind/unwind_space.h"

#define PAGE_BYTES 4096ULL
/* The numbers of files are those of the code map; the last one is that of what is no file. */
#define VDSO_NUMBER (UNWIND_FILE_SPARE - 1)

/* ---- the thread ---- */

/* Takes some 50 ms and more to read. */
#define LARGE_BYTES (64ULL << 20)

static bool goes_before(const struct wanted_file *file, const struct wanted_file *other)
{
	return file->urgent != other->urgent ? file->urgent : file->bytes < other->bytes;
}

/* What is on a stack first, and what is soon done. NULL: there is none. */
static struct wanted_file *next_file(struct unwinding *unwinding)
{
	struct wanted_file *next = NULL;

	if (unwinding->stopping || unwinding->taken_count == unwinding->wanted_count)
		return NULL;
	for (size_t i = 0; i < unwinding->wanted_count; i++) {
		struct wanted_file *file = &unwinding->wanted[i];

		if (!file->taken && (!next || goes_before(file, next)))
			next = file;
	}
	return next;
}

/* The next file of a batch; false: there is none, or none is to be read any more, or the next one is large, and those before it
 * can be handed over. */
static bool take_file(struct unwinding *unwinding, bool is_first, struct wanted_file *ret_file)
{
	struct wanted_file *next;

	pthread_mutex_lock(&unwinding->lock);
	next = next_file(unwinding);
	if (next && !is_first && unwinding->source && next->bytes > LARGE_BYTES)
		next = NULL;
	if (next) {
		next->taken = true;
		unwinding->taken_count++;
		*ret_file = *next;
	}
	pthread_mutex_unlock(&unwinding->lock);
	return next;
}

/* Until there is something to do; false: there will be nothing. */
static bool await_work(struct unwinding *unwinding)
{
	bool comes;

	pthread_mutex_lock(&unwinding->lock);
	while (!unwinding->stopping && unwinding->taken_count == unwinding->wanted_count &&
	       !unwinding->asked_count)
		pthread_cond_wait(&unwinding->changed, &unwinding->lock);
	comes = !unwinding->stopping;
	pthread_mutex_unlock(&unwinding->lock);
	return comes;
}

/* How many urgent ones were among them. */
static size_t read_some(struct unwinding *unwinding)
{
	struct wanted_file file;
	size_t urgent_count = 0;

	for (bool is_first = true; take_file(unwinding, is_first, &file); is_first = false) {
		struct err err = {0};

		urgent_count += file.urgent;
		if (unwind_tables_read(&unwinding->tables, file.number, file.fd, file.path, &err))
			log_debug("%s: no unwind table, stacks end there: %s", file.path,
				  err.message);
	}
	return urgent_count;
}

/* NULL: there will be none. */
static struct bpf_source *await_source(struct unwinding *unwinding)
{
	struct bpf_source *source;

	pthread_mutex_lock(&unwinding->lock);
	while (!unwinding->source && !unwinding->stopping)
		pthread_cond_wait(&unwinding->changed, &unwinding->lock);
	source = unwinding->source;
	pthread_mutex_unlock(&unwinding->lock);
	return source;
}

static void put_tables(struct unwinding *unwinding, const struct bpf_source *source,
		       size_t urgent_count)
{
	struct err err = {0};

	if (unwind_tables_put(&unwinding->tables, source, &err))
		log_debug("%s", err.message);
	pthread_mutex_lock(&unwinding->lock);
	unwinding->urgent_count -= urgent_count;
	pthread_cond_broadcast(&unwinding->changed);
	pthread_mutex_unlock(&unwinding->lock);
}

static bool take_asked(struct unwinding *unwinding, struct asked_address *ret_asked)
{
	bool taken;

	pthread_mutex_lock(&unwinding->lock);
	taken = !unwinding->stopping && unwinding->asked_count;
	if (taken)
		*ret_asked = unwinding->asked[--unwinding->asked_count];
	pthread_mutex_unlock(&unwinding->lock);
	return taken;
}

static void answer_asked(struct unwinding *unwinding, const struct bpf_source *source)
{
	struct asked_address asked;

	while (take_asked(unwinding, &asked)) {
		struct err err = {0};

		if (unwind_tables_mend(&unwinding->tables, source, asked.file, asked.address, &err))
			log_debug("%s", err.message);
	}
}

static void *read_tables(void *data)
{
	struct unwinding *unwinding = data;

	prctl(PR_SET_NAME, "gpuprobe-unwind");
	while (await_work(unwinding)) {
		size_t urgent_count = read_some(unwinding);
		const struct bpf_source *source = await_source(unwinding);

		if (!source)
			break;
		put_tables(unwinding, source, urgent_count);
		answer_asked(unwinding, source);
	}
	return NULL;
}

/* ---- the main thread ---- */

void unwinding_await_cuda(struct unwinding *unwinding)
{
	unwinding->awaits_cuda = true;
}

void unwinding_set_source(struct unwinding *unwinding, struct bpf_source *source)
{
	pthread_mutex_lock(&unwinding->lock);
	unwinding->source = source;
	pthread_cond_broadcast(&unwinding->changed);
	pthread_mutex_unlock(&unwinding->lock);
}

static int want_file(struct unwinding *unwinding, u32 number, int fd, const char *path, bool urgent)
{
	struct wanted_file file = {
		.number = number,
		.fd = fcntl(fd, F_DUPFD_CLOEXEC, 3),
		.path = strdup(path),
		.urgent = urgent,
	};
	struct stat status;
	int result = -ENOMEM;

	file.bytes = fstat(fd, &status) ? 0 : (u64)status.st_size;

	if (file.fd < 0 || !file.path) {
		cleanup_close(&file.fd);
		free(file.path);
		return result;
	}
	pthread_mutex_lock(&unwinding->lock);
	if (!array_reserve(&unwinding->wanted, &unwinding->wanted_capacity,
			   unwinding->wanted_count + 1)) {
		unwinding->wanted[unwinding->wanted_count++] = file;
		unwinding->urgent_count += urgent;
		pthread_cond_broadcast(&unwinding->changed);
		result = 0;
	}
	pthread_mutex_unlock(&unwinding->lock);
	return result;
}

/* What a call of CUDA goes through on its way to who is told of it. */
static bool is_of_cuda(const char *path)
{
	static const char *const names[] = {"libcuda.so", "libcudart", "libcupti",
					    "libcudadebugger"};
	const char *name = path_base_name(path);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return false;
}

/* Where its code stands in the file; none if it is no ELF file. */
static void read_places(int fd, const char *path, struct code_places *ret_places)
{
	const struct elf_segment *segments;
	struct elf_file *elf;

	*ret_places = (struct code_places){.of_cuda = is_of_cuda(path)};
	if (elf_file_open(fd, path, &elf, NULL))
		return;
	ret_places->count = elf_file_segments(elf, true, &segments);
	ret_places->items = malloc((ret_places->count + 1) * sizeof(*segments));
	if (ret_places->items)
		memcpy(ret_places->items, segments, ret_places->count * sizeof(*segments));
	else
		ret_places->count = 0;
	elf_file_free(elf);
}

/* Programs ask it for the time so often that they are interrupted there. */
static void look_at_vdso(struct unwinding *unwinding)
{
	_cleanup_close_ int fd = elf_vdso_open();

	if (fd < 0)
		return;
	read_places(fd, ELF_VDSO_NAME, &unwinding->vdso);
	(void)want_file(unwinding, VDSO_NUMBER, fd, ELF_VDSO_NAME, true);
}

int unwinding_start(const char *cache_folder, bool not_running, struct unwinding **ret_unwinding,
		    struct err *err)
{
	struct unwinding *unwinding = calloc(1, sizeof(*unwinding));
	int result;

	if (!unwinding)
		return err_errno(err, -ENOMEM, "can't read unwind tables");
	unwinding->not_running = not_running;
	unwinding->tables.cache_fd = -1;
	if (cache_folder)
		(void)cache_folder_open(cache_folder, &unwinding->tables.cache_fd);
	pthread_mutex_init(&unwinding->lock, NULL);
	pthread_mutex_init(&unwinding->tables.lock, NULL);
	pthread_cond_init(&unwinding->changed, NULL);
	result = row_reader_start(&unwinding->tables.reader, err);
	if (!result) {
		result = thread_start(&unwinding->thread, read_tables, unwinding);
		if (result)
			err_errno(err, result, "can't start the thread that reads unwind tables");
	}
	if (result) {
		unwinding->tables.reader = row_reader_stop(unwinding->tables.reader);
		cleanup_close(&unwinding->tables.cache_fd);
		free(unwinding);
		return result;
	}
	look_at_vdso(unwinding);
	*ret_unwinding = unwinding;
	return 0;
}

/* Which files are on stacks as a recording begins; later ones are not waited for. */
static void find_urgent(const struct unwinding *unwinding, const struct code_map *map,
			bool *ret_urgent)
{
	bool known = !unwinding->not_running;

	if (unwinding->place_count)
		return;
	for (size_t i = 0; i < map->process_count && known; i++)
		known = stack_files_mark(map, map->processes[i].pid, ret_urgent);
	if (!known)
		memset(ret_urgent, true, map->file_count * sizeof(*ret_urgent));
}

static int look_at_files(struct unwinding *unwinding, const struct code_map *map)
{
	_cleanup_free_ const char **paths = NULL;
	_cleanup_free_ bool *urgent = NULL;

	/* As at nearly every look. */
	if (unwinding->place_count == map->file_count)
		return 0;
	paths = calloc(map->file_count + 1, sizeof(*paths));
	urgent = calloc(map->file_count + 1, sizeof(*urgent));
	if (!paths || !urgent ||
	    array_reserve(&unwinding->places, &unwinding->place_capacity, map->file_count + 1))
		return -ENOMEM;
	for (size_t i = 0; i < map->count; i++)
		if (map->mappings[i].file != SIZE_MAX)
			paths[map->mappings[i].file] = map->mappings[i].path;
	find_urgent(unwinding, map, urgent);
	for (size_t i = unwinding->place_count; i < map->file_count; i++) {
		read_places(map->files[i].fd, paths[i], &unwinding->places[i]);
		unwinding->place_count++;
		if (i < VDSO_NUMBER && unwinding->places[i].count)
			(void)want_file(unwinding, (u32)i, map->files[i].fd, paths[i],
					urgent[i] || (unwinding->awaits_cuda &&
						      unwinding->places[i].of_cuda));
	}
	return 0;
}

/* Its file's number; false: it is of none that has a table. */
static bool find_file(const struct unwinding *unwinding, const struct code_mapping *mapping,
		      u64 *ret_file, const struct code_places **ret_places)
{
	bool is_vdso = !strcmp(mapping->path, ELF_VDSO_NAME);

	if (mapping->file == SIZE_MAX && !is_vdso)
		return false;
	*ret_file = is_vdso ? VDSO_NUMBER : mapping->file;
	*ret_places = is_vdso ? &unwinding->vdso : &unwinding->places[mapping->file];
	return true;
}

/* By how much the addresses of a process are above those of the file, in a mapping. A segment need not begin with a page. */
static bool find_bias(const struct code_places *places, const struct code_mapping *mapping,
		      u64 *ret_bias)
{
	for (size_t i = 0; i < places->count; i++) {
		const struct elf_segment *segment = &places->items[i];
		u64 begin = segment->offset & ~(PAGE_BYTES - 1);

		if (mapping->file_offset < begin ||
		    mapping->file_offset >= segment->offset + segment->file_size_bytes)
			continue;
		*ret_bias =
			mapping->start - mapping->file_offset + segment->offset - segment->address;
		return true;
	}
	return false;
}

/* Programs that generate code map more and more of it, but no file. */
static bool is_known(struct unwinding *unwinding, u32 pid, const struct unwind_mapping *mappings,
		     size_t count)
{
	const u64 *words = (const u64 *)mappings;
	u64 hash = count, *known = map_find(&unwinding->put, pid, 0);

	for (size_t i = 0; i < count * sizeof(*mappings) / sizeof(u64); i++)
		hash = (hash ^ words[i] ^ hash >> 32) * 0x9e3779b97f4a7c15ULL;
	if (known && *known == hash && bpf_source_has_unwind_space(unwinding->source, pid))
		return true;
	(void)map_set(&unwinding->put, pid, 0, hash);
	return false;
}

int unwinding_mappings(const struct unwinding *unwinding, const struct code_map *map,
		       const struct code_process *process, struct unwind_mapping **ret_mappings,
		       size_t *ret_count)
{
	_cleanup_free_ struct unwind_mapping *mappings = NULL;
	size_t count = 0, capacity = 0;

	for (size_t i = 0; i < map->count; i++) {
		const struct code_mapping *mapping = &map->mappings[i];
		const struct code_places *places;
		u64 bias, file;

		if (mapping->pid != process->pid || mapping->last_seen_ns < process->looked_ns)
			continue;
		if (!find_file(unwinding, mapping, &file, &places) ||
		    !find_bias(places, mapping, &bias)) {
			if (!mapping->inode)
				continue;
			bias = 0;
			file = UNWIND_NO_TABLE;
		}
		if (array_reserve(&mappings, &capacity, count + 1))
			return -ENOMEM;
		mappings[count++] =
			(struct unwind_mapping){mapping->start, mapping->end, bias, file};
	}
	*ret_mappings = take_pointer(&mappings);
	*ret_count = count;
	return 0;
}

/* Of a process that is looked at again the most counts. */
static void note_left_out(struct unwinding *unwinding, u32 pid, size_t count)
{
	const u64 *known = map_find(&unwinding->left, pid, 0);
	u64 before = known ? *known : 0;

	if (count <= before || map_set(&unwinding->left, pid, 0, count))
		return;
	unwinding->left_out += count - before;
	log_debug(
		"process %u maps %zu pieces of code more than there is room for: stacks end there",
		pid, count);
}

static int put_space(struct unwinding *unwinding, const struct code_map *map,
		     const struct code_process *process, struct err *err)
{
	_cleanup_free_ struct unwind_mapping *mappings = NULL;
	size_t count = 0, left_out = 0;
	int result = unwinding_mappings(unwinding, map, process, &mappings, &count);

	if (!result)
		result = unwind_space_fit(mappings, &count, UNWIND_PROCESS_MAX, &left_out);
	if (result)
		return err_errno(err, result, "no memory for what process %u maps", process->pid);
	note_left_out(unwinding, process->pid, left_out);
	if (is_known(unwinding, process->pid, mappings, count))
		return 0;
	result = bpf_source_put_unwind_space(unwinding->source, process->pid, mappings, count, err);
	if (result != -ENOSPC)
		return result;
	note_left_out(unwinding, process->pid, left_out + count);
	return 0;
}

u64 unwinding_left_out(const struct unwinding *unwinding)
{
	return unwinding->left_out;
}

void unwinding_look(struct unwinding *unwinding, const struct code_map *map)
{
	struct err err = {0};
	int result = look_at_files(unwinding, map);

	for (size_t i = 0; i < map->process_count && unwinding->source && !result; i++) {
		const struct code_process *process = &map->processes[i];
		u64 *looked = map_find(&unwinding->looked, process->pid, 0);

		if (looked && *looked == process->looked_ns)
			continue;
		result = map_set(&unwinding->looked, process->pid, 0, process->looked_ns);
		if (!result)
			result = put_space(unwinding, map, process, &err);
	}
	if (result)
		log_debug("stacks are taken by frame pointers: %s", err.message);
}

void unwinding_ask(struct unwinding *unwinding, const struct code_map *map, u32 pid, u64 address)
{
	for (size_t i = map->count; i > 0; i--) {
		const struct code_mapping *mapping = &map->mappings[i - 1];
		const struct code_places *places;
		u64 bias, file;

		if (mapping->pid != pid || address < mapping->start || address >= mapping->end ||
		    !find_file(unwinding, mapping, &file, &places) ||
		    !find_bias(places, mapping, &bias))
			continue;
		pthread_mutex_lock(&unwinding->lock);
		if (unwinding->asked_count < ASKED_MAX)
			unwinding->asked[unwinding->asked_count++] =
				(struct asked_address){(u32)file, address - bias};
		pthread_cond_broadcast(&unwinding->changed);
		pthread_mutex_unlock(&unwinding->lock);
		return;
	}
}

bool unwinding_wait(struct unwinding *unwinding, u64 timeout_ns)
{
	struct timespec until;
	int result = 0;
	bool there;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += (time_t)((until.tv_nsec + timeout_ns) / NS_PER_SECOND);
	until.tv_nsec = (long)((until.tv_nsec + timeout_ns) % NS_PER_SECOND);
	pthread_mutex_lock(&unwinding->lock);
	while (!result && unwinding->urgent_count)
		result = pthread_cond_timedwait(&unwinding->changed, &unwinding->lock, &until);
	there = !unwinding->urgent_count;
	pthread_mutex_unlock(&unwinding->lock);
	return there;
}

struct unwinding *unwinding_stop(struct unwinding *unwinding)
{
	if (!unwinding)
		return NULL;
	pthread_mutex_lock(&unwinding->lock);
	unwinding->stopping = true;
	pthread_cond_broadcast(&unwinding->changed);
	pthread_mutex_unlock(&unwinding->lock);
	row_reader_interrupt(unwinding->tables.reader);
	pthread_join(unwinding->thread, NULL);
	for (size_t i = 0; i < unwinding->wanted_count; i++) {
		cleanup_close(&unwinding->wanted[i].fd);
		free(unwinding->wanted[i].path);
	}
	for (size_t i = 0; i < unwinding->place_count; i++)
		free(unwinding->places[i].items);
	free(unwinding->vdso.items);
	free(unwinding->wanted);
	free(unwinding->places);
	map_free(&unwinding->looked);
	map_free(&unwinding->put);
	map_free(&unwinding->left);
	cleanup_close(&unwinding->tables.cache_fd);
	unwinding->tables.reader = row_reader_stop(unwinding->tables.reader);
	unwind_tables_free(&unwinding->tables);
	pthread_mutex_destroy(&unwinding->lock);
	pthread_mutex_destroy(&unwinding->tables.lock);
	pthread_cond_destroy(&unwinding->changed);
	free(unwinding);
	return NULL;
}
