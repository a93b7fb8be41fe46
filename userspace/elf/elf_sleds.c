/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_sleds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "elf/elf.h"

/* Of xray_instr_map (XRaySledEntry of compiler-rt): 32 bytes each; from version 2 on the address is relative to
 * the field that it stands in. */
#define XRAY_ENTRY_BYTES    32
#define XRAY_VERSION_OFFSET 18
#define XRAY_RELATIVE_FROM  2

struct reading {
	const struct elf_file *file;
	struct elf_sleds *sleds;
	size_t capacity;
	u64 begin, end; /* of the section that is read, in the file's addresses */
	bool failed;
};

static void add(struct reading *reading, u64 address)
{
	struct elf_sleds *sleds = reading->sleds;

	if (!address)
		return;
	if (array_reserve(&sleds->addresses, &reading->capacity, sleds->count + 1))
		reading->failed = true;
	else
		sleds->addresses[sleds->count++] = address;
}

static void add_xray(struct reading *reading, const u8 *bytes, size_t size)
{
	for (size_t at = 0; at + XRAY_ENTRY_BYTES <= size; at += XRAY_ENTRY_BYTES) {
		bool relative = bytes[at + XRAY_VERSION_OFFSET] >= XRAY_RELATIVE_FROM;
		u64 address;

		memcpy(&address, bytes + at, sizeof(address));
		add(reading, relative ? reading->begin + at + address : address);
	}
}

/* What the linker has left for the dynamic linker to fill in is 0. */
static void add_pointers(struct reading *reading, const u8 *bytes, size_t size)
{
	for (size_t at = 0; at + sizeof(u64) <= size; at += sizeof(u64)) {
		u64 address;

		memcpy(&address, bytes + at, sizeof(address));
		add(reading, address);
	}
}

static void add_relocated(void *data, u64 slot, u64 address)
{
	struct reading *reading = data;

	if (slot >= reading->begin && slot < reading->end)
		add(reading, address);
}

static const struct {
	const char *name;
	void (*read)(struct reading *reading, const u8 *bytes, size_t size);
} sections[] = {
	{"xray_instr_map", add_xray},
	{"__patchable_function_entries", add_pointers},
	{"__mcount_loc", add_pointers},
};

static void read_section(struct reading *reading, Elf_Scn *section, const GElf_Shdr *header,
			 const char *name)
{
	Elf_Data *data;

	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		if (strcmp(sections[i].name, name) != 0)
			continue;
		data = elf_section_data(reading->file, section);
		if (!data)
			return;
		reading->begin = header->sh_addr;
		reading->end = header->sh_addr + header->sh_size;
		sections[i].read(reading, data->d_buf, data->d_size);
		elf_relocated_pointers(reading->file, add_relocated, reading);
		return;
	}
}

int elf_sleds_load(const struct elf_file *file, struct elf_sleds *ret_sleds)
{
	struct reading reading = {.file = file, .sleds = ret_sleds};
	Elf_Scn *section = NULL;
	size_t names;

	*ret_sleds = (struct elf_sleds){0};
	if (elf_getshdrstrndx(file->elf, &names))
		return 0;
	while ((section = elf_nextscn(file->elf, section))) {
		GElf_Shdr header;
		const char *name;

		if (!gelf_getshdr(section, &header))
			continue;
		name = elf_strptr(file->elf, names, header.sh_name);
		if (name)
			read_section(&reading, section, &header, name);
	}
	if (reading.failed) {
		elf_sleds_free(ret_sleds);
		return -ENOMEM;
	}
	if (ret_sleds->count)
		qsort(ret_sleds->addresses, ret_sleds->count, sizeof(u64), array_compare_u64);
	return 0;
}

bool elf_sleds_has(const struct elf_sleds *sleds, u64 address, u64 size_bytes)
{
	size_t low = 0, high = sleds->count;

	/* The first one that does not lie before it. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (sleds->addresses[middle] < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < sleds->count && sleds->addresses[low] - address < size_bytes;
}

void elf_sleds_free(struct elf_sleds *sleds)
{
	free(sleds->addresses);
	*sleds = (struct elf_sleds){0};
}
