/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small users of the simulated CUDA. It launches a kernel every few ms until stdin ends, then says how often:
 *	plain		nothing else
 *	fork		every tenth time it forks a child that ends at once, and one that executes it as "once"
 *	once		one kernel only, without a word
 *	child		after SIGUSR1 it forks a child that lives as long as stdin, and says its number; after SIGUSR2 it does
 *			so without the libc, whose handlers of fork() are not called then
 *	state LIBCUPTI	it loads that; at each line on stdin it says what of it is set: type of thread ids, one buffer a thread, whether its
 *			clock is CLOCK_REALTIME
 *	graph NODES	it launches a graph of so many kernels at each line on stdin, and says when that is done
 *	exec PROGRAM...	it executes that after a line on stdin
 *	threads		each time it makes a thread with the name of one that gpuprobe brings along, which says its tid, waits,
 *			allocates and touches memory, and ends
 *	waiters		threads of its wait until SIGUSR1, and end then; it says their tids first
 *	spin NS		one kernel of so many ns only, and it waits for it
 *	late NS		one of so many ns at the first line on stdin, for which it does not wait; one more at the second
 */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct dim3 {
	unsigned x, y, z;
};

int cudaLaunchKernel(const void *function, struct dim3 grid, struct dim3 block, void **arguments,
		     size_t shared_bytes, void *stream);
int cudaDeviceSynchronize(void);
int cudaGetDevice(int *device);
int cudaStreamCreateWithFlags(void **stream, unsigned flags);
int cudaStreamSynchronize(void *stream);
int cudaStreamBeginCapture(void *stream, int mode);
int cudaStreamEndCapture(void *stream, void **graph);
int cudaGraphInstantiate(void **exec, void *graph, unsigned long long flags);
int cudaGraphLaunch(void *exec, void *stream);
void __cudaRegisterFunction(void **handle, const char *host_function, char *device_function,
			    const char *device_name, int thread_limit, void *thread_id,
			    void *block_id, void *block, void *grid, int *warp);

static volatile sig_atomic_t signalled;
static const char stub;
static long failed;

static void launch_on(void *stream, unsigned long long ns)
{
	void *arguments[] = {&ns};

	failed += cudaLaunchKernel(&stub, (struct dim3){1, 1, 1}, (struct dim3){32, 1, 1},
				   arguments, 0, stream) != 0;
}

static void launch(unsigned long long ns)
{
	launch_on(NULL, ns);
}

static int stdin_ready(int timeout_ms)
{
	struct pollfd input = {.fd = 0, .events = POLLIN};

	return poll(&input, 1, timeout_ms) > 0;
}

static void fork_children(void)
{
	int status;

	if (!fork()) {
		free(malloc(100000));
		_exit(0);
	}
	if (!fork()) {
		execl("/proc/self/exe", "gpu_target", "once", (char *)NULL);
		_exit(1);
	}
	while (wait(&status) > 0)
		failed += status != 0;
}

static int is_realtime(unsigned long long timestamp)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec - timestamp / 1000000000 < 10;
}

/* Between the lines it calls nothing of CUDA. */
static int tell_state(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	int (*get_type)(int *type) = (int (*)(int *))dlsym(library, "cuptiGetThreadIdType");
	int (*get_attribute)(int attribute, size_t *bytes, void *value) =
		(int (*)(int, size_t *, void *))dlsym(library, "cuptiActivityGetAttribute");
	int (*get_time)(unsigned long long *time) =
		(int (*)(unsigned long long *))dlsym(library, "cuptiGetTimestamp");

	puts("ready");
	fflush(stdout);
	while (getchar() == '\n') {
		unsigned char per_thread = 9;
		size_t bytes = 1;
		unsigned long long time = 0;
		int type = 9;

		failed +=
			get_type(&type) || get_attribute(9, &bytes, &per_thread) || get_time(&time);
		printf("%d %d %d\n", type, per_thread, is_realtime(time));
		fflush(stdout);
	}
	return failed != 0;
}

static int launch_graphs(long nodes)
{
	void *stream = NULL, *graph = NULL, *exec = NULL;

	failed += cudaStreamCreateWithFlags(&stream, 1) || cudaStreamBeginCapture(stream, 2);
	for (long i = 0; i < nodes; i++)
		launch_on(stream, 2000);
	failed += cudaStreamEndCapture(stream, &graph) || cudaGraphInstantiate(&exec, graph, 0);
	puts("ready");
	fflush(stdout);
	while (getchar() == '\n') {
		failed += cudaGraphLaunch(exec, stream) || cudaStreamSynchronize(stream);
		printf("%ld %ld\n", nodes, failed);
		fflush(stdout);
	}
	return failed != 0;
}

