/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The server against a client of nghttp2, both in this thread. */
#include "unit.h"

#include <errno.h>
#include <netinet/in.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "net/grpc_parts.h"
#include "net/grpc_server.h"
#include "net/listener.h"

#define NV(name_, value_) \
	((nghttp2_nv){(u8 *)(name_), (u8 *)(value_), strlen(name_), strlen(value_), 0})

/* ---- what is served ---- */

struct service {
	struct grpc_server *server;
	int listener;
	struct grpc_call *call; /* of /t/Wait */
	size_t cancelled;
	bool admits;
};

static void echo(void *data, struct grpc_call *call, const u8 *message, size_t bytes)
{
	grpc_call_answer_bytes(call, message, bytes);
}

static void wait_for_word(void *data, struct grpc_call *call, const u8 *message, size_t bytes)
{
	((struct service *)data)->call = call;
}

static void on_cancelled(void *data, struct grpc_call *call)
{
	struct service *service = data;

	CHECK(call == service->call);
	service->call = NULL;
	service->cancelled++;
}

static bool admit(void *data, int fd)
{
	return ((struct service *)data)->admits;
}

static const struct grpc_method methods[] = {{"/t/Echo", echo}, {"/t/Wait", wait_for_word}};

static void open_service(struct service *service, struct grpc_server_config *config)
{
	struct err err = {0};
	int fd = -1;

	*service = (struct service){.admits = true};
	*config = (struct grpc_server_config){methods, ARRAY_SIZE(methods), admit, on_cancelled,
					      service};
	CHECK_OK(listener_open("127.0.0.1", 0, &fd, &err), err);
	service->listener = fd;
	CHECK_OK(grpc_server_open(config, fd, &service->server, &err), err);
}

#define SERVICE                           \
	struct service service;           \
	struct grpc_server_config config; \
	open_service(&service, &config)

/* ---- who asks ---- */

struct client {
	int fd;
	nghttp2_session *session;
	int status; /* of the last answer; -1: none */
	struct text why, data;
	size_t closed; /* streams */
	bool hung_up;
};

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
		     size_t name_bytes, const uint8_t *value, size_t value_bytes, uint8_t flags,
		     void *user_data)
{
	struct client *client = user_data;

	if (!strcmp((const char *)name, "grpc-status"))
		client->status = atoi((const char *)value);
	if (!strcmp((const char *)name, "grpc-message"))
		text_append_bytes(&client->why, value, value_bytes);
	return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream_id, const uint8_t *data,
		   size_t bytes, void *user_data)
{
	text_append_bytes(&((struct client *)user_data)->data, data, bytes);
	return 0;
}

static int on_close(nghttp2_session *session, int32_t stream_id, uint32_t code, void *user_data)
{
	((struct client *)user_data)->closed++;
	return 0;
}

static void open_client(struct client *client, const struct service *service)
{
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);
	nghttp2_session_callbacks *callbacks;

	*client = (struct client){.status = -1};
	CHECK(getsockname(service->listener, (struct sockaddr *)&address, &size) == 0);
	client->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(connect(client->fd, (struct sockaddr *)&address, size) == 0);
	nghttp2_session_callbacks_new(&callbacks);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
	nghttp2_session_client_new(&client->session, callbacks, client);
	nghttp2_session_callbacks_del(callbacks);
	nghttp2_submit_settings(client->session, 0, NULL, 0);
}

static void close_client(struct client *client)
{
	nghttp2_session_del(client->session);
	close(client->fd);
	text_free(&client->why);
	text_free(&client->data);
}

static ssize_t read_request(nghttp2_session *session, int32_t stream_id, uint8_t *buffer,
			    size_t length, uint32_t *flags, nghttp2_data_source *source,
			    void *user_data)
{
	struct text *body = source->ptr;
	size_t bytes = body->length < length ? body->length : length;

	memcpy(buffer, text_string(body), bytes);
	memmove(body->data, body->data + bytes, body->length - bytes);
	body->length -= bytes;
	if (!body->length)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return bytes;
}

/* body: with its prefix; must live until it is sent. */
static int32_t ask(struct client *client, const char *path, const char *timeout, struct text *body)
{
	nghttp2_nv headers[] = {NV(":method", "POST"),	    NV(":scheme", "http"),
				NV(":path", path),	    NV(":authority", "localhost"),
				NV("te", "trailers"),	    NV("content-type", "application/grpc"),
				NV("grpc-timeout", timeout)};
	nghttp2_data_provider provider = {.source.ptr = body, .read_callback = read_request};

	return nghttp2_submit_request(client->session, NULL, headers, ARRAY_SIZE(headers),
				      &provider, NULL);
}

