/*
 * What the BPF programs and userspace share besides records: the control words, the counters, the
 * cookie. Included by both; the includer provides u32 and u64.
 */
#ifndef GPUPROBE_BPF_SHARED_H
#define GPUPROBE_BPF_SHARED_H

#define RINGS_MAX	 64 /* one ring a CPU, shared beyond */
#define LOSS_REASONS_MAX 32 /* reasons of record.def, indexes of counters.losses */

/* Values of the map of targets. */
#define TARGET_KNOWN	   1 /* it maps no code that the plan does not know */
#define TARGET_MAPPED_CODE 2 /* it has loaded libraries or executed another program since, or may have unseen */

/* The cookie of a probe: its id, and what a hit of it costs. */
#define COOKIE_PROBE_MASK 0xffffffffULL
#define COOKIE_STEPPED	  (1ULL << 32) /* its first instruction is single-stepped */
/* Why only entries are recorded (enum entry_only_reason): bits 40 to 47. */
#define COOKIE_REASON_SHIFT 40

/* An exit of a function: how the program that stands on it can do what the instruction does. */
#define COOKIE_SITE_SHIFT      33
#define COOKIE_SITE_MASK       0x7
#define COOKIE_SITE_ANY	       0ULL /* the kernel does it */
#define COOKIE_SITE_RETURN     1ULL
#define COOKIE_SITE_JUMP       2ULL /* to the address in a register: its number in the detail */
#define COOKIE_SITE_CONDITION  3ULL /* jcc: left only if the condition, in the detail, holds */
#define COOKIE_DETAIL_SHIFT    36   /* 4 bits */
#define COOKIE_ADDRESS_SHIFT  48   /* low 12 bits of the site's address */
#define COOKIE_POPPED_SHIFT   60   /* bytes / 8 that `ret n` takes off, 4 bits */

/* One a CPU. */
struct counters {
	u64 losses[LOSS_REASONS_MAX];
	u64 entries; /* hits of entry programs, recorded or not */
	u64 stepped_entries;
	u64 returns;	  /* taken by trampoline */
	u64 exits;	  /* taken at the function's exits */
	u64 stepped_exits;
	u64 strangers; /* hits in processes that are no targets */
	u64 forks;     /* of targets, by which a process came to be that carries the probes and is no target */
	u64 wakeup_ns; /* when this CPU last woke the reader */
	u64 records;   /* that this CPU tried to send */
};

#endif
