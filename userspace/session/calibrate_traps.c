/*
 * What the kernel takes for a hit of a probe before and after any program of ours: functions of our own with programs that
 * do nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "probe/own_functions_x86_64.h"
#include "probe/own_code.h"
#include "base/cleanup.h"
#include "session/calibrate.h"

static void *copy(size_t number)
{
	return (char *)arch_calibrate_cheap + number * ARCH_CALIBRATE_COPY_BYTES;
}

static u64 above(u64 value, u64 base)
{
	return value > base ? value - base : 0;
}

static int attach(struct bpf_source *source, int file_fd, void *function, bool with_return,
		  struct err *err)
{
	u64 offset = 0;
	int result = own_code_offset(function, &offset);

	return result ? err_errno(err, result, "can't find our own functions")
		      : bpf_source_attach_trap(source, file_fd, offset, with_return, err);
}

int calibrate_traps(struct bpf_source *source, const struct kernel_abilities *abilities,
		    struct calibration *calibration, struct err *err)
{
	_cleanup_close_ int file_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *entry = copy(CALIBRATION_COPY_TRAP), *with_return = copy(CALIBRATION_COPY_RETURN);
	u64 bare_ns = calibrate_time_calls(copy(CALIBRATION_COPY_BARE), 0);
	int result;

	if (file_fd < 0)
		return err_errno(err, -errno, "can't open our own file");
	result = attach(source, file_fd, entry, false, err);
	if (!result)
		result = attach(source, file_fd, arch_calibrate_stepped, false, err);
	if (!result && abilities->uprobe_session)
		result = attach(source, file_fd, with_return, true, err);
	if (result)
		return result;
	calibration->trap_ns = above(calibrate_time_calls(entry, 0), bare_ns);
	calibration->trap_stepped_ns =
		above(calibrate_time_calls(arch_calibrate_stepped, 0), bare_ns);
	if (abilities->uprobe_session)
		calibration->trap_return_ns =
			above(calibrate_time_calls(with_return, 0), bare_ns + calibration->trap_ns);
	return 0;
}
