/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The columns of the tables name what there is. */
#include "capture_fixture.h"
#include "exporters/nsys/nsys_values.h"

TEST(every_column_has_a_source)
{
	struct fixture fixture _fixture_ = fixture_open("");
	struct nsys_values values = {.view = fixture.view};
	size_t count;
	const struct nsys_table *tables = nsys_tables(&count);
	struct err err = {};

	for (size_t i = 0; i < count; i++) {
		struct nsys_bound_column *columns = NULL;

		CHECK_OK(nsys_values_prepare(&values, &tables[i], &columns, &err), err);
		for (size_t j = 0; j < tables[i].column_count; j++) {
			const struct nsys_column *column = columns[j].column;

			if (column->source == NSYS_KEY)
				CHECK(columns[j].key != NULL);
			for (size_t k = 0; k < j; k++)
				CHECK(strcmp(column->name, columns[k].column->name) != 0);
		}
		free(columns);
	}
}

/* Kinds that share a table insert into all of its columns. */
TEST(tables_of_one_name_have_the_same_columns)
{
	size_t count;
	const struct nsys_table *tables = nsys_tables(&count);

	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++) {
			if (strcmp(tables[i].name, tables[j].name) != 0)
				continue;
			CHECK_U64(tables[i].column_count, tables[j].column_count);
			for (size_t k = 0; k < tables[i].column_count; k++)
				CHECK_STRING(tables[i].columns[k].name, tables[j].columns[k].name);
		}
}

/* One more than CUPTI's, one less: as Nsight Systems has them. */
TEST(enums_are_in_the_numbers_of_nsight_systems)
{
	CHECK_U64(nsys_enum_number("memory_kind", VALUE_memory_kind_pinned), 1);
	CHECK_U64(nsys_enum_number("memory_kind", VALUE_memory_kind_device), 2);
	CHECK_U64(nsys_enum_number("launch_type", VALUE_launch_type_regular), 1);
	CHECK_U64(nsys_enum_number("memory_operation", VALUE_memory_operation_allocate), 0);
	CHECK_U64(nsys_enum_number("migration_type", VALUE_migration_type_device_to_device), 13);
	CHECK(nsys_enum_number("memory_kind", 99) == NSYS_NONE);
	CHECK(nsys_enum_number("no_such_enum", 1) == NSYS_NONE);
	CHECK_U64(nsys_global_tid(4242, 4243), 281546145665171ULL);
	CHECK_U64(nsys_pid(281546145665171ULL), 4242);
	CHECK_U64(nsys_tid(281546145665171ULL), 4243);
	CHECK_U64(nsys_process(nsys_global_tid(4242, 4243)),
		  nsys_process(nsys_global_tid(4242, 0)));
}

/* What is written is read as what it was. */
TEST(enums_come_back)
{
	size_t count;
	const struct schema_enum_value *values = schema_enum_values(&count);

	for (size_t i = 0; i < count; i++) {
		s64 number = nsys_enum_number(values[i].enum_name, values[i].number);

		if (number != NSYS_NONE)
			CHECK_U64(nsys_enum_value(values[i].enum_name, number), values[i].number);
	}
	CHECK_U64(nsys_enum_value("memory_kind", 7), 0);
	CHECK_U64(nsys_enum_value("copy_direction", 11), 0);
}

UNIT_MAIN()
