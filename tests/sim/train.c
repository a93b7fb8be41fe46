/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sim-train: a service with a training-like load on the simulated CUDA. It prints as JSON what it did, as the driver
 * counted it where it was asked, and fails when its own count of what it asked for differs.
 *
 * Control: lines on the Unix socket --control PATH, one JSON line each in return:
 *	pause	all threads stand at the begin of a step, no device has work
 *	resume	go on
 *	mark	truth counts from here
 *	truth	what happened since the mark
 *	profile	another user of CUPTI (--profiler LIBRARY,LIBCUPTI) begins
 *	profiled	it ends, when all threads stand as after pause; they go on then
 *	quit	end as by SIGTERM
 * SIGUSR1 prints the truth to stdout. With --fault it is another program: train_fault.h. */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include "interface.h"
#include "train_fault.h"
#include "train_profile.h"

#define MAX_THREADS    64
#define LAYERS	       4
#define BATCH_BYTES    (1u << 20)
#define GRADIENT_BYTES (4u << 20)
#define GROWTH_BYTES   (8u << 20)
#define METRICS_BYTES  (1u << 18)
#define GROWTH_STEPS   50
#define GROWTH_LIMIT   32
#define IDLE_STEPS     100 /* then IDLE_US */
#define IDLE_US	       30000
#define TRUTH_BYTES    (1u << 20)
#define DRAIN_MS       10000
#define LINE_BYTES     256

#define NOINLINE __attribute__((noinline))

enum kernel {
	KERNEL_CUTLASS,
	KERNEL_SGEMM,
	KERNEL_ELEMENTWISE,
	KERNEL_REDUCE,
	KERNEL_SOFTMAX,
	KERNEL_ADAM,
	KERNEL_ALL_REDUCE,
	KERNEL_COUNT,
};

static const char *const kernel_names[KERNEL_COUNT] = {
	[KERNEL_CUTLASS] = "_ZN7cutlass7Kernel2I63cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128_"
			   "32x4_nn_align8EEvNT_6ParamsE",
	[KERNEL_SGEMM] = "ampere_sgemm_128x64_tn",
	[KERNEL_ELEMENTWISE] = "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_"
			       "addIfEESt5arrayIPcLm3EEEEviT0_T1_",
	[KERNEL_REDUCE] = "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_14func_"
			  "wrapper_tIfEEjfLi4EEEEEvT1_",
	[KERNEL_SOFTMAX] =
		"_ZN12_GLOBAL__N_120softmax_warp_forwardIfffLi8ELb0ELb0EEEvPT0_PKT_iiiPKbib",
	[KERNEL_ADAM] = "_ZN2at6native12_GLOBAL__N_125multi_tensor_apply_kernelINS1_"
			"18TensorListMetadataILi4EEEEEvT_",
	[KERNEL_ALL_REDUCE] =
		"_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LLP11ncclDevCommmP8ncclWork",
};
static const char kernel_stubs[KERNEL_COUNT];

struct options {
	unsigned long steps; /* of each thread, 0: no limit */
	double seconds;
	unsigned threads;
	double rate; /* steps a second and thread, 0: as fast as it goes */
	unsigned devices;
	const char *control;
	bool is_paused, is_managed;
};

struct worker {
	pthread_t thread;
	unsigned index;
	int device;
	cudaStream_t compute, copy, communication;
	cudaEvent_t copied, computed, reduced;
	cudaGraphExec_t graph;
	CUfunction triton;
	void *host_batch, *device_batch, *gradients, *loss, *metrics;
	unsigned long step;
	unsigned grown;
};

static struct options options = {.threads = 2, .rate = 200, .devices = 1};
static struct worker workers[MAX_THREADS];
static atomic_bool is_ending;
static pthread_mutex_t pause_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t pause_changed = PTHREAD_COND_INITIALIZER;
static pthread_cond_t parked_changed = PTHREAD_COND_INITIALIZER; /* or running: for who pauses */
static bool is_paused;
static unsigned parked, running;
static atomic_ulong launches_asked, graphs_asked, copies_asked, bytes_asked, sets_asked;

/* Of the runtime, called by what nvcc writes: no header has it. */
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

