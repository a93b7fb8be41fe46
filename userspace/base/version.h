/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The version that --version prints and that every capture names. */
#ifndef GPUPROBE_BASE_VERSION_H
#define GPUPROBE_BASE_VERSION_H

/* What scripts/version.sh said when this was built: "1.2.0", "1.2.0-7-g0123abc" seven commits later. */
const char *version_text(void);

#endif
