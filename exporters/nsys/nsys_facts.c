/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/nsys/nsys_facts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/text.h"
#include "base/version.h"
#include "exporters/nsys/nsys_list_rows.h"

/* The shape of the tables: an export of this version has them so. */
#define SCHEMA_VERSION	     "3.25.0"
#define TIMESTAMP_RELATIVE   1 /* of DIAGNOSTIC_EVENT */
#define SOURCE_INJECTION     1
#define SEVERITY_INFORMATION 1
#define SEVERITY_WARNING     2
#define SEVERITY_ERROR	     3
#define STREAM_FLAG_NULL     3
#define STREAM_FLAG_OTHER    2 /* of streams nothing is known but their number */

/* ---- the tables ---- */

/* Made with their first row. Those that readers look for in any file are there without one, too. */
enum table {
	EXPORT,
	EXPORT_OLD, /* its name up to schema 3.0 */
	CAPTURE,
	DETAILS,
	SESSION_START,
	SYSTEM,
	DIAGNOSTIC,
	STRINGS,
	PROCESSES,
	THREADS,
	GPU,
	CUDA_DEVICE,
	CUDA_CONTEXT,
	CUDA_STREAM,
	TABLES,
};

/* clang-format off */
static const struct {
	bool always;
	const char *columns, *insert;
} tables[TABLES] = {
	[EXPORT] = {true, "META_DATA_EXPORT (name TEXT NOT NULL, value TEXT)",
		"META_DATA_EXPORT VALUES (?, ?)"},
	[EXPORT_OLD] = {true, "EXPORT_META_DATA (name TEXT NOT NULL, value TEXT)",
		"EXPORT_META_DATA VALUES (?, ?)"},
	[CAPTURE] = {false, "META_DATA_CAPTURE (name TEXT NOT NULL, value TEXT)",
		"META_DATA_CAPTURE VALUES (?, ?)"},
	[DETAILS] = {true, "ANALYSIS_DETAILS (globalVid INTEGER NOT NULL, duration INTEGER NOT NULL, startTime INTEGER NOT NULL, "
		"stopTime INTEGER NOT NULL)",
		"ANALYSIS_DETAILS VALUES (?, ?, 0, ?)"},
	[SESSION_START] = {false, "TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT, "
		"systemClockNs INTEGER)",
		"TARGET_INFO_SESSION_START_TIME VALUES (?, ?, ?, NULL)"},
	[SYSTEM] = {false, "TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, devStateName TEXT NOT NULL, name TEXT NOT NULL, "
		"nameEnum INTEGER NOT NULL, value TEXT NOT NULL)",
		"TARGET_INFO_SYSTEM_ENV VALUES (?, 'Local (CLI)', ?, ?, ?)"},
	[DIAGNOSTIC] = {false, "DIAGNOSTIC_EVENT (timestamp INTEGER NOT NULL, timestampType INTEGER NOT NULL, "
		"source INTEGER NOT NULL, severity INTEGER NOT NULL, text TEXT NOT NULL, globalPid INTEGER)",
		"DIAGNOSTIC_EVENT VALUES (?, ?, ?, ?, ?, NULL)"},
	[STRINGS] = {true, "StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL)",
		"StringIds VALUES (?, ?)"},
	[PROCESSES] = {true, "PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT)",
		"PROCESSES VALUES (?, ?, ?)"},
	[THREADS] = {true, "ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER)",
		"ThreadNames VALUES (?, ?, ?)"},
	[GPU] = {true, "TARGET_INFO_GPU (vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, busLocation TEXT, "
		"isDiscrete INTEGER, l2CacheSize INTEGER, totalMemory INTEGER, memoryBandwidth INTEGER, clockRate INTEGER, "
		"smCount INTEGER, pwGpuId INTEGER, uuid TEXT, luid INTEGER, chipName TEXT, cuDevice INTEGER, ctxswDevPath TEXT, "
		"ctrlDevPath TEXT, revision INTEGER, nodeMask INTEGER, constantMemory INTEGER, maxIPC INTEGER, "
		"maxRegistersPerBlock INTEGER, maxShmemPerBlock INTEGER, maxShmemPerBlockOptin INTEGER, maxShmemPerSm INTEGER, "
		"maxRegistersPerSm INTEGER, threadsPerWarp INTEGER, asyncEngines INTEGER, maxWarpsPerSm INTEGER, "
		"maxBlocksPerSm INTEGER, maxThreadsPerBlock INTEGER, maxBlockDimX INTEGER, maxBlockDimY INTEGER, "
		"maxBlockDimZ INTEGER, maxGridDimX INTEGER, maxGridDimY INTEGER, maxGridDimZ INTEGER, computeMajor INTEGER, "
		"computeMinor INTEGER, smMajor INTEGER, smMinor INTEGER)",
		"TARGET_INFO_GPU(vmId, id, name, busLocation, l2CacheSize, totalMemory, memoryBandwidth, clockRate, smCount, uuid, chipName, cuDevice, "
		"maxShmemPerSm, maxRegistersPerSm, threadsPerWarp, maxWarpsPerSm, maxBlocksPerSm, maxThreadsPerBlock, computeMajor, "
		"computeMinor, smMajor, smMinor) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
	[CUDA_DEVICE] = {false, "TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL, uuid TEXT, "
		"numMultiprocessors INTEGER)",
		"TARGET_INFO_CUDA_DEVICE VALUES (?, ?, ?, ?, ?)"},
	[CUDA_CONTEXT] = {false, "TARGET_INFO_CUDA_CONTEXT_INFO (nullStreamId INTEGER NOT NULL, hwId INTEGER NOT NULL, "
		"vmId INTEGER NOT NULL, processId INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, "
		"parentContextId INTEGER, isGreenContext INTEGER, numMultiprocessors INTEGER)",
		"TARGET_INFO_CUDA_CONTEXT_INFO VALUES (?, 0, 1, ?, ?, ?, NULL, NULL, NULL)"},
	[CUDA_STREAM] = {false, "TARGET_INFO_CUDA_STREAM (streamId INTEGER NOT NULL, hwId INTEGER NOT NULL, vmId INTEGER NOT NULL, "
		"processId INTEGER NOT NULL, contextId INTEGER NOT NULL, priority INTEGER NOT NULL, flag INTEGER NOT NULL)",
		"TARGET_INFO_CUDA_STREAM VALUES (?, 0, 1, ?, ?, 0, ?)"},
};
/* clang-format on */

struct facts {
	struct database *database;
	struct nsys_values *values;
	const struct view *view;
	const struct view_survey *survey;
	sqlite3_stmt *inserts[TABLES]; /* NULL: not made yet */
	struct err *err;
};

static int make_table(struct facts *facts, enum table table)
{
	struct text sql _cleanup_text_ = {0};
	int result;

	if (facts->inserts[table])
		return 0;
	text_appendf(&sql, "CREATE TABLE %s;", tables[table].columns);
	result = database_execute(facts->database, text_string(&sql), facts->err);
	text_clear(&sql);
	text_appendf(&sql, "INSERT INTO %s;", tables[table].insert);
	return result ? result
		      : database_prepare(facts->database, text_string(&sql), &facts->inserts[table],
					 facts->err);
}

/* facts, table, types and values as of database_insert(). */
#define add(facts, table, ...)                                                                \
	(make_table(facts, table)                                                             \
		 ?: database_insert((facts)->database, (facts)->inserts[table], (facts)->err, \
				    __VA_ARGS__))

/* ---- the recording ---- */

static void append_time(struct text *text, u64 realtime_ns, bool local)
{
	time_t seconds = realtime_ns / NS_PER_SECOND;
	char words[64];
	struct tm parts;

	if ((local ? localtime_r(&seconds, &parts) : gmtime_r(&seconds, &parts)) &&
	    strftime(words, sizeof(words), "%Y-%m-%dT%H:%M:%S", &parts))
		text_append(text, words);
}

static int write_export(struct facts *facts)
{
	struct text now _cleanup_text_ = {0};
	const char *const rows[][2] = {
		{"EXPORT_PRODUCT_NAME", "gpuprobe"},
		{"EXPORT_PRODUCT_VERSION", version_text()},
		{"EXPORT_SCHEMA_VERSION", SCHEMA_VERSION},
		{"EXPORT_SCHEMA_VERSION_MAJOR", "3"},
		{"EXPORT_SCHEMA_VERSION_MINOR", "25"},
		{"EXPORT_SCHEMA_VERSION_MICRO", "0"},
		{"EXPORT_PARAM_LAZY", "true"},
		{"EXPORT_TIME_UTC", NULL},
	};
	int result = 0;

	append_time(&now, (u64)time(NULL) * NS_PER_SECOND, false);
	for (size_t i = 0; i < ARRAY_SIZE(rows) && result == 0; i++) {
		const char *value = rows[i][1] ? rows[i][1] : text_string(&now);

		result = add(facts, EXPORT, "tt", rows[i][0], value);
		if (result == 0)
			result = add(facts, EXPORT_OLD, "tt", rows[i][0], value);
	}
	return result;
}

static int write_times(struct facts *facts)
{
	const struct view_survey *survey = facts->survey;
	struct text utc _cleanup_text_ = {0}, local _cleanup_text_ = {0};
	u64 start_ns, end_ns, realtime_ns = survey->realtime_offset_ns;
	s64 duration;
	int result;

	view_time_range(survey, &start_ns, &end_ns);
	duration = end_ns > start_ns ? end_ns - start_ns : 0;
	result = add(facts, DETAILS, "iii", (s64)NSYS_GLOBAL_VID, duration, duration);
	if (result || !realtime_ns)
		return result;
	append_time(&utc, start_ns + realtime_ns, false);
	append_time(&local, start_ns + realtime_ns, true);
	return add(facts, SESSION_START, "itt", (s64)(start_ns + realtime_ns), text_string(&utc),
		   text_string(&local));
}

static int add_system(struct facts *facts, const char *name, s64 number, const char *value)
{
	return add(facts, SYSTEM, "itit", (s64)NSYS_GLOBAL_VID, name, number, value);
}

static int write_driver_version(struct facts *facts)
{
	u32 version = view_cuda_driver_version(facts->view, 0);
	char number[32];

	snprintf(number, sizeof(number), "%u", version);
	return version ? add_system(facts, "CudaDriverVersion", 611, number) : 0;
}

/* The numbers are those of nsys. */
static int write_system(struct facts *facts)
{
	static const struct {
		const char *key, *name;
		s64 number;
	} rows[] = {{"hostname", "Hostname", 619}, {"cpus", "CpuCores", 1}};
	int result = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows) && result == 0; i++) {
		const char *value = view_attribute(facts->view, "host", rows[i].key);

		if (value)
			result = add_system(facts, rows[i].name, rows[i].number, value);
	}
	return result ? result : write_driver_version(facts);
}

