/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Never waits. Spins with something known in every register, in the flag of direction and in the red zone, and looks at all of it
 * behind that; between two of these it is in malloc, free and qsort, whose results it looks at too.
 *
 *	inject_runs WHERE	all; or where it is alone, but for moments that are too short to meet: "spin", "thread" (the same beside
 *				one in the library), "library" (the C library's), "callback" (what that calls), "handler" (of a
 *				signal), "sequence" (one that is restartable), "calls" (system calls that
 *				take long), "allocator" (such below a function that is named as one that allocates), "yields" (sched_yield()),
 *				"callback_yields" (that in what the C library calls), "clock" (of its own CPU time, a call that the kernel's own code in it makes),
 *				"returns" (in the C library for some ms each time; it counts SIGRTMIN), "minds" (the same, and handles SIGURG and SIGWINCH),
 *				"blocks" (and blocks them), "polls" (epoll_wait() below a function that is named as one that allocates,
 *				of which hardly one is cut off)
 *
 * "ready"; SIGTERM ends it: "same", or what differed; how often SIGRTMIN came, if it did.
 */
#include <errno.h>
#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif

#define SPINS  20000UL
#define PIECES 64

static volatile sig_atomic_t wanted_end;

#ifdef OWN_MALLOC
void *__libc_malloc(size_t size);

void *malloc(size_t size)
{
	return __libc_malloc(size);
}
#endif

static pthread_spinlock_t spin_lock;

static void end(int number)
{
	wanted_end = 1;
	pthread_spin_unlock(&spin_lock);
}

struct state {
	uint64_t general[14]; /* rax rbx rdx rsi rdi rbp r8-r15 */
	uint64_t flags;
	uint64_t pad;
	uint64_t red_zone[16];
	uint8_t vectors[16][32] __attribute__((aligned(32)));
	uint32_t mxcsr;
	uint16_t control;
};

#define RED(f)	       f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11) f(12) f(13) f(14) f(15)
#define RED_LOAD(n)    "mov 128+" #n "*8(%%rcx), %%rax\n mov %%rax, " #n "*8-128(%%rsp)\n"
#define RED_SAVE(n)    "mov " #n "*8-128(%%rsp), %%rax\n mov %%rax, 128+" #n "*8(%%rcx)\n"
#define VECTOR_LOAD(n) "vmovdqa 256+" #n "*32(%%rcx), %%ymm" #n "\n"
#define VECTOR_SAVE(n) "vmovdqa %%ymm" #n ", 256+" #n "*32(%%rcx)\n"
#define GENERAL(f)                                                                          \
	f(rax, 0) f(rbx, 8) f(rdx, 16) f(rsi, 24) f(rdi, 32) f(rbp, 40) f(r8, 48) f(r9, 56) \
		f(r10, 64) f(r11, 72) f(r12, 80) f(r13, 88) f(r14, 96) f(r15, 104)
#define GENERAL_LOAD(name, at) "mov " #at "(%%rcx), %%" #name "\n"
#define GENERAL_SAVE(name, at) "mov %%" #name ", " #at "(%%rcx)\n"

_Static_assert(offsetof(struct state, red_zone) == 128 && offsetof(struct state, vectors) == 256 &&
		       offsetof(struct state, flags) == 112 && offsetof(struct state, mxcsr) == 768,
	       "offsets in the assembler");

/* In one piece of assembler, so that nothing else touches a register. */
static void __attribute__((noinline, target("avx2")))
spin(const struct state *before, struct state *after)
{
	unsigned long spins = SPINS;

	/* clang-format off */
	__asm__ volatile(
		"sub $256, %%rsp\n" /* over the compiler's own red zone */
		"push %%rbx\n push %%rbp\n push %%r12\n push %%r13\n push %%r14\n push %%r15\n"
		"push %[after]\n"
		"push %[spins]\n"
		/* So that our stack can be followed to its end. */
		".cfi_remember_state\n .cfi_adjust_cfa_offset 320\n"
		".cfi_rel_offset rbx, 56\n .cfi_rel_offset rbp, 48\n .cfi_rel_offset r12, 40\n"
		".cfi_rel_offset r13, 32\n .cfi_rel_offset r14, 24\n .cfi_rel_offset r15, 16\n"
		"mov %[before], %%rcx\n"
		RED(RED_LOAD)
		RED(VECTOR_LOAD)
		"ldmxcsr 768(%%rcx)\n fldcw 772(%%rcx)\n"
		"std\n"
		GENERAL(GENERAL_LOAD)
		"mov (%%rsp), %%rcx\n"
		"1: dec %%rcx\n jnz 1b\n"
		"mov 8(%%rsp), %%rcx\n"
		GENERAL(GENERAL_SAVE)
		RED(RED_SAVE)
		RED(VECTOR_SAVE)
		"stmxcsr 768(%%rcx)\n fstcw 772(%%rcx)\n"
		"pushfq\n pop %%rax\n mov %%rax, 112(%%rcx)\n"
		"cld\n"
		"pop %%rax\n pop %%rax\n"
		"pop %%r15\n pop %%r14\n pop %%r13\n pop %%r12\n pop %%rbp\n pop %%rbx\n"
		"add $256, %%rsp\n"
		".cfi_restore_state\n"
		: [before] "+D"(before), [after] "+S"(after), [spins] "+d"(spins)
		:
		: "rax", "rcx", "r8", "r9", "r10", "r11", "memory", "cc", "xmm0", "xmm1", "xmm2",
		  "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
		  "xmm13", "xmm14", "xmm15");
	/* clang-format on */
}

static void fill(struct state *state, unsigned seed)
{
	memset(state, 0, sizeof(*state));
	for (unsigned i = 0; i < 14; i++)
		state->general[i] = 0x0101010101010101ULL * (seed + i);
	/* What the kernel has in it to begin a system call anew. */
	if (seed % 4 == 0)
		state->general[0] = (uint64_t) - (512 + seed / 4 % 5);
	for (unsigned i = 0; i < 16; i++)
		state->red_zone[i] = 0x1111111111111111ULL * i + seed;
	for (unsigned i = 0; i < 16; i++)
		memset(state->vectors[i], (int)(seed * 16 + i), sizeof(state->vectors[i]));
	state->mxcsr = 0x1f80 | (seed & 3) << 13; /* how it rounds */
	state->control = (uint16_t)(0x37f | (seed & 3) << 10);
}

static int spin_once(unsigned seed)
{
	struct state before, after;

	fill(&before, seed);
	memset(&after, 0, sizeof(after));
	spin(&before, &after);
	__asm__ volatile("ldmxcsr %0" ::"m"((uint32_t){0x1f80}));
	__asm__ volatile("fldcw %0" ::"m"((uint16_t){0x37f}));
	if (!(after.flags & 0x400))
		return printf("the flag of direction is clear\n"), 1;
	after.flags = 0;
	for (size_t i = 0; i < sizeof(before) / 8; i++)
		if (((uint64_t *)&before)[i] != ((uint64_t *)&after)[i])
			return printf("word %zu: %#llx, was %#llx\n", i,
				      (unsigned long long)((uint64_t *)&after)[i],
				      (unsigned long long)((uint64_t *)&before)[i]),
			       1;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const unsigned left = *(const unsigned *)a, right = *(const unsigned *)b;

	return left < right ? -1 : left > right;
}

static int use_library(unsigned seed)
{
	unsigned *pieces[PIECES];
	int wrong = 0;

	for (unsigned i = 0; i < PIECES; i++) {
		pieces[i] = malloc(sizeof(unsigned) * (seed % 7 + 1) * (i + 1));
		for (unsigned j = 0; j <= i; j++)
			pieces[i][j] = (seed + j) * 2654435761U;
	}
	for (unsigned i = 0; i < PIECES; i++) {
		qsort(pieces[i], i + 1, sizeof(unsigned), compare);
		for (unsigned j = 1; j <= i; j++)
			wrong |= pieces[i][j - 1] > pieces[i][j];
		free(pieces[i]);
	}
	return wrong && printf("what was sorted is not\n");
}

/* It spins for a lock that it has, until the end is wanted. */
static int in_library(void)
{
	pthread_spin_lock(&spin_lock);
	return pthread_spin_lock(&spin_lock);
}

static int until_end(const void *a, const void *b)
{
	while (!wanted_end)
		;
	return a < b ? -1 : a > b;
}

static int in_callback(void)
{
	int numbers[] = {1, 2};

	qsort(numbers, 2, sizeof(numbers[0]), until_end);
	return 0;
}

static void handler(int number)
{
	while (!wanted_end)
		;
}

static int in_handler(void)
{
	signal(SIGUSR1, handler);
	return raise(SIGUSR1);
}

static int in_spin(void)
{
	int wrong = 0;

	for (unsigned seed = 1; !wanted_end && !wrong; seed++)
		wrong = spin_once(seed);
	return wrong;
}

static void *spin_thread(void *data)
{
	*(int *)data = in_spin();
	return NULL;
}

static int in_thread(void)
{
	pthread_t thread;
	int wrong = 0, library_wrong;

	if (pthread_create(&thread, NULL, spin_thread, &wrong))
		return 1;
	library_wrong = in_library();
	pthread_join(thread, NULL);
	return wrong | library_wrong;
}

#define CALL_BYTES (16UL << 20)
#define CALL_ERRNO 4242

/* What it asked for is done, and nothing else has changed. */
static int __attribute__((noinline)) in_calls(void)
{
	int fd = memfd_create("calls", 0);
	char *bytes = calloc(1, CALL_BYTES);
	int wrong = fd < 0 || !bytes;

	for (unsigned turn = 1; !wanted_end && !wrong; turn++) {
		ssize_t done;

		memcpy(bytes + CALL_BYTES - sizeof(turn), &turn, sizeof(turn));
		errno = CALL_ERRNO;
		done = pwrite(fd, bytes, CALL_BYTES, 0);
		if (done != CALL_BYTES || errno != CALL_ERRNO)
			wrong = printf("%zd bytes written, errno %d\n", done, errno);
	}
	free(bytes);
	close(fd);
	return wrong;
}

static int __attribute__((noinline)) in_my_malloc(void)
{
	int wrong = in_calls();

	__asm__ volatile("" ::: "memory");
	return wrong;
}

/* It lets others run, as one does that spins for what another one writes. */
static int __attribute__((noinline)) in_yields(void)
{
	int wrong = 0;

	while (!wanted_end && !wrong) {
		errno = CALL_ERRNO;
		if (sched_yield() || errno != CALL_ERRNO)
			wrong = printf("errno %d\n", errno);
	}
	return wrong;
}

static int __attribute__((noinline)) in_clock(void)
{
	struct timespec time = {0}, before;
	int wrong = 0;

	for (before = time; !wanted_end && !wrong; before = time)
		if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) || time.tv_sec < before.tv_sec)
			wrong = printf("the clock goes back\n");
	return wrong;
}

