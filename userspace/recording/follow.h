/* What is said of children, and of processes whose first thread has ended: before and after. */
#ifndef GPUPROBE_RECORDING_FOLLOW_H
#define GPUPROBE_RECORDING_FOLLOW_H

#include "base/text.h"
#include "session/session.h"
#include "options/options.h"
#include "recording/attachment.h"

/* One line (with its newline) for each thing that follows from --children and from first threads that ended. */
void follow_append_plan(struct text *text, const struct attachment *attachment,
			const struct options *options);
/* Warnings. */
void follow_say_plan(const struct attachment *attachment, const struct options *options);
void follow_say_result(const struct attachment *attachment, const struct session_status *status);

#endif
