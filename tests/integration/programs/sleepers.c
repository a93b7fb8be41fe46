/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that sleep long before anybody looks, each below other code; none keeps a frame pointer. A line wakes them, and they end.
 * Prints the numbers of its threads.
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "protocol.h"

static volatile int sink;
static int go[2]; /* a pipe: who reads from it sleeps until its other end is closed */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

PROBED void rest(void)
{
	char byte;

	sink = sink + (int)read(go[0], &byte, 1);
}

PROBED void in_a_read(void)
{
	rest();
	sink = sink + 1;
}

PROBED void in_a_lock(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	sink = sink + 1;
}

/* Its frames lie on more pages than one. */
PROBED void far_out(void (*function)(void))
{
	char room[20000];

	memset(room, sink, sizeof(room));
	function();
	sink = sink + room[sink & 1023];
}

PROBED void in_a_large_frame(void)
{
	far_out(rest);
	sink = sink + 1;
}

static void on_signal(int signal)
{
	rest();
	sink = sink + signal;
}

PROBED void in_a_handler(void)
{
	static char elsewhere[65536];
	const stack_t stack = {.ss_sp = elsewhere, .ss_size = sizeof(elsewhere)};
	const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	sink = sink + 1;
}

/* push rbp; mov rbp,rsp; call rdi; pop rbp; ret: made at run time, with a frame pointer. */
static const unsigned char made_code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};

PROBED void in_made_code(void)
{
	void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(code, made_code, sizeof(made_code));
	((void (*)(void (*)(void)))code)(rest);
	sink = sink + 1;
}

long indexed_frame(int file);

/* As OpenSSL multiplies large numbers: where rsp was lies on the stack, behind as many words as a register says. */
__asm__(".text\n"
	".type indexed_frame, @function\n"
	"indexed_frame:\n"
	"	.cfi_startproc\n"
	"	mov %rsp, %rax\n"
	"	.cfi_def_cfa_register %rax\n"
	"	sub $120, %rsp\n"
	"	and $-64, %rsp\n"
	"	mov $4, %r9d\n"
	"	mov %rax, 8(%rsp,%r9,8)\n"
	/* DW_CFA_def_cfa_expression: *(rsp + 8 + 8 * r9) + 8 */
	"	.cfi_escape 0x0f, 10, 0x77, 8, 0x79, 0, 0x38, 0x1e, 0x22, 0x06, 0x23, 8\n"
	"	lea 64(%rsp), %rsi\n"
	"	mov $1, %edx\n"
	"	xor %eax, %eax\n"
	"	syscall\n"
	"	mov 8(%rsp,%r9,8), %rsp\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size indexed_frame, .-indexed_frame\n");

PROBED void in_an_indexed_frame(void)
{
	sink = sink + (int)indexed_frame(go[0]);
}

static void (*const kinds[])(void) = {in_a_read,    in_a_lock,	  in_a_large_frame,
				      in_a_handler, in_made_code, in_an_indexed_frame};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static pid_t tids[KINDS];

static void *run(void *data)
{
	size_t kind = (size_t)data;

	__atomic_store_n(&tids[kind], (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	kinds[kind]();
	return NULL;
}

int main(void)
{
	pthread_t threads[KINDS];

	if (pipe(go))
		return 1;
	pthread_mutex_lock(&mutex);
	for (size_t i = 0; i < KINDS; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)i))
			return 1;
	for (size_t i = 0; i < KINDS; i++)
		while (!__atomic_load_n(&tids[i], __ATOMIC_ACQUIRE))
			usleep(1000);
	usleep(100000);
	protocol_begin();
	close(go[1]);
	pthread_mutex_unlock(&mutex);
	for (size_t i = 0; i < KINDS; i++)
		pthread_join(threads[i], NULL);
	protocol_count("in_a_read", (unsigned long)tids[0]);
	protocol_count("in_a_lock", (unsigned long)tids[1]);
	protocol_count("in_a_large_frame", (unsigned long)tids[2]);
	protocol_count("in_a_handler", (unsigned long)tids[3]);
	protocol_count("in_made_code", (unsigned long)tids[4]);
	protocol_count("in_an_indexed_frame", (unsigned long)tids[5]);
	protocol_end();
	return 0;
}
