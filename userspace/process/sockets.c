/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/sockets.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define TCP_LISTEN     0x0a
#define UNIX_LISTENS   0x10000 /* __SO_ACCEPTCON, in the column of flags */
#define ADDRESS_BYTES  33      /* of an IPv6 address in hexadecimal digits */
#define PROTOCOL_MPTCP 262     /* IPPROTO_MPTCP, which older headers lack */

struct unix_end {
	struct text other; /* its other end's name */
	bool unnamed;	   /* it has none itself */
};

struct search {
	struct socket_asked *sockets;
	size_t count;
	const char *protocol;	       /* of the table that is read */
	struct socket_ends *listeners; /* in that table, as far as it was read */
	size_t listener_count, listener_capacity;
	bool listeners_only;   /* nothing else is asked */
	struct unix_end *ends; /* [socket] */
};

/* The next one behind `last` with this inode that nothing is known of; NULL: there is none. */
static struct socket_asked *find(const struct search *search, u64 inode,
				 const struct socket_asked *last)
{
	size_t from = last ? (size_t)(last - search->sockets) + 1 : 0;

	/* Connections that are over, or that nobody has accepted yet, have 0. */
	for (size_t i = from; inode && i < search->count; i++)
		if (search->sockets[i].inode == inode && !search->sockets[i].text.length)
			return &search->sockets[i];
	return NULL;
}

static void append_role(enum socket_role role, struct text *text)
{
	static const char *const words[] = {
		[SOCKET_ACCEPTED] = " (accepted)",
		[SOCKET_LISTENS] = " (listening)",
	};

	text_append(text, words[role] ?: "");
}

static void set_role(struct socket_asked *asked, enum socket_role role)
{
	asked->role = role;
	append_role(role, &asked->text);
}

/* ---- of the internet ---- */

/* port 0: without it. */
static void append_address(u16 family, const u8 *address, unsigned port, struct text *text)
{
	char shown[INET6_ADDRSTRLEN];

	if (!inet_ntop(family, address, shown, sizeof(shown)))
		return;
	text_appendf(text, family == AF_INET ? "%s" : "[%s]", shown);
	if (port)
		text_appendf(text, ":%u", port);
}

/* Of who connected it is the host: each connection has a port of its own, and one row would become as many as there are. */
static void append_ends(const char *protocol, const struct socket_ends *ends, enum socket_role role,
			struct text *text)
{
	text_appendf(text, "%s ", protocol);
	append_address(ends->family, ends->local, ends->local_port, text);
	if (ends->remote_port && role != SOCKET_LISTENS) {
		text_append(text, " <-> ");
		append_address(ends->family, ends->remote,
			       role == SOCKET_ACCEPTED ? 0 : ends->remote_port, text);
	}
	append_role(role, text);
}

/* As /proc/net has it: words of 32 bits, each in the order of this processor. */
static bool parse_address(const char *digits, u8 address[16])
{
	size_t words = strlen(digits) / 8;
	u32 word;

	for (size_t i = 0; i < words && i < 4; i++) {
		if (sscanf(digits + 8 * i, "%8x", &word) != 1)
			return false;
		memcpy(address + 4 * i, &word, sizeof(word));
	}
	return words == 1 || words == 4;
}

static bool parse_internet(const char *line, struct socket_ends *ret_ends, u64 *ret_inode)
{
	char local[ADDRESS_BYTES], remote[ADDRESS_BYTES];
	unsigned local_port, remote_port, state;
	struct socket_ends ends = {0};
	unsigned long long inode;

	if (sscanf(line, " %*[^:]: %32[0-9A-Fa-f]:%x %32[0-9A-Fa-f]:%x %x %*s %*s %*s %*s %*s %llu",
		   local, &local_port, remote, &remote_port, &state, &inode) != 6 ||
	    !parse_address(local, ends.local) || !parse_address(remote, ends.remote))
		return false;
	ends.family = strlen(local) == 8 ? AF_INET : AF_INET6;
	ends.local_port = (u16)local_port;
	ends.remote_port = (u16)remote_port;
	ends.state = state;
	*ret_ends = ends;
	*ret_inode = inode;
	return true;
}