/* ---- what is missing ---- */

static int add_diagnostic_at(struct facts *facts, s64 ts, s64 severity, const char *words)
{
	return add(facts, DIAGNOSTIC, "iiiit", ts, (s64)TIMESTAMP_RELATIVE, (s64)SOURCE_INJECTION,
		   severity, words);
}

static int add_diagnostic(struct facts *facts, s64 severity, const char *words)
{
	return add_diagnostic_at(facts, 0, severity, words);
}

/* As rows have it; 0: before. */
static s64 time_of(const struct facts *facts, u64 ns)
{
	u64 start_ns, end_ns;

	view_time_range(facts->survey, &start_ns, &end_ns);
	return ns > start_ns ? ns - start_ns : 0;
}

/* What could not be recorded, or is to be known of it: attributes of a group. */
static int write_remarks(struct facts *facts, const char *group, s64 severity)
{
	const struct view_survey *survey = facts->survey;
	int result = 0;

	for (size_t i = 0; i < survey->attribute_count && result == 0; i++) {
		const struct view_attribute *attribute = &survey->attributes[i];
		struct text words _cleanup_text_ = {0};

		if (strcmp(attribute->group, group) != 0)
			continue;
		text_appendf(&words, "%s: %s", attribute->key, attribute->value);
		result = add_diagnostic(facts, severity, text_string(&words));
	}
	return result;
}

