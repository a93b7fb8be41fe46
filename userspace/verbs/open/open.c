/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpuprobe open FILE...: a page of Perfetto or XProf that shows them. */
#include "verbs/open/open.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/sudo_user.h"
#include "base/text.h"
#include "exporters/exporter.h"
#include "net/file_server.h"
#include "net/listener.h"
#include "verbs/open/browser.h"
#include "verbs/open/trace_file.h"
#include "verbs/verbs.h"

#define PERFETTO_ORIGIN "https://ui.perfetto.dev"
#define PERFETTO_PORT	9001 /* the only one that the policy of its page lets it fetch from */
#define XPROF_PORT	8791 /* of `xprof` */
#define PATIENCE	60   /* seconds */
#define XPROF_ABSENT	127

struct opening {
	const char *const *paths;
	size_t count;
	const char *origin;
	struct browser browser;
	struct served_file *files;
	char secret[17];
};

/* ---- the command line ---- */

static const char *origin_of(const struct options *options)
{
	return options->origin ?: PERFETTO_ORIGIN;
}

/* As browsers say it. */
static int check_origin(const char *origin, struct err *err)
{
	const char *host = strstr(origin, "://");
	size_t length = host ? strlen(host + 3) : 0;

	if ((strncmp(origin, "https://", 8) != 0 && strncmp(origin, "http://", 7) != 0) ||
	    !length || length > 255 ||
	    strspn(host + 3, "abcdefghijklmnopqrstuvwxyz0123456789.-:[]") != length)
		return err_set(err, -EINVAL,
			       "--origin %.100s: that is no origin of a page, such as "
			       "https://ui.perfetto.dev or http://127.0.0.1:8000 (small letters, "
			       "nothing behind the host)",
			       origin);
	return 0;
}

/* Chrome's and Perfetto's traces, and folders for XProf. */
static bool can_be_opened(const struct options *options, const char *path)
{
	const struct exporter *exporter = NULL;

	if (!strcmp(path, "-") || exporter_find(path, NULL, &exporter, NULL) < 0)
		exporter_find(path, options->format ?: "", &exporter, NULL);
	return exporter && strcmp(path, "-") != 0 &&
	       (!strcmp(exporter->format, "chrome") || !strcmp(exporter->format, "perfetto") ||
		exporter_is_folder(exporter, path));
}

int open_check(const struct options *options, struct err *err)
{
	int result = check_origin(origin_of(options), err);

	if (result || !options->opens)
		return result;
	for (size_t i = 0; i < options->outputs.count; i++)
		if (can_be_opened(options, options->outputs.items[i]))
			return 0;
	return err_set(err, -EINVAL,
		       "--open: there is no output to open: give -o FILE.pftrace.gz or "
		       "FILE.json.gz, which Perfetto shows, or -o DIR/, which XProf does");
}

/* ---- folders: XProf ---- */

static int open_folder(const struct opening *opening, const char *path)
{
	_cleanup_text_ struct text forward = {0};
	struct err err = {0};

	if (trace_folder_check(path, &err)) {
		log_error("%s", err.message);
		return EXIT_FAILURE;
	}
	if (opening->browser.forward.length) {
		browser_append_forward(&opening->browser, XPROF_PORT, &forward);
		log_info("on your machine: %s", text_string(&forward));
	}
	log_info("XProf shows %s: xprof --logdir %s (Ctrl-C ends it)", path, path);
	execlp("xprof", "xprof", "--logdir", path, (char *)NULL);
	log_error("can't start xprof: %s. pip install xprof, then xprof --logdir %s",
		  strerror(errno), path);
	return EXIT_FAILURE;
}

/* ---- traces: Perfetto ---- */

/* A path that nobody can guess, as other users of the machine may ask for it too. */
static int make_secret(struct opening *opening)
{
	u64 number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -errno;
	snprintf(opening->secret, sizeof(opening->secret), "%016llx", (unsigned long long)number);
	return 0;
}

/* Of its name what means itself in an address, which ends up inside another one. */
static char *make_path(const struct opening *opening, const char *path, size_t place)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char *made = NULL;

	if (asprintf(&made, "/%s-%zu/%s", opening->secret, place, name) < 0)
		return NULL;
	for (char *at = strrchr(made, '/') + 1; *at; at++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-",
			    *at))
			*at = '_';
	return made;
}

static int open_traces(struct opening *opening, struct err *err)
{
	int result;

	opening->files = calloc(opening->count, sizeof(*opening->files));
	if (!opening->files)
		return err_errno(err, -ENOMEM, "can't open traces");
	for (size_t i = 0; i < opening->count; i++)
		opening->files[i].fd = -1;
	result = make_secret(opening);
	if (result)
		return err_errno(err, result, "can't open traces");
	for (size_t i = 0; i < opening->count; i++) {
		struct served_file *file = &opening->files[i];

		if (trace_folder_is(opening->paths[i]))
			return err_set(err, -EINVAL,
				       "%s is a folder, which XProf shows: open it alone",
				       opening->paths[i]);
		result = trace_file_open(opening->paths[i], &file->fd, &file->bytes, err);
		if (result)
			return result;
		file->path = make_path(opening, opening->paths[i], i + 1);
		if (!file->path)
			return err_errno(err, -ENOMEM, "can't open %s", opening->paths[i]);
	}
	return 0;
}

