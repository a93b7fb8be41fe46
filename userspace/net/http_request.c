/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/http_request.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/types.h"

size_t http_head_length(const char *data, size_t bytes)
{
	const char *end = memmem(data, bytes, "\r\n\r\n", 4);

	return end ? (size_t)(end - data) + 4 : 0;
}

static enum http_method method_of(const char *word)
{
	static const char *const words[] = {
		[HTTP_GET] = "GET", [HTTP_HEAD] = "HEAD", [HTTP_OPTIONS] = "OPTIONS"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcmp(words[i], word))
			return (enum http_method)i;
	return HTTP_OTHER;
}

/* "GET /name HTTP/1.1" */
static int read_first_line(char *line, struct http_request *request)
{
	char *path = strchr(line, ' '), *version = path ? strchr(path + 1, ' ') : NULL;

	if (!version || strncmp(version + 1, "HTTP/1.", 7) != 0 || path[1] != '/')
		return -EBADMSG;
	*path++ = '\0';
	*version = '\0';
	path[strcspn(path, "?#")] = '\0';
	request->method = method_of(line);
	request->path = path;
	return 0;
}

/* A second one of a name that matters is no request: each reader might take another one. */
static int read_field(char *line, struct http_request *request)
{
	const struct {
		const char *name;
		const char **value;
	} fields[] = {{"host", &request->host}, {"origin", &request->origin}};
	char *value = strchr(line, ':');
	size_t length;

	if (!value || value == line)
		return -EBADMSG;
	*value++ = '\0';
	value += strspn(value, " \t");
	length = strlen(value);
	while (length && (value[length - 1] == ' ' || value[length - 1] == '\t'))
		value[--length] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (strcasecmp(fields[i].name, line) != 0)
			continue;
		if (**fields[i].value)
			return -EBADMSG;
		*fields[i].value = value;
	}
	return 0;
}

int http_request_read(char *head, size_t bytes, struct http_request *ret_request)
{
	struct http_request request = {.host = "", .origin = ""};
	char *line = head, *end;
	int result = 0;

	if (bytes < 4 || memchr(head, '\0', bytes))
		return -EBADMSG;
	head[bytes - 2] = '\0'; /* the empty line */
	while (result == 0 && (end = strstr(line, "\r\n"))) {
		*end = '\0';
		result =
			line == head ? read_first_line(line, &request) : read_field(line, &request);
		line = end + 2;
	}
	if (result == 0)
		*ret_request = request;
	return result;
}
