/* SPDX-License-Identifier: MIT */
#include "resident.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "../base/arch_x86_64.h"
#include "../base/system.h"
#include "../base/target_memory.h"
#include "../shared.h"

#define SPARE_BYTES (64UL << 10)

_Static_assert(offsetof(struct resident_data, version) == RESIDENT_OFFSET_VERSION, "version");
_Static_assert(offsetof(struct resident_data, users) == RESIDENT_OFFSET_USERS, "users");
_Static_assert(offsetof(struct resident_data, slots.session) == RESIDENT_OFFSET_AGENT, "agent");
_Static_assert(offsetof(struct resident_data, slots.requested) == RESIDENT_OFFSET_REQUESTED,
	       "requested");
_Static_assert(offsetof(struct resident_data, slots.completed) == RESIDENT_OFFSET_COMPLETED,
	       "completed");
_Static_assert(offsetof(struct resident_data, slots.callback) == RESIDENT_OFFSET_CALLBACK,
	       "callback");
_Static_assert(offsetof(struct resident_data, clock_gettime) == RESIDENT_OFFSET_CLOCK, "clock");
_Static_assert(offsetof(struct resident_data, spare) == RESIDENT_OFFSET_SPARE, "spare");
_Static_assert(offsetof(struct resident_data, spare_bytes) == RESIDENT_OFFSET_SPARE_BYTES,
	       "spare_bytes");

_Static_assert(offsetof(struct resident_data, nvtx_users) == RESIDENT_OFFSET_NVTX_USERS,
	       "nvtx_users");
_Static_assert(offsetof(struct resident_data, nvtx_session) == RESIDENT_OFFSET_NVTX_SESSION,
	       "nvtx_session");
_Static_assert(offsetof(struct resident_data, nvtx_slots) == RESIDENT_OFFSET_NVTX_SLOTS,
	       "nvtx_slots");
_Static_assert(offsetof(struct resident_data, nvtx_results) == RESIDENT_OFFSET_NVTX_RESULTS,
	       "nvtx_results");

_Static_assert(offsetof(struct resident_data, process_users) == RESIDENT_OFFSET_PROCESS_USERS,
	       "process_users");
_Static_assert(offsetof(struct resident_data, process.exit) == RESIDENT_OFFSET_EXIT, "exit");
_Static_assert(offsetof(struct resident_data, process.forked) == RESIDENT_OFFSET_FORKED, "forked");
_Static_assert(offsetof(struct resident_data, process.agent) == RESIDENT_OFFSET_PROCESS_AGENT,
	       "process_agent");
_Static_assert(offsetof(struct resident_data, clock_id) == RESIDENT_OFFSET_CLOCK_ID, "clock_id");

extern const u8 resident_pages[RESIDENT_BYTES] __attribute__((visibility("hidden")));

/* ---- finding ---- */

/* Lines of /proc/self/maps, one after the other, without memory of libc's. */
struct lines {
	int fd;
	u32 begin, end;
	bool cut; /* the line is the rest of one that was too long */
	char buffer[2048];
};

/* The next line, NUL-terminated, what is longer than the buffer in pieces; NULL: no more. */
static char *lines_next(struct lines *lines)
{
	char *line, *stop;
	long got;

	for (;;) {
		line = lines->buffer + lines->begin;
		stop = memchr(line, '\n', lines->end - lines->begin);
		if (stop) {
			*stop = '\0';
			lines->begin = stop + 1 - lines->buffer;
			return line;
		}
		memmove(lines->buffer, line, lines->end - lines->begin);
		lines->end -= lines->begin;
		lines->begin = 0;
		if (lines->end == sizeof(lines->buffer) - 1)
			lines->end = 0; /* no line of ours is so long */
		got = system_read(lines->fd, lines->buffer + lines->end,
				  sizeof(lines->buffer) - 1 - lines->end);
		if (got <= 0)
			return NULL;
		lines->end += got;
	}
}

static bool has_name(const char *line, const char *name)
{
	size_t bytes = strlen(name);

	for (; *line; line++)
		if (!memcmp(line, name, bytes < strlen(line) ? bytes : strlen(line) + 1))
			return true;
	return false;
}

static u64 hex(const char *digits)
{
	u64 value = 0;

	for (;; digits++) {
		if (*digits >= '0' && *digits <= '9')
			value = value << 4 | (*digits - '0');
		else if (*digits >= 'a' && *digits <= 'f')
			value = value << 4 | (*digits - 'a' + 10);
		else
			return value;
	}
}

