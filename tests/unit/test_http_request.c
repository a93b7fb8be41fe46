/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests of HTTP, as browsers write them and as they should not be. */
#include "unit.h"

#include <errno.h>

#include "base/types.h"
#include "net/http_request.h"

/* Of its own, so that the sanitizer sees what is read behind it. */
static int read_request(const char *head, size_t bytes, char **ret_copy,
			struct http_request *ret_request)
{
	char *copy = malloc(bytes ?: 1);

	memcpy(copy, head, bytes);
	*ret_copy = copy;
	return http_request_read(copy, bytes, ret_request);
}

TEST(a_request_of_a_browser)
{
	static const char head[] = "GET /a/b.json?x=/c HTTP/1.1\r\nHost: 127.0.0.1:9001\r\n"
				   "Accept:\r\nORIGIN:\t https://ui.perfetto.dev \r\n\r\n";
	struct http_request request;
	char *copy;

	CHECK_U64(http_head_length(head, sizeof(head) - 1), sizeof(head) - 1);
	CHECK_U64(http_head_length(head, sizeof(head) - 2), 0);
	CHECK_U64(read_request(head, sizeof(head) - 1, &copy, &request), 0);
	CHECK_U64(request.method, HTTP_GET);
	CHECK_STRING(request.path, "/a/b.json");
	CHECK_STRING(request.host, "127.0.0.1:9001");
	CHECK_STRING(request.origin, "https://ui.perfetto.dev");
	free(copy);
}

TEST(methods)
{
	static const struct {
		const char *head;
		enum http_method method;
	} rows[] = {
		{"HEAD / HTTP/1.0\r\n\r\n", HTTP_HEAD},
		{"OPTIONS / HTTP/1.1\r\n\r\n", HTTP_OPTIONS},
		{"POST /status HTTP/1.1\r\n\r\n", HTTP_OTHER},
		{"get / HTTP/1.1\r\n\r\n", HTTP_OTHER},
	};
	struct http_request request;
	char *copy;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CHECK_U64(read_request(rows[i].head, strlen(rows[i].head), &copy, &request), 0);
		CHECK_U64(request.method, rows[i].method);
		CHECK_STRING(request.host, "");
		CHECK_STRING(request.origin, "");
		free(copy);
	}
}

TEST(what_is_no_request)
{
	static const char *const heads[] = {
		"\r\n\r\n",
		"GET\r\n\r\n",
		"GET /\r\n\r\n",
		"GET / HTTP/2\r\n\r\n",
		"GET http://a/ HTTP/1.1\r\n\r\n",
		"GET * HTTP/1.1\r\n\r\n",
		"GET / HTTP/1.1\r\nno colon\r\n\r\n",
		"GET / HTTP/1.1\r\n: nothing\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n",
		"GET / HTTP/1.1\r\nOrigin: a\r\nOrigin: a\r\n\r\n",
	};
	static const char with_zero[] = "GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n";
	struct http_request request;
	char *copy;

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		if (read_request(heads[i], strlen(heads[i]), &copy, &request) != -EBADMSG)
			UNIT_FAIL("\"%s\" was taken for a request", heads[i]);
		free(copy);
	}
	CHECK(read_request(with_zero, sizeof(with_zero) - 1, &copy, &request) == -EBADMSG);
	free(copy);
}

/* Whatever comes is read within its bounds (the sanitizer looks on). */
TEST(anything)
{
	static const char alphabet[] = "GET /:?# HTTP/1.\r\n\r\nHost:Origin:\0x";
	struct http_request request;
	unsigned random = 1;
	char head[64], *copy;

	for (int round = 0; round < 20000; round++) {
		size_t bytes = round % sizeof(head), length;

		for (size_t i = 0; i < bytes; i++) {
			random = random * 1103515245 + 12345;
			head[i] = alphabet[(random >> 16) % (sizeof(alphabet) - 1)];
		}
		length = http_head_length(head, bytes);
		CHECK(length <= bytes);
		read_request(head, length, &copy, &request);
		free(copy);
	}
}

UNIT_MAIN()
