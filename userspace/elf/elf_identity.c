/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_identity.h"

#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"

#define SETTLED_NS \
	(2 * NS_PER_SECOND)  /* a file that is changed again within a tick has the same time */
#define ZFS_MAGIC 0x2fc12fc1 /* its own module has it */

/* Where owner and mode are what root gave, and a number of a device is not one that somebody lent. */
static bool is_kept_by_this_kernel(int fd)
{
	static const u64 kinds[] = {EXT4_SUPER_MAGIC,	  BTRFS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC,
				    TMPFS_MAGIC,	  F2FS_SUPER_MAGIC,  SQUASHFS_MAGIC,
				    EROFS_SUPER_MAGIC_V1, XFS_SUPER_MAGIC,   ZFS_MAGIC};
	struct statvfs mounted;
	struct statfs kind;

	if (fstatfs(fd, &kind) || fstatvfs(fd, &mounted) || mounted.f_flag & ST_NOSUID)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if ((u64)(u32)kind.f_type == kinds[i])
			return true;
	return false;
}

bool elf_identity_read(const struct elf_file *file, int fd, struct elf_identity *ret_identity)
{
	struct elf_identity identity = {0};
	struct stat status;

	if (fstat(fd, &status))
		return false;
	identity.device = status.st_dev;
	identity.inode = status.st_ino;
	identity.size_bytes = (u64)status.st_size;
	identity.ctime_ns =
		(u64)status.st_ctim.tv_sec * NS_PER_SECOND + (u64)status.st_ctim.tv_nsec;
	elf_file_build_id(file, identity.build_id);
	identity.by_content = status.st_uid || status.st_mode & (S_IWGRP | S_IWOTH) ||
			      !is_kept_by_this_kernel(fd) ||
			      identity.ctime_ns + SETTLED_NS > clock_read_ns(CLOCK_REALTIME);
	*ret_identity = identity;
	return true;
}

void elf_identity_name(const struct elf_identity *identity, char ret_name[ELF_IDENTITY_NAME_BYTES])
{
	snprintf(ret_name, ELF_IDENTITY_NAME_BYTES, "%016llx-%016llx",
		 (unsigned long long)identity->device, (unsigned long long)identity->inode);
}

bool elf_identity_agrees(const struct elf_identity *kept, const struct elf_identity *now)
{
	if (now->by_content)
		return kept->by_content;
	return !memcmp(kept, now, sizeof(*now));
}
