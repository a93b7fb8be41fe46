/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the gRPC server share. */
#ifndef GPUPROBE_NET_GRPC_PARTS_H
#define GPUPROBE_NET_GRPC_PARTS_H

#include <nghttp2/nghttp2.h>

#include "net/grpc_call.h"

/* Of a client of this protocol; each well above what XProf needs (one connection, one call, 1 kB). */
#define GRPC_CONNECTIONS_MAX 16
#define GRPC_STREAMS_MAX     8
#define GRPC_MESSAGE_MAX     (1 << 20)
#define GRPC_PATH_MAX	     128
#define GRPC_IDLE_NS	     (30 * NS_PER_SECOND)

enum grpc_call_state {
	GRPC_CALL_RECEIVING, /* headers and message come in */
	GRPC_CALL_RUNNING,   /* its method was called */
	GRPC_CALL_ANSWERED,  /* the answer is going out, or went */
};

struct grpc_call {
	struct grpc_connection *connection;
	struct grpc_call *next; /* of the connection */
	s32 stream_id;
	enum grpc_call_state state;
	char method[8], path[GRPC_PATH_MAX]; /* "" where it is too long: no method has that */
	bool is_grpc, is_encoded;
	bool is_unread; /* it failed before its request was whole */
	u64 deadline_ns; /* UINT64_MAX: none */
	struct text body;
	/* the answer */
	struct grpc_sending {
		struct text head;
		int fd; /* -1: none */
		u64 file_bytes, sent_bytes;
	} *pieces;
	size_t piece_count, piece_at;
};

struct grpc_connection {
	struct grpc_server *server;
	struct grpc_connection *next; /* of the server */
	int fd;
	nghttp2_session *session;
	struct grpc_call *calls;
	const u8 *unsent; /* nghttp2's, until it is asked for more */
	size_t unsent_bytes;
	bool waits_to_write; /* the socket is full: not read from either */
	u64 progress_ns;     /* when it last brought a whole frame or took what was sent */
};

struct grpc_server {
	const struct grpc_server_config *config;
	int epoll_fd, listen_fd, timer_fd;
	struct grpc_connection *connections;
	size_t connection_count;
	bool woken; /* since what there is to write was looked at last */
};

/* fd becomes the connection's when it returns 0. */
int grpc_connection_open(struct grpc_server *server, int fd, struct grpc_connection **ret_connection);
/* Calls that are running are cancelled. */
void grpc_connection_close(struct grpc_connection *connection);
/* Reads what has come; -errno: it is to be closed. */
int grpc_connection_read(struct grpc_connection *connection);
/* Writes what can be written; -errno: it is to be closed. */
int grpc_connection_write(struct grpc_connection *connection);
/* Cancels what is past its deadline; the next moment to ask again. -errno in ret_result: to be closed. */
u64 grpc_connection_expire(struct grpc_connection *connection, u64 now_ns, int *ret_result);

/* Of the streams of a session. */
int grpc_calls_callbacks(nghttp2_session_callbacks **ret_callbacks);
/* It is off its connection's list. */
void grpc_call_free(struct grpc_call *call);
/* The next moment at which there is something to do, without a client; UINT64_MAX: none. */
void grpc_timer_set(struct grpc_server *server, u64 at_ns);
/* Something is to be written: handle it soon. */
void grpc_timer_wake(struct grpc_server *server);

#endif
