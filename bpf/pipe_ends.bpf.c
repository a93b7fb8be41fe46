/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who has the ends of pipes and of connections open that are looked for: read when threads wait at new ones. */
#include "types.h"
#include "shared.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PIPE_ENDS_MAX);
	__type(key, struct pipe_end);
	__type(value, u32);
} sought_ends SEC(".maps");

/* All open files of the machine: those of threads that share their process's are not told twice. Where they are more it ends with EAGAIN. */
SEC("iter/task_file")
int holders_of_ends(struct bpf_iter__task_file *context)
{
	struct task_struct *task = context->task;
	struct file *file = context->file;
	struct pipe_holder holder = {};

	if (!task || !file)
		return 0;
	if (context->meta->seq_num >= OPEN_FILES_MAX)
		return 1;
	holder.end.inode = (u64)file->f_inode;
	holder.end.number = file->f_inode->i_ino;
	if (!bpf_map_lookup_elem(&sought_ends, &holder.end))
		return 0;
	holder.pid = task->tgid;
	holder.mode = file->f_mode & (FILE_READS | FILE_WRITES);
	bpf_probe_read_kernel_str(holder.comm, sizeof(holder.comm), task->group_leader->comm);
	bpf_seq_write(context->meta->seq, &holder, sizeof(holder));
	return 0;
}
