/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/calibrate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe/own_functions_x86_64.h"
#include "probe/own_code.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/cleanup.h"
#include "probe/cpu_clock.h"

#define ROUNDS	      20
#define CALLS	      50 /* a round; stepped ones take about 15 us each in a VM */
#define ROUNDS_MAX_NS (8 * NS_PER_MILLISECOND)

/* The functions that are measured, by their place in the plan. */
enum own {
	OWN_ENTRY,
	OWN_STEPPED,
	OWN_COUNTED,
	OWN_SESSION,
	OWN_STEPPED_EXIT,
	OWN_EMULATED_EXIT,
	OWN_COUNT,
	OWN_STACK = OWN_COUNT, /* in no plan: it has a program of its own */
	OWN_BARE,	       /* without a probe */
};

/* Copies of arch_calibrate_cheap() that measure_traps() uses. */
enum calibration_copy {
	CALIBRATION_COPY_TRAP = 8,
	CALIBRATION_COPY_RETURN,
	CALIBRATION_COPY_BARE,
	CALIBRATION_COPIES
};

_Static_assert(OWN_COUNT <= CALIBRATION_PROBES, "there is room for them in the maps");
_Static_assert((int)OWN_BARE < (int)CALIBRATION_COPY_TRAP, "each has a copy of its own,");
_Static_assert(CALIBRATION_COPIES <= ARCH_CALIBRATE_COPIES, "and there are enough");

typedef void own_function(void);

static own_function *own_function_of(enum own own)
{
	if (own == OWN_STEPPED)
		return arch_calibrate_stepped;
	return (own_function *)((uintptr_t)arch_calibrate_cheap + own * ARCH_CALIBRATE_COPY_BYTES);
}

/* ---- the plan ---- */

struct own_plan {
	struct plan plan;
	struct code_module module;
	struct plan_function functions[OWN_COUNT];
	struct return_site sites[OWN_COUNT];
	bool has[OWN_COUNT];
};

static const struct {
	u8 returns;
	bool counted;
	enum instruction_cost cost;
} own_rows[OWN_COUNT] = {
	[OWN_ENTRY] = {VALUE_returns_none, false, COST_CHEAP},
	[OWN_STEPPED] = {VALUE_returns_none, false, COST_STEPPED},
	[OWN_COUNTED] = {VALUE_returns_none, true, COST_CHEAP},
	[OWN_SESSION] = {VALUE_returns_session, false, COST_CHEAP},
	[OWN_STEPPED_EXIT] = {VALUE_returns_stepped, false, COST_CHEAP},
	[OWN_EMULATED_EXIT] = {VALUE_returns_emulated, false, COST_CHEAP},
};

static int fill_function(struct own_plan *own, enum own which)
{
	size_t place = own->plan.function_count++;
	struct plan_function *function = &own->functions[place];
	int result = own_code_offset(own_function_of(which), &function->file_offset);

	if (result)
		return result;
	function->name = (char *)"calibration";
	function->cost = own_rows[which].cost;
	function->counted = own_rows[which].counted;
	function->returns = own_rows[which].returns;
	own->sites[place] = (struct return_site){.file_offset = function->file_offset +
								ARCH_CALIBRATE_RETURN_BYTES,
						 .kind = RETURN_SITE_RET};
	function->sites = &own->sites[place];
	function->site_count = function->returns == VALUE_returns_stepped ||
			       function->returns == VALUE_returns_emulated;
	return 0;
}

static int fill_plan(struct own_plan *own, const struct calibration_wishes *wishes, int file_fd)
{
	int result = 0;

	own->module = (struct code_module){.path = (char *)"/proc/self/exe", .fd = file_fd};
	own->plan = (struct plan){
		.modules = &own->module, .module_count = 1, .functions = own->functions};
	for (enum own i = 0; i < OWN_COUNT && !result; i++) {
		own->has[i] = (wishes->returns >> own_rows[i].returns & 1) &&
			      (!own_rows[i].counted || wishes->counts);
		if (own->has[i])
			result = fill_function(own, i);
	}
	return result;
}

/* ---- measuring ---- */

static int discard(void *data, const struct record_header *record, size_t size_bytes)
{
	return 0;
}

static int compare(const void *a, const void *b)
{
	u64 left = *(const u64 *)a, right = *(const u64 *)b;

	return left < right ? -1 : left > right;
}

