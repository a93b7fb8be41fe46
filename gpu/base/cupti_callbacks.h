/* SPDX-License-Identifier: MIT */
/* What CUPTI calls (its own headers): for who gives it a function, and for who keeps a place where it lands. */
#ifndef GPUPROBE_GPU_CUPTI_CALLBACKS_H
#define GPUPROBE_GPU_CUPTI_CALLBACKS_H

#include "types.h"

typedef void (*cupti_api_callback)(void *data, u32 domain, u32 callback, const void *call);
typedef void (*cupti_requested)(u8 **buffer, size_t *bytes, size_t *records_max);
typedef void (*cupti_completed)(void *context, u32 stream, u8 *buffer, size_t bytes, size_t valid_bytes);
/* Of the functions with subscribers; that of requested has one argument more there, behind the others. */
typedef void (*cupti_completed_new)(u8 *buffer, size_t bytes, size_t valid_bytes, const void *info);

#endif