static void launch(enum kernel kernel, unsigned blocks, unsigned threads, cudaStream_t stream)
{
	int argument = 0;
	void *arguments[] = {&argument};

	CHECK(cudaLaunchKernel(&kernel_stubs[kernel], (dim3){blocks, 1, 1}, (dim3){threads, 1, 1},
			       arguments, 0, stream));
	launches_asked++;
}

static void copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
		 cudaStream_t stream)
{
	CHECK(cudaMemcpyAsync(to, from, bytes, kind, stream));
	copies_asked++;
	bytes_asked += bytes;
}

static NOINLINE void load_batch(struct worker *worker)
{
	copy(worker->device_batch, worker->host_batch, BATCH_BYTES, cudaMemcpyHostToDevice,
	     worker->copy);
	CHECK(cudaEventRecord(worker->copied, worker->copy));
	CHECK(cudaStreamWaitEvent(worker->compute, worker->copied, 0));
}

static NOINLINE void forward(struct worker *worker)
{
	void *scratch;

	CHECK(cudaMallocAsync(&scratch, BATCH_BYTES, worker->compute));
	for (unsigned layer = 0; layer < LAYERS; layer++) {
		launch(layer % 2 ? KERNEL_SGEMM : KERNEL_CUTLASS, 264, 256, worker->compute);
		launch(KERNEL_ELEMENTWISE, 512 + layer, 128, worker->compute);
		(void)cudaGetLastError();
	}
	launch(KERNEL_SOFTMAX, 64, 128, worker->compute);
	CHECK(cuLaunchKernel(worker->triton, 96, 1, 1, 128, 1, 1, 4096, worker->compute, NULL,
			     NULL));
	launches_asked++;
	CHECK(cudaFreeAsync(scratch, worker->compute));
}

static NOINLINE void backward(struct worker *worker)
{
	CHECK(cudaGraphLaunch(worker->graph, worker->compute));
	graphs_asked++;
	CHECK(cudaEventRecord(worker->computed, worker->compute));
}

static NOINLINE void all_reduce(struct worker *worker)
{
	CHECK(cudaStreamWaitEvent(worker->communication, worker->computed, 0));
	launch(KERNEL_ALL_REDUCE, 24, 544, worker->communication);
	CHECK(cudaEventRecord(worker->reduced, worker->communication));
	CHECK(cudaStreamWaitEvent(worker->compute, worker->reduced, 0));
}

static NOINLINE void optimizer_step(struct worker *worker)
{
	launch(KERNEL_ADAM, 320, 512, worker->compute);
	CHECK(cudaMemsetAsync(worker->gradients, 0, GRADIENT_BYTES, worker->compute));
	sets_asked++;
	copy(worker->loss, worker->device_batch, sizeof(float), cudaMemcpyDeviceToHost,
	     worker->compute);
	(void)cudaEventQuery(worker->reduced);
	CHECK(cudaStreamSynchronize(worker->compute));
}

/* Of --managed: the GPU writes what the host then reads. */
static NOINLINE void read_metrics(struct worker *worker)
{
	if (!options.is_managed)
		return;
	CHECK(cudaMemsetAsync(worker->metrics, 0, METRICS_BYTES, worker->compute));
	sets_asked++;
	CHECK(cudaStreamSynchronize(worker->compute));
	simHostAccess(worker->metrics);
	(void)*(volatile char *)worker->metrics;
}

/* A leak, up to a limit. */
static NOINLINE void grow(struct worker *worker)
{
	void *kept;

	if (worker->step % GROWTH_STEPS || worker->grown == GROWTH_LIMIT)
		return;
	CHECK(cudaMalloc(&kept, GROWTH_BYTES));
	worker->grown++;
}

static NOINLINE void train_step(struct worker *worker)
{
	load_batch(worker);
	forward(worker);
	backward(worker);
	all_reduce(worker);
	optimizer_step(worker);
	read_metrics(worker);
	grow(worker);
	worker->step++;
}

