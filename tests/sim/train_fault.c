/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "train_fault.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include <cuda.h>
#include <cuda_runtime_api.h>

#define NOINLINE      __attribute__((noinline))
#define BATCHES	      2
#define NEIGHBOURS    3
#define SPANS_MOST    (1u << 18)
#define PAGE_BYTES    4096
#define TOUCHED_BYTES (64u << 20)

/* What is drawn. */
struct plan {
	unsigned kernels; /* a step */
	uint64_t kernel_ns;
	uint64_t gpu_ns;     /* of a step */
	uint64_t prepare_ns; /* CPU time of the thread that launches, a step */
	uint64_t load_ns;    /* the same of the loader, a batch */
	uint64_t fault_ns;   /* how long what is wrong takes, a step */
	unsigned count;	     /* how many of it, a step */
	size_t batch_bytes;
};

struct loop {
	struct plan plan;
	cudaStream_t compute, copy, side;
	cudaEvent_t copied, side_done, done[2];
	void *batches[BATCHES], *device_batch, *small, *small_host;
	unsigned long step;
	int timer;
};

/* When the thread that launches was in what is wrong, of CLOCK_MONOTONIC: what it says at its end. */
static struct span {
	uint64_t since_ns, until_ns;
} spans[SPANS_MOST];
static size_t span_count;

struct fault {
	const char *name;
	/* Each may be NULL. */
	void (*draw)(struct plan *plan);
	void (*begin)(struct loop *loop);  /* once */
	void (*before)(struct loop *loop); /* in each step, before it launches */
	void (*among)(struct loop *loop);  /* beside its kernels */
	void (*after)(struct loop *loop);  /* when all is launched */
	bool is_pageable, is_unloaded;	   /* the batch; there is no loader */
	bool is_in_loader;
};

static const char kernel_stub;
static atomic_bool is_ending;
static uint64_t random_state;

void __cudaRegisterFunction(void **handle, const char *host_function, char *device_function,
			    const char *device_name, int thread_limit, void *thread_id,
			    void *block_id, void *block, void *grid, int *warp);

static void check(int result, const char *what)
{
	if (result == 0)
		return;
	fprintf(stderr, "sim-train: %s: error %d\n", what, result);
	exit(2);
}
#define CHECK(call) check((int)(call), #call)

static inline __attribute__((always_inline)) uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* From least to most, by the seed. */
static double draw(double least, double most)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return least + (most - least) * (double)(random_state >> 11) / (double)(1ULL << 53);
}

/* CPU time, not time: what the machine does beside it changes nothing of it. */
static inline __attribute__((always_inline)) void spin(uint64_t ns)
{
	uint64_t end = now_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

static void sleep_ns(uint64_t ns)
{
	struct timespec time = {.tv_sec = (time_t)(ns / 1000000000),
				.tv_nsec = (long)(ns % 1000000000)};

	nanosleep(&time, NULL);
}

static void pin_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu % sysconf(_SC_NPROCESSORS_ONLN), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* Processes that want the same CPU, and end with this one. */
static void invite_neighbours(int cpu)
{
	for (unsigned i = 0; i < NEIGHBOURS; i++) {
		if (fork())
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "neighbour");
		pin_to(cpu);
		for (;;)
			;
	}
}

/* ---- the loader ---- */

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_changed = PTHREAD_COND_INITIALIZER;
static unsigned queued;
static int loader_cpu = -1;

static NOINLINE void decode(uint64_t ns)
{
	spin(ns);
}

static void *fill_queue(void *argument)
{
	const struct plan *plan = argument;

	prctl(PR_SET_NAME, "filler");
	if (loader_cpu >= 0)
		pin_to(loader_cpu);
	while (!is_ending) {
		decode(plan->load_ns);
		pthread_mutex_lock(&queue_lock);
		while (queued == BATCHES && !is_ending)
			pthread_cond_wait(&queue_changed, &queue_lock);
		queued++;
		pthread_cond_broadcast(&queue_changed);
		pthread_mutex_unlock(&queue_lock);
	}
	return NULL;
}

static NOINLINE void next_batch(struct loop *loop)
{
	(void)loop;
	pthread_mutex_lock(&queue_lock);
	while (!queued && !is_ending)
		pthread_cond_wait(&queue_changed, &queue_lock);
	queued -= queued > 0;
	pthread_cond_broadcast(&queue_changed);
	pthread_mutex_unlock(&queue_lock);
}

/* ---- faults ---- */

static void do_wrong(void (*wrong)(struct loop *loop), struct loop *loop)
{
	uint64_t since_ns = now_ns(CLOCK_MONOTONIC);

	wrong(loop);
	if (span_count < SPANS_MOST)
		spans[span_count++] = (struct span){since_ns, now_ns(CLOCK_MONOTONIC)};
}

