/* SPDX-FileCopyrightText: 2026 The gpuprobe authors */
/* SPDX-License-Identifier: MIT */
/*
 * gpuprobe.h: what a program says of itself, seen by `gpuprobe -p PID` as rows of the trace (user_annotation).
 *
 *	gpuprobe_push("step");                                 ... gpuprobe_pop();       a range; they nest
 *	gpuprobe_push_args("step", "step=%d phase=%s", i, p);  ... gpuprobe_pop();       the same with key=value arguments
 *	GPUPROBE_RANGE("step");                                                          a range to the end of the block
 *	gpuprobe_mark("here");  gpuprobe_mark_args("here", "bytes=%zu", bytes);          a moment
 *	gpuprobe_counter("queue length", length);                                        a value that changes over time
 *
 * C (gnu99) and C++, one header, nothing to link, nothing to initialise. Where nobody listens each costs a load, a
 * comparison and a branch that is not taken; what stands behind the name is not evaluated then. Ranges are a thread's own: what
 * it pushes it pops. Names are text of the program (up to 255 bytes are recorded), values are integers of 64 bits.
 *
 * They are USDT probes of provider gpuprobe (push, pop, mark, counter), which bpftrace and perf read as well: notes in the
 * file, a counter of listeners that a tracer raises, and a nop. The nop is of one byte: what a tracer makes of one of five
 * destroys the red zone of leaf functions on Linux 6.18 and 6.19.
 */
#ifndef GPUPROBE_H
#define GPUPROBE_H

#include <stdarg.h>
#include <stdio.h>

#define GPUPROBE_ARGS_MAX_BYTES 256 /* longer key=value text is cut */

#if defined(__linux__) && defined(__GNUC__) && defined(__LP64__) && \
	(defined(__x86_64__) || defined(__aarch64__))
#define GPUPROBE_HAS_PROBES 1
#endif

#ifdef GPUPROBE_HAS_PROBES

#ifdef __cplusplus
extern "C" {
#endif

/* How many listen; one of each in a program or library, written by the kernel. */
#define GPUPROBE_LISTENERS(probe)                                   \
	extern volatile unsigned short gpuprobe_##probe##_semaphore \
		__attribute__((visibility("hidden")));              \
	__attribute__((weak, used,                                  \
		       section(".probes"))) volatile unsigned short gpuprobe_##probe##_semaphore

GPUPROBE_LISTENERS(push);
GPUPROBE_LISTENERS(pop);
GPUPROBE_LISTENERS(mark);
GPUPROBE_LISTENERS(counter);

#ifdef __cplusplus
}
#endif

#define GPUPROBE_LISTENING(probe) __builtin_expect(gpuprobe_##probe##_semaphore != 0, 0)

/* A nop, and a note of type 3 "stapsdt": where it is, where the section .stapsdt.base is (a file that is prelinked moves
 * both), where the counter is, provider, name, and how the arguments are read: SIZE@OPERAND, a minus: signed. */
#define GPUPROBE_NOTE(probe, arguments)                                          \
	"990:	nop\n"                                                             \
	"	.pushsection .note.stapsdt,\"?\",\"note\"\n"                           \
	"	.balign 4\n"                                                           \
	"	.4byte 992f-991f, 994f-993f, 3\n"                                      \
	"991:	.asciz \"stapsdt\"\n"                                              \
	"992:	.balign 4\n"                                                       \
	"993:	.8byte 990b, _.stapsdt.base, gpuprobe_" probe "_semaphore\n"     \
	"	.asciz \"gpuprobe\"\n"                                                 \
	"	.asciz \"" probe "\"\n"                                          \
	"	.asciz \"" arguments "\"\n"                                      \
	"994:	.balign 4\n"                                                       \
	"	.popsection\n"                                                         \
	"	.ifndef _.stapsdt.base\n"                                              \
	"	.pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
	"	.weak _.stapsdt.base\n"                                                \
	"	.hidden _.stapsdt.base\n"                                              \
	"_.stapsdt.base:\n"                                                      \
	"	.space 1\n"                                                            \
	"	.size _.stapsdt.base, 1\n"                                             \
	"	.popsection\n"                                                         \
	"	.endif\n"

/* Functions of their own: so a place in the program that is probed has a stack frame of its own and costs its caller no
 * more than the question whether anybody listens. */
#define GPUPROBE_COLD static __attribute__((noinline, cold, unused)) void

GPUPROBE_COLD gpuprobe_hit_push(const char *name, const char *args)
{
	__asm__ volatile(GPUPROBE_NOTE("push", "8@%0 8@%1") : : "r"(name), "r"(args) : "memory");
}

