/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The user behind sudo: outputs belong to them, commands run as them. */
#ifndef GPUPROBE_BASE_SUDO_USER_H
#define GPUPROBE_BASE_SUDO_USER_H

#include "base/types.h"

/* False when we are not root, or SUDO_UID and SUDO_GID are not both there and numbers. */
bool sudo_user_find(u32 *ret_uid, u32 *ret_gid);
/* From here on this process is theirs, for good; where there is none it stays what it is. 0 or -errno. */
int sudo_user_become(void);

#endif
