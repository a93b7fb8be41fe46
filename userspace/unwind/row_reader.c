/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/row_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/confinement.h"
#include "base/file.h"
#include "unwind/unwind_image.h"

#define DEATHS_MAX  8  /* files on which the other process died */
#define SECONDS_MAX 20 /* of a file: 1 GB of a library takes one */
/* Above what 64 M rows take while they are sorted. */
#define MEMORY_BYTES (3ULL << 30)
#define IMAGE_BYTES  (512ULL << 20)

enum { GIVEN_FILE, GIVEN_IMAGE, GIVEN };

struct answer {
	int result;
	u64 image_bytes;
};

struct row_reader {
	pthread_mutex_t lock; /* of what follows */
	int socket_fd;	      /* -1: there is no process */
	bool stopping;
	/* Of who reads. */
	pid_t pid;
	unsigned deaths;
};

/* ---- the other process ---- */

/* 0: the other end is closed. */
static int take_files(int socket_fd, int *ret_fds)
{
	union {
		char bytes[CMSG_SPACE(GIVEN * sizeof(int))];
		struct cmsghdr header;
	} control = {0};
	char byte;
	struct iovec vector = {&byte, 1};
	struct msghdr message = {.msg_iov = &vector,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	const struct cmsghdr *header;

	if (recvmsg(socket_fd, &message, MSG_CMSG_CLOEXEC) != 1)
		return 0;
	header = CMSG_FIRSTHDR(&message);
	if (!header || header->cmsg_len != CMSG_LEN(GIVEN * sizeof(int)))
		return 0;
	memcpy(ret_fds, CMSG_DATA(header), GIVEN * sizeof(int));
	return 1;
}

static struct answer read_file(const int *fds)
{
	_cleanup_free_ u8 *bytes = NULL;
	struct elf_unwind_rows rows;
	struct answer answer = {0};
	struct elf_file *elf;

	answer.result = elf_file_open(fds[GIVEN_FILE], "a file", &elf, NULL);
	if (answer.result)
		return answer;
	answer.result = elf_unwind_rows_read(elf, &rows, NULL);
	elf_file_free(elf);
	if (answer.result)
		return answer;
	answer.image_bytes = unwind_image_bytes(&rows);
	bytes = answer.image_bytes <= IMAGE_BYTES ? malloc(answer.image_bytes) : NULL;
	if (bytes) {
		unwind_image_write(&rows, bytes);
		answer.result = file_write_at(fds[GIVEN_IMAGE], bytes, answer.image_bytes, 0);
	} else {
		answer.result = answer.image_bytes <= IMAGE_BYTES ? -ENOMEM : -EFBIG;
	}
	elf_unwind_rows_free(&rows);
	return answer;
}

static _Noreturn void work(int socket_fd)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
	int fds[GIVEN];

	/* Of the terminal: who reads says when it is over. */
	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	confine(&(struct confinement){.name = "gpuprobe-rows",
				      .fds = &socket_fd,
				      .fd_count = 1,
				      .memory_bytes = MEMORY_BYTES});
	while (take_files(socket_fd, fds)) {
		struct answer answer = read_file(fds);

		close(fds[GIVEN_FILE]);
		close(fds[GIVEN_IMAGE]);
		if (send(socket_fd, &answer, sizeof(answer), MSG_NOSIGNAL) != sizeof(answer))
			break;
	}
	_exit(0);
}

/* ---- who has it read ---- */

static void set_socket(struct row_reader *reader, int socket_fd)
{
	pthread_mutex_lock(&reader->lock);
	cleanup_close(&reader->socket_fd);
	reader->socket_fd = socket_fd;
	if (reader->stopping && socket_fd >= 0)
		shutdown(socket_fd, SHUT_RDWR);
	pthread_mutex_unlock(&reader->lock);
}

static bool is_stopping(struct row_reader *reader)
{
	bool stopping;

	pthread_mutex_lock(&reader->lock);
	stopping = reader->stopping;
	pthread_mutex_unlock(&reader->lock);
	return stopping;
}

static int start_process(struct row_reader *reader)
{
	const struct timeval longest = {.tv_sec = SECONDS_MAX};
	int ends[2], result;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	pid = setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof(longest)) ? -1 : fork();
	if (pid == 0)
		work(ends[1]);
	result = pid < 0 ? -errno : 0;
	close(ends[1]);
	if (result) {
		close(ends[0]);
		return result;
	}
	reader->pid = pid;
	set_socket(reader, ends[0]);
	return 0;
}

