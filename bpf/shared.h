/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the BPF programs and userspace share besides records: the control words, the counters, the
 * cookie. Included by both; the includer provides the integer names.
 */
#ifndef GPUPROBE_BPF_SHARED_H
#define GPUPROBE_BPF_SHARED_H

#include "allocator.h"
#include "displaced.h"
#include "matmul.h"

#define RINGS_MAX	 64 /* one ring a CPU, shared beyond */
#define LOSS_REASONS_MAX 160 /* reasons of record.def, indexes of counters.losses */

#define STACK_DEPTH_MAX	  127 /* what the kernel gives (kernel.perf_event_max_stack) */
#define STACK_ID_BITS	  20
#define STACK_IDS_PER_CPU (1U << STACK_ID_BITS)
#define STACK_CPUS_MAX	  (1U << (32 - STACK_ID_BITS))

/* Ids of texts that BPF programs give as names: beyond those of any probe. Userspace sends the texts. */
#define TEXT_SYSTEM_CALL 0x40000000U /* + its number */
#define SYSTEM_CALLS_MAX 1024
#define TEXT_OFF_CPU \
	(TEXT_SYSTEM_CALL + SYSTEM_CALLS_MAX) /* + enum off_cpu_reason, outside of system calls */

#define TEXT_PAGE_FAULT (TEXT_OFF_CPU + 16)
#define TEXT_STACK_END	(TEXT_PAGE_FAULT + 1) /* + enum stack_end */
#define STACK_ENDS_MAX	16
#define TEXT_NOBODY	(TEXT_STACK_END + STACK_ENDS_MAX) /* ran instead */
#define TEXT_IO_URING_WORKER (TEXT_NOBODY + 1)
#define TEXT_KERNEL_WORKER   (TEXT_NOBODY + 2)
#define TEXT_IO_URING	     (TEXT_IO_URING_WORKER + 2) /* a ring without a descriptor, as what is waited for */
#define TEXT_WAITED	0x50000000U			  /* + the number of PROCESS_WAITED_FOR */
#define WAITED_MAX	8192
#define WAITED_PER_CPU	16384
#define WAITED_CPUS_MAX 4096
#define WAITED_FILES_MAX 3 /* that are told of, where a thread waits for several */

#define ELEMENT_RECORD_WORDS 24

/* What a program is asked that makes a record of one element of a map. Iterators over elements would do that in one go; kernels are about that
 * refuse them (6.18.44: EPERM). */
struct element_request {
	u32 key;
	u32 answered; /* there is one: */
	u64 record[ELEMENT_RECORD_WORDS];
};

/* Which targets have mapped code that the plan does not know (the control word code_mapped). */
#define CODE_MAPPED_BY_NONE 0
#define CODE_MAPPED_BY_SOME 1 /* by those in changed_targets */
#define CODE_MAPPED_BY_ANY  2 /* there was no room for one */
#define CHANGED_TARGETS_MAX 65536
/* In the number of a target's changes: it executed another program, of which the plan knows nothing. */
#define CHANGED_FOR_GOOD 0x80000000U

/* The cookie of a probe: its id, and what a hit of it costs. */
#define COOKIE_PROBE_MASK 0xffffffffULL
#define PROBE_COUNTED	  (1U << 31) /* in the number of a probe: its calls are only counted */
#define PROBE_ID_MASK	  (~PROBE_COUNTED)
#define COOKIE_STEPPED	  (1ULL << 32) /* its first instruction is single-stepped */
/* Why only entries are recorded (enum entry_only_reason): bits 40 to 46. */
#define COOKIE_REASON_SHIFT 40
#define COOKIE_REASON_MASK  0x7f
#define COOKIE_ALLOCATOR    (1ULL << 47) /* the map allocators says more of it, by the probe's id */

/* The probed instruction, and who does what it does: the kernel, or (emulated) the program that stands on it. */
#define COOKIE_SITE_SHIFT	    33
#define COOKIE_SITE_MASK	    0x7
#define COOKIE_SITE_OTHER	    0ULL /* an entry that the kernel does */
#define COOKIE_SITE_RETURN	    1ULL
#define COOKIE_SITE_RETURN_EMULATED 2ULL
#define COOKIE_SITE_JUMP	    3ULL
#define COOKIE_SITE_JUMP_EMULATED   4ULL /* to the address in a register: its number in the detail */
#define COOKIE_SITE_CONDITION	    5ULL /* jcc: left only if the condition, in the detail, holds */
#define COOKIE_SITE_DESCRIBED	    6ULL /* an entry with more to know of: struct entry_site */
#define COOKIE_SITE_RESTART \
	7ULL /* an entry where jcc, if it jumps, leads back to the start: no call yet */
#define COOKIE_DETAIL_SHIFT  36 /* 4 bits */
#define COOKIE_ADDRESS_SHIFT 48 /* low 12 bits of the site's address */
#define COOKIE_POPPED_SHIFT  60 /* of an exit: bytes / 8 that `ret n` takes off, 4 bits */
#define COOKIE_MATMUL	     (1ULL << 60) /* of an entry: the map matmuls says more of it, by the probe's id */
#define COOKIE_LAUNCH	     (1ULL << 61) /* of an entry that is recorded: its stack is taken as that of a launch */

