/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Knobs: SIM_NAME in the environment, or lines NAME=VALUE in the file that SIM_KNOBS names, read while running. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "driver.h"

#define MAX_KNOBS	  64
#define MAX_TEXT	  128
#define CHECK_INTERVAL_NS 20000000ull

struct knob {
	char name[SIM_NAME_LENGTH];
	char *text; /* never freed: others keep it */
};

static pthread_mutex_t knob_lock = PTHREAD_MUTEX_INITIALIZER;
static struct knob knobs[MAX_KNOBS];
static size_t knob_count;
static struct timespec read_time;
static uint64_t checked_ns;

static void read_line(char *line)
{
	char *value = strchr(line, '=');

	if (!value || line[0] == '#' || knob_count == MAX_KNOBS)
		return;
	*value++ = 0;
	value[strcspn(value, "\r\n")] = 0;
	if (strlen(line) >= sizeof(knobs[0].name))
		return;
	strcpy(knobs[knob_count].name, line);
	knobs[knob_count++].text = strdup(value);
}

/* A file that is rewritten by rename is never seen half. */
static void read_file(void)
{
	const char *path = getenv("SIM_KNOBS");
	uint64_t now_ns = sim_now_ns();
	char line[SIM_NAME_LENGTH + MAX_TEXT];
	struct stat status;
	FILE *file;

	if (!path || (checked_ns && now_ns - checked_ns < CHECK_INTERVAL_NS))
		return;
	checked_ns = now_ns;
	if (stat(path, &status) || (status.st_mtim.tv_sec == read_time.tv_sec &&
				    status.st_mtim.tv_nsec == read_time.tv_nsec))
		return;
	file = fopen(path, "re");
	if (!file)
		return;
	read_time = status.st_mtim;
	knob_count = 0;
	while (fgets(line, sizeof(line), file))
		read_line(line);
	fclose(file);
}

static const char *from_environment(const char *name)
{
	char variable[SIM_NAME_LENGTH + 8];

	snprintf(variable, sizeof(variable), "SIM_%s", name);
	for (char *c = variable; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	return getenv(variable);
}

const char *sim_knob_text(const char *name)
{
	const char *text = NULL;

	pthread_mutex_lock(&knob_lock);
	read_file();
	for (size_t i = 0; i < knob_count; i++)
		if (!strcmp(knobs[i].name, name))
			text = knobs[i].text;
	pthread_mutex_unlock(&knob_lock);
	return text ? text : from_environment(name);
}

uint64_t sim_knob(const char *name, uint64_t otherwise)
{
	const char *text = sim_knob_text(name);
	unsigned long long value;
	char *end;

	if (!text || !*text)
		return otherwise;
	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno || *end) {
		fprintf(stderr, "simulated CUDA: knob %s: '%s' is no number\n", name, text);
		abort();
	}
	return value;
}

void sim_spend(const char *name)
{
	uint64_t ns = sim_knob(name, 0) * 1000;
	struct timespec now;
	uint64_t end_ns = 0;

	while (ns) {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
		uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;

		if (!end_ns)
			end_ns = now_ns + ns;
		if (now_ns >= end_ns)
			return;
	}
}
