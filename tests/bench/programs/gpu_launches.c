/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A loop that does nothing but give work to the simulated CUDA of tests/sim (or a real one: no name is only the simulated
 * one's but the kernel's). Says "ready"; then reads a command a line and answers each with one line:
 *
 *	driver SECONDS [ROUNDS]	steps of 128 cuLaunchKernel, a cuMemcpyHtoDAsync and a cuMemsetD8Async, then cuStreamSynchronize, for so long
 *	runtime SECONDS [ROUNDS]	the same by the runtime, whose calls contain the driver's
 *
 * Before each launch it computes for some microseconds (ROUNDS, some 1.5 ns each), as a framework does: a loop of nothing but calls of the simulated driver is
 * bound by the lock that it shares with the simulated GPU, and its time by who gets the processor.
 * The answer: steps, the median of what CPU time of this thread a step took, what steps of more than twice that took beyond it
 * together, and all CPU time, in ns. The median leaves out who else had the processor's caches; the excess has what only some steps paid.
 * Its functions are looked up, so that it is built without CUDA's headers.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LAUNCHES    128
#define COPY_BYTES  4096
#define STEPS_MAX   (1 << 20)
#define WORK_ROUNDS 3000

struct dim3 {
	unsigned x, y, z;
};

static struct {
	int (*cuInit)(unsigned);
	int (*cuDeviceGet)(int *, int);
	int (*cuDevicePrimaryCtxRetain)(void **, int);
	int (*cuCtxSetCurrent)(void *);
	int (*cuModuleLoadData)(void **, const void *);
	int (*cuModuleGetFunction)(void **, void *, const char *);
	int (*cuStreamCreate)(void **, unsigned);
	int (*cuMemAlloc_v2)(unsigned long long *, size_t);
	int (*cuMemAllocHost_v2)(void **, size_t);
	int (*cuLaunchKernel)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
			      unsigned, void *, void **, void **);
	int (*cuMemcpyHtoDAsync_v2)(unsigned long long, const void *, size_t, void *);
	int (*cuMemsetD8Async)(unsigned long long, unsigned char, size_t, void *);
	int (*cuStreamSynchronize)(void *);
	int (*cudaLaunchKernel)(const void *, struct dim3, struct dim3, void **, size_t, void *);
	int (*cudaMemcpyAsync)(void *, const void *, size_t, int, void *);
	int (*cudaMemsetAsync)(void *, int, size_t, void *);
	int (*cudaStreamSynchronize)(void *);
	void (*registers)(void **, const char *, char *, const char *, int, void *, void *, void *,
			  void *, int *);
} cuda;

static const struct {
	const char *library, *name;
	void *place;
} functions[] = {
#define DRIVER(name)                              \
	{                                         \
		"libcuda.so.1", #name, &cuda.name \
	}
#define RUNTIME(name)                                \
	{                                            \
		"libcudart.so.13", #name, &cuda.name \
	}
	DRIVER(cuInit),
	DRIVER(cuDeviceGet),
	DRIVER(cuDevicePrimaryCtxRetain),
	DRIVER(cuCtxSetCurrent),
	DRIVER(cuModuleLoadData),
	DRIVER(cuModuleGetFunction),
	DRIVER(cuStreamCreate),
	DRIVER(cuMemAlloc_v2),
	DRIVER(cuMemAllocHost_v2),
	DRIVER(cuLaunchKernel),
	DRIVER(cuMemcpyHtoDAsync_v2),
	DRIVER(cuMemsetD8Async),
	DRIVER(cuStreamSynchronize),
	RUNTIME(cudaLaunchKernel),
	RUNTIME(cudaMemcpyAsync),
	RUNTIME(cudaMemsetAsync),
	RUNTIME(cudaStreamSynchronize),
	{"libcudart.so.13", "__cudaRegisterFunction", &cuda.registers},
};

static const char kernel_name[] = "bench_sim_spin";
static const char stub; /* stands for the host function that nvcc would write */
static void *kernel, *stream, *host;
static unsigned long long memory;

static void check(int result)
{
	if (!result)
		return;
	fprintf(stderr, "gpu_launches: CUDA says %d\n", result);
	exit(1);
}

