/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_go_crosscall.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define SCAN_BYTES     (256 << 10)
#define SCAN_MAX_BYTES (256ULL << 20)
#define WORD_BYTES     8

/* push rbx, rbp, r12 to r15; ...; pop r15 to r12, rbp, rbx; ret */
#define PUSHES 0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57
#define POPS   0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, 0xc3
static const u8 push_ends[] = {1, 2, 4, 6, 8, 10};
static const u8 pop_ends[] = {2, 4, 6, 8, 9, 10};
#define POPS_BYTES 11

/* mov rbx, rdi; mov rdi, rdx; call rsi; call rbx */
static const u8 since_118[] = {PUSHES, 0x48, 0x89, 0xfb, 0x48, 0x89,
			       0xd7,   0xff, 0xd6, 0xff, 0xd3, POPS};
/* call rdi */
static const u8 before_118[] = {PUSHES, 0xff, 0xd7, POPS};

static const struct {
	const u8 *bytes;
	size_t count;
} codes[] = {{since_118, sizeof(since_118)}, {before_118, sizeof(before_118)}};

static bool find_in(const u8 *bytes, size_t size, u64 address, struct elf_go_crosscall *found)
{
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		const u8 *at = memmem(bytes, size, codes[i].bytes, codes[i].count);

		if (!at)
			continue;
		found->start = address + (u64)(at - bytes);
		found->end = found->start + codes[i].count;
		found->pushed = found->start + push_ends[ARRAY_SIZE(push_ends) - 1];
		found->popped = found->end - POPS_BYTES;
		return true;
	}
	return false;
}

int elf_go_crosscall_find(const struct elf_file *file, struct elf_go_crosscall *ret_crosscall)
{
	_cleanup_free_ u8 *bytes = malloc(SCAN_BYTES);
	const struct elf_segment *segments;
	size_t count = elf_file_segments(file, true, &segments);
	u64 left = SCAN_MAX_BYTES;

	*ret_crosscall = (struct elf_go_crosscall){0};
	if (!bytes)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		u64 address = segments[i].address;
		size_t size = SCAN_BYTES;

		/* Each piece again with the end of the one before it. */
		while (size == SCAN_BYTES && left >= SCAN_BYTES) {
			size = elf_file_read_address(file, address, bytes, SCAN_BYTES);
			if (find_in(bytes, size, address, ret_crosscall))
				return 0;
			address += SCAN_BYTES - sizeof(since_118);
			left -= SCAN_BYTES;
		}
	}
	return 0;
}

static int put(u64 address, u32 words, bool has_rbx, bool has_rbp,
	       int (*visit)(void *data, u64 address, const struct unwind_rule *rule), void *data)
{
	const struct unwind_rule rule = {.cfa = UNWIND_CFA_RSP,
					 .cfa_offset = (s32)(words + 1) * WORD_BYTES,
					 .rbx = has_rbx ? UNWIND_AT_CFA : UNWIND_SAME,
					 .rbx_offset = has_rbx ? -2 * WORD_BYTES : 0,
					 .rbp = has_rbp ? UNWIND_AT_CFA : UNWIND_SAME,
					 .rbp_offset = has_rbp ? -3 * WORD_BYTES : 0};

	return visit(data, address, &rule);
}

int elf_go_crosscall_visit(const struct elf_go_crosscall *crosscall,
			   int (*visit)(void *data, u64 address, const struct unwind_rule *rule),
			   void *data)
{
	u32 count = ARRAY_SIZE(push_ends);
	int result = put(crosscall->start, 0, false, false, visit, data);

	for (u32 i = 0; !result && i < count; i++)
		result = put(crosscall->start + push_ends[i], i + 1, true, i > 0, visit, data);
	/* The last two are rbp and rbx. */
	for (u32 i = 0; !result && i < count; i++)
		result = put(crosscall->popped + pop_ends[i], count - i - 1, i + 1 < count,
			     i + 2 < count, visit, data);
	return result;
}
