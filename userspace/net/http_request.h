/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The head of a request of HTTP/1, as far as serving some files needs it. It comes from whoever connects. */
#ifndef GPUPROBE_NET_HTTP_REQUEST_H
#define GPUPROBE_NET_HTTP_REQUEST_H

#include <stddef.h>

#define HTTP_HEAD_BYTES 8192 /* the longest that is read */

enum http_method { HTTP_GET, HTTP_HEAD, HTTP_OPTIONS, HTTP_OTHER };

/* Strings inside the head. */
struct http_request {
	enum http_method method;
	const char *path;   /* as it was sent, from its '/' on, without what stands behind a '?' */
	const char *host;   /* "" where it says none */
	const char *origin; /* the page that asks; "" where it says none */
};

/* How many bytes of data are a head, its empty line too; 0: its end has not come yet. */
size_t http_head_length(const char *data, size_t bytes);
/* Of these bytes, which are changed. 0, or -EBADMSG: it is no request. */
int http_request_read(char *head, size_t bytes, struct http_request *ret_request);

#endif
