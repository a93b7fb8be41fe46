/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Managed memory: all pages of an allocation are where they were last accessed. A GPU accesses them by copies and sets, the
 * host where the program says so (simHostAccess): no page is protected. What comes of an access is told at once.
 */
#include "driver.h"

#define PAGE_BYTES   65536u
#define BYTES_A_US   12000u
#define FAULT_NS     2000u
#define HOST	     UINT32_MAX /* CUPTI's number of the CPU */
#define CAUSE_ACCESS 2		/* CUpti_ActivityUnifiedMemoryMigrationCause: coherence */
#define ACCESS_WRITE 2		/* CUpti_ActivityUnifiedMemoryAccessType */

enum counter { BYTES_HTOD = 1, BYTES_DTOH = 2, CPU_FAULT = 3, GPU_FAULT = 4 };

static void tell(uint32_t device, enum counter counter, uint64_t start_ns, uint64_t duration_ns,
		 uint64_t address, uint64_t value, uint32_t flags)
{
	struct sim_activity activity = {.kind = SIM_MANAGED,
					.device = device,
					.stream_id = UINT32_MAX,
					.start_ns = start_ns,
					.end_ns = start_ns + duration_ns};

	activity.managed.counter = counter;
	activity.managed.value = value;
	activity.managed.address = address;
	activity.managed.flags = flags;
	activity.managed.source = counter == BYTES_HTOD ? HOST : device;
	activity.managed.destination = counter == BYTES_DTOH ? HOST : device;
	sim_truth_activity(&activity);
	sim_tools_submit(&activity);
	sim_tools_done(&activity);
}

/* Lock held. */
void sim_managed_access(uint64_t address, uint32_t device)
{
	struct sim_range range;
	uint64_t now_ns = sim_now_ns(), copy_ns;

	if (!sim_memory_move(address, true, &range))
		return;
	copy_ns = range.bytes * 1000 / BYTES_A_US + 1;
	tell(device, GPU_FAULT, now_ns, FAULT_NS + copy_ns, range.address,
	     (range.bytes + PAGE_BYTES - 1) / PAGE_BYTES, ACCESS_WRITE);
	tell(device, BYTES_HTOD, now_ns + FAULT_NS, copy_ns, range.address, range.bytes,
	     CAUSE_ACCESS);
}

void simHostAccess(const void *memory)
{
	uint64_t instruction = (uint64_t)(uintptr_t)__builtin_return_address(0) - 1, now_ns;
	struct sim_range range;

	pthread_mutex_lock(&sim_lock);
	if (sim_memory_move((uint64_t)(uintptr_t)memory, false, &range)) {
		now_ns = sim_now_ns();
		/* Its end is not to be read. */
		tell(0, CPU_FAULT, now_ns, 0, range.address, instruction, 0);
		tell(0, BYTES_DTOH, now_ns + FAULT_NS, range.bytes * 1000 / BYTES_A_US + 1,
		     range.address, range.bytes, CAUSE_ACCESS);
	}
	pthread_mutex_unlock(&sim_lock);
}
