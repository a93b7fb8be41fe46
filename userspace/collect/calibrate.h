/* What a probe costs on this machine, measured on functions of our own before anything is attached. */
#ifndef GPUPROBE_COLLECT_CALIBRATE_H
#define GPUPROBE_COLLECT_CALIBRATE_H

#include "collect/bpf_source.h"

struct calibration {
	u64 entry_ns;	/* an entry that is recorded, cheap first instruction */
	u64 return_ns;	/* what a return adds */
	u64 stepped_ns; /* what a single-stepped first instruction adds */
};

/* Takes a few ten milliseconds. Nothing of it stays: no link, no target, no record. Errors are not fatal
 * for a recording: without figures there is no estimate. */
int calibrate(struct bpf_source *source, bool has_session, struct calibration *ret_calibration,
	      struct err *err);

/* Nanoseconds that the counted hits cost. */
u64 calibration_cost_ns(const struct calibration *calibration, const struct counters *counters);

#endif
