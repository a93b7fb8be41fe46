/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/open_file.h"

#include <arpa/inet.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"

#define EPOLL_SHOWN   3 /* of the descriptors that one waits for */
#define TCP_LISTEN    0x0a
#define ADDRESS_BYTES 33 /* of an IPv6 address in hexadecimal digits */

/* ---- sockets: as the process's own network namespace has them ---- */

/* As /proc/net has it: words of 32 bits, each in the order of this processor. */
static bool append_address(struct text *text, const char *digits, unsigned port)
{
	size_t words = strlen(digits) / 8;
	u32 address[4] = {0};
	char shown[INET6_ADDRSTRLEN];

	if (words != 1 && words != 4)
		return false;
	for (size_t i = 0; i < words; i++)
		if (sscanf(digits + 8 * i, "%8x", &address[i]) != 1)
			return false;
	if (!inet_ntop(words == 1 ? AF_INET : AF_INET6, address, shown, sizeof(shown)))
		return false;
	text_appendf(text, words == 1 ? "%s:%u" : "[%s]:%u", shown, port);
	return true;
}

static bool append_internet(struct text *text, const char *protocol, const char *line, u64 inode)
{
	char local[ADDRESS_BYTES], remote[ADDRESS_BYTES];
	unsigned local_port, remote_port, state;
	unsigned long long found;

	if (sscanf(line, " %*[^:]: %32[0-9A-Fa-f]:%x %32[0-9A-Fa-f]:%x %x %*s %*s %*s %*s %*s %llu",
		   local, &local_port, remote, &remote_port, &state, &found) != 6 ||
	    found != inode)
		return false;
	text_appendf(text, "%s ", protocol);
	append_address(text, local, local_port);
	if (state == TCP_LISTEN && protocol[0] == 't') {
		text_append(text, " (listening)");
	} else if (remote_port) {
		text_append(text, " <-> ");
		append_address(text, remote, remote_port);
	}
	return true;
}

/* Num RefCount Protocol Flags Type St Inode Path. False: it is another one, or has no name. */
static bool append_unix(struct text *text, const char *protocol, const char *line, u64 inode)
{
	unsigned long long found;
	int path = 0;

	if (sscanf(line, " %*s %*s %*s %*s %*s %*s %llu%n", &found, &path) != 1 || found != inode)
		return false;
	line += path;
	while (*line == ' ')
		line++;
	if (!*line || *line == '\n')
		return false;
	text_appendf(text, "%s:%.*s", protocol, (int)strcspn(line, "\n"), line);
	return true;
}

static const struct socket_table {
	const char *file, *protocol;
	bool (*append)(struct text *text, const char *protocol, const char *line, u64 inode);
} socket_tables[] = {
	{"tcp", "tcp", append_internet},  {"unix", "unix", append_unix},
	{"tcp6", "tcp", append_internet}, {"udp", "udp", append_internet},
	{"udp6", "udp", append_internet}, {"raw", "raw", append_internet},
};

static bool find_socket(u32 pid, const struct socket_table *table, u64 inode, struct text *text)
{
	char path[64], *line = NULL;
	size_t capacity = 0;
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/net/%s", pid, table->file);
	file = fopen(path, "re");
	while (file && !found && getline(&line, &capacity, file) > 0)
		found = table->append(text, table->protocol, line, inode);
	if (file)
		fclose(file);
	free(line);
	return found;
}

/* Of a connection between UNIX sockets the one that was bound has the name. */
static void append_socket(u32 pid, u64 inode, u64 other, struct text *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(socket_tables); i++)
		if (find_socket(pid, &socket_tables[i], inode, text))
			return;
	for (size_t i = 0; other && i < ARRAY_SIZE(socket_tables); i++)
		if (socket_tables[i].append == append_unix &&
		    find_socket(pid, &socket_tables[i], other, text))
			return;
	text_append(text, other ? "unix socket" : "socket");
}

/* ---- all ---- */

static void append_plain(u32 pid, const char *path, const struct stat *status, u64 other,
			 struct text *text)
{
	static const char anonymous[] = "anon_inode:";
	size_t length = strlen(path);

	if (S_ISSOCK(status->st_mode)) {
		append_socket(pid, status->st_ino, other, text);
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

/* What an epoll waits for, as its lines "tfd: N ..." say. */
static void append_epoll(u32 pid, u32 fd, struct text *text)
{
	char path[PATH_MAX], *line = NULL;
	size_t capacity = 0, count = 0;
	unsigned member;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/fdinfo/%u", pid, fd);
	file = fopen(path, "re");
	while (file && getline(&line, &capacity, file) > 0) {
		struct stat status;

		if (sscanf(line, "tfd: %u", &member) != 1 || count++ >= EPOLL_SHOWN ||
		    !look(pid, member, path, &status))
			continue;
		text_append(text, count == 1 ? "epoll of " : ", ");
		append_plain(pid, path, &status, 0, text);
	}
	if (count > EPOLL_SHOWN)
		text_appendf(text, ", %zu more", count - EPOLL_SHOWN);
	if (!count)
		text_append(text, "epoll of nothing");
	if (file)
		fclose(file);
	free(line);
}

bool open_file_describe(u32 pid, u32 fd, u64 inode, u64 other, struct text *text)
{
	char path[PATH_MAX];
	struct stat status;

	if (!look(pid, fd, path, &status) || status.st_ino != inode)
		return false;
	if (!strcmp(path, "anon_inode:[eventpoll]"))
		append_epoll(pid, fd, text);
	else
		append_plain(pid, path, &status, other, text);
	return true;
}