static bool find(struct resident *resident)
{
	struct lines lines = {.fd = system_open("/proc/self/maps")};
	bool found = false;
	char *line;

	if (lines.fd < 0)
		return false;
	while (!found && (line = lines_next(&lines))) {
		if (!has_name(line, " r-xp ") || !has_name(line, "/memfd:" AGENT_MEMFD_RESIDENT))
			continue;
		/* The data page behind it says whether we know it. */
		resident->code = (u8 *)hex(line);
		resident->data = (struct resident_data *)(resident->code + RESIDENT_CODE_BYTES);
		found = resident->data->magic == RESIDENT_MAGIC &&
			resident->data->version == RESIDENT_VERSION;
	}
	system_close(lines.fd);
	return found;
}

/* ---- making ---- */

static int make(struct resident *resident)
{
	long fd = system_memfd(AGENT_MEMFD_RESIDENT, 0);
	long memory, code, written;

	if (fd < 0)
		return fd;
	written = arch_syscall(SYS_pwrite64, fd, (long)resident_pages, RESIDENT_BYTES, 0, 0, 0);
	if (written != RESIDENT_BYTES) {
		system_close(fd);
		return written < 0 ? written : -ENOSPC;
	}
	memory = arch_syscall(SYS_mmap, 0, RESIDENT_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd,
			      0);
	if (system_failed(memory)) {
		system_close(fd);
		return memory;
	}
	code = arch_syscall(SYS_mmap, memory, RESIDENT_CODE_BYTES, PROT_READ | PROT_EXEC,
			    MAP_PRIVATE | MAP_FIXED, fd, 0);
	system_close(fd);
	if (system_failed(code)) {
		system_unmap((void *)memory, RESIDENT_BYTES);
		return code;
	}
	resident->code = (u8 *)memory;
	resident->data = (struct resident_data *)(memory + RESIDENT_CODE_BYTES);
	return 0;
}

void resident_forget(const struct resident *resident)
{
	struct resident_data *data = resident->data;

	data->slots = (struct resident_slots){0};
	data->process = (struct resident_process){0};
	data->nvtx_session = NULL;
	for (u32 i = 0; i < RESIDENT_NVTX_ENTRIES; i++)
		data->nvtx_slots[i] = NULL;
	data->users = data->nvtx_users = 0;
}

int resident_open(struct resident *resident)
{
	int result = find(resident) ? 0 : make(resident);

	if (result)
		return result;
	/* A child of a target that was recorded has the count of its parent's threads, and its parent's agent. */
	if (resident->data->pid != system_pid()) {
		resident_forget(resident);
		resident->data->process_users = 0;
	}
	resident->data->pid = system_pid();
	resident->data->clock_gettime = (void *)clock_gettime;
	return 0;
}

void resident_keep_spare(const struct resident *resident)
{
	struct resident_data *data = resident->data;

	if (data->spare)
		return;
	data->spare = target_memory_allocate(SPARE_BYTES);
	data->spare_bytes = data->spare ? SPARE_BYTES : 0;
}

/* ---- use ---- */