/* What disturbs a round disturbs the targets as well; the median leaves out what is rare. */
static u64 time_calls(own_function *function, u32 depth)
{
	u64 begin = clock_read_ns(CLOCK_THREAD_CPUTIME_ID), end = begin, spent[ROUNDS];
	size_t count = 0;

	while (count < ROUNDS && end - begin < ROUNDS_MAX_NS) {
		u64 start = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);

		arch_call_deep(function, CALLS, depth);
		end = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
		spent[count++] = (end - start) / CALLS;
	}
	qsort(spent, count, sizeof(*spent), compare);
	return spent[count / 2];
}

static u64 above(u64 value, u64 base)
{
	return value > base ? value - base : 0;
}

/* What a child pays for the breakpoints that it inherits; 0: it can't be found out. */
static u64 time_inherited(u64 bare_ns)
{
	u64 spent_ns = bare_ns;
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return 0;
	pid = fork();
	if (pid == 0) {
		spent_ns = time_calls(own_function_of(OWN_ENTRY), 0);
		_exit(write(ends[1], &spent_ns, sizeof(spent_ns)) != sizeof(spent_ns));
	}
	cleanup_close(&ends[1]);
	if (pid > 0 && read(ends[0], &spent_ns, sizeof(spent_ns)) != sizeof(spent_ns))
		spent_ns = bare_ns;
	cleanup_close(&ends[0]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return above(spent_ns, bare_ns);
}

static int attach_stack(struct bpf_source *source, int file_fd, struct err *err)
{
	u64 offset = 0;
	int result = own_code_offset(own_function_of(OWN_STACK), &offset);

	return result ? err_errno(err, result, "can't find our own functions")
		      : bpf_source_attach_stack(source, file_fd, offset, err);
}

/* Everything is attached, and we are a target. */
static void measure(struct bpf_source *source, const struct own_plan *own,
		    struct calibration *calibration)
{
	u64 bare_ns = time_calls(own_function_of(OWN_BARE), 0), spent_ns[OWN_COUNT] = {0},
	    silent_ns;
	u64 deep_ns = time_calls(own_function_of(OWN_STACK), CALIBRATION_STACK_DEPTH);

	bpf_source_set_window(source, true);
	for (enum own i = 0; i < OWN_COUNT; i++) {
		if (!own->has[i])
			continue;
		spent_ns[i] = above(time_calls(own_function_of(i), 0), bare_ns);
		bpf_source_drain(source, discard, NULL);
	}
	bpf_source_set_window(source, false);
	silent_ns = above(time_calls(own_function_of(OWN_ENTRY), 0), bare_ns);
	calibration->entry_ns[VALUE_returns_none] = spent_ns[OWN_ENTRY];
	calibration->stepped_ns = above(spent_ns[OWN_STEPPED], spent_ns[OWN_ENTRY]);
	calibration->record_ns = above(spent_ns[OWN_ENTRY], silent_ns);
	calibration->count_ns = above(spent_ns[OWN_COUNTED], silent_ns);
	/* Without a record an entry costs about the same, whatever is done with the return. */
	for (enum own i = OWN_SESSION; i < OWN_COUNT; i++) {
		u8 returns = own_rows[i].returns;

		if (!own->has[i])
			continue;
		calibration->entry_ns[returns] = silent_ns;
		calibration->exit_ns[returns] = above(spent_ns[i], silent_ns);
	}
	calibration->stack_ns = above(deep_ns, silent_ns + bare_ns);
	/* Its step has a place of its own. */
	calibration->exit_ns[VALUE_returns_stepped] =
		above(calibration->exit_ns[VALUE_returns_stepped], calibration->stepped_ns);
}

static int measure_functions(struct bpf_source *source, const struct kernel_abilities *abilities,
			     const struct calibration_wishes *wishes,
			     struct calibration *calibration, struct err *err)
{
	_cleanup_close_ int file_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct own_plan own = {0};
	int result;

	if (file_fd < 0)
		return err_errno(err, -errno, "can't open our own file");
	result = fill_plan(&own, wishes, file_fd);
	if (result)
		return err_errno(err, result, "can't find our own functions");
	result = bpf_source_attach_own(source, &own.plan, err);
	if (!result && abilities->uprobe_multi)
		result = attach_stack(source, file_fd, err);
	if (!result)
		result = bpf_source_add_target(source, (u32)getpid(), 0, err);
	if (!result)
		measure(source, &own, calibration);
	/* A child of a target would be counted. */
	bpf_source_remove_target(source, (u32)getpid());
	if (!result)
		calibration->inherited_ns =
			time_inherited(time_calls(own_function_of(OWN_BARE), 0));
	return result;
}

static void *trap_copy(size_t number)
{
	return (char *)arch_calibrate_cheap + number * ARCH_CALIBRATE_COPY_BYTES;
}

static int attach_trap(struct bpf_source *source, int file_fd, void *function, bool with_return,
		       struct err *err)
{
	u64 offset = 0;
	int result = own_code_offset(function, &offset);

	return result ? err_errno(err, result, "can't find our own functions")
		      : bpf_source_attach_trap(source, file_fd, offset, with_return, err);
}

/* The members trap_*: what the kernel takes for a hit before and after any program of ours; what it attaches stays. */
static int measure_traps(struct bpf_source *source, const struct kernel_abilities *abilities,
			 struct calibration *calibration, struct err *err)
{
	_cleanup_close_ int file_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *entry = trap_copy(CALIBRATION_COPY_TRAP),
	     *with_return = trap_copy(CALIBRATION_COPY_RETURN);
	u64 bare_ns = time_calls(trap_copy(CALIBRATION_COPY_BARE), 0);
	int result;

	if (file_fd < 0)
		return err_errno(err, -errno, "can't open our own file");
	result = attach_trap(source, file_fd, entry, false, err);
	if (!result)
		result = attach_trap(source, file_fd, arch_calibrate_stepped, false, err);
	if (!result && abilities->uprobe_session)
		result = attach_trap(source, file_fd, with_return, true, err);
	if (result)
		return result;
	calibration->trap_ns = above(time_calls(entry, 0), bare_ns);
	calibration->trap_stepped_ns = above(time_calls(arch_calibrate_stepped, 0), bare_ns);
	if (abilities->uprobe_session)
		calibration->trap_return_ns =
			above(time_calls(with_return, 0), bare_ns + calibration->trap_ns);
	return 0;
}

/* So often, and so much work at a time: some ticks fall into each. */
#define TICK_PERIOD_NS (100 * NS_PER_MICROSECOND)
#define TICK_ROUNDS    15
#define TICK_WORK      400000

static u64 time_work(void)
{
	u64 spent[TICK_ROUNDS];

	for (size_t i = 0; i < ARRAY_SIZE(spent); i++) {
		u64 start = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);

		for (unsigned work = TICK_WORK; work; work--)
			__asm__ volatile("" : "+r"(work));
		spent[i] = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - start;
	}
	qsort(spent, ARRAY_SIZE(spent), sizeof(*spent), compare);
	return spent[ARRAY_SIZE(spent) / 2];
}

