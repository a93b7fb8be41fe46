/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "why/why_object.h"

#include <string.h>

#define DIGITS	"0123456789"
#define BETWEEN " <-> "
#define PROCESS " (pid "

/* Length of " (pid 17)" here; 0: there is none. */
static size_t process_length(const char *at)
{
	size_t digits;

	if (strncmp(at, PROCESS, strlen(PROCESS)) != 0)
		return 0;
	digits = strspn(at + strlen(PROCESS), DIGITS);
	return digits && at[strlen(PROCESS) + digits] == ')' ? strlen(PROCESS) + digits + 1 : 0;
}

/* Does an address with a port stand here? */
static bool is_address(const char *at)
{
	size_t length = strcspn(at, " ,"), digits = 0;

	while (digits < length && strchr(DIGITS, at[length - 1 - digits]))
		digits++;
	return digits && digits < length && at[length - 1 - digits] == ':';
}

/* Length of ":41234" here, of the process's own end of a connection that it made; 0: there is none. */
static size_t port_length(const char *at)
{
	size_t length = *at == ':' ? strspn(at + 1, DIGITS) : 0;
	const char *behind = at + 1 + length;

	if (!length || strncmp(behind, BETWEEN, strlen(BETWEEN)) != 0)
		return 0;
	return is_address(behind + strlen(BETWEEN)) ? 1 + length : 0;
}

void why_object_append(const char *object, struct text *text)
{
	while (*object) {
		size_t left_out = process_length(object) ?: port_length(object);

		if (!left_out)
			text_append_char(text, *object++);
		object += left_out;
	}
}
