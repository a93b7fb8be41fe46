/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "elf/elf_file.h"

struct elf_window {
	const struct elf_file *file;
	u64 address;
	size_t size, capacity;
	u8 bytes[];
};

struct elf_window *elf_window_create(const struct elf_file *file, size_t bytes)
{
	struct elf_window *window = malloc(sizeof(*window) + bytes);

	if (window)
		*window = (struct elf_window){.file = file, .capacity = bytes};
	return window;
}

size_t elf_window_read(struct elf_window *window, u64 address, void *ret_bytes, size_t size)
{
	/* Of an address before it that is a large number. */
	u64 inside = address - window->address;

	if (inside >= window->size || window->size - inside < size) {
		window->address = address;
		window->size = elf_file_read_address(window->file, address, window->bytes,
						     window->capacity);
		inside = 0;
	}
	if (size > window->size - inside)
		size = window->size - inside;
	memcpy(ret_bytes, window->bytes + inside, size);
	return size;
}
