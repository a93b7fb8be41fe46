/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of code that the targets map, each once (containers that start from one image map one file by several overlays), held open, so that they stay readable when the target
 * deletes them, leaves, or takes its mount namespace along.
 */
#ifndef GPUPROBE_PROCESS_MODULES_H
#define GPUPROBE_PROCESS_MODULES_H

#include "process/target.h"
#include "base/err.h"
#include "base/types.h"

struct mapped_range {
	u64 file_offset, size_bytes;
};

/* What a file is told apart by. */
struct file_numbers {
	u64 device, inode;	     /* as stat(2) has them */
	u64 maps_device, maps_inode; /* as /proc/PID/maps has them; on overlayfs others than those */
};

/* A file of code that at least one target maps executable. */
struct code_module {
	char *path;	/* as the target sees it, without " (deleted)" */
	char **names;	/* what BINARY of a pattern may call it: base name of path, DT_SONAME, and for a main
			 * executable the name it was started by (argv[0], comm) */
	size_t name_count;
	int fd;		/* held open through /proc/PID/map_files: also when deleted or in another namespace */
	struct file_numbers numbers; /* of fd */
	struct file_numbers *twins; /* the same file by other overlays: a breakpoint in one is in all of them */
	size_t twin_count;
	bool overlay; /* it lies on overlayfs */
	bool main_executable; /* of a target */
	bool deleted;
	bool later; /* no target mapped it: modules_add_later() */
	bool shared_with_others; /* a process that is no target maps it too; only known where it was asked */
	u32 shared_with_pid;	 /* one of them */
	bool reaches_all; /* its links name no process, see plan_reach.c */
	bool by_thread;	  /* a target without its first thread maps it, and a stranger: single probes there */
	size_t *targets; /* indexes of the targets that map it */
	size_t target_count;
	u64 start, end, file_offset; /* of the mapping of its first code, in its first target */
	struct mapped_range *ranges;   /* of the file, that some target maps executable */
	size_t range_count;
	u8 build_id[20];
};

struct module_list {
	struct code_module *items; /* main executables first, then by path */
	size_t count;
};

/* Executable mappings of files: vdso, anonymous memory and devices are left out. A mapping that cannot be
 * opened is left out too, unless it is a main executable. Targets that have ended have none: an error only
 * where no target is left. */
int modules_load(const struct target *targets, size_t target_count, struct module_list *ret_list,
		 struct err *err);
/* A file that the target with this index does not map, but may later, or processes that it starts, for which it stands: by its path as that
 * target sees it. -ENOENT: there is none; -ENOEXEC: it has no code. It comes last, or is there already. */
int modules_add_later(struct module_list *list, const struct target *targets, size_t target, const char *path);
/* As modules_load() has them, those added among them: indexes into the list change. */
void modules_sort(struct module_list *list);
void modules_free(struct module_list *list);
/* Has /proc/PID/maps these numbers for the file, in whatever target? Is it the file of which stat(2) says these? */
bool module_is_mapped_as(const struct code_module *module, u64 maps_device, u64 maps_inode);
bool module_is_file(const struct code_module *module, u64 device, u64 inode);
/* Does the target with this index map the file? */
bool module_is_mapped_by(const struct code_module *module, size_t target);

/*
 * For every module with wanted[i]: does a process that is no target map its file executable too? Fills
 * shared_with_others and shared_with_pid. The breakpoints of a probe go into the file's pages, so they
 * are in those processes as well. Containers that start from one image map one file under several device
 * numbers (overlayfs): the same base name and size count as the same file there.
 */
int modules_shared_with_others(struct module_list *list, const bool *wanted,
			       const struct target *targets, size_t target_count, struct err *err);

#endif
