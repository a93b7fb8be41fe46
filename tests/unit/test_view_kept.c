/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events that were kept are those of a run: the same ones, with the same words, in the same order, and with the same paths there. */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "unit.h"

#include "base/text.h"
#include "capture_fixture.h"
#include "golden_views.h"
#include "scratch_folder.h"
#include "view/view_kept.h"
#include "view/view_parts.h"

static const struct view_kept_kind kinds[] = {
	{KIND_api, false},	{KIND_off_cpu, true}, {KIND_sample, false},
	{KIND_kernel, false},	{KIND_copy, true},    {KIND_graph_launch, true},
	{KIND_usdt_span, true}, {KIND_mark, true},    {0, false},
};

struct seen {
	const struct view *view;
	struct text text;
	size_t count;
	bool closed;
};

static int see_open(void *data, const struct view *view, const struct view_survey *survey,
		    struct err *err)
{
	struct seen *seen = data;

	(void)survey;
	(void)err;
	seen->view = view;
	return 0;
}

static const struct view_kept_kind *kind_of(const struct view_event *event)
{
	const struct view_kept_kind *kind = kinds;

	while (kind->kind && kind->kind != event->kind->number)
		kind++;
	return kind->kind ? kind : NULL;
}

static void see_record(struct text *text, const struct view_event *event)
{
	size_t size = kind_of(event)->whole ? event->record->size_bytes : sizeof(*event->record);

	/* The size is that of what is there. */
	for (size_t i = sizeof(event->record->size_bytes); i < size; i++)
		text_appendf(text, "%02x", ((const u8 *)event->record)[i]);
}

static void see(struct seen *seen, const char *how, const struct view_event *event)
{
	const struct view_cause *cause = event->cause;
	struct text *text = &seen->text;

	if (!kind_of(event))
		return;
	seen->count++;
	text_appendf(text, "%s %s %s %llu+%llu=%llu %d row %zu of %u stack %u %u paths %zu ", how,
		     event->kind->tag, event->name, (unsigned long long)event->ts,
		     (unsigned long long)event->dur, (unsigned long long)event->end, event->open,
		     event->row_index, event->row->tid, event->stack.stack, event->stack.launches,
		     seen->view->paths.count);
	if (cause)
		text_appendf(text, "cause %llu %zu %zu ", (unsigned long long)cause->ts,
			     cause->row_index, cause->within.row_index);
	see_record(text, event);
	text_append(text, "\n");
}

static int see_span(void *data, const struct view_event *event, struct err *err)
{
	(void)err;
	see(data, "span", event);
	return 0;
}

static int see_end(void *data, const struct view_event *event, struct err *err)
{
	(void)err;
	see(data, "end", event);
	return 0;
}

static int see_point(void *data, const struct view_event *event, struct err *err)
{
	(void)err;
	see(data, "point", event);
	return 0;
}

static int see_close(void *data, struct err *err)
{
	(void)err;
	((struct seen *)data)->closed = true;
	return 0;
}

static const struct view_sink see_all = {.open = see_open,
					 .span = see_span,
					 .end = see_end,
					 .point = see_point,
					 .close = see_close,
					 .end_kinds = {KIND_api, KIND_off_cpu, KIND_kernel}};

static int keep(void *data, const struct view_event *event, struct err *err)
{
	(void)err;
	view_kept_add(data, event);
	return 0;
}

static const struct view_sink keep_all = {
	.span = keep, .point = keep, .counter = keep, .total = keep, .only_recorded = true};

static void check_alike(struct seen *seen, struct seen *wanted, const char *path)
{
	CHECK(seen->closed && wanted->closed);
	if (strcmp(text_string(&seen->text), text_string(&wanted->text)) != 0)
		UNIT_FAIL("%s: was\n%s, not\n%s", path, text_string(&seen->text),
			  text_string(&wanted->text));
	text_free(&seen->text);
	text_free(&wanted->text);
}

static size_t check_kept(struct view *view, const char *path)
{
	struct view_kept *kept = view_kept_new(view, kinds);
	struct seen seen = {0}, wanted = {0};
	struct err err = {0};
	size_t paths;
	u64 runs;

	CHECK_OK(view_run(view, &see_all, &wanted, &err), err);
	CHECK_OK(view_run(view, &keep_all, kept, &err), err);
	runs = view->run_count;
	paths = view->paths.count;
	CHECK_OK(view_kept_run(kept, &(struct view_part){&see_all, &seen}, 1, &err), err);
	CHECK_U64(view->run_count, runs);
	CHECK_U64(view->paths.count, paths);
	view_kept_free(kept);
	check_alike(&seen, &wanted, path);
	return wanted.count;
}

