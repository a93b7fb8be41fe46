#include <stdlib.h>

#include "base/log.h"
#include "verbs/verbs.h"

int verb_record(const struct options *options)
{
	log_error("record is not built in yet");
	return EXIT_FAILURE;
}
