/* SPDX-License-Identifier: MIT */
#include "cupti_users.h"

enum sort { KINETO, OTHER };

struct user {
	const char *prefix;
	enum sort sort;
	const char *who, *way_out;
};

static bool begins_with(const char *string, const char *prefix)
{
	while (*prefix && *string == *prefix)
		string++, prefix++;
	return !*prefix;
}

static bool look(void *data, const struct loader_library *library)
{
	static const struct user table[] = {
#define CUPTI_USER(prefix, sort, who, way_out) {prefix, sort, who, way_out},
#include "cupti_users.def"
#undef CUPTI_USER
	};
	struct cupti_users *users = data;

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (!begins_with(library->name, table[i].prefix))
			continue;
		users->kineto |= table[i].sort == KINETO;
		users->others |= table[i].sort == OTHER;
		if (!users->who) {
			users->who = table[i].who;
			users->way_out = table[i].way_out;
		}
		return false;
	}
	/* CUPTI's own libraries stand beside it. */
	users->others |= library->needs && !begins_with(library->name, "libcupti") &&
			 !begins_with(library->name, "libnvperf") &&
			 !begins_with(library->name, "libpcsamplingutil") &&
			 !begins_with(library->name, "libcheckpoint");
	return false;
}

void cupti_users_find(struct cupti_users *users)
{
	*users = (struct cupti_users){0};
	loader_each("libcupti.so", look, users);
}
