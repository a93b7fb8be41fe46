/* SPDX-License-Identifier: MIT */
#include "cupti_users.h"

enum sort { KINETO, KEEPS };

struct user {
	const char *prefix;
	enum sort sort;
	const char *keeper, *who, *way_out;
};

static const struct user *user_of(const struct loader_library *library)
{
	static const struct user table[] = {
#define CUPTI_USER(prefix, sort, name, who, way_out) \
	{prefix, sort, "is kept for " name ", which may use it at any time", who, way_out},
#include "cupti_users.def"
#undef CUPTI_USER
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (loader_is(library, table[i].prefix))
			return &table[i];
	return NULL;
}

/* CUPTI's own libraries stand beside it. */
static bool is_of_cupti(const struct loader_library *library)
{
	static const char *const prefixes[] = {"libcupti", "libnvperf", "libpcsamplingutil",
					       "libcheckpoint"};

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (loader_is(library, prefixes[i]))
			return true;
	return false;
}

static bool look(void *data, const struct loader_library *library)
{
	const struct user *user = user_of(library);
	struct cupti_users *users = data;

	if (!user) {
		users->others |= library->needs && !is_of_cupti(library);
		return false;
	}
	users->kineto |= user->sort == KINETO;
	users->others |= user->sort == KEEPS;
	if (!users->keeper)
		users->keeper = user->keeper;
	if (!users->who) {
		users->who = user->who;
		users->way_out = user->way_out;
	}
	return false;
}

void cupti_users_find(struct cupti_users *users)
{
	*users = (struct cupti_users){0};
	loader_each("libcupti.so", look, users);
}
