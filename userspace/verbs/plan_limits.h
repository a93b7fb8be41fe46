/* What may be planned: the options and the kernel together. Shared by record and check. */
#ifndef GPUPROBE_VERBS_PLAN_LIMITS_H
#define GPUPROBE_VERBS_PLAN_LIMITS_H

#include "attach/kernel.h"
#include "attach/plan.h"
#include "options/options.h"

/* -ENOTSUP when the user forces what the kernel does not have. */
int plan_limits_choose(const struct options *options, const struct kernel_abilities *abilities,
		       struct plan_limits *ret_limits, struct err *err);

#endif
