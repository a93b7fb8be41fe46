/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_pieces.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/elf_cies.h"
#include "elf/elf_cfi_bytes.h"

#define HEADER_BYTES	       64 /* of a table of exceptions, up to its list of calls */
#define TABLE_MAX_BYTES	       (1 << 18)
#define INSTRUCTIONS_MAX_BYTES (64 << 10) /* of .eh_frame, for one piece */

struct elf_pieces {
	struct elf_cfi cfi;
	struct elf_cies cies;
	struct elf_piece *items; /* by start */
	u64 *ends;		 /* of each, the highest end of those before it */
	size_t count, capacity;
};

static int piece_compare(const void *left, const void *right)
{
	const struct elf_piece *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->entry < b->entry ? -1 : a->entry > b->entry;
}

static int piece_add(struct elf_pieces *pieces, const struct elf_cfi_entry *entry)
{
	const struct elf_cie_state *state = elf_cies_find(&pieces->cies, entry->cie_offset);
	struct elf_fde fde;

	if (!state || !elf_fde_parse(&pieces->cfi, &state->cie, entry, &fde))
		return 0;
	if (array_reserve(&pieces->items, &pieces->capacity, pieces->count + 1))
		return -ENOMEM;
	pieces->items[pieces->count++] =
		(struct elf_piece){.start = fde.start,
				   .end = fde.end,
				   .exceptions = fde.exceptions,
				   .entry = entry->offset,
				   .cie = (u32)(state - pieces->cies.items)};
	return 0;
}

static int pieces_add(struct elf_pieces *pieces)
{
	struct elf_cfi_entry entry;
	u32 offset = 0;
	int result = 0;

	while (!result && elf_cfi_next(&pieces->cfi, &offset, &entry))
		result = entry.is_cie ? elf_cies_add(&pieces->cies, &pieces->cfi, &entry)
				      : piece_add(pieces, &entry);
	return result;
}

static int pieces_sort(struct elf_pieces *pieces)
{
	u64 end = 0;

	pieces->ends = calloc(pieces->count + 1, sizeof(*pieces->ends));
	if (!pieces->ends)
		return -ENOMEM;
	if (pieces->count)
		qsort(pieces->items, pieces->count, sizeof(*pieces->items), piece_compare);
	for (size_t i = 0; i < pieces->count; i++) {
		pieces->ends[i] = end;
		if (pieces->items[i].end > end)
			end = pieces->items[i].end;
	}
	return 0;
}

int elf_pieces_read(const struct elf_file *file, struct elf_pieces **ret_pieces, struct err *err)
{
	struct elf_pieces *pieces = calloc(1, sizeof(*pieces));
	int result;

	if (!pieces)
		return err_errno(err, -ENOMEM, "can't read .eh_frame");
	result = elf_cfi_read(file, &pieces->cfi, err);
	if (!result && (pieces_add(pieces) || pieces_sort(pieces)))
		result = err_errno(err, -ENOMEM, "can't read .eh_frame");
	if (result) {
		elf_pieces_free(pieces);
		return result;
	}
	*ret_pieces = pieces;
	return 0;
}

struct elf_pieces *elf_pieces_free(struct elf_pieces *pieces)
{
	if (!pieces)
		return NULL;
	elf_cfi_free(&pieces->cfi);
	free(pieces->cies.items);
	free(pieces->items);
	free(pieces->ends);
	free(pieces);
	return NULL;
}

const struct elf_piece *elf_pieces_find(const struct elf_pieces *pieces, u64 address)
{
	size_t first = 0, end = pieces->count;
	const struct elf_piece *piece;

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (pieces->items[middle].start <= address)
			first = middle + 1;
		else
			end = middle;
	}
	if (!first)
		return NULL;
	piece = &pieces->items[first - 1];
	if (address >= piece->end || pieces->ends[first - 1] > piece->start ||
	    (first < pieces->count && piece[1].start < piece->end))
		return NULL;
	return piece;
}

u8 *elf_piece_bytes(const struct elf_file *file, const struct elf_piece *piece)
{
	size_t size = piece->end - piece->start;
	u8 *bytes = malloc(size);

	if (bytes && elf_file_read_address(file, piece->start, bytes, size) != size) {
		free(bytes);
		return NULL;
	}
	return bytes;
}

/* ---- frames ---- */

struct search {
	u64 address;
	struct elf_cfi_state state;
};

static int visit(void *data, u64 address, const struct elf_cfi_state *state)
{
	struct search *search = data;

	if (address > search->address)
		return 1;
	search->state = *state;
	return 0;
}

