/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of unified memory: what of them holds goes by what happened. */
#include "cupti_fixture.h"
#include "unit.h"

static const struct record_migration *convert_migration(struct fixture *fixture, u32 type)
{
	u8 record[64] = {0};

	put(record, 0, 25, 4);
	put(record, 4, type, 4);
	put(record, 8, 0x401000, 8);
	put(record, 16, 1000, 8);
	put(record, 24, 1500, 8);
	put(record, 32, 0x7d0000000000, 8);
	put(record, 40, 2, 4);
	put(record, 44, 3, 4);
	put(record, 56, 4, 4);
	cupti_convert(&fixture->convert, record, sizeof(record));
	return last(fixture, KIND_migration);
}

TEST(of_unified_memory_that_is_read_which_holds_for_what_happened)
{
	struct fixture *fixture = fixture_make();
	static const struct {
		u32 type, dur, from, to, cause, access;
	} expected[] = {
		{VALUE_migration_type_host_to_device, 500, 2, 3, 4, 0},
		{VALUE_migration_type_device_to_host, 500, 2, 3, 4, 0},
		{VALUE_migration_type_device_to_device, 500, 2, 3, 4, 0},
		{VALUE_migration_type_cpu_faults, 0, ~0U, ~0U, 0, 0},
		{VALUE_migration_type_gpu_fault, 500, 2, ~0U, 0, 4},
		{VALUE_migration_type_thrashing, 0, ~0U, ~0U, 0, 0},
		{VALUE_migration_type_throttling, 500, 2, ~0U, 0, 0},
		{VALUE_migration_type_remote_map, 0, 2, 3, 0, 0},
		{9, 0, ~0U, ~0U, 0, 0},
	};

	for (u32 i = 0; i < ARRAY_SIZE(expected); i++) {
		const struct record_migration *record =
			convert_migration(fixture, expected[i].type);
		bool of_cpu = expected[i].type == VALUE_migration_type_cpu_faults;

		CHECK(record);
		CHECK_U64(record->type, expected[i].type);
		CHECK_U64(record->header.ts, 1000);
		CHECK_U64(record->header.dur, expected[i].dur);
		CHECK_U64(record->value, of_cpu ? 1 : 0x401000);
		CHECK_U64(record->address, 0x7d0000000000);
		CHECK_U64(record->source_device, expected[i].from);
		CHECK_U64(record->destination_device, expected[i].to);
		CHECK_U64(record->migration_cause, expected[i].cause);
		CHECK_U64(record->access, expected[i].access);
		CHECK_U64(record->header.stack, of_cpu ? 1 : 0);
	}
	fixture_free(fixture);
}

TEST(the_instruction_that_faulted_is_a_stack_in_front)
{
	struct fixture *fixture = fixture_make();
	const struct record_migration *fault =
		convert_migration(fixture, VALUE_migration_type_cpu_faults);
	const struct record_stack *stack = last(fixture, KIND_stack);

	CHECK((void *)stack < (void *)fault);
	CHECK_U64(stack->id, fault->header.stack);
	CHECK_U64(stack->depth, 1);
	CHECK_U64(stack->header.pid, 42);
	CHECK_U64(*(const u64 *)(stack + 1), 0x401000);
	/* Once told is enough. */
	convert_migration(fixture, VALUE_migration_type_cpu_faults);
	CHECK(last(fixture, KIND_stack) == (void *)stack);
	CHECK_U64(instructions_put(fixture->convert.instructions, &fixture->writer, 0), 0);
	CHECK_U64(instructions_put(fixture->convert.instructions, &fixture->writer, 0x401004), 2);
	for (u64 address = 1; address < 5000; address++)
		instructions_put(fixture->convert.instructions, &fixture->writer, address);
	CHECK_U64(instructions_put(fixture->convert.instructions, &fixture->writer, 0x402000), 0);
	CHECK(counted(fixture, AGENT_COUNT_FACTS_CAPPED) > 0);
	fixture_free(fixture);
}

UNIT_MAIN()