static void tell_spans(void)
{
	printf("{\"simulated\":true,\"spans\":[");
	for (size_t i = 0; i < span_count; i++)
		printf("%s[%llu,%llu]", i ? "," : "", (unsigned long long)spans[i].since_ns,
		       (unsigned long long)spans[i].until_ns);
	printf("]}\n");
}

static void draw_load(struct plan *plan)
{
	plan->load_ns = (uint64_t)(plan->gpu_ns * draw(1.6, 2.4));
}

static void draw_starved_load(struct plan *plan)
{
	plan->load_ns = (uint64_t)(plan->gpu_ns * draw(0.6, 0.8));
}

static void crowd_loader(struct loop *loop)
{
	(void)loop;
	loader_cpu = 1;
	pin_to(0);
	invite_neighbours(1);
}

static void draw_prepare(struct plan *plan)
{
	plan->prepare_ns = (uint64_t)(plan->gpu_ns * draw(0.5, 0.8));
}

static void crowd_launcher(struct loop *loop)
{
	(void)loop;
	loader_cpu = 1;
	pin_to(0);
	invite_neighbours(0);
}

static NOINLINE void wait_for_all(struct loop *loop)
{
	CHECK(cudaStreamSynchronize(loop->compute));
}

static NOINLINE void read_loss(struct loop *loop)
{
	CHECK(cudaMemcpyAsync(loop->small_host, loop->small, sizeof(float), cudaMemcpyDeviceToHost,
			      loop->compute));
	CHECK(cudaStreamSynchronize(loop->compute));
}

static NOINLINE void read_loss_at_once(struct loop *loop)
{
	CHECK(cudaMemcpy(loop->small_host, loop->small, sizeof(float), cudaMemcpyDeviceToHost));
}

/* 25 bytes a nanosecond. */
static void draw_batch(struct plan *plan)
{
	plan->batch_bytes = (size_t)(plan->gpu_ns * 25 * draw(0.6, 1.5));
	setenv("SIM_PAGEABLE_WAITS", "1", 1);
}

static void draw_count(struct plan *plan)
{
	plan->count = (unsigned)draw(400, 1200);
	plan->batch_bytes = (size_t)draw(16, 2048);
}

static NOINLINE void copy_pieces(struct loop *loop)
{
	for (unsigned i = 0; i < loop->plan.count; i++)
		CHECK(cudaMemcpyAsync(loop->device_batch, loop->batches[0], loop->plan.batch_bytes,
				      cudaMemcpyHostToDevice, loop->compute));
}

static void draw_allocations(struct plan *plan)
{
	char us[32];

	plan->count = (unsigned)draw(2, 6);
	snprintf(us, sizeof(us), "%.0f", plan->gpu_ns * draw(0.3, 0.6) / 2000 / plan->count);
	setenv("SIM_ALLOC_US", us, 1);
	setenv("SIM_FREE_WAITS", "1", 1);
}

static NOINLINE void retry_allocations(struct loop *loop)
{
	for (unsigned i = 0; i < loop->plan.count; i++) {
		void *memory;

		CHECK(cudaMalloc(&memory, (size_t)(i + 1) << 20));
		CHECK(cudaFree(memory));
	}
}

static void draw_fault(struct plan *plan)
{
	plan->fault_ns = (uint64_t)(plan->gpu_ns * draw(1.4, 2.2));
}

/* For as long as the fault takes, memory that is new each time. */
static NOINLINE void fill_new_memory(struct loop *loop)
{
	uint64_t end = now_ns(CLOCK_THREAD_CPUTIME_ID) + loop->plan.fault_ns;

	while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end) {
		char *memory = mmap(NULL, TOUCHED_BYTES, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		madvise(memory, TOUCHED_BYTES, MADV_NOHUGEPAGE);
		for (size_t i = 0; i < TOUCHED_BYTES; i += PAGE_BYTES) {
			memory[i] = 1;
			if (i % (PAGE_BYTES * 64) == 0 && now_ns(CLOCK_THREAD_CPUTIME_ID) >= end)
				break;
		}
		munmap(memory, TOUCHED_BYTES);
	}
}

static void draw_module(struct plan *plan)
{
	char us[32];

	snprintf(us, sizeof(us), "%.0f", plan->gpu_ns * draw(1.4, 2.2) / 1000);
	setenv("SIM_MODULE_US", us, 1);
}

static NOINLINE void compile_again(struct loop *loop)
{
	CUmodule module;

	(void)loop;
	CHECK(cuModuleLoadData(&module, "simulated"));
	CHECK(cuModuleUnload(module));
}

static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;

static NOINLINE void write_statistics(uint64_t ns)
{
	spin(ns);
}