static int yield_until_end(const void *a, const void *b)
{
	return in_yields() || a < b ? -1 : a > b;
}

static int in_callback_yields(void)
{
	int numbers[] = {1, 2};

	qsort(numbers, 2, sizeof(numbers[0]), yield_until_end);
	return 0;
}

#define RETURNS_BYTES (32UL << 20)

static volatile sig_atomic_t counted, minded;

static void count(int number)
{
	counted++;
}

static void mind(int number)
{
	minded = number;
}

/* Nearly always in the C library, which comes back each few ms. */
static int __attribute__((noinline)) in_returns(void)
{
	unsigned char *bytes = malloc(RETURNS_BYTES);
	int wrong = !bytes;

	signal(SIGRTMIN, count);
	for (unsigned turn = 1; !wanted_end && !wrong; turn++) {
		memset(bytes, (int)(turn & 0xff), RETURNS_BYTES);
		if (bytes[0] != (turn & 0xff) || bytes[RETURNS_BYTES - 1] != (turn & 0xff))
			wrong = printf("memory was not set\n");
	}
	free(bytes);
	if (minded)
		wrong = printf("signal %d came\n", (int)minded);
	return wrong;
}

/* Each time that it is let go without having come back, a signal may come in that moment. */
#define CUT_OFF_MAX 5