/* The ledger, a sentence an entry, and what was said of the recording. */
static int write_diagnostics(struct facts *facts)
{
	const struct view_survey *survey = facts->survey;
	int result = 0;

	if (survey->cut)
		result = add_diagnostic(facts, SEVERITY_ERROR,
					"The recording was cut: what came later is missing.");
	for (size_t i = 0; i < survey->loss_count && result == 0; i++) {
		const struct view_loss *loss = &survey->losses[i];
		struct text words _cleanup_text_ = {0};

		text_appendf(&words, "%llu %s", (unsigned long long)loss->count, loss->meaning);
		if (*loss->place)
			text_appendf(&words, " (%s)", loss->place);
		result = add_diagnostic_at(facts, time_of(facts, loss->at_ns), SEVERITY_WARNING,
					   text_string(&words));
	}
	if (result == 0)
		result = write_remarks(facts, "failure", SEVERITY_ERROR);
	return result ? result : write_remarks(facts, "remark", SEVERITY_INFORMATION);
}

/* What ended inside the window, so that who reads the database takes nothing that was not recorded for idle: of which process, why, when,
 * and up to when all is there. */
static int write_ends(struct facts *facts)
{
	size_t count;
	const struct view_recording_end *ends = view_recording_ends(facts->view, &count);
	int result = 0;

	for (size_t i = 0; i < count && result == 0; i++) {
		const struct schema_enum_value *sort = schema_enum("recorded_sort", ends[i].sort);
		const struct schema_enum_value *why = schema_enum("recording_end_why", ends[i].why);
		struct text name _cleanup_text_ = {0}, value _cleanup_text_ = {0};

		if (!sort)
			continue;
		text_appendf(&name, NSYS_RECORDING_END "%s", sort->tag);
		text_appendf(&value, "%u %s %lld %lld", ends[i].pid, why ? why->tag : "unknown",
			     (long long)time_of(facts, ends[i].at_ns),
			     (long long)time_of(facts, ends[i].until_ns));
		result = add(facts, CAPTURE, "tt", text_string(&name), text_string(&value));
	}
	return result;
}

