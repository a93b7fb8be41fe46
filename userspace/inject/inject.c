/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "inject/inject_parts.h"

#include <errno.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "inject/inject_stack.h"
#include "process/maps.h"
#include "process/memfd.h"
#include "process/memfd_open.h"
#include "process/proc_file.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/thread.h"

#define SIGNAL_RETURN_BYTES  9 /* of its two instructions */
#define LEAVE_NS	     (200 * NS_PER_MILLISECOND)
#define LEAVE_ALL_NS	     (5 * NS_PER_SECOND)	/* so often until then */
#define ASK_NS		     (50 * NS_PER_MILLISECOND)	/* whether it is still wanted */
#define GIVEN_UP_NS	     (500 * NS_PER_MILLISECOND) /* for an agent that is about to be there */
#define POLL_NS		     NS_PER_MILLISECOND
#define GAP_BYTES	     (64U << 10) /* left free on both sides of the region */
#define LIBC_DLOPEN_INTERNAL 0x80000000U /* what __libc_dlopen_mode wants besides */
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
static u64 data_address(const struct injector *injector)
{
	return injector->region + INJECT_DATA_OFFSET;
}

static int data_read(struct injector *injector)
{
	return inject_memory_read(injector->memory_fd, data_address(injector), &injector->data,
				  sizeof(injector->data));
}

static int word_write(struct injector *injector, size_t offset, u32 value)
{
	return inject_memory_write(injector->memory_fd, data_address(injector) + offset, &value,
				   sizeof(value));
}

/* ---- a region of memory in the target --------------------------------------------------------------------- */

/* The highest free place that is not below the stack. It is chosen here, not by the kernel, so that the thread
 * knows what to unmap from its first step on. */
static int region_choose(struct injector *injector, u32 skip)
{
	_cleanup_free_ char *maps = NULL;
	char *at;
	struct maps_line line;
	u64 last_end = 0, found = 0, before = 0;
	int result = proc_file_read(injector->target->proc_fd, "maps", &maps, NULL);

	if (result)
		return result;
	at = maps;
	while (maps_next(&at, &line)) {
		if (last_end && line.start > last_end && strncmp(line.path, "[", 1) != 0 &&
		    line.start - last_end >= INJECT_REGION_BYTES + 2 * GAP_BYTES) {
			before = found;
			found = line.start - GAP_BYTES - INJECT_REGION_BYTES;
		}
		last_end = line.end;
	}
	injector->region = skip & 1 && before ? before : found;
	return injector->region ? 0 : -ENOMEM;
}

static int call(struct injector *injector, u64 number, const u64 arguments[6], s64 *ret_result,
		struct err *err)
{
	return inject_session_call(&injector->session, injector->plan->syscall_return_address,
				   injector->way_back.way_out, number, arguments, ret_result, err);
}

static int region_map(struct injector *injector, struct err *err)
{
	s64 mapped = -EEXIST;
	int result = 0;

	for (u32 attempt = 0; !result && mapped == -EEXIST && attempt < 4; attempt++) {
		result = region_choose(injector, attempt);
		if (result)
			return err_set(err, result, "no free memory in %u", injector->plan->pid);
		registers_way_back(&injector->session.saved, injector->session.restart_number,
				   injector->plan->signal_return_address,
				   injector->plan->syscall_return_address, injector->region,
				   INJECT_REGION_BYTES, &injector->way_back);
		if (injector->way_back.address < injector->stack_start ||
		    inject_memory_write(injector->memory_fd, injector->way_back.address,
					injector->way_back.bytes, injector->way_back.size_bytes))
			return err_set(err, -EAGAIN, "thread %u has no room on its stack",
				       injector->session.tid);
		result = call(
			injector, SYS_mmap,
			(u64[6]){injector->region, INJECT_REGION_BYTES, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, (u64)-1, 0},
			&mapped, err);
	}
	if (result)
		return result;
	if (mapped != (s64)injector->region)
		return err_errno(err, mapped < 0 && mapped > -4096 ? (int)mapped : -EEXIST,
				 "can't map memory in %u", injector->plan->pid);
	return 0;
}

