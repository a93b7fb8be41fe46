#include <stdlib.h>

#include "base/log.h"
#include "verbs/verbs.h"

int verb_stats(const struct options *options)
{
	log_error("stats is not built in yet");
	return EXIT_FAILURE;
}
