/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/cublaslt_check.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/confinement.h"
#include "base/file.h"
#include "process/sandbox.h"
#include "../bpf/matmul.h"

/* The real ones take a quarter of a second, half a gigabyte of which little is touched. */
#define TIME_MAX_NS	 NS_PER_SECOND
#define CPU_MAX_SECONDS	 2
#define MEMORY_MAX_BYTES (4ULL << 30)

/* What the header of any version says is smaller. */
#define OBJECT_BYTES 1024

/* Different in each byte, none of which is 0. */
#define ROWS	0x1112131415161718ULL
#define COLUMNS 0x2122232425262728ULL
#define LEADING 0x3132333435363738LL
#define BATCH	0x41424344
#define TYPE	14 /* CUDA_R_16BF */
#define COMPUTE 68 /* CUBLAS_COMPUTE_32F */
#define SCALE	0  /* CUDA_R_32F */

/* The numbers of attributes: cublasLt.h. */
#define LAYOUT_BATCH_COUNT    5
#define OPERATION_TRANSFORM_A 3
#define OPERATION_TRANSFORM_B 4

typedef int init_layout(void *layout, size_t size, int type, u64 rows, u64 columns, s64 leading);
typedef int init_operation(void *operation, size_t size, int compute_type, int scale_type);
typedef int set_attribute(void *object, int attribute, const void *value, size_t size);

/* What is said through the pipe: one byte. */
enum answer {
	ANSWER_NOT_LOADED = 1,
	ANSWER_NO_FUNCTIONS,
	ANSWER_REFUSED,
	ANSWER_SAME,
	ANSWER_OTHER
};

bool cublaslt_is_library(const char *path)
{
	const char *slash = strrchr(path, '/');

	return fnmatch("libcublasLt.so*", slash ? slash + 1 : path, 0) == 0;
}

/* ---- in the other process ---- */

static enum answer ask_layout(void *library)
{
	init_layout *init = dlsym(library, "cublasLtMatrixLayoutInit_internal");
	set_attribute *set = dlsym(library, "cublasLtMatrixLayoutSetAttribute");
	u8 object[OBJECT_BYTES] = {0};
	struct cublaslt_layout layout;
	s32 batch = BATCH;

	if (!init || !set)
		return ANSWER_NO_FUNCTIONS;
	if (init(object, sizeof(object), TYPE, ROWS, COLUMNS, LEADING) ||
	    set(object, LAYOUT_BATCH_COUNT, &batch, sizeof(batch)))
		return ANSWER_REFUSED;
	memcpy(&layout, object, sizeof(layout));
	return layout.type == TYPE && layout.order == 0 && layout.rows == ROWS &&
			       layout.columns == COLUMNS && layout.leading_dimension == LEADING &&
			       layout.batch == BATCH && layout.batch_mode == 0
		       ? ANSWER_SAME
		       : ANSWER_OTHER;
}

static enum answer ask_operation(void *library)
{
	init_operation *init = dlsym(library, "cublasLtMatmulDescInit_internal");
	set_attribute *set = dlsym(library, "cublasLtMatmulDescSetAttribute");
	s32 transpose = CUBLASLT_TRANSFORM_TRANSPOSE;
	s32 conjugate = CUBLASLT_TRANSFORM_CONJUGATE_TRANSPOSE;
	u8 object[OBJECT_BYTES] = {0};
	struct cublaslt_operation operation;

	if (!init || !set)
		return ANSWER_NO_FUNCTIONS;
	if (init(object, sizeof(object), COMPUTE, SCALE) ||
	    set(object, OPERATION_TRANSFORM_A, &transpose, sizeof(transpose)) ||
	    set(object, OPERATION_TRANSFORM_B, &conjugate, sizeof(conjugate)))
		return ANSWER_REFUSED;
	memcpy(&operation, object, sizeof(operation));
	return operation.compute_type == COMPUTE && operation.scale_type == SCALE &&
			       operation.transform_a == transpose &&
			       operation.transform_b == conjugate
		       ? ANSWER_SAME
		       : ANSWER_OTHER;
}

