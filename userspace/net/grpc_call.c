/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The streams of a connection: requests in, answers out. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "net/grpc_parts.h"

#define HEADER(name_, value_)                   \
	((nghttp2_nv){.name = (u8 *)(name_),    \
		      .value = (u8 *)(value_),  \
		      .namelen = strlen(name_), \
		      .valuelen = strlen(value_)})

void grpc_call_free(struct grpc_call *call)
{
	text_free(&call->body);
	for (size_t i = 0; i < call->piece_count; i++) {
		text_free(&call->pieces[i].head);
		if (call->pieces[i].fd >= 0)
			close(call->pieces[i].fd);
	}
	free(call->pieces);
	free(call);
}

u64 grpc_call_deadline_ns(const struct grpc_call *call)
{
	return call->deadline_ns;
}

/* ---- answers ---- */

/* How the call ended stands behind its message. */
static int submit_trailer(struct grpc_call *call)
{
	nghttp2_nv trailer = HEADER("grpc-status", "0");

	return nghttp2_submit_trailer(call->connection->session, call->stream_id, &trailer, 1);
}

static bool is_sent(const struct grpc_sending *piece)
{
	return piece->sent_bytes == piece->head.length + piece->file_bytes;
}

/* 0: the file is shorter than it was. */
static ssize_t read_piece(struct grpc_sending *piece, u8 *buffer, size_t length)
{
	u64 in_file = piece->sent_bytes - piece->head.length;
	size_t head_left = piece->head.length - piece->sent_bytes;

	if (piece->sent_bytes < piece->head.length) {
		if (length > head_left)
			length = head_left;
		memcpy(buffer, piece->head.data + piece->sent_bytes, length);
		return length;
	}
	if (length > piece->file_bytes - in_file)
		length = piece->file_bytes - in_file;
	return file_read_at(piece->fd, buffer, length, in_file);
}

static ssize_t read_answer(nghttp2_session *session, int32_t stream_id, uint8_t *buffer,
			   size_t length, uint32_t *flags, nghttp2_data_source *source,
			   void *user_data)
{
	struct grpc_call *call = source->ptr;
	struct grpc_sending *piece = &call->pieces[call->piece_at];
	ssize_t taken = read_piece(piece, buffer, length);

	/* The length that was said in front would not be true. */
	if (taken <= 0)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	piece->sent_bytes += taken;
	while (call->piece_at < call->piece_count && is_sent(&call->pieces[call->piece_at]))
		call->piece_at++;
	if (call->piece_at == call->piece_count) {
		*flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
		if (submit_trailer(call))
			return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	}
	return taken;
}

/* The first one begins with the prefix of the message, so it is never empty. */
static int take_pieces(struct grpc_call *call, const struct grpc_piece *pieces, size_t count)
{
	u8 prefix[GRPC_PREFIX_BYTES];
	u64 bytes = 0;
	bool failed = false;

	call->pieces = calloc(count, sizeof(*call->pieces));
	for (size_t i = 0; i < count; i++) {
		bytes += pieces[i].head_bytes + pieces[i].file_bytes;
		if (!call->pieces && pieces[i].fd >= 0)
			close(pieces[i].fd);
	}
	if (!call->pieces)
		return -ENOMEM;
	call->piece_count = count;
	grpc_prefix_write(bytes, prefix);
	text_append_bytes(&call->pieces[0].head, prefix, sizeof(prefix));
	for (size_t i = 0; i < count; i++) {
		struct grpc_sending *piece = &call->pieces[i];

		text_append_bytes(&piece->head, pieces[i].head, pieces[i].head_bytes);
		piece->fd = pieces[i].fd;
		piece->file_bytes = pieces[i].file_bytes;
		failed |= piece->head.failed;
	}
	if (bytes > UINT32_MAX)
		return -EFBIG;
	return failed ? -ENOMEM : 0;
}