TEST(what_was_kept_is_what_a_run_gives)
{
	CHECK(golden_views_check_all(check_kept) > 1000);
}

/* Of what is too much for memory, without room for it. */
static size_t check_not_kept(struct view *view, const char *path)
{
	struct view_kept *kept = view_kept_new(view, kinds);
	struct seen seen = {0}, wanted = {0};
	const struct rlimit none = {0, RLIM_INFINITY};
	struct rlimit before;
	struct err err = {0};
	u64 runs;

	CHECK_OK(view_run(view, &see_all, &wanted, &err), err);
	CHECK(!getrlimit(RLIMIT_FSIZE, &before) && !setrlimit(RLIMIT_FSIZE, &none));
	for (size_t kept_bytes = 0; wanted.count && kept_bytes < 1 << 17;
	     kept_bytes += wanted.count * 40)
		CHECK_OK(view_run(view, &keep_all, kept, &err), err);
	CHECK(!setrlimit(RLIMIT_FSIZE, &before));
	runs = view->run_count;
	CHECK_OK(view_kept_run(kept, &(struct view_part){&see_all, &seen}, 1, &err), err);
	CHECK_U64(view->run_count - runs, wanted.count ? 1 : 0);
	view_kept_free(kept);
	check_alike(&seen, &wanted, path);
	return wanted.count > 0;
}

TEST(what_can_not_be_kept_is_given_by_a_run)
{
	signal(SIGXFSZ, SIG_IGN);
	CHECK(golden_views_check_all(check_not_kept) > 20);
	signal(SIGXFSZ, SIG_DFL);
}

/* ---- many, of which most go to a file and come back in pieces ---- */

#define MANY 1500 /* turns of the events below */

#define FACTS                                                                                     \
	"{\"kind\":\"window\",\"source\":1,\"ts\":1000,\"dur\":4000100000}\n"                     \
	"{\"kind\":\"device\",\"source\":2,\"pid\":7,\"id\":\"GPU\",\"number\":0}\n"              \
	"{\"kind\":\"stream\",\"source\":2,\"pid\":7,\"id\":\"s\",\"device\":\"GPU\",\"number\":" \
	"7}\n"

/* Events of all shapes of records, with strings and stacks of their own: `source` is 1 of the kernel, 2 of an agent. */
static void append_turn(struct text *text, unsigned turn)
{
	unsigned long long ts = 2000 + turn * 1000000ULL;
	unsigned tid = 7 + turn % 5;

	text_appendf(text,
		     "{\"kind\":\"range\",\"source\":2,\"ts\":%llu,\"dur\":900000,\"pid\":7,"
		     "\"tid\":%u,\"name\":\"step %u\"}\n",
		     ts, tid, turn % 700);
	text_appendf(text,
		     "{\"kind\":\"api\",\"source\":2,\"ts\":%llu,\"dur\":%u,\"pid\":7,\"tid\":%u,"
		     "\"name\":\"%s\",\"correlation\":%u,\"stack\":[\"%#x\",\"0x402000\"],"
		     "\"stack_end\":\"complete\"}\n",
		     ts + 10, 5000 + turn, tid, turn % 3 ? "cudaLaunchKernel" : "cudaGraphLaunch",
		     turn + 1, 0x500000 + turn * 16);
	text_appendf(text,
		     "{\"kind\":\"%s\",\"source\":2,\"ts\":%llu,\"dur\":%u,\"pid\":7,\"name\":\"%s "
		     "%u\",\"correlation\":%u,\"device\":\"GPU\",\"stream\":\"s\"}\n",
		     turn % 3 ? "kernel" : "graph_launch", ts + 20000, 100000 + turn,
		     turn % 2 ? "a" : "a kernel with a longer name", turn % 900, turn + 1);
	text_appendf(
		text,
		"{\"kind\":\"off_cpu\",\"source\":1,\"ts\":%llu,\"dur\":%u,\"pid\":7,\"tid\":%u,"
		"\"name\":\"wait %u\",\"stack\":[\"%#x\"],\"stack_end\":\"complete\"}\n",
		ts + 200000, 40000 + turn % 3 * 300000, tid, turn % 600, 0x600000 + turn * 8);
	text_appendf(
		text,
		"{\"kind\":\"usdt_span\",\"source\":1,\"ts\":%llu,\"dur\":3000,\"pid\":7,"
		"\"tid\":%u,\"name\":\"db:query\",\"usdt\":\"db:query__start\",\"ended\":\"%s\","
		"\"args\":{\"arg0\":-%u,\"arg1\":\"select '%.*s'\",\"end.arg0\":%u}}\n",
		ts + 610000, tid, turn % 50 ? "ended" : "open", turn, (int)(turn % 61),
		"a text of up to sixty letters, so that no two have one size .", turn);
	text_appendf(text,
		     "{\"kind\":\"sample\",\"source\":1,\"ts\":%llu,\"pid\":7,\"tid\":%u,"
		     "\"stack\":[\"%#x\",\"0x403000\"],\"stack_end\":\"complete\"}\n",
		     ts + 700000, tid, 0x700000 + turn % 1000 * 4);
	text_appendf(
		text,
		"{\"kind\":\"copy\",\"source\":2,\"ts\":%llu,\"dur\":2000,\"pid\":7,\"bytes\":%u,"
		"\"device\":\"GPU\",\"stream\":\"s\",\"correlation\":%u}\n",
		ts + 800000, turn * 4096, turn + 1);
	text_appendf(text,
		     "{\"kind\":\"mark\",\"source\":2,\"ts\":%llu,\"pid\":7,\"tid\":%u,"
		     "\"name\":\"mark %u\"}\n",
		     ts + 850000, tid, turn);
}

