/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What threads wait for, and who of others runs instead of them or wakes them: the BPF programs tell of each descriptor and thread once, and a
 * descriptor is looked at while it is still there. Who has the other end of a pipe or of a connection between UNIX sockets is looked for among
 * all that the machine has open, for many at once, and so seldom that it takes a fiftieth of the time at most: until then their texts wait. An
 * end is known by its number, which no second one has, so who is found has it.
 */
#include "session/session_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "process/open_file.h"
#include "process/sockets.h"

#define LOOK_SHARE    50 /* looking takes one in so many nanoseconds */
#define HOLDERS_SHOWN 2

struct waiting_text {
	u32 number, pid;
	u64 ts;
	u32 count, more;
	u32 unknown; /* of count */
	struct socket_roles roles;
	struct waiting_file {
		struct waited_file file;
		char *what;
		bool asks; /* who has its other end */
		bool is_server;
	} files[WAITED_FILES_MAX];
};

struct session_waited {
	struct waiting_text *texts;
	size_t count, capacity;
	struct pipe_end *ends; /* that they ask for */
	size_t end_count, end_capacity;
	struct pipe_holder *holders;
	size_t holder_count, holder_capacity;
	const char *unknown; /* why it is not known who has them; NULL: it is */
	u64 next_ns;	     /* when it may be looked again */
};

/* sockets: what is known of those in it; NULL: there are none. */
static void put_text(struct session *session, u32 number, const struct text *text,
		     const struct record_waited_sockets *sockets)
{
	struct batch *batch;

	if (text->failed || !text->length)
		return;
	batch = batch_queue_take_empty(session->queue);
	(void)batch_add_text(batch, RECORD_SOURCE_BPF, number, text->data, text->length);
	if (sockets)
		(void)batch_add(batch, &sockets->header);
	batch_queue_put_full(session->queue, batch);
}

/* ---- who has the other end ---- */

static int compare_ends(const struct pipe_end *a, const struct pipe_end *b)
{
	if (a->inode != b->inode)
		return a->inode < b->inode ? -1 : 1;
	return a->number == b->number ? 0 : a->number < b->number ? -1 : 1;
}

static int compare_holders(const void *left, const void *right)
{
	const struct pipe_holder *a = left, *b = right;
	int result = compare_ends(&a->end, &b->end);

	return result ? result : a->pid == b->pid ? 0 : a->pid < b->pid ? -1 : 1;
}

