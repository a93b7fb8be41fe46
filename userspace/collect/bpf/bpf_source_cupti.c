/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs on functions of libcupti: bpf/cupti_clients.bpf.c. */
#include "collect/bpf/bpf_source_parts.h"

void bpf_source_choose_cupti(const struct bpf_source *source, bool wanted)
{
	const struct gpuprobe_bpf *skeleton = source->skeleton;
	bool multi = source->abilities.uprobe_multi;

	bpf_program__set_autoload(skeleton->progs.cupti_called, wanted && multi);
	bpf_program__set_autoload(skeleton->progs.cupti_called_single, wanted && !multi);
}

int bpf_source_cupti_calls(const struct bpf_source *source)
{
	return bpf_map__fd(source->skeleton->maps.cupti_calls);
}

int bpf_source_attach_cupti(const struct bpf_source *source, struct uprobe_set *set,
			    const struct cupti_functions *functions, struct err *err)
{
	const struct gpuprobe_bpf *skeleton = source->skeleton;
	bool multi = source->abilities.uprobe_multi;
	const struct bpf_program *program =
		multi ? skeleton->progs.cupti_called : skeleton->progs.cupti_called_single;
	struct uprobe_group group = {.kind = multi ? UPROBE_MULTI : UPROBE_SINGLE,
				     .program_fd = bpf_program__fd(program),
				     .file_fd = functions->file_fd,
				     .pid = functions->thread,
				     .offsets = functions->offsets,
				     .cookies = functions->cookies,
				     .count = functions->count};

	return uprobe_attach(set, &group, err);
}
