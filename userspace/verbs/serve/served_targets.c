/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verbs/serve/served_targets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/target.h"

static int look(u32 pid, struct served_target *ret_target, struct err *err)
{
	struct target target;
	int result = target_open(pid, false, &target, err);

	if (result)
		return result;
	ret_target->pid = pid;
	ret_target->start_time_ticks = target.start_time_ticks;
	memcpy(ret_target->comm, target.comm, sizeof(ret_target->comm));
	target_close(&target);
	return 0;
}

int served_targets_note(const struct options_pids *pids, struct served_targets *ret_targets,
			struct err *err)
{
	struct served_targets targets = {calloc(pids->count, sizeof(*targets.items)), pids->count};
	int result = targets.items ? 0 : err_errno(err, -ENOMEM, "can't keep the processes");

	for (size_t i = 0; i < pids->count && !result; i++)
		result = look(pids->items[i], &targets.items[i], err);
	if (result)
		served_targets_free(&targets);
	else
		*ret_targets = targets;
	return result;
}

int served_targets_check(const struct served_targets *targets, struct err *err)
{
	for (size_t i = 0; i < targets->count; i++) {
		const struct served_target *known = &targets->items[i];
		struct served_target now;
		int result = look(known->pid, &now, err);

		if (result)
			return result;
		if (now.start_time_ticks != known->start_time_ticks)
			return err_set(err, -ESRCH,
				       "%s (%u) has ended, and another process has its number: "
				       "start gpuprobe serve anew",
				       known->comm, known->pid);
	}
	return 0;
}

void served_targets_append(const struct served_targets *targets, struct text *text)
{
	for (size_t i = 0; i < targets->count; i++)
		text_appendf(text, "%s%s (%u)", i ? ", " : "", targets->items[i].comm,
			     targets->items[i].pid);
}

void served_targets_free(struct served_targets *targets)
{
	free(targets->items);
	memset(targets, 0, sizeof(*targets));
}
