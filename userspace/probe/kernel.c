/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <asm/ptrace.h>
#include <signal.h>
#include <linux/bpf.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe/own_functions_x86_64.h"
#include "probe/multi_filter.h"
#include "probe/own_code.h"
#include "probe/uprobe.h"
#include "base/cleanup.h"

static int load_program(unsigned attach_type, const struct bpf_insn *instructions, size_t count)
{
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = attach_type);
	int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "gpuprobe_ask", "GPL", instructions, count,
			       &options);

	return fd < 0 ? -errno : fd;
}

/* A program that does nothing, for the attach type. */
static int load_empty_program(unsigned attach_type)
{
	const struct bpf_insn instructions[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};

	return load_program(attach_type, instructions, ARRAY_SIZE(instructions));
}

/* The verifier says whether a program may write the instruction pointer. */
static bool can_set_registers(void)
{
	const short ip = offsetof(struct pt_regs, rip);
	const struct bpf_insn instructions[] = {
		{.code = BPF_LDX | BPF_MEM | BPF_DW,
		 .dst_reg = BPF_REG_2,
		 .src_reg = BPF_REG_1,
		 .off = ip},
		{.code = BPF_STX | BPF_MEM | BPF_DW,
		 .dst_reg = BPF_REG_1,
		 .src_reg = BPF_REG_2,
		 .off = ip},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	_cleanup_close_ int program = load_program(uprobe_attach_type(UPROBE_MULTI), instructions,
						   ARRAY_SIZE(instructions));

	return program >= 0;
}

/* A kernel that knows the kind of link looks at the path first and finds that it is no regular file
 * (EBADF); one that does not refuses the attach type (EINVAL). */
static bool has_link(enum uprobe_kind kind)
{
	_cleanup_close_ int program = load_empty_program(uprobe_attach_type(kind));
	u64 offset = 1;
	struct uprobe_group group = {.kind = kind, .program_fd = program, .offsets = &offset};
	int link;

	if (program < 0)
		return false;
	link = uprobe_link_create(&group, "/", 0, 1);
	if (link >= 0)
		close(link);
	return link == -EBADF;
}

/* How many values a tracepoint tells of; 0: there is none of that name. */
static u32 tracepoint_arguments(const struct btf *btf, const char *name)
{
	char type_name[64];
	const struct btf_type *type;
	s32 id;

	snprintf(type_name, sizeof(type_name), "btf_trace_%s", name);
	id = btf__find_by_name_kind(btf, type_name, BTF_KIND_TYPEDEF);
	type = id > 0 ? btf__type_by_id(btf, id) : NULL;
	type = type ? btf__type_by_id(btf, type->type) : NULL;
	type = type && btf_is_ptr(type) ? btf__type_by_id(btf, type->type) : NULL;
	/* The first one is not the tracepoint's. */
	return type && btf_is_func_proto(type) && btf_vlen(type) ? btf_vlen(type) - 1 : 0;
}

static bool has_function(const struct btf *btf, const char *name)
{
	return btf__find_by_name_kind(btf, name, BTF_KIND_FUNC) > 0;
}

/* Is the kernel itself preempted? In doubt it is. */
static bool is_preempted(void)
{
	char modes[128] = "";
	_cleanup_close_ int fd = open("/sys/kernel/debug/sched/preempt", O_RDONLY | O_CLOEXEC);
	struct utsname name;

	uname(&name);
	if (!strstr(name.version, "PREEMPT"))
		return false;
	/* "none (voluntary) full" */
	return !strstr(name.version, "PREEMPT_DYNAMIC") || fd < 0 ||
	       read(fd, modes, sizeof(modes) - 1) <= 0 ||
	       !(strstr(modes, "(none)") || strstr(modes, "(voluntary)"));
}

static void look_at_types(struct kernel_abilities *abilities)
{
	struct btf *btf = btf__load_vmlinux_btf();
	u32 locked = tracepoint_arguments(btf, "mmap_lock_acquire_returned");
	bool others = tracepoint_arguments(btf, "mmap_lock_released") &&
		      tracepoint_arguments(btf, "page_fault_user") == 3 &&
		      tracepoint_arguments(btf, "page_fault_kernel") == 3 &&
		      tracepoint_arguments(btf, "mm_page_alloc") == 4;

	abilities->locks = locked == 3	 ? KERNEL_GROWTH_LOCKS
			   : locked == 4 ? KERNEL_GROWTH_LOCKS_NAMED
					 : KERNEL_GROWTH_NONE;
	abilities->growth = others ? abilities->locks : KERNEL_GROWTH_NONE;
	/* In later kernels the function has another name, and fewer arguments. */
	abilities->other_memory = has_function(btf, "bpf_copy_from_user_task");
	abilities->holds_cpu = has_function(btf, "bpf_preempt_disable") || !is_preempted();
	abilities->hold_threads = has_function(btf, "bpf_task_work_schedule_resume_impl") &&
				  !has_function(btf, "bpf_task_work_schedule_resume");
	btf__free(btf);
}

int kernel_abilities_probe(struct kernel_abilities *ret_abilities, struct err *err)
{
	struct kernel_abilities abilities = {0};
	_cleanup_close_ int program = -1;
	struct utsname name;

	uname(&name);
	snprintf(abilities.release, sizeof(abilities.release), "%s", name.release);
	program = load_empty_program(0);
	if (program == -ENOSYS)
		return err_set(
			err, program,
			"can't use BPF: this kernel (%s) has none, or a sandbox hides it: run on "
			"the host, or allow the bpf() system call",
			name.release);
	if (program == -EPERM || program == -EACCES)
		return err_set(
			err, program,
			"can't use BPF: the kernel refuses it (lockdown, seccomp, or missing "
			"CAP_BPF and CAP_PERFMON): run with sudo, in a container with "
			"--privileged --pid=host");
	if (program < 0)
		return err_errno(err, program, "can't load a BPF program");
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		return err_errno(
			err, -errno,
			"can't read the kernel's types from /sys/kernel/btf/vmlinux (a kernel "
			"with CONFIG_DEBUG_INFO_BTF is needed)");
	abilities.uprobe_multi = has_link(UPROBE_MULTI);
	abilities.uprobe_session = has_link(UPROBE_SESSION);
	/* Kernels with sessions are later than its mending. */
	abilities.half_multi = abilities.uprobe_multi && !abilities.uprobe_session &&
			       !multi_filter_sees_threads((u32)getpid());
	abilities.uprobe_multi = abilities.uprobe_multi && !abilities.half_multi;
	abilities.set_registers = abilities.uprobe_multi && can_set_registers();
	look_at_types(&abilities);
	*ret_abilities = abilities;
	return 0;
}

#define KEPT	      0x5a5a5a5a12345678ULL
#define ROUNDS	      100 /* the kernel does so from the second hit on */
#define CALL_RELATIVE 0xe8

static void child_is_dying(int number)
{
	_exit(1);
}

/* Of a function that is probed now: does a child of fork() that calls it? It notices, so that the kernel's log is left alone. */
static bool child_dies(void)
{
	static const int faults[] = {SIGSEGV, SIGILL, SIGTRAP, SIGBUS};
	int status = 0;
	pid_t child = fork();

	if (!child) {
		for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
			signal(faults[i], child_is_dying);
		(void)arch_keep_below_stack(KEPT);
		_exit(0);
	}
	if (child < 0)
		return true;
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return status != 0;
}

enum kernel_long_nop kernel_long_nop_probe(void)
{
	const volatile u8 *code = (const volatile u8 *)arch_keep_below_stack_nop;
	const u8 before = *code;
	enum kernel_long_nop found = KERNEL_LONG_NOP_STAYS;
	_cleanup_close_ int program = load_empty_program(uprobe_attach_type(UPROBE_MULTI));
	u64 offset = 0;
	struct uprobe_group group = {.kind = UPROBE_MULTI,
				     .program_fd = program,
				     .pid = (u32)getpid(),
				     .offsets = &offset};
	int link;

	if (program < 0 || own_code_offset(arch_keep_below_stack_nop, &offset))
		return found;
	link = uprobe_link_create(&group, "/proc/self/exe", 0, 1);
	if (link < 0)
		return found;
	for (int i = 0; i < ROUNDS; i++)
		if (arch_keep_below_stack(KEPT) != KEPT)
			found = KERNEL_LONG_NOP_WRITES;
	if (*code == CALL_RELATIVE && child_dies())
		found = KERNEL_LONG_NOP_KILLS;
	close(link);
	return *code == before ? found : KERNEL_LONG_NOP_KILLS;
}
