#include "verbs/plan_limits.h"

#include <errno.h>

/* The words of --attach and --returns in options.def. */
enum { ATTACH_AUTO, ATTACH_ONLY_MULTI, ATTACH_ONLY_SINGLE };
enum { RETURNS_AUTO, RETURNS_NONE };

int plan_limits_choose(const struct options *options, const struct kernel_abilities *abilities,
		       struct plan_limits *ret_limits, struct err *err)
{
	if (options->attach_mode == ATTACH_ONLY_MULTI && !abilities->uprobe_multi)
		return err_set(err, -ENOTSUP,
			       "can't attach as --attach multi asks: this kernel (%s) has no "
			       "uprobe_multi (Linux 6.6 and later have): leave the option out",
			       abilities->release);
	*ret_limits = (struct plan_limits){
		.single_probes = options->attach_mode == ATTACH_ONLY_SINGLE ||
				 !abilities->uprobe_multi,
		.has_session = abilities->uprobe_session,
		.entries_only = options->returns_mode == RETURNS_NONE,
		.max_functions = options->max_functions,
	};
	return 0;
}
