/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which libcupti.so a process gets that has none mapped, and how it comes to it. Looks at files and /proc only;
 * may block on the file systems of the target.
 */
#ifndef GPUPROBE_CUDA_CUPTI_SUPPLY_H
#define GPUPROBE_CUDA_CUPTI_SUPPLY_H

#include "cuda/cupti_version.h"
#include "cuda/gpu_target.h"

enum cupti_place {
	CUPTI_PLACE_NONE,   /* there is none that fits: why */
	CUPTI_PLACE_MAPPED, /* the target has one: nothing is supplied */
	CUPTI_PLACE_NAMED,  /* --cupti */
	CUPTI_PLACE_TARGET, /* a file that the target sees */
	CUPTI_PLACE_HOST,   /* a file of ours that the target does not see */
};

struct cupti_supply {
	enum cupti_place place;
	char path[256];	    /* absolute; as the target sees it, by_memfd: as we do */
	bool by_memfd;	    /* the target can't open it: it is handed over by a memfd */
	struct cupti_version version;
	u32 driver_version; /* the CUDA of the target's driver; 0: not known */
	char why[256];	    /* for people: where it comes from, and what was chosen by */
};

/*
 * named: --cupti, or NULL. Of those that lie about, the one that fits the driver best: of the same major number and
 * no newer; else of the same major number, the newest; else of the next lower one. Among equals the target's own go
 * first, then the newer ones. Never a newer major number.
 * host_root: "/", where files of the host are looked for (tests have another).
 * -ENOENT: the file that was named is not there, or is no libcupti.so. With none found it is 0 and PLACE_NONE.
 */
int cupti_supply_choose(const struct target *target, const struct gpu_target *gpu, const char *named,
			const char *host_root, struct cupti_supply *ret_supply, struct err *err);
/* Can it be loaded without harm (process/library_file.h)? 0 for one that is mapped already. */
int cupti_supply_check(const struct cupti_supply *supply, const struct target *target, struct err *err);
/* The file of a supply that is by_memfd, open for reading; the caller closes. -errno. */
int cupti_supply_open(const struct cupti_supply *supply);

#endif
