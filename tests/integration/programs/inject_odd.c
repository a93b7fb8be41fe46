/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process that does one odd thing all the time, beside a thread that waits for work and can be borrowed. At the end
 * of standard input it ends: exit status 0 when all that it did had the result that it should have.
 *
 *	inject_odd KIND
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static atomic_bool stop;
static atomic_ulong odd, done;

/* What it was, for people. */
static void wrong(const char *what, long value)
{
	if (!odd++)
		fprintf(stderr, "%s: %ld (%s)\n", what, value, strerror(errno));
}

static pthread_t thread(void *(*function)(void *), void *data)
{
	pthread_t made;

	if (pthread_create(&made, NULL, function, data))
		exit(3);
	return made;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;

static atomic_bool waits; /* the thread that can be borrowed */

static void *wait_for_work(void *data)
{
	(void)data;
	pthread_mutex_lock(&lock);
	waits = true;
	while (!stop)
		if (pthread_cond_wait(&wake, &lock))
			wrong("pthread_cond_wait", 1);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void pause_ms(long milliseconds)
{
	struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};

	while (nanosleep(&time, &time) && errno == EINTR)
		;
}

/* ---- many threads, short threads ---- */

static void *sleep_often(void *data)
{
	(void)data;
	while (!stop) {
		pause_ms(20);
		done++;
	}
	return NULL;
}

static void many(void)
{
	for (int i = 0; i < 500; i++)
		thread(i % 2 ? wait_for_work : sleep_often, NULL);
}

static void *live_shortly(void *data)
{
	done++;
	return data;
}

static void *make_threads(void *data)
{
	(void)data;
	while (!stop) {
		pthread_t made;
		void *result;

		if (pthread_create(&made, NULL, live_shortly, (void *)(uintptr_t)0x1234)) {
			wrong("pthread_create", 1);
			continue;
		}
		if (pthread_join(made, &result) || result != (void *)(uintptr_t)0x1234)
			wrong("pthread_join", 1);
	}
	return NULL;
}

static void short_threads(void)
{
	for (int i = 0; i < 3; i++)
		thread(make_threads, NULL);
}

/* ---- children ---- */

static void *vfork_often(void *data)
{
	(void)data;
	while (!stop) {
		int status = 0;
		pid_t child = vfork();

		if (!child)
			_exit(7);
		if (child < 0 || waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7)
			wrong("vfork", status);
		done++;
	}
	return NULL;
}

static void vforks(void)
{
	for (int i = 0; i < 2; i++)
		thread(vfork_often, NULL);
}

/* Of a child that makes system calls it sees each one. */
static void *trace(void *data)
{
	pid_t child = fork();
	int status;

	(void)data;
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		for (;;)
			getppid();
	}
	if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
		wrong("first stop", status);
	while (!stop) {
		if (ptrace(PTRACE_SYSCALL, child, NULL, NULL))
			wrong("PTRACE_SYSCALL", 0);
		if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status) ||
		    WSTOPSIG(status) != SIGTRAP)
			wrong("stop", status);
		done++;
	}
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return NULL;
}

static void traces(void)
{
	thread(trace, NULL);
}

/* ---- signals ---- */

static void count_alarm(int number)
{
	int before = errno;

	(void)number;
	done++;
	errno = before;
}

static void *calculate(void *data)
{
	(void)data;
	while (!stop) {
		double sum = 0;

		for (int i = 1; i < 20000; i++)
			sum += 1.0 / i;
		if (sum < 10.480 || sum > 10.481)
			wrong("a sum", (long)(sum * 1000));
	}
	return NULL;
}

static void alarms(void)
{
	struct sigaction action = {.sa_handler = count_alarm, .sa_flags = SA_RESTART};
	struct itimerval often = {{0, 100}, {0, 100}};

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	thread(calculate, NULL);
}

static __thread sigjmp_buf back;

static void jump_back(int number)
{
	(void)number;
	siglongjmp(back, 1);
}

static void *fault_often(void *data)
{
	volatile int *nowhere = data;

	while (!stop) {
		if (!sigsetjmp(back, 1)) {
			*nowhere = 1;
			wrong("no fault", 0);
		}
		done++;
	}
	return NULL;
}

