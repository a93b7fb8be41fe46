/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who is at the other end of a TCP connection. A port on loopback is open to every local user, and TCP carries no
 * credentials: the kernel is asked (sock_diag) whose socket the other end is.
 */
#ifndef GPUPROBE_NET_PEER_H
#define GPUPROBE_NET_PEER_H

#include "base/err.h"
#include "base/types.h"

/* Did this connection come in by loopback (127.0.0.0/8, ::1)? False also where that can't be told. */
bool peer_is_on_loopback(int fd);
/* The user that made the socket at the other end, which is one of this host and of our network namespace.
 * -EACCES: there is none, or it is being closed (the kernel names root for a socket that nobody holds any more). May
 * block for the moment that the kernel takes. */
int peer_find_uid(int fd, u32 *ret_uid, struct err *err);

#endif
