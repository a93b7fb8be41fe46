/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/debug_server.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/confinement.h"
#include "base/file.h"
#include "base/stop.h"
#include "base/temporary_file.h"

#define SERVERS	     "DEBUGINFOD_URLS"
#define LIBRARY	     "libdebuginfod.so.1"
#define MEMORY_BYTES (512ULL << 20)
#define NOBODY	     65534
/* How often is looked whether a signal wants us to stop. */
#define LOOK_MS	     100
#define OPEN_AT_ONCE 16

/* What the other process says of a wish, or, with index ~0, of itself. */
struct told {
	u32 index;
	s32 error; /* 0, -errno */
	u64 bytes;
};

#define OF_ITSELF (~0U)

bool debug_server_is_set(void)
{
	const char *servers = getenv(SERVERS);

	return servers && servers[strspn(servers, " ")];
}

/* ---- the other process ---- */

/* Those of its functions that are used, as elfutils' header declares them. */
struct library {
	void *(*begin)(void);
	int (*find)(void *client, const unsigned char *build_id, int build_id_bytes,
		    char **ret_path);
};

static int library_open(struct library *library)
{
	void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	void *begin = handle ? dlsym(handle, "debuginfod_begin") : NULL;
	void *find = handle ? dlsym(handle, "debuginfod_find_debuginfo") : NULL;

	if (!begin || !find)
		return -ENOENT;
	memcpy(&library->begin, &begin, sizeof(begin));
	memcpy(&library->find, &find, sizeof(find));
	return 0;
}

/* The folder that we are in is its cache; all else is as it is by default. */
static int settings_put(u64 left_bytes)
{
	static const char *const unwanted[] = {"DEBUGINFOD_VERBOSE",	 "DEBUGINFOD_PROGRESS",
					       "DEBUGINFOD_MAXTIME",	 "DEBUGINFOD_HEADERS_FILE",
					       "DEBUGINFOD_RETRY_LIMIT", "DEBUGINFOD_TIMEOUT"};
	struct rlimit limit = {left_bytes, RLIM_INFINITY};
	char bytes[32];

	for (size_t i = 0; i < ARRAY_SIZE(unwanted); i++)
		unsetenv(unwanted[i]);
	snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)left_bytes);
	if (setenv("DEBUGINFOD_CACHE_PATH", ".", 1) || setenv("DEBUGINFOD_MAXSIZE", bytes, 1) ||
	    setrlimit(RLIMIT_FSIZE, &limit))
		return -errno;
	return 0;
}

static int copy(int from_fd, int to_fd, u64 *ret_bytes)
{
	u64 bytes = 0;
	ssize_t count = 1;

	while (count > 0) {
		count = sendfile(to_fd, from_fd, NULL, 1 << 20);
		bytes += count > 0 ? (u64)count : 0;
	}
	*ret_bytes = bytes;
	return count < 0 ? -errno : 0;
}

static struct told fetch(const struct library *library, const struct debug_wish *wish,
			 u64 left_bytes)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_close_ int fd = -1;
	struct told told = {0};
	void *client;

	told.error = settings_put(left_bytes);
	if (told.error)
		return told;
	/* It reads its settings when it begins. */
	client = library->begin();
	if (!client)
		return (struct told){.error = -ENOMEM};
	fd = library->find(client, wish->build_id, (int)wish->build_id_bytes, &path);
	if (fd < 0)
		return (struct told){.error = fd};
	(void)lseek(fd, 0, SEEK_SET);
	told.error = copy(fd, wish->fd, &told.bytes);
	(void)unlink(path);
	return told;
}

static void ask(const struct debug_wish *wishes, size_t count, u64 bytes, int pipe_fd)
{
	struct told told = {.index = OF_ITSELF};
	struct library library = {0};

	told.error = library_open(&library);
	if (file_write(pipe_fd, &told, sizeof(told)) || told.error)
		return;
	for (size_t i = 0; i < count; i++) {
		told = fetch(&library, &wishes[i], bytes);
		told.index = (u32)i;
		bytes -= told.bytes < bytes ? told.bytes : bytes;
		if (file_write(pipe_fd, &told, sizeof(told)))
			return;
	}
}

