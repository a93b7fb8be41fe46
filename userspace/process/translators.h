/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs that run a copy of the code of others: translators.def. */
#ifndef GPUPROBE_PROCESS_TRANSLATORS_H
#define GPUPROBE_PROCESS_TRANSLATORS_H

/* Who that is, by the path of an executable or of something that is mapped; by the name by which it is started. NULL: none. */
const char *translator_of_file(const char *path);
const char *translator_of_command(const char *command);

#endif
