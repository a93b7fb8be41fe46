/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/translators.h"

#include <fnmatch.h>
#include <stddef.h>

#include "base/array.h"
#include "base/path.h"

struct translator {
	const char *glob, *who;
};

static const struct translator files[] = {
#define TRANSLATOR(glob, who) {glob, who},
#define TRANSLATOR_COMMAND(glob, who)
#include "process/translators.def"
#undef TRANSLATOR
#undef TRANSLATOR_COMMAND
};

static const struct translator commands[] = {
#define TRANSLATOR(glob, who)
#define TRANSLATOR_COMMAND(glob, who) {glob, who},
#include "process/translators.def"
#undef TRANSLATOR
#undef TRANSLATOR_COMMAND
};

static const char *find(const struct translator *rows, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!fnmatch(rows[i].glob, name, 0))
			return rows[i].who;
	return NULL;
}

const char *translator_of_file(const char *path)
{
	return find(files, ARRAY_SIZE(files), path);
}

const char *translator_of_command(const char *command)
{
	return find(commands, ARRAY_SIZE(commands), path_base_name(command));
}