static struct fixture many_events(void)
{
	struct text text _cleanup_text_ = {0};

	text_append(&text, FACTS);
	for (unsigned turn = 0; turn < MANY; turn++)
		append_turn(&text, turn);
	return fixture_open(text_string(&text));
}

/* The temporary file that is open, which has no name, beside that of the fixture; -1: there is none. */
static int temporary_file(const struct fixture *fixture, u64 *ret_size_bytes)
{
	DIR *fds = opendir("/proc/self/fd");
	int found = -1;

	*ret_size_bytes = 0;
	for (struct dirent *entry; fds && (entry = readdir(fds));) {
		char target[256] = {0};
		struct stat status;
		int fd = atoi(entry->d_name);

		if (fd == fixture->fd)
			continue;
		if (readlinkat(dirfd(fds), entry->d_name, target, sizeof(target) - 1) < 0 ||
		    fstat(fd, &status) || !S_ISREG(status.st_mode) || status.st_nlink ||
		    !strncmp(target, "/memfd:", strlen("/memfd:")))
			continue;
		found = fd;
		*ret_size_bytes = status.st_size;
	}
	closedir(fds);
	return found;
}

static struct view_kept *keep_many(struct view *view)
{
	struct view_kept *kept = view_kept_new(view, kinds);
	struct err err = {0};

	CHECK_OK(view_run(view, &keep_all, kept, &err), err);
	return kept;
}

static void check_same(struct seen *seen, const struct seen *wanted)
{
	CHECK_U64(seen->count, wanted->count);
	CHECK(seen->closed && wanted->closed);
	for (size_t at = 0, line = 0; at < seen->text.length && at < wanted->text.length; at++) {
		if (seen->text.data[at] != wanted->text.data[at]) {
			UNIT_FAIL("event %zu: %.600s", line, seen->text.data + at);
			break;
		}
		line += seen->text.data[at] == '\n';
	}
	CHECK_U64(seen->text.length, wanted->text.length);
	text_free(&seen->text);
}

/* The number of runs that it takes to give two of them all events, each of which is as in a run. */
static u64 check_many(struct view *view, struct view_kept *kept)
{
	struct seen seen[2] = {}, wanted = {0};
	const struct view_part parts[] = {{&see_all, &seen[0]}, {&see_all, &seen[1]}};
	struct err err = {0};
	u64 runs;

	CHECK_OK(view_run(view, &see_all, &wanted, &err), err);
	CHECK(wanted.count > 8 * MANY);
	runs = view->run_count;
	CHECK_OK(view_kept_run(kept, parts, 2, &err), err);
	check_same(&seen[0], &wanted);
	check_same(&seen[1], &wanted);
	text_free(&wanted.text);
	return view->run_count - runs;
}