/* A kernel that refuses has no samples either. */
static u64 time_tick(void)
{
	const struct cpu_clock clock = {.period_ns = TICK_PERIOD_NS, .cpu = -1};
	_cleanup_close_ int fd = cpu_clock_open(&clock, NULL);
	u64 bare_ns = time_work(), ticking_ns;

	if (fd < 0 || cpu_clock_start(fd))
		return 0;
	ticking_ns = time_work();
	return above(ticking_ns, bare_ns) * TICK_PERIOD_NS / ticking_ns;
}

int calibrate(struct bpf_source *source, const struct kernel_abilities *abilities,
	      const struct calibration_wishes *wishes, struct uprobe_set *links,
	      struct calibration *ret_calibration, struct err *err)
{
	struct calibration calibration = {0};
	u64 start_ns = clock_monotonic_ns();
	int result = wishes->traps && abilities->uprobe_multi
			     ? measure_traps(source, abilities, &calibration, err)
			     : 0;

	if (!result && wishes->returns)
		result = measure_functions(source, abilities, wishes, &calibration, err);
	if (wishes->ticks)
		calibration.tick_ns = time_tick();
	bpf_source_hand_over(source, links);
	bpf_source_drain(source, discard, NULL);
	if (result)
		return result;
	calibration.took_ns = clock_monotonic_ns() - start_ns;
	*ret_calibration = calibration;
	return 0;
}

u64 calibration_cost_ns(const struct calibration *calibration, const struct plan_function *function,
			const struct probe_hits *hits)
{
	u64 entry_ns = calibration->entry_ns[function->returns];
	u64 exit_ns = calibration->exit_ns[function->returns];
	u64 *recorded_ns = function->returns == VALUE_returns_none ? &entry_ns : &exit_ns;

	if (function->counted)
		*recorded_ns = above(*recorded_ns, calibration->record_ns) + calibration->count_ns;
	if (function->cost == COST_STEPPED)
		entry_ns += calibration->stepped_ns;
	return hits->entries * entry_ns + (hits->exits + hits->stepped_exits) * exit_ns +
	       hits->stepped_exits * calibration->stepped_ns;
}

u64 calibration_trap_cost_ns(const struct calibration *calibration, const struct price_hits *hits)
{
	return (hits->entries + hits->exits) * calibration->trap_ns +
	       (hits->stepped_entries + hits->stepped_exits) * calibration->trap_stepped_ns +
	       hits->returns * calibration->trap_return_ns;
}
