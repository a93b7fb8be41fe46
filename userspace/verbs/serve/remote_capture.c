/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verbs/serve/remote_capture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "verbs/verbs.h"

#define SELF	       "/proc/self/exe"
#define CAPTURE_NAME   "capture.gpr"
#define RESULT_NAME    "logdir/"
#define LONGEST_MS     (86400 * 1000ULL) /* of --duration */
#define SHORTEST_MS    10
#define LINE_MAX_BYTES 4096
#define WORDS_PREFIX   "gpuprobe: " /* of errors and warnings: base/log.h */

enum phase { WAITING, RECORDING, EXPORTING, OVER };

struct remote_capture {
	const struct options *options;
	struct options_list words; /* of the recording */
	enum phase phase;
	u64 start_ns, duration_ns; /* CLOCK_MONOTONIC; of the window */
	u64 recording_since_ns;	   /* the window opens later than that */
	char *folder, *capture_path, *result_path;
	pid_t pid; /* of what records or exports; 0: nothing does */
	int pidfd, said_fd;
	struct text line;	/* of what it says, so far */
	struct text last_words; /* its last error or warning */
	bool signalled, cancelled;
	int result;
	struct err err;
};

/* ---- what is asked, as words of a command line ---- */

static int add_word(struct options_list *words, struct err *err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int add_word(struct options_list *words, struct err *err, const char *format, ...)
{
	_cleanup_text_ struct text word = {0};
	va_list arguments;

	va_start(arguments, format);
	text_appendv(&word, format, arguments);
	va_end(arguments);
	return word.failed ? err_errno(err, -ENOMEM, "can't keep the request")
			   : options_list_add(words, text_string(&word), err);
}

/* Behind the settings of whoever started serve, so that they hold. */
static int add_words(struct remote_capture *capture, const struct profile_request *request,
		     struct err *err)
{
	struct options_list *words = &capture->words;
	u64 duration_ms = request->duration_ms ?: LONGEST_MS;
	int result = add_word(words, err, "%s", "gpuprobe");

	if (!result)
		result = add_word(words, err, "record");
	if (!result)
		result = options_words(capture->options, VERB_RECORD, words, err);
	for (size_t i = 0; i < request->setting_count && !result; i++)
		result = add_word(words, err, "--option=%s", request->settings[i]);
	if (duration_ms < SHORTEST_MS)
		duration_ms = SHORTEST_MS;
	capture->duration_ns = duration_ms * NS_PER_MILLISECOND;
	if (!result)
		result = add_word(words, err, "--duration=%llu.%03llu",
				  (unsigned long long)(duration_ms / 1000),
				  (unsigned long long)(duration_ms % 1000));
	return result;
}

/* As the recording will read them. */
static int check_words(const struct options_list *words, struct err *err)
{
	struct options options;
	int result = options_parse(words->count, words->items, &options, err);

	options_free(&options);
	return result;
}

static int read_request(struct remote_capture *capture, const struct profile_request *request,
			struct err *err)
{
	u64 now_unix_ns = clock_read_ns(CLOCK_REALTIME);
	int result;

	if (request->duration_ms > LONGEST_MS)
		return err_set(
			err, -EINVAL,
			"InvalidArgument: duration_ms=%llu: out of range; allowed is 0 (until "
			"it is ended) to %llu",
			(unsigned long long)request->duration_ms, LONGEST_MS);
	capture->start_ns = clock_monotonic_ns();
	if (request->start_unix_ns > now_unix_ns) {
		u64 delay_ns = request->start_unix_ns - now_unix_ns;

		if (delay_ns > LONGEST_MS * NS_PER_MILLISECOND)
			return err_set(
				err, -EINVAL,
				"InvalidArgument: start_timestamp_ns=%llu is more than a day "
				"ahead",
				(unsigned long long)request->start_unix_ns);
		capture->start_ns += delay_ns;
	}
	result = add_words(capture, request, err);
	return result ? result : check_words(&capture->words, err);
}

static int make_folder(struct remote_capture *capture, struct err *err)
{
	int result = remote_folder_make(&capture->folder, err);

	if (result)
		return result;
	if (asprintf(&capture->capture_path, "%s/" CAPTURE_NAME, capture->folder) < 0 ||
	    asprintf(&capture->result_path, "%s/" RESULT_NAME, capture->folder) < 0)
		return err_errno(err, -ENOMEM, "can't make a folder");
	return 0;
}

/* ---- its processes ---- */

/* Ctrl-C at our terminal is for us: what the processes get, we send. */
__attribute__((noreturn)) static void become(char *const *words, int said_fd, pid_t parent)
{
	sigset_t none;
	int null = open("/dev/null", O_RDWR);

	sigemptyset(&none);
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGINT);
	if (getppid() != parent || null < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(null, STDOUT_FILENO) < 0 || dup2(said_fd, STDERR_FILENO) < 0)
		_exit(EXIT_FAILURE);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	execv(SELF, words);
	_exit(EXIT_FAILURE);
}

