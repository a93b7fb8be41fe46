/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/kernel_sources.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/confinement.h"
#include "base/text.h"

#define MEMORY_MAX_BYTES (256ULL << 20)
#define FOUND_MAX	 16384
#define READ_BYTES	 65536

struct found {
	u32 texts[KERNEL_CACHE_TEXTS]; /* in strings */
	u32 process, line;
	u8 type;
	bool confirmed;
	bool made; /* of KERNEL_CACHE_SOURCE: inductor tells more of it */
	u8 pad;	   /* it is a key as it is */
};

struct search {
	const struct kernel_cache_process *processes;
	size_t count;
	const struct string_table *names;
	size_t *same_as; /* of each process the first one with the same folders */
	bool *skip;	 /* it has no others than one before */
	struct string_table strings, keys;
	struct found *found;
	size_t found_count, found_capacity;
	u8 *bytes; /* received, not taken apart yet */
	size_t filled, byte_capacity;
	bool at_end, is_full;
};

/* ---- who shares folders: the ranks of one job ---- */

static bool is_same_string(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool is_same_root(int a, int b)
{
	struct stat left, right;

	if (a < 0 || b < 0)
		return a < 0 && b < 0;
	return !fstat(a, &left) && !fstat(b, &right) && left.st_dev == right.st_dev &&
	       left.st_ino == right.st_ino;
}

static bool has_same_folders(const struct kernel_cache_process *a,
			     const struct kernel_cache_process *b)
{
	return a->uid == b->uid && is_same_string(a->triton_folder, b->triton_folder) &&
	       is_same_string(a->inductor_folder, b->inductor_folder) &&
	       is_same_string(a->inductor_parent, b->inductor_parent) &&
	       is_same_root(a->root_fd, b->root_fd);
}

static int find_same(struct search *search)
{
	search->same_as = calloc(search->count + 1, sizeof(*search->same_as));
	search->skip = calloc(search->count + 1, sizeof(*search->skip));
	if (!search->same_as || !search->skip)
		return -ENOMEM;
	for (size_t i = 0; i < search->count; i++) {
		size_t j = 0;

		while (j < i && !has_same_folders(&search->processes[j], &search->processes[i]))
			j++;
		search->same_as[i] = j;
		search->skip[i] = j < i;
	}
	return 0;
}

/* ---- the other process ---- */

static _Noreturn void work(const struct search *search, int pipe_fd)
{
	int *fds = malloc((search->count + 1) * sizeof(*fds));

	if (!fds)
		_exit(1);
	for (size_t i = 0; i < search->count; i++)
		fds[i] = search->processes[i].root_fd;
	fds[search->count] = pipe_fd;
	signal(SIGPIPE, SIG_IGN);
	confine(&(struct confinement){.name = "gpuprobe-source",
				      .fds = fds,
				      .fd_count = search->count + 1,
				      .memory_bytes = MEMORY_MAX_BYTES,
				      .reads_files = true});
	kernel_cache_run(search->processes, search->skip, search->count, pipe_fd);
	_exit(0);
}

/* Each once. */
static int note(struct search *search, const struct kernel_cache_message *message, const u8 *texts)
{
	_cleanup_text_ struct text key = {0};
	struct found found = {.process = message->process,
			      .line = message->line,
			      .type = (u8)message->type,
			      .confirmed = message->confirmed == 1};
	size_t before = search->keys.count;

	if (string_table_find(search->names, (const char *)texts, message->bytes[0]) < 0)
		return 0;
	for (size_t i = 0; i < KERNEL_CACHE_TEXTS; texts += message->bytes[i], i++) {
		s64 number =
			string_table_add(&search->strings, (const char *)texts, message->bytes[i]);

		if (number < 0)
			return -ENOMEM;
		found.texts[i] = (u32)number;
	}
	text_append_bytes(&key, &found, sizeof(found));
	if (key.failed || string_table_add(&search->keys, key.data, key.length) < 0)
		return -ENOMEM;
	if (search->keys.count == before)
		return 0;
	search->is_full |= search->found_count == FOUND_MAX;
	if (search->is_full)
		return 0;
	if (array_reserve(&search->found, &search->found_capacity, search->found_count + 1))
		return -ENOMEM;
	search->found[search->found_count++] = found;
	return 0;
}

/* Nothing that it sends is believed unchecked. How many bytes a message has; 0: not all of it is there. */
static ssize_t take_message(struct search *search, const u8 *at, size_t left)
{
	struct kernel_cache_message message;
	size_t size = sizeof(message);
	int result;

	if (left < size)
		return 0;
	memcpy(&message, at, sizeof(message));
	for (size_t i = 0; i < KERNEL_CACHE_TEXTS; i++) {
		if (message.bytes[i] > KERNEL_CACHE_TEXT_MAX_BYTES)
			return -EPROTO;
		size += message.bytes[i];
	}
	if (left < size)
		return 0;
	if (message.type < KERNEL_CACHE_SOURCE || message.type > KERNEL_CACHE_END ||
	    message.process >= search->count)
		return -EPROTO;
	if (message.type == KERNEL_CACHE_END) {
		search->at_end = true;
		return (ssize_t)size;
	}
	result = note(search, &message, at + sizeof(message));
	return result ? result : (ssize_t)size;
}

/* 1; 0 at the end of the pipe. */
static int receive(struct search *search, int pipe_fd)
{
	size_t taken = 0;
	ssize_t size;

	if (array_reserve(&search->bytes, &search->byte_capacity, search->filled + READ_BYTES))
		return -ENOMEM;
	size = read(pipe_fd, search->bytes + search->filled, READ_BYTES);
	if (size < 0)
		return errno == EINTR ? 1 : -errno;
	search->filled += (size_t)size;
	while (size > 0) {
		ssize_t bytes = take_message(search, search->bytes + taken, search->filled - taken);

		if (bytes < 0)
			return (int)bytes;
		if (!bytes)
			break;
		taken += (size_t)bytes;
	}
	search->filled -= taken;
	memmove(search->bytes, search->bytes + taken, search->filled);
	return size > 0;
}

static int listen_to(struct search *search, int pipe_fd, u64 deadline_ns)
{
	struct pollfd poll_fd = {.fd = pipe_fd, .events = POLLIN};
	int result = 1;

	while (result > 0) {
		u64 now_ns = clock_monotonic_ns();

		if (now_ns >= deadline_ns)
			return 0;
		if (poll(&poll_fd, 1, (int)((deadline_ns - now_ns) / NS_PER_MILLISECOND + 1)) > 0)
			result = receive(search, pipe_fd);
	}
	return result;
}

static int run(struct search *search, u64 deadline_ns)
{
	int ends[2], result;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid < 0) {
		result = -errno;
		close(ends[0]);
		close(ends[1]);
		return result;
	}
	if (pid == 0)
		work(search, ends[1]);
	close(ends[1]);
	result = listen_to(search, ends[0], deadline_ns);
	close(ends[0]);
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return result;
}

