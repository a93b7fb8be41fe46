#include "exporters/nsys_facts.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/text.h"
#include "base/version.h"

/* The shape of the tables: an export of this version has them so. */
#define SCHEMA_VERSION	   "3.25.0"
#define TIMESTAMP_RELATIVE 1 /* of DIAGNOSTIC_EVENT */
#define SOURCE_INJECTION   1
#define SEVERITY_WARNING   2
#define SEVERITY_ERROR	   3
#define STREAM_FLAG_NULL   3
#define STREAM_FLAG_OTHER  2 /* of streams nothing is known but their number */

struct facts {
	struct database *database;
	struct nsys_values *values;
	const struct view *view;
	const struct view_survey *survey;
	struct err *err;
};

/* ---- one statement ---- */

static int prepare(struct facts *facts, const char *sql, sqlite3_stmt **ret_statement)
{
	return database_prepare(facts->database, sql, ret_statement, facts->err);
}

/* types: one letter a value: i an s64, t a text, which may be NULL. */
static int insert(struct facts *facts, sqlite3_stmt *statement, const char *types, ...)
{
	va_list values;
	int bound = SQLITE_OK;

	va_start(values, types);
	for (int i = 0; types[i] && bound == SQLITE_OK; i++) {
		if (types[i] == 'i')
			bound = sqlite3_bind_int64(statement, i + 1, va_arg(values, s64));
		else
			bound = sqlite3_bind_text(statement, i + 1, va_arg(values, const char *),
						  -1, SQLITE_TRANSIENT);
	}
	va_end(values);
	if (bound != SQLITE_OK)
		return err_errno(facts->err, -ENOMEM, "can't write the database");
	return database_run(facts->database, statement, facts->err);
}

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

/* Both names: up to schema 3.0 it was the other one. */
static int write_export(struct facts *facts, const char *table)
{
	static const char *const rows[][2] = {
		{"EXPORT_PRODUCT_NAME", "gpuprobe"},
		{"EXPORT_PRODUCT_VERSION", GPUPROBE_VERSION},
		{"EXPORT_SCHEMA_VERSION", SCHEMA_VERSION},
		{"EXPORT_SCHEMA_VERSION_MAJOR", "3"},
		{"EXPORT_SCHEMA_VERSION_MINOR", "25"},
		{"EXPORT_SCHEMA_VERSION_MICRO", "0"},
		{"EXPORT_PARAM_LAZY", "true"},
	};
	struct text sql _cleanup_text_ = {0};
	sqlite3_stmt *statement = NULL;
	int result;

	text_appendf(&sql, "CREATE TABLE %s (name TEXT NOT NULL, value TEXT);", table);
	result = database_execute(facts->database, text_string(&sql), facts->err);
	text_clear(&sql);
	text_appendf(&sql, "INSERT INTO %s VALUES (?, ?);", table);
	if (result == 0)
		result = prepare(facts, text_string(&sql), &statement);
	for (size_t i = 0; i < ARRAY_SIZE(rows) && result == 0; i++)
		result = insert(facts, statement, "tt", rows[i][0], rows[i][1]);
	sqlite3_finalize(statement);
	return result;
}

static int write_times(struct facts *facts)
{
	const struct view_survey *survey = facts->survey;
	struct text utc _cleanup_text_ = {0}, local _cleanup_text_ = {0};
	u64 start_ns = facts->values->start_ns, realtime_ns = survey->realtime_offset_ns;
	u64 end_ns =
		survey->window_end_ns > survey->last_ns ? survey->window_end_ns : survey->last_ns;
	s64 duration = end_ns > start_ns ? end_ns - start_ns : 0;
	sqlite3_stmt *details = NULL, *start = NULL;
	int result = prepare(facts, "INSERT INTO ANALYSIS_DETAILS VALUES (?, ?, ?, ?);", &details);

	if (result == 0)
		result = insert(facts, details, "iiii", (s64)NSYS_GLOBAL_VID, duration, (s64)0,
				duration);
	if (result == 0 && realtime_ns) {
		append_time(&utc, start_ns + realtime_ns, false);
		append_time(&local, start_ns + realtime_ns, true);
		result = prepare(
			facts, "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (?, ?, ?, NULL);",
			&start);
		if (result == 0)
			result = insert(facts, start, "itt", (s64)(start_ns + realtime_ns),
					text_string(&utc), text_string(&local));
	}
	sqlite3_finalize(details);
	sqlite3_finalize(start);
	return result;
}