static _Noreturn void ask(int library_fd, int pipe_fd)
{
	struct rlimit cpu = {CPU_MAX_SECONDS, CPU_MAX_SECONDS};
	enum answer answer = ANSWER_NOT_LOADED;
	char path[64];
	void *library;
	u8 byte;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", library_fd);
	setrlimit(RLIMIT_CPU, &cpu);
	signal(SIGPIPE, SIG_IGN);
	confine(&(struct confinement){.name = "gpuprobe-ask",
				      .fds = (int[]){library_fd, pipe_fd},
				      .fd_count = 2,
				      .memory_bytes = MEMORY_MAX_BYTES,
				      .goes_first = true});
	if (sandbox_enter(pipe_fd) < 0)
		_exit(1);
	library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (library)
		answer = ask_layout(library);
	if (answer == ANSWER_SAME)
		answer = ask_operation(library);
	byte = (u8)answer;
	file_write(pipe_fd, &byte, sizeof(byte));
	_exit(0);
}

/* ---- in ours ---- */

void cublaslt_check_begin(int library_fd, struct cublaslt_check *ret_check)
{
	int ends[2];
	pid_t pid;

	*ret_check = (struct cublaslt_check){.pipe_fd = -1};
	if (pipe2(ends, O_CLOEXEC) < 0)
		return;
	pid = fork();
	if (pid == 0)
		ask(library_fd, ends[1]);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return;
	}
	*ret_check = (struct cublaslt_check){
		.pid = pid,
		.pipe_fd = ends[0],
		.deadline_ns = clock_monotonic_ns() + TIME_MAX_NS,
	};
}

/* 0: none came in time. */
static u8 await_answer(const struct cublaslt_check *check, bool *ret_ended)
{
	struct pollfd poll_fd = {.fd = check->pipe_fd, .events = POLLIN};
	u64 now_ns = clock_monotonic_ns();
	int timeout_ms = now_ns < check->deadline_ns
				 ? (int)((check->deadline_ns - now_ns) / NS_PER_MILLISECOND + 1)
				 : 0;
	u8 answer = 0;

	/* A signal that ends gpuprobe ends this wait, too. */
	*ret_ended = poll(&poll_fd, 1, timeout_ms) > 0;
	return *ret_ended && read(check->pipe_fd, &answer, 1) == 1 ? answer : 0;
}

void cublaslt_check_cancel(struct cublaslt_check *check)
{
	if (!check->pid)
		return;
	kill(check->pid, SIGKILL);
	while (waitpid(check->pid, NULL, 0) < 0 && errno == EINTR)
		;
	close(check->pipe_fd);
	*check = (struct cublaslt_check){.pipe_fd = -1};
}

enum cublaslt_verdict cublaslt_check_end(struct cublaslt_check *check, struct err *why)
{
	static const char *const reasons[] = {
		[ANSWER_NOT_LOADED] = "gpuprobe can't load it",
		[ANSWER_NO_FUNCTIONS] = "it has no functions that make such objects",
		[ANSWER_REFUSED] = "it made no objects",
	};
	u8 answer = 0;
	bool ended;

	if (!check->pid) {
		err_set(why, -EAGAIN, "no process could be made for it");
		return CUBLASLT_UNTRIED;
	}
	answer = await_answer(check, &ended);
	cublaslt_check_cancel(check);
	if (answer == ANSWER_SAME || answer == ANSWER_OTHER)
		return answer == ANSWER_SAME ? CUBLASLT_SAME : CUBLASLT_OTHER;
	err_set(why, -EIO, "%s",
		answer && answer < ARRAY_SIZE(reasons) ? reasons[answer]
		: ended				       ? "the process that was to load it died"
						       : "it took more than a second");
	return CUBLASLT_UNTRIED;
}
