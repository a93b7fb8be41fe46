/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The variable of NVTX found by its shape, in images built here and in that of the real headers. */
#include "unit.h"

#include <stdlib.h>

#include "cuda/nvtx_users.h"
#include "../gpu/nvtx/nvtx_globals.h"

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define HAS_NVTX 1
#endif

#define ADDRESS 0x7f0012345000ULL

struct finds {
	size_t count;
	u64 addresses[4];
	u32 initialisation;
};

static void note(void *data, const struct nvtx_globals *globals, u64 address)
{
	struct finds *finds = data;

	if (finds->count < 4)
		finds->addresses[finds->count] = address;
	finds->count++;
	finds->initialisation = globals->initialisation;
}

static struct nvtx_globals globals_at(u64 address)
{
	static const u8 functions[] = {15, 8, 14, 6, 15, 6};
	struct nvtx_globals globals = {.initialisation = NVTX_COMPLETE,
				       .callbacks_bytes = 16,
				       .callbacks_function = 0x1000,
				       .version_bytes = 24,
				       .version = 3,
				       .version_function = 0x2000};
	size_t entry = 0, word = 0;

	for (size_t table = 0; table < 6; table++) {
		entry++;
		for (u32 i = 0; i < functions[table]; i++)
			globals.tables[entry++] =
				address + offsetof(struct nvtx_globals, words) + 8 * word++;
		entry++;
	}
	CHECK_U64(entry, 76);
	CHECK_U64(word, NVTX_WORDS);
	return globals;
}

/* Bytes that end where the sanitizer would see a read behind them. */
static struct finds scan(size_t size, size_t offset, const struct nvtx_globals *globals)
{
	struct finds finds = {0};
	u8 *bytes = malloc(size);

	memset(bytes, 0x10, size);
	if (globals && offset + sizeof(*globals) <= size)
		memcpy(bytes + offset, globals, sizeof(*globals));
	else if (globals)
		memcpy(bytes + offset, globals, size - offset);
	nvtx_users_scan(bytes, size, ADDRESS, note, &finds);
	free(bytes);
	return finds;
}

TEST(it_is_found_wherever_it_stands)
{
	for (size_t offset = 0; offset < 4096; offset += 504) {
		struct nvtx_globals globals = globals_at(ADDRESS + offset);
		struct finds finds = scan(4096 + NVTX_GLOBALS_BYTES, offset, &globals);

		CHECK_U64(finds.count, 1);
		CHECK_U64(finds.addresses[0], ADDRESS + offset);
		CHECK_U64(finds.initialisation, NVTX_COMPLETE);
	}
}

TEST(it_ends_with_the_bytes)
{
	struct nvtx_globals globals = globals_at(ADDRESS + 64);

	CHECK_U64(scan(64 + NVTX_GLOBALS_BYTES, 64, &globals).count, 1);
	CHECK_U64(scan(64 + NVTX_GLOBALS_BYTES - 1, 64, &globals).count, 0);
	for (size_t size = 0; size < 64 + NVTX_GLOBALS_BYTES; size += 97)
		CHECK_U64(scan(size, 0, NULL).count, 0);
}

TEST(a_copy_at_another_place_is_none)
{
	struct nvtx_globals globals = globals_at(ADDRESS + 64);

	CHECK_U64(scan(8192, 72, &globals).count, 0);
}

TEST(every_part_of_the_shape_counts)
{
	struct nvtx_globals good = globals_at(ADDRESS), bad = good;

	CHECK_U64(scan(4096, 0, &good).count, 1);
	bad.initialisation = 3;
	CHECK_U64(scan(4096, 0, &bad).count, 0);
	bad = good;
	bad.version = 4;
	CHECK_U64(scan(4096, 0, &bad).count, 0);
	bad = good;
	bad.callbacks_bytes = 24;
	CHECK_U64(scan(4096, 0, &bad).count, 0);
	bad = good;
	bad.version_bytes = 16;
	CHECK_U64(scan(4096, 0, &bad).count, 0);
	for (size_t i = 0; i < 76; i++) {
		bad = good;
		bad.tables[i] += 8;
		CHECK_U64(scan(4096, 0, &bad).count, 0);
	}
}

TEST(the_state_is_said_for_people)
{
	struct nvtx_users users = {
		.count = 2,
		.items = {{.state = NVTX_USER_FRESH, .module = "/lib/a\x1b.so"},
			  {.state = NVTX_USER_TOOL, .module = "/b", .tool = "/tool.so"}},
		.tool_named = true,
	};
	struct text text = {0};

	nvtx_users_append(&users, &text);
	CHECK(strstr(text_string(&text), "not initialised yet"));
	CHECK(strstr(text_string(&text), "another tool holds it: /tool.so"));
	CHECK(strstr(text_string(&text), "NVTX_INJECTION64_PATH is set"));
	CHECK(!strchr(text_string(&text), 0x1b));
	text_free(&text);
	users = (struct nvtx_users){.tool_named = true};
	nvtx_users_append(&users, &text);
	CHECK_STRING(text_string(&text), "");
	text_free(&text);
}

TEST(the_real_headers_have_this_shape)
{
#ifdef HAS_NVTX
	struct finds finds = {0};

	CHECK_U64(sizeof(nvtxGlobals_v3), NVTX_GLOBALS_BYTES);
	nvtx_users_scan(&nvtxGlobals_v3, sizeof(nvtxGlobals_v3), (u64)&nvtxGlobals_v3, note,
			&finds);
	CHECK_U64(finds.count, 1);
	CHECK_U64(finds.initialisation, NVTX_FRESH);
	unsetenv("NVTX_INJECTION64_PATH");
	nvtxMarkA("first");
	nvtx_users_scan(&nvtxGlobals_v3, sizeof(nvtxGlobals_v3), (u64)&nvtxGlobals_v3, note,
			&finds);
	CHECK_U64(finds.count, 2);
	CHECK_U64(finds.initialisation, NVTX_COMPLETE);
#else
	SKIP("no headers of NVTX");
#endif
}

UNIT_MAIN()
