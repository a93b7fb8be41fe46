/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the GPUs of this machine are, as NVIDIA's management library tells: read by gpuprobe itself, so that nothing of it is in a
 * target. One thread at a time. Calls take microseconds, those for PCIe 20 ms each (the driver measures so long), and the first of
 * all some 100 ms; a GPU that is lost can make any of them hang.
 */
#ifndef GPUPROBE_CUDA_NVML_H
#define GPUPROBE_CUDA_NVML_H

#include "base/types.h"

#define NVML_DEVICES_MAX 64

struct nvml;

/* What is not known is all ones. */
struct nvml_values {
	u32 sm_clock_mhz, memory_clock_mhz;
	u32 temperature_celsius;
	u32 power_milliwatts, power_limit_milliwatts;
	u32 fan_percent;
	u32 busy_percent, memory_busy_percent;
	u64 memory_used_bytes;
	u64 throttle_reasons; /* nvmlClocksThrottleReasons */
	u32 pcie_sent_kb_s, pcie_received_kb_s;
	u64 nvlink_sent_kib, nvlink_received_kib; /* since the driver was loaded, over all links */
};

/* PCI address; what is not known is all ones. */
struct nvml_place {
	u32 pci_domain, pci_bus, pci_device;
};

/* Memory that a process has on the GPU. */
struct nvml_process_memory {
	u32 pid; /* as the driver counts: the host's */
	u64 bytes; /* all ones: not known */
};

/* NULL: there is no such library, or no driver; ret_why says so, in words that need no freeing. */
struct nvml *nvml_open(const char **ret_why);
u32 nvml_count(const struct nvml *nvml);
/* As CUPTI has it: 16 bytes. */
const u8 *nvml_uuid(const struct nvml *nvml, u32 device);
/* All but PCIe. */
void nvml_read(const struct nvml *nvml, u32 device, struct nvml_values *ret_values);
/* Only PCIe; the rest stays as it is. */
void nvml_read_pcie(const struct nvml *nvml, u32 device, struct nvml_values *values);
void nvml_read_place(const struct nvml *nvml, u32 device, struct nvml_place *ret_place);
/* Which processes use the GPU, at most so many of them, and what memory they have there. How many; 0: it is not known. */
u32 nvml_read_processes(const struct nvml *nvml, u32 device, struct nvml_process_memory *ret_processes,
			u32 processes_max);
struct nvml *nvml_close(struct nvml *nvml); /* NULL allowed; returns NULL */

#endif