/* What there is no room for in the cookie of an entry; by the probe's id. */
struct entry_site {
	struct displaced_instruction instruction; /* that the program does */
	u64 stack_bytes; /* how much higher sp was at the function's first instruction */
};

#define ALLOCATIONS_MAX 65536 /* of which the size is known when they are released */

/* What userspace is told at once, through a ring of its own. */
enum process_event_kind {
	PROCESS_FORKED = 1,   /* by a target; it is one itself from now on */
	PROCESS_THREAD_ENDED, /* one that was to be watched */
	PROCESS_MAPPED_CODE,  /* told once, until userspace has judged it */
	PROCESS_UNKNOWN_CODE, /* it executed another program, or a stack leads to where no file is known to be mapped; told once,
			       * until userspace has told what it maps */
	PROCESS_WAITED_FOR, /* a thread waits for a file that nobody waited for yet: struct waited_event, with the number of its text */
	PROCESS_STRANGER, /* a thread of no target, that got the CPU of one or woke one: its process, its name, the number of its text */
	PROCESS_UNCOVERED_CODE, /* a stack leads through code of a file that its unwind table does not know */
};

struct process_event {
	u32 kind; /* enum process_event_kind */
	u32 pid;
	u32 thread; /* the one that ended; of PROCESS_FORKED who forked it; of PROCESS_UNKNOWN_CODE 1 where it executed a program; else 0 */
	u32 number; /* text id, of what is waited for */
	u64 ts;
	u64 address; /* of the code that is not known; else 0 */
	u8 comm[16]; /* of a stranger */
};

/* An open pipe, or one end of a connection between two UNIX sockets: the kernel's inode of it, and its number, of which there is no second
 * one before 2^32 others were made. */
struct pipe_end {
	u64 inode; /* 0: none */
	u64 number;
};

/* Both ends of a socket of the internet, as it was when somebody waited for it. */
struct waited_ends {
	u16 family;   /* AF_INET or AF_INET6; 0: it is none of these */
	u16 protocol; /* IPPROTO_* */
	u16 local_port, remote_port; /* 0: none */
	u32 state; /* TCP_* of the kernel */
	u8 local[16], remote[16]; /* as on the wire */
};

#define FILE_READS  1 /* the kernel's FMODE_READ, */
#define FILE_WRITES 2 /* and FMODE_WRITE */

/* A file that a thread waits for. */
struct waited_file {
	u32 fd;
	u32 mode; /* FILE_* */
	u64 inode; /* its number */
	struct pipe_end other; /* of a pipe itself */
};

struct waited_event {
	struct process_event event;
	u32 count; /* of files; */
	u32 more;  /* so many others, which are not told */
	struct waited_file files[WAITED_FILES_MAX];
	struct waited_ends ends; /* of a single one */
};

#define PIPE_ENDS_MAX  8192   /* that are looked for at once, */
#define OPEN_FILES_MAX 500000 /* among so many open files of the machine */

/* Who has one open. */
struct pipe_holder {
	struct pipe_end end;
	u32 pid;
	u32 mode; /* FILE_* */
	u8 comm[16]; /* of the process */
};

/* Who made a thread of a target, and when; while agents are about. */
struct thread_maker {
	u32 tid;
	u32 pid;
	u64 ts;
};

/* In the pid of a thread of ours: it is an agent's own, and not one that was made for it. */
#define OWN_THREAD_AGENT 0x80000000U

#define THREAD_MAKERS_MAX 65536
#define OWN_THREADS_MAX	  4096

#define CUPTI_CALLS_RING_BYTES (64 << 10)

/* A call of libcupti by a target. */
struct cupti_call_event {
	u32 pid;
	u32 function; /* row of gpu/cupti/cupti_watched.def */
	u64 arguments[2];
	u64 caller; /* return address; 0: not known */
	u64 ts;
};

/* Code of a process that has probes in it: sorted, none overlaps another. */
#define PROBED_RANGES_MAX 256
struct probed_code {
	u64 count;
	u64 held_ns; /* so long threads of it have waited */
	struct probed_range {
		u64 start, end;
	} items[PROBED_RANGES_MAX];
};

/* What a target does to code of its own, or maps that may do so. */
enum code_write_kind {
	CODE_REPLACED = 1, /* made writable, moved, or mapped over: [start, end) */
	CODE_PROTECTED,	   /* made what cannot be written to: [start, end) */
	CODE_WRITTEN,	   /* through a file of /proc: where is not known */
	CODE_PATCHER,	   /* a library that patches others is mapped, by its name (struct code_patcher) */
	CODE_MAPPED,	   /* code of a file is mapped, or what had probes no longer: these may be elsewhere. held: now; else soon */
	CODE_EXECUTED,	   /* another program is there: what was known of the process is over */
};