bool resident_connect(const struct resident *resident, const struct resident_slots *slots)
{
	struct resident_data *data = resident->data;
	struct cupti_session *session = __atomic_load_n(&data->slots.session, __ATOMIC_SEQ_CST);

	/* Without a callback it is one that has left, but for a thread that never came out of it. */
	if (session && __atomic_load_n(&data->slots.callback, __ATOMIC_SEQ_CST))
		return false;
	if (!__atomic_compare_exchange_n(&data->slots.session, &session, slots->session, false,
					 __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		return false;
	__atomic_store_n(&data->slots.requested, slots->requested, __ATOMIC_SEQ_CST);
	__atomic_store_n(&data->slots.completed, slots->completed, __ATOMIC_SEQ_CST);
	__atomic_store_n(&data->slots.callback, slots->callback, __ATOMIC_SEQ_CST);
	return true;
}

/* Who is counted in from now on finds no slot; who was before may still be inside. */
static bool wait_for_users(const u64 *users, u32 timeout_ms)
{
	u64 end_ns = system_now_ns() + timeout_ms * NS_PER_MILLISECOND;
	u32 never = 0;

	while (__atomic_load_n(users, __ATOMIC_SEQ_CST)) {
		if (system_now_ns() > end_ns)
			return false;
		system_wait(&never, 0, NS_PER_MILLISECOND);
	}
	return true;
}

bool resident_disconnect(const struct resident *resident, u32 timeout_ms)
{
	struct resident_data *data = resident->data;

	__atomic_store_n(&data->slots.requested, NULL, __ATOMIC_SEQ_CST);
	__atomic_store_n(&data->slots.completed, NULL, __ATOMIC_SEQ_CST);
	__atomic_store_n(&data->slots.callback, NULL, __ATOMIC_SEQ_CST);
	if (!wait_for_users(&data->users, timeout_ms))
		return false;
	__atomic_store_n(&data->slots.session, NULL, __ATOMIC_SEQ_CST);
	return true;
}

/* Both are in every glibc, and neither versioned. */
extern int __cxa_atexit(void (*function)(void *), void *argument, void *library)
	__attribute__((weak));
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
			     void *library) __attribute__((weak));

static void *entry(const struct resident *resident, u32 number)
{
	return resident->code + number * RESIDENT_ENTRY_BYTES;
}

void resident_connect_process(const struct resident *resident,
			      const struct resident_process *process, void *library)
{
	struct resident_data *data = resident->data;

	data->process.agent = process->agent;
	__atomic_store_n(&data->process.exit, process->exit, __ATOMIC_SEQ_CST);
	__atomic_store_n(&data->process.forked, process->forked, __ATOMIC_SEQ_CST);
	/* What was registered last is called first. */
	if (__cxa_atexit &&
	    (!data->exit_registered || (library && data->exit_registered != library)) &&
	    !__cxa_atexit((void (*)(void *))entry(resident, RESIDENT_ENTRY_EXIT), NULL, NULL))
		data->exit_registered = library ? library : resident->code;
	if (__register_atfork && !data->fork_registered)
		data->fork_registered = !__register_atfork(
			NULL, NULL, (void (*)(void))entry(resident, RESIDENT_ENTRY_FORKED), NULL);
}

bool resident_disconnect_process(const struct resident *resident, u32 timeout_ms)
{
	struct resident_data *data = resident->data;

	__atomic_store_n(&data->process.exit, NULL, __ATOMIC_SEQ_CST);
	__atomic_store_n(&data->process.forked, NULL, __ATOMIC_SEQ_CST);
	return wait_for_users(&data->process_users, timeout_ms);
}

static bool has_nvtx_slot(const struct resident_data *data)
{
	for (u32 i = 0; i < RESIDENT_NVTX_ENTRIES; i++)
		if (__atomic_load_n(&data->nvtx_slots[i], __ATOMIC_SEQ_CST))
			return true;
	return false;
}

bool resident_connect_nvtx(const struct resident *resident, struct nvtx_session *session,
			   const nvtx_slot *slots, const u64 *results)
{
	struct resident_data *data = resident->data;
	struct nvtx_session *other = __atomic_load_n(&data->nvtx_session, __ATOMIC_SEQ_CST);

	/* Without a slot it is one that has left, but for a thread that never came out of it. */
	if (other && has_nvtx_slot(data))
		return false;
	if (!__atomic_compare_exchange_n(&data->nvtx_session, &other, session, false,
					 __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		return false;
	for (u32 i = 0; i < RESIDENT_NVTX_ENTRIES; i++) {
		data->nvtx_results[i] = results[i];
		__atomic_store_n(&data->nvtx_slots[i], slots[i], __ATOMIC_SEQ_CST);
	}
	return true;
}

bool resident_disconnect_nvtx(const struct resident *resident, u32 timeout_ms)
{
	struct resident_data *data = resident->data;

	for (u32 i = 0; i < RESIDENT_NVTX_ENTRIES; i++)
		__atomic_store_n(&data->nvtx_slots[i], NULL, __ATOMIC_SEQ_CST);
	if (!wait_for_users(&data->nvtx_users, timeout_ms))
		return false;
	__atomic_store_n(&data->nvtx_session, NULL, __ATOMIC_SEQ_CST);
	return true;
}

u64 resident_nvtx(const struct resident *resident, u32 number)
{
	return (u64)resident->code + RESIDENT_NVTX_ENTRIES_BEGIN +
	       number * RESIDENT_NVTX_ENTRY_BYTES;
}

bool resident_has_nvtx(const struct resident *resident, u64 word)
{
	return word >= resident_nvtx(resident, 0) &&
	       word < resident_nvtx(resident, RESIDENT_NVTX_ENTRIES);
}

u64 (*resident_timestamp(const struct resident *resident))(void)
{
	__atomic_store_n(&resident->data->clock_id, CLOCK_MONOTONIC, __ATOMIC_RELEASE);
	return (u64(*)(void))entry(resident, RESIDENT_ENTRY_TIMESTAMP);
}

void resident_tell_realtime(const struct resident *resident)
{
	__atomic_store_n(&resident->data->clock_id, CLOCK_REALTIME, __ATOMIC_RELEASE);
}

cupti_requested resident_requested(const struct resident *resident)
{
	return (cupti_requested)entry(resident, RESIDENT_ENTRY_REQUESTED);
}

cupti_completed resident_completed(const struct resident *resident)
{
	return (cupti_completed)entry(resident, RESIDENT_ENTRY_COMPLETED);
}

cupti_api_callback resident_callback(const struct resident *resident)
{
	return (cupti_api_callback)entry(resident, RESIDENT_ENTRY_CALLBACK);
}
