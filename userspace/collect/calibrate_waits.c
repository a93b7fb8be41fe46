/*
 * What it costs to record a wait: two threads of ours let each other wait, and the kernel tells how long the programs
 * ran. Only these threads are targets; the switches of everybody else cost next to nothing, and count as ours.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "collect/calibrate.h"

#define TURNS	     300
#define TURNS_MAX_NS (30 * NS_PER_MILLISECOND)
#define SPIN_MAX_NS  (20 * NS_PER_MICROSECOND)

struct players {
	int to_other[2], from_other[2];
	u64 spin_ns; /* how long each lets the other wait: so long that it is recorded */
};

static void spin(u64 ns)
{
	u64 start_ns = clock_monotonic_ns();

	while (clock_monotonic_ns() - start_ns < ns)
		;
}

static void *play(void *data)
{
	const struct players *players = data;
	char ball;

	while (read(players->to_other[0], &ball, 1) == 1) {
		spin(players->spin_ns);
		if (write(players->from_other[1], &ball, 1) != 1)
			break;
	}
	return NULL;
}

static void take_turns(const struct players *players)
{
	u64 end_ns = clock_monotonic_ns() + TURNS_MAX_NS;
	char ball = 0;

	for (int i = 0; i < TURNS && clock_monotonic_ns() < end_ns; i++) {
		spin(players->spin_ns);
		if (write(players->to_other[1], &ball, 1) != 1 ||
		    read(players->from_other[0], &ball, 1) != 1)
			break;
	}
}

static int run_players(u64 spin_ns)
{
	struct players players = {{-1, -1}, {-1, -1}, spin_ns};
	pthread_t thread;
	int result = pipe2(players.to_other, O_CLOEXEC) ? -errno : 0;

	if (!result && pipe2(players.from_other, O_CLOEXEC))
		result = -errno;
	if (!result)
		result = -pthread_create(&thread, NULL, play, &players);
	if (!result) {
		take_turns(&players);
		cleanup_close(&players.to_other[1]);
		players.to_other[1] = -1;
		pthread_join(thread, NULL);
	}
	for (int end = 0; end < 2; end++) {
		cleanup_close(&players.to_other[end]);
		cleanup_close(&players.from_other[end]);
	}
	return result;
}

int calibrate_waits(struct bpf_source *source, u64 *ret_wait_ns, struct err *err)
{
	_cleanup_close_ int statistics = bpf_enable_stats(BPF_STATS_RUN_TIME);
	u64 spin_ns = bpf_source_off_cpu_min_ns(source), start_ns, end_ns;
	struct counters before, after;
	int result;

	if (statistics < 0)
		return err_errno(err, -errno, "can't measure what recording a wait costs");
	if (spin_ns > SPIN_MAX_NS)
		spin_ns = SPIN_MAX_NS;
	result = bpf_source_attach_off_cpu(source, err);
	if (!result)
		result = bpf_source_add_target(source, (u32)getpid(), 0, err);
	if (!result && bpf_source_counters(source, &before))
		result = err_set(err, -EIO, "can't read the counters");
	start_ns = bpf_source_off_cpu_run_time_ns(source);
	if (!result) {
		bpf_source_set_window(source, true);
		result = run_players(spin_ns);
		bpf_source_set_window(source, false);
		if (result)
			err_errno(err, result, "can't measure what recording a wait costs");
	}
	end_ns = bpf_source_off_cpu_run_time_ns(source);
	bpf_source_remove_target(source, (u32)getpid());
	bpf_source_detach_off_cpu(source);
	if (result || bpf_source_counters(source, &after) || after.switches == before.switches)
		return result ? result : err_set(err, -EIO, "no wait was seen");
	*ret_wait_ns = (end_ns - start_ns) / (after.switches - before.switches);
	return 0;
}
