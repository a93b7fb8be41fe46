/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Some files, for a page of one origin that a browser of this machine has open: by HTTP, on loopback, each once. Nothing is served but these
 * files, which are open already: a path is compared with theirs and never leads anywhere. Everybody may connect: what one connection
 * can take of us, and for how long, is bounded.
 */
#ifndef GPUPROBE_NET_FILE_SERVER_H
#define GPUPROBE_NET_FILE_SERVER_H

#include "base/err.h"
#include "base/types.h"

struct served_file {
	const char *path; /* "/4f2a/trace.json": as it is asked for */
	int fd;
	u64 bytes;
	bool fetched;
};

struct file_server {
	int fd;			   /* listens, on a port of 127.0.0.1 */
	const char *origin;	   /* of the page that may read them: "https://ui.perfetto.dev" */
	struct served_file *files; /* the caller's */
	size_t file_count;
	int stop_fd;	 /* readable: end now. -1: none */
	u64 patience_ns; /* ends when nothing was sent for so long */
};

/* Serves until each file was fetched. 0; -ETIMEDOUT: nobody asked for a file any more; -EINTR: stop_fd; or another -errno. */
int file_server_run(struct file_server *server, struct err *err);

#endif
