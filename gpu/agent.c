/* SPDX-License-Identifier: MIT */
/*
 * The agent in a target: one thread of our own, which takes the ring, starts the features that gpuprobe wants, and
 * leaves when it is asked to or when gpuprobe is no more. What it promises to gpuprobe stands in shared.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arch_x86_64.h"
#include "cupti/cupti_session.h"
#include "nvtx/nvtx_session.h"
#include "base/system.h"
#include "base/worker_names.h"
#include "base/words.h"

#define EXPORT		   __attribute__((visibility("default")))
#define WATCH_PERIOD_NS	   (100 * NS_PER_MILLISECOND)
#define THREADS_TIMEOUT_MS 2000
#define MET_TIMEOUT_NS	   NS_PER_SECOND
#define MET_PERIOD_NS	   (2 * NS_PER_MILLISECOND)
#define SIGSET_BYTES	   8 /* of the kernel */
/* How long exit() is held up at most. */
#define EXIT_NS		 (2 * NS_PER_SECOND)
#define LAUNCHED_EXIT_NS (5 * NS_PER_SECOND)

EXPORT int gpuprobe_agent_run(const struct agent_start *start);
EXPORT int InitializeInjection(void);

struct agent {
	struct agent_control *control;
	size_t mapped_bytes;
	int ring_fd;
	u32 *live; /* on a page that a fork()ed child finds zeroed */
	struct ring ring;
	struct ring_writer writer;
	bool has_loader;
	struct loader loader;
	struct cupti_session *cupti;
	struct nvtx_session *nvtx;
	struct resident resident; /* data NULL: there is none */
	u64 ring_device, ring_inode;
	bool launched; /* CUDA_INJECTION64_PATH loaded it */
	/* Both are waited for. */
	u32 exiting; /* the process calls exit() */
	u32 done;    /* nothing comes any more, CUPTI is called no more */
};

static void set_state(struct agent *agent, u32 state)
{
	__atomic_store_n(&agent->control->fixed.state, state, __ATOMIC_RELEASE);
}

/* ---- the ring ---- */

static long memfd_bytes(const struct agent *agent)
{
	return arch_syscall(SYS_lseek, agent->ring_fd, 0, SEEK_END, 0, 0, 0);
}

static void unmap_ring(struct agent *agent)
{
	system_unmap(agent->control, agent->mapped_bytes);
	agent->control = NULL;
}

static int map_ring(struct agent *agent, u64 offset, long bytes)
{
	long memory;

	if (bytes < (long)AGENT_CONTROL_BYTES)
		return -EINVAL;
	memory = arch_syscall(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			      agent->ring_fd, (long)offset);
	if (system_failed(memory))
		return memory;
	agent->control = (struct agent_control *)memory;
	agent->mapped_bytes = bytes;
	/* A child has no use for it: what is in it would stay for as long as the child does. Best effort. */
	arch_syscall(SYS_madvise, memory, bytes, MADV_DONTFORK, 0, 0, 0);
	if (agent->control->fixed.magic == AGENT_MAGIC &&
	    agent->control->fixed.fixed_bytes == sizeof(agent->control->fixed))
		return 0;
	unmap_ring(agent);
	return -EINVAL;
}

