/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/open_file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"

#define EPOLL_SHOWN  3 /* of the descriptors that one waits for */
#define EPOLL_LOOKED 256

static void append_socket(u32 pid, u64 inode, u64 other, struct text *text,
			  struct socket_roles *roles)
{
	struct socket_asked asked = {.inode = inode, .other = other};

	sockets_describe(pid, &asked, 1);
	text_append(text, text_string(&asked.text));
	sockets_count(roles, asked.role, text_string(&asked.text));
	text_free(&asked.text);
}

static void append_plain(u32 pid, const char *path, const struct stat *status, u64 other,
			 struct text *text, struct socket_roles *roles)
{
	static const char anonymous[] = "anon_inode:";
	size_t length = strlen(path);

	if (S_ISSOCK(status->st_mode)) {
		append_socket(pid, status->st_ino, other, text, roles);
	} else if (S_ISFIFO(status->st_mode) && !strncmp(path, "pipe:", strlen("pipe:"))) {
		text_append(text, "pipe");
	} else if (!strncmp(path, anonymous, strlen(anonymous))) {
		/* "[eventfd]", "inotify" */
		path += strlen(anonymous);
		length = strlen(path);
		text_append_bytes(text, path + (*path == '['), length - 2 * (*path == '['));
	} else {
		text_append_bytes(text, path, length);
	}
}

static bool look(u32 pid, u32 fd, char path[PATH_MAX], struct stat *ret_status)
{
	char link[64];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/%u/fd/%u", pid, fd);
	length = readlink(link, path, PATH_MAX - 1);
	if (length < 0 || stat(link, ret_status))
		return false;
	path[length] = 0;
	return true;
}

/* ---- what an epoll waits for ---- */

struct members {
	u32 *fds;
	size_t count, capacity;
	struct socket_asked
		sockets[EPOLL_LOOKED]; /* of the first ones; of what is none the inode is 0 */
	size_t looked;
};

static int compare_fds(const void *left, const void *right)
{
	u32 a = *(const u32 *)left, b = *(const u32 *)right;

	return a < b ? -1 : a > b;
}

/* As its lines "tfd: N ..." say, which are in no order. */
static void read_members(u32 pid, u32 fd, struct members *members)
{
	char path[PATH_MAX], *line = NULL;
	size_t capacity = 0;
	unsigned member;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/fdinfo/%u", pid, fd);
	file = fopen(path, "re");
	while (file && getline(&line, &capacity, file) > 0)
		if (sscanf(line, "tfd: %u", &member) == 1 &&
		    !array_reserve(&members->fds, &members->capacity, members->count + 1))
			members->fds[members->count++] = member;
	if (file)
		fclose(file);
	free(line);
	if (members->count)
		qsort(members->fds, members->count, sizeof(*members->fds), compare_fds);
	members->looked = members->count < EPOLL_LOOKED ? members->count : EPOLL_LOOKED;
	for (size_t i = 0; i < members->looked; i++) {
		struct stat status;

		if (look(pid, members->fds[i], path, &status) && S_ISSOCK(status.st_mode))
			members->sockets[i].inode = status.st_ino;
	}
	sockets_describe(pid, members->sockets, members->looked);
}

/* Those that listen say most of what its thread is for; then connections that it made itself, since it may wait for an answer there; what wakes it from
 * within says least. */
enum { RANK_LISTENS, RANK_ASKS, RANK_ACCEPTED, RANK_SOCKET, RANK_OTHER, RANKS };

static int member_rank(const struct socket_asked *member)
{
	if (!member->inode)
		return RANK_OTHER;
	if (member->role != SOCKET_OTHER)
		return member->role == SOCKET_LISTENS ? RANK_LISTENS : RANK_ACCEPTED;
	return strstr(text_string(&member->text), " <-> ") ? RANK_ASKS : RANK_SOCKET;
}

static size_t count_of_rank(const struct members *members, int rank)
{
	size_t count = 0;

	for (size_t i = 0; i < members->looked; i++)
		count += member_rank(&members->sockets[i]) == rank;
	return count;
}

/* How many of those that listen are shown: none may hide that it asks others. */
static size_t most_of(const struct members *members, int rank)
{
	return rank == RANK_LISTENS && count_of_rank(members, RANK_ASKS) ? EPOLL_SHOWN - 1
									 : EPOLL_SHOWN;
}

static void append_member(u32 pid, const struct members *members, size_t i, struct text *text)
{
	char path[PATH_MAX];
	struct stat status;
	struct socket_roles none = {0}; /* a socket is above */

	if (members->sockets[i].inode)
		text_append(text, text_string(&members->sockets[i].text));
	else if (look(pid, members->fds[i], path, &status))
		append_plain(pid, path, &status, 0, text, &none);
	else
		text_appendf(text, "descriptor %u", members->fds[i]);
}

static void append_members(u32 pid, const struct members *members, struct text *text)
{
	size_t shown = 0;

	for (int rank = 0; rank < RANKS; rank++)
		for (size_t i = 0; i < members->looked && shown < most_of(members, rank); i++) {
			if (member_rank(&members->sockets[i]) != rank)
				continue;
			text_append(text, shown ? ", " : " of ");
			append_member(pid, members, i, text);
			shown++;
		}
	if (members->count > shown)
		text_appendf(text, ", %zu more", members->count - shown);
}

static void append_epoll(u32 pid, u32 fd, struct text *text, struct socket_roles *roles)
{
	struct members *members = calloc(1, sizeof(*members));

	text_append(text, "epoll");
	if (!members)
		return;
	read_members(pid, fd, members);
	if (members->count)
		append_members(pid, members, text);
	else
		text_append(text, " of nothing");
	for (size_t i = 0; i < members->looked; i++) {
		struct socket_asked *socket = &members->sockets[i];

		if (socket->inode)
			sockets_count(roles, socket->role, text_string(&socket->text));
		text_free(&socket->text);
	}
	free(members->fds);
	free(members);
}

bool open_file_describe(u32 pid, u32 fd, u64 inode, u64 other, struct text *text,
			struct socket_roles *roles)
{
	char path[PATH_MAX];
	struct stat status;

	if (!look(pid, fd, path, &status) || status.st_ino != inode)
		return false;
	if (!strcmp(path, "anon_inode:[eventpoll]"))
		append_epoll(pid, fd, text, roles);
	else
		append_plain(pid, path, &status, other, text, roles);
	return true;
}
