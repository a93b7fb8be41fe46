/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files that threads wait for, by the descriptors that their system calls name. Each file, or set of them, that anybody waits for is
 * told of once, and gets the number of a text; userspace looks at once what it is, and whether the descriptor still is that file.
 */
#ifndef GPUPROBE_BPF_WAITED_FILES_H
#define GPUPROBE_BPF_WAITED_FILES_H

#include <bpf/bpf_endian.h>

#include "arch_x86_64.h"
#include "emit.h"
#include "memory_of.h"
#include "off_cpu.h"

/* The kernel's bpf_rdonly_cast(): what stands behind ___ does not count. */
#define kernel_cast bpf_rdonly_cast___waited

#define WAITED_IS_THREAD  ~0ULL /* no file has this address */
#define FILE_TYPE	  0170000 /* in i_mode */
#define FILE_IS_PIPE	  0010000
#define FILE_IS_SOCKET	  0140000
#define PIPEFS_MAGIC	  0x50495045
#define SOCKFS_MAGIC	  0x534f434b
#define FAMILY_UNIX	  1
#define FAMILY_INET	  2
#define FAMILY_INET6	  10
#define PROTOCOL_TCP	  6
#define PROTOCOL_UDP	  17
#define PROTOCOL_MPTCP	  262
#define POLLED_MAX	  8  /* that are looked at, */
#define SELECTED_WORDS	  16 /* and of select(), which knows no more descriptors than 64 times as many */
#define SELECTED_SETS	  3
#define IS_DESCRIPTOR_CALL(call) number == (call) ||
#define RING_IS_REGISTERED 16 /* IORING_ENTER_REGISTERED_RING: what is given is no descriptor */

extern void *kernel_cast(const void *address, u32 type) __ksym __weak;

/* What a system call waits for; ring: an io_uring that has no descriptor. */
struct waited_set {
	u32 fds[WAITED_FILES_MAX];
	u32 count, more;
	u32 ring;
};

struct pollfd_head {
	u32 fd;
	u32 events;
};

static __always_inline void set_add(struct waited_set *set, u32 fd)
{
	if (set->count == 0)
		set->fds[0] = fd;
	else if (set->count == 1)
		set->fds[1] = fd;
	else if (set->count == 2)
		set->fds[2] = fd;
	if (set->count < WAITED_FILES_MAX)
		set->count++;
	else
		set->more++;
}

/* Negative descriptors are left out, as the kernel does. */
static __always_inline void add_polled(struct task_struct *task, struct waited_set *set, u64 polled,
				 u64 count)
{
	struct pollfd_head heads[POLLED_MAX] = {};
	u64 looked_at = count < POLLED_MAX ? count : POLLED_MAX;

	if (!count || memory_copy(task, heads, looked_at * sizeof(heads[0]), polled))
		return;
#pragma unroll
	for (u32 i = 0; i < POLLED_MAX; i++)
		if (i < looked_at && (s32)heads[i].fd >= 0)
			set_add(set, heads[i].fd);
	set->more += count - looked_at;
}

/* clang 14 has no code of its own for either. */
static __always_inline u32 bits_count(u64 bits)
{
	bits -= bits >> 1 & 0x5555555555555555ULL;
	bits = (bits & 0x3333333333333333ULL) + (bits >> 2 & 0x3333333333333333ULL);
	bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	__asm__ volatile("" : "+r"(bits)); /* else it knows it for what it is */
	return bits * 0x0101010101010101ULL >> 56;
}

static __always_inline void add_lowest(struct waited_set *set, u32 first, u64 *bits)
{
	if (!*bits || set->count >= WAITED_FILES_MAX)
		return;
	set_add(set, first + bits_count(~*bits & (*bits - 1)));
	*bits &= *bits - 1;
}

static __always_inline void add_selected_word(struct waited_set *set, u32 first, u64 bits)
{
	add_lowest(set, first, &bits);
	add_lowest(set, first, &bits);
	add_lowest(set, first, &bits);
	set->more += bits_count(bits);
}

struct select_search {
	struct task_struct *task;
	struct waited_set *set;
	u64 sets[SELECTED_SETS];
	u64 count; /* of descriptors */
};

static long add_selected(u32 word, struct select_search *search)
{
	u64 bits = 0, one, first = (u64)word * 64;

	if (first >= search->count)
		return 1;
	for (u32 i = 0; i < SELECTED_SETS; i++)
		if (search->sets[i] && !memory_copy(search->task, &one, sizeof(one),
						    search->sets[i] + (u64)word * sizeof(one)))
			bits |= one;
	if (search->count - first < 64)
		bits &= (1ULL << (search->count - first)) - 1;
	add_selected_word(search->set, first, bits);
	return 0;
}

/* Which descriptors the call that the thread is in waits for. set says nothing yet. False: none. (A result that nobody uses would be left in
 * any state.) */
