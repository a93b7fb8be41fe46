/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GPUs on which others had a context that were not recorded there: where they had no work that was recorded, they are not known to be idle. */
#ifndef GPUPROBE_REPORTS_REPORT_GPU_USERS_H
#define GPUPROBE_REPORTS_REPORT_GPU_USERS_H

#include "reports/report_table.h"

/* "GPU 0 is not known to be idle: python3 (77) uses it too, not recorded"; of each that had work. False: there are none. */
bool report_append_gpu_users(const struct view *view, struct text *text);
/* Marks the rows that have one of them in the column, with this as the note. 0 or -ENOMEM. */
int report_note_gpu_users(const struct view *view, size_t device_column, struct report_table *table);

#endif
