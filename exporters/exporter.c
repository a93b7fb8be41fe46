/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/exporter.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/output.h"
#include "base/text.h"
#include "exporters/chrome/chrome.h"
#include "exporters/folded.h"
#include "exporters/ndjson.h"
#include "exporters/nsys/nsys.h"
#include "exporters/perfetto/perfetto.h"
#include "exporters/pprof/pprof.h"
#include "exporters/xplane/xplane.h"
#include "exporters/xplane/xplane_file.h"

#define EXPORTER_CAPTURE_SUFFIX ".gpr"
#define EXPORTER_GZIP_SUFFIX	".gz"

static const struct exporter exporter_table[] = {
	{
		.format = "chrome",
		.suffixes = ".json .json.gz",
		.meaning = "Chrome trace events: ui.perfetto.dev, chrome://tracing",
		.sink = &chrome_sink,
		.create = chrome_create,
		.finish = chrome_finish,
	},
	{
		.format = "perfetto",
		.suffixes = ".pftrace .pftrace.gz",
		.meaning = "a trace in Perfetto's own format: ui.perfetto.dev",
		.sink = &perfetto_sink,
		.create = perfetto_create,
		.finish = perfetto_finish,
	},
	{
		.format = "ndjson",
		.suffixes = ".ndjson .ndjson.gz",
		.meaning = "every fact and event as one JSON object a line",
		.sink = &ndjson_sink,
		.create = ndjson_create,
		.finish = ndjson_finish,
	},
	{
		.format = "folded",
		.suffixes = ".folded .folded.gz",
		.meaning = "sums by stack: flamegraph.pl, inferno, speedscope",
		.sink = &folded_sink,
		.create = folded_create,
		.finish = folded_finish,
	},
	{
		.format = "pprof",
		.suffixes = ".pb.gz",
		.meaning = "sums by stack for go tool pprof, Pyroscope, Parca, speedscope",
		.sink = &pprof_sink,
		.create = pprof_create,
		.finish = pprof_finish,
	},
	{
		.format = "xplane",
		.suffixes = "/ .xplane.pb",
		.meaning = "a profile for XProf and TensorBoard: xprof --logdir",
		.sink = &xplane_sink,
		.is_folder = xplane_path_is_folder,
		.check = xplane_path_check,
		.create = xplane_create,
		.finish = xplane_finish,
	},
	{
		.format = "sqlite",
		.suffixes = ".sqlite",
		.meaning = "a database in the shape of Nsight Systems' exports: nsys stats",
		.sink = &nsys_sink,
		.create = nsys_create,
		.finish = nsys_finish,
	},
};

const struct exporter *exporters(size_t *ret_count)
{
	*ret_count = ARRAY_SIZE(exporter_table);
	return exporter_table;
}

static bool exporter_ends_with(const char *string, const char *end, size_t end_length)
{
	size_t length = strlen(string);

	return length >= end_length && memcmp(string + length - end_length, end, end_length) == 0;
}

/* Also without a slash at its end, where it is there. */
static bool exporter_is_there_as_folder(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool exporter_has_suffix(const struct exporter *exporter, const char *path)
{
	const char *suffix = exporter->suffixes;

	while (*suffix) {
		size_t length = strcspn(suffix, " ");

		if (exporter_ends_with(path, suffix, length) ||
		    (length == 1 && *suffix == '/' && exporter_is_there_as_folder(path)))
			return true;
		suffix += length;
		suffix += strspn(suffix, " ");
	}
	return false;
}

static int exporter_find_format(const char *format, const struct exporter **ret_exporter,
				struct err *err)
{
	struct text known _cleanup_text_ = {0};

	for (size_t i = 0; i < ARRAY_SIZE(exporter_table); i++) {
		if (strcmp(format, exporter_table[i].format) == 0) {
			*ret_exporter = &exporter_table[i];
			return 0;
		}
		text_appendf(&known, "%s%s", i ? ", " : "", exporter_table[i].format);
	}
	return err_set(err, -EINVAL, "unknown format '%s'; known are %s", format,
		       text_string(&known));
}

int exporter_find(const char *path, const char *format, const struct exporter **ret_exporter,
		  struct err *err)
{
	struct text known _cleanup_text_ = {0};

	if (format)
		return exporter_find_format(format, ret_exporter, err);
	if (exporter_ends_with(path, EXPORTER_CAPTURE_SUFFIX, strlen(EXPORTER_CAPTURE_SUFFIX))) {
		*ret_exporter = NULL;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(exporter_table); i++) {
		if (exporter_has_suffix(&exporter_table[i], path)) {
			*ret_exporter = &exporter_table[i];
			return 0;
		}
		text_appendf(&known, "%s (%s), ", exporter_table[i].suffixes,
			     exporter_table[i].format);
	}
	return err_set(err, -EINVAL,
		       "can't tell the format of output '%s' by the end of its name; known are "
		       "%s" EXPORTER_CAPTURE_SUFFIX " (capture); or name the format",
		       path, text_string(&known));
}

bool exporter_is_folder(const struct exporter *exporter, const char *path)
{
	return exporter && exporter->is_folder && exporter->is_folder(path);
}

int exporter_check(const struct exporter *exporter, const char *path, struct err *err)
{
	return exporter_is_folder(exporter, path) ? exporter->check(path, err)
						  : output_check(path, err);
}

int exporter_write(const struct exporter *exporter, struct view *view, const char *path,
		   u64 *ret_size_bytes, struct err *err)
{
	bool gzip = exporter_ends_with(path, EXPORTER_GZIP_SUFFIX, strlen(EXPORTER_GZIP_SUFFIX));
	void *data;
	int result = exporter->create(path, gzip, &data, err);
	int finished;

	if (result < 0)
		return result;
	result = view_run(view, exporter->sink, data, err);
	/* What dropping the file says would hide why it is dropped. */
	finished = exporter->finish(data, result == 0, ret_size_bytes, result == 0 ? err : NULL);
	return result < 0 ? result : finished;
}
