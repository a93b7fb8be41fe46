/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A capture in other formats. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/stop.h"
#include "verbs/input.h"
#include "verbs/outputs.h"
#include "verbs/verbs.h"

/* An output that replaces its own input would leave nothing to export from again. */
static int check_input(const struct options *options, const char *path)
{
	struct stat input, output;

	if (strcmp(path, "-") == 0 || stat(path, &input) < 0)
		return 0;
	for (size_t i = 0; i < options->outputs.count; i++) {
		const char *name = options->outputs.items[i];

		if (stat(name, &output) < 0 || input.st_dev != output.st_dev ||
		    input.st_ino != output.st_ino)
			continue;
		log_error("-o %s is the capture itself: name another file", name);
		return -EINVAL;
	}
	return 0;
}

int verb_export(const struct options *options)
{
	const char *path = options->arguments.items[0];
	struct input input;
	struct err err = {0};
	int result;

	result = outputs_check(options, &err);
	if (result < 0) {
		log_error("%s", err.message);
		return result == -EINVAL ? EXIT_USAGE : EXIT_FAILURE;
	}
	if (check_input(options, path) < 0)
		return EXIT_USAGE;
	if (input_open(path, &input, &err) < 0) {
		log_error("%s", err.message);
		return EXIT_FAILURE;
	}
	if (capture_reader_cut(input.reader))
		log_warning("%s: the recording was cut: what came later is missing", path);
	signal(SIGPIPE, SIG_IGN);
	stop_install();
	result = outputs_write(input.reader, input.fd, strcmp(path, "-") ? path : NULL, options);
	if (result < 0 && strcmp(path, "-"))
		log_error("the capture is kept: gpuprobe export %s -o FILE writes the outputs from "
			  "it",
			  path);
	input_close(&input);
	return result < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
