/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sockets of a process, in words: their ends, as the process's own network namespace has them, and whether it serves others there. */
#ifndef GPUPROBE_PROCESS_SOCKETS_H
#define GPUPROBE_PROCESS_SOCKETS_H

#include "base/text.h"
#include "base/types.h"

/* What the process is at its end. */
enum socket_role {
	SOCKET_OTHER,
	SOCKET_ACCEPTED, /* it serves who connected */
	SOCKET_LISTENS,
};

/* How many there are of which. */
struct socket_roles {
	u32 listening, accepted;
	u32 connected; /* to others, by the process itself or by whom it is not known */
};

/* Of a socket of the internet. */
struct socket_ends {
	u16 family;   /* AF_INET or AF_INET6 */
	u16 protocol; /* IPPROTO_TCP, _UDP or _MPTCP; 0: that of the table it is in */
	u16 local_port, remote_port; /* 0: none */
	u32 state; /* TCP_* of the kernel */
	u8 local[16], remote[16]; /* as on the wire */
};

struct socket_asked {
	u64 inode; /* 0: it is none, and gets no text */
	u64 other; /* inode of the other end of a connection between UNIX sockets, by which that is called where it has no name; 0: not known */
	struct text text; /* made here, the caller frees it */
	enum socket_role role;
};

/* Reads tables of /proc/PID/net until all are found, each once (UNIX sockets: twice), which takes a ms for some thousand sockets. What they do not have
 * is "socket". */
void sockets_describe(u32 pid, struct socket_asked *sockets, size_t count);
/* One of which the ends are known, in the same words, though it may be gone by now. Appends them. Reads who
 * listens, no more. */
enum socket_role sockets_describe_ends(u32 pid, const struct socket_ends *ends, struct text *text);
/* One more, of these words: of the other end of a connection between UNIX sockets they say nothing. */
void sockets_count(struct socket_roles *roles, enum socket_role role, const char *words);

#endif
