/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a thread that is woken in an interrupt is woken by the thread that this found: what is sent to an address of the machine itself goes to the loopback device, and
 * arrives before the system call that sends it goes on, in a softirq that the kernel runs as the call lets such in again (__local_bh_enable_ip), on a stack of the CPU.
 * The same is true of what tells a sender that there is room again, which goes out when the other end reads.
 * Both have to be ends of the same connection: an interrupt of any other device finds a thread in such a call, too. Of one that waits in an epoll it is the end that this
 * has found to be ready last; of poll() and select() the kernel does not keep which it was.
 */
#ifndef GPUPROBE_BPF_LOOPBACK_H
#define GPUPROBE_BPF_LOOPBACK_H

#include "kernel_workers.h"
#include "waited_files.h"

#define IS_CALL(call)	     number == (call) ||
#define LOOPBACK_FIRST_BYTE  127 /* of IPv4, in the order of the wire */
#define MAPPED_WORD	     bpf_htonl(0xffff)

/* Of a connection: as the wire has them. */
struct socket_ports {
	u16 local, remote; /* 0: none yet, or whichever */
};

static __always_inline void ports_of(const struct sock *sock, struct socket_ports *ret_ports)
{
	ret_ports->local = bpf_htons(BPF_CORE_READ(sock, __sk_common.skc_num));
	ret_ports->remote = BPF_CORE_READ(sock, __sk_common.skc_dport);
}

/* NULL: it is no socket. */
static __always_inline const struct sock *socket_of(const struct file *file)
{
	const struct socket *socket;

	if (!file || !is_socket(file))
		return NULL;
	socket = BPF_CORE_READ(file, private_data);
	return BPF_CORE_READ(socket, sk);
}

/* Of the descriptor that is the first argument of the thread's system call. */
static __always_inline struct file *file_of_call(struct task_struct *task,
						 const struct pt_regs *registers)
{
	u64 inode;

	return file_of(task, (u32)arch_argument(registers, 1), &inode);
}

/* What an epoll has found to be ready last: it is put there right before the thread is woken. */
static __always_inline const struct file *last_ready(const struct file *epoll)
{
	const struct eventpoll *ready_of;
	const struct list_head *last;
	const struct epitem *item;

	if (!epoll || !bpf_core_field_exists(((struct eventpoll *)0)->rdllist.prev) ||
	    !bpf_core_field_exists(((struct eventpoll *)0)->rdllist.next) ||
	    !bpf_core_field_exists(((struct epitem *)0)->rdllink) ||
	    !bpf_core_field_exists(((struct epitem *)0)->ffd.file))
		return NULL;
	ready_of = BPF_CORE_READ(epoll, private_data);
	last = BPF_CORE_READ(ready_of, rdllist.prev);
	if (!last || BPF_CORE_READ(ready_of, rdllist.next) == BPF_CORE_READ(last, next))
		return NULL;
	item = (const void *)last - bpf_core_field_offset(struct epitem, rdllink);
	return BPF_CORE_READ(item, ffd.file);
}

static __always_inline bool is_own_address_4(const struct sock *sock)
{
	u32 remote = BPF_CORE_READ(sock, __sk_common.skc_daddr);

	return remote && ((remote & 0xff) == LOOPBACK_FIRST_BYTE ||
			  remote == BPF_CORE_READ(sock, __sk_common.skc_rcv_saddr));
}

static __always_inline bool is_own_address_6(const struct sock *sock)
{
	u32 remote[4] = {}, local[4] = {};

	if (!bpf_core_field_exists(((struct sock *)0)->__sk_common.skc_v6_daddr))
		return false;
	BPF_CORE_READ_INTO(&remote, sock, __sk_common.skc_v6_daddr);
	BPF_CORE_READ_INTO(&local, sock, __sk_common.skc_v6_rcv_saddr);
	if (remote[0] | remote[1])
		return remote[0] == local[0] && remote[1] == local[1] && remote[2] == local[2] &&
		       remote[3] == local[3];
	if (remote[2] == MAPPED_WORD)
		return (remote[3] & 0xff) == LOOPBACK_FIRST_BYTE || remote[3] == local[3];
	return !remote[2] && remote[3] == bpf_htonl(1);
}

/* Does it give something to this machine, or take it? Functions of their own, for their room on the stack. */
static __noinline u32 gives_to_own_machine(struct task_struct *task, struct socket_ports *ret_ports)
{
	const struct pt_regs *registers = (void *)bpf_task_pt_regs(task);
	u64 number = arch_system_call(registers);
	const struct sock *sock;
	u16 family;

	if (!ret_ports || !is_in_system_call(task) || !(ARCH_SOCKET_CALLS(IS_CALL) false))
		return false;
	sock = socket_of(file_of_call(task, registers));
	if (!sock)
		return false;
	ports_of(sock, ret_ports);
	family = BPF_CORE_READ(sock, __sk_common.skc_family);
	if (family == FAMILY_INET)
		return is_own_address_4(sock);
	return family == FAMILY_INET6 && is_own_address_6(sock);
}

/* Does it wait for the other end of that, alone or in an epoll? */
static __noinline u32 waits_for_ports(struct task_struct *task, const struct socket_ports *other)
{
	const struct pt_regs *registers = (void *)bpf_task_pt_regs(task);
	u64 number = arch_system_call(registers);
	struct socket_ports ports;
	const struct file *file;
	const struct sock *sock;

	if (!other || !is_in_system_call(task) ||
	    !(ARCH_SOCKET_CALLS(IS_CALL) ARCH_ACCEPT_CALLS(IS_CALL) ARCH_EPOLL_CALLS(IS_CALL) false))
		return false;
	file = file_of_call(task, registers);
	if (ARCH_EPOLL_CALLS(IS_CALL) false)
		file = last_ready(file);
	sock = socket_of(file);
	if (!sock)
		return false;
	ports_of(sock, &ports);
	return ports.local == other->remote && (!ports.remote || ports.remote == other->local);
}

/* In an interrupt that found the waker. */
static __always_inline bool is_woken_by_loopback(struct task_struct *task, struct task_struct *waker)
{
	struct socket_ports ports = {};

	return gives_to_own_machine(waker, &ports) && waits_for_ports(task, &ports);
}

#endif
