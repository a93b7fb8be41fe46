/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs for calibration alone: bpf/calibrate.bpf.c. */
#include <unistd.h>

#include "collect/bpf/bpf_source_parts.h"

void bpf_source_choose_traps(const struct bpf_source *source, bool wanted)
{
	const struct gpuprobe_bpf *skeleton = source->skeleton;

	bpf_program__set_autoload(skeleton->progs.calibrate_trap,
				  wanted && source->abilities.uprobe_multi);
	bpf_program__set_autoload(skeleton->progs.calibrate_trap_session,
				  wanted && source->abilities.uprobe_session);
	bpf_program__set_expected_attach_type(skeleton->progs.calibrate_trap_session,
					      uprobe_attach_type(UPROBE_SESSION));
}

/* To a function of our own, in our own process. */
static int attach_own(struct bpf_source *source, const struct bpf_program *program,
		      enum uprobe_kind kind, int file_fd, u64 file_offset, struct err *err)
{
	u64 cookie = 0;
	struct uprobe_group group = {.kind = kind,
				     .program_fd = bpf_program__fd(program),
				     .file_fd = file_fd,
				     .pid = (u32)getpid(),
				     .offsets = &file_offset,
				     .cookies = &cookie,
				     .count = 1};

	return uprobe_attach(&source->uprobes, &group, err);
}

int bpf_source_attach_stack(struct bpf_source *source, int file_fd, u64 file_offset,
			    struct err *err)
{
	return attach_own(source, source->skeleton->progs.calibrate_stack, UPROBE_MULTI, file_fd,
			  file_offset, err);
}

int bpf_source_attach_trap(struct bpf_source *source, int file_fd, u64 file_offset,
			   bool with_return, struct err *err)
{
	const struct gpuprobe_bpf *skeleton = source->skeleton;

	return attach_own(source,
			  with_return ? skeleton->progs.calibrate_trap_session
				      : skeleton->progs.calibrate_trap,
			  with_return ? UPROBE_SESSION : UPROBE_MULTI, file_fd, file_offset, err);
}
