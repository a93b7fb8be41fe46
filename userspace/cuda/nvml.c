/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cuda/nvml.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define LIBRARY			"libnvidia-ml.so.1"
#define UUID_BYTES		16
#define UUID_TEXT_BYTES		96 /* NVML_DEVICE_UUID_V2_BUFFER_SIZE */
#define CLOCK_SM		1  /* nvmlClockType_t */
#define CLOCK_MEMORY		2
#define SENSOR_GPU		0 /* nvmlTemperatureSensors_t */
#define PCIE_SENT		0 /* nvmlPcieUtilCounter_t */
#define PCIE_RECEIVED		1
#define FIELD_NVLINK_SENT	138 /* NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, KiB */
#define FIELD_NVLINK_RECEIVED	139
#define SCOPE_ALL_LINKS		0xffffffffU
#define TYPE_UNSIGNED_LONG_LONG 3 /* nvmlValueType_t */

/* nvmlUtilization_t, nvmlMemory_t, nvmlPciInfo_t, nvmlProcessInfo_t, nvmlFieldValue_t of nvml.h. */
struct nvml_utilization {
	u32 gpu, memory;
};

struct nvml_memory {
	u64 total, free, used;
};

struct nvml_pci {
	char legacy_id[16];
	u32 domain, bus, device, device_id, subsystem_id;
	char id[32];
};

struct nvml_process {
	u32 pid;
	u64 used_bytes;
	u32 gpu_instance, compute_instance;
};

struct nvml_field {
	u32 field, scope;
	s64 timestamp_us, latency_us;
	u32 value_type, result;
	u64 value;
};

_Static_assert(sizeof(struct nvml_field) == 40, "nvmlFieldValue_t has 40 bytes");
_Static_assert(sizeof(struct nvml_pci) == 68, "nvmlPciInfo_t has 68 bytes");
_Static_assert(sizeof(struct nvml_process) == 24, "nvmlProcessInfo_t has 24 bytes");

struct nvml {
	void *library;
	struct {
#define CALL(need, name, ...) u32 (*name)(__VA_ARGS__);
#include "cuda/nvml_calls.def"
#undef CALL
	} calls;
	u32 count;
	struct {
		void *handle;
		u8 uuid[UUID_BYTES];
	} devices[NVML_DEVICES_MAX];
};

/* false: one that is required is missing. */
static bool find_calls(struct nvml *nvml)
{
	enum { REQUIRED, OPTIONAL };
	const struct {
		int need;
		const char *name;
		void **call;
	} rows[] = {
#define CALL(need, name, ...) {need, "nvml" #name, (void **)&nvml->calls.name},
#include "cuda/nvml_calls.def"
#undef CALL
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		*rows[i].call = dlsym(nvml->library, rows[i].name);
		if (!*rows[i].call && rows[i].need == REQUIRED)
			return false;
	}
	return true;
}

