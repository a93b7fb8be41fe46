/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verbs/open/browser.h"

#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/sudo_user.h"

#define ANCESTORS	  32
#define ENVIRONMENT_BYTES (256 * 1024)

/* ---- environments ---- */

static pid_t parent_of(pid_t pid)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[48], line[128];
	int parent = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "PPid: %d", &parent) == 1)
			break;
	return parent;
}

/* Of the environment that a process was started with; the caller's. */
static char *variable_of(pid_t pid, const char *name, char *data)
{
	_cleanup_close_ int fd = -1;
	size_t length = strlen(name);
	ssize_t bytes;
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	bytes = fd < 0 ? -1 : file_read_at(fd, data, ENVIRONMENT_BYTES, 0);
	if (bytes <= 0)
		return NULL;
	data[bytes] = '\0';
	for (const char *at = data; at < data + bytes; at += strlen(at) + 1)
		if (!strncmp(at, name, length) && at[length] == '=')
			return strdup(at + length + 1);
	return NULL;
}

/* Ours, or that of who is nearest to us and has it. */
static char *find_variable(const char *name)
{
	_cleanup_free_ char *data = NULL;
	pid_t pid = getpid();
	char *found;

	if (getenv(name))
		return strdup(getenv(name));
	data = malloc(ENVIRONMENT_BYTES + 1);
	for (unsigned i = 0; data && i < ANCESTORS && pid > 1; i++) {
		found = variable_of(pid, name, data);
		if (found)
			return found;
		pid = parent_of(pid);
	}
	return NULL;
}

/* ---- where the user is ---- */

static bool is_host(const char *word)
{
	return *word && strspn(word, "0123456789abcdefABCDEF.:%") == strlen(word);
}

/* SSH_CONNECTION: "their address, their port, our address, our port" */
static void find_forward(struct text *forward)
{
	_cleanup_free_ char *connection = find_variable("SSH_CONNECTION");
	const struct passwd *user;
	char host[64];
	u32 uid = getuid(), gid;
	unsigned port;

	if (!connection || sscanf(connection, "%*s %*s %63s %u", host, &port) != 2 ||
	    !is_host(host))
		return;
	sudo_user_find(&uid, &gid);
	user = getpwuid(uid);
	if (port != 22)
		text_appendf(forward, "-p %u ", port);
	text_appendf(forward, "%s%s%s", user ? user->pw_name : "", user ? "@" : "", host);
}

void browser_find(struct browser *ret_browser)
{
	struct browser browser = {0};

	find_forward(&browser.forward);
	browser.has_desktop =
		!browser.forward.length && (getenv("DISPLAY") || getenv("WAYLAND_DISPLAY"));
	*ret_browser = browser;
}

void browser_append_forward(const struct browser *browser, unsigned port, struct text *text)
{
	text_appendf(text, "ssh -N -L %u:127.0.0.1:%u %s", port, port,
		     text_string(&browser->forward));
}

/* ---- the browser ---- */

/* sudo keeps root's: what a browser looks for is in the user's own. */
static void set_environment(void)
{
	const struct passwd *user = getpwuid(getuid());
	char runtime[48], bus[64];

	if (user) {
		setenv("HOME", user->pw_dir, 1);
		setenv("USER", user->pw_name, 1);
		setenv("LOGNAME", user->pw_name, 1);
	}
	snprintf(runtime, sizeof(runtime), "/run/user/%u", getuid());
	if (getenv("XDG_RUNTIME_DIR") || access(runtime, X_OK))
		return;
	setenv("XDG_RUNTIME_DIR", runtime, 1);
	snprintf(bus, sizeof(bus), "unix:path=%s/bus", runtime);
	setenv("DBUS_SESSION_BUS_ADDRESS", bus, 0);
}

/* It may run as long as the browser does: a grandchild, which nobody waits for. */
static void run_opener(const char *url)
{
	int nothing = open("/dev/null", O_RDWR);
	sigset_t none;

	if (fork())
		_exit(0);
	setsid();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	set_environment();
	for (int fd = 0; nothing >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(nothing, fd);
	execlp("xdg-open", "xdg-open", url, (char *)NULL);
	_exit(127);
}

static bool is_in_path(const char *program)
{
	const char *path = getenv("PATH") ?: "/usr/bin:/bin";
	_cleanup_free_ char *copy = strdup(path);
	char *rest = copy, *folder, file[4096];

	while (rest && (folder = strsep(&rest, ":"))) {
		snprintf(file, sizeof(file), "%s/%s", folder, program);
		if (*folder && !access(file, X_OK))
			return true;
	}
	return false;
}

bool browser_open(const struct browser *browser, const char *url)
{
	pid_t child;

	if (!browser->has_desktop || !is_in_path("xdg-open"))
		return false;
	child = fork();
	if (child == 0)
		run_opener(url);
	return child > 0 && waitpid(child, NULL, 0) == child;
}

void browser_free(struct browser *browser)
{
	text_free(&browser->forward);
}
