/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of CUPTI 13.3 a subscriber needs who chooses the fields of records, and the headers of the build do not have. */
#ifndef SIM_CHOSEN_FIELDS_H
#define SIM_CHOSEN_FIELDS_H

#include <stddef.h>
#include <stdint.h>

#define SIM_USER_DEFINED_RECORDS 11 /* CUpti_ActivityAttribute */

/* CUpti_ActivityFieldSelection, CUpti_ActivityConfig */
struct sim_selection {
	size_t size, count;
	int *ids;
};

struct sim_activity_config {
	size_t size;
	struct sim_selection selection;
};

/* CUpti_ActivityFieldLayoutEntry, CUpti_ActivityRecordLayout, CUpti_BufferCallbackCompleteInfo */
struct sim_layout_entry {
	int id;
	size_t offset, size, alignment;
};

struct sim_layout {
	size_t size;
	struct sim_layout_entry *entries;
	size_t count, record_size;
};

struct sim_complete_info {
	size_t size;
	uint64_t thread;
	struct sim_layout **layouts;
	size_t layout_count;
};

#endif
