/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Its one thread waits where it can't be borrowed, as only shows when it is stopped: in epoll_wait on a stack of its own making, as programs with
 * fibers do.
 *
 *	inject_refused [cuda]	cuda: it has begun CUDA
 *
 * "ready"; a line on standard input is answered by how often it has waited; its end ends it: "same", or what a wait ended with.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK_BYTES (1 << 20)
#define WAIT_MS	    20

static int epoll_fd;
static ucontext_t first, fiber;
static unsigned long waits;
static int wrong; /* errno of a wait that failed */

static void wait_on(void)
{
	for (;;) {
		struct epoll_event event;
		int count = epoll_wait(epoll_fd, &event, 1, WAIT_MS);
		char line[16];

		waits++;
		if (count < 0 && !wrong)
			wrong = errno;
		if (count != 1)
			continue;
		if (read(0, line, sizeof(line)) <= 0)
			return;
		printf("%lu\n", waits);
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	void *driver = argc > 1 ? dlopen("libcuda.so.1", RTLD_NOW) : NULL;
	int (*init)(unsigned) = driver ? (int (*)(unsigned))dlsym(driver, "cuInit") : NULL;
	struct epoll_event event = {.events = EPOLLIN};

	if (argc > 1 && (!init || init(0)))
		return 2;
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	epoll_ctl(epoll_fd, EPOLL_CTL_ADD, 0, &event);
	getcontext(&fiber);
	fiber.uc_stack.ss_sp =
		mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fiber.uc_stack.ss_size = STACK_BYTES;
	fiber.uc_link = &first;
	makecontext(&fiber, wait_on, 0);
	puts("ready");
	fflush(stdout);
	swapcontext(&first, &fiber);
	puts(wrong ? strerror(wrong) : "same");
	return 0;
}
