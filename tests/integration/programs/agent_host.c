/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpuprobe's part towards an agent, for the tests of the agent alone: makes the rings, starts a command with them,
 * prints every record as a line of JSON, then what the control block says.
 *
 *	agent_host OPTION... COMMAND ARG...
 *
 * -t MS: how long, 0: until stdin ends. -m: and until so many records have come, however long it takes. -c: so many agents,
 * one after the other. -q: records are counted by kind,
 * not printed. -w: gpuprobe "dies" (its lock goes) instead of asking to leave. -s: nothing is read before the end.
 * The others: settings of the agent.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../../gpu/base/types.h"
#include "../../../bpf/record.h"
#include "../../../gpu/shared.h"
#include "../../../gpu/cupti/api_calls.h"

#define CYCLES_MAX 256
#define DEFAULT_KINDS                                                                           \
	(1ull << 1 | 1ull << 2 | 1ull << 4 | 1ull << 5 | 1ull << 10 | 1ull << 17 | 1ull << 22 | \
	 1ull << 25 | 1ull << 36 | 1ull << 38 | 1ull << 49 | 1ull << 50)

struct options {
	int cycles, milliseconds;
	u64 records_min;
	bool quiet, die, stopped;
	u32 chunks;
	struct agent_cupti_config cupti;
};

struct ring {
	int inherited, locked;
	size_t bytes;
	struct agent_control *control;
	u32 *read_bytes;
	u64 read_count, kinds[256];
};

static u64 now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ull + time.tv_nsec;
}

/* ---- records as JSON ---- */

static void print_string(const char *bytes, size_t length)
{
	putchar('"');
	for (size_t i = 0; i < length && bytes[i]; i++)
		if (bytes[i] == '"' || bytes[i] == '\\' || (u8)bytes[i] < 32)
			printf("\\u%04x", (u8)bytes[i]);
		else
			putchar(bytes[i]);
	putchar('"');
}