/* The backward pass: a chain with one branch beside it. */
static void capture(struct worker *worker)
{
	cudaGraph_t graph;
	cudaEvent_t fork, join;

	CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
	CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
	CHECK(cudaStreamBeginCapture(worker->compute, cudaStreamCaptureModeThreadLocal));
	launch(KERNEL_REDUCE, 128, 512, worker->compute);
	CHECK(cudaEventRecord(fork, worker->compute));
	CHECK(cudaStreamWaitEvent(worker->communication, fork, 0));
	launch(KERNEL_ELEMENTWISE, 640, 128, worker->communication);
	CHECK(cudaEventRecord(join, worker->communication));
	for (unsigned layer = 0; layer < LAYERS; layer++)
		launch(KERNEL_CUTLASS, 264, 256, worker->compute);
	CHECK(cudaMemsetAsync(worker->gradients, 0, BATCH_BYTES, worker->compute));
	CHECK(cudaStreamWaitEvent(worker->compute, join, 0));
	launch(KERNEL_ELEMENTWISE, 512, 128, worker->compute);
	CHECK(cudaStreamEndCapture(worker->compute, &graph));
	CHECK(cudaGraphInstantiate(&worker->graph, graph, 0));
	CHECK(cudaGraphDestroy(graph));
	/* Captured is not launched. */
	launches_asked -= LAYERS + 3;
}
#define GRAPH_KERNELS (LAYERS + 3)
#define GRAPH_SETS    1

static void prepare(struct worker *worker)
{
	CUmodule module;

	CHECK(cudaSetDevice(worker->device));
	CHECK(cudaStreamCreateWithFlags(&worker->compute, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&worker->copy, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithPriority(&worker->communication, cudaStreamNonBlocking, -5));
	CHECK(cudaEventCreateWithFlags(&worker->copied, cudaEventDisableTiming));
	CHECK(cudaEventCreateWithFlags(&worker->computed, cudaEventDisableTiming));
	CHECK(cudaEventCreateWithFlags(&worker->reduced, cudaEventDisableTiming));
	CHECK(cudaMallocHost(&worker->host_batch, BATCH_BYTES));
	CHECK(cudaMallocHost(&worker->loss, 4096));
	CHECK(cudaMalloc(&worker->device_batch, BATCH_BYTES));
	CHECK(cudaMalloc(&worker->gradients, GRADIENT_BYTES));
	if (options.is_managed)
		CHECK(cudaMallocManaged(&worker->metrics, METRICS_BYTES, cudaMemAttachGlobal));
	CHECK(cuModuleLoadData(&module, "simulated"));
	CHECK(cuModuleGetFunction(&worker->triton, module, "triton_poi_fused_add_mul_gelu_7"));
	capture(worker);
}

/* Whether to go on. */
static bool wait_for_step(struct worker *worker, struct timespec *next)
{
	if (options.rate > 0) {
		next->tv_nsec += (long)(1e9 / options.rate) % 1000000000;
		next->tv_sec += (time_t)(1 / options.rate) + next->tv_nsec / 1000000000;
		next->tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, next, NULL);
	}
	if (worker->step && worker->step % IDLE_STEPS == 0)
		usleep(IDLE_US);
	pthread_mutex_lock(&pause_lock);
	while (is_paused && !is_ending) {
		parked++;
		pthread_cond_broadcast(&parked_changed);
		pthread_cond_wait(&pause_changed, &pause_lock);
		parked--;
	}
	pthread_mutex_unlock(&pause_lock);
	return !is_ending && (!options.steps || worker->step < options.steps);
}

static void *worker_main(void *argument)
{
	struct worker *worker = argument;
	struct timespec next;
	char name[16];

	snprintf(name, sizeof(name), "train-%u", worker->index);
	pthread_setname_np(pthread_self(), name);
	prepare(worker);
	clock_gettime(CLOCK_MONOTONIC, &next);
	while (wait_for_step(worker, &next))
		train_step(worker);
	CHECK(cudaDeviceSynchronize());
	pthread_mutex_lock(&pause_lock);
	running--;
	pthread_cond_broadcast(&parked_changed);
	pthread_mutex_unlock(&pause_lock);
	if (options.steps)
		kill(getpid(), SIGCHLD); /* wakes main */
	return NULL;
}

