/* SPDX-License-Identifier: MIT */
/* Sentences for people, put together without stdio: NUL-terminated always, cut where the room ends. */
#ifndef GPUPROBE_GPU_WORDS_H
#define GPUPROBE_GPU_WORDS_H

#include "types.h"

bool words_begin_with(const char *string, const char *beginning);

struct words {
	char *buffer;
	size_t room_bytes, length_bytes;
};

struct words words_begin(char *buffer, size_t room_bytes);
void words_add(struct words *words, const char *string); /* NULL adds nothing */
void words_add_number(struct words *words, u64 number);
void words_set(char *buffer, size_t room_bytes, const char *string);

#endif