/* Each piece of the file is read at once, and what is in memory comes behind. */
TEST(what_a_file_keeps_is_what_a_run_gives)
{
	struct fixture _fixture_ fixture = many_events();
	struct view_kept *kept = keep_many(fixture.view);
	u64 file_bytes;

	CHECK(temporary_file(&fixture, &file_bytes) >= 0);
	CHECK(file_bytes > 2 * 256 * 1024);
	CHECK_U64(check_many(fixture.view, kept), 0);
	view_kept_free(kept);
	CHECK(temporary_file(&fixture, &file_bytes) < 0);
}

/* Of several pieces that are in the file already. Its room is for others then. */
TEST(what_can_not_be_written_is_given_by_a_run)
{
	static const u64 limits_bytes[] = {100000, 400000};
	struct fixture _fixture_ fixture = many_events();
	struct rlimit before;
	u64 file_bytes;

	CHECK(!getrlimit(RLIMIT_FSIZE, &before));
	signal(SIGXFSZ, SIG_IGN);
	for (size_t i = 0; i < ARRAY_SIZE(limits_bytes); i++) {
		const struct rlimit limit = {limits_bytes[i], before.rlim_max};
		struct view_kept *kept;

		CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
		kept = keep_many(fixture.view);
		CHECK(!setrlimit(RLIMIT_FSIZE, &before));
		CHECK(temporary_file(&fixture, &file_bytes) < 0);
		CHECK_U64(check_many(fixture.view, kept), 1);
		view_kept_free(kept);
	}
	signal(SIGXFSZ, SIG_DFL);
}

/* A file system of this process alone; false: it may have none here. */
static bool mount_room(const char *size)
{
	char options[32];

	snprintf(options, sizeof(options), "size=%s", size);
	if (unshare(CLONE_NEWNS) && unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return false;
	return !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("tmpfs", folder, "tmpfs", 0, options) && !setenv("TMPDIR", folder, 1);
}

#define NO_ROOM_HERE 77

/* In a process of its own: of so much room, is it kept? */
static void check_room(const char *size, bool is_kept)
{
	struct fixture fixture = many_events();
	struct view_kept *kept;
	u64 file_bytes;

	if (!mount_room(size))
		_exit(NO_ROOM_HERE);
	kept = keep_many(fixture.view);
	CHECK((temporary_file(&fixture, &file_bytes) >= 0) == is_kept);
	CHECK_U64(check_many(fixture.view, kept), is_kept ? 0 : 1);
	view_kept_free(kept);
	fixture_close(&fixture);
	fflush(stdout);
	_exit(unit_failures != 0);
}

/* It takes a fourth of the room there is, since others of the same run can't do without. */
TEST(of_what_has_little_room_most_is_left_to_others)
{
	static const struct {
		const char *size;
		bool is_kept;
	} rooms[] = {{"64k", false}, {"1m", false}, {"64m", true}};

	for (size_t i = 0; i < ARRAY_SIZE(rooms); i++) {
		pid_t child;
		int status;

		fflush(stdout);
		child = fork();
		if (child == 0)
			check_room(rooms[i].size, rooms[i].is_kept);
		CHECK(child > 0 && waitpid(child, &status, 0) == child);
		if (WIFEXITED(status) && WEXITSTATUS(status) == NO_ROOM_HERE)
			SKIP("no file system can be mounted in a namespace here");
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
}

/* What was kept and is gone is no end of the events. */
TEST(what_can_not_be_read_again_is_an_error)
{
	struct fixture _fixture_ fixture = many_events();
	struct view_kept *kept = keep_many(fixture.view);
	struct seen seen = {0};
	struct err err = {0};
	u64 file_bytes;
	int fd = temporary_file(&fixture, &file_bytes);
	size_t paths = fixture.view->paths.count;

	CHECK(fd >= 0 && !ftruncate(fd, file_bytes / 2));
	CHECK(view_kept_run(kept, &(struct view_part){&see_all, &seen}, 1, &err) == -EIO);
	CHECK(strstr(err.message, "can't read a temporary file"));
	CHECK(!seen.closed && seen.count > MANY);
	CHECK_U64(fixture.view->paths.count, paths);
	text_free(&seen.text);
	view_kept_free(kept);
}

UNIT_MAIN()