bool elf_piece_frame_address(const struct elf_pieces *pieces, const struct elf_piece *piece,
			     u64 address, struct elf_frame_address *ret_address)
{
	struct search search = {.address = address, .state.failed = true};
	const struct elf_cie_state *state = &pieces->cies.items[piece->cie];
	struct elf_cfi_entry entry;
	struct elf_fde fde;

	if (!state->cie.understood || !elf_cfi_entry_at(&pieces->cfi, piece->entry, &entry) ||
	    !elf_fde_parse(&pieces->cfi, &state->cie, &entry, &fde) ||
	    fde.instructions.size_bytes > INSTRUCTIONS_MAX_BYTES)
		return false;
	elf_fde_run(&pieces->cfi, &state->cie, &state->initial, &fde, visit, &search);
	if (search.state.failed || search.state.cfa_expression.size_bytes)
		return false;
	*ret_address =
		(struct elf_frame_address){search.state.cfa_register, search.state.cfa_offset};
	return true;
}

bool elf_frame_address_is_bare(const struct elf_frame_address *address)
{
	return address->register_number == ELF_CFI_RSP && address->offset == 8;
}

/* ---- exceptions ---- */

/* What is read of the table, as if it were .eh_frame: pointers have the same forms. */
static bool table_read(const struct elf_file *file, u64 address, u32 size_bytes,
		       struct elf_cfi *table)
{
	free(table->bytes);
	*table = (struct elf_cfi){.address = address, .bytes = calloc(1, size_bytes)};
	if (!table->bytes)
		return false;
	table->size_bytes = (u32)elf_file_read_address(file, address, table->bytes, size_bytes);
	return true;
}

/* Up to its list of calls. */
static bool header_parse(const struct elf_cfi *table, struct cfi_bytes *bytes, u64 function,
			 u64 *ret_base, u8 *ret_encoding, u64 *ret_list_bytes)
{
	u8 encoding = (u8)cfi_bytes_u8(bytes);

	if (encoding != DW_EH_PE_omit && encoding & DW_EH_PE_indirect)
		return false;
	*ret_base =
		encoding == DW_EH_PE_omit ? function : cfi_bytes_pointer(table, bytes, encoding);
	if (cfi_bytes_u8(bytes) != DW_EH_PE_omit)
		cfi_bytes_uleb(bytes);
	*ret_encoding = (u8)cfi_bytes_u8(bytes) & 0x0f;
	*ret_list_bytes = cfi_bytes_uleb(bytes);
	return !bytes->failed && *ret_list_bytes < TABLE_MAX_BYTES;
}

/* Its list of calls, one by one. */
static int pads_parse(const struct elf_cfi *table, struct cfi_bytes *bytes, u64 base, u8 encoding,
		      u64 **pads, size_t *count)
{
	size_t capacity = 0;
	u64 pad;

	while (cfi_bytes_left(bytes)) {
		cfi_bytes_pointer(table, bytes, encoding);
		cfi_bytes_pointer(table, bytes, encoding);
		pad = cfi_bytes_pointer(table, bytes, encoding);
		cfi_bytes_uleb(bytes);
		if (bytes->failed)
			return -EINVAL;
		/* Calls that follow each other often share one. */
		if (!pad || (*count && (*pads)[*count - 1] == base + pad))
			continue;
		if (array_reserve(pads, &capacity, *count + 1))
			return -ENOMEM;
		(*pads)[(*count)++] = base + pad;
	}
	return 0;
}

static int table_parse(const struct elf_file *file, const struct elf_piece *piece,
		       struct elf_cfi *table, u64 **pads, size_t *count)
{
	struct cfi_bytes bytes;
	u64 base, list_bytes;
	u8 encoding;

	if (!table_read(file, piece->exceptions, HEADER_BYTES, table))
		return -ENOMEM;
	bytes = cfi_bytes(table, (struct elf_cfi_block){0, table->size_bytes});
	if (!header_parse(table, &bytes, piece->start, &base, &encoding, &list_bytes))
		return -EINVAL;
	list_bytes += (u64)(bytes.at - table->bytes);
	if (!table_read(file, piece->exceptions, (u32)list_bytes, table))
		return -ENOMEM;
	bytes = cfi_bytes(table, (struct elf_cfi_block){0, table->size_bytes});
	if (table->size_bytes != list_bytes ||
	    !header_parse(table, &bytes, piece->start, &base, &encoding, &list_bytes))
		return -EINVAL;
	return pads_parse(table, &bytes, base, encoding, pads, count);
}

int elf_piece_landing_pads(const struct elf_file *file, const struct elf_piece *piece,
			   u64 **ret_addresses, size_t *ret_count)
{
	_cleanup_free_ u64 *pads = NULL;
	struct elf_cfi table = {0};
	size_t count = 0;
	int result = 0;

	if (piece->exceptions == ELF_EXCEPTIONS_UNKNOWN)
		return -EINVAL;
	if (piece->exceptions)
		result = table_parse(file, piece, &table, &pads, &count);
	elf_cfi_free(&table);
	if (result)
		return result;
	*ret_addresses = take_pointer(&pads);
	*ret_count = count;
	return 0;
}
