/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/uncovered_code.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "code/function_stack.h"

/* A patch that grows. */
struct patch_builder {
	struct unwind_patch patch;
	size_t capacity;
};

static int row_add(struct patch_builder *builder, u64 address, u32 rule)
{
	struct unwind_patch *patch = &builder->patch;

	if (array_reserve(&patch->rows, &builder->capacity, patch->count + 1))
		return -ENOMEM;
	patch->rows[patch->count++] = (struct unwind_patch_row){address, rule};
	return 0;
}

/* ---- where functions are ---- */

static int look(struct uncovered_code *code, const struct elf_file *file,
		const struct unwind_words *words)
{
	struct elf_extent *functions;
	ssize_t count = elf_file_functions(file, &functions);

	if (count < 0)
		return (int)count;
	for (ssize_t i = 0; i < count; i++)
		if (unwind_words_rule(words, functions[i].address) == UNWIND_RULE_NONE)
			functions[code->count++] = functions[i];
	code->functions = realloc(functions, (code->count + 1) * sizeof(*functions));
	if (!code->functions)
		code->functions = functions;
	code->looked = true;
	return 0;
}

/* How many begin below the address. */
static size_t functions_below(const struct uncovered_code *code, u64 address)
{
	size_t low = 0, high = code->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (code->functions[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ---- their rules ---- */

static int rows_of(const struct elf_file *file, u64 start, u64 end, struct function_stack *stack,
		   struct err *err)
{
	size_t size = end - start > FUNCTION_STACK_MAX_BYTES ? 0 : end - start;
	_cleanup_free_ u8 *bytes = size ? malloc(size) : NULL;

	if (!size)
		return -ENOTSUP;
	if (!bytes)
		return -ENOMEM;
	if (elf_file_read_address(file, start, bytes, size) != size)
		return -ENOTSUP;
	return function_stack_read(bytes, size, start, stack, err);
}

/* Adds those of a function, behind which another one, or code with rules, begins at `end`. */
static int follow(const struct elf_file *file, const struct elf_extent *function, u64 end,
		  struct unwind_rules *rules, struct patch_builder *builder, struct err *err)
{
	struct function_stack stack = {0};
	u64 start = function->address, size = function->size_bytes;
	u64 own_end = size && size < end - start ? start + size : end;
	int result = rows_of(file, start, own_end, &stack, err);

	if (result == -ENOTSUP)
		result = row_add(builder, start, UNWIND_RULE_SEARCHED);
	for (size_t i = 0; i < stack.count && !result; i++) {
		u32 number = UNWIND_RULE_SEARCHED;

		if (stack.items[i].rule.cfa != UNWIND_CFA_NONE)
			result = unwind_rules_add(rules, &stack.items[i].rule, &number);
		if (!result)
			result = row_add(builder, stack.items[i].address, number);
	}
	if (!result && own_end < end)
		result = row_add(builder, own_end, UNWIND_RULE_SEARCHED);
	function_stack_free(&stack);
	return result;
}

/* All functions of [start, end) that begin in the pages of the one that holds the address. */
static int follow_some(const struct uncovered_code *code, const struct elf_file *file, u64 start,
		       u64 end, u64 address, struct unwind_rules *rules,
		       struct patch_builder *builder, struct err *err)
{
	const struct elf_extent *functions = code->functions;
	size_t first = functions_below(code, start), last = functions_below(code, end);
	size_t behind = functions_below(code, address + 1), at;
	struct unwind_patch *patch = &builder->patch;
	int result = 0;

	if (behind == first) {
		/* Where what lies before the first one begins nobody knows. */
		patch->start = start;
		patch->end = first < last ? functions[first].address : end;
		return row_add(builder, start, UNWIND_RULE_SEARCHED);
	}
	patch->start = functions[behind - 1].address;
	patch->end = behind < last ? functions[behind].address : end;
	at = functions_below(code, patch->start / UNWIND_PAGE_BYTES * UNWIND_PAGE_BYTES);
	at = at < first ? first : at;
	behind = functions_below(code, (patch->end - 1) / UNWIND_PAGE_BYTES * UNWIND_PAGE_BYTES +
					       UNWIND_PAGE_BYTES);
	behind = behind > last ? last : behind;
	patch->start = functions[at].address;
	patch->end = behind < last ? functions[behind].address : end;
	for (; at < behind && !result; at++)
		result = follow(file, &functions[at],
				at + 1 < last ? functions[at + 1].address : end, rules, builder,
				err);
	return result;
}

int uncovered_code_read(struct uncovered_code *code, const struct elf_file *file,
			const struct unwind_words *words, u64 address, struct unwind_rules *rules,
			struct unwind_patch *ret_patch, struct err *err)
{
	struct patch_builder builder = {0};
	u64 start, end;
	int result = 0;

	unwind_words_stretch(words, address, &start, &end);
	if (start == end || unwind_words_rule(words, address) != UNWIND_RULE_NONE)
		return err_set(err, -ENOENT, "there is a rule by now");
	if (!code->looked)
		result = look(code, file, words);
	if (!result)
		result = follow_some(code, file, start, end, address, rules, &builder, err);
	if (result) {
		free(builder.patch.rows);
		return err_errno(err, result, "code without an unwind table can't be followed");
	}
	*ret_patch = builder.patch;
	return 0;
}

void uncovered_code_free(struct uncovered_code *code)
{
	free(code->functions);
	*code = (struct uncovered_code){0};
}
