/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/sudo_user.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

static bool number_of(const char *variable, u32 *ret_number)
{
	const char *value = getenv(variable);
	unsigned long long number;
	char *end;

	if (!value || *value < '0' || *value > '9')
		return false;
	errno = 0;
	number = strtoull(value, &end, 10);
	if (*end || errno || number >= UINT32_MAX)
		return false;
	*ret_number = (u32)number;
	return true;
}

bool sudo_user_find(u32 *ret_uid, u32 *ret_gid)
{
	return geteuid() == 0 && number_of("SUDO_UID", ret_uid) && number_of("SUDO_GID", ret_gid);
}

int sudo_user_become(void)
{
	struct passwd *user;
	u32 uid, gid;

	if (!sudo_user_find(&uid, &gid))
		return 0;
	user = getpwuid(uid);
	if (user ? initgroups(user->pw_name, gid) : setgroups(1, &gid))
		return -errno;
	if (setgid(gid) || setuid(uid))
		return -errno;
	return 0;
}
