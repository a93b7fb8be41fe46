/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/multi_filter.h"

#include <linux/bpf.h>
#include <bpf/bpf.h>
#include <pthread.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/thread.h"
#include "probe/own_code.h"
#include "probe/own_functions_x86_64.h"
#include "probe/uprobe.h"

/* A program that counts in the only value of the map how often it runs. */
static int load_counting_program(int map)
{
	const struct bpf_insn instructions[] = {
		{.code = BPF_LD | BPF_DW | BPF_IMM,
		 .dst_reg = BPF_REG_1,
		 .src_reg = BPF_PSEUDO_MAP_VALUE,
		 .imm = map},
		{0}, /* the second half: from the start of the value */
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_2, .imm = 1},
		{.code = BPF_STX | BPF_ATOMIC | BPF_DW,
		 .dst_reg = BPF_REG_1,
		 .src_reg = BPF_REG_2,
		 .imm = BPF_ADD},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options,
		    .expected_attach_type = uprobe_attach_type(UPROBE_MULTI));

	return bpf_prog_load(BPF_PROG_TYPE_KPROBE, "gpuprobe_ask", "GPL", instructions,
			     ARRAY_SIZE(instructions), &options);
}

static void *call(void *data)
{
	arch_calibrate_stepped();
	return NULL;
}

bool multi_filter_sees_threads(u32 pid)
{
	_cleanup_close_ int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "gpuprobe_ask", sizeof(u32),
						 sizeof(u64), 1, NULL);
	_cleanup_close_ int program = map < 0 ? -1 : load_counting_program(map);
	_cleanup_close_ int link = -1;
	u64 offset = 0, calls = 0;
	struct uprobe_group group = {
		.kind = UPROBE_MULTI, .program_fd = program, .pid = pid, .offsets = &offset};
	const u32 zero = 0;
	pthread_t caller;

	if (program < 0 || own_code_offset(arch_calibrate_stepped, &offset))
		return false;
	link = uprobe_link_create(&group, "/proc/self/exe", 0, 1);
	if (link < 0)
		return false;
	if (!thread_start(&caller, call, NULL))
		pthread_join(caller, NULL);
	else
		call(NULL); /* by this one, which mostly is not the first either */
	return bpf_map_lookup_elem(map, &zero, &calls) || calls;
}