void grpc_call_answer(struct grpc_call *call, const struct grpc_piece *pieces, size_t count)
{
	nghttp2_nv headers[] = {HEADER(":status", "200"),
				HEADER("content-type", "application/grpc")};
	nghttp2_data_provider provider = {.source.ptr = call, .read_callback = read_answer};
	int result = take_pieces(call, pieces, count);

	if (result) {
		grpc_call_fail(call, GRPC_RESOURCE_EXHAUSTED,
			       result == -EFBIG ? "the answer is larger than 4 GiB"
						: "out of memory");
		return;
	}
	call->state = GRPC_CALL_ANSWERED;
	if (nghttp2_submit_response(call->connection->session, call->stream_id, headers,
				    ARRAY_SIZE(headers), &provider))
		nghttp2_submit_rst_stream(call->connection->session, NGHTTP2_FLAG_NONE,
					  call->stream_id, NGHTTP2_INTERNAL_ERROR);
	grpc_timer_wake(call->connection->server);
}

void grpc_call_answer_bytes(struct grpc_call *call, const void *message, size_t bytes)
{
	grpc_call_answer(call, &(struct grpc_piece){message, bytes, -1, 0}, 1);
}

void grpc_call_fail(struct grpc_call *call, enum grpc_status status, const char *message)
{
	nghttp2_session *session = call->connection->session;
	_cleanup_text_ struct text escaped = {0};
	char number[16];
	int result;

	snprintf(number, sizeof(number), "%d", status);
	grpc_append_escaped(&escaped, message);
	call->is_unread = call->state == GRPC_CALL_RECEIVING;
	call->state = GRPC_CALL_ANSWERED;
	result = nghttp2_submit_response(
		session, call->stream_id,
		(nghttp2_nv[]){HEADER(":status", "200"), HEADER("content-type", "application/grpc"),
			       HEADER("grpc-status", number),
			       HEADER("grpc-message", text_string(&escaped))},
		4, NULL);
	if (result)
		nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, call->stream_id,
					  NGHTTP2_INTERNAL_ERROR);
	grpc_timer_wake(call->connection->server);
}

/* What is still to come of a request that has failed is not wanted: to be said behind the answer, since it would replace
 * one that waits to be sent. */
static int on_sent(nghttp2_session *session, const nghttp2_frame *frame, void *user_data)
{
	struct grpc_call *call;

	if (frame->hd.type != NGHTTP2_HEADERS || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		return 0;
	call = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
	if (call && call->is_unread)
		nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
					  NGHTTP2_NO_ERROR);
	return 0;
}

/* ---- requests ---- */

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user_data)
{
	struct grpc_connection *connection = user_data;
	struct grpc_call *call;

	if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	call = calloc(1, sizeof(*call));
	if (!call)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	*call = (struct grpc_call){.connection = connection,
				   .next = connection->calls,
				   .stream_id = frame->hd.stream_id,
				   .deadline_ns = UINT64_MAX};
	connection->calls = call;
	return nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, call);
}

static void set_method(struct grpc_call *call, const char *value, size_t length)
{
	snprintf(call->method, sizeof(call->method), "%.*s", (int)length, value);
}

static void set_path(struct grpc_call *call, const char *value, size_t length)
{
	if (length < sizeof(call->path))
		memcpy(call->path, value, length);
}

/* "application/grpc", with a codec behind it or not. */
static void set_content_type(struct grpc_call *call, const char *value, size_t length)
{
	static const char type[] = "application/grpc";
	size_t bytes = sizeof(type) - 1;

	call->is_grpc = length >= bytes && !memcmp(value, type, bytes) &&
			(length == bytes || strchr("+;", value[bytes]));
}

static void set_encoding(struct grpc_call *call, const char *value, size_t length)
{
	call->is_encoded = length != strlen("identity") || memcmp(value, "identity", length);
}

/* One that can't be read is none: its client gives the call up by itself. */
static void set_timeout(struct grpc_call *call, const char *value, size_t length)
{
	u64 now_ns = clock_monotonic_ns(), timeout_ns;

	if (grpc_timeout_parse(value, length, &timeout_ns) == 0)
		call->deadline_ns =
			timeout_ns < UINT64_MAX - now_ns ? now_ns + timeout_ns : UINT64_MAX;
}