/* How the names of such libraries begin, and which bits of that count: none behind the last row. */
#define CODE_PATCHERS_MAX 8
struct code_patcher {
	u64 name[2], mask[2];
};

#define CODE_FILES_MAX 4096

/* So long at most a thread waits for us, unseen: 0.5 to 20 ms as a rule, 52 ms at load 12 on two CPUs; before, it would run what the kernel
 * then breaks. */
#define CODE_HOLD_NS	      200000000ULL
#define CODE_HELD_MAX_NS       1000000000ULL /* in all, of a process: none that changes its code all the time */
#define CODE_WRITES_RING_BYTES (64 << 10)

struct code_write_event {
	u32 kind; /* enum code_write_kind */
	u32 pid;
	u32 tid;
	u32 held; /* the thread waits until it is released; else it goes on */
	u64 start, end;
	u64 ts;
};

/* A return address of a thread that the kernel's trampoline stands for. */
struct hijacked_return {
	u32 pid;
	u32 tid;
	u64 slot;	/* where on the stack */
	u64 address;	/* what stood there */
	u64 trampoline; /* what stands there while the call is open */
};

/* How the memory of a process grew, by who asked for it. */
struct growth_key {
	u32 pid;
	u32 name;  /* text id: a system call, or TEXT_PAGE_FAULT */
	u32 stack; /* stack id; 0: not known */
	u32 pad;
};

struct growth_sums {
	u64 maps, mapped_bytes; /* that made the address space larger */
	u64 unmaps, unmapped_bytes;
	u64 faults, faulted_bytes;
};

#define GROWTHS_MAX 16384

/* Since when a thread lives in the window, and what the scheduler had counted of it then. */
struct thread_start {
	u64 since_ns;
	u64 run_ns;
	u64 ready_ns;
	/* What it has done since, when it last had to leave its CPU while it was ending; 0: it has not had to. */
	u64 ending_ns, ending_run_ns, ending_ready_ns;
	u32 ending_pid, unused;
};

#define THREAD_STARTS_MAX 65536

/* How often the places of a probe were hit in targets while the window was open; one a CPU. */
struct probe_hits {
	u64 entries;
	u64 exits; /* returns by trampoline, or the function's exits */
	u64 stepped_exits;
};

struct switched_probe {
	u64 since_ns; /* calls open then ended there, as far as anybody knows; 0: it was never switched off */
	u64 is_off;   /* else it was for a moment */
};

/* Calls that are only counted, by function and process. */
struct function_count_key {
	u32 pid;
	u32 probe;
};

#define COUNT_BUCKETS 48 /* bucket n: durations from 2^n ns to below 2^(n + 1); 0 ns in the first, the longest in the last */

/* One a CPU. Calls whose end was not seen are in none of the times. */
struct function_count {
	u64 calls, timed_calls;
	u64 time_ns, minimum_ns, maximum_ns;
	u64 buckets[COUNT_BUCKETS];
};

/* What is recorded beside calls, by what its price is made of. */
enum price_sort {
	PRICE_WAITS,
	PRICE_GROWTH,
	PRICE_HEAP,
	PRICE_USDT,
	PRICE_GPU_MEMORY, /* accounts of it, kept by the probes of the functions that allocate */
	PRICE_MATMUL,	  /* sizes of products of matrices, by the probes of the functions that do them */
	PRICE_SAMPLES,	  /* of threads that run */
	PRICE_CALL_STACKS, /* in the probes of functions */
	PRICE_LAUNCH_STACKS,
	PRICE_PYTHON, /* ends of its code objects */
	PRICE_SORTS
};

/* Of a sort, in targets while the window was open. */
struct price_hits {
	u64 entries, stepped_entries; /* of probes, the single-stepped ones apart */
	u64 returns;		      /* taken by trampoline */
	u64 exits, stepped_exits;     /* taken at the function's exits */
	u64 runs;		      /* of programs, those of the probes included */
	u64 timed_runs, timed_ns;     /* of them */
};

/* One a CPU. */
struct counters {
	u64 losses[LOSS_REASONS_MAX];
	u64 cut_stacks[STACK_ENDS_MAX]; /* by enum stack_end, */
	u64 walked_stacks;		/* of so many */
	struct price_hits prices[PRICE_SORTS];
	u64 runs_of_any; /* of programs that have to find out first whether this is a target's */
	u64 strangers; /* hits in processes that are no targets */
	u64 forks; /* of targets, by which a process came to be that carries the probes and is no target */
	u64 children;		   /* forked by targets and made targets themselves */
	u64 ended_cpu_ns;	   /* CPU time of the targets that have ended */
	u64 children_refused;	   /* the same, but there was no room for them */
	u64 stacks;		   /* ids that this CPU has given, */
	u64 waited, waited_before; /* numbers of files that this CPU has given */
	u64 sampled_stacks;	   /* and those beside it to what may interrupt the others */
	u64 python_codes[2];	   /* ids of code objects, apart in the same way */
	u64 wakeup_ns;		   /* when this CPU last woke the reader */
	u64 records;		   /* that this CPU tried to send */
};

#endif
