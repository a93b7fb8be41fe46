/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/sockets.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/socket_words.h"

#define TCP_LISTEN    0x0a
#define UNIX_LISTENS  0x10000 /* __SO_ACCEPTCON, in the column of flags */
#define ADDRESS_BYTES 33      /* of an IPv6 address in hexadecimal digits */
#define PORTS	      65536

struct search {
	struct socket_asked *sockets;
	size_t count;
	bool listens_only;	 /* nothing is asked but who does */
	const char *protocol;	 /* of the table that is read */
	u8 listens[PORTS / 8];	 /* on these ports somebody does; of the table, too */
	struct text *other_ends; /* [socket] its other end's name */
};

static struct socket_asked *find(const struct search *search, u64 inode)
{
	/* Connections that are over, or that nobody has accepted yet, have 0. */
	for (size_t i = 0; inode && i < search->count; i++)
		if (search->sockets[i].inode == inode && !search->sockets[i].text.length)
			return &search->sockets[i];
	return NULL;
}

static void append_role(enum socket_role role, struct text *text)
{
	static const char *const words[] = {
		[SOCKET_ACCEPTED] = " " SOCKET_ACCEPTED_WORD,
		[SOCKET_LISTENS] = " " SOCKET_LISTENS_WORD,
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

/* The kernel lists those that listen before all others, so that it is known of each port when a connection comes. */
static enum socket_role role_of(u8 listens[PORTS / 8], const struct socket_ends *ends)
{
	u8 *byte = &listens[ends->local_port / 8], bit = (u8)(1U << ends->local_port % 8);

	if (ends->state == TCP_LISTEN) {
		*byte |= bit;
		return SOCKET_LISTENS;
	}
	return ends->remote_port && *byte & bit ? SOCKET_ACCEPTED : SOCKET_OTHER;
}

static bool read_internet(struct search *search, const char *line)
{
	enum socket_role role = SOCKET_OTHER;
	struct socket_asked *asked;
	struct socket_ends ends;
	u64 inode;

	if (!parse_internet(line, &ends, &inode))
		return true;
	if (search->protocol[0] == 't')
		role = role_of(search->listens, &ends);
	if (search->listens_only)
		return ends.state == TCP_LISTEN;
	asked = find(search, inode);
	if (!asked)
		return true;
	append_ends(search->protocol, &ends, role, &asked->text);
	asked->role = role;
	return true;
}

/* ---- UNIX ---- */

struct unix_line {
	unsigned flags;
	u64 inode;
	const char *path;
	int length;
};

/* Num RefCount Protocol Flags Type St Inode Path. False: it has no name. */
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
	return parsed.length > 0;
}

/* Of a connection the one that was bound has the name. */
static bool read_unix(struct search *search, const char *line)
{
	struct socket_asked *asked;
	struct unix_line parsed;

	if (!parse_unix(line, &parsed))
		return true;
	for (size_t i = 0; parsed.inode && i < search->count; i++)
		if (search->sockets[i].other == parsed.inode && !search->other_ends[i].length)
			text_appendf(&search->other_ends[i], "unix:%.*s", parsed.length,
				     parsed.path);
	asked = find(search, parsed.inode);
	if (!asked)
		return true;
	text_appendf(&asked->text, "unix:%.*s", parsed.length, parsed.path);
	/* One that is connected was accepted if somebody listens under its name: a client may have a name as well. */
	set_role(asked, parsed.flags & UNIX_LISTENS ? SOCKET_LISTENS : SOCKET_OTHER);
	return true;
}

static bool read_unix_listener(struct search *search, const char *line)
{
	struct unix_line parsed;

	if (!parse_unix(line, &parsed) || !(parsed.flags & UNIX_LISTENS))
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
		set_role(asked, SOCKET_ACCEPTED);
	}
	return true;
}

/* ---- all ---- */

static const struct socket_table {
	const char *file, *protocol;
	bool (*read)(struct search *search, const char *line); /* false: no further line matters */
} tables[] = {
	{"tcp", "tcp", read_internet},	      {"unix", "unix", read_unix},
	{"tcp6", "tcp", read_internet},	      {"udp", "udp", read_internet},
	{"udp6", "udp", read_internet},	      {"raw", "raw", read_internet},
	{"unix", "unix", read_unix_listener},
};

static bool lacks_any(const struct search *search)
{
	for (size_t i = 0; i < search->count; i++)
		if (search->sockets[i].inode && !search->sockets[i].text.length)
			return true;
	return false;
}

static bool has_unix(const struct search *search)
{
	for (size_t i = 0; i < search->count; i++)
		if (!search->sockets[i].role &&
		    !strncmp(text_string(&search->sockets[i].text), "unix:", strlen("unix:")))
			return true;
	return false;
}

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
	memset(search->listens, 0, sizeof(search->listens));
	while (getline(&line, &capacity, file) > 0 && table->read(search, line))
		;
	fclose(file);
	free(line);
}

void sockets_describe(u32 pid, struct socket_asked *sockets, size_t count)
{
	struct search *search = calloc(1, sizeof(*search));
	struct text *other_ends = calloc(count + 1, sizeof(*other_ends));

	if (search && other_ends) {
		*search = (struct search){
			.sockets = sockets, .count = count, .other_ends = other_ends};
		for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
			if (tables[i].read == read_unix_listener ? has_unix(search)
								 : lacks_any(search))
				read_table(search, pid, &tables[i]);
	}
	for (size_t i = 0; i < count; i++) {
		struct text *text = &sockets[i].text;

		if (!sockets[i].inode)
			continue;
		if (!text->length && other_ends && other_ends[i].length)
			text_append(text, text_string(&other_ends[i]));
		else if (!text->length)
			text_append(text, sockets[i].other ? "unix socket" : "socket");
		if (other_ends)
			text_free(&other_ends[i]);
	}
	free(other_ends);
	free(search);
}

void sockets_describe_ends(u32 pid, const struct socket_ends *ends, struct text *text)
{
	static const char *const protocols[] = {[IPPROTO_TCP] = "tcp", [IPPROTO_UDP] = "udp"};
	const char *protocol =
		ends->protocol < ARRAY_SIZE(protocols) ? protocols[ends->protocol] : NULL;
	enum socket_role role = SOCKET_OTHER;
	struct search *search = NULL;

	if (ends->protocol == IPPROTO_TCP)
		search = calloc(1, sizeof(*search));
	if (search) {
		search->listens_only = true;
		read_table(search, pid,
			   &(struct socket_table){ends->family == AF_INET ? "tcp" : "tcp6", "tcp",
						  read_internet});
		role = role_of(search->listens, ends);
	}
	free(search);
	append_ends(protocol ?: "raw", ends, role, text);
}