/* How it was recorded: what nsys says here too, and the options. Never the environment of a target. */
static int write_capture(struct facts *facts)
{
	const struct view_survey *survey = facts->survey;
	const char *hostname = view_attribute(facts->view, "host", "hostname");
	bool by_graph = view_kind_count(facts->view, KIND_graph_launch);
	int result = 0;

	if (hostname)
		result = add(facts, CAPTURE, "tt", "DEVICE_DISPLAY_NAME", hostname);
	if (result == 0 && (by_graph || view_kind_count(facts->view, KIND_kernel)))
		result = add(facts, CAPTURE, "tt", "CUDA_GRAPH_TRACE_OPTIONS:MODE",
			     by_graph ? "Graph" : "Node");
	for (size_t i = 0; i < survey->attribute_count && result == 0; i++) {
		const struct view_attribute *attribute = &survey->attributes[i];
		struct text name _cleanup_text_ = {0};

		if (strcmp(attribute->group, "option") != 0)
			continue;
		text_appendf(&name, "GPUPROBE_OPTION:%s", attribute->key);
		result = add(facts, CAPTURE, "tt", text_string(&name), attribute->value);
	}
	return result ? result : write_ends(facts);
}

/* ---- processes and threads ---- */

/* One without a name has no row, as in exports of nsys. */
static int write_thread(struct facts *facts, const struct view_row *row)
{
	const char *name = view_task_name(facts->view, row->pid, row->tid);
	s64 tid = nsys_global_tid(row->pid, row->tid), priority;

	if (!name)
		return 0;
	if (view_task_priority(facts->view, row->pid, row->tid, &priority))
		return add(facts, THREADS, "iii", (s64)nsys_values_string(facts->values, name),
			   priority, tid);
	return add(facts, THREADS, "iti", (s64)nsys_values_string(facts->values, name),
		   (const char *)NULL, tid);
}