/* Of several processes that were given the same ring one gets it. */
static bool claim_ring(struct agent *agent)
{
	u32 none = AGENT_STATE_NONE;

	return __atomic_compare_exchange_n(&agent->control->fixed.state, &none,
					   AGENT_STATE_STARTING, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

/* gpuprobe holds the lock for as long as it lives. */
static bool is_alone(const struct agent *agent)
{
	long result;

	do {
		result = arch_syscall(SYS_flock, agent->ring_fd, LOCK_EX | LOCK_NB, 0, 0, 0, 0);
	} while (result == -EINTR);
	if (result)
		return false;
	/* Nobody shall take ours for that of a living one. */
	arch_syscall(SYS_flock, agent->ring_fd, LOCK_UN, 0, 0, 0, 0);
	return true;
}

static bool must_leave(const struct agent *agent)
{
	return __atomic_load_n(&agent->control->fixed.wanted, __ATOMIC_ACQUIRE) !=
		       AGENT_WANTED_RUN ||
	       is_alone(agent);
}

/* ---- what the process does with itself ---- */

/*
 * By exit(), before the driver and CUPTI go: a call of CUPTI that comes after its destructors may end the process by a
 * signal. A fork()ed child finds live zeroed.
 */
static void at_exit(struct agent *agent)
{
	u64 end_ns = system_now_ns() + (agent->launched ? LAUNCHED_EXIT_NS : EXIT_NS);

	/* A child of vfork() has all of this memory. */
	if (__atomic_load_n(&agent->done, __ATOMIC_ACQUIRE) || !*agent->live ||
	    system_pid() != agent->resident.data->pid)
		return;
	__atomic_store_n(&agent->exiting, 1, __ATOMIC_RELEASE);
	cupti_session_wake(agent->cupti);
	while (!__atomic_load_n(&agent->done, __ATOMIC_ACQUIRE) && system_now_ns() < end_ns)
		system_wait(&agent->done, 0, WATCH_PERIOD_NS);
}

static bool is_ring(const struct agent *agent, long fd)
{
	struct stat status;

	return !arch_syscall(SYS_fstat, fd, (long)&status, 0, 0, 0, 0) &&
	       status.st_dev == agent->ring_device && status.st_ino == agent->ring_inode;
}

/* In a child: it has neither the ring nor, from here on, its descriptor, and nobody there calls us again. */
static void forked(struct agent *agent)
{
	if (is_ring(agent, agent->ring_fd))
		system_close(agent->ring_fd);
	resident_forget(&agent->resident);
}

/* Behind CUPTI, so that exit() comes to us before it comes to that. */
static void follow_process(struct agent *agent)
{
	const struct resident_process process = {at_exit, forked, agent};
	struct stat status;

	if (arch_syscall(SYS_fstat, agent->ring_fd, (long)&status, 0, 0, 0, 0) ||
	    resident_open(&agent->resident))
		return;
	agent->ring_device = status.st_dev;
	agent->ring_inode = status.st_ino;
	resident_connect_process(&agent->resident, &process, cupti_session_library(agent->cupti));
}

/* ---- features ---- */

static void start_cupti(struct agent *agent)
{
	struct agent_feature *feature = &agent->control->features[AGENT_FEATURE_CUPTI];
	struct cupti_session_config config = {.control = agent->control,
					      .writer = &agent->writer,
					      .loader = &agent->loader,
					      .live = agent->live,
					      .now_ns = system_now_ns()};

	if (!feature->wanted)
		return;
	if (!agent->has_loader) {
		words_set(feature->hint, AGENT_HINT_BYTES, "no dlopen in the target");
	} else {
		agent->cupti = cupti_session_begin(&config);
		if (agent->cupti)
			return;
		words_set(feature->hint, AGENT_HINT_BYTES, "no memory for it in the target");
	}
	__atomic_store_n(&feature->state, AGENT_FEATURE_FAILED, __ATOMIC_RELEASE);
}

/* CUPTI may take long; the window opens when all have answered. */
static void start_features(struct agent *agent)
{
	start_cupti(agent);
	if (agent->control->features[AGENT_FEATURE_NVTX].wanted)
		agent->nvtx = nvtx_session_begin(agent->control, &agent->ring, agent->live);
	follow_process(agent);
}

static void watch(struct agent *agent)
{
	u64 watched_ns = 0;
	u32 never = 0;

	for (;;) {
		u64 now_ns = system_now_ns();

		if (__atomic_load_n(&agent->exiting, __ATOMIC_ACQUIRE))
			return;
		/* Records can come faster than that. */
		if (now_ns - watched_ns >= WATCH_PERIOD_NS) {
			if (must_leave(agent))
				return;
			nvtx_session_tick(agent->nvtx);
			watched_ns = now_ns;
		}
		if (agent->cupti)
			cupti_session_tick(agent->cupti, WATCH_PERIOD_NS);
		else
			system_wait(&never, 0, WATCH_PERIOD_NS);
	}
}

/* ---- the thread ---- */

/* What of the features stays, in one sentence. */
static void say_left(struct agent *agent, const char *cupti_hint, enum cupti_left cupti_left,
		     const char *nvtx_hint, enum nvtx_left nvtx_left)
{
	struct words words = words_begin(agent->control->hint, AGENT_HINT_BYTES);
	bool pages_said = cupti_left == CUPTI_LEFT_PAGES || nvtx_left != NVTX_LEFT_PAGES;

	words_add(&words, cupti_hint);
	if (!pages_said) {
		words_add(&words, *cupti_hint ? "; " : "");
		words_add(&words, "8 KiB (memfd:" AGENT_MEMFD_RESIDENT
				  ") stay for calls of NVTX to land on");
	}
	words_add(&words, *nvtx_hint && words.length_bytes ? "; " : "");
	words_add(&words, nvtx_hint);
}

/* A thread in exit() may wait for it. */
static void say_done(struct agent *agent)
{
	__atomic_store_n(&agent->done, 1, __ATOMIC_RELEASE);
	system_wake(&agent->done);
}

/* false: a thread of the target is still in our code. */
static bool leave(struct agent *agent)
{
	char cupti_hint[AGENT_HINT_BYTES] = "", nvtx_hint[AGENT_HINT_BYTES] = "";
	enum nvtx_left nvtx_left;
	enum cupti_left left;

	set_state(agent, AGENT_STATE_LEAVING);
	nvtx_left = nvtx_session_end(agent->nvtx, nvtx_hint);
	left = cupti_session_end(agent->cupti, cupti_hint);
	say_left(agent, cupti_hint, left, nvtx_hint, nvtx_left);
	set_state(agent, AGENT_STATE_DRAINED);
	say_done(agent);
	if ((agent->resident.data &&
	     !resident_disconnect_process(&agent->resident, THREADS_TIMEOUT_MS)) ||
	    left == CUPTI_LEFT_THREAD || nvtx_left == NVTX_LEFT_THREAD) {
		set_state(agent, AGENT_STATE_RESIDENT);
		return false;
	}
	if (!agent->launched)
		system_unmap(agent->live, PAGE_BYTES);
	set_state(agent, left == CUPTI_LEFT_PAGES || nvtx_left == NVTX_LEFT_PAGES
				 ? AGENT_STATE_RESIDENT
				 : AGENT_STATE_GONE);
	return true;
}

static void fail(struct agent *agent, const char *hint)
{
	words_set(agent->control->hint, AGENT_HINT_BYTES, hint);
	set_state(agent, AGENT_STATE_FAILED);
}

/* On any thread. false: the state says why. */
static bool begin(struct agent *agent)
{
	struct worker_names names;

	agent->live = system_map_wiped_on_fork(PAGE_BYTES);
	if (!agent->live) {
		fail(agent, "no memory that forks leave alone (Linux 4.14 and later have it)");
		return false;
	}
	*agent->live = 1;
	loader_own_code(&agent->control->code_begin, &agent->control->code_end);
	ring_open(&agent->ring, agent->control, agent->mapped_bytes);
	ring_writer_open(&agent->writer, &agent->ring, system_tid());
	worker_names_begin(&names);
	start_features(agent);
	worker_names_end(&names);
	return true;
}

/* Whose records these are can be asked only while the process is there. */
static void wait_until_met(const struct agent *agent)
{
	u64 end_ns = system_now_ns() + MET_TIMEOUT_NS;
	u32 never = 0;

	while (!__atomic_load_n(&agent->control->met, __ATOMIC_ACQUIRE) && !must_leave(agent) &&
	       system_now_ns() < end_ns)
		system_wait(&never, 0, MET_PERIOD_NS);
}

/* On the agent's own thread, which begin() need not have run on. false: the library must stay. */
static bool follow(struct agent *agent)
{
	arch_syscall(SYS_prctl, PR_SET_NAME, (long)AGENT_THREAD_NAME, 0, 0, 0, 0);
	ring_writer_open(&agent->writer, &agent->ring, system_tid());
	if (agent->cupti)
		cupti_session_take_over(agent->cupti);
	agent->control->fixed.agent_tid = system_tid();
	set_state(agent, AGENT_STATE_READY);
	watch(agent);
	if (!agent->exiting)
		return leave(agent);
	/* The process ends: what there is goes out, the rest goes with it. */
	nvtx_session_end(agent->nvtx, NULL);
	cupti_session_hand_over(agent->cupti);
	if (agent->launched)
		wait_until_met(agent);
	set_state(agent, AGENT_STATE_DRAINED);
	say_done(agent);
	return false;
}

/* Where the library has to stay, so have the ring and struct agent: a thread of the target may be about to use them. */
int gpuprobe_agent_run(const struct agent_start *start)
{
	struct agent *agent = system_map(sizeof(*agent));
	bool may_unload = true;

	if (!agent) {
		system_close(start->ring_fd);
		return true;
	}
	agent->ring_fd = start->ring_fd;
	if (!map_ring(agent, 0, memfd_bytes(agent))) {
		agent->control->fixed.agent_tid = system_tid();
		agent->has_loader = loader_find(&agent->loader, start);
		if (claim_ring(agent) && begin(agent))
			may_unload = follow(agent);
		if (may_unload)
			unmap_ring(agent);
	}
	system_close(agent->ring_fd);
	if (may_unload)
		system_unmap(agent, sizeof(*agent));
	return may_unload;
}

/* ---- loaded by the driver: CUDA_INJECTION64_PATH ---- */

/* Not there in a process without threads; one that starts CUDA has them. */
extern int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
			  void *(*function)(void *), void *restrict argument) __attribute__((weak));
extern int pthread_detach(pthread_t thread) __attribute__((weak));

static void *injected(void *data)
{
	struct agent *agent = data;

	follow(agent);
	return NULL;
}

/* A description of our own of the ring that the environment names, or -errno. */
static long open_ring(void)
{
	const char *value = getenv(AGENT_RING_VARIABLE);
	char path[64];
	struct words words = words_begin(path, sizeof(path));
	long fd;

	if (!value || !*value)
		return -ENOENT;
	words_add(&words, *value == '/' ? "" : "/proc/self/fd/");
	words_add(&words, value);
	do {
		fd = arch_syscall(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_CLOEXEC, 0, 0, 0);
	} while (fd == -EINTR);
	return fd;
}

/* The thread inherits the mask: no signal of the application's is delivered to it. */
static int start_thread(struct agent *agent)
{
	u64 all = ~0ULL, before;
	pthread_t thread;
	int result;

	arch_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&before, SIGSET_BYTES, 0,
		     0);
	result = pthread_create(&thread, NULL, injected, agent);
	if (!result)
		pthread_detach(thread);
	arch_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, SIGSET_BYTES, 0, 0);
	return result;
}

