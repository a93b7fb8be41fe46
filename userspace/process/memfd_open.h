/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A memfd of a target, opened anew with our rights. The name that /proc shows is no proof of what it is: below a mount
 * of the target's own any file of the host can stand under it, and would be written to by root. So the file system
 * is looked at before the file is opened: nothing else is on the one of the memfds but shared memory without a name.
 */
#ifndef GPUPROBE_PROCESS_MEMFD_OPEN_H
#define GPUPROBE_PROCESS_MEMFD_OPEN_H

/* path: of the descriptor, below directory_fd, e.g. "fd/7". For reading and writing; the caller closes. -EBUSY: it is
 * no memfd called `name`; other -errno of the calls. */
int memfd_open(int directory_fd, const char *path, const char *name, int *ret_fd);

#endif