static int write_processes(struct facts *facts)
{
	const struct view_survey *survey = facts->survey;
	u32 last_pid = 0;
	int result = 0;

	for (size_t i = 0; i < survey->row_count && result == 0; i++) {
		const struct view_row *row = &survey->rows[i];

		if (row->pid && row->pid != last_pid)
			result = add(facts, PROCESSES, "iit", (s64)nsys_global_tid(row->pid, 0),
				     (s64)row->pid, row->process_name);
		last_pid = row->pid;
		if (result == 0 && row->type == ROW_THREAD)
			result = write_thread(facts, row);
	}
	return result;
}

/* ---- GPUs ---- */

static const struct record_header *const *facts_of(const struct facts *facts, u16 kind,
						   size_t *ret_count)
{
	return view_facts(facts->view, kind, ret_count);
}

static const char *append_uuid(const struct record_device *device, struct text *text)
{
	static const u8 unknown[sizeof(device->uuid)];

	if (!memcmp(device->uuid, unknown, sizeof(unknown)))
		return NULL;
	for (size_t i = 0; i < sizeof(device->uuid); i++)
		text_appendf(text, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			     device->uuid[i]);
	return text_string(text);
}

/* Readers join events with them by number: the first of a number is the one that is listed. */
static bool is_first_of_number(const struct record_header *const *devices, size_t place)
{
	const struct record_device *device = (const struct record_device *)devices[place];

	for (size_t i = 0; i < place; i++)
		if (devices[i] &&
		    ((const struct record_device *)devices[i])->number == device->number)
			return false;
	return true;
}

/* By compute capability, where all GPUs that have it are made of one chip (CUDA's list of them, developer.nvidia.com/cuda-gpus); else NULL:
 * CUPTI tells no chip. */
