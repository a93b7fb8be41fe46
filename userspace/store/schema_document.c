/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/schema_document.h"

#include <inttypes.h>
#include <string.h>

#include "store/schema.h"

static void print_type(FILE *file, const struct schema_field *field)
{
	fprintf(file, "%c%d", field->unit == UNIT_SIGNED ? 's' : 'u', field->element_bytes * 8);
	if (field->count > 1)
		fprintf(file, "[%d]", field->count);
}

static void print_unit(FILE *file, const struct schema_field *field)
{
	fputs(schema_unit_name(field->unit), file);
	if (field->unit == UNIT_ID || field->unit == UNIT_ENUM)
		fprintf(file, " of %s", field->reference);
}

static void print_absent(FILE *file, const struct schema_field *field)
{
	if (field->absent > 0xffff)
		fprintf(file, "0x%" PRIx64, field->absent);
	else
		fprintf(file, "%" PRIu64, field->absent);
}

static void print_fields(FILE *file, const struct schema_field *fields, size_t count)
{
	fputs("\n| field | type | unit | absent | meaning |\n|---|---|---|---|---|\n", file);
	for (size_t i = 0; i < count; i++) {
		if (fields[i].unit == UNIT_PAD)
			continue;
		fprintf(file, "| `%s` | ", fields[i].name);
		print_type(file, &fields[i]);
		fputs(" | ", file);
		print_unit(file, &fields[i]);
		fputs(" | ", file);
		print_absent(file, &fields[i]);
		fprintf(file, " | %s |\n", fields[i].meaning);
	}
}

static void print_enums(FILE *file)
{
	size_t count;
	const struct schema_enum_value *values = schema_enum_values(&count);

	for (size_t i = 0; i < count; i++) {
		if (!i || strcmp(values[i - 1].enum_name, values[i].enum_name))
			fprintf(file, "\n## enum %s\n\n| number | tag | meaning |\n|---|---|---|\n",
				values[i].enum_name);
		fprintf(file, "| %u | `%s` | %s |\n", values[i].number, values[i].tag,
			values[i].meaning);
	}
}

void schema_print_markdown(FILE *file)
{
	size_t kind_count, header_count;
	const struct schema_kind *kinds = schema_kinds(&kind_count);
	const struct schema_field *header = schema_header_fields(&header_count);

	fputs("# Records\n\nWhat a capture consists of. Every record begins with this header:\n",
	      file);
	print_fields(file, header, header_count);
	for (size_t i = 0; i < kind_count; i++) {
		fprintf(file, "\n## %s (%s, %u)\n\n%s.\n", kinds[i].tag,
			schema_shape_name(kinds[i].shape), kinds[i].number, kinds[i].meaning);
		if (kinds[i].field_count)
			print_fields(file, kinds[i].fields, kinds[i].field_count);
	}
	print_enums(file);
}
