/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A CUPTI client for the tests: any libcupti, opened at run time; records read by the layouts of layouts.def. */
#ifndef SIM_TEST_CLIENT_H
#define SIM_TEST_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cupti.h>

enum {
#define SIM_FIELD(record, field, offset, size) AT_##record##_##field = offset, SIZE_##record##_##field = size,
#include "../cupti/layouts.def"
};

/* A field of a record, 0 where the record of this release does not reach it. */
uint64_t client_field(const void *record, size_t record_size, size_t offset, size_t size);
#define FIELD(record, size, kind, field) client_field(record, size, AT_##kind##_##field, SIZE_##kind##_##field)

struct client {
	void *library;
	uint32_t version;
	/* What came, by kind. */
	unsigned counts[64];
	struct client_record {
		uint32_t kind;
		size_t size;
		uint8_t bytes[320];
	} *records;
	size_t record_count;
	unsigned buffers_requested, buffers_completed;
	bool has_bad_buffer;
};

extern struct client client;

/* Opens the library and finds all functions; false and a line "not ok" when something is missing. */
bool client_open(const char *path);
/* A function of the library, NULL where the release does not have it. */
void *client_find(const char *name);
#define CALL(name, ...) ((__typeof__(&name))client_find(#name))(__VA_ARGS__)

/* Buffers and the clock (CLOCK_MONOTONIC) are registered, kinds (ended by 0) enabled. */
CUptiResult client_start(const unsigned *kinds);
void client_disable(const unsigned *kinds);
/* Forgets what came. */
void client_clear(void);
/* The size of a record of this kind, as measured with the library itself. */
size_t client_measure(unsigned kind);
const struct client_record *client_find_record(unsigned kind, uint32_t correlation);
uint64_t client_now_ns(void);

#endif