static void append_message(struct text *body, const char *message, size_t bytes)
{
	u8 prefix[GRPC_PREFIX_BYTES];

	grpc_prefix_write(bytes, prefix);
	text_append_bytes(body, prefix, sizeof(prefix));
	text_append_bytes(body, message, bytes);
}

static void exchange(struct client *client)
{
	const u8 *out;
	ssize_t bytes;
	u8 in[16384];

	while ((bytes = nghttp2_session_mem_send(client->session, &out)) > 0)
		if (send(client->fd, out, bytes, MSG_NOSIGNAL) != bytes)
			client->hung_up = true;
	bytes = recv(client->fd, in, sizeof(in), MSG_DONTWAIT);
	if (bytes > 0)
		CHECK(nghttp2_session_mem_recv(client->session, in, bytes) == bytes);
	else if (bytes == 0 || errno != EAGAIN)
		client->hung_up = true;
}

/* Both go on until the condition holds, for at most ten seconds. */
#define RUN_UNTIL(service, client, condition)                                               \
	do {                                                                                \
		u64 end_ns_ = clock_monotonic_ns() + 10 * NS_PER_SECOND;                    \
		while (!(condition) && clock_monotonic_ns() < end_ns_) {                    \
			struct pollfd fd_ = {grpc_server_fd((service)->server), POLLIN, 0}; \
			exchange(client);                                                   \
			if (poll(&fd_, 1, 1) > 0)                                           \
				grpc_server_handle((service)->server);                      \
		}                                                                           \
		CHECK(condition);                                                           \
	} while (0)

#define CLIENT(service)       \
	struct client client; \
	open_client(&client, service)

/* A call that has come, and waits to be answered. Returns its stream. */
static int32_t begin_wait(struct service *service, struct client *client)
{
	struct text body _cleanup_text_ = {0};
	int32_t stream;

	append_message(&body, "", 0);
	stream = ask(client, "/t/Wait", "10S", &body);
	RUN_UNTIL(service, client, service->call);
	return stream;
}

/* ---- the tests ---- */

TEST(a_call)
{
	struct text body = {0};
	SERVICE;
	CLIENT(&service);

	append_message(&body, "hello", 5);
	ask(&client, "/t/Echo", "10S", &body);
	RUN_UNTIL(&service, &client, client.closed == 1);
	CHECK_U64(client.status, GRPC_OK);
	CHECK(client.data.length == 10 && !memcmp(client.data.data, "\0\0\0\0\5hello", 10));
	text_free(&body);
	close_client(&client);
	grpc_server_close(service.server);
}

TEST(an_answer_from_files)
{
	FILE *file = tmpfile();
	SERVICE;
	CLIENT(&service);

	for (int i = 0; i < 200000; i++)
		fputc(i, file);
	fflush(file);
	begin_wait(&service, &client);
	grpc_call_answer(service.call,
			 (struct grpc_piece[]){{"head", 4, dup(fileno(file)), 200000},
					       {"", 0, -1, 0},
					       {"", 0, dup(fileno(file)), 10},
					       {"tail", 4, dup(fileno(file)), 0}},
			 4);
	RUN_UNTIL(&service, &client, client.closed == 1);
	CHECK_U64(client.status, GRPC_OK);
	CHECK_U64(client.data.length, GRPC_PREFIX_BYTES + 4 + 200000 + 10 + 4);
	CHECK(!memcmp(client.data.data + GRPC_PREFIX_BYTES + 200004, "\0\1\2\3\4\5\6\7\10\11tail",
		      14));
	for (size_t i = 0; i < 200000; i++)
		if ((u8)client.data.data[GRPC_PREFIX_BYTES + 4 + i] != (u8)i) {
			UNIT_FAIL("byte %zu", i);
			break;
		}
	fclose(file);
	close_client(&client);
	grpc_server_close(service.server);
}

/* A file that is shorter than was said ends the call, not with a status of success. */
TEST(a_file_that_has_shrunk)
{
	FILE *file = tmpfile();
	SERVICE;
	CLIENT(&service);

	fputs("short", file);
	fflush(file);
	begin_wait(&service, &client);
	grpc_call_answer(service.call, &(struct grpc_piece){"head", 4, dup(fileno(file)), 100}, 1);
	RUN_UNTIL(&service, &client, client.closed == 1);
	CHECK(client.status == -1);
	fclose(file);
	close_client(&client);
	grpc_server_close(service.server);
}

TEST(a_call_that_fails)
{
	SERVICE;
	CLIENT(&service);

	begin_wait(&service, &client);
	grpc_call_fail(service.call, GRPC_NOT_FOUND, "100% \n");
	RUN_UNTIL(&service, &client, client.closed == 1);
	CHECK_U64(client.status, GRPC_NOT_FOUND);
	CHECK_STRING(text_string(&client.why), "100%25 %0A");
	close_client(&client);
	grpc_server_close(service.server);
}

