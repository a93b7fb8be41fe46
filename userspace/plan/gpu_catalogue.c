/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/gpu_catalogue.h"

static const struct {
	enum gpu_catalogue_part part;
	unsigned level;
	const char *pattern;
} entries[] = {
#define ENTRY(part, level, pattern) {GPU_CATALOGUE_##part, level, pattern},
#include "plan/gpu_catalogue.def"
};

size_t gpu_catalogue_patterns(unsigned parts, u64 level, const char **ret_patterns)
{
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(entries); i++) {
		if (!(entries[i].part & parts) || entries[i].level > level)
			continue;
		if (ret_patterns)
			ret_patterns[count] = entries[i].pattern;
		count++;
	}
	return count;
}
