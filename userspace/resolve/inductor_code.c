/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * As inductor's code generator for Triton writes it (PyTorch 2.5 to 2.13):
 *	# kernel path: /tmp/torchinductor_root/ab/cab...py
 *	# Topologically Sorted Source Nodes: [linear, relu], Original ATen: [aten.addmm, aten.relu]
 *	# ... more comments
 *	triton_poi_fused_relu_0 = async_compile.triton('triton_poi_fused_relu_0', '''
 */
#include "resolve/inductor_code.h"

#include <string.h>

#define PATH  "# kernel path: "
#define NODES " Source Nodes: ["
#define ATEN  "], Original ATen: ["
#define CALL  " = async_compile.triton('"

/* The line at *at, which moves behind it; false at the end. */
static bool take_line(const char **at, const char *end, struct inductor_text *ret_line)
{
	const char *newline;

	if (*at >= end)
		return false;
	newline = memchr(*at, '\n', end - *at);
	*ret_line = (struct inductor_text){*at, (newline ? newline : end) - *at};
	*at = newline ? newline + 1 : end;
	return true;
}

static bool begins(const struct inductor_text *line, const char *word)
{
	return line->length >= strlen(word) && !memcmp(line->at, word, strlen(word));
}

/* What stands between two words; false: they are not there. */
static bool between(const struct inductor_text *line, const char *first, const char *second,
		    struct inductor_text *ret_text)
{
	const char *begin = memmem(line->at, line->length, first, strlen(first)), *end;

	if (!begin)
		return false;
	begin += strlen(first);
	end = memmem(begin, line->at + line->length - begin, second, strlen(second));
	if (!end)
		return false;
	*ret_text = (struct inductor_text){begin, end - begin};
	return true;
}

/* The comments, and the line behind them. */
static bool read_kernel(const char **at, const char *end, struct inductor_kernel *kernel)
{
	struct inductor_text line;

	while (take_line(at, end, &line)) {
		if (!begins(&line, "#"))
			return between(&line, CALL, "'", &kernel->name) && kernel->name.length;
		if (kernel->nodes.at || !between(&line, NODES, ATEN, &kernel->nodes))
			continue;
		if (!between(&line, ATEN, "]", &kernel->operations))
			kernel->operations = (struct inductor_text){0};
	}
	return false;
}

bool inductor_code_next(const char *bytes, size_t size, size_t *offset,
			struct inductor_kernel *ret_kernel)
{
	const char *at = bytes + *offset, *end = bytes + size;
	struct inductor_text line;

	while (take_line(&at, end, &line)) {
		struct inductor_kernel kernel = {0};
		const char *behind = at;

		*offset = at - bytes;
		if (!begins(&line, PATH))
			continue;
		kernel.path =
			(struct inductor_text){line.at + strlen(PATH), line.length - strlen(PATH)};
		if (!read_kernel(&behind, end, &kernel))
			continue;
		*offset = behind - bytes;
		*ret_kernel = kernel;
		return true;
	}
	*offset = size;
	return false;
}
