/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From options to what a session records: the only place where both are known. */
#ifndef GPUPROBE_RECORDING_SETTINGS_H
#define GPUPROBE_RECORDING_SETTINGS_H

#include "options/options.h"
#include "recording/attachment.h"
#include "collect/recording_settings.h"

/* ret_settings: to be freed by recording_settings_free(), also after a failure. 0 or -ENOMEM. */
int recording_settings_make(const struct options *options, const struct attachment *attachment,
			    struct recording_settings *ret_settings, struct err *err);
void recording_settings_free(struct recording_settings *settings);

#endif
