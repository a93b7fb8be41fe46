/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table of verbs. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "options/options.h"
#include "verbs/verbs.h"

#define LARGE_BYTES (1024 * 1024) /* more than a block of a capture */

static const struct {
	enum options_verb verb;
	int (*run)(const struct options *options);
} verbs[] = {
	{VERB_RECORD, verb_record},
	{VERB_EXPORT, verb_export},
	{VERB_STATS, verb_stats},
	{VERB_EXPLAIN, verb_explain},
	{VERB_CHECK, verb_check},
	{VERB_OPEN, verb_open},
	{VERB_HELP, verb_help},
	{VERB_VERSION, verb_version},
	{VERB_COMPLETION, verb_completion},
#ifndef WITHOUT_SERVE
	{VERB_SERVE, verb_serve},
#endif
};

/* Where standard input, output or error is closed, the next file opened would be taken for it, and
 * messages would end up in a capture. Data for a closed standard output is still an error: it can't
 * be written to. */
static int keep_standard_files(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* Large arrays are mappings of their own, so that they go back when they grow or are freed: glibc takes them onto its heap once one of
 * their size was freed, where what they leave behind lies between others. */
static void limit_heap(void)
{
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
	mallopt(M_TRIM_THRESHOLD, LARGE_BYTES);
}

static int run_verb(const struct options *options)
{
	if (options->help || options->help_levels)
		return verb_help(options);
	if (options->version)
		return verb_version(options);
	if (options->help_reports)
		return verb_help_reports(options);
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (verbs[i].verb == options->verb)
			return verbs[i].run(options);
	log_error("this verb is not built in");
	return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	struct options options;
	struct err err = {0};
	int result;

	if (keep_standard_files() < 0)
		return EXIT_FAILURE;
	limit_heap();
	/* A file that reaches the limit of its size (ulimit -f) is an error like a full disk. */
	signal(SIGXFSZ, SIG_IGN);
	result = options_parse(argc, argv, &options, &err);
	if (result < 0) {
		log_error("%s", err.message);
		return result == -ENOMEM ? EXIT_FAILURE : EXIT_USAGE;
	}
	if (options.quiet)
		log_set_level(LOG_QUIET);
	if (options.verbose)
		log_set_level(LOG_DEBUG);
	result = run_verb(&options);
	options_free(&options);
	return result;
}