static void data_fill(struct injector *injector)
{
	const struct inject_plan *plan = injector->plan;
	bool told = !plan->dlopen_internal;

	injector->data = (struct inject_data){
		.pthread_create = plan->pthread_create_address,
		.pthread_detach = plan->pthread_detach_address,
		.dlopen = plan->dlopen_address,
		.dlsym = plan->dlsym_address,
		.dlclose = plan->dlclose_address,
		.dlerror = plan->dlerror_address,
		.munmap = plan->munmap_address,
		.syscall_return = plan->syscall_return_address,
		.way_back = injector->way_back.way_back,
		.region = injector->region,
		.ring_fd = -1,
		.library_fd = -1,
		.memfd_flags = memfd_flags(),
		.dlopen_flags = RTLD_NOW | (told ? 0 : LIBC_DLOPEN_INTERNAL),
		.start = {.start_bytes = sizeof(struct agent_start),
			  .ring_fd = -1,
			  .dlopen_address = told ? plan->dlopen_address : 0,
			  .dlsym_address = told ? plan->dlsym_address : 0,
			  .dlclose_address = told ? plan->dlclose_address : 0},
		.ring_name = AGENT_MEMFD_RING,
		.library_name = AGENT_MEMFD_LIBRARY,
		.thread_name = AGENT_THREAD_NAME,
		.entry_name = AGENT_ENTRY,
	};
}

static int region_fill(struct injector *injector, struct err *err)
{
	s64 protected;
	int result;

	data_fill(injector);
	result = inject_memory_write(injector->memory_fd, injector->region, injector->code.code,
				     injector->code.size_bytes);
	if (!result)
		result = inject_memory_write(injector->memory_fd, data_address(injector),
					     &injector->data, sizeof(injector->data));
	if (result)
		return err_set(err, result, "can't write to the memory of %u", injector->plan->pid);
	result = call(injector, SYS_mprotect,
		      (u64[6]){injector->region, INJECT_PAGE_BYTES, PROT_READ | PROT_EXEC},
		      &protected, err);
	if (!result && protected)
		result = err_errno(err, (int)protected,
				   "can't make memory executable in %u (a security module may "
				   "forbid it)",
				   injector->plan->pid);
	return result;
}

/* ---- the two files ------------------------------------------------------------------------------------------- */

static int file_open(const struct injector *injector, s32 fd, const char *name, int *ret_fd,
		     struct err *err)
{
	char path[32];
	int result;

	if (fd < 0)
		return err_errno(err, fd, "can't make a memfd in %u", injector->plan->pid);
	snprintf(path, sizeof(path), "fd/%d", fd);
	result = memfd_open(injector->target->proc_fd, path, name, ret_fd);
	if (result == -EBUSY || result == -ENOENT)
		return err_set(err, -EBUSY, "%u has closed or replaced a file that was made in it",
			       injector->plan->pid);
	return result ? err_errno(err, result, "can't open the memfd of %u", injector->plan->pid)
		      : 0;
}

static int file_note(struct injector *injector, int fd, ino_t *ret_inode, struct err *err)
{
	struct stat status;

	if (fstat(fd, &status))
		return err_errno(err, -errno, "can't look at the memfd of %u", injector->plan->pid);
	injector->own.device = status.st_dev;
	injector->own.resident_memfd = AGENT_MEMFD_RESIDENT;
	*ret_inode = status.st_ino;
	return 0;
}

static int library_copy(struct injector *injector, struct err *err)
{
	_cleanup_close_ int fd = -1;
	int result = file_open(injector, injector->data.library_fd, AGENT_MEMFD_LIBRARY, &fd, err);

	if (!result)
		result = file_note(injector, fd, &injector->own.library_inode, err);
	if (result)
		return result;
	result = file_write(fd, injector->library, injector->library_bytes);
	if (result)
		return err_errno(err, result, "can't copy the agent's library");
	result = memfd_seal(fd);
	return result ? err_errno(err, result, "can't seal the agent's library") : 0;
}

