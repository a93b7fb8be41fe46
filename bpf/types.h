/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The integer names and the few kernel structs that the BPF programs read. They are declared here,
 * with only the members in use, and relocated against the running kernel's BTF when the programs
 * are loaded (CO-RE): so the build needs no vmlinux.h and one object fits every kernel.
 */
#ifndef GPUPROBE_BPF_TYPES_H
#define GPUPROBE_BPF_TYPES_H

#include <stdbool.h>
/* Headers from Linux 6.18 on have it, others do not. */
#define bpf_task_work bpf_task_work_of_headers
#include <linux/bpf.h>
#undef bpf_task_work
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;

#define PF_EXITING 0x4 /* of a task: it ends */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct xol_area {
	unsigned long vaddr; /* start of the out-of-line page: the return trampoline */
};

struct hlist_head {
	struct hlist_node *first;
};

struct uprobes_state {
	struct xol_area *xol_area;
	struct hlist_head head_tramps; /* pages to which probed nops jump; only in kernels that do that (6.18) */
};

struct mm_struct {
	unsigned long start_brk, brk;
	unsigned long total_vm; /* pages that are mapped */
	unsigned long start_stack; /* where the main thread's stack began */
	struct uprobes_state uprobes_state;
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	struct file *vm_file;
};

struct thread_struct {
	unsigned long fsbase;	/* x86-64: the thread pointer */
	unsigned long features; /* of user space; only in kernels that know shadow stacks */
};

struct return_instance {
	unsigned long stack; /* where the return address stood */
	unsigned long orig_ret_vaddr;
	struct return_instance *next;
};

struct uprobe_task {
	struct return_instance *return_instances;
	struct return_instance *ri_pool; /* used ones, the last one first; only in some kernels (6.14) */
	unsigned long vaddr;	 /* of the probe whose instruction is executed elsewhere, */
	unsigned long xol_vaddr; /* there */
};

struct cfs_rq {
	int throttle_count; /* of the cgroup and those above it; only in kernels with CONFIG_CFS_BANDWIDTH */
};

struct sched_entity {
	struct cfs_rq *cfs_rq; /* only in kernels with CONFIG_FAIR_GROUP_SCHED */
	u64 sum_exec_runtime; /* how long it has run, ns */
};

struct sched_info {
	unsigned long long run_delay; /* how long it could run and had no CPU, ns */
};

struct signal_struct {
	unsigned long long sum_sched_runtime; /* CPU time of the threads that have ended, ns */
	unsigned int flags;
};

/* What an interrupted system call goes on with; which of them it is only the function says that is not here. */
struct restart_block {
	union {
		struct {
			void *ufds;
			int nfds;
			int has_timeout;
			unsigned long tv_sec; /* CLOCK_MONOTONIC */
		} poll; /* a futex has its address and its mask in the places of ufds and tv_sec, a sleep its clock and its end */
	};
};

struct super_block {
	unsigned long s_magic; /* of the file system */
};

struct inode {
	unsigned short i_mode;
	unsigned long i_ino;
	struct super_block *i_sb;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct qstr d_name;
};

struct path {
	struct dentry *dentry;
};

struct file {
	unsigned int f_mode; /* FMODE_* */
	struct inode *f_inode;
	struct path f_path;
	void *private_data; /* of a socket: struct socket */
};

struct socket {
	struct file *file;
	struct sock *sk;
};

struct in6_addr {
	unsigned char bytes[16]; /* the kernel has a union here */
};

struct sock_common {
	unsigned int skc_daddr, skc_rcv_saddr; /* of both ends; in the order of the wire */
	unsigned short skc_dport;	       /* so is this one; */
	unsigned short skc_num;		       /* this one is not */
	unsigned short skc_family;
	unsigned char skc_state;
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
};

struct sock {
	struct sock_common __sk_common;
	unsigned short sk_protocol;
	struct socket *sk_socket; /* NULL: nobody has accepted it yet, or it was closed */
};

struct unix_sock {
	struct sock *peer;
};

struct list_head {
	struct list_head *next, *prev;
};

/* Of the kernel's epoll. */
struct epoll_filefd {
	struct file *file;
} __attribute__((packed));

struct epitem {
	struct list_head rdllink; /* in rdllist of its epoll */
	struct epoll_filefd ffd;
};

struct eventpoll {
	struct list_head rdllist; /* of what is ready */
};

struct linux_binprm {
	struct file *file;
};

struct timespec64 {
	long tv_sec;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct task_struct {
	unsigned int __state; /* TASK_* */
	struct restart_block restart_block;
	void *stack;	      /* of the kernel */
	unsigned int flags;   /* PF_* */
	struct sched_entity se;
	struct sched_info sched_info; /* only in kernels that count it */
	int pid;
	int tgid;
	unsigned long nvcsw, nivcsw; /* how often it has left a CPU */
	unsigned int on_cpu; /* not on kernels for one CPU; an int up to 7.2, a byte since */
	struct mm_struct *mm;
	int pagefault_disabled;	 /* not 0: a fault is not served, who reads looks at it */
	unsigned long sas_ss_sp; /* alternate signal stack */
	unsigned long sas_ss_size;
	struct thread_struct thread;
	struct task_struct *group_leader; /* the first thread of the process */
	char comm[16];
	struct signal_struct *signal;
	struct files_struct *files;
	bool throttled; /* it had to leave its CPU at the end of its cgroup's share; only in kernels that throttle threads, not queues (6.18) */
	struct uprobe_task *utask; /* NULL: it never hit a probe */
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
	u64 seq_num; /* of what the iterator is at, from 0 */
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	u32 fd;
	struct file *file; /* NULL: no more */
};

struct bpf_map {
	unsigned int id; /* a declaration alone is of another kind than the kernel's, and counts as another type */
};

#pragma clang attribute pop

#include "record.h"

#endif
