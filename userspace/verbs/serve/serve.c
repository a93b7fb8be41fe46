/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpuprobe serve -p PID: answers XProf's "Capture profile" button (tensorflow.ProfilerService) with recordings. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "process/target.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/sudo_user.h"
#include "net/grpc_server.h"
#include "net/listener.h"
#include "net/peer.h"
#include "net/profiler_messages.h"
#include "verbs/serve/remote_capture.h"
#include "verbs/serve/served_targets.h"
#include "verbs/verbs.h"

#define SERVICE		"/tensorflow.ProfilerService/"
#define ANSWER_MAX	INT32_MAX /* what its client takes */
#define TOOL_DATA_BYTES 64	  /* around the data of one */
#define STRANGER_EVERY	(10 * NS_PER_SECOND)

struct serving {
	const struct options *options;
	struct served_targets targets;
	struct text what; /* "train (4242)" */
	struct grpc_server *server;
	struct remote_capture *capture; /* NULL: none */
	char *session_id;		/* of the capture */
	struct grpc_call *call;		/* waits for the capture; NULL: nobody does */
	u64 stranger_ns;		/* when one was spoken of last */
	int signal_fd;
	bool ends;
};

static enum grpc_status status_of(int result)
{
	static const struct {
		int result;
		enum grpc_status status;
	} rows[] = {
		{-EINVAL, GRPC_INVALID_ARGUMENT},   {-ENOTSUP, GRPC_UNIMPLEMENTED},
		{-ESRCH, GRPC_FAILED_PRECONDITION}, {-ENOMEM, GRPC_RESOURCE_EXHAUSTED},
		{-EFBIG, GRPC_RESOURCE_EXHAUSTED},  {-EBUSY, GRPC_UNAVAILABLE},
		{-ETIME, GRPC_DEADLINE_EXCEEDED},   {-ENOENT, GRPC_NOT_FOUND},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].result == result)
			return rows[i].status;
	return GRPC_INTERNAL;
}

/* ---- who is answered ---- */

static bool is_allowed(u32 uid)
{
	u32 sudo_uid, sudo_gid;

	return uid == 0 || uid == geteuid() ||
	       (sudo_user_find(&sudo_uid, &sudo_gid) && uid == sudo_uid);
}

static void speak_of_stranger(struct serving *serving, const char *who)
{
	u64 now_ns = clock_monotonic_ns();

	if (serving->stranger_ns && now_ns - serving->stranger_ns < STRANGER_EVERY)
		return;
	serving->stranger_ns = now_ns;
	log_warning("a connection was refused: %s. Only root and the user behind sudo are answered",
		    who);
}

/* Elsewhere than on loopback only --listen makes us hear anybody. */
static bool admit(void *data, int fd)
{
	struct serving *serving = data;
	struct err err = {0};
	char who[64];
	u32 uid;

	if (!peer_is_on_loopback(fd))
		return serving->options->listen != NULL;
	if (peer_find_uid(fd, &uid, &err)) {
		speak_of_stranger(serving, err.message);
		return false;
	}
	if (is_allowed(uid))
		return true;
	snprintf(who, sizeof(who), "it is user %u's", uid);
	speak_of_stranger(serving, who);
	return false;
}

/* ---- Profile ---- */

static int check_time(const struct grpc_call *call, const struct profile_request *request,
		      struct err *err)
{
	u64 deadline_ns = grpc_call_deadline_ns(call), now_ns = clock_monotonic_ns();
	u64 now_unix_ns = clock_read_ns(CLOCK_REALTIME), needed_ms = request->duration_ms;

	if (request->start_unix_ns > now_unix_ns)
		needed_ms += (request->start_unix_ns - now_unix_ns) / NS_PER_MILLISECOND;
	if (deadline_ns == UINT64_MAX ||
	    (deadline_ns > now_ns && (deadline_ns - now_ns) / NS_PER_MILLISECOND > needed_ms))
		return 0;
	return err_set(err, -ETIME,
		       "a recording with %.1f s from now to its end does not fit into the deadline",
		       needed_ms / 1000.0);
}

static int start_capture(struct serving *serving, const struct grpc_call *call,
			 const struct profile_request *request, struct err *err)
{
	int result;

	if (serving->ends)
		return err_set(err, -EBUSY, "gpuprobe serve is ending");
	if (serving->capture)
		return err_set(
			err, -EBUSY,
			"gpuprobe %s for another session: only one at a time. Try again when "
			"it is done",
			remote_capture_phase(serving->capture));
	result = check_time(call, request, err);
	if (!result)
		result = served_targets_check(&serving->targets, err);
	if (!result)
		result = remote_capture_start(serving->options, request, &serving->capture, err);
	return result;
}