/* The numbers are those of nsys. */
static int write_system(struct facts *facts)
{
	static const struct {
		const char *key, *name;
		s64 number;
	} rows[] = {{"hostname", "Hostname", 619}, {"cpus", "CpuCores", 1}};
	sqlite3_stmt *statement = NULL;
	int result = prepare(
		facts, "INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (?, 'Local (CLI)', ?, ?, ?);",
		&statement);

	for (size_t i = 0; i < ARRAY_SIZE(rows) && result == 0; i++) {
		const char *value = view_attribute(facts->view, "host", rows[i].key);

		if (value)
			result = insert(facts, statement, "itit", (s64)NSYS_GLOBAL_VID,
					rows[i].name, rows[i].number, value);
	}
	sqlite3_finalize(statement);
	return result;
}

/* The ledger, a sentence an entry. */
static int write_diagnostics(struct facts *facts)
{
	const struct view_survey *survey = facts->survey;
	sqlite3_stmt *statement = NULL;
	int result = prepare(facts, "INSERT INTO DIAGNOSTIC_EVENT VALUES (0, ?, ?, ?, ?, NULL);",
			     &statement);

	if (result == 0 && survey->cut)
		result = insert(facts, statement, "iiit", (s64)TIMESTAMP_RELATIVE,
				(s64)SOURCE_INJECTION, (s64)SEVERITY_ERROR,
				"The recording was cut: what came later is missing.");
	for (size_t i = 0; i < survey->loss_count && result == 0; i++) {
		const struct view_loss *loss = &survey->losses[i];
		struct text words _cleanup_text_ = {0};

		text_appendf(&words, "%llu %s", (unsigned long long)loss->count, loss->meaning);
		if (*loss->place)
			text_appendf(&words, " (%s)", loss->place);
		result = insert(facts, statement, "iiit", (s64)TIMESTAMP_RELATIVE,
				(s64)SOURCE_INJECTION, (s64)SEVERITY_WARNING, text_string(&words));
	}
	sqlite3_finalize(statement);
	return result;
}

/* ---- processes and threads ---- */

