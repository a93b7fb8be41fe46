#include "process/own_code.h"

#include <errno.h>
#include <fcntl.h>

#include "process/maps.h"
#include "process/proc_file.h"
#include "base/cleanup.h"

int own_code_offset(void (*function)(void), u64 *ret_offset)
{
	_cleanup_free_ char *maps = NULL;
	u64 address = (uintptr_t)function;
	struct maps_line line;
	char *at;
	int result = proc_file_read(AT_FDCWD, "/proc/self/maps", &maps, NULL);

	for (at = maps; !result && maps_next(&at, &line);) {
		if (address < line.start || address >= line.end)
			continue;
		*ret_offset = address - line.start + line.file_offset;
		return 0;
	}
	return result ? result : -ENOENT;
}