static void begin_profile(void *data, struct grpc_call *call, const u8 *message, size_t bytes)
{
	struct serving *serving = data;
	struct profile_request request = {0};
	struct err err = {0};
	int result = profile_request_read(message, bytes, &request, &err);

	if (!result)
		result = start_capture(serving, call, &request, &err);
	if (result) {
		log_info("session %s: refused: %s", request.session_id ?: "?", err.message);
		grpc_call_fail(call, status_of(result), err.message);
	} else {
		serving->call = call;
		serving->session_id = take_pointer(&request.session_id);
		log_info("session %s: %.1f s of %s", serving->session_id,
			 request.duration_ms / 1000.0, text_string(&serving->what));
	}
	profile_request_free(&request);
}

static void cancelled(void *data, struct grpc_call *call)
{
	struct serving *serving = data;

	if (call != serving->call)
		return;
	serving->call = NULL;
	log_info("session %s: its client has given it up", serving->session_id);
	remote_capture_cancel(serving->capture);
}

/* One tool_data a process. The descriptors go to the server. */
static int answer(struct serving *serving, struct remote_files *files, struct err *err)
{
	_cleanup_free_ struct grpc_piece *pieces = calloc(files->count, sizeof(*pieces));
	_cleanup_free_ struct text *heads = calloc(files->count, sizeof(*heads));
	bool failed = false;
	u64 bytes = 0;

	if (!pieces || !heads)
		return err_errno(err, -ENOMEM, "can't answer");
	for (size_t i = 0; i < files->count; i++)
		bytes += files->items[i].bytes + TOOL_DATA_BYTES;
	if (bytes > ANSWER_MAX)
		return err_set(err, -EFBIG,
			       "what was recorded takes %llu MB, and an answer holds 2 GiB: record "
			       "for a shorter time, or by a lower host_tracer_level",
			       (unsigned long long)bytes / 1000000);
	for (size_t i = 0; i < files->count; i++) {
		struct remote_file *file = &files->items[i];

		profile_response_append_head(&heads[i], file->tool_name, file->bytes);
		failed |= heads[i].failed;
		pieces[i] = (struct grpc_piece){text_string(&heads[i]), heads[i].length, file->fd,
						file->bytes};
	}
	if (!failed) {
		log_info("session %s: %.1f MB", serving->session_id, bytes / 1e6);
		grpc_call_answer(serving->call, pieces, files->count);
	}
	for (size_t i = 0; i < files->count; i++) {
		text_free(&heads[i]);
		if (!failed)
			files->items[i].fd = -1;
	}
	return failed ? err_errno(err, -ENOMEM, "can't answer") : 0;
}

static void answer_empty(struct serving *serving)
{
	_cleanup_text_ struct text message = {0};

	profile_response_append_empty(&message);
	log_info("session %s: ended before anything was recorded", serving->session_id);
	grpc_call_answer_bytes(serving->call, text_string(&message), message.length);
}

static void finish_capture(struct serving *serving)
{
	struct remote_files files = {0};
	struct err err = {0};
	int result = remote_capture_result(serving->capture, &files, &err);

	if (!serving->call) {
		log_info("session %s: over", serving->session_id);
	} else if (result == -ENODATA) {
		answer_empty(serving);
	} else {
		if (!result)
			result = answer(serving, &files, &err);
		if (result) {
			log_info("session %s: failed: %s", serving->session_id, err.message);
			grpc_call_fail(serving->call, status_of(result), err.message);
		}
	}
	remote_files_free(&files);
	serving->call = NULL;
	serving->capture = remote_capture_free(serving->capture);
	free(take_pointer(&serving->session_id));
}

/* ---- Terminate and Monitor ---- */

static int terminate(struct serving *serving, const char *session_id, struct err *err)
{
	if (!serving->call || (*session_id && strcmp(session_id, serving->session_id)))
		return err_set(err, -ENOENT, "no session \"%.100s\" is being recorded", session_id);
	log_info("session %s: ended by its client", serving->session_id);
	remote_capture_end(serving->capture);
	return 0;
}

static void begin_terminate(void *data, struct grpc_call *call, const u8 *message, size_t bytes)
{
	_cleanup_free_ char *session_id = NULL;
	struct err err = {0};
	int result = terminate_request_read(message, bytes, &session_id, &err);

	if (!result)
		result = terminate(data, session_id, &err);
	if (result)
		grpc_call_fail(call, status_of(result), err.message);
	else
		grpc_call_answer_bytes(call, "", 0);
}