static void *hold_lock(void *argument)
{
	const struct loop *loop = argument;

	prctl(PR_SET_NAME, "reporter");
	while (!is_ending) {
		pthread_mutex_lock(&shared_lock);
		write_statistics(loop->plan.fault_ns);
		pthread_mutex_unlock(&shared_lock);
		sleep_ns(200000);
	}
	return NULL;
}

static void begin_holding(struct loop *loop)
{
	pthread_t thread;

	pthread_create(&thread, NULL, hold_lock, loop);
}

static NOINLINE void note_step(struct loop *loop)
{
	(void)loop;
	pthread_mutex_lock(&shared_lock);
	pthread_mutex_unlock(&shared_lock);
}

static NOINLINE void poll_later(struct loop *loop)
{
	sleep_ns(loop->plan.fault_ns);
}

static void begin_timer(struct loop *loop)
{
	loop->timer = timerfd_create(CLOCK_MONOTONIC, 0);
}

static NOINLINE void read_device(struct loop *loop)
{
	struct itimerspec time = {.it_value.tv_nsec = (long)loop->plan.fault_ns};
	uint64_t count;

	timerfd_settime(loop->timer, 0, &time, NULL);
	if (read(loop->timer, &count, sizeof(count)) < 0)
		perror("sim-train: read");
}

static void CUDA_CB sleep_in_stream(void *argument)
{
	const struct loop *loop = argument;

	sleep_ns(loop->plan.fault_ns);
}

static NOINLINE void depend_on_side(struct loop *loop)
{
	CHECK(cuLaunchHostFunc(loop->side, sleep_in_stream, loop));
	CHECK(cudaEventRecord(loop->side_done, loop->side));
	CHECK(cudaStreamWaitEvent(loop->compute, loop->side_done, 0));
}

static void draw_small_kernels(struct plan *plan)
{
	plan->kernels = (unsigned)draw(300, 800);
	plan->kernel_ns = (uint64_t)draw(800, 2500);
	plan->prepare_ns = 0;
}

static NOINLINE void tokenize(struct loop *loop)
{
	spin(loop->plan.fault_ns);
}

static void draw_copies(struct plan *plan)
{
	plan->batch_bytes = (size_t)(plan->gpu_ns * 25 * draw(1, 2));
}

static NOINLINE void copy_in_order(struct loop *loop)
{
	CHECK(cudaMemcpyAsync(loop->device_batch, loop->batches[loop->step % BATCHES],
			      loop->plan.batch_bytes, cudaMemcpyHostToDevice, loop->compute));
}

static const struct fault faults[] = {
	{.name = "none"},
	{"slow-loader", .draw = draw_load, .is_in_loader = true},
	{"starved-loader", .draw = draw_starved_load, .begin = crowd_loader},
	{"sync", .draw = draw_prepare, .after = wait_for_all},
	{"item", .draw = draw_prepare, .after = read_loss},
	{"item-at-once", .draw = draw_prepare, .after = read_loss_at_once},
	{"pageable", .draw = draw_batch, .before = copy_in_order, .is_pageable = true},
	{"tiny-copies", .draw = draw_count, .among = copy_pieces},
	{"allocations", .draw = draw_allocations, .before = retry_allocations},
	{"page-faults", .draw = draw_fault, .before = fill_new_memory},
	{"module-load", .draw = draw_module, .before = compile_again},
	{"throttled", .draw = draw_prepare}, /* by who runs it, in a cgroup */
	{"preempted", .draw = draw_prepare, .begin = crowd_launcher},
	{"lock", .draw = draw_fault, .begin = begin_holding, .before = note_step},
	{"sleep", .draw = draw_fault, .before = poll_later},
	{"device", .draw = draw_fault, .begin = begin_timer, .before = read_device},
	{"stream", .draw = draw_fault, .among = depend_on_side},
	{"small-kernels", .draw = draw_small_kernels},
	{"host-code", .draw = draw_fault, .before = tokenize, .is_unloaded = true},
	{"copies", .draw = draw_copies, .before = copy_in_order},
};

/* ---- the loop ---- */

static void launch(struct loop *loop)
{
	uint64_t ns = loop->plan.kernel_ns;
	void *arguments[] = {&ns};

	CHECK(cudaLaunchKernel(&kernel_stub, (dim3){264, 1, 1}, (dim3){256, 1, 1}, arguments, 0,
			       loop->compute));
}

static NOINLINE void prepare_step(uint64_t ns)
{
	spin(ns);
}