static _Noreturn void serve(struct debug_wish *wishes, size_t count, u64 bytes, int pipe_fd)
{
	_cleanup_free_ int *fds = malloc((count + 1) * sizeof(*fds));

	if (!fds)
		_exit(1);
	for (size_t i = 0; i < count; i++)
		fds[i] = wishes[i].fd;
	fds[count] = pipe_fd;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	confine(&(struct confinement){.name = "gpuprobe-debug",
				      .fds = fds,
				      .fd_count = count + 1,
				      .memory_bytes = MEMORY_BYTES});
	/* Whatever writes to its standard output or error is not to write into a connection. */
	for (int fd = open("/dev/null", O_RDWR); fd >= 0 && fd < STDERR_FILENO;)
		fd = dup(fd);
	ask(wishes, count, bytes, pipe_fd);
	_exit(0);
}

/* ---- its folder ---- */

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
	(void)status;
	(void)type;
	if (place->level)
		(void)remove(path);
	return 0;
}

/* As the user to whom it belongs: what lies there is a stranger's. */
static void folder_remove(const char *folder)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (!chdir(folder)) {
			confine(&(struct confinement){.name = "gpuprobe-debug",
						      .memory_bytes = MEMORY_BYTES});
			(void)nftw(".", remove_one, OPEN_AT_ONCE, FTW_DEPTH | FTW_PHYS);
		}
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	(void)rmdir(folder);
}

static int folder_make(char **ret_folder, struct err *err)
{
	int result = temporary_folder_make("gpuprobe-debug", ret_folder, err);

	if (!result && geteuid() == 0 && chown(*ret_folder, NOBODY, NOBODY)) {
		result = err_errno(err, -errno, "can't give %s away", *ret_folder);
		rmdir(*ret_folder);
		free(*ret_folder);
		*ret_folder = NULL;
	}
	return result;
}

/* ---- asking ---- */

/* A recording has them blocked, and takes them itself. */
static bool is_stopped(void)
{
	sigset_t pending;

	return stop_requested() || (!sigpending(&pending) && (sigismember(&pending, SIGINT) == 1 ||
							      sigismember(&pending, SIGTERM) == 1 ||
							      sigismember(&pending, SIGHUP) == 1));
}

static void take(struct debug_wish *wish, const struct told *told)
{
	wish->bytes = told->bytes;
	wish->error = told->error;
	switch (told->error) {
	case 0:
		wish->answer = DEBUG_FOUND;
		break;
	case -ENOENT:
		wish->answer = DEBUG_UNKNOWN;
		break;
	case -EFBIG:
		wish->answer = DEBUG_TOO_LARGE;
		break;
	default:
		wish->answer = DEBUG_FAILED;
	}
}

/* Until it has ended, or time is over. Nothing that it says is believed but of wishes. */
static int listen_to(struct debug_wish *wishes, size_t count, int pipe_fd, u64 deadline_ns)
{
	struct pollfd poll_fd = {.fd = pipe_fd, .events = POLLIN};
	struct told told;

	while (!is_stopped() && clock_monotonic_ns() < deadline_ns) {
		if (poll(&poll_fd, 1, LOOK_MS) <= 0)
			continue;
		/* Of this size it is written whole. */
		if (read(pipe_fd, &told, sizeof(told)) != sizeof(told))
			return 0;
		if (told.index == OF_ITSELF && told.error)
			return -ENOENT;
		if (told.index < count)
			take(&wishes[told.index], &told);
	}
	return 0;
}

static int run(struct debug_wish *wishes, size_t count, const struct debug_server_limits *limits,
	       const char *folder)
{
	u64 deadline_ns = clock_monotonic_ns() + limits->time_ns;
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
	if (pid == 0) {
		if (chdir(folder))
			_exit(1);
		serve(wishes, count, limits->bytes, ends[1]);
	}
	close(ends[1]);
	result = listen_to(wishes, count, ends[0], deadline_ns);
	close(ends[0]);
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return result;
}

int debug_server_ask(struct debug_wish *wishes, size_t count,
		     const struct debug_server_limits *limits, struct err *err)
{
	_cleanup_free_ char *folder = NULL;
	int result;

	for (size_t i = 0; i < count; i++)
		wishes[i].answer = DEBUG_NOT_ASKED;
	result = folder_make(&folder, err);
	if (result)
		return result;
	result = run(wishes, count, limits, folder);
	folder_remove(folder);
	if (result == -ENOENT)
		return err_set(err, result,
			       "can't ask the servers of " SERVERS ": " LIBRARY
			       " is not installed (Debian: apt install libdebuginfod1)");
	return result ? err_errno(err, result, "can't ask the servers of " SERVERS) : 0;
}