#define KIND(number, tag, shape, row, meaning)                     \
	static void print_##tag(const struct record_##tag *record) \
	{
#define FIELD(tag, type, name, unit, reference, absent, meaning) \
	if (record->name != (type)absent)                        \
		printf(",\"" #name "\":%llu", (unsigned long long)record->name);
#define ARRAY(tag, type, name, count, unit, reference, absent, meaning)              \
	printf(",\"" #name "\":[");                                                  \
	for (int i = 0; i < count; i++)                                              \
		printf("%s%llu", i ? "," : "", (unsigned long long)record->name[i]); \
	printf("]");
#define END(tag) }
#include "../../../bpf/record.def"

static void print_record(int cycle, const struct record_header *header)
{
	printf("{\"cycle\":%d,\"ts\":%llu,\"dur\":%llu,\"pid\":%u,\"tid\":%u,\"name_id\":%u", cycle,
	       (unsigned long long)header->ts, (unsigned long long)header->dur, header->pid,
	       header->tid, header->name);
	switch (header->kind) {
#define KIND(number, tag, shape, row, meaning)     \
	case number:                               \
		printf(",\"kind\":\"" #tag "\"");  \
		print_##tag((const void *)header); \
		break;
#include "../../../bpf/record.def"
	}
	if (header->kind == KIND_text) {
		const struct record_text *text = (const void *)header;

		printf(",\"text\":");
		print_string((const char *)(text + 1), text->length_bytes);
	}
	printf("}\n");
}

/* ---- the ring ---- */

static void make_ring(struct ring *ring, const struct options *options)
{
	char path[64];

	ring->bytes = AGENT_CONTROL_BYTES + (size_t)options->chunks * AGENT_CHUNK_BYTES;
	ring->inherited = memfd_create(AGENT_MEMFD_RING, 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", ring->inherited);
	ring->locked = open(path, O_RDWR | O_CLOEXEC);
	if (ring->inherited < 0 || ftruncate(ring->inherited, ring->bytes) || ring->locked < 0 ||
	    flock(ring->locked, LOCK_EX | LOCK_NB)) {
		perror("agent_host: ring");
		exit(2);
	}
	ring->control =
		mmap(NULL, ring->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->locked, 0);
	ring->read_bytes = calloc(options->chunks, sizeof(u32));
	ring->control->fixed = (struct agent_control_fixed){
		.magic = AGENT_MAGIC,
		.fixed_bytes = sizeof(struct agent_control_fixed),
		.total_bytes = ring->bytes,
		.tool_pid = getpid(),
	};
	ring->control->features[AGENT_FEATURE_CUPTI] =
		(struct agent_feature){.wanted = 1, .state = AGENT_FEATURE_PENDING};
	ring->control->cupti = options->cupti;
	ring->control->chunk_count = options->chunks;
	/* There is nobody else, and the agent knows of all that others do. */
	ring->control->cupti_others.watched = 1;
	ring->control->cupti_others.own_ns = ~0ULL;
}

static void drain(struct ring *ring, const struct options *options, int cycle)
{
	for (u32 i = 0; i < options->chunks; i++) {
		struct agent_chunk *chunk = (void *)((u8 *)ring->control + AGENT_CONTROL_BYTES +
						     (size_t)i * AGENT_CHUNK_BYTES);
		u32 state = __atomic_load_n(&chunk->state, __ATOMIC_ACQUIRE);
		u32 fill = __atomic_load_n(&chunk->fill_bytes, __ATOMIC_ACQUIRE);

		while (ring->read_bytes[i] < fill) {
			const struct record_header *header =
				(void *)(chunk->records + ring->read_bytes[i]);

			if (header->size_bytes < sizeof(*header)) {
				printf("{\"damaged\":true}\n");
				ring->read_bytes[i] = fill;
				break;
			}
			if (!options->quiet)
				print_record(cycle, header);
			ring->kinds[header->kind & 255]++;
			ring->read_count++;
			ring->read_bytes[i] += header->size_bytes;
		}
		if (state == AGENT_CHUNK_FULL) {
			ring->read_bytes[i] = 0;
			chunk->fill_bytes = 0;
			chunk->holder = 0;
			__atomic_store_n(&chunk->state, AGENT_CHUNK_FREE, __ATOMIC_RELEASE);
		}
	}
}

static void print_control(const struct ring *ring, int cycle, u64 leaving_ns)
{
	static const char *const counters[AGENT_COUNTERS] = {
		[AGENT_COUNT_RECORDS] = "records",
		[AGENT_COUNT_WORK] = "work",
		[AGENT_COUNT_RING_FULL] = "ring_full",
		[AGENT_COUNT_CUPTI_DROPPED] = "cupti_dropped",
		[AGENT_COUNT_NO_TIMESTAMPS] = "no_timestamps",
		[AGENT_COUNT_ACTIVITY_UNKNOWN] = "activity_unknown",
		[AGENT_COUNT_FACTS_CAPPED] = "facts_capped",
		[AGENT_COUNT_CAPPED_CALLBACKS] = "capped_callbacks",
		[AGENT_COUNT_CAPPED_ACTIVITIES] = "capped_activities",
		[AGENT_COUNT_BUFFERS_OUT] = "buffers_out",
		[AGENT_COUNT_OUTSIDE_WINDOW] = "outside_window",
		[AGENT_COUNT_RANGES] = "ranges",
		[AGENT_COUNT_RANGE_UNMATCHED] = "range_unmatched",
		[AGENT_COUNT_RANGE_LOST] = "range_lost",
	};
	const struct agent_control *control = ring->control;
	const struct agent_feature *feature = &control->features[AGENT_FEATURE_CUPTI];

	printf("{\"cycle\":%d,\"control\":true,\"state\":%u,\"hint\":", cycle,
	       control->fixed.state);
	print_string(control->hint, sizeof(control->hint));
	printf(",\"feature\":%u,\"result\":%u,\"feature_hint\":", feature->state, feature->result);
	print_string(feature->hint, sizeof(feature->hint));
	printf(",\"version\":%u,\"driver\":%u,\"kinds\":%llu,\"ours\":%u,\"residual\":%u,\"path\":",
	       control->cupti_facts.cupti_version, control->cupti_facts.driver_version,
	       (unsigned long long)control->cupti_facts.kinds_enabled,
	       control->cupti_facts.timestamps_ours, control->cupti_facts.fit_residual_ns);
	print_string(control->cupti_facts.path, AGENT_PATH_BYTES);
	printf(",\"other\":");
	print_string(control->cupti_facts.other_client, 64);
	for (int i = 0; i < AGENT_COUNTERS; i++)
		printf(",\"%s\":%llu", counters[i], (unsigned long long)control->counters[i]);
	printf(",\"leaving_ms\":%llu,\"read\":{", (unsigned long long)leaving_ns / 1000000);
	for (int i = 0, n = 0; i < 256; i++)
		if (ring->kinds[i])
			printf("%s\"%d\":%llu", n++ ? "," : "", i,
			       (unsigned long long)ring->kinds[i]);
	printf("}}\n");
	fflush(stdout);
}

static bool is_over(const struct ring *ring)
{
	return ring->control->fixed.state >= AGENT_STATE_GONE;
}

static bool lives(pid_t child)
{
	siginfo_t info = {0};

	return !waitid(P_PID, child, &info, WEXITED | WNOHANG | WNOWAIT) && !info.si_pid;
}

static bool stdin_ended(void)
{
	struct pollfd polled = {.fd = STDIN_FILENO, .events = POLLIN};
	char byte;

	return poll(&polled, 1, 0) > 0 && read(STDIN_FILENO, &byte, 1) <= 0;
}

static bool is_window_open(const struct ring *ring, const struct options *options, u64 end_ns)
{
	if (!options->milliseconds)
		return !stdin_ended();
	return now_ns() < end_ns || ring->read_count < options->records_min;
}

static void record(struct ring *ring, const struct options *options, int cycle, pid_t child)
{
	u64 end_ns = now_ns() + 60000000000ull, leaving_ns;

	while (ring->control->fixed.state < AGENT_STATE_READY && now_ns() < end_ns)
		usleep(1000);
	ring->control->window_start_ns = now_ns();
	printf("{\"cycle\":%d,\"ready\":true,\"agent_tid\":%u,\"target\":%d}\n", cycle,
	       ring->control->fixed.agent_tid, child);
	fflush(stdout);
	end_ns = now_ns() + options->milliseconds * 1000000ull;
	while (is_window_open(ring, options, end_ns) && !is_over(ring) && lives(child)) {
		if (!options->stopped)
			drain(ring, options, cycle);
		usleep(5000);
	}
	ring->control->window_end_ns = leaving_ns = now_ns();
	if (options->die)
		flock(ring->locked, LOCK_UN);
	else
		ring->control->fixed.wanted = AGENT_WANTED_LEAVE;
	end_ns = now_ns() + 60000000000ull;
	while (now_ns() < end_ns && !is_over(ring) && lives(child)) {
		drain(ring, options, cycle);
		usleep(1000);
	}
	leaving_ns = now_ns() - leaving_ns;
	drain(ring, options, cycle);
	print_control(ring, cycle, leaving_ns);
}

static pid_t start(char **command, struct ring *rings, int cycles, const char *directory)
{
	char list[4096] = "", path[512];
	pid_t child;

	for (int i = 0; i < cycles; i++)
		sprintf(list + strlen(list), "%s%d", i ? "," : "", rings[i].inherited);
	child = fork();
	if (child)
		return child;
	dup2(STDERR_FILENO, STDOUT_FILENO);
	setenv("AGENT_RINGS", list, 1);
	/* The target of an injection does not know: only what is loaded by the driver is told. */
	setenv(AGENT_RING_VARIABLE, list, 1);
	snprintf(path, sizeof(path), "%s/agent_carrier.so", directory);
	if (!getenv("CUDA_INJECTION64_PATH"))
		setenv("LD_PRELOAD", path, 1);
	execvp(command[0], command);
	perror(command[0]);
	_exit(127);
}

/* Options that set a number of the agent's settings. */
static bool set_number(struct options *options, int option, u64 number)
{
	const struct {
		char option;
		u32 *value;
	} numbers[] = {
		{'g', &options->cupti.graph_whole},
		{'l', &options->cupti.latency_timestamps},
		{'f', &options->cupti.take_down},
		{'b', &options->cupti.buffer_bytes},
		{'n', &options->cupti.buffer_count_max},
		{'p', &options->cupti.flush_period_ms},
		{'r', &options->chunks},
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (numbers[i].option == option) {
			*numbers[i].value = number;
			return true;
		}
	return false;
}

static void parse(int argc, char **argv, struct options *options)
{
	int option;

	while ((option = getopt(argc, argv, "+c:t:m:qwsglKf:C:b:n:r:p:k:")) != -1) {
		u64 number = optarg ? strtoull(optarg, NULL, 0) : 1;

		if (set_number(options, option, number))
			continue;
		if (option == 'c')
			options->cycles = number < CYCLES_MAX ? number : CYCLES_MAX;
		else if (option == 't')
			options->milliseconds = number;
		else if (option == 'm')
			options->records_min = number;
		else if (option == 'K')
			options->cupti.api_groups = API_GROUPS_EVERY;
		else if (option == 'k')
			options->cupti.kinds = number;
		else if (option == 'C')
			snprintf(options->cupti.path, sizeof(options->cupti.path), "%s", optarg);
		else if (option == 'q' || option == 'w' || option == 's')
			*(option == 'q'	  ? &options->quiet
			  : option == 'w' ? &options->die
					  : &options->stopped) = true;
		else
			exit(2);
	}
}

int main(int argc, char **argv)
{
	static struct ring rings[CYCLES_MAX];
	struct options options = {.cycles = 1,
				  .milliseconds = 1000,
				  .chunks = 512,
				  .cupti = {.kinds = DEFAULT_KINDS,
					    .api_groups = API_GROUPS_DEFAULT,
					    .buffer_bytes = 1 << 20,
					    .buffer_count_max = 64,
					    .flush_period_ms = 100,
					    .texts_max = 100000,
					    .take_down = true}};
	char directory[256];
	pid_t child;
	int status;

	parse(argc, argv, &options);
	snprintf(directory, sizeof(directory), "%s", argv[0]);
	*strrchr(directory, '/') = 0;
	for (int i = 0; i < options.cycles; i++)
		make_ring(&rings[i], &options);
	child = start(argv + optind, rings, options.cycles, directory);
	for (int i = 0; i < options.cycles; i++)
		record(&rings[i], &options, i, child);
	/* The command ends by itself, or is ended by who started us. */
	kill(child, SIGTERM);
	waitpid(child, &status, 0);
	printf("{\"status\":%d}\n", status);
	return 0;
}