/* ---- what was found ---- */

static bool is_of(const struct found *made, const struct found *source)
{
	return made->type == KERNEL_CACHE_MADE && made->process == source->process &&
	       made->texts[KERNEL_CACHE_NAME] == source->texts[KERNEL_CACHE_NAME] &&
	       made->texts[KERNEL_CACHE_FILE] == source->texts[KERNEL_CACHE_FILE];
}

/* What inductor says of a kernel, and where Triton found it. */
static void join(struct search *search)
{
	for (size_t i = 0; i < search->found_count; i++) {
		struct found *made = &search->found[i];

		if (made->type != KERNEL_CACHE_MADE)
			continue;
		for (size_t j = 0; j < search->found_count; j++) {
			struct found *source = &search->found[j];

			if (source->type != KERNEL_CACHE_SOURCE || !is_of(made, source))
				continue;
			source->made = true;
			made->line = source->line;
			made->confirmed = source->confirmed;
		}
	}
}

static int report(const struct search *search, const struct found *found,
		  int (*callback)(void *data, const struct kernel_source *source), void *data,
		  u64 *count)
{
	char *const *strings = search->strings.strings;
	struct kernel_source source = {.line = found->line,
				       .confirmed = found->confirmed,
				       .name = strings[found->texts[KERNEL_CACHE_NAME]],
				       .file = strings[found->texts[KERNEL_CACHE_FILE]],
				       .launcher = strings[found->texts[KERNEL_CACHE_LAUNCHER]],
				       .nodes = strings[found->texts[KERNEL_CACHE_NODES]],
				       .operations =
					       strings[found->texts[KERNEL_CACHE_OPERATIONS]]};
	int result = 0;

	for (size_t i = 0; i < search->count && result >= 0 && !found->made; i++) {
		if (search->same_as[i] != found->process)
			continue;
		source.process = i;
		*count += 1;
		result = callback(data, &source);
	}
	return result;
}

int kernel_sources_find(const struct kernel_cache_process *processes, size_t count,
			const struct string_table *names, u64 time_ns,
			int (*callback)(void *data, const struct kernel_source *source), void *data,
			struct kernel_sources_status *ret_status)
{
	u64 start_ns = clock_monotonic_ns();
	struct search search = {.processes = processes, .count = count, .names = names};
	struct kernel_sources_status status = {0};
	int result = find_same(&search);

	if (!result && count && names->count)
		result = run(&search, start_ns + time_ns);
	else
		search.at_end = true;
	/* What was said until then holds. */
	if (result != -ENOMEM)
		result = 0;
	join(&search);
	for (size_t i = 0; i < search.found_count && result >= 0; i++)
		result = report(&search, &search.found[i], callback, data, &status.count);
	status.cut = !search.at_end || search.is_full;
	status.took_ns = clock_monotonic_ns() - start_ns;
	*ret_status = status;
	string_table_free(&search.strings);
	string_table_free(&search.keys);
	free(search.found);
	free(search.bytes);
	free(search.same_as);
	free(search.skip);
	return result < 0 ? result : 0;
}
