/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "code/patch_bytes.h"

#include "unit.h"

#define ADDRESS 0x10000
#define HOOK	0x20000 /* where code is */

static bool has_code(const void *data, u64 address)
{
	return address >= HOOK && address < HOOK + 0x1000;
}

static int first_byte(const u8 *bytes, size_t size)
{
	return patch_first_byte(bytes, size, ADDRESS, has_code, NULL);
}

/* A breakpoint over the first byte of each form that is known. */
TEST(forms_by_the_bytes_behind_the_first)
{
	static const u8 r11[] = {0xcc, 0xbb, 1, 2, 3, 4, 5, 6, 7, 8, 0x41, 0xff, 0xe3};
	static const u8 rax[] = {0xcc, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8, 0xff, 0xe0, 0x90};
	static const u8 pointer[] = {0xcc, 0x25, 0, 0, 0, 0};
	static const u8 xray[] = {0xcc, 0xba, 1, 0, 0, 0, 0xe8, 1, 2, 3, 4};

	CHECK_U64(first_byte(r11, sizeof(r11)), 0x49);
	CHECK_U64(first_byte(rax, sizeof(rax)), 0x48);
	CHECK_U64(first_byte(pointer, sizeof(pointer)), 0xff);
	CHECK_U64(first_byte(xray, sizeof(xray)), 0x41);
	/* Cut off where they would be known by. */
	CHECK(first_byte(r11, 10) < 0);
	CHECK(first_byte(pointer, 5) < 0);
}

TEST(a_distance_must_lead_into_code)
{
	/* HOOK - (ADDRESS + 5) = 0xfffb */
	static const u8 jump[] = {0xcc, 0xfb, 0xff, 0, 0}, elsewhere[] = {0xcc, 0xfb, 0x0f, 0, 0};

	CHECK_U64(first_byte(jump, sizeof(jump)), 0xe9);
	CHECK(first_byte(jump, 4) < 0);
	CHECK(first_byte(elsewhere, sizeof(elsewhere)) < 0);
}

UNIT_MAIN()