static bool is_any(const struct socket_ends *ends)
{
	static const u8 any[16], mapped[16] = {[10] = 0xff, [11] = 0xff};

	return !memcmp(ends->local, any, sizeof(any)) ||
	       (ends->family == AF_INET6 && !memcmp(ends->local, mapped, sizeof(mapped)));
}

static bool is_listener_of(const struct socket_ends *listener, const struct socket_ends *ends)
{
	return listener->family == ends->family && listener->local_port == ends->local_port &&
	       (is_any(listener) || !memcmp(listener->local, ends->local, sizeof(listener->local)));
}

/* The kernel lists those that listen before all others, so that they are known when a connection comes. */
static enum socket_role role_of(const struct search *search, const struct socket_ends *ends)
{
	if (ends->state == TCP_LISTEN)
		return SOCKET_LISTENS;
	for (size_t i = 0; ends->remote_port && i < search->listener_count; i++)
		if (is_listener_of(&search->listeners[i], ends))
			return SOCKET_ACCEPTED;
	return SOCKET_OTHER;
}

static bool lacks_internet(const struct search *search)
{
	for (size_t i = 0; i < search->count; i++)
		if (search->sockets[i].inode && !search->sockets[i].other &&
		    !search->sockets[i].text.length)
			return true;
	return false;
}

static bool read_internet(struct search *search, const char *line)
{
	bool is_tcp = search->protocol[0] == 't', found = false;
	struct socket_asked *asked = NULL;
	struct socket_ends ends;
	u64 inode;

	if (!parse_internet(line, &ends, &inode))
		return true;
	/* The state of others means something else. */
	ends.state = is_tcp ? ends.state : 0;
	if (ends.state == TCP_LISTEN &&
	    !array_reserve(&search->listeners, &search->listener_capacity,
			   search->listener_count + 1))
		search->listeners[search->listener_count++] = ends;
	if (search->listeners_only)
		return ends.state == TCP_LISTEN;
	while ((asked = find(search, inode, asked))) {
		found = true;
		asked->role = role_of(search, &ends);
		append_ends(search->protocol, &ends, asked->role, &asked->text);
	}
	return !found || lacks_internet(search);
}

/* ---- UNIX ---- */

struct unix_line {
	unsigned flags;
	u64 inode;
	const char *path;
	int length;
};

/* Num RefCount Protocol Flags Type St Inode Path, which may be missing: then length is 0. */
static bool parse_unix(const char *line, struct unix_line *ret_line)
{
	struct unix_line parsed;
	unsigned long long inode;
	int path = 0;

	if (sscanf(line, " %*s %*s %*s %x %*s %*s %llu%n", &parsed.flags, &inode, &path) != 2)
		return false;
	parsed.inode = inode;
	parsed.path = line + path + strspn(line + path, " ");
	parsed.length = (int)strcspn(parsed.path, "\n");
	*ret_line = parsed;
	return true;
}

static bool lacks_unix(const struct search *search)
{
	for (size_t i = 0; i < search->count; i++)
		if (search->sockets[i].inode && !search->sockets[i].text.length &&
		    (!search->ends[i].unnamed || !search->ends[i].other.length))
			return true;
	return false;
}

/* Of a connection the one that was bound has the name. */
static bool read_unix(struct search *search, const char *line)
{
	struct socket_asked *asked = NULL;
	struct unix_line parsed;
	bool found = false;

	if (!parse_unix(line, &parsed))
		return true;
	for (size_t i = 0; parsed.inode && i < search->count; i++) {
		if (search->sockets[i].other != parsed.inode || search->ends[i].other.length ||
		    !parsed.length)
			continue;
		found = true;
		text_appendf(&search->ends[i].other, "unix:%.*s", parsed.length, parsed.path);
	}
	while ((asked = find(search, parsed.inode, asked))) {
		found = true;
		if (!parsed.length) {
			search->ends[asked - search->sockets].unnamed = true;
			continue;
		}
		text_appendf(&asked->text, "unix:%.*s", parsed.length, parsed.path);
		/* One that is connected was accepted if somebody listens under its name: a client may have a name as well. */
		set_role(asked, parsed.flags & UNIX_LISTENS ? SOCKET_LISTENS : SOCKET_OTHER);
	}
	return !found || lacks_unix(search);
}

