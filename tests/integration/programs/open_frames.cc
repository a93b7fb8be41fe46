/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that are inside probed calls when a recording ends: blocked in several ways, running, deep in a recursion,
 * behind a tail call, in a child. Then an exception passes through all of these frames.
 *
 *	open_frames WAY COUNT...	that many threads (child: processes) of each way
 *	calm 0, together 0		no exception; all threads begin at once
 *
 * They begin one after the other: whether a thread is on its own stack can't be asked while another maps one.
 */
#include <cerrno>
#include <cstring>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "protocol.h"

static volatile int sink;
static volatile bool go_on, together, throws = true;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned long inside, caught, returned, interrupted;
static int wake[2];

static void add(unsigned long &counter)
{
	pthread_mutex_lock(&mutex);
	counter++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

static void finish()
{
	if (throws)
		throw std::runtime_error("after the detach");
}

PROBED void waits()
{
	pthread_mutex_lock(&mutex);
	inside++;
	pthread_cond_broadcast(&changed);
	while (!go_on)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
	finish();
}

PROBED void waits_for_events()
{
	struct epoll_event event = {};
	int fd = epoll_create1(0);

	event.events = EPOLLIN;
	epoll_ctl(fd, EPOLL_CTL_ADD, wake[0], &event);
	add(inside);
	while (epoll_wait(fd, &event, 1, -1) < 0)
		add(interrupted);
	close(fd);
	finish();
}

PROBED void reads()
{
	char byte;

	add(inside);
	while (read(wake[0], &byte, 1) < 0)
		add(interrupted);
	finish();
}

PROBED void runs()
{
	add(inside);
	while (!go_on)
		sink = sink + 1;
	finish();
}

PROBED void recurses(int depth)
{
	if (depth)
		recurses(depth - 1);
	else
		waits();
	sink = sink + 1;
}

static void deep()
{
	recurses(40);
}

/* Through memory, so that the compiler does not know whom it calls. */
static void (*volatile tail)() = waits;

PROBED __attribute__((optimize("O2"))) void jumps()
{
	tail();
}

PROBED void forks()
{
	int ready[2];
	char byte;

	if (pipe(ready))
		_exit(1);
	pid_t child = fork();

	if (!child) {
		close(wake[1]);
		if (write(ready[1], "x", 1) != 1 || read(wake[0], &byte, 1) < 0)
			_exit(1);
		throw 1;
	}
	if (read(ready[0], &byte, 1) != 1)
		_exit(1);
	add(inside);
	int status;

	waitpid(child, &status, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 42)
		throw std::logic_error("the child died");
	finish();
}

static const struct {
	const char *name;
	void (*function)();
} ways[] = {
	{"waits", waits}, {"events", waits_for_events}, {"reads", reads}, {"runs", runs},
	{"deep", deep},	  {"jumps", jumps},		{"forks", forks},
};

PROBED void outermost(void (*way)())
{
	way();
	sink = sink + 1;
}

static void *thread_main(void *argument)
{
	try {
		outermost(reinterpret_cast<void (*)()>(argument));
		add(returned);
	} catch (const std::runtime_error &) {
		add(caught);
	} catch (int) {
		_exit(42);
	}
	return nullptr;
}

static std::vector<pthread_t> threads;

static void wait_for_all()
{
	pthread_mutex_lock(&mutex);
	while (inside < threads.size())
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
}

static void start(const std::string &way, int count)
{
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 256 << 10);
	for (const auto &known : ways)
		for (int i = 0; known.name == way && i < count; i++) {
			pthread_t thread;

			if (pthread_create(&thread, &small, thread_main, reinterpret_cast<void *>(known.function)))
				abort();
			threads.push_back(thread);
			if (!together)
				wait_for_all();
		}
}

int main(int count, char **words)
{
	if (pipe(wake))
		return 1;
	protocol_begin();
	for (int i = 1; i + 1 < count; i += 2) {
		if (!strcmp(words[i], "calm"))
			throws = false;
		if (!strcmp(words[i], "together"))
			together = true;
		start(words[i], atoi(words[i + 1]));
	}
	wait_for_all();
	protocol_count("inside", inside);
	protocol_done();
	protocol_next();
	pthread_mutex_lock(&mutex);
	go_on = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
	close(wake[1]);
	for (pthread_t thread : threads)
		pthread_join(thread, nullptr);
	protocol_count("caught", caught);
	protocol_count("returned", returned);
	protocol_count("interrupted", interrupted);
	protocol_end();
}