/* The first of those who have it; the others follow. */
static size_t first_holder(const struct session_waited *waited, const struct pipe_end *end)
{
	size_t low = 0, high = waited->holder_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_ends(&waited->holders[middle].end, end) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Of a pipe who writes, where the thread reads, and the other way round. */
static bool is_other_end(const struct waited_file *file, const struct pipe_holder *holder)
{
	bool is_pipe = file->other.number == file->inode;
	u32 wanted = (file->mode & FILE_READS ? FILE_WRITES : 0) |
		     (file->mode & FILE_WRITES ? FILE_READS : 0);

	return !is_pipe || holder->mode & wanted;
}

static const char *arrow_of(const struct waited_file *file)
{
	if (file->other.number != file->inode || file->mode == (FILE_READS | FILE_WRITES))
		return "<->";
	return file->mode & FILE_READS ? "<-" : "->";
}

/* The process itself only where nobody else has it: who forks has both ends often. Has anybody else? */
static bool append_holders(const struct session_waited *waited, u32 pid,
			   const struct waited_file *file, struct text *text)
{
	size_t count = 0;
	bool itself = false;
	u32 last = 0;

	for (size_t i = first_holder(waited, &file->other);
	     i < waited->holder_count && !compare_ends(&waited->holders[i].end, &file->other);
	     i++) {
		const struct pipe_holder *holder = &waited->holders[i];

		/* Who has it twice comes twice, one after the other. */
		if (!is_other_end(file, holder) || holder->pid == last)
			continue;
		last = holder->pid;
		itself |= holder->pid == pid;
		if (holder->pid == pid || count++ >= HOLDERS_SHOWN)
			continue;
		if (count == 1)
			text_appendf(text, " %s", arrow_of(file));
		text_appendf(text, "%s %.*s (pid %u)", count > 1 ? "," : "",
			     (int)sizeof(holder->comm), (const char *)holder->comm, holder->pid);
	}
	if (count > HOLDERS_SHOWN)
		text_appendf(text, " and %zu more", count - HOLDERS_SHOWN);
	if (!count && itself)
		text_appendf(text, " %s itself", arrow_of(file));
	return count;
}

static void add_holder(void *data, const void *holder)
{
	struct session_waited *waited = data;

	if (!array_reserve(&waited->holders, &waited->holder_capacity, waited->holder_count + 1))
		waited->holders[waited->holder_count++] = *(const struct pipe_holder *)holder;
	else
		waited->unknown = "no memory for those who have one";
}

/* Is it a connection to somebody else, which is found out only now? */
static bool append_file(const struct session_waited *waited, u32 pid,
			const struct waiting_file *file, u32 *unknown, struct text *text)
{
	bool is_pipe = file->file.other.number == file->file.inode;

	text_append(text, file->what ? file->what : "");
	if (!file->file.other.inode)
		return false;
	*unknown += (!file->asks || waited->unknown) && !is_pipe && !file->is_server;
	if (!file->asks)
		text_append(text, " (other end not looked for: too many are waited at)");
	else if (waited->unknown)
		text_appendf(text, " (other end not known: %s)", waited->unknown);
	else
		return append_holders(waited, pid, &file->file, text) && !is_pipe &&
		       !file->is_server;
	return false;
}

static struct record_waited_sockets sockets_of(const struct waiting_text *waiting)
{
	return (struct record_waited_sockets){
		.header = {.size_bytes = sizeof(struct record_waited_sockets),
			   .kind = KIND_waited_sockets,
			   .source = RECORD_SOURCE_BPF,
			   .ts = waiting->ts,
			   .pid = waiting->pid,
			   .name = waiting->number},
		.listening = waiting->roles.listening,
		.accepted = waiting->roles.accepted,
		.connected = waiting->roles.connected,
		.unknown = waiting->unknown + waiting->more,
	};
}

static void finish_text(struct session *session, struct waiting_text *waiting)
{
	_cleanup_text_ struct text text = {0};
	struct record_waited_sockets sockets;

	if (waiting->count + waiting->more > 1)
		text_append(&text, "any of ");
	for (u32 i = 0; i < waiting->count; i++) {
		text_append(&text, i ? ", " : "");
		waiting->roles.connected +=
			append_file(session->waited, waiting->pid, &waiting->files[i],
				    &waiting->unknown, &text);
		free(waiting->files[i].what);
	}
	if (waiting->more)
		text_appendf(&text, ", %u more", waiting->more);
	sockets = sockets_of(waiting);
	put_text(session, waiting->number, &text,
		 sockets.listening + sockets.accepted + sockets.connected ? &sockets : NULL);
}

static void find_holders(struct session *session)
{
	struct session_waited *waited = session->waited;
	u64 begin_ns = clock_monotonic_ns(), end_ns;
	int result;

	waited->holder_count = 0;
	waited->unknown = NULL;
	result = bpf_source_find_holders(session->source, waited->ends, waited->end_count,
					 add_holder, waited);
	if (result)
		waited->unknown = result == -EAGAIN ? "too many files are open here"
						    : "could not be looked for";
	if (waited->holder_count)
		qsort(waited->holders, waited->holder_count, sizeof(*waited->holders),
		      compare_holders);
	end_ns = clock_monotonic_ns();
	log_debug("looked for who has %zu other ends among all open files: %.2f ms%s%s",
		  waited->end_count, (double)(end_ns - begin_ns) / 1e6, result ? ", " : "",
		  result ? waited->unknown : "");
	waited->next_ns = end_ns + (end_ns - begin_ns) * LOOK_SHARE;
	for (size_t i = 0; i < waited->count; i++)
		finish_text(session, &waited->texts[i]);
	waited->count = waited->end_count = 0;
}

void session_waited_look(struct session *session, bool always)
{
	const struct session_waited *waited = session->waited;

	if (waited && waited->count && (always || clock_monotonic_ns() >= waited->next_ns))
		find_holders(session);
}

/* ---- what is told ---- */

/* Of a socket of the internet the BPF programs told enough: its descriptor may be closed by now. */
static void describe_ends(u32 pid, const struct waited_ends *told, struct text *text,
			  struct socket_roles *roles)
{
	size_t before = text->length;
	enum socket_role role;

	struct socket_ends ends = {
		.family = told->family,
		.protocol = told->protocol,
		.local_port = told->local_port,
		.remote_port = told->remote_port,
		.state = told->state,
	};

	memcpy(ends.local, told->local, sizeof(ends.local));
	memcpy(ends.remote, told->remote, sizeof(ends.remote));
	role = sockets_describe_ends(pid, &ends, text);
	sockets_count(roles, role, text_string(text) + before);
}

static void describe(const struct waited_event *event, u32 i, struct text *text,
		     struct waiting_text *waiting)
{
	const struct waited_file *file = &event->files[i];

	if (event->ends.family) {
		describe_ends(event->event.pid, &event->ends, text, &waiting->roles);
	} else if (!open_file_describe(event->event.pid, file->fd, file->inode, file->other.number,
				       text, &waiting->roles)) {
		text_appendf(text, "descriptor %u (not known what it was)", file->fd);
		waiting->unknown++;
	}
}

static void on_files(struct session *session, const struct waited_event *event)
{
	struct waiting_text waiting = {.number = event->event.number,
				       .pid = event->event.pid,
				       .ts = event->event.ts,
				       .count = event->count,
				       .more = event->more};
	struct session_waited *waited = session->waited;
	bool asks = false;

	if (!waited)
		waited = session->waited = calloc(1, sizeof(*waited));
	if (!waited || event->count > WAITED_FILES_MAX ||
	    array_reserve(&waited->texts, &waited->capacity, waited->count + 1) ||
	    array_reserve(&waited->ends, &waited->end_capacity,
			  waited->end_count + WAITED_FILES_MAX))
		return;
	for (u32 i = 0; i < event->count; i++) {
		const struct waited_file *file = &event->files[i];
		u32 servers = waiting.roles.listening + waiting.roles.accepted;
		struct text text = {0};

		describe(event, i, &text, &waiting);
		waiting.files[i] = (struct waiting_file){
			.file = *file,
			.what = text.data,
			.is_server = waiting.roles.listening + waiting.roles.accepted > servers,
		};
		if (file->other.inode && waited->end_count < PIPE_ENDS_MAX) {
			waited->ends[waited->end_count++] = file->other;
			waiting.files[i].asks = asks = true;
		}
	}
	if (asks)
		waited->texts[waited->count++] = waiting;
	else
		finish_text(session, &waiting);
}

void session_on_waited(void *data, const struct process_event *event)
{
	struct session *session = data;
	_cleanup_text_ struct text text = {0};

	if (event->kind == PROCESS_WAITED_FOR) {
		on_files(session, (const struct waited_event *)event);
		return;
	}
	text_appendf(&text, "%.*s", (int)sizeof(event->comm), (const char *)event->comm);
	/* Nobody else is to be looked for. */
	if (event->pid == (u32)getpid())
		text_append(&text, " (this recording)");
	put_text(session, event->number, &text, NULL);
}

struct session_waited *session_waited_free(struct session_waited *waited)
{
	if (!waited)
		return NULL;
	for (size_t i = 0; i < waited->count; i++)
		for (u32 j = 0; j < waited->texts[i].count; j++)
			free(waited->texts[i].files[j].what);
	free(waited->texts);
	free(waited->ends);
	free(waited->holders);
	free(waited);
	return NULL;
}
