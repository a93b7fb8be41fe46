/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which probed functions are those of the runtime of the operating system: what nsys calls OSRT. */
#include <string.h>

#include "base/array.h"
#include "view/view_parts.h"

/* How names of its files begin: of glibc (one file since 2.34), of older ones, of musl. */
static const char *const libraries[] = {
	"libc.so",  "libc-2.",	"libpthread.so", "libpthread-2.", "librt.so",
	"librt-2.", "libdl.so", "libdl-2.",	 "libc.musl-",	  "ld-musl-",
};

bool view_is_os_runtime(const struct view *view, const struct view_event *event)
{
	const struct schema_field *field = view->kinds.kinds[event->kind->number].probe;
	const struct record_probe *probe;
	const char *path, *slash;

	if (!field)
		return false;
	probe = (const struct record_probe *)view_fact(view, KIND_probe,
						       schema_field_value(field, event->record, 0));
	path = probe ? view_text(view, probe->binary) : NULL;
	if (!path)
		return false;
	slash = strrchr(path, '/');
	for (size_t i = 0; i < ARRAY_SIZE(libraries); i++)
		if (!strncmp(slash ? slash + 1 : path, libraries[i], strlen(libraries[i])))
			return true;
	return false;
}