GPUPROBE_COLD gpuprobe_hit_pop(void)
{
	__asm__ volatile(GPUPROBE_NOTE("pop", "") : : : "memory");
}

GPUPROBE_COLD gpuprobe_hit_mark(const char *name, const char *args)
{
	__asm__ volatile(GPUPROBE_NOTE("mark", "8@%0 8@%1") : : "r"(name), "r"(args) : "memory");
}

GPUPROBE_COLD gpuprobe_hit_counter(const char *name, long long value)
{
	__asm__ volatile(GPUPROBE_NOTE("counter", "8@%0 -8@%1")
			 :
			 : "r"(name), "r"(value)
			 : "memory");
}

#define GPUPROBE_FORMATTED(probe)                                                                \
	static __attribute__((                                                                   \
		noinline, cold, unused,                                                          \
		format(printf, 2, 3))) void gpuprobe_hit_##probe##_args(const char *name,        \
									const char *format, ...) \
	{                                                                                        \
		char text[GPUPROBE_ARGS_MAX_BYTES];                                              \
		va_list values;                                                                  \
                                                                                                 \
		va_start(values, format);                                                        \
		vsnprintf(text, sizeof(text), format, values);                                   \
		va_end(values);                                                                  \
		gpuprobe_hit_##probe(name, text);                                                \
	}
GPUPROBE_FORMATTED(push)
GPUPROBE_FORMATTED(mark)
#undef GPUPROBE_FORMATTED

#else /* another system: nothing is recorded, nothing is done */

#define GPUPROBE_LISTENING(probe)	  0
#define gpuprobe_hit_push(name, args)	  ((void)(name))
#define gpuprobe_hit_push_args(name, ...) ((void)(name))
#define gpuprobe_hit_pop()		  ((void)0)
#define gpuprobe_hit_mark(name, args)	  ((void)(name))
#define gpuprobe_hit_mark_args(name, ...) ((void)(name))
#define gpuprobe_hit_counter(name, value) ((void)(name), (void)(value))

#endif

#define gpuprobe_push(name)                            \
	do {                                           \
		if (GPUPROBE_LISTENING(push))          \
			gpuprobe_hit_push(name, NULL); \
	} while (0)

/* "key=value key=value", as printf does it; a value ends where the next key begins. */
#define gpuprobe_push_args(name, ...)                              \
	do {                                                       \
		if (GPUPROBE_LISTENING(push))                      \
			gpuprobe_hit_push_args(name, __VA_ARGS__); \
	} while (0)

#define gpuprobe_pop()                       \
	do {                                 \
		if (GPUPROBE_LISTENING(pop)) \
			gpuprobe_hit_pop();  \
	} while (0)

#define gpuprobe_mark(name)                            \
	do {                                           \
		if (GPUPROBE_LISTENING(mark))          \
			gpuprobe_hit_mark(name, NULL); \
	} while (0)

#define gpuprobe_mark_args(name, ...)                              \
	do {                                                       \
		if (GPUPROBE_LISTENING(mark))                      \
			gpuprobe_hit_mark_args(name, __VA_ARGS__); \
	} while (0)

#define gpuprobe_counter(name, value)                                   \
	do {                                                            \
		if (GPUPROBE_LISTENING(counter))                        \
			gpuprobe_hit_counter(name, (long long)(value)); \
	} while (0)

/* ---- to the end of the block ---- */

#define GPUPROBE_JOIN_(a, b) a##b
#define GPUPROBE_JOIN(a, b)  GPUPROBE_JOIN_(a, b)

#ifdef __cplusplus

namespace gpuprobe
{

/* From its construction to its destruction, also by an exception. */
class range
{
      public:
	explicit range(const char *name)
	{
		gpuprobe_push(name);
	}

	~range()
	{
		gpuprobe_pop();
	}

	range(const range &) = delete;
	range &operator=(const range &) = delete;
};

} // namespace gpuprobe

#define GPUPROBE_RANGE(name) ::gpuprobe::range GPUPROBE_JOIN(gpuprobe_range_, __LINE__)(name)

#elif defined(__GNUC__)

static __attribute__((unused)) inline void gpuprobe_pop_at_end(const char *unused)
{
	(void)unused;
	gpuprobe_pop();
}

static __attribute__((unused)) inline char gpuprobe_push_here(const char *name)
{
	gpuprobe_push(name);
	return 0;
}

#define GPUPROBE_RANGE(name)                                                            \
	__attribute__((cleanup(gpuprobe_pop_at_end), unused)) const char GPUPROBE_JOIN( \
		gpuprobe_range_, __LINE__) = gpuprobe_push_here(name)

#endif

#endif