static void faults(void)
{
	struct sigaction action = {.sa_handler = jump_back};

	sigaction(SIGSEGV, &action, NULL);
	for (int i = 0; i < 2; i++)
		thread(fault_often,
		       mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

static void count_child(int number)
{
	int before = errno;

	(void)number;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		done++;
	errno = before;
}

static atomic_ulong forked;

static void *fork_often(void *data)
{
	(void)data;
	while (!stop) {
		pid_t child = fork();

		if (!child)
			_exit(0);
		if (child < 0)
			wrong("fork", child);
		forked++;
		pause_ms(1);
	}
	for (int i = 0; i < 1000 && done < forked; i++)
		pause_ms(5);
	if (done != forked)
		wrong("children waited for", (long)(forked - done));
	return NULL;
}

static void children(void)
{
	struct sigaction action = {.sa_handler = count_child, .sa_flags = SA_RESTART};

	sigaction(SIGCHLD, &action, NULL);
	thread(fork_often, NULL);
}

/* All signals are blocked in all threads, and one waits for all of them. It is the only one that can be borrowed. */
static void *take_all(void *data)
{
	sigset_t all;

	(void)data;
	sigfillset(&all);
	while (!stop) {
		siginfo_t info;
		int number = sigwaitinfo(&all, &info);

		if (number < 0 && errno == EINTR)
			continue;
		if (number != SIGRTMIN && number != SIGRTMIN + 1)
			wrong("a signal that nobody sent", number);
		done++;
	}
	return NULL;
}

static atomic_ulong sent;

static void *send_often(void *data)
{
	(void)data;
	while (!stop) {
		if (!sigqueue(getpid(), SIGRTMIN, (union sigval){0}))
			sent++;
		pause_ms(1);
	}
	for (int i = 0; i < 1000 && done < sent; i++)
		pause_ms(5);
	if (done != sent)
		wrong("signals lost", (long)(sent - done));
	sigqueue(getpid(), SIGRTMIN + 1, (union sigval){0});
	return NULL;
}

static void block_all(void)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
}

static void sigwaits(void)
{
	block_all();
	thread(take_all, NULL);
	thread(send_often, NULL);
}

static void *read_signals(void *data)
{
	int fd = (int)(intptr_t)data;

	for (;;) {
		struct signalfd_siginfo info;

		if (read(fd, &info, sizeof(info)) != sizeof(info))
			wrong("read of a signalfd", 0);
		else if (info.ssi_signo == (unsigned)SIGRTMIN + 1)
			return NULL;
		else if (info.ssi_signo != (unsigned)SIGRTMIN)
			wrong("a signal that nobody sent", info.ssi_signo);
		done++;
	}
}

static void signal_descriptors(void)
{
	sigset_t all;

	sigfillset(&all);
	block_all();
	thread(read_signals, (void *)(intptr_t)signalfd(-1, &all, 0));
	thread(send_often, NULL);
}

/* As runtimes of languages do: is the mask of this thread still what I made it? */
static void *look_at_mask(void *data)
{
	sigset_t wanted, now;

	(void)data;
	sigemptyset(&wanted);
	sigaddset(&wanted, SIGUSR2);
	sigaddset(&wanted, SIGPROF);
	pthread_sigmask(SIG_SETMASK, &wanted, NULL);
	while (!stop) {
		poll(NULL, 0, 2);
		pthread_sigmask(SIG_SETMASK, NULL, &now);
		for (int number = 1; number < 64; number++)
			if (sigismember(&wanted, number) != sigismember(&now, number))
				wrong("signal mask", number);
		done++;
	}
	return NULL;
}

static void masks(void)
{
	for (int i = 0; i < 4; i++)
		thread(look_at_mask, NULL);
}

/* ---- waits that a stop ends with EINTR, between waits that can be borrowed ---- */

static void *alternate(void *data)
{
	int semaphores = semget(IPC_PRIVATE, 1, 0600), sockets[2];
	bool receive = data != NULL;

	socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets);
	while (!stop) {
		struct timespec while_ns = {0, 3000000};
		struct sembuf take = {0, -1, 0};
		struct timeval while_us = {0, 3000};
		char bytes[8];

		poll(NULL, 0, 3);
		if (!receive &&
		    (semtimedop(semaphores, &take, 1, &while_ns) != -1 || errno != EAGAIN))
			wrong("semtimedop", 0);
		setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &while_us, sizeof(while_us));
		if (receive && (recv(sockets[0], bytes, sizeof(bytes), 0) != -1 || errno != EAGAIN))
			wrong("recv", 0);
		done++;
	}
	semctl(semaphores, 0, IPC_RMID);
	return NULL;
}