static bool has_unix_without_role(const struct search *search)
{
	for (size_t i = 0; i < search->count; i++)
		if (!search->sockets[i].role &&
		    !strncmp(text_string(&search->sockets[i].text), "unix:", strlen("unix:")))
			return true;
	return false;
}

static bool read_unix_listener(struct search *search, const char *line)
{
	struct unix_line parsed;
	bool found = false;

	if (!parse_unix(line, &parsed) || !parsed.length || !(parsed.flags & UNIX_LISTENS))
		return true;
	for (size_t i = 0; i < search->count; i++) {
		struct socket_asked *asked = &search->sockets[i];
		const char *name = text_string(&asked->text);

		if (asked->role || strncmp(name, "unix:", strlen("unix:")) != 0)
			continue;
		name += strlen("unix:");
		if (strlen(name) != (size_t)parsed.length ||
		    memcmp(name, parsed.path, strlen(name)) != 0)
			continue;
		found = true;
		set_role(asked, SOCKET_ACCEPTED);
	}
	return !found || has_unix_without_role(search);
}

/* ---- all ---- */

static const struct socket_table {
	const char *file, *protocol;
	bool (*read)(struct search *search, const char *line); /* false: no further line matters */
	bool (*matters)(const struct search *search);
} tables[] = {
	{"tcp", "tcp", read_internet, lacks_internet},
	{"unix", "unix", read_unix, lacks_unix},
	{"tcp6", "tcp", read_internet, lacks_internet},
	{"udp", "udp", read_internet, lacks_internet},
	{"udp6", "udp", read_internet, lacks_internet},
	{"raw", "raw", read_internet, lacks_internet},
	{"unix", "unix", read_unix_listener, has_unix_without_role},
};

static void read_table(struct search *search, u32 pid, const struct socket_table *table)
{
	char path[64], *line = NULL;
	size_t capacity = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/net/%s", pid, table->file);
	file = fopen(path, "re");
	if (!file)
		return;
	search->protocol = table->protocol;
	search->listener_count = 0;
	while (getline(&line, &capacity, file) > 0 && table->read(search, line))
		;
	fclose(file);
	free(line);
}

void sockets_describe(u32 pid, struct socket_asked *sockets, size_t count)
{
	struct search search = {.sockets = sockets,
				.count = count,
				.ends = calloc(count + 1, sizeof(*search.ends))};

	for (size_t i = 0; i < ARRAY_SIZE(tables) && search.ends; i++)
		if (tables[i].matters(&search))
			read_table(&search, pid, &tables[i]);
	for (size_t i = 0; i < count; i++) {
		struct text *text = &sockets[i].text;

		if (!sockets[i].inode)
			continue;
		if (!text->length && search.ends && search.ends[i].other.length)
			text_append(text, text_string(&search.ends[i].other));
		else if (!text->length)
			text_append(text, sockets[i].other ? "unix socket" : "socket");
		if (search.ends)
			text_free(&search.ends[i].other);
	}
	free(search.ends);
	free(search.listeners);
}

enum socket_role sockets_describe_ends(u32 pid, const struct socket_ends *ends, struct text *text)
{
	struct search search = {.listeners_only = true};
	struct socket_ends own = *ends;
	enum socket_role role;

	if (ends->protocol == IPPROTO_UDP)
		own.state = 0;
	else
		read_table(&search, pid,
			   &(struct socket_table){.file = ends->family == AF_INET ? "tcp" : "tcp6",
						  .protocol = "tcp",
						  .read = read_internet});
	role = role_of(&search, &own);
	append_ends(ends->protocol == IPPROTO_UDP      ? "udp"
		    : ends->protocol == PROTOCOL_MPTCP ? "mptcp"
						       : "tcp",
		    &own, role, text);
	free(search.listeners);
	return role;
}

void sockets_count(struct socket_roles *roles, enum socket_role role, const char *words)
{
	roles->listening += role == SOCKET_LISTENS;
	roles->accepted += role == SOCKET_ACCEPTED;
	roles->connected += role == SOCKET_OTHER && strstr(words, " <-> ");
}
