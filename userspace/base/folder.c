/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sudo_user.h"

#define FOLDER_MAXIMUM_LINKS 40

/* What is still to be walked, and where we stand. */
struct folder_walk {
	const char *path; /* as the user gave it, for messages */
	int fd;
	int links;
	char rest[PATH_MAX];
};

static int folder_error(const struct folder_walk *walk, int code, const char *name, struct err *err)
{
	if (code == -ENOENT)
		return err_set(err, code,
			       "can't write %s: there is no folder '%s'. Create it first.",
			       walk->path, name);
	if (code == -ENOTDIR)
		return err_set(err, code, "can't write %s: '%s' is not a folder", walk->path, name);
	return err_errno(err, code, "can't write %s: '%s'", walk->path, name);
}

/* Goes on to the folder name, or to / when it is empty. */
static int folder_enter(struct folder_walk *walk, const char *name, struct err *err)
{
	int fd =
		openat(walk->fd, *name ? name : "/", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return folder_error(walk, -errno, name, err);
	cleanup_close(&walk->fd);
	walk->fd = fd;
	return 0;
}

/* Takes the next component off the rest. Gives whether it is the last one (one with a slash
 * behind it is a folder, and not the last). */
static int folder_next_component(struct folder_walk *walk, char name[NAME_MAX + 1], bool *ret_last,
				 struct err *err)
{
	char *start = walk->rest + strspn(walk->rest, "/");
	size_t length = strcspn(start, "/");

	if (length > NAME_MAX)
		return err_errno(err, -ENAMETOOLONG, "can't write %s", walk->path);
	memcpy(name, start, length);
	name[length] = '\0';
	*ret_last = start[length] == '\0';
	memmove(walk->rest, start + length, strlen(start + length) + 1);
	return 0;
}

/* Root follows the links of root and of the user behind sudo; everybody else follows any. */
static bool is_trusted(uid_t owner)
{
	u32 uid, gid;

	if (geteuid() != 0 || owner == 0)
		return true;
	return sudo_user_find(&uid, &gid) && owner == uid;
}

/* Puts what the link name says before the rest. */
static int folder_follow_link(struct folder_walk *walk, const char *name, struct err *err)
{
	char target[PATH_MAX];
	struct stat folder, link;
	ssize_t length;
	size_t rest = strlen(walk->rest);

	if (fstat(walk->fd, &folder) < 0 || fstatat(walk->fd, name, &link, AT_SYMLINK_NOFOLLOW) < 0)
		return err_errno(err, -errno, "can't write %s", walk->path);
	if (!is_trusted(link.st_uid))
		return err_set(
			err, -ELOOP,
			"can't write %s: '%s' is a symbolic link of another user (%u), and root "
			"does not write where others point. Name the file that it leads to.",
			walk->path, name, link.st_uid);
	if (folder.st_mode & S_IWOTH)
		return err_set(
			err, -ELOOP,
			"can't write %s: '%s' is a symbolic link in a world-writable folder, "
			"where anybody could have put it. Name the file that it leads to.",
			walk->path, name);
	if (++walk->links > FOLDER_MAXIMUM_LINKS)
		return err_errno(err, -ELOOP, "can't write %s", walk->path);
	length = readlinkat(walk->fd, name, target, sizeof(target));
	if (length < 0)
		return err_errno(err, -errno, "can't write %s: '%s'", walk->path, name);
	if ((size_t)length + rest >= sizeof(walk->rest))
		return err_errno(err, -ENAMETOOLONG, "can't write %s", walk->path);
	memmove(walk->rest + length, walk->rest, rest + 1);
	memcpy(walk->rest, target, (size_t)length);
	return target[0] == '/' ? folder_enter(walk, "", err) : 0;
}

static bool folder_is_link(const struct folder_walk *walk, const char *name)
{
	struct stat status;

	return fstatat(walk->fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISLNK(status.st_mode);
}

int folder_open_parent(const char *path, int *ret_fd, char ret_name[NAME_MAX + 1], struct err *err)
{
	_cleanup_close_ int start = -1;
	struct folder_walk walk = {.path = path, .fd = -1};
	char name[NAME_MAX + 1];
	bool last = false;
	int result;

	if (!*path)
		return err_set(err, -EINVAL, "can't write an output without a name");
	if (strlen(path) >= sizeof(walk.rest))
		return err_errno(err, -ENAMETOOLONG, "can't write %s", path);
	strcpy(walk.rest, path);
	start = openat(AT_FDCWD, *path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (start < 0)
		return err_errno(err, -errno, "can't write %s", path);
	walk.fd = take_fd(&start);
	do {
		result = folder_next_component(&walk, name, &last, err);
		if (result < 0)
			break;
		if (*name && folder_is_link(&walk, name)) {
			last = false;
			result = folder_follow_link(&walk, name, err);
		} else if (*name && !last) {
			result = folder_enter(&walk, name, err);
		} else if (last && (!*name || !strcmp(name, ".") || !strcmp(name, ".."))) {
			result = err_set(err, -EISDIR, "can't write %s: it is a folder", path);
		}
	} while (!result && !last);
	if (result < 0) {
		cleanup_close(&walk.fd);
		return result;
	}
	strcpy(ret_name, name);
	*ret_fd = walk.fd;
	return 0;
}