static __noinline u32 waited_descriptors(struct task_struct *task, struct waited_set *set)
{
	const struct pt_regs *registers = (void *)bpf_task_pt_regs(task);
	u64 number = arch_system_call(registers), first = arch_argument(registers, 1);

	if (!set)
		return 0;
	if (number == ARCH_POLL || number == ARCH_PPOLL)
		add_polled(task, set, first, arch_argument(registers, 2));
	else if (number == ARCH_SELECT || number == ARCH_PSELECT6) {
		struct select_search search = {
			.task = task, .set = set, .count = (u32)first,
			.sets = {arch_argument(registers, 2), arch_argument(registers, 3),
				 arch_system_call_argument(registers, 4)}};

		bpf_loop(SELECTED_WORDS, add_selected, &search, 0);
	} else if (number == ARCH_IO_URING_ENTER &&
	    arch_system_call_argument(registers, 4) & RING_IS_REGISTERED)
		set->ring = 1;
	else if (ARCH_DESCRIPTOR_CALLS(IS_DESCRIPTOR_CALL) false)
		set_add(set, (u32)first);
	return set->count | set->ring;
}

/* ---- who has the other end ---- */

/* Both have to say still what they said when all has been read: else one was closed, and the memory may be another's. */
static __always_inline void socket_other(const struct file *file, struct pipe_end *other)
{
	struct socket *socket = BPF_CORE_READ(file, private_data), *peer_socket;
	struct sock *sock = BPF_CORE_READ(socket, sk), *peer;
	struct pipe_end found;
	struct inode *inode;

	if (!bpf_core_field_exists(((struct unix_sock *)0)->peer) ||
	    BPF_CORE_READ(sock, __sk_common.skc_family) != FAMILY_UNIX)
		return;
	peer = BPF_CORE_READ((struct unix_sock *)sock, peer);
	peer_socket = BPF_CORE_READ(peer, sk_socket);
	inode = BPF_CORE_READ(peer_socket, file, f_inode);
	found.inode = (u64)inode;
	found.number = BPF_CORE_READ(inode, i_ino);
	if (inode && BPF_CORE_READ((struct unix_sock *)sock, peer) == peer &&
	    BPF_CORE_READ(peer, sk_socket) == peer_socket)
		*other = found;
}

static __always_inline void ends_of(const struct file *file, struct waited_ends *ends)
{
	const struct socket *socket = BPF_CORE_READ(file, private_data);
	const struct sock *sock = BPF_CORE_READ(socket, sk);
	u16 family = BPF_CORE_READ(sock, __sk_common.skc_family);
	u16 protocol = BPF_CORE_READ(sock, sk_protocol);

	if (protocol != PROTOCOL_TCP && protocol != PROTOCOL_UDP && protocol != PROTOCOL_MPTCP)
		return;
	if (family == FAMILY_INET) {
		BPF_CORE_READ_INTO((u32 *)ends->local, sock, __sk_common.skc_rcv_saddr);
		BPF_CORE_READ_INTO((u32 *)ends->remote, sock, __sk_common.skc_daddr);
	} else if (family == FAMILY_INET6 &&
		   bpf_core_field_exists(((struct sock *)0)->__sk_common.skc_v6_daddr)) {
		BPF_CORE_READ_INTO(&ends->local, sock, __sk_common.skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO(&ends->remote, sock, __sk_common.skc_v6_daddr);
	} else {
		return;
	}
	ends->protocol = protocol;
	ends->local_port = BPF_CORE_READ(sock, __sk_common.skc_num);
	ends->remote_port = bpf_ntohs(BPF_CORE_READ(sock, __sk_common.skc_dport));
	ends->state = BPF_CORE_READ(sock, __sk_common.skc_state);
	ends->family = family;
}

static __always_inline bool is_socket(const struct file *file)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);

	return (BPF_CORE_READ(inode, i_mode) & FILE_TYPE) == FILE_IS_SOCKET &&
	       BPF_CORE_READ(inode, i_sb, s_magic) == SOCKFS_MAGIC;
}

static __always_inline void file_tell(struct file *file, u32 fd, struct waited_file *told)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	u32 type = BPF_CORE_READ(inode, i_mode) & FILE_TYPE;
	u64 magic = BPF_CORE_READ(inode, i_sb, s_magic);

	told->fd = fd;
	told->mode = BPF_CORE_READ(file, f_mode) & (FILE_READS | FILE_WRITES);
	told->inode = BPF_CORE_READ(inode, i_ino);
	told->other.inode = told->other.number = 0;
	if (type == FILE_IS_PIPE && magic == PIPEFS_MAGIC) {
		told->other.inode = (u64)inode;
		told->other.number = told->inode;
	} else if (type == FILE_IS_SOCKET && magic == SOCKFS_MAGIC) {
		socket_other(file, &told->other);
	}
}

/* ---- numbers of texts ---- */

/* A number without a counter that all CPUs share; 0: this one has given all it has. An iterator over threads may be interrupted by a
 * switch, and counts by itself. */
