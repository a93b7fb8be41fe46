#include "collect/calibrate.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "attach/arch_x86_64.h"
#include "attach/own_code.h"
#include "base/clock.h"
#include "base/cleanup.h"

#define ROUNDS 20
#define CALLS  50 /* a round; stepped ones take about 15 us each in a VM */

static int discard(void *data, const struct record_header *record, size_t size_bytes)
{
	return 0;
}

/* Nanoseconds of CPU time a call, the best of some rounds: what disturbs only adds. */
static u64 time_calls(void (*function)(void))
{
	u64 best = UINT64_MAX;

	for (int round = 0; round < ROUNDS; round++) {
		u64 start = clock_read_ns(CLOCK_THREAD_CPUTIME_ID), spent;

		for (int i = 0; i < CALLS; i++)
			function();
		spent = (clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - start) / CALLS;
		best = spent < best ? spent : best;
	}
	return best;
}

static int time_probed(struct bpf_source *source, int file_fd, void (*function)(void), bool session,
		       u64 *ret_ns, struct err *err)
{
	u64 offset = 0;
	int result = own_code_offset(function, &offset);

	if (result)
		return err_errno(err, result, "can't find our own functions");
	result = bpf_source_attach_one(source, file_fd, offset, session, getpid(), err);
	if (result)
		return result;
	*ret_ns = time_calls(function);
	bpf_source_detach(source, NULL, NULL);
	return 0;
}

int calibrate(struct bpf_source *source, bool has_session, struct calibration *ret_calibration,
	      struct err *err)
{
	_cleanup_close_ int file_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	u64 bare = time_calls(arch_calibrate_cheap), entry = 0, stepped = 0, pair = 0;
	int result;

	if (file_fd < 0)
		return err_errno(err, -errno, "can't open our own file");
	result = bpf_source_add_target(source, getpid(), 0, err);
	if (result)
		return result;
	bpf_source_set_window(source, true);
	result = time_probed(source, file_fd, arch_calibrate_cheap, false, &entry, err);
	if (!result)
		result = time_probed(source, file_fd, arch_calibrate_stepped, false, &stepped, err);
	if (!result && has_session)
		result = time_probed(source, file_fd, arch_calibrate_cheap, true, &pair, err);
	bpf_source_set_window(source, false);
	bpf_source_remove_target(source, getpid());
	bpf_source_drain(source, discard, NULL);
	if (result)
		return result;
	ret_calibration->entry_ns = entry > bare ? entry - bare : 0;
	ret_calibration->stepped_ns = stepped > entry ? stepped - entry : 0;
	ret_calibration->return_ns = pair > entry ? pair - entry : 0;
	return 0;
}

u64 calibration_cost_ns(const struct calibration *calibration, const struct counters *counters)
{
	return (counters->entries + counters->stepped_entries) * calibration->entry_ns +
	       counters->stepped_entries * calibration->stepped_ns +
	       counters->returns * calibration->return_ns +
	       (counters->exits + counters->stepped_exits) * calibration->entry_ns +
	       counters->stepped_exits * calibration->stepped_ns;
}
