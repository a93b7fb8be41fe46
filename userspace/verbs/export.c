#include <stdlib.h>

#include "base/log.h"
#include "verbs/verbs.h"

int verb_export(const struct options *options)
{
	log_error("export is not built in yet");
	return EXIT_FAILURE;
}