static __always_inline u32 waited_number(bool iterates)
{
	struct counters *mine = counters_get();
	u64 count;

	if (!mine)
		return 0;
	count = iterates ? mine->waited_before++ : mine->waited++;
	if (count >= WAITED_PER_CPU)
		return 0;
	return TEXT_WAITED +
	       (bpf_get_smp_processor_id() % WAITED_CPUS_MAX * 2 + iterates) * WAITED_PER_CPU +
	       (u32)count;
}

/*
 * NULL: it is not open. Else ret_inode is the number of its inode. Loads where the kernel allows them of an address that it does not know
 * (from 6.2 on), since each call of a helper takes 20 to 50 ns, more the more a CPU has to be kept from guessing returns.
 */
static __always_inline struct file *file_of(struct task_struct *task, u32 fd, u64 *ret_inode)
{
	const struct files_struct *files = task->files;
	const struct fdtable *table = files ? files->fdt : NULL;
	const struct timespec64 *place; /* any struct that begins with a number: the verifier lets nobody compute with a pointer */
	const struct inode *inode;
	struct file *file = NULL;

	if (!table || fd >= table->max_fds)
		return NULL;
	if (!bpf_ksym_exists(kernel_cast)) {
		if (bpf_probe_read_kernel(&file, sizeof(file), table->fd + fd) || !file)
			return NULL;
		*ret_inode = BPF_CORE_READ(file, f_inode, i_ino);
		return file;
	}
	place = kernel_cast(table->fd + fd, bpf_core_type_id_kernel(struct timespec64));
	file = (void *)place->tv_sec;
	if (!file)
		return NULL;
	inode = ((const struct file *)kernel_cast(file, bpf_core_type_id_kernel(struct file)))->f_inode;
	*ret_inode = inode ? inode->i_ino : 0;
	return file;
}

struct waited_found {
	struct waited_key key;
	struct file *files[WAITED_FILES_MAX];
};

#define KEY_MIX 0x9e3779b97f4a7c15ULL

static __always_inline bool key_find(struct task_struct *task, const struct waited_set *set,
				     struct waited_found *found)
{
	bool several = set->count > 1 || set->more;
	struct file *file;
	u64 inode = 0;

#pragma unroll
	for (u32 i = 0; i < WAITED_FILES_MAX; i++) {
		if (i >= set->count)
			break;
		file = file_of(task, set->fds[i], &inode);
		if (!file)
			return false;
		found->files[i] = file;
		found->key.file = found->key.file * KEY_MIX + (u64)file;
		found->key.inode =
			found->key.inode * KEY_MIX + inode + (several ? set->fds[i] : 0);
	}
	found->key.pid = task->tgid;
	found->key.fd = several ? ~(set->count + set->more) : set->fds[0];
	return true;
}

static __always_inline bool waited_tell(const struct waited_set *set,
					const struct waited_found *found, u32 number)
{
	struct waited_event *event = bpf_ringbuf_reserve(&process_events, sizeof(*event), 0);

	if (!event)
		return false;
	__builtin_memset(event, 0, sizeof(*event));
	event->event.kind = PROCESS_WAITED_FOR;
	event->event.pid = found->key.pid;
	event->event.number = number;
	event->event.ts = bpf_ktime_get_ns();
	event->count = set->count;
	event->more = set->more;
#pragma unroll
	for (u32 i = 0; i < WAITED_FILES_MAX; i++)
		if (i < set->count)
			file_tell(found->files[i], set->fds[i], &event->files[i]);
	if (set->count == 1 && !set->more && is_socket(found->files[0]))
		ends_of(found->files[0], &event->ends);
	bpf_ringbuf_submit(event, BPF_RB_FORCE_WAKEUP);
	return true;
}

static __always_inline bool is_key(const struct waited_key *one, const struct waited_key *other)
{
	return one->file == other->file && one->inode == other->inode && one->pid == other->pid &&
	       one->fd == other->fd;
}

/* The number of the text that says what it is; 0: none. Told at most once. last: what the thread waited for before, NULL: not known. */
static __noinline u32 waited_text(struct task_struct *task, const struct waited_set *set,
				  struct waited_last *last)
{
	struct waited_found found = {};
	bool iterates = !last;
	u32 *known, number;

	if (!set || (set->ring | set->count) == 0)
		return 0;
	if (set->ring)
		return TEXT_IO_URING;
	if (!key_find(task, set, &found))
		return 0;
	if (last && is_key(&last->key, &found.key))
		return last->text;
	known = bpf_map_lookup_elem(&waited_files, &found.key);
	if (known) {
		if (last) {
			last->key = found.key;
			last->text = *known;
		}
		return *known;
	}
	number = waited_number(iterates);
	if (!number || bpf_map_update_elem(&waited_files, &found.key, &number, BPF_NOEXIST)) {
		/* Another CPU may have been first. */
		known = bpf_map_lookup_elem(&waited_files, &found.key);
		return known ? *known : 0;
	}
	if (waited_tell(set, &found, number))
		return number;
	bpf_map_delete_elem(&waited_files, &found.key);
	return 0;
}

#endif