static int ring_make(struct injector *injector, struct err *err)
{
	_cleanup_close_ int fd = -1;
	void *shared;
	int result = file_open(injector, injector->data.ring_fd, AGENT_MEMFD_RING, &fd, err);

	if (!result)
		result = file_note(injector, fd, &injector->own.ring_inode, err);
	if (result)
		return result;
	if (ftruncate(fd, (off_t)injector->ring_bytes) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) ||
	    flock(fd, LOCK_EX | LOCK_NB))
		return err_errno(err, -errno, "can't make the memory that is shared with %u",
				 injector->plan->pid);
	shared = mmap(NULL, injector->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shared == MAP_FAILED)
		return err_errno(err, -errno, "can't map the memory that is shared with %u",
				 injector->plan->pid);
	injector->prepare(injector->prepare_data, shared);
	munmap(shared, injector->ring_bytes);
	injector->ring_fd = take_fd(&fd);
	return 0;
}

/* The loader tells libraries apart by the path they were opened by, and one of an earlier agent may still be
 * there under the same number: each gets one slash more. */
static void path_fill(struct injector *injector)
{
	int slashes = 1 + (int)(injector->plan->agent_libraries % 128);

	snprintf(injector->data.library_path, sizeof(injector->data.library_path),
		 "/proc/self/fd%.*s%d", slashes,
		 "////////////////////////////////////////////////////////////////"
		 "////////////////////////////////////////////////////////////////",
		 injector->data.library_fd);
}

static int files_make(struct injector *injector, struct err *err)
{
	int result = data_read(injector);

	if (result)
		return err_set(err, result, "can't read the memory of %u", injector->plan->pid);
	result = library_copy(injector, err);
	if (!result)
		result = ring_make(injector, err);
	if (result)
		return result;
	injector->data.start.ring_fd = injector->data.ring_fd;
	path_fill(injector);
	injector->data.go = 1;
	result = inject_memory_write(injector->memory_fd, data_address(injector), &injector->data,
				     sizeof(injector->data));
	return result ? err_set(err, result, "can't write to the memory of %u", injector->plan->pid)
		      : 0;
}

/* ---- the borrowed thread ---------------------------------------------------------------------------------------- */

/* Lets it run to the marker, or, without one, to its end. */
static int run(struct injector *injector, u64 address, u64 marker, struct err *err)
{
	u64 end = injector->plan->signal_return_address + SIGNAL_RETURN_BYTES, at;

	return inject_session_run(&injector->session, address,
				  injector->region + INJECT_REGION_BYTES, (u64[2]){marker, end},
				  &at, err);
}

/* In pthread_create, for a lock (calloc's, or that of the thread stacks) which another thread does not let go of, with none itself. */
static bool waits_for_lock(struct injector *injector)
{
	struct elf_frame frame;

	return inject_session_waits_for_lock(&injector->session, &frame) &&
	       !inject_stack_holds_lock(injector->plan->stacks, injector->memory_fd, &frame,
					injector->region, INJECT_PAGE_BYTES);
}

/* It is unmapped, or is being: another's, maybe. */
static bool region_goes(const struct injector *injector)
{
	const struct inject_session *session = &injector->session;

	return session->unmapped == injector->region ||
	       (session->entered == SYS_munmap && session->entered_argument == injector->region);
}

/* Also a thread that it only makes from here on leaves at once. */
static void cancel(struct injector *injector)
{
	if (!region_goes(injector))
		word_write(injector, offsetof(struct inject_data, cancelled), 1);
}

/*
 * Nothing of ours stays: the thread itself closes the files and unmaps the region. That is also the way out of a
 * pthread_create that waits for a lock, unless it has made the thread already. What it may have allocated so far, a stack, is lost.
 * From anywhere else in there it is let go at the end, to come back by itself; but for one whose system call filter
 * would kill it for what it still has to do. It is sent that way once: the files that it closes may be another's thereafter.
 */
static void region_leave(struct injector *injector)
{
	struct inject_session *session = &injector->session;
	u64 until_ns = clock_monotonic_ns() + LEAVE_ALL_NS, address;
	bool last = false, faulted = false;

	cancel(injector);
	while (!last) {
		int result = inject_session_interrupt(session, NULL);

		last = clock_monotonic_ns() >= until_ns;
		if (result == -ETIMEDOUT)
			continue;
		if (result)
			return;
		address = 0;
		/* If not: it made the thread, or is slow, and may hold one of the locks. */
		if (!session->leaves && !session->made_tid && !region_goes(injector) &&
		    (faulted || (last && session->killed_at_start) || waits_for_lock(injector))) {
			session->leaves = true;
			address = injector->region + injector->code.close_offset;
		}
		session->deadline_ns = clock_monotonic_ns() + LEAVE_NS;
		result = run(injector, address, 0, NULL);
		if (result != -ETIMEDOUT && result != -EFAULT)
			return;
		/* What faults will do so again. */
		if (result == -EFAULT && (faulted || session->made_tid))
			return;
		faulted |= result == -EFAULT;
		last &= result != -EFAULT;
	}
	session->midway = true;
}