static int write_processes(struct facts *facts)
{
	sqlite3_stmt *process = NULL, *thread = NULL;
	const struct view_survey *survey = facts->survey;
	u32 last_pid = 0;
	int result = prepare(facts, "INSERT INTO PROCESSES VALUES (?, ?, ?);", &process);

	if (result == 0)
		result = prepare(facts, "INSERT INTO ThreadNames VALUES (?, NULL, ?);", &thread);
	for (size_t i = 0; i < survey->row_count && result == 0; i++) {
		const struct view_row *row = &survey->rows[i];

		if (row->pid && row->pid != last_pid)
			result = insert(facts, process, "iit", (s64)nsys_global_tid(row->pid, 0),
					(s64)row->pid, row->process_name);
		last_pid = row->pid;
		if (result == 0 && row->type == ROW_THREAD)
			result = insert(facts, thread, "ii",
					(s64)nsys_values_string(facts->values, row->name),
					(s64)nsys_global_tid(row->pid, row->tid));
	}
	sqlite3_finalize(process);
	sqlite3_finalize(thread);
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

static int write_device(struct facts *facts, sqlite3_stmt *statement,
			const struct record_device *device)
{
	struct text uuid _cleanup_text_ = {0};
	const char *name = view_text(facts->view, device->header.name);

	return insert(facts, statement, "iitiiiiitiiiiiiiii", (s64)NSYS_GLOBAL_VID,
		      (s64)device->number, name ? name : "GPU", (s64)device->l2_cache_bytes,
		      (s64)device->memory_bytes, (s64)device->memory_bandwidth_kb_s * 1000,
		      (s64)device->core_clock_khz * 1000, (s64)device->multiprocessors,
		      append_uuid(device, &uuid), (s64)device->number,
		      (s64)device->shared_memory_per_multiprocessor_bytes,
		      (s64)device->registers_per_multiprocessor, (s64)device->threads_per_warp,
		      (s64)device->warps_per_multiprocessor, (s64)device->blocks_per_multiprocessor,
		      (s64)device->threads_per_block, (s64)device->compute_major,
		      (s64)(device->compute_minor == ~0U ? 0 : device->compute_minor));
}

static int write_devices(struct facts *facts)
{
	size_t count;
	const struct record_header *const *devices = facts_of(facts, KIND_device, &count);
	sqlite3_stmt *gpu = NULL, *device = NULL;
	int result =
		prepare(facts,
			"INSERT INTO TARGET_INFO_GPU(vmId, id, name, l2CacheSize, totalMemory, "
			"memoryBandwidth, clockRate, smCount, uuid, cuDevice, maxShmemPerSm, "
			"maxRegistersPerSm, threadsPerWarp, maxWarpsPerSm, maxBlocksPerSm, "
			"maxThreadsPerBlock, computeMajor, computeMinor, isDiscrete) "
			"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL);",
			&gpu);

	if (result == 0)
		result = prepare(facts,
				 "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (?, ?, ?, ?, ?);",
				 &device);
	for (size_t i = 0; i < count && result == 0; i++) {
		const struct record_device *fact = (const struct record_device *)devices[i];
		struct text uuid _cleanup_text_ = {0};

		if (!fact || fact->number == ~0U)
			continue;
		if (is_first_of_number(devices, i))
			result = write_device(facts, gpu, fact);
		if (result == 0)
			result = insert(facts, device, "iiiti", (s64)fact->number,
					(s64)fact->number, (s64)fact->header.pid,
					append_uuid(fact, &uuid), (s64)fact->multiprocessors);
	}
	sqlite3_finalize(gpu);
	sqlite3_finalize(device);
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
	sqlite3_stmt *statement = NULL;
	int result = prepare(facts,
			     "INSERT INTO TARGET_INFO_CUDA_CONTEXT_INFO VALUES (?, 0, 1, ?, ?, ?, "
			     "NULL, NULL, NULL);",
			     &statement);

	for (size_t i = 0; i < count && result == 0; i++) {
		const struct record_context *fact = (const struct record_context *)contexts[i];

		if (fact && fact->number != ~0U)
			result = insert(facts, statement, "iiii",
					(s64)(fact->null_stream == ~0U ? 0 : fact->null_stream),
					(s64)fact->header.pid,
					number_of_device(facts, fact->device), (s64)fact->number);
	}
	sqlite3_finalize(statement);
	return result;
}

static int write_streams(struct facts *facts)
{
	size_t count;
	const struct record_header *const *streams = facts_of(facts, KIND_stream, &count);
	sqlite3_stmt *statement = NULL;
	int result =
		prepare(facts, "INSERT INTO TARGET_INFO_CUDA_STREAM VALUES (?, 0, 1, ?, ?, 0, ?);",
			&statement);

	for (size_t i = 0; i < count && result == 0; i++) {
		const struct record_stream *fact = (const struct record_stream *)streams[i];
		const struct record_context *context;

		if (!fact || fact->number == ~0U)
			continue;
		context = (const struct record_context *)view_fact(facts->view, KIND_context,
								   fact->context);
		result = insert(facts, statement, "iiii", (s64)fact->number, (s64)fact->header.pid,
				(s64)(context && context->number != ~0U ? context->number : 0),
				(s64)(context && context->null_stream == fact->number
					      ? STREAM_FLAG_NULL
					      : STREAM_FLAG_OTHER));
	}
	sqlite3_finalize(statement);
	return result;
}

/* ---- strings ---- */

/* A row for each domain that a range was of: readers find its name by process and number. */
static int write_domains(struct facts *facts)
{
	const struct nsys_values *values = facts->values;
	sqlite3_stmt *statement = NULL;
	int result;

	if (!values->domain_count)
		return 0;
	result = prepare(facts,
			 "INSERT INTO NVTX_EVENTS(start, eventType, text, globalTid, domainId) "
			 "VALUES (0, ?, ?, ?, ?);",
			 &statement);
	for (size_t i = 0; i < values->domain_count && result == 0; i++) {
		const struct nsys_domain *domain = &values->domains[i];

		result = insert(facts, statement, "itii", (s64)NSYS_NVTX_DOMAIN, domain->name,
				(s64)nsys_global_tid(domain->pid, domain->tid), (s64)(i + 1));
	}
	sqlite3_finalize(statement);
	return result;
}

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

static int write_strings(struct facts *facts)
{
	const struct string_table *strings = &facts->values->strings;
	sqlite3_stmt *statement = NULL;
	int result = prepare(facts, "INSERT INTO StringIds VALUES (?, ?);", &statement);

	for (size_t i = 0; i < strings->count && result == 0; i++)
		result = insert(facts, statement, "it", (s64)(i + 1), strings->strings[i]);
	sqlite3_finalize(statement);
	return result;
}

/* ---- all of them ---- */

/* clang-format off */
static const char tables[] =
	"CREATE TABLE META_DATA_CAPTURE (name TEXT NOT NULL, value TEXT);"
	"CREATE TABLE ANALYSIS_DETAILS (globalVid INTEGER NOT NULL, duration INTEGER NOT NULL, "
		"startTime INTEGER NOT NULL, stopTime INTEGER NOT NULL);"
	"CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT, systemClockNs INTEGER);"
	"CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, devStateName TEXT NOT NULL, name TEXT NOT NULL, "
		"nameEnum INTEGER NOT NULL, value TEXT NOT NULL);"
	"CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER NOT NULL, timestampType INTEGER NOT NULL, source INTEGER NOT NULL, "
		"severity INTEGER NOT NULL, text TEXT NOT NULL, globalPid INTEGER);"
	"CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
	"CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);"
	"CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);"
	"CREATE TABLE TARGET_INFO_GPU (vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, busLocation TEXT, "
		"isDiscrete INTEGER, l2CacheSize INTEGER, totalMemory INTEGER, memoryBandwidth INTEGER, clockRate INTEGER, "
		"smCount INTEGER, pwGpuId INTEGER, uuid TEXT, luid INTEGER, chipName TEXT, cuDevice INTEGER, ctxswDevPath TEXT, "
		"ctrlDevPath TEXT, revision INTEGER, nodeMask INTEGER, constantMemory INTEGER, maxIPC INTEGER, "
		"maxRegistersPerBlock INTEGER, maxShmemPerBlock INTEGER, maxShmemPerBlockOptin INTEGER, maxShmemPerSm INTEGER, "
		"maxRegistersPerSm INTEGER, threadsPerWarp INTEGER, asyncEngines INTEGER, maxWarpsPerSm INTEGER, "
		"maxBlocksPerSm INTEGER, maxThreadsPerBlock INTEGER, maxBlockDimX INTEGER, maxBlockDimY INTEGER, "
		"maxBlockDimZ INTEGER, maxGridDimX INTEGER, maxGridDimY INTEGER, maxGridDimZ INTEGER, computeMajor INTEGER, "
		"computeMinor INTEGER, smMajor INTEGER, smMinor INTEGER);"
	"CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL, uuid TEXT, "
		"numMultiprocessors INTEGER);"
	"CREATE TABLE TARGET_INFO_CUDA_CONTEXT_INFO (nullStreamId INTEGER NOT NULL, hwId INTEGER NOT NULL, vmId INTEGER NOT NULL, "
		"processId INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, parentContextId INTEGER, "
		"isGreenContext INTEGER, numMultiprocessors INTEGER);"
	"CREATE TABLE TARGET_INFO_CUDA_STREAM (streamId INTEGER NOT NULL, hwId INTEGER NOT NULL, vmId INTEGER NOT NULL, "
		"processId INTEGER NOT NULL, contextId INTEGER NOT NULL, priority INTEGER NOT NULL, flag INTEGER NOT NULL);";
/* clang-format on */

int nsys_facts_write(struct database *database, struct nsys_values *values, struct err *err)
{
	static int (*const parts[])(struct facts * facts) = {
		write_times,	write_system,  write_diagnostics, write_processes, write_devices,
		write_contexts, write_streams, write_domains,	  write_enums,	   write_strings,
	};
	struct facts facts = {database, values, values->view, view_survey(values->view), err};
	int result = database_execute(database, tables, err);

	if (result == 0)
		result = write_export(&facts, "META_DATA_EXPORT");
	if (result == 0)
		result = write_export(&facts, "EXPORT_META_DATA");
	for (size_t i = 0; i < ARRAY_SIZE(parts) && result == 0; i++)
		result = parts[i](&facts);
	return result;
}
