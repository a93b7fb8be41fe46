/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a descriptor of a process is, in words: a path, a socket with both its ends, a pipe, what an epoll waits for. */
#ifndef GPUPROBE_PROCESS_OPEN_FILE_H
#define GPUPROBE_PROCESS_OPEN_FILE_H

#include "base/text.h"
#include "base/types.h"
#include "process/sockets.h"

/* Appends it. False: the process is gone, or the descriptor is another file by now (inode: of the one that is meant), and nothing was
 * appended. other: inode of the other end of a connection between UNIX sockets, by which that is called where it has no name of its own; 0:
 * not known. Untrusted like all that a process can name: not escaped. roles: where the sockets are counted that it is, or that an epoll waits for, of which 256 at most are looked at. */
bool open_file_describe(u32 pid, u32 fd, u64 inode, u64 other, struct text *text, struct socket_roles *roles);

#endif