static void end_process(struct row_reader *reader)
{
	if (reader->socket_fd < 0)
		return;
	kill(reader->pid, SIGKILL);
	while (waitpid(reader->pid, NULL, 0) < 0 && errno == EINTR)
		;
	set_socket(reader, -1);
}

int row_reader_start(struct row_reader **ret_reader, struct err *err)
{
	struct row_reader *reader = calloc(1, sizeof(*reader));
	int result = -ENOMEM;

	if (reader) {
		pthread_mutex_init(&reader->lock, NULL);
		reader->socket_fd = -1;
		result = start_process(reader);
	}
	if (result) {
		free(reader);
		return err_errno(err, result, "can't start the process that reads unwind tables");
	}
	*ret_reader = reader;
	return 0;
}

static int give_files(const struct row_reader *reader, int fd, int image_fd)
{
	const int fds[GIVEN] = {[GIVEN_FILE] = fd, [GIVEN_IMAGE] = image_fd};
	union {
		char bytes[CMSG_SPACE(sizeof(fds))];
		struct cmsghdr header;
	} control = {.header = {.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS,
				.cmsg_len = CMSG_LEN(sizeof(fds))}};
	char byte = 0;
	struct iovec vector = {&byte, 1};
	const struct msghdr message = {.msg_iov = &vector,
				       .msg_iovlen = 1,
				       .msg_control = control.bytes,
				       .msg_controllen = sizeof(control.bytes)};

	memcpy(CMSG_DATA(&control.header), fds, sizeof(fds));
	return sendmsg(reader->socket_fd, &message, MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

/* -EPIPE: it has died, or takes too long. */
static int await_answer(const struct row_reader *reader, struct answer *ret_answer)
{
	ssize_t got;

	do
		got = recv(reader->socket_fd, ret_answer, sizeof(*ret_answer), 0);
	while (got < 0 && errno == EINTR);
	if (got != sizeof(*ret_answer))
		return -EPIPE;
	return ret_answer->image_bytes <= IMAGE_BYTES ? 0 : -EPIPE;
}

/* Copied before it is looked at: the other process still has it. */
static int take_image(int image_fd, u64 size_bytes, struct elf_unwind_rows *ret_rows)
{
	_cleanup_free_ u8 *bytes = malloc(size_bytes + 1);

	if (!bytes)
		return -ENOMEM;
	if (file_read_at(image_fd, bytes, size_bytes, 0) != (ssize_t)size_bytes)
		return -EINVAL;
	return unwind_image_read(bytes, size_bytes, ret_rows);
}

/* It can't be made larger: who has it could fill all memory. */
static int open_image(void)
{
	_cleanup_close_ int fd = memfd_create("gpuprobe-rows", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, IMAGE_BYTES) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK))
		return -errno;
	return take_fd(&fd);
}

static int ask(struct row_reader *reader, int fd, struct elf_unwind_rows *ret_rows)
{
	_cleanup_close_ int image_fd = -1;
	struct answer answer;
	int result = 0;

	if (reader->socket_fd < 0)
		result = reader->deaths < DEATHS_MAX ? start_process(reader) : -EIO;
	image_fd = result ? -1 : open_image();
	if (result || image_fd < 0)
		return result ? result : image_fd;
	if (give_files(reader, fd, image_fd) || await_answer(reader, &answer)) {
		reader->deaths++;
		end_process(reader);
		return -EIO;
	}
	return answer.result < 0 ? answer.result
				 : take_image(image_fd, answer.image_bytes, ret_rows);
}

int row_reader_rows(struct row_reader *reader, int fd, const char *path,
		    struct elf_unwind_rows *ret_rows, struct err *err)
{
	int result = is_stopping(reader) ? -ECANCELED : ask(reader, fd, ret_rows);

	if (result && is_stopping(reader))
		result = -ECANCELED;
	return result ? err_errno(err, result, "can't read the unwind table of %s", path) : 0;
}

void row_reader_interrupt(struct row_reader *reader)
{
	pthread_mutex_lock(&reader->lock);
	reader->stopping = true;
	if (reader->socket_fd >= 0)
		shutdown(reader->socket_fd, SHUT_RDWR);
	pthread_mutex_unlock(&reader->lock);
}

struct row_reader *row_reader_stop(struct row_reader *reader)
{
	if (!reader)
		return NULL;
	end_process(reader);
	pthread_mutex_destroy(&reader->lock);
	free(reader);
	return NULL;
}