/* The first ring of the memfd that nobody has. */
static bool take_ring(struct agent *agent)
{
	long all_bytes = memfd_bytes(agent), bytes;

	if (map_ring(agent, 0, AGENT_CONTROL_BYTES))
		return false;
	bytes = agent->control->fixed.total_bytes;
	unmap_ring(agent);
	for (long offset = 0; bytes > 0 && offset + bytes <= all_bytes; offset += bytes) {
		if (map_ring(agent, offset, bytes))
			return false;
		if (claim_ring(agent))
			return true;
		unmap_ring(agent);
	}
	if (!map_ring(agent, 0, AGENT_CONTROL_BYTES)) {
		__atomic_fetch_add(&agent->control->turned_away, 1, __ATOMIC_RELAXED);
		unmap_ring(agent);
	}
	return false;
}

/*
 * Called once by cuInit, in a thread of the application. 1: all is well. CUPTI is started here and not on a thread of
 * our own: the driver may hold a lock of its own, and no work shall be missed. The library is never unloaded, and
 * struct agent stays, because exit() comes back to it.
 */
int InitializeInjection(void)
{
	struct agent_start start = {.start_bytes = sizeof(start)};
	long fd = pthread_create && pthread_detach ? open_ring() : -ENOSYS;
	struct agent *agent = fd >= 0 ? system_map(sizeof(*agent)) : NULL;

	if (!agent) {
		if (fd >= 0)
			system_close(fd);
		return 1;
	}
	agent->ring_fd = fd;
	agent->launched = true;
	if (!take_ring(agent)) {
		system_close(fd);
		system_unmap(agent, sizeof(*agent));
		return 1;
	}
	agent->has_loader = loader_find(&agent->loader, &start);
	agent->control->starter.from_ns = system_now_ns();
	if (!begin(agent))
		return 1;
	agent->control->starter.until_ns = system_now_ns();
	agent->control->starter.tid = system_tid();
	if (start_thread(agent)) {
		leave(agent);
		fail(agent, "the target can't start another thread");
	}
	return 1;
}
