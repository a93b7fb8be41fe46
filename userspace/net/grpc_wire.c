/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/grpc_wire.h"

#include <errno.h>

#define TIMEOUT_DIGITS_MAX 8

int grpc_timeout_parse(const char *text, size_t length, u64 *ret_ns)
{
	static const struct {
		char unit;
		u64 ns;
	} units[] = {
		{'H', 3600 * NS_PER_SECOND}, {'M', 60 * NS_PER_SECOND}, {'S', NS_PER_SECOND},
		{'m', NS_PER_MILLISECOND},   {'u', NS_PER_MICROSECOND}, {'n', 1},
	};
	u64 number = 0;

	if (length < 2 || length > TIMEOUT_DIGITS_MAX + 1)
		return -EINVAL;
	for (size_t i = 0; i + 1 < length; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -EINVAL;
		number = number * 10 + (text[i] - '0');
	}
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (text[length - 1] == units[i].unit) {
			*ret_ns = number > UINT64_MAX / units[i].ns ? UINT64_MAX
								    : number * units[i].ns;
			return 0;
		}
	return -EINVAL;
}

void grpc_prefix_write(u32 message_bytes, u8 ret_prefix[GRPC_PREFIX_BYTES])
{
	ret_prefix[0] = 0;
	for (int i = 0; i < 4; i++)
		ret_prefix[1 + i] = message_bytes >> (24 - 8 * i);
}

enum grpc_status grpc_message_find(const u8 *body, size_t body_bytes, const u8 **ret_message,
				   size_t *ret_bytes, const char **ret_why)
{
	u32 bytes = 0;

	if (body_bytes < GRPC_PREFIX_BYTES) {
		*ret_why = "the request has no message";
		return GRPC_INVALID_ARGUMENT;
	}
	if (body[0]) {
		*ret_why = "compressed messages are not taken";
		return GRPC_UNIMPLEMENTED;
	}
	for (int i = 0; i < 4; i++)
		bytes = bytes << 8 | body[1 + i];
	if (bytes != body_bytes - GRPC_PREFIX_BYTES) {
		*ret_why = "the request is not one whole message";
		return GRPC_INVALID_ARGUMENT;
	}
	*ret_message = body + GRPC_PREFIX_BYTES;
	*ret_bytes = bytes;
	return GRPC_OK;
}

void grpc_append_escaped(struct text *text, const char *message)
{
	for (const u8 *c = (const u8 *)message; *c; c++)
		if (*c < ' ' || *c > '~' || *c == '%')
			text_appendf(text, "%%%02X", *c);
		else
			text_append_char(text, *c);
}
