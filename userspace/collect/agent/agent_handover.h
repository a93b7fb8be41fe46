/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The other side of gpu/cupti/cupti_handover.h: an agent asks for the libcupti that its target can't open. */
#ifndef GPUPROBE_COLLECT_AGENT_AGENT_HANDOVER_H
#define GPUPROBE_COLLECT_AGENT_AGENT_HANDOVER_H

#include "cuda/cupti_supply.h"
#include "process/target.h"
#include "../gpu/shared.h"

/* Does nothing unless it was asked to. Whatever the target says, only a nameless memfd is ever written to. */
void agent_handover_serve(const struct target *target, struct agent_control *control,
			  const struct cupti_supply *supply);

#endif
