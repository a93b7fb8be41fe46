/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A libnvidia-ml.so.1 for gpuprobe itself, with the devices of the simulated driver and planted values: knobs of the file that
 * SIM_KNOBS names (README.md), read at each call. Layouts and numbers are those of nvml.h of CUDA 13. A knob nvml_lacks=NAME has
 * the function of that name answer "not supported", nvml_hangs=1 has all of them hang.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOT_SUPPORTED 3
#define NOT_FOUND     6
#define LINE_BYTES    256
#define DEVICES_MAX   16

struct field {
	uint32_t field, scope;
	int64_t timestamp, latency;
	uint32_t type, result;
	uint64_t value;
};

static char devices[DEVICES_MAX];

/* NULL: there is none; the caller's to free. */
static char *knob_text(const char *name)
{
	const char *path = getenv("SIM_KNOBS");
	FILE *file = path ? fopen(path, "re") : NULL;
	char line[LINE_BYTES], *found = NULL;

	while (file && !found && fgets(line, sizeof(line), file)) {
		char *value = strchr(line, '=');

		if (!value)
			continue;
		*value++ = '\0';
		value[strcspn(value, "\n")] = '\0';
		if (!strcmp(line, name))
			found = strdup(value);
	}
	if (file)
		fclose(file);
	return found;
}

static uint64_t knob(const char *name, uint64_t otherwise)
{
	char *text = knob_text(name);
	uint64_t value = text ? strtoull(text, NULL, 0) : otherwise;

	free(text);
	return value;
}

/* What a call returns before it does anything. */
static uint32_t gate(const char *function)
{
	char *lacks = knob_text("nvml_lacks");
	uint32_t result = lacks && strstr(function, lacks) ? NOT_SUPPORTED : 0;

	free(lacks);
	while (knob("nvml_hangs", 0))
		usleep(10000);
	return result;
}

static uint32_t put(const char *function, uint32_t *destination, uint64_t value)
{
	uint32_t result = gate(function);

	if (!result)
		*destination = (uint32_t)value;
	return result;
}

static unsigned ordinal(const void *device)
{
	return (unsigned)((const char *)device - devices);
}

uint32_t nvmlInit_v2(void);
uint32_t nvmlInit_v2(void)
{
	return gate(__func__);
}

uint32_t nvmlShutdown(void);
uint32_t nvmlShutdown(void)
{
	return gate(__func__);
}

uint32_t nvmlDeviceGetCount_v2(uint32_t *count);
uint32_t nvmlDeviceGetCount_v2(uint32_t *count)
{
	return put(__func__, count, knob("devices", 1));
}

/* In another order than CUDA has them, as it may be. */
uint32_t nvmlDeviceGetHandleByIndex_v2(uint32_t index, void **device);
uint32_t nvmlDeviceGetHandleByIndex_v2(uint32_t index, void **device)
{
	uint64_t count = knob("devices", 1);

	if (index >= count || count > DEVICES_MAX)
		return NOT_FOUND;
	*device = &devices[count - 1 - index];
	return 0;
}

