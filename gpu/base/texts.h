/* SPDX-License-Identifier: MIT */
/*
 * The strings of a session: each gets an id and goes through the ring once, before the first record that refers to
 * it. A string counts as sent only when the ring had room for it; else it is tried again with its next use.
 * For one thread. Memory is bounded and of our own.
 */
#ifndef GPUPROBE_GPU_TEXTS_H
#define GPUPROBE_GPU_TEXTS_H

#include "ring.h"

#define TEXT_BYTES_MAX 16384 /* what is longer is cut */

struct texts;

/* texts_max: how many at most. fact_ns: from when on they hold. NULL: no memory. */
struct texts *texts_open(u32 texts_max, u64 fact_ns);
void texts_close(struct texts *texts); /* NULL allowed */

/* The id of the string; 0: there is no room for more (counted), or the string is empty or NULL. */
u32 texts_put(struct texts *texts, struct ring_writer *writer, const char *string);
/* For an id that texts_put() gave: sends the string if that has not succeeded yet. */
void texts_send(struct texts *texts, struct ring_writer *writer, u32 id);

/* ---- what every table of strings does ---- */

/* FNV-1a of max_bytes of the string at most; ret_length: of how many. */
u32 text_hash(const char *string, u32 max_bytes, u32 *ret_length);
/* Sends the string as a fact. False: the ring has no room. */
bool text_fact_send(struct ring_writer *writer, u32 id, u64 fact_ns, const char *string, u32 length_bytes);

#endif