static int digit_of(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* GPU-6a2b...: 32 digits with dashes between. */
static bool parse_uuid(const char *text, u8 *ret_uuid)
{
	size_t digits = 0;

	if (strncmp(text, "GPU-", 4) != 0)
		return false;
	for (text += 4; *text; text++) {
		int digit = digit_of(*text);

		if (*text == '-')
			continue;
		if (digit < 0 || digits == 2 * UUID_BYTES)
			return false;
		ret_uuid[digits / 2] = ret_uuid[digits / 2] << 4 | digit;
		digits++;
	}
	return digits == 2 * UUID_BYTES;
}

static void find_devices(struct nvml *nvml)
{
	u32 count = 0;

	if (nvml->calls.DeviceGetCount_v2(&count))
		return;
	for (u32 i = 0; i < count && nvml->count < NVML_DEVICES_MAX; i++) {
		char text[UUID_TEXT_BYTES] = "";
		void *handle = NULL;

		/* One that does not answer now is not read. */
		if (nvml->calls.DeviceGetHandleByIndex_v2(i, &handle) ||
		    nvml->calls.DeviceGetUUID(handle, text, sizeof(text) - 1) ||
		    !parse_uuid(text, nvml->devices[nvml->count].uuid))
			continue;
		nvml->devices[nvml->count++].handle = handle;
	}
}

struct nvml *nvml_open(const char **ret_why)
{
	struct nvml *nvml = calloc(1, sizeof(*nvml));

	*ret_why = "no memory";
	if (!nvml)
		return NULL;
	nvml->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	*ret_why = !nvml->library	   ? "there is no " LIBRARY " here"
		   : !find_calls(nvml)	   ? LIBRARY " lacks functions"
		   : nvml->calls.Init_v2() ? LIBRARY " finds no driver"
					   : NULL;
	if (*ret_why) {
		if (nvml->library)
			dlclose(nvml->library);
		free(nvml);
		return NULL;
	}
	find_devices(nvml);
	return nvml;
}

u32 nvml_count(const struct nvml *nvml)
{
	return nvml->count;
}

const u8 *nvml_uuid(const struct nvml *nvml, u32 device)
{
	return nvml->devices[device].uuid;
}

/* The value of a call that is there and succeeds. */
#define READ(destination, call, ...)                                       \
	do {                                                               \
		__typeof__(destination) read_value = 0;                    \
		if (calls->call && !calls->call(__VA_ARGS__, &read_value)) \
			(destination) = read_value;                        \
	} while (0)

static void read_nvlink(const struct nvml *nvml, void *handle, struct nvml_values *values)
{
	struct nvml_field fields[] = {{.field = FIELD_NVLINK_SENT, .scope = SCOPE_ALL_LINKS},
				      {.field = FIELD_NVLINK_RECEIVED, .scope = SCOPE_ALL_LINKS}};
	u64 *const destinations[] = {&values->nvlink_sent_kib, &values->nvlink_received_kib};

	if (!nvml->calls.DeviceGetFieldValues ||
	    nvml->calls.DeviceGetFieldValues(handle, ARRAY_SIZE(fields), fields))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (!fields[i].result && fields[i].value_type == TYPE_UNSIGNED_LONG_LONG)
			*destinations[i] = fields[i].value;
}

void nvml_read(const struct nvml *nvml, u32 device, struct nvml_values *ret_values)
{
	__typeof__(nvml->calls) const *calls = &nvml->calls;
	void *handle = nvml->devices[device].handle;
	struct nvml_utilization utilization;
	struct nvml_memory memory;
	u32 sent = ret_values->pcie_sent_kb_s, received = ret_values->pcie_received_kb_s;

	memset(ret_values, 0xff, sizeof(*ret_values));
	ret_values->pcie_sent_kb_s = sent;
	ret_values->pcie_received_kb_s = received;
	READ(ret_values->sm_clock_mhz, DeviceGetClockInfo, handle, CLOCK_SM);
	READ(ret_values->memory_clock_mhz, DeviceGetClockInfo, handle, CLOCK_MEMORY);
	READ(ret_values->temperature_celsius, DeviceGetTemperature, handle, SENSOR_GPU);
	READ(ret_values->power_milliwatts, DeviceGetPowerUsage, handle);
	READ(ret_values->power_limit_milliwatts, DeviceGetEnforcedPowerLimit, handle);
	READ(ret_values->fan_percent, DeviceGetFanSpeed, handle);
	READ(ret_values->throttle_reasons, DeviceGetCurrentClocksThrottleReasons, handle);
	if (calls->DeviceGetUtilizationRates &&
	    !calls->DeviceGetUtilizationRates(handle, &utilization)) {
		ret_values->busy_percent = utilization.gpu;
		ret_values->memory_busy_percent = utilization.memory;
	}
	if (calls->DeviceGetMemoryInfo && !calls->DeviceGetMemoryInfo(handle, &memory))
		ret_values->memory_used_bytes = memory.used;
	read_nvlink(nvml, handle, ret_values);
}

void nvml_read_pcie(const struct nvml *nvml, u32 device, struct nvml_values *values)
{
	__typeof__(nvml->calls) const *calls = &nvml->calls;
	void *handle = nvml->devices[device].handle;

	READ(values->pcie_sent_kb_s, DeviceGetPcieThroughput, handle, PCIE_SENT);
	READ(values->pcie_received_kb_s, DeviceGetPcieThroughput, handle, PCIE_RECEIVED);
}

void nvml_read_place(const struct nvml *nvml, u32 device, struct nvml_place *ret_place)
{
	struct nvml_pci pci;

	memset(ret_place, 0xff, sizeof(*ret_place));
	if (nvml->calls.DeviceGetPciInfo_v3 &&
	    !nvml->calls.DeviceGetPciInfo_v3(nvml->devices[device].handle, &pci))
		*ret_place = (struct nvml_place){pci.domain, pci.bus, pci.device};
}

u32 nvml_read_processes(const struct nvml *nvml, u32 device,
			struct nvml_process_memory *ret_processes, u32 processes_max)
{
	_cleanup_free_ struct nvml_process *processes = calloc(processes_max, sizeof(*processes));
	u32 count = processes_max;

	/* Of more than there is room for it writes none. */
	if (!processes || !nvml->calls.DeviceGetComputeRunningProcesses_v3 ||
	    nvml->calls.DeviceGetComputeRunningProcesses_v3(nvml->devices[device].handle, &count,
							    processes) ||
	    count > processes_max)
		return 0;
	for (u32 i = 0; i < count; i++)
		ret_processes[i] =
			(struct nvml_process_memory){processes[i].pid, processes[i].used_bytes};
	return count;
}

struct nvml *nvml_close(struct nvml *nvml)
{
	if (!nvml)
		return NULL;
	nvml->calls.Shutdown();
	dlclose(nvml->library);
	free(nvml);
	return NULL;
}
