/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/gpu_caches.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "process/proc_file.h"

/* The value of the first of the names, up to NULL, that has one; NULL: none. The last variable has a NUL too. */
static const char *variable(const char *environment, size_t size, const char *const *names)
{
	for (; *names; names++) {
		size_t length = strlen(*names);

		for (const char *entry = environment; entry < environment + size;
		     entry += strlen(entry) + 1)
			if (!strncmp(entry, *names, length) && entry[length] == '=' &&
			    entry[length + 1])
				return entry + length + 1;
	}
	return NULL;
}

/* NULL where it is no absolute path: where the process was when it began is not known. */
static char *absolute(const char *folder, const char *behind)
{
	_cleanup_text_ struct text path = {0};

	if (!folder || folder[0] != '/')
		return NULL;
	text_append(&path, folder);
	text_append(&path, behind);
	return path.failed ? NULL : take_pointer(&path.data);
}

void gpu_caches_find(const char *environment, size_t size, struct gpu_caches *ret_caches)
{
	/* As Triton, inductor and Python's tempfile look them up. */
	const char *triton =
		variable(environment, size, (const char *[]){"TRITON_CACHE_DIR", NULL});
	const char *home =
		variable(environment, size, (const char *[]){"TRITON_HOME", "HOME", NULL});
	const char *inductor =
		variable(environment, size, (const char *[]){"TORCHINDUCTOR_CACHE_DIR", NULL});
	const char *temporary =
		variable(environment, size, (const char *[]){"TMPDIR", "TEMP", "TMP", NULL});

	*ret_caches = (struct gpu_caches){0};
	ret_caches->triton = triton ? absolute(triton, "") : absolute(home, "/.triton/cache");
	if (inductor)
		ret_caches->inductor = absolute(inductor, "");
	else
		ret_caches->inductor_parent = absolute(temporary ? temporary : "/tmp", "");
}

void gpu_caches_read(int proc_fd, struct gpu_caches *caches)
{
	_cleanup_free_ char *environment = NULL;
	size_t size;

	if (proc_file_read(proc_fd, "environ", &environment, &size) || !size)
		return;
	gpu_caches_free(caches);
	gpu_caches_find(environment, size, caches);
}

void gpu_caches_free(struct gpu_caches *caches)
{
	free(caches->triton);
	free(caches->inductor);
	free(caches->inductor_parent);
	*caches = (struct gpu_caches){0};
}