/* By its name it is an allocator, from which it never comes back. */
static int __attribute__((noinline)) polls_in_my_malloc(void)
{
	int fd = epoll_create1(0), cut_off = 0, wrong = 0;
	struct epoll_event event;

	while (!wanted_end && !wrong) {
		for (volatile unsigned spins = 0; spins < 300000; spins++)
			;
		cut_off += epoll_wait(fd, &event, 1, 2) && !wanted_end;
		if (cut_off > CUT_OFF_MAX)
			wrong = printf("epoll_wait: %s, %d times\n", strerror(errno), cut_off);
	}
	close(fd);
	return wrong;
}

static int in_polls(void)
{
	int wrong = polls_in_my_malloc();

	__asm__ volatile("" ::: "memory");
	return wrong;
}

static int in_minds(void)
{
	signal(SIGURG, mind);
	signal(SIGWINCH, mind);
	return in_returns();
}

static int in_blocks(void)
{
	sigset_t set, pending;
	int wrong;

	sigemptyset(&set);
	sigaddset(&set, SIGURG);
	sigaddset(&set, SIGWINCH);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	wrong = in_returns();
	sigpending(&pending);
	if (sigismember(&pending, SIGURG) || sigismember(&pending, SIGWINCH))
		wrong = printf("a signal is pending\n");
	return wrong;
}