static int listen_for_page(int *ret_fd, struct err *err)
{
	int result = listener_open(LISTENER_LOOPBACK, PERFETTO_PORT, ret_fd, err);

	if (result == -EADDRINUSE)
		return err_set(err, result,
			       "another program listens on port %u of %s, the only one that "
			       "Perfetto's page may fetch from: end that (sudo ss -ltnp 'sport = "
			       ":%u' names it) and try again",
			       PERFETTO_PORT, LISTENER_LOOPBACK, PERFETTO_PORT);
	return result;
}

/* The link alone goes to standard output. */
static int announce(const struct opening *opening, struct err *err)
{
	_cleanup_text_ struct text forward = {0}, url = {0};
	bool opened = true;

	if (opening->browser.forward.length) {
		browser_append_forward(&opening->browser, PERFETTO_PORT, &forward);
		log_info("on your machine: %s", text_string(&forward));
	}
	for (size_t i = 0; i < opening->count; i++) {
		text_clear(&url);
		text_appendf(&url, "%s/#!/?url=http://%s:%u%s", opening->origin, LISTENER_LOOPBACK,
			     PERFETTO_PORT, opening->files[i].path);
		if (url.failed)
			return err_errno(err, -ENOMEM, "can't open traces");
		if (printf("%s\n", text_string(&url)) < 0 || fflush(stdout))
			return err_errno(err, -errno, "can't write the link");
		opened &= browser_open(&opening->browser, text_string(&url));
	}
	log_info("%s; Chrome asks whether the page may connect to this device: allow it. Waiting "
		 "%u s for it to fetch (Ctrl-C ends)",
		 opened ? "opened in the browser" : "open the link in a browser", PATIENCE);
	return 0;
}

/* A descriptor that is readable when Ctrl-C, or who tells us to end, comes. */
static int take_signals(int *ret_fd, struct err *err)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	*ret_fd = signalfd(-1, &signals, SFD_CLOEXEC);
	return *ret_fd < 0 ? err_errno(err, -errno, "can't take signals") : 0;
}

static int serve_traces(struct opening *opening, struct err *err)
{
	struct file_server server = {.fd = -1,
				     .origin = opening->origin,
				     .files = opening->files,
				     .file_count = opening->count,
				     .stop_fd = -1,
				     .patience_ns = PATIENCE * NS_PER_SECOND};
	int result = listen_for_page(&server.fd, err);

	/* Who reads the link may press Ctrl-C at once. */
	if (!result)
		result = take_signals(&server.stop_fd, err);
	if (!result)
		result = announce(opening, err);
	if (!result)
		result = file_server_run(&server, err);
	if (result == -EINTR)
		err_set(err, result, "ended before every trace was fetched");
	for (size_t i = 0; i < opening->count && result == -ETIMEDOUT; i++)
		if (!opening->files[i].fetched)
			err_set(err, result, "%s was not fetched within %u s", opening->paths[i],
				PATIENCE);
	if (server.fd >= 0)
		close(server.fd);
	if (server.stop_fd >= 0)
		close(server.stop_fd);
	return result;
}

static void free_opening(struct opening *opening)
{
	for (size_t i = 0; opening->files && i < opening->count; i++) {
		if (opening->files[i].fd >= 0)
			close(opening->files[i].fd);
		free((char *)opening->files[i].path);
	}
	free(opening->files);
	browser_free(&opening->browser);
}

/* ---- both ---- */

/* For good as the user behind sudo: a port is open to all who are here. */
static int open_all(const char *const *paths, size_t count, const char *origin)
{
	struct opening opening = {.paths = paths, .count = count, .origin = origin};
	struct err err = {0};
	int result;

	signal(SIGPIPE, SIG_IGN);
	browser_find(&opening.browser);
	result = sudo_user_become();
	if (result) {
		err_errno(&err, result, "can't become the user who called sudo");
	} else if (count == 1 && trace_folder_is(paths[0])) {
		result = open_folder(&opening, paths[0]);
		browser_free(&opening.browser);
		return result;
	} else {
		result = open_traces(&opening, &err);
		if (!result)
			result = serve_traces(&opening, &err);
	}
	if (result)
		log_error("%s", err.message);
	free_opening(&opening);
	return result ? EXIT_FAILURE : EXIT_SUCCESS;
}

int open_outputs(const struct options *options)
{
	_cleanup_free_ const char **paths = calloc(options->outputs.count, sizeof(*paths));
	size_t count = 0;
	int status;
	pid_t child;

	for (size_t i = 0; paths && i < options->outputs.count; i++)
		if (can_be_opened(options, options->outputs.items[i]))
			paths[count++] = options->outputs.items[i];
	fflush(NULL);
	child = paths ? fork() : -1;
	if (child == 0)
		_exit(open_all(paths, count, origin_of(options)));
	if (child < 0) {
		log_error("can't open what was written: %s", strerror(paths ? errno : ENOMEM));
		return EXIT_FAILURE;
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return EXIT_FAILURE;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}

int verb_open(const struct options *options)
{
	struct err err = {0};

	if (check_origin(origin_of(options), &err)) {
		log_error("%s", err.message);
		return EXIT_USAGE;
	}
	return open_all((const char *const *)options->arguments.items, options->arguments.count,
			origin_of(options));
}
