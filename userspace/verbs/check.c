#include <stdlib.h>

#include "base/log.h"
#include "verbs/verbs.h"

int verb_check(const struct options *options)
{
	log_error("check is not built in yet");
	return EXIT_FAILURE;
}
