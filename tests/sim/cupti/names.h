/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names by callback id, generated from the headers of the build. */
#ifndef SIM_NAMES_H
#define SIM_NAMES_H
#include <stddef.h>
extern const char *const sim_driver_names[], *const sim_runtime_names[];
extern const size_t sim_driver_name_count, sim_runtime_name_count;
#endif