static int in_all(void)
{
	int wrong = 0;

	for (unsigned seed = 1; !wanted_end && !wrong; seed++)
		wrong = spin_once(seed) || use_library(seed);
	return wrong;
}

#ifdef RSEQ_SIG
/* Each interruption begins it anew, until the end is wanted. */
static int __attribute__((noinline)) in_sequence(void)
{
	struct rseq *own = (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);

	__asm__ volatile(".pushsection __rseq_cs, \"aw\"\n"
			 ".balign 32\n"
			 "3: .long 0, 0\n .quad 1f, 2f - 1f, 4f\n"
			 ".popsection\n"
			 ".pushsection .text.unlikely\n"
			 ".byte 0x0f, 0xb9, 0x3d\n .long %c[signature]\n"
			 "4: jmp 5f\n"
			 ".popsection\n"
			 "5: lea 3b(%%rip), %%rax\n"
			 "mov %%rax, %[pointer]\n"
			 "1: cmpl $0, %[end]\n"
			 "je 1b\n"
			 "2:\n"
			 : [pointer] "=m"(own->rseq_cs)
			 : [end] "m"(wanted_end), [signature] "i"(RSEQ_SIG)
			 : "rax", "memory", "cc");
	return 0;
}
#endif

static const struct {
	const char *name;
	int (*run)(void);
} places[] = {
	{"all", in_all},	   {"spin", in_spin},
	{"thread", in_thread},	   {"library", in_library},
	{"callback", in_callback}, {"handler", in_handler},
	{"calls", in_calls},	   {"allocator", in_my_malloc},
	{"yields", in_yields},	   {"callback_yields", in_callback_yields},
	{"clock", in_clock},	   {"returns", in_returns},
	{"minds", in_minds},	   {"blocks", in_blocks},
	{"polls", in_polls},
#ifdef RSEQ_SIG
	{"sequence", in_sequence},
#endif
};

int main(int argc, char **argv)
{
	pthread_spin_init(&spin_lock, PTHREAD_PROCESS_PRIVATE);
	signal(SIGTERM, end);
	for (size_t i = 0; argc == 2 && i < sizeof(places) / sizeof(places[0]); i++) {
		if (strcmp(argv[1], places[i].name))
			continue;
#ifdef RSEQ_SIG
		if (places[i].run == in_sequence && !__rseq_size)
			break;
#endif
		printf("ready\n");
		fflush(stdout);
		if (places[i].run())
			return 1;
		printf("same\n");
		if (counted)
			printf("%d signals\n", (int)counted);
		return 0;
	}
	printf("there is no such place here\n");
	return 2;
}
