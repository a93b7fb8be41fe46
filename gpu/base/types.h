/* SPDX-License-Identifier: MIT */
/* The short integer names that the records use, for the agent. */
#ifndef GPUPROBE_GPU_TYPES_H
#define GPUPROBE_GPU_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

#define ARRAY_SIZE(array)    (sizeof(array) / sizeof((array)[0]))
#define NS_PER_SECOND	     1000000000ULL
#define NS_PER_MILLISECOND   1000000ULL

#define PAGE_BYTES	     4096UL

#endif
