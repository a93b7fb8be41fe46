/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <errno.h>

#include "base/text.h"
#include "net/grpc_wire.h"

static void check_timeout(const char *text, u64 expected_ns)
{
	u64 ns = 0;

	CHECK_U64(grpc_timeout_parse(text, strlen(text), &ns), 0);
	CHECK_U64(ns, expected_ns);
}

TEST(timeouts)
{
	static const char *const bad[] = {"",	 "1",	       "S",   "1s",  "1.5S",
					  "-1S", "123456789S", "1SS", " 1S", "0x1S"};
	u64 ns;

	check_timeout("1H", 3600 * NS_PER_SECOND);
	check_timeout("2M", 120 * NS_PER_SECOND);
	check_timeout("60S", 60 * NS_PER_SECOND);
	check_timeout("59999m", 59999 * NS_PER_MILLISECOND);
	check_timeout("7u", 7000);
	check_timeout("0n", 0);
	check_timeout("99999999H", UINT64_MAX);
	check_timeout("5124095H", 5124095 * (3600 * NS_PER_SECOND));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (grpc_timeout_parse(bad[i], strlen(bad[i]), &ns) != -EINVAL)
			UNIT_FAIL("\"%s\" was taken for a timeout", bad[i]);
}

static enum grpc_status find(const char *body, size_t bytes, size_t *ret_bytes)
{
	/* Of its own, so that the sanitizer sees what is read behind it. */
	u8 *copy = malloc(bytes ?: 1);
	const u8 *message = NULL;
	const char *why = NULL;
	enum grpc_status status;

	memcpy(copy, body, bytes);
	status = grpc_message_find(copy, bytes, &message, ret_bytes, &why);
	CHECK(status ? why != NULL : message == copy + GRPC_PREFIX_BYTES);
	free(copy);
	return status;
}

TEST(messages)
{
	size_t bytes = 99;

	CHECK_U64(find("\0\0\0\0\3abc", 8, &bytes), GRPC_OK);
	CHECK_U64(bytes, 3);
	CHECK_U64(find("\0\0\0\0\0", 5, &bytes), GRPC_OK);
	CHECK_U64(bytes, 0);
	CHECK_U64(find("", 0, &bytes), GRPC_INVALID_ARGUMENT);
	CHECK_U64(find("\0\0\0\0", 4, &bytes), GRPC_INVALID_ARGUMENT);
	CHECK_U64(find("\0\0\0\0\3ab", 7, &bytes), GRPC_INVALID_ARGUMENT);
	CHECK_U64(find("\0\0\0\0\3abcd", 9, &bytes), GRPC_INVALID_ARGUMENT);
	CHECK_U64(find("\0\xff\xff\xff\xff", 5, &bytes), GRPC_INVALID_ARGUMENT);
	CHECK_U64(find("\1\0\0\0\0", 5, &bytes), GRPC_UNIMPLEMENTED);
}

TEST(a_prefix_that_is_written_is_read)
{
	char body[GRPC_PREFIX_BYTES + 300] = "";
	size_t bytes = 0;

	grpc_prefix_write(300, (u8 *)body);
	CHECK_U64(find(body, sizeof(body), &bytes), GRPC_OK);
	CHECK_U64(bytes, 300);
}

TEST(words_of_a_status)
{
	_cleanup_text_ struct text text = {0};

	grpc_append_escaped(&text, "50% of\n\xc3\xa9 ~ \x7f");
	CHECK_STRING(text_string(&text), "50%25 of%0A%C3%A9 ~ %7F");
}

UNIT_MAIN()