TEST(a_call_that_is_given_up)
{
	int32_t stream;
	SERVICE;
	CLIENT(&service);

	stream = begin_wait(&service, &client);
	nghttp2_submit_rst_stream(client.session, 0, stream, NGHTTP2_CANCEL);
	RUN_UNTIL(&service, &client, service.cancelled == 1);
	close_client(&client);
	grpc_server_close(service.server);
}

TEST(a_client_that_is_gone)
{
	SERVICE;
	CLIENT(&service);

	begin_wait(&service, &client);
	shutdown(client.fd, SHUT_RDWR);
	RUN_UNTIL(&service, &client, service.cancelled == 1);
	CHECK_U64(service.server->connection_count, 0);
	close_client(&client);
	grpc_server_close(service.server);
}

/* As a process that was forked a moment ago has it. */
TEST(a_connection_that_somebody_else_holds_open)
{
	int copy;
	SERVICE;
	CLIENT(&service);

	begin_wait(&service, &client);
	copy = dup(service.server->connections->fd);
	CHECK(copy >= 0);
	shutdown(client.fd, SHUT_RDWR);
	RUN_UNTIL(&service, &client, service.cancelled == 1);
	CHECK_U64(service.server->connection_count, 0);
	/* It is over: nothing of it is heard any more. */
	for (int i = 0; i < 3; i++)
		grpc_server_handle(service.server);
	CHECK_U64(service.cancelled, 1);
	close(copy);
	close_client(&client);
	grpc_server_close(service.server);
}

TEST(a_deadline)
{
	struct text body = {0};
	SERVICE;
	CLIENT(&service);

	append_message(&body, "", 0);
	ask(&client, "/t/Wait", "50m", &body);
	RUN_UNTIL(&service, &client, client.closed == 1);
	CHECK_U64(client.status, GRPC_DEADLINE_EXCEEDED);
	CHECK_U64(service.cancelled, 1);
	text_free(&body);
	close_client(&client);
	grpc_server_close(service.server);
}

TEST(the_server_is_closed_in_the_middle)
{
	SERVICE;
	CLIENT(&service);

	begin_wait(&service, &client);
	grpc_server_close(service.server);
	CHECK_U64(service.cancelled, 1);
	close_client(&client);
}

/* The answer comes before the request has ended. */
TEST(a_request_that_is_too_long)
{
	char *long_message = calloc(1, 3 * GRPC_MESSAGE_MAX);
	struct text body = {0};
	SERVICE;
	CLIENT(&service);

	append_message(&body, long_message, 3 * GRPC_MESSAGE_MAX);
	ask(&client, "/t/Echo", "10S", &body);
	RUN_UNTIL(&service, &client, client.closed == 1);
	CHECK_U64(client.status, GRPC_RESOURCE_EXHAUSTED);
	free(long_message);
	text_free(&body);
	close_client(&client);
	grpc_server_close(service.server);
}

TEST(the_longest_request)
{
	char *message = calloc(1, GRPC_MESSAGE_MAX);
	struct text body = {0};
	SERVICE;
	CLIENT(&service);

	append_message(&body, message, GRPC_MESSAGE_MAX);
	ask(&client, "/t/Echo", "10S", &body);
	RUN_UNTIL(&service, &client, client.closed == 1);
	CHECK_U64(client.status, GRPC_OK);
	CHECK_U64(client.data.length, GRPC_PREFIX_BYTES + GRPC_MESSAGE_MAX);
	free(message);
	text_free(&body);
	close_client(&client);
	grpc_server_close(service.server);
}

TEST(who_is_not_admitted_hears_nothing)
{
	struct text body = {0};
	SERVICE;
	CLIENT(&service);

	service.admits = false;
	append_message(&body, "", 0);
	ask(&client, "/t/Echo", "10S", &body);
	RUN_UNTIL(&service, &client, client.hung_up);
	CHECK(client.status == -1);
	CHECK_U64(service.server->connection_count, 0);
	text_free(&body);
	close_client(&client);
	grpc_server_close(service.server);
}

TEST(who_says_nothing_is_cut_off)
{
	int result;
	SERVICE;
	CLIENT(&service);

	RUN_UNTIL(&service, &client, service.server->connection_count == 1);
	service.server->connections->progress_ns =
		clock_monotonic_ns() - GRPC_IDLE_NS + NS_PER_SECOND;
	CHECK_U64(
		grpc_connection_expire(service.server->connections, clock_monotonic_ns(), &result),
		service.server->connections->progress_ns + GRPC_IDLE_NS);
	CHECK_U64(result, 0);
	service.server->connections->progress_ns -= NS_PER_SECOND;
	grpc_server_handle(service.server);
	CHECK_U64(service.server->connection_count, 0);
	close_client(&client);
	grpc_server_close(service.server);
}

UNIT_MAIN()