static const char *chip_name(const struct record_device *device)
{
	static const struct {
		u32 major, minor;
		const char *chip;
	} chips[] = {
		{6, 0, "GP100"},
		{7, 0, "GV100"},
		{8, 0, "GA100"},
		{9, 0, "GH100"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(chips); i++)
		if (chips[i].major == device->compute_major &&
		    chips[i].minor == device->compute_minor)
			return chips[i].chip;
	return NULL;
}

static int write_device(struct facts *facts, const struct record_device *device)
{
	struct text uuid _cleanup_text_ = {0};
	const char *name = view_text(facts->view, device->header.name);
	const struct record_gpu_at_attach *at_attach = view_gpu_at_attach(facts->view, device->id);
	bool is_placed = at_attach && at_attach->pci_bus != ~0U;
	char address[32] = "";

	if (is_placed)
		snprintf(address, sizeof(address), "%04x:%02x:%02x.0", at_attach->pci_domain,
			 at_attach->pci_bus, at_attach->pci_device);
	s64 major = device->compute_major;
	s64 minor = device->compute_minor == ~0U ? 0 : device->compute_minor;

	return add(facts, GPU, "iittiiiiittiiiiiiiiiii", (s64)NSYS_GLOBAL_VID, (s64)device->number,
		   name ? name : "GPU", is_placed ? address : NULL, (s64)device->l2_cache_bytes,
		   (s64)device->memory_bytes, (s64)device->memory_bandwidth_kb_s * 1000,
		   (s64)device->core_clock_khz * 1000, (s64)device->multiprocessors,
		   append_uuid(device, &uuid), chip_name(device), (s64)device->number,
		   (s64)device->shared_memory_per_multiprocessor_bytes,
		   (s64)device->registers_per_multiprocessor, (s64)device->threads_per_warp,
		   (s64)device->warps_per_multiprocessor, (s64)device->blocks_per_multiprocessor,
		   (s64)device->threads_per_block, major, minor, major, minor);
}

static int write_devices(struct facts *facts)
{
	size_t count;
	const struct record_header *const *devices = facts_of(facts, KIND_device, &count);
	int result = 0;

	for (size_t i = 0; i < count && result == 0; i++) {
		const struct record_device *fact = (const struct record_device *)devices[i];
		struct text uuid _cleanup_text_ = {0};

		if (!fact || fact->number == ~0U)
			continue;
		if (is_first_of_number(devices, i))
			result = write_device(facts, fact);
		if (result == 0)
			result = add(facts, CUDA_DEVICE, "iiiti", (s64)fact->number,
				     (s64)fact->number, (s64)fact->header.pid,
				     append_uuid(fact, &uuid), (s64)fact->multiprocessors);
	}
	return result;
}

static s64 number_of_device(const struct facts *facts, u32 id)
{
	const struct record_device *device =
		(const struct record_device *)view_fact(facts->view, KIND_device, id);

	return device && device->number != ~0U ? device->number : 0;
}

static int write_contexts(struct facts *facts)
{
	size_t count;
	const struct record_header *const *contexts = facts_of(facts, KIND_context, &count);
	int result = 0;

	for (size_t i = 0; i < count && result == 0; i++) {
		const struct record_context *fact = (const struct record_context *)contexts[i];

		if (fact && fact->number != ~0U)
			result = add(facts, CUDA_CONTEXT, "iiii",
				     (s64)(fact->null_stream == ~0U ? 0 : fact->null_stream),
				     (s64)fact->header.pid, number_of_device(facts, fact->device),
				     (s64)fact->number);
	}
	return result;
}

static int write_streams(struct facts *facts)
{
	size_t count;
	const struct record_header *const *streams = facts_of(facts, KIND_stream, &count);
	int result = 0;

	for (size_t i = 0; i < count && result == 0; i++) {
		const struct record_stream *fact = (const struct record_stream *)streams[i];
		const struct record_context *context;

		if (!fact || fact->number == ~0U)
			continue;
		context = (const struct record_context *)view_fact(facts->view, KIND_context,
								   fact->context);
		result = add(facts, CUDA_STREAM, "iiii", (s64)fact->number, (s64)fact->header.pid,
			     (s64)(context && context->number != ~0U ? context->number : 0),
			     (s64)(context && context->null_stream == fact->number
					   ? STREAM_FLAG_NULL
					   : STREAM_FLAG_OTHER));
	}
	return result;
}

/* ---- enums and strings ---- */

static int write_enums(struct facts *facts)
{
	size_t count;
	const struct nsys_enum_row *rows = nsys_enum_rows(&count);
	struct text sql _cleanup_text_ = {0};
	const char *table = "";

	for (size_t i = 0; i < count; i++) {
		if (strcmp(table, rows[i].table) != 0)
			text_appendf(&sql,
				     "CREATE TABLE %s (id INTEGER NOT NULL PRIMARY KEY, name TEXT, "
				     "label TEXT);",
				     rows[i].table);
		table = rows[i].table;
		text_appendf(&sql, "INSERT INTO %s VALUES (%u, '%s', '%s');", table, rows[i].number,
			     rows[i].name, rows[i].label);
	}
	return database_execute(facts->database, text_string(&sql), facts->err);
}

/* Their names are strings, too. */
static int write_lists(struct facts *facts)
{
	return nsys_lists_write(facts->database, facts->values, facts->err);
}

static int write_strings(struct facts *facts)
{
	const struct string_table *strings = &facts->values->strings;
	int result = 0;

	for (size_t i = 0; i < strings->count && result == 0; i++)
		result = add(facts, STRINGS, "it", (s64)(i + 1), strings->strings[i]);
	return result;
}

/* ---- all of them ---- */

int nsys_facts_write(struct database *database, struct nsys_values *values, struct err *err)
{
	static int (*const parts[])(struct facts * facts) = {
		write_export,	 write_capture, write_times,	write_system,
		write_processes, write_devices, write_contexts, write_streams,
		write_enums,	 write_lists,	write_strings,	write_diagnostics,
	};
	struct facts facts = {.database = database,
			      .values = values,
			      .view = values->view,
			      .survey = view_survey(values->view),
			      .err = err};
	int result = 0;

	for (size_t i = 0; i < TABLES && result == 0; i++)
		if (tables[i].always)
			result = make_table(&facts, i);
	for (size_t i = 0; i < ARRAY_SIZE(parts) && result == 0; i++)
		result = parts[i](&facts);
	for (size_t i = 0; i < TABLES; i++)
		sqlite3_finalize(facts.inserts[i]);
	return result;
}