static bool pause_all(void)
{
	pthread_mutex_lock(&pause_lock);
	is_paused = true;
	while (parked < running)
		pthread_cond_wait(&parked_changed, &pause_lock);
	pthread_mutex_unlock(&pause_lock);
	return simDrain(DRAIN_MS);
}

static void resume_all(void)
{
	pthread_mutex_lock(&pause_lock);
	is_paused = false;
	pthread_cond_broadcast(&pause_changed);
	pthread_mutex_unlock(&pause_lock);
}

static void print_truth(FILE *stream)
{
	char *json = malloc(TRUTH_BYTES);

	if (simTruth(json, TRUTH_BYTES) < TRUTH_BYTES)
		fprintf(stream, "%s\n", json);
	fflush(stream);
	free(json);
}

static unsigned long kernels_asked(void)
{
	return launches_asked + graphs_asked * GRAPH_KERNELS;
}

/* What was under way when it began is one launch a thread. */
static void end_profile(FILE *client)
{
	bool was_paused = is_paused;

	pause_all();
	train_profile_end(client, kernels_asked(), options.threads * GRAPH_KERNELS);
	if (!was_paused)
		resume_all();
	train_profile_leave();
}

static void answer(FILE *client, const char *line)
{
	if (!strcmp(line, "pause")) {
		fprintf(client, "{\"paused\":true,\"drained\":%d}\n", pause_all());
	} else if (!strcmp(line, "resume")) {
		resume_all();
		fprintf(client, "{\"paused\":false}\n");
	} else if (!strcmp(line, "mark")) {
		simTruthMark();
		fprintf(client, "{\"marked\":true}\n");
	} else if (!strcmp(line, "truth")) {
		print_truth(client);
	} else if (!strncmp(line, "profiler ", strlen("profiler "))) {
		train_profile_load(client, line + strlen("profiler "));
	} else if (!strcmp(line, "profile")) {
		train_profile_begin(client, kernels_asked);
	} else if (!strcmp(line, "profiled")) {
		end_profile(client);
	} else if (!strcmp(line, "quit")) {
		is_ending = true;
		resume_all();
		fprintf(client, "{\"ending\":true}\n");
	} else {
		fprintf(client, "{\"error\":\"not a word of tests/sim/README.md\"}\n");
	}
	fflush(client);
}

/* The client that is connected; one after the other. */
struct client {
	int fd;
	FILE *stream;
	char line[LINE_BYTES];
	size_t length;
};

static void hang_up(struct client *client)
{
	if (client->stream)
		fclose(client->stream);
	*client = (struct client){.fd = -1};
}

/* What the client sent: each whole line is answered. */
static void serve(struct client *client)
{
	ssize_t count = read(client->fd, client->line + client->length,
			     sizeof(client->line) - 1 - client->length);
	char *end;

	if (count <= 0) {
		hang_up(client);
		return;
	}
	client->length += (size_t)count;
	client->line[client->length] = 0;
	while ((end = strchr(client->line, '\n'))) {
		*end = 0;
		answer(client->stream, client->line);
		client->length -= (size_t)(end + 1 - client->line);
		memmove(client->line, end + 1, client->length + 1);
	}
	if (client->length == sizeof(client->line) - 1)
		hang_up(client);
}

static void welcome(struct client *client, int listener)
{
	client->fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	client->stream = client->fd < 0 ? NULL : fdopen(client->fd, "w");
	if (!client->stream)
		client->fd = -1;
}

static int listen_on(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof(address.sun_path)) {
		fprintf(stderr, "sim-train: the path of --control is too long\n");
		exit(2);
	}
	strcpy(address.sun_path, path);
	unlink(path);
	if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(listener, 4)) {
		fprintf(stderr, "sim-train: --control %s: %s\n", path, strerror(errno));
		exit(2);
	}
	return listener;
}