/* One step ahead of the GPU, as long as nothing is wrong. */
static NOINLINE void run_step(struct loop *loop, const struct fault *fault)
{
	if (fault->is_in_loader)
		do_wrong(next_batch, loop);
	else if (!fault->is_unloaded)
		next_batch(loop);
	prepare_step(loop->plan.prepare_ns);
	if (fault->before)
		do_wrong(fault->before, loop);
	for (unsigned i = 0; i < loop->plan.kernels; i++) {
		launch(loop);
		if (fault->among && i == loop->plan.kernels / 2)
			do_wrong(fault->among, loop);
	}
	CHECK(cudaEventRecord(loop->done[loop->step % 2], loop->compute));
	if (fault->after)
		do_wrong(fault->after, loop);
	loop->step++;
	if (loop->step > 1)
		CHECK(cudaEventSynchronize(loop->done[loop->step % 2]));
}

static void make_plan(const struct fault *fault, struct plan *plan)
{
	plan->kernels = (unsigned)draw(4, 13);
	plan->kernel_ns = (uint64_t)draw(500e3, 1200e3);
	plan->gpu_ns = plan->kernels * plan->kernel_ns;
	plan->prepare_ns = (uint64_t)(plan->gpu_ns * draw(0.05, 0.2));
	plan->load_ns = (uint64_t)(plan->gpu_ns * draw(0.05, 0.3));
	plan->batch_bytes = 1u << 20;
	if (fault->draw)
		fault->draw(plan);
}

static void make_loop(const struct fault *fault, struct loop *loop)
{
	CHECK(cudaSetDevice(0));
	CHECK(cudaStreamCreate(&loop->compute));
	CHECK(cudaStreamCreateWithFlags(&loop->copy, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&loop->side, cudaStreamNonBlocking));
	CHECK(cudaEventCreateWithFlags(&loop->copied, cudaEventDisableTiming));
	CHECK(cudaEventCreateWithFlags(&loop->side_done, cudaEventDisableTiming));
	for (unsigned i = 0; i < 2; i++)
		CHECK(cudaEventCreateWithFlags(&loop->done[i], cudaEventDisableTiming));
	for (unsigned i = 0; i < BATCHES; i++) {
		if (fault->is_pageable)
			loop->batches[i] = malloc(loop->plan.batch_bytes);
		else
			CHECK(cudaMallocHost(&loop->batches[i], loop->plan.batch_bytes));
	}
	CHECK(cudaMalloc(&loop->device_batch, loop->plan.batch_bytes));
	CHECK(cudaMalloc(&loop->small, PAGE_BYTES));
	loop->small_host = malloc(PAGE_BYTES);
}

static void end(int signal)
{
	(void)signal;
	is_ending = true;
}

static const struct fault *find(const char *name)
{
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		if (!strcmp(faults[i].name, name))
			return &faults[i];
	fprintf(stderr, "sim-train: --fault %s: there are", name);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		fprintf(stderr, " %s", faults[i].name);
	fprintf(stderr, "\n");
	exit(2);
}

static void run(const struct fault *fault, unsigned long seed)
{
	struct loop loop = {0};
	pthread_t loader;

	random_state = seed;
	for (unsigned i = 0; i < 8; i++)
		draw(0, 1);
	make_plan(fault, &loop.plan);
	if (fault->begin)
		fault->begin(&loop);
	__cudaRegisterFunction(NULL, &kernel_stub, NULL, "sim_spin_gemm", -1, NULL, NULL, NULL,
			       NULL, NULL);
	make_loop(fault, &loop);
	pthread_create(&loader, NULL, fill_queue, &loop.plan);
	printf("{\"simulated\":true,\"pid\":%d,\"fault\":\"%s\",\"seed\":%lu,\"kernels\":%u,"
	       "\"gpu_ns\":%llu,\"prepare_ns\":%llu,\"load_ns\":%llu,\"fault_ns\":%llu}\n",
	       (int)getpid(), fault->name, seed, loop.plan.kernels,
	       (unsigned long long)loop.plan.gpu_ns, (unsigned long long)loop.plan.prepare_ns,
	       (unsigned long long)loop.plan.load_ns, (unsigned long long)loop.plan.fault_ns);
	fflush(stdout);
	while (!is_ending)
		run_step(&loop, fault);
	CHECK(cudaDeviceSynchronize());
	tell_spans();
}

int train_fault_main(int argc, char **argv)
{
	const struct fault *fault = NULL;
	unsigned long seed = 1;

	for (int i = 1; i + 1 < argc; i++) {
		if (!strcmp(argv[i], "--fault"))
			fault = find(argv[i + 1]);
		if (!strcmp(argv[i], "--seed"))
			seed = strtoul(argv[i + 1], NULL, 10);
	}
	if (!fault)
		return -1;
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* it takes much of a machine */
	signal(SIGTERM, end);
	signal(SIGINT, end);
	run(fault, seed);
	fflush(NULL);
	_exit(0); /* threads may still be at their work */
}