static void look_up(void)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *library = dlopen(functions[i].library, RTLD_NOW);
		void *function = library ? dlsym(library, functions[i].name) : NULL;

		if (!function) {
			fprintf(stderr, "gpu_launches: %s\n", dlerror());
			exit(1);
		}
		memcpy(functions[i].place, &function, sizeof(function));
	}
}

static void start(void)
{
	void *context, *module;
	int device;

	check(cuda.cuInit(0));
	check(cuda.cuDeviceGet(&device, 0));
	check(cuda.cuDevicePrimaryCtxRetain(&context, device));
	check(cuda.cuCtxSetCurrent(context));
	check(cuda.cuModuleLoadData(&module, ""));
	check(cuda.cuModuleGetFunction(&kernel, module, kernel_name));
	check(cuda.cuStreamCreate(&stream, 1));
	check(cuda.cuMemAlloc_v2(&memory, COPY_BYTES));
	check(cuda.cuMemAllocHost_v2(&host, COPY_BYTES));
	cuda.registers(NULL, &stub, NULL, kernel_name, -1, NULL, NULL, NULL, NULL, NULL);
}

static void work(int rounds)
{
	static volatile unsigned long sink;
	unsigned long value = sink;

	for (int i = 0; i < rounds; i++)
		value = value * 6364136223846793005UL + 1442695040888963407UL;
	sink = value;
}

static void driver_step(void **arguments, int rounds)
{
	for (int i = 0; i < LAUNCHES; i++) {
		work(rounds);
		check(cuda.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, arguments, NULL));
	}
	check(cuda.cuMemcpyHtoDAsync_v2(memory, host, COPY_BYTES, stream));
	check(cuda.cuMemsetD8Async(memory, 0, COPY_BYTES, stream));
	check(cuda.cuStreamSynchronize(stream));
}

static void runtime_step(void **arguments, int rounds)
{
	for (int i = 0; i < LAUNCHES; i++) {
		work(rounds);
		check(cuda.cudaLaunchKernel(&stub, (struct dim3){1, 1, 1}, (struct dim3){32, 1, 1},
					    arguments, 0, stream));
	}
	check(cuda.cudaMemcpyAsync((void *)memory, host, COPY_BYTES, 1, stream));
	check(cuda.cudaMemsetAsync((void *)memory, 0, COPY_BYTES, stream));
	check(cuda.cudaStreamSynchronize(stream));
}

static long long now_ns(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static int compare(const void *left, const void *right)
{
	const unsigned *first = left, *second = right;

	return (*first > *second) - (*first < *second);
}

static void run(void (*step)(void **, int), double seconds, int rounds)
{
	unsigned long long spin_ns = 100;
	void *arguments[] = {&spin_ns};
	long long end_ns = now_ns(CLOCK_MONOTONIC) + (long long)(seconds * 1e9);
	long long begun_ns = now_ns(CLOCK_THREAD_CPUTIME_ID), last_ns = begun_ns, excess_ns = 0;
	static unsigned took_ns[STEPS_MAX];
	size_t steps = 0, median_ns;

	while (now_ns(CLOCK_MONOTONIC) < end_ns && steps < STEPS_MAX) {
		long long before_ns = last_ns;

		step(arguments, rounds);
		last_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
		took_ns[steps++] = (unsigned)(last_ns - before_ns);
	}
	qsort(took_ns, steps, sizeof(took_ns[0]), compare);
	median_ns = took_ns[steps / 2];
	for (size_t i = 0; i < steps; i++)
		excess_ns += took_ns[i] > 2 * median_ns ? took_ns[i] - median_ns : 0;
	printf("%zu %zu %lld %lld\n", steps, median_ns, excess_ns, last_ns - begun_ns);
}

int main(void)
{
	char line[64], what[16];
	double seconds;
	int rounds;

	setvbuf(stdout, NULL, _IOLBF, 0);
	look_up();
	start();
	puts("ready");
	while (fgets(line, sizeof(line), stdin)) {
		rounds = WORK_ROUNDS;
		if (sscanf(line, "%15s %lf %d", what, &seconds, &rounds) < 2)
			return 1;
		run(strcmp(what, "runtime") ? driver_step : runtime_step, seconds, rounds);
	}
	return 0;
}