/* There is nothing to watch but what we do ourselves: told at once, whatever duration is asked for. */
static void begin_monitor(void *data, struct grpc_call *call, const u8 *message, size_t bytes)
{
	struct serving *serving = data;
	_cleanup_text_ struct text text = {0}, answer = {0};
	struct err err = {0};
	bool timestamp;
	char date[40];
	time_t now = time(NULL);
	struct tm broken_down;
	int result = monitor_request_read(message, bytes, &timestamp, &err);

	if (result) {
		grpc_call_fail(call, status_of(result), err.message);
		return;
	}
	strftime(date, sizeof(date), "%F %T ", localtime_r(&now, &broken_down));
	text_appendf(&text, "%sgpuprobe serves %s: ", timestamp ? date : "",
		     text_string(&serving->what));
	if (serving->capture)
		text_appendf(&text, "session %s %s\n", serving->session_id,
			     remote_capture_phase(serving->capture));
	else
		text_append(&text, "no session\n");
	monitor_response_append(&answer, text_string(&text));
	grpc_call_answer_bytes(call, text_string(&answer), answer.length);
}

/* ---- the verb ---- */

static const struct grpc_method methods[] = {
	{SERVICE "Profile", begin_profile},
	{SERVICE "Terminate", begin_terminate},
	{SERVICE "Monitor", begin_monitor},
};

/* The second one ends us at once; what records ends then too. */
static void take_signal(struct serving *serving)
{
	struct signalfd_siginfo info;

	if (read(serving->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (serving->ends)
		_exit(128 + (int)info.ssi_signo);
	serving->ends = true;
	if (!serving->capture)
		return;
	log_info("session %s: given up", serving->session_id);
	if (serving->call)
		grpc_call_fail(serving->call, GRPC_UNAVAILABLE, "gpuprobe serve was ended");
	serving->call = NULL;
	remote_capture_cancel(serving->capture);
}

static void serve_until_ended(struct serving *serving)
{
	while (!serving->ends || serving->capture) {
		struct pollfd fds[2 + REMOTE_CAPTURE_FDS] = {
			{.fd = grpc_server_fd(serving->server), .events = POLLIN},
			{.fd = serving->signal_fd, .events = POLLIN},
			{.fd = -1},
			{.fd = -1},
		};
		int timeout_ms = -1;

		if (serving->capture)
			timeout_ms = remote_capture_poll(serving->capture, fds + 2);
		if (poll(fds, ARRAY_SIZE(fds), timeout_ms) < 0)
			continue;
		if (fds[1].revents)
			take_signal(serving);
		if (fds[0].revents)
			grpc_server_handle(serving->server);
		if (serving->capture && remote_capture_go_on(serving->capture))
			finish_capture(serving);
	}
	/* The last answers go out. */
	grpc_server_handle(serving->server);
}

static int take_signals(struct serving *serving, struct err *err)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	serving->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC);
	return serving->signal_fd < 0 ? err_errno(err, -errno, "can't take signals") : 0;
}

static int open_server(struct serving *serving, const struct grpc_server_config *config,
		       struct err *err)
{
	const char *address = serving->options->listen ?: LISTENER_LOOPBACK;
	char name[80] = "";
	int fd, result;

	result = listener_open(address, serving->options->port, &fd, err);
	if (result)
		return result;
	listener_name(fd, name, sizeof(name));
	result = grpc_server_open(config, fd, &serving->server, err);
	if (result)
		return result;
	if (serving->options->listen && strncmp(name, "127.", 4) && strncmp(name, "[::1]", 5))
		log_warning("whoever reaches %s may record %s: there is no password", name,
			    text_string(&serving->what));
	log_info("serving %s at %s: in XProf, Capture profile with this address (Ctrl-C ends)",
		 text_string(&serving->what), name);
	return 0;
}

int verb_serve(const struct options *options)
{
	struct serving serving = {.options = options, .signal_fd = -1};
	const struct grpc_server_config config = {
		.methods = methods,
		.method_count = ARRAY_SIZE(methods),
		.admit = admit,
		.cancelled = cancelled,
		.data = &serving,
	};
	struct err err = {0};
	int result;

	signal(SIGPIPE, SIG_IGN);
	result = privileges_check(&err);
	if (!result)
		result = served_targets_note(&options->pids, &serving.targets, &err);
	served_targets_append(&serving.targets, &serving.what);
	if (!result)
		result = take_signals(&serving, &err);
	if (!result)
		result = open_server(&serving, &config, &err);
	if (result)
		log_error("%s", err.message);
	else
		serve_until_ended(&serving);
	if (serving.server)
		grpc_server_close(serving.server);
	if (serving.signal_fd >= 0)
		close(serving.signal_fd);
	served_targets_free(&serving.targets);
	text_free(&serving.what);
	return result ? EXIT_FAILURE : EXIT_SUCCESS;
}