static int start_process(struct remote_capture *capture, char *const *words, struct err *err)
{
	pid_t parent = getpid();
	int pipes[2], result = 0;

	if (pipe2(pipes, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_errno(err, -errno, "can't start a recording");
	/* What is written into stderr may block. */
	fcntl(pipes[1], F_SETFL, 0);
	capture->pid = fork();
	if (!capture->pid)
		become(words, pipes[1], parent);
	close(pipes[1]);
	if (capture->pid > 0)
		capture->pidfd = syscall(SYS_pidfd_open, capture->pid, 0);
	if (capture->pid < 0 || capture->pidfd < 0)
		result = -errno;
	if (capture->pid > 0 && result) {
		kill(capture->pid, SIGKILL);
		waitpid(capture->pid, NULL, 0);
	}
	if (result) {
		close(pipes[0]);
		capture->pid = 0;
		return err_errno(err, result, "can't start a recording");
	}
	capture->said_fd = pipes[0];
	text_clear(&capture->last_words);
	return 0;
}

static int start_recording(struct remote_capture *capture, struct err *err)
{
	struct options_list *words = &capture->words;
	_cleanup_free_ char **pointers = NULL;
	int result = add_word(words, err, "--output=%s", capture->capture_path);

	if (result)
		return result;
	pointers = calloc(words->count + 1, sizeof(*pointers));
	if (!pointers)
		return err_errno(err, -ENOMEM, "can't start a recording");
	memcpy(pointers, words->items, words->count * sizeof(*pointers));
	capture->phase = RECORDING;
	capture->recording_since_ns = clock_monotonic_ns();
	return start_process(capture, pointers, err);
}

static int start_export(struct remote_capture *capture, struct err *err)
{
	struct options_list words = {0};
	_cleanup_free_ char **pointers = NULL;
	int result = add_word(&words, err, "gpuprobe");

	if (!result)
		result = add_word(&words, err, "export");
	if (!result)
		result = options_words(capture->options, VERB_EXPORT, &words, err);
	if (!result)
		result = add_word(&words, err, "--output=%s", capture->result_path);
	if (!result)
		result = add_word(&words, err, "%s", capture->capture_path);
	if (!result) {
		pointers = calloc(words.count + 1, sizeof(*pointers));
		if (!pointers)
			result = err_errno(err, -ENOMEM, "can't start the export");
	}
	if (!result) {
		memcpy(pointers, words.items, words.count * sizeof(*pointers));
		capture->phase = EXPORTING;
		result = start_process(capture, pointers, err);
	}
	options_list_free(&words);
	return result;
}

/* Errors and warnings are for the terminal of serve and, the last one, for the answer. What a cancelled one leaves undone
 * is as it should be. */
static void take_line(struct remote_capture *capture)
{
	const char *line = text_string(&capture->line);
	size_t prefix = strlen(WORDS_PREFIX);

	if (!strncmp(line, WORDS_PREFIX, prefix)) {
		text_clear(&capture->last_words);
		text_append(&capture->last_words, line + prefix);
		if (!capture->cancelled)
			log_warning("%s", line + prefix);
	} else if (log_level() >= LOG_DEBUG) {
		log_info("%s", line);
	}
	text_clear(&capture->line);
}

static void read_said(struct remote_capture *capture)
{
	char buffer[1024];
	ssize_t bytes;

	while (capture->said_fd >= 0) {
		bytes = read(capture->said_fd, buffer, sizeof(buffer));
		if (bytes < 0 && errno == EINTR)
			continue;
		/* Its end says nothing about the process, nor its being open: a guardian has it too. */
		if (bytes == 0) {
			close(capture->said_fd);
			capture->said_fd = -1;
		}
		if (bytes <= 0)
			return;
		for (ssize_t i = 0; i < bytes; i++)
			if (buffer[i] == '\n')
				take_line(capture);
			else if (capture->line.length < LINE_MAX_BYTES)
				text_append_char(&capture->line, buffer[i]);
	}
}

/* The process has ended; its exit status, -1 where a signal ended it. */
static int end_process(struct remote_capture *capture, int status)
{
	read_said(capture);
	if (capture->line.length)
		take_line(capture);
	close(capture->pidfd);
	if (capture->said_fd >= 0)
		close(capture->said_fd);
	capture->pidfd = capture->said_fd = -1;
	capture->pid = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- what comes after what ---- */

static void finish(struct remote_capture *capture, int result)
{
	capture->phase = OVER;
	capture->result = result;
}

static void finish_failed(struct remote_capture *capture, int exit_status, const char *what)
{
	const char *words = text_string(&capture->last_words);

	finish(capture, err_set(&capture->err, exit_status == EXIT_USAGE ? -EINVAL : -EIO, "%s",
				*words ? words : what));
}

static void after_recording(struct remote_capture *capture, int exit_status)
{
	struct stat status;
	int result;

	/* Where it failed midway, what it had is worth more than nothing: the ledger says what is missing. */
	if (capture->cancelled)
		finish(capture, -ECANCELED);
	else if (stat(capture->capture_path, &status) == 0 && status.st_size) {
		result = start_export(capture, &capture->err);
		if (result)
			finish(capture, result);
	} else if (capture->signalled)
		finish(capture, -ENODATA);
	else
		finish_failed(capture, exit_status, "the recording ended without a word");
}

static void after_export(struct remote_capture *capture, int exit_status)
{
	if (capture->cancelled)
		finish(capture, -ECANCELED);
	else if (exit_status == EXIT_SUCCESS)
		finish(capture, 0);
	else
		finish_failed(capture, exit_status, "the export ended without a word");
}

bool remote_capture_go_on(struct remote_capture *capture)
{
	bool records = capture->phase == RECORDING;
	int status, result;

	if (capture->phase == WAITING && clock_monotonic_ns() >= capture->start_ns) {
		result = start_recording(capture, &capture->err);
		if (result)
			finish(capture, result);
		return capture->phase == OVER;
	}
	read_said(capture);
	if (!capture->pid || waitpid(capture->pid, &status, WNOHANG) != capture->pid)
		return capture->phase == OVER;
	if (records)
		after_recording(capture, end_process(capture, status));
	else
		after_export(capture, end_process(capture, status));
	return capture->phase == OVER;
}

int remote_capture_poll(const struct remote_capture *capture,
			struct pollfd ret_fds[REMOTE_CAPTURE_FDS])
{
	u64 now_ns = clock_monotonic_ns();

	ret_fds[0] = (struct pollfd){.fd = capture->pidfd, .events = POLLIN};
	ret_fds[1] = (struct pollfd){.fd = capture->said_fd, .events = POLLIN};
	if (capture->phase == OVER)
		return 0;
	if (capture->phase != WAITING)
		return -1;
	return now_ns >= capture->start_ns
		       ? 0
		       : (int)((capture->start_ns - now_ns) / NS_PER_MILLISECOND + 1);
}

/* Once: a second Ctrl-C would end the program at once. */
static void signal_recording(struct remote_capture *capture)
{
	if (!capture->signalled)
		kill(capture->pid, SIGINT);
	capture->signalled = true;
}

void remote_capture_end(struct remote_capture *capture)
{
	if (capture->phase == WAITING)
		finish(capture, -ENODATA);
	/* Before this its window is surely open yet, and the signal can hit nothing that comes behind it. */
	else if (capture->phase == RECORDING &&
		 clock_monotonic_ns() < capture->recording_since_ns + capture->duration_ns)
		signal_recording(capture);
}

void remote_capture_cancel(struct remote_capture *capture)
{
	capture->cancelled = true;
	if (capture->phase == WAITING)
		finish(capture, -ECANCELED);
	else if (capture->phase == RECORDING)
		signal_recording(capture);
	else if (capture->phase == EXPORTING)
		kill(capture->pid, SIGTERM);
}

const char *remote_capture_phase(const struct remote_capture *capture)
{
	static const char *const words[] = {
		[WAITING] = "waits for its time",
		[RECORDING] = "records",
		[EXPORTING] = "writes what was recorded",
		[OVER] = "is done",
	};

	return capture->cancelled ? "lets go of a recording that was given up"
				  : words[capture->phase];
}

/* ---- begin and end ---- */

int remote_capture_start(const struct options *options, const struct profile_request *request,
			 struct remote_capture **ret_capture, struct err *err)
{
	struct remote_capture *capture = calloc(1, sizeof(*capture));
	int result;

	if (!capture)
		return err_errno(err, -ENOMEM, "can't start a recording");
	capture->options = options;
	capture->pidfd = capture->said_fd = -1;
	result = read_request(capture, request, err);
	if (!result)
		result = make_folder(capture, err);
	if (result)
		remote_capture_free(capture);
	else
		*ret_capture = capture;
	return result;
}

int remote_capture_result(struct remote_capture *capture, struct remote_files *ret_files,
			  struct err *err)
{
	if (capture->result)
		return err_set(err, capture->result, "%s", capture->err.message);
	return remote_files_open(capture->result_path, ret_files, err);
}

struct remote_capture *remote_capture_free(struct remote_capture *capture)
{
	if (!capture)
		return NULL;
	if (capture->folder)
		remote_folder_remove(capture->folder);
	options_list_free(&capture->words);
	text_free(&capture->line);
	text_free(&capture->last_words);
	free(capture->folder);
	free(capture->capture_path);
	free(capture->result_path);
	free(capture);
	return NULL;
}
