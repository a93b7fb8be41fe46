/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as a database of Nsight Systems: an error that says why not, or a capture that holds what it promises. */
#include <sys/mman.h>
#include <unistd.h>

#include "import/nsys.h"
#include "touch_everything.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	int database = memfd_create("database", MFD_CLOEXEC), capture;
	struct err err = {0};

	if (database < 0 || write(database, data, size) != (ssize_t)size)
		abort();
	if (import_nsys(database, &capture, &err) == 0) {
		touch_everything(capture);
		close(capture);
	} else if (!err.message[0]) {
		abort();
	}
	close(database);
	return 0;
}
