/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/agent/cupti_sharers.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "elf/elf_file.h"
#include "process/maps.h"
#include "process/proc_file.h"

#define DRIVER_FILE   "/libcuda.so."
#define DRIVER_SHARES 610 /* the first that serves several */
#define SHARES	      "cuptiSubscribe_v2"

static const char *const users[] = {
#define CUPTI_USER(prefix, ...) prefix,
#include "../gpu/cupti/cupti_users.def"
#undef CUPTI_USER
};

static bool is_user(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(users); i++)
		if (!strncmp(name, users[i], strlen(users[i])))
			return true;
	return false;
}

/* libcuda.so.580.65.06 is known to be older, libcuda.so.1 is not known. */
static bool has_old_driver(const char *maps)
{
	const char *name = strstr(maps, DRIVER_FILE);
	unsigned long release = name ? strtoul(name + strlen(DRIVER_FILE), NULL, 10) : 0;

	return release > 1 && release < DRIVER_SHARES;
}

static bool shares(const struct target *target, const struct maps_line *line)
{
	struct elf_file *file;
	struct stat status;
	bool found = false;
	_cleanup_close_ int fd = maps_file_open(target->proc_fd, line, &status);

	if (fd < 0 || elf_file_open(fd, line->path, &file, NULL))
		return false;
	found = elf_file_has_word(file, SHARES);
	elf_file_free(file);
	return found;
}

bool cupti_sharers_are_mapped(const struct target *target)
{
	_cleanup_free_ char *text = NULL;
	struct maps_line line;
	bool found = false;
	char *rest;

	if (proc_file_read(target->proc_fd, "maps", &text, NULL) || has_old_driver(text))
		return false;
	rest = text;
	while (!found && maps_next(&rest, &line))
		found = line.executable && is_user(path_base_name(line.path)) &&
			shares(target, &line);
	return found;
}
