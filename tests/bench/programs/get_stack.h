/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A BPF program that does nothing but bpf_get_stack() of a thread of ours, which goes by frame pointers, where it calls a function. */
#ifndef GPUPROBE_BENCH_GET_STACK_H
#define GPUPROBE_BENCH_GET_STACK_H

#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Kernel ABI (<linux/bpf.h>); the installed header may be older than the kernel. */
#define ATTACH_UPROBE_MULTI 48

#define STACK_BYTES (127 * 8)

struct uprobe_multi_attr {
	uint32_t program_fd, target_fd, attach_type, link_flags;
	uint64_t path, offsets, reference_counter_offsets, cookies;
	uint32_t count, flags, pid, pad;
};

/* Where a function lies in our own file; 0: nowhere. */
static uint64_t own_offset(void (*function)(void))
{
	unsigned long address = (uintptr_t)function, start, end, offset;
	FILE *maps = fopen("/proc/self/maps", "re");
	uint64_t result = 0;
	char line[512];

	while (maps && !result && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 &&
		    address >= start && address < end)
			result = address - start + offset;
	if (maps)
		fclose(maps);
	return result;
}

static int load_get_stack(void)
{
	union bpf_attr place = {.map_type = BPF_MAP_TYPE_PERCPU_ARRAY,
				.key_size = 4,
				.value_size = STACK_BYTES,
				.max_entries = 1};
	int map = (int)syscall(__NR_bpf, BPF_MAP_CREATE, &place, sizeof(place));
	struct bpf_insn instructions[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 6, .src_reg = 1},
		{.code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = 10, .off = -4},
		{.code = BPF_LD | BPF_IMM | BPF_DW,
		 .dst_reg = 1,
		 .src_reg = BPF_PSEUDO_MAP_FD,
		 .imm = map},
		{0},
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 2, .src_reg = 10},
		{.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 2, .imm = -4},
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_map_lookup_elem},
		{.code = BPF_JMP | BPF_JEQ | BPF_K, .off = 5},
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 1, .src_reg = 6},
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 2},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 3, .imm = STACK_BYTES},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 4, .imm = BPF_F_USER_STACK},
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_get_stack},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr load = {.prog_type = BPF_PROG_TYPE_KPROBE,
			       .insns = (uintptr_t)instructions,
			       .insn_cnt = sizeof(instructions) / sizeof(instructions[0]),
			       .license = (uintptr_t) "GPL",
			       .prog_name = "get_stack",
			       .expected_attach_type = ATTACH_UPROBE_MULTI};

	return map < 0 ? -1 : (int)syscall(__NR_bpf, BPF_PROG_LOAD, &load, sizeof(load));
}

/* Until the process ends. -1: errno says why not. */
static int attach_get_stack(void (*function)(void))
{
	uint64_t offset = own_offset(function);
	int program = load_get_stack();
	struct uprobe_multi_attr create = {.program_fd = (uint32_t)program,
					   .attach_type = ATTACH_UPROBE_MULTI,
					   .path = (uintptr_t) "/proc/self/exe",
					   .offsets = (uintptr_t)&offset,
					   .count = 1,
					   .pid = (uint32_t)getpid()};

	return program < 0 || !offset
		       ? -1
		       : (int)syscall(__NR_bpf, BPF_LINK_CREATE, &create, sizeof(create));
}

#endif