static int create_thread(struct injector *injector, struct err *err)
{
	u64 region = injector->region;
	int result = run(injector, region + injector->code.begin_offset,
			 region + injector->code.files_marker_offset, err);

	if (!result)
		result = files_make(injector, err);
	if (!result)
		result = run(injector, 0, 0, err);
	if (result)
		region_leave(injector);
	else if (!injector->session.made_tid)
		result = err_set(err, -ENOMEM,
				 "%u can't start another thread: its limits (RLIMIT_NPROC, "
				 "RLIMIT_AS, RLIMIT_MEMLOCK) or those of its cgroup are reached",
				 injector->plan->pid);
	return result;
}

/* Where the time was over inside of mmap it may have done it. It does so yet, and comes back by itself, where the time is over again. */
static void region_unmap(struct injector *injector, bool mapped)
{
	struct inject_session *session = &injector->session;
	int result = inject_session_interrupt(session, NULL);
	s64 unmapped;

	/* The next thing that it does there is to unmap it; what mmap did not map is another's, maybe. */
	session->leaves = true;
	session->midway = result == -ETIMEDOUT && mapped;
	if (result || (!mapped && inject_session_result(session) != injector->region))
		return;
	result = inject_session_call(
		session, injector->plan->syscall_return_address, injector->way_back.way_back,
		SYS_munmap, (u64[6]){injector->region, INJECT_REGION_BYTES}, &unmapped, NULL);
	session->midway = result == -ETIMEDOUT;
}

static int borrowed_run(struct injector *injector, struct err *err)
{
	int result = region_map(injector, err);
	bool mapped = !result;

	if (mapped)
		result = region_fill(injector, err);
	if (result && (mapped || result == -ETIMEDOUT))
		region_unmap(injector, mapped);
	return result ? result : create_thread(injector, err);
}
/* ---- the agent's thread ------------------------------------------------------------------------------------------- */

/* The thread by the number that it has in the target's pid namespace. */
static u32 tid_of_host(const struct target *target, u32 tid)
{
	int fd = openat(target->proc_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_closedir_ DIR *tasks = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!target->other_pid_namespace)
		return tid;
	while (tasks && (entry = readdir(tasks))) {
		_cleanup_free_ char *status = NULL;
		char path[64];

		snprintf(path, sizeof(path), "%.20s/status", entry->d_name);
		if (!proc_file_read(dirfd(tasks), path, &status, NULL) &&
		    proc_status_id_in_namespace(status) == tid)
			return (u32)strtoul(entry->d_name, NULL, 10);
	}
	return 0;
}

static int refuse_load(struct injector *injector, struct err *err)
{
	char *message = injector->data.message;

	message[sizeof(injector->data.message) - 1] = 0;
	word_write(injector, offsetof(struct inject_data, seen), 1);
	return err_set(err, -ENOEXEC, "%u could not load the agent: %s", injector->plan->pid,
		       *message ? message : "dlopen failed");
}

/* By the thread that was called. */
static void ask(struct inject_plan *plan, const char *what, u64 until_ns)
{
	const struct inject_waiting *waiting = plan->waiting;

	if (waiting && !inject_given_up_ns(plan) &&
	    !waiting->goes_on(waiting->data, what, until_ns))
		__atomic_store_n(&plan->given_up_ns, clock_monotonic_ns(), __ATOMIC_RELEASE);
}

/* Is the time over for the agent's thread to load it? */
static bool loads_too_long(struct injector *injector)
{
	u64 since_ns, now_ns = clock_monotonic_ns();

	ask(injector->plan, "its loader, which another thread may hold up", injector->deadline_ns);
	since_ns = inject_given_up_ns(injector->plan);
	return now_ns >= injector->deadline_ns || (since_ns && now_ns >= since_ns + GIVEN_UP_NS);
}

