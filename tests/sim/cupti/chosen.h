/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of which a subscriber has chosen the fields: see chosen.c. */
#ifndef SIM_CHOSEN_H
#define SIM_CHOSEN_H

#include "cupti_sim.h"
#include "chosen_fields.h"

void sim_chosen_want(unsigned subscriber, bool on);
bool sim_chosen_by_anybody(void);
/* The subscriber has gone. */
void sim_chosen_forget(unsigned subscriber);
/* Of a kind that is being enabled: config is NULL for who wants whole records. */
CUptiResult sim_chosen_enable(unsigned subscriber, unsigned kind,
			      const struct sim_activity_config *config);
/* Of such a record of a kind; 0: it is a whole one. */
size_t sim_chosen_size(unsigned subscriber, unsigned kind);
/* Makes one of a whole record; its size. to: of SIM_MAX_RECORD bytes. */
size_t sim_chosen_make(unsigned subscriber, const void *record, uint8_t *to);
/* What a buffer comes back with. */
struct sim_layout **sim_chosen_layouts(unsigned subscriber, size_t *count);

#endif