static void alternates(void)
{
	thread(alternate, NULL);
	thread(alternate, &lock);
}

/* ---- limits ---- */

static void limit(int resource, rlim_t value)
{
	struct rlimit both = {value, value};

	if (setrlimit(resource, &both))
		exit(3);
}

static void drop_rights(void)
{
	if (setgid(65534) || setuid(65534))
		exit(3);
	prctl(PR_SET_DUMPABLE, 1);
}

static void files_full(void)
{
	limit(RLIMIT_NOFILE, 64);
	while (dup(0) >= 0)
		;
}

static void address_space_full(void)
{
	size_t pages;
	FILE *file = fopen("/proc/self/statm", "r");

	if (!file || fscanf(file, "%zu", &pages) != 1)
		exit(3);
	limit(RLIMIT_AS, pages * 4096 + (64 << 10));
}

static void processes_full(void)
{
	drop_rights();
	limit(RLIMIT_NPROC, 1);
}

static void files_empty(void)
{
	limit(RLIMIT_FSIZE, 0);
}

static void all_locked(void)
{
	drop_rights();
	if (mlockall(MCL_CURRENT | MCL_FUTURE)) {
		printf("too little may be locked\n");
		exit(0);
	}
	while (mmap(NULL, 64 << 10, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
		;
}

static void undumpable(void)
{
	drop_rights();
	prctl(PR_SET_DUMPABLE, 0);
}

/* From here on any system call but read, write and exit kills it. */
static void strict(void)
{
	char byte;

	printf("ready\n");
	fflush(stdout);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	while (read(0, &byte, 1) > 0)
		;
	byte = write(1, "done 0 odd 0\n", 13) != 13;
	syscall(SYS_exit, byte);
}

static char *own_path;

static void start_anew(int number)
{
	(void)number;
	execl(own_path, own_path, "plain", (char *)NULL);
	_exit(4);
}

static void end(int number)
{
	(void)number;
	_exit(9);
}

/* Another thread than the one that waits starts the program anew, or ends it. */
static void ends(void)
{
	struct sigaction anew = {.sa_handler = start_anew}, ending = {.sa_handler = end};

	sigaction(SIGUSR1, &anew, NULL);
	sigaction(SIGUSR2, &ending, NULL);
	thread(calculate, NULL);
}

static void nothing(void)
{
}

static const struct {
	const char *name;
	void (*begin)(void);
	bool alone; /* without the thread that waits */
} kinds[] = {
	{"many", many, false},
	{"short_threads", short_threads, false},
	{"vforks", vforks, false},
	{"traces", traces, false},
	{"alarms", alarms, false},
	{"faults", faults, false},
	{"children", children, false},
	{"sigwaits", sigwaits, true},
	{"signal_descriptors", signal_descriptors, true},
	{"masks", masks, true},
	{"alternates", alternates, true},
	{"files_full", files_full, false},
	{"address_space_full", address_space_full, false},
	{"processes_full", processes_full, false},
	{"files_empty", files_empty, false},
	{"all_locked", all_locked, true},
	{"undumpable", undumpable, false},
	{"strict", strict, true},
	{"ends", ends, false},
	{"plain", nothing, false},
};

int main(int argc, char **argv)
{
	pthread_t waiter = 0;
	char byte;

	own_path = argv[0];

	for (size_t i = 0; argc > 1 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(argv[1], kinds[i].name)) {
			if (!kinds[i].alone) {
				waiter = thread(wait_for_work, NULL);
				while (!waits)
					pause_ms(1);
			}
			kinds[i].begin();
		}
	printf("ready\n");
	fflush(stdout);
	for (;;) {
		ssize_t count = read(0, &byte, 1);

		if (!count)
			break;
		if (count < 0 && errno != EINTR)
			wrong("read", count);
	}
	stop = true;
	pthread_mutex_lock(&lock);
	pthread_cond_broadcast(&wake);
	pthread_mutex_unlock(&lock);
	if (waiter)
		pthread_join(waiter, NULL);
	/* The others see it, too. */
	pause_ms(200);
	printf("done %lu odd %lu\n", (unsigned long)done, (unsigned long)odd);
	return odd != 0;
}