static int loaded_wait(struct injector *injector, struct err *err)
{
	for (;;) {
		int result = data_read(injector);

		if (result == -ESRCH)
			return err_set(err, result, "%u ended", injector->plan->pid);
		if (result)
			return 0; /* the agent came and has left */
		if (injector->data.state == INJECT_STATE_FAILED)
			return refuse_load(injector, err);
		if (injector->data.state >= INJECT_STATE_LOADED)
			return 0;
		if (loads_too_long(injector))
			break;
		nanosleep(&(struct timespec){0, POLL_NS}, NULL);
	}
	word_write(injector, offsetof(struct inject_data, cancelled), 1);
	return err_set(err, -ETIMEDOUT, "the agent's thread in %u %s; it leaves when that is over",
		       injector->plan->pid,
		       injector->data.state == INJECT_STATE_NONE ? "does not run"
								 : "hangs in dlopen");
}

struct borrowing {
	struct injector *injector;
	struct err *err;
	int result;
};

static void *borrow(void *data)
{
	struct borrowing *borrowing = data;

	borrowing->result = injector_borrow(borrowing->injector, borrowing->err);
	return NULL;
}

/* On a thread of its own: with it ends what it traces. One of the target's that did not stop in time would else stand from its stop on until
 * we end. */
static int borrow_once(struct injector *injector, struct err *err)
{
	struct borrowing borrowing = {.injector = injector, .err = err};
	struct timespec again;
	pthread_t thread;
	int result = thread_start(&thread, borrow, &borrowing);

	if (result)
		return err_errno(err, result, "can't start a thread");
	do {
		u64 now_ns = clock_monotonic_ns(), again_ns = now_ns + ASK_NS;

		ask(injector->plan, INJECT_WAITS_FOR_THREAD, injector->deadline_ns);
		again = (struct timespec){again_ns / NS_PER_SECOND, again_ns % NS_PER_SECOND};
	} while (pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &again) == ETIMEDOUT);
	return borrowing.result;
}

static int borrow_apart(struct injector *injector, struct err *err)
{
	int result;

	injector_begin(injector);
	do {
		injector->traced_on = false;
		result = borrow_once(injector, err);
	} while (injector->traced_on);
	log_debug("threads of %u were stopped %zu times to borrow one", injector->plan->pid,
		  injector->stop_count);
	return result;
}

int inject_run(const struct target *target, struct inject_plan *plan, const void *library,
	       size_t library_bytes, size_t ring_bytes, void (*prepare)(void *data, void *shared),
	       void *prepare_data, u32 deadline_ms, struct injection *ret_injection,
	       struct err *err)
{
	struct injector injector = {.run = borrowed_run,
				    .target = target,
				    .plan = plan,
				    .library = library,
				    .library_bytes = library_bytes,
				    .ring_bytes = ring_bytes,
				    .prepare = prepare,
				    .prepare_data = prepare_data,
				    .deadline_ns =
					    clock_monotonic_ns() + deadline_ms * NS_PER_MILLISECOND,
				    .code = inject_code_get(),
				    .ring_fd = -1};
	int result;

	injector.memory_fd = openat(target->proc_fd, "mem", O_RDWR | O_CLOEXEC);
	if (injector.memory_fd < 0)
		return err_errno(err, -errno, "can't open the memory of %u", target->pid);
	result = borrow_apart(&injector, err);
	if (!result)
		result = loaded_wait(&injector, err);
	if (!result) {
		injector.own.tid = tid_of_host(target, injector.session.made_tid);
		*ret_injection = (struct injection){
			.pid = target->pid,
			.ring_fd = take_fd(&injector.ring_fd),
			.code_address = injector.region,
			.code_bytes = INJECT_REGION_BYTES,
			.own = injector.own,
		};
	}
	if (result == -ETIMEDOUT && inject_given_up_ns(plan))
		result = err_set(err, -ECANCELED, "it was given up: %s", err ? err->message : "");
	inject_refusals_free(&injector.refusals);
	map_free(&injector.running);
	cleanup_close(&injector.ring_fd);
	close(injector.memory_fd);
	return result;
}
