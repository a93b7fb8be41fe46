/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/kernel_symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"

#define CONTENT_MAX_BYTES (256UL << 20)

/* Its size is known when it was read only. */
static int read_whole(const char *path, char **ret_content)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *content = NULL;
	size_t size = 0, capacity = 0;
	ssize_t got;

	if (fd < 0)
		return -errno;
	do {
		if (capacity - size < 65536 &&
		    array_reserve(&content, &capacity, size + (1UL << 20)))
			return -ENOMEM;
		got = read(fd, content + size, capacity - size - 1);
		size += got > 0 ? (size_t)got : 0;
	} while ((got > 0 && size < CONTENT_MAX_BYTES) || (got < 0 && errno == EINTR));
	if (got < 0)
		return -errno;
	content[size] = '\0';
	*ret_content = take_pointer(&content);
	return 0;
}

/* "ffffffff81000000 T name\t[module]": ends the strings. NULL: no function, or its address is hidden. */
static const char *parse_line(char *line, struct kernel_symbol *ret_symbol)
{
	char *end, *module;

	ret_symbol->address = strtoull(line, &end, 16);
	if (!ret_symbol->address || end[0] != ' ' || !end[1] || !strchr("tTwW", end[1]) ||
	    end[2] != ' ')
		return NULL;
	ret_symbol->name = end + 3;
	ret_symbol->module = "";
	module = strchr(end + 3, '\t');
	if (!module)
		return ret_symbol->name;
	*module++ = '\0';
	if (*module == '[') {
		ret_symbol->module = module + 1;
		module[strcspn(module, "]")] = '\0';
	}
	return ret_symbol->name;
}

/* Of several names for one address the first one in the file. */
static int compare(const void *a, const void *b)
{
	const struct kernel_symbol *left = a, *right = b;

	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	return (left->name > right->name) - (left->name < right->name);
}

int kernel_symbols_read(const char *path, struct kernel_symbols *ret_symbols)
{
	struct kernel_symbols symbols = {0};
	char *rest = NULL;
	int result = read_whole(path, &symbols.content);

	if (result)
		return result;
	for (char *line = strtok_r(symbols.content, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		struct kernel_symbol symbol;

		if (!parse_line(line, &symbol))
			continue;
		if (array_reserve(&symbols.items, &symbols.capacity, symbols.count + 1)) {
			kernel_symbols_free(&symbols);
			return -ENOMEM;
		}
		symbols.items[symbols.count++] = symbol;
	}
	if (symbols.count)
		qsort(symbols.items, symbols.count, sizeof(*symbols.items), compare);
	*ret_symbols = symbols;
	return 0;
}

const struct kernel_symbol *kernel_symbols_find(const struct kernel_symbols *symbols, u64 address)
{
	size_t low = 0, high = symbols->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->items[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	/* Behind the last function of all nothing tells where it ends. */
	if (!low || low == symbols->count)
		return NULL;
	address = symbols->items[low - 1].address;
	while (low > 1 && symbols->items[low - 2].address == address)
		low--;
	return &symbols->items[low - 1];
}

void kernel_symbols_free(struct kernel_symbols *symbols)
{
	free(symbols->content);
	free(symbols->items);
	*symbols = (struct kernel_symbols){0};
}
