/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GPUs that are not known to be idle where they had no work that was recorded: others use them, or records were lost. */
#ifndef GPUPROBE_REPORTS_REPORT_GPU_DOUBTS_H
#define GPUPROBE_REPORTS_REPORT_GPU_DOUBTS_H

#include "reports/report_table.h"

/* "GPU 0 is not known to be idle: python3 (77) uses it too, not recorded"; of each that had work. False: there are none. */
bool report_append_gpu_doubts(const struct view *view, struct text *text);
/* Marks the rows that have one of them in the column, with this as the note. 0 or -ENOMEM. */
int report_note_gpu_doubts(const struct view *view, size_t device_column, struct report_table *table);

#endif
