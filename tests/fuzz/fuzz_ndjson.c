/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as the text form of a capture: an error that names the line, or a capture that holds
 * what it promises. */
#include <sys/mman.h>
#include <unistd.h>

#include "import/ndjson.h"
#include "touch_everything.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	int text = memfd_create("text", MFD_CLOEXEC), capture;
	struct err err = {0};

	if (text < 0 || write(text, data, size) != (ssize_t)size)
		abort();
	lseek(text, 0, SEEK_SET);
	if (import_ndjson(text, "fuzz", &capture, &err) == 0) {
		touch_everything(capture);
		close(capture);
	} else if (!err.message[0]) {
		abort();
	}
	close(text);
	return 0;
}