static void read_options(int argc, char **argv)
{
	static const struct option table[] = {
		{"steps", required_argument, NULL, 's'},
		{"seconds", required_argument, NULL, 'd'},
		{"threads", required_argument, NULL, 't'},
		{"rate", required_argument, NULL, 'r'},
		{"devices", required_argument, NULL, 'D'},
		{"control", required_argument, NULL, 'c'},
		{"paused", no_argument, NULL, 'p'},
		{"managed", no_argument, NULL, 'm'},
		{"profiler", required_argument, NULL, 'P'},
		{0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "", table, NULL)) != -1) {
		switch (option) {
		case 's':
			options.steps = strtoul(optarg, NULL, 10);
			break;
		case 'd':
			options.seconds = atof(optarg);
			break;
		case 't':
			options.threads = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'r':
			options.rate = atof(optarg);
			break;
		case 'D':
			options.devices = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'c':
			options.control = optarg;
			break;
		case 'p':
			options.is_paused = true;
			break;
		case 'm':
			options.is_managed = true;
			break;
		case 'P':
			train_profile_open(optarg);
			break;
		default:
			exit(2);
		}
	}
	if (!options.threads || options.threads > MAX_THREADS || !options.devices) {
		fprintf(stderr, "sim-train: --threads is 1 to %d, --devices at least 1\n",
			MAX_THREADS);
		exit(2);
	}
}

/* Signals, the control socket and the end, until all workers are done. */
static void supervise(int signals, int listener)
{
	struct pollfd polled[2] = {{.fd = signals, .events = POLLIN}, {.events = POLLIN}};
	struct client client = {.fd = -1};
	struct timespec started, now;
	struct signalfd_siginfo info;

	clock_gettime(CLOCK_MONOTONIC, &started);
	while (!is_ending && running) {
		polled[1].fd = client.fd >= 0 ? client.fd : listener; /* -1: ignored */
		poll(polled, 2, options.seconds > 0 ? 20 : 1000);
		if (polled[0].revents && read(signals, &info, sizeof(info)) == sizeof(info)) {
			if (info.ssi_signo == SIGUSR1)
				print_truth(stdout);
			else if (info.ssi_signo != SIGCHLD)
				is_ending = true;
		}
		if (polled[1].revents && client.fd >= 0)
			serve(&client);
		else if (polled[1].revents)
			welcome(&client, listener);
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (options.seconds > 0 &&
		    (double)(now.tv_sec - started.tv_sec) +
				    (double)(now.tv_nsec - started.tv_nsec) / 1e9 >
			    options.seconds)
			is_ending = true;
	}
	hang_up(&client);
	resume_all();
}

/* What the application asked for, in its own words. */
static void print_asked(void)
{
	unsigned long graphs = graphs_asked;

	printf("{\"simulated\":true,\"asked\":{\"launches\":%lu,\"graph_launches\":%lu,"
	       "\"kernels\":%lu,\"copies\":%lu,\"copy_bytes\":%lu,\"sets\":%lu}}\n",
	       launches_asked, graphs, launches_asked + graphs * GRAPH_KERNELS, copies_asked,
	       bytes_asked, sets_asked + graphs * GRAPH_SETS);
}

int main(int argc, char **argv)
{
	int signals, listener = -1, ended = train_fault_main(argc, argv);
	sigset_t mask;

	if (ended >= 0)
		return ended;
	read_options(argc, argv);
	is_paused = options.is_paused;
	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGUSR1);
	sigaddset(&mask, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &mask, NULL);
	signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	for (unsigned i = 0; i < KERNEL_COUNT; i++)
		__cudaRegisterFunction(NULL, &kernel_stubs[i], NULL, kernel_names[i], -1, NULL,
				       NULL, NULL, NULL, NULL);
	if (options.control)
		listener = listen_on(options.control);
	running = options.threads;
	for (unsigned i = 0; i < options.threads; i++) {
		workers[i].index = i;
		workers[i].device = (int)(i % options.devices);
		pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]);
	}
	printf("{\"simulated\":true,\"pid\":%d,\"threads\":%u}\n", (int)getpid(), options.threads);
	fflush(stdout);
	supervise(signals, listener);
	for (unsigned i = 0; i < options.threads; i++)
		pthread_join(workers[i].thread, NULL);
	print_truth(stdout);
	print_asked();
	if (options.control)
		unlink(options.control);
	return 0;
}
