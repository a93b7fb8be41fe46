/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What one probed call costs. Reads commands, a line each, and answers each with a line:
 *
 *	measure FUNCTION CALLS	nanoseconds of this thread's CPU time that one call takes
 *	pair FUNCTION		attaches empty BPF programs to entry and return (uprobe and uretprobe)
 *	session FUNCTION	attaches one empty BPF program as uprobe session
 *	off			detaches
 *
 * FUNCTION is one of functions[] below.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Kernel ABI (<linux/bpf.h>); the installed header may be older than the kernel. */
#define ATTACH_UPROBE_MULTI   48
#define ATTACH_UPROBE_SESSION 57
#define UPROBE_MULTI_RETURN   1

struct link_create_attr {
	uint32_t program_fd, target_fd, attach_type, link_flags;
	uint64_t path, offsets, reference_counter_offsets, cookies;
	uint32_t count, flags, pid, pad;
};

static volatile int sink;

/* It begins with `push %rbx`: the cheap kind of first instruction. */
__attribute__((noinline, noclone)) void paired(void)
{
	__asm__ volatile("" ::: "rbx");
	sink++;
}

/* The same by names of functions whose arguments are recorded: all in registers, and four of them on the stack. */
__attribute__((noinline, noclone)) void cublasSgemm_v2(void)
{
	__asm__ volatile("" ::: "rbx");
	sink++;
}

__attribute__((noinline, noclone)) void cublasGemmStridedBatchedEx(void)
{
	__asm__ volatile("" ::: "rbx");
	sink++;
}

/* As a compiler for CET writes it: the first instruction is the dear kind, the second the cheap one. */
__attribute__((noinline, noclone, naked)) void paired_endbr64(void)
{
	__asm__("endbr64; push %rbx; pop %rbx; ret");
}

/* The dear kind, and nothing cheap behind it that a probe could go to. */
__attribute__((noinline, noclone, naked)) void paired_stepped(void)
{
	__asm__("sub $8, %rsp; add $8, %rsp; ret");
}

/* Each begins with another instruction that a program can do itself, and has nothing that is cheap by itself. */
#define BEGINS_WITH(name, code)                                   \
	__attribute__((noinline, noclone, naked)) void name(void) \
	{                                                         \
		__asm__(code);                                    \
	}
BEGINS_WITH(paired_skip, "endbr64; lea 1(%rdi), %rax; ret")
BEGINS_WITH(paired_lea, "lea 1(%rdi), %rax; ret")
BEGINS_WITH(paired_mov, "mov %rdi, %rax; ret")
BEGINS_WITH(paired_xor, "xor %eax, %eax; ret")
BEGINS_WITH(paired_cmp, "cmp %rdi, %rsi; setg %al; ret")
BEGINS_WITH(paired_frame, "sub $8, %rsp; mov %rdi, %rax; add $8, %rsp; ret")
/* Only the kernel can do this one. */
BEGINS_WITH(paired_load, "mov (%rsp), %rax; ret")

static const struct {
	const char *name;
	void (*call)(void);
} functions[] = {
	{"paired_skip", paired_skip},
	{"paired_lea", paired_lea},
	{"paired_mov", paired_mov},
	{"paired_xor", paired_xor},
	{"paired_cmp", paired_cmp},
	{"paired_frame", paired_frame},
	{"paired_load", paired_load},
	{"paired", paired},
	{"paired_endbr64", paired_endbr64},
	{"paired_stepped", paired_stepped},
	{"cublasSgemm_v2", cublasSgemm_v2},
	{"cublasGemmStridedBatchedEx", cublasGemmStridedBatchedEx},
};

static void (*function_by_name(const char *name))(void)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (!strcmp(functions[i].name, name))
			return functions[i].call;
	return NULL;
}

static double cpu_seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return time.tv_sec + time.tv_nsec * 1e-9;
}

static double measure_ns(void (*function)(void), long calls)
{
	double start = cpu_seconds();

	for (long i = 0; i < calls; i++)
		function();
	return (cpu_seconds() - start) / calls * 1e9;
}

/* Where a function lies in our own file. */
static int own_offset(void (*function)(void), uint64_t *ret_offset)
{
	unsigned long address = (uintptr_t)function, start, end, offset;
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];

	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) != 3 ||
		    address < start || address >= end)
			continue;
		*ret_offset = address - start + offset;
		fclose(maps);
		return 0;
	}
	return -ENOENT;
}

/* The link's fd; it keeps the program. */
static int attach_empty(void (*function)(void), uint32_t type, uint32_t flags)
{
	struct bpf_insn instructions[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr load = {
		.prog_type = BPF_PROG_TYPE_KPROBE,
		.insns = (uintptr_t)instructions,
		.insn_cnt = 2,
		.license = (uintptr_t) "GPL",
		.expected_attach_type = type,
	};
	struct link_create_attr create = {
		.attach_type = type,
		.path = (uintptr_t) "/proc/self/exe",
		.count = 1,
		.flags = flags,
		.pid = getpid(),
	};
	uint64_t offset = 0;
	int program, link;

	create.offsets = (uintptr_t)&offset;
	if (own_offset(function, &offset))
		return -1;
	program = syscall(__NR_bpf, BPF_PROG_LOAD, &load, sizeof(load));
	if (program < 0)
		return -1;
	create.program_fd = program;
	link = syscall(__NR_bpf, BPF_LINK_CREATE, &create, sizeof(create));
	close(program);
	return link;
}

struct links {
	int fds[2];
	int count;
};

static int attach(struct links *links, void (*function)(void), uint32_t type, unsigned flags)
{
	int link = attach_empty(function, type, flags);

	if (link >= 0)
		links->fds[links->count++] = link;
	return link < 0;
}

static void detach(struct links *links)
{
	while (links->count)
		close(links->fds[--links->count]);
}

static void answer(struct links *links, const char *line)
{
	char verb[16] = "", name[32] = "";
	void (*function)(void);
	int failed = 0;
	long calls = 0;

	sscanf(line, "%15s %31s %ld", verb, name, &calls);
	function = function_by_name(name);
	if (!strcmp(verb, "measure") && function && calls > 0) {
		printf("%.2f\n", measure_ns(function, calls));
		return;
	}
	detach(links);
	if (!strcmp(verb, "pair") && function)
		failed = attach(links, function, ATTACH_UPROBE_MULTI, 0) ||
			 attach(links, function, ATTACH_UPROBE_MULTI, UPROBE_MULTI_RETURN);
	else if (!strcmp(verb, "session") && function)
		failed = attach(links, function, ATTACH_UPROBE_SESSION, 0);
	printf("%s\n", failed ? strerror(errno) : "ok");
}

int main(void)
{
	struct links links = {0};
	char line[64];

	while (fgets(line, sizeof(line), stdin)) {
		answer(&links, line);
		fflush(stdout);
	}
	return 0;
}