static void note_signal(int number)
{
	signalled = number;
}

static void fork_one(int number)
{
	pid_t child = number == SIGUSR1 ? fork() : (pid_t)syscall(SYS_fork);

	if (child) {
		printf("%d\n", child);
		fflush(stdout);
		return;
	}
	stdin_ready(-1);
	_exit(0);
}

#define THREAD_PAGES	       8
#define PAGE_BYTES	       4096
#define THREAD_ALLOCATED_BYTES 24680

static void *thread_main(void *name)
{
	char *allocated = malloc(THREAD_ALLOCATED_BYTES);
	volatile char *memory = mmap(NULL, THREAD_PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	__asm__ volatile("" : "+r"(allocated));
	prctl(PR_SET_NAME, name);
	printf("thread %ld\n", syscall(SYS_gettid));
	for (int i = 0; i < THREAD_PAGES; i++)
		memory[i * PAGE_BYTES] = 1;
	munmap((void *)memory, THREAD_PAGES * PAGE_BYTES);
	usleep(2000);
	free(allocated);
	return NULL;
}

static void make_thread(long number)
{
	char *name = number % 2 ? "gpuprobe-agent" : "cupti-worker";
	pthread_t thread;

	if (pthread_create(&thread, NULL, thread_main, name) || pthread_join(thread, NULL))
		failed++;
}

#define WAITERS 8

static int waited_for[2]; /* a pipe: nobody writes to it */

static void *waiter_main(void *unused)
{
	char byte;

	printf("%ld\n", syscall(SYS_gettid));
	while (read(waited_for[0], &byte, 1) > 0)
		;
	return unused;
}

static void make_waiters(void)
{
	pthread_t thread;

	failed += pipe(waited_for) != 0;
	for (int i = 0; i < WAITERS; i++)
		failed += pthread_create(&thread, NULL, waiter_main, NULL) != 0;
	usleep(100000);
}

/* Between the lines it calls nothing of CUDA. */
static int launch_late(unsigned long long ns)
{
	puts("ready");
	fflush(stdout);
	while (getchar() != '\n' && !feof(stdin))
		;
	launch(ns);
	while (getchar() != '\n' && !feof(stdin))
		;
	launch(20000);
	failed += cudaDeviceSynchronize() != 0;
	printf("%d %ld\n", 2, failed);
	fflush(stdout);
	while (getchar() != EOF)
		;
	return failed != 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "plain";
	long count = 0;

	__cudaRegisterFunction(NULL, &stub, NULL, "_Z8sim_spiny", -1, NULL, NULL, NULL, NULL, NULL);
	failed += cudaDeviceSynchronize() != 0;
	if (!strcmp(mode, "spin")) {
		launch(strtoull(argv[2], NULL, 10));
		puts("ready");
		fflush(stdout);
		failed += cudaDeviceSynchronize() != 0;
		printf("%d %ld\n", 1, failed);
		return failed != 0;
	}
	if (!strcmp(mode, "graph"))
		return launch_graphs(strtol(argv[2], NULL, 10));
	if (!strcmp(mode, "state"))
		return tell_state(argv[2]);
	if (!strcmp(mode, "late"))
		return launch_late(strtoull(argv[2], NULL, 10));
	if (!strcmp(mode, "once")) {
		launch(20000);
		return cudaDeviceSynchronize() || failed;
	}
	if (!strcmp(mode, "waiters"))
		make_waiters();
	if (!strcmp(mode, "child") || !strcmp(mode, "waiters")) {
		signal(SIGUSR1, note_signal);
		signal(SIGUSR2, note_signal);
	}
	puts("ready");
	fflush(stdout);
	while (!stdin_ready(5)) {
		launch(20000);
		int number = signalled;

		/* The next one may come as soon as this one is answered. */
		signalled = 0;
		if (number && !strcmp(mode, "waiters"))
			close(waited_for[1]);
		else if (number)
			fork_one(number);
		if (!strcmp(mode, "fork") && ++count % 10 == 0)
			fork_children();
		else if (strcmp(mode, "fork"))
			count++;
		if (!strcmp(mode, "threads"))
			make_thread(count);
	}
	if (!strcmp(mode, "exec")) {
		execv(argv[2], argv + 2);
		return 3;
	}
	failed += cudaDeviceSynchronize() != 0;
	printf("%ld %ld\n", count, failed);
	return failed != 0;
}
