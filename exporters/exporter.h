/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The output formats, one row each: which file name means which, and how to open it. An exporter is a
 * struct view_sink (view/view.h) and its data; it writes through base/output.h. To add a format: one file
 * here, one row in exporter.c.
 */
#ifndef GPUPROBE_EXPORTERS_EXPORTER_H
#define GPUPROBE_EXPORTERS_EXPORTER_H

#include "base/err.h"
#include "view/view.h"

struct exporter {
	const char *format;   /* name for -f */
	const char *suffixes; /* ".json .json.gz", separated by blanks; "/": a folder */
	const char *meaning;  /* for --help */
	const struct view_sink *sink;
	/* Of those that may write a folder: is path one, and can it be written? NULL: path is always one file. */
	bool (*is_folder)(const char *path);
	int (*check)(const char *path, struct err *err);
	/* Data for the sink; path is where to write, gzip whether its name asks for it. */
	int (*create)(const char *path, bool gzip, void **ret_data, struct err *err);
	/* Frees data in every case. commit: rename to its name; else drop, leaving nothing behind. */
	int (*finish)(void *data, bool commit, u64 *ret_size_bytes, struct err *err);
};

/* By -f when given, else by the ending of path. -EINVAL names the known endings and formats. ".gpr" is no
 * exporter: ret_exporter is NULL and the result 0. */
int exporter_find(const char *path, const char *format, const struct exporter **ret_exporter,
		  struct err *err);
/* All of them: what has to hold for each format is tested for each. */
const struct exporter *exporters(size_t *ret_count);

/* Is what the exporter (NULL: the capture itself) writes to path a folder of several files? */
bool exporter_is_folder(const struct exporter *exporter, const char *path);
/* Can it be written? To be asked before anything costly starts. */
int exporter_check(const struct exporter *exporter, const char *path, struct err *err);

/* Writes a whole capture view to path: create, view_run, finish. */
int exporter_write(const struct exporter *exporter, struct view *view, const char *path,
		   u64 *ret_size_bytes, struct err *err);

#endif