static const struct {
	const char *name;
	void (*set)(struct grpc_call *call, const char *value, size_t length);
} request_headers[] = {
	{":method", set_method},
	{":path", set_path},
	{"content-type", set_content_type},
	{"grpc-encoding", set_encoding},
	{"grpc-timeout", set_timeout},
};

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
		     size_t name_bytes, const uint8_t *value, size_t value_bytes, uint8_t flags,
		     void *user_data)
{
	struct grpc_call *call = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);

	if (!call || call->state != GRPC_CALL_RECEIVING)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(request_headers); i++)
		if (name_bytes == strlen(request_headers[i].name) &&
		    !memcmp(name, request_headers[i].name, name_bytes))
			request_headers[i].set(call, (const char *)value, value_bytes);
	return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream_id, const uint8_t *data,
		   size_t size, void *user_data)
{
	struct grpc_call *call = nghttp2_session_get_stream_user_data(session, stream_id);

	if (!call || call->state != GRPC_CALL_RECEIVING)
		return 0;
	if (size > GRPC_PREFIX_BYTES + GRPC_MESSAGE_MAX - call->body.length) {
		grpc_call_fail(call, GRPC_RESOURCE_EXHAUSTED, "the request is larger than 1 MiB");
		return 0;
	}
	text_append_bytes(&call->body, data, size);
	if (call->body.failed)
		grpc_call_fail(call, GRPC_RESOURCE_EXHAUSTED, "out of memory");
	return 0;
}

static const struct grpc_method *find_method(const struct grpc_server_config *config,
					     const char *path)
{
	for (size_t i = 0; i < config->method_count; i++)
		if (!strcmp(config->methods[i].path, path))
			return &config->methods[i];
	return NULL;
}

/* The request is whole. */
static void begin(struct grpc_call *call)
{
	const struct grpc_server_config *config = call->connection->server->config;
	const struct grpc_method *method = find_method(config, call->path);
	enum grpc_status status;
	const char *why = NULL;
	const u8 *message;
	size_t bytes;

	/* From here on nothing more comes. */
	call->state = GRPC_CALL_RUNNING;
	if (strcmp(call->method, "POST") || !call->is_grpc) {
		grpc_call_fail(call, GRPC_INVALID_ARGUMENT, "this is no call of gRPC");
		return;
	}
	if (!method || call->is_encoded) {
		grpc_call_fail(call, GRPC_UNIMPLEMENTED,
			       method ? "compressed messages are not taken"
				      : "there is no such method here");
		return;
	}
	status = grpc_message_find((const u8 *)call->body.data, call->body.length, &message, &bytes,
				   &why);
	if (status) {
		grpc_call_fail(call, status, why);
		return;
	}
	method->begin(config->data, call, message, bytes);
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user_data)
{
	struct grpc_connection *connection = user_data;
	struct grpc_call *call;

	connection->progress_ns = clock_monotonic_ns();
	if ((frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) ||
	    !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		return 0;
	call = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
	if (call && call->state == GRPC_CALL_RECEIVING)
		begin(call);
	return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t stream_id, uint32_t error_code,
			   void *user_data)
{
	struct grpc_connection *connection = user_data;
	const struct grpc_server_config *config = connection->server->config;
	struct grpc_call *call = nghttp2_session_get_stream_user_data(session, stream_id);

	for (struct grpc_call **at = &connection->calls; call && *at; at = &(*at)->next)
		if (*at == call) {
			*at = call->next;
			if (call->state == GRPC_CALL_RUNNING)
				config->cancelled(config->data, call);
			grpc_call_free(call);
			break;
		}
	return 0;
}

int grpc_calls_callbacks(nghttp2_session_callbacks **ret_callbacks)
{
	if (nghttp2_session_callbacks_new(ret_callbacks))
		return -ENOMEM;
	nghttp2_session_callbacks_set_on_begin_headers_callback(*ret_callbacks, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(*ret_callbacks, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(*ret_callbacks, on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(*ret_callbacks, on_frame);
	nghttp2_session_callbacks_set_on_frame_send_callback(*ret_callbacks, on_sent);
	nghttp2_session_callbacks_set_on_stream_close_callback(*ret_callbacks, on_stream_close);
	return 0;
}