uint32_t nvmlDeviceGetUUID(void *device, char *uuid, uint32_t bytes);
uint32_t nvmlDeviceGetUUID(void *device, char *uuid, uint32_t bytes)
{
	unsigned char raw[17] = "gpuprobe-sim-dev";
	char text[64] = "GPU-";
	size_t length = 4;

	raw[15] = (unsigned char)ordinal(device);
	for (int i = 0; i < 16; i++)
		length +=
			(size_t)snprintf(text + length, sizeof(text) - length, "%s%02x",
					 i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", raw[i]);
	if (bytes <= length)
		return 7; /* NVML_ERROR_INSUFFICIENT_SIZE */
	strcpy(uuid, text);
	return gate(__func__);
}

uint32_t nvmlDeviceGetUtilizationRates(void *device, uint32_t *rates);
uint32_t nvmlDeviceGetUtilizationRates(void *device, uint32_t *rates)
{
	rates[0] = (uint32_t)knob("gpu_busy", 50);
	rates[1] = (uint32_t)knob("memory_busy", 10);
	return gate(__func__);
}

uint32_t nvmlDeviceGetMemoryInfo(void *device, uint64_t *memory);
uint32_t nvmlDeviceGetMemoryInfo(void *device, uint64_t *memory)
{
	memory[0] = 80ull << 30;
	memory[2] = knob("memory_used", 1ull << 30);
	memory[1] = memory[0] - memory[2];
	return gate(__func__);
}

/* nvmlPciInfo_t: the bus is 0x10 more than the number of the device. */
struct pci {
	char legacy_id[16];
	uint32_t domain, bus, device, device_id, subsystem_id;
	char id[32];
};

uint32_t nvmlDeviceGetPciInfo_v3(void *device, struct pci *pci);
uint32_t nvmlDeviceGetPciInfo_v3(void *device, struct pci *pci)
{
	*pci = (struct pci){.domain = 1, .bus = 0x10 + ordinal(device), .device = 2};
	return gate(__func__);
}

/* One: that of the knob "process" with "process_memory" bytes. */
struct process {
	uint32_t pid;
	uint64_t used_bytes;
	uint32_t gpu_instance, compute_instance;
};

uint32_t nvmlDeviceGetComputeRunningProcesses_v3(void *device, uint32_t *count,
						 struct process *processes);
uint32_t nvmlDeviceGetComputeRunningProcesses_v3(void *device, uint32_t *count,
						 struct process *processes)
{
	uint32_t pid = (uint32_t)knob("process", 0);

	if (pid && *count < 1)
		return 7; /* NVML_ERROR_INSUFFICIENT_SIZE */
	*count = pid != 0;
	if (pid)
		*processes =
			(struct process){pid, knob("process_memory", 0), UINT32_MAX, UINT32_MAX};
	return gate(__func__);
}

uint32_t nvmlDeviceGetClockInfo(void *device, uint32_t type, uint32_t *mhz);
uint32_t nvmlDeviceGetClockInfo(void *device, uint32_t type, uint32_t *mhz)
{
	return put(__func__, mhz, type == 1 ? knob("sm_clock", 1980) : knob("memory_clock", 3201));
}

uint32_t nvmlDeviceGetTemperature(void *device, uint32_t sensor, uint32_t *celsius);
uint32_t nvmlDeviceGetTemperature(void *device, uint32_t sensor, uint32_t *celsius)
{
	return put(__func__, celsius, knob("temperature", 40) + ordinal(device));
}

uint32_t nvmlDeviceGetPowerUsage(void *device, uint32_t *milliwatts);
uint32_t nvmlDeviceGetPowerUsage(void *device, uint32_t *milliwatts)
{
	return put(__func__, milliwatts, knob("power", 350000));
}

uint32_t nvmlDeviceGetEnforcedPowerLimit(void *device, uint32_t *milliwatts);
uint32_t nvmlDeviceGetEnforcedPowerLimit(void *device, uint32_t *milliwatts)
{
	return put(__func__, milliwatts, knob("power_limit", 700000));
}

uint32_t nvmlDeviceGetFanSpeed(void *device, uint32_t *percent);
uint32_t nvmlDeviceGetFanSpeed(void *device, uint32_t *percent)
{
	return put(__func__, percent, knob("fan_speed", 0));
}

uint32_t nvmlDeviceGetCurrentClocksThrottleReasons(void *device, uint64_t *reasons);
uint32_t nvmlDeviceGetCurrentClocksThrottleReasons(void *device, uint64_t *reasons)
{
	*reasons = knob("throttle", 0);
	return gate(__func__);
}

uint32_t nvmlDeviceGetPcieThroughput(void *device, uint32_t direction, uint32_t *kb_s);
uint32_t nvmlDeviceGetPcieThroughput(void *device, uint32_t direction, uint32_t *kb_s)
{
	usleep(20000);
	return put(__func__, kb_s,
		   direction ? knob("pcie_received", 2000) : knob("pcie_sent", 1000));
}

/* So many KiB a second, from the first call on. */
uint32_t nvmlDeviceGetFieldValues(void *device, int count, struct field *fields);
uint32_t nvmlDeviceGetFieldValues(void *device, int count, struct field *fields)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	for (int i = 0; i < count; i++) {
		const char *name = fields[i].field == 138   ? "nvlink_sent"
				   : fields[i].field == 139 ? "nvlink_received"
							    : NULL;
		uint64_t rate = name ? knob(name, 0) : 0;

		fields[i].result = rate && fields[i].scope == UINT32_MAX ? 0 : NOT_SUPPORTED;
		fields[i].type = 3;
		fields[i].value =
			(uint64_t)now.tv_sec * rate + (uint64_t)now.tv_nsec * rate / 1000000000;
	}
	return gate(__func__);
}
