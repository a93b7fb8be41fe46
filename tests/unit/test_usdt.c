/* SPDX-License-Identifier: GPL-2.0-or-later */
/* USDT probes: the arguments of their notes, the notes in files, what -U says, arguments in records. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan/usdt_arguments.h"
#include "plan/usdt_pattern.h"
#include "base/cleanup.h"
#include "elf/elf_usdt.h"
#include "exporters/args.h"
#include "store/record_args.h"
#include "scratch_folder.h"
#include "unit.h"

/* ---- arguments ---- */

#define NONE USDT_REGISTER_NONE

static bool find_variable(void *data, const char *name, size_t length, u64 *ret_address)
{
	if (length != strlen("counter") || memcmp(name, "counter", length) != 0)
		return false;
	*ret_address = 0x4010;
	return true;
}

static const struct usdt_place movable = {0x1000, true, find_variable, NULL};
static const struct usdt_place fixed = {0x1000, false, find_variable, NULL};

static void check_argument(const char *text, const struct usdt_place *place,
			   struct usdt_argument expected)
{
	struct usdt_argument seen[USDT_ARGUMENTS_MAX];

	if (usdt_arguments_parse(text, place, seen) != 1) {
		UNIT_FAIL("%s: not one argument", text);
		return;
	}
	if (seen[0].kind != expected.kind || seen[0].value != expected.value ||
	    seen[0].size_bytes != expected.size_bytes || seen[0].is_signed != expected.is_signed ||
	    seen[0].base != expected.base || seen[0].index != expected.index ||
	    (expected.kind == USDT_MEMORY && seen[0].scale != expected.scale) ||
	    seen[0].shift_bits != expected.shift_bits)
		UNIT_FAIL("%s: kind %u value %lld size %u signed %u base %u index %u scale %u "
			  "shift %u",
			  text, seen[0].kind, (long long)seen[0].value, seen[0].size_bytes,
			  seen[0].is_signed, seen[0].base, seen[0].index, seen[0].scale,
			  seen[0].shift_bits);
}

static void check_register(const char *text, unsigned size, bool is_signed, unsigned number,
			   unsigned shift)
{
	check_argument(text, &movable,
		       (struct usdt_argument){.kind = USDT_REGISTER,
					      .size_bytes = size,
					      .is_signed = is_signed,
					      .base = number,
					      .index = NONE,
					      .shift_bits = shift});
}

TEST(registers_of_all_widths)
{
	static const char *const names[16][4] = {
		{"rax", "eax", "ax", "al"},	 {"rcx", "ecx", "cx", "cl"},
		{"rdx", "edx", "dx", "dl"},	 {"rbx", "ebx", "bx", "bl"},
		{"rsp", "esp", "sp", "spl"},	 {"rbp", "ebp", "bp", "bpl"},
		{"rsi", "esi", "si", "sil"},	 {"rdi", "edi", "di", "dil"},
		{"r8", "r8d", "r8w", "r8b"},	 {"r9", "r9d", "r9w", "r9b"},
		{"r10", "r10d", "r10w", "r10b"}, {"r11", "r11d", "r11w", "r11b"},
		{"r12", "r12d", "r12w", "r12b"}, {"r13", "r13d", "r13w", "r13b"},
		{"r14", "r14d", "r14w", "r14b"}, {"r15", "r15d", "r15w", "r15b"},
	};
	static const unsigned sizes[] = {8, 4, 2, 1};
	char text[32];

	for (unsigned i = 0; i < 16; i++)
		for (unsigned w = 0; w < 4; w++) {
			snprintf(text, sizeof(text), "%u@%%%s", sizes[w], names[i][w]);
			check_register(text, sizes[w], false, i, 0);
			snprintf(text, sizeof(text), "-%u@%%%s", sizes[w], names[i][w]);
			check_register(text, sizes[w], true, i, 0);
		}
	check_register("1@%ah", 1, false, 0, 8);
	check_register("-1@%bh", 1, true, 3, 8);
	check_register("%rdi", 8, false, 7, 0); /* the first version had no sizes */
}

TEST(constants)
{
	static const struct {
		const char *text;
		s64 value;
		u8 size_bytes;
		bool is_signed;
	} rows[] = {
		{"4@$5", 5, 4, false},
		{"-4@$-5", -5, 4, true},
		{"8@$0x7fffffffffffffff", INT64_MAX, 8, false},
		{"-8@$-9223372036854775808", INT64_MIN, 8, true},
		{"8@$18446744073709551615", -1, 8, false},
		{"1@$010", 8, 1, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_argument(rows[i].text, &movable,
			       (struct usdt_argument){.kind = USDT_CONSTANT,
						      .value = rows[i].value,
						      .size_bytes = rows[i].size_bytes,
						      .is_signed = rows[i].is_signed,
						      .base = NONE,
						      .index = NONE});
}

static void check_memory(const char *text, const struct usdt_place *place, s64 value, unsigned base,
			 unsigned index, unsigned scale)
{
	check_argument(text, place,
		       (struct usdt_argument){.kind = USDT_MEMORY,
					      .value = value,
					      .size_bytes = 4,
					      .base = base,
					      .index = index,
					      .scale = scale});
}

TEST(places_in_memory)
{
	check_memory("4@(%rax)", &movable, 0, 0, NONE, 1);
	check_memory("4@-20(%rbp)", &movable, -20, 5, NONE, 1);
	check_memory("4@0x10(%rsp)", &movable, 16, 4, NONE, 1);
	check_memory("4@8(%rax,%rbx,4)", &movable, 8, 0, 3, 4);
	check_memory("4@8(%rax, %rbx, 4)", &movable, 8, 0, 3, 4);
	check_memory("4@(%rax,%rbx)", &movable, 0, 0, 3, 1);
	check_memory("4@100(,%r9,8)", &movable, 100, NONE, 9, 8);
	check_memory("4@8+16(%rdi)", &movable, 24, 7, NONE, 1);
	check_memory("4@8-16(%rdi)", &movable, -8, 7, NONE, 1);
	/* Of a variable: from the probe on. */
	check_memory("4@counter(%rip)", &movable, 0x3010, USDT_REGISTER_IP, NONE, 1);
	check_memory("4@counter+8(%rip)", &movable, 0x3018, USDT_REGISTER_IP, NONE, 1);
	check_memory("4@8+counter(%rip)", &movable, 0x3018, USDT_REGISTER_IP, NONE, 1);
	check_memory("4@counter", &fixed, 0x4010, NONE, NONE, 1);
	check_memory("4@counter(,%rcx,4)", &fixed, 0x4010, NONE, 1, 4);
}

TEST(what_is_not_understood_is_unreadable)
{
	static const char *const texts[] = {
		"8f@%xmm0",
		"-4f@-8(%rbp)",
		"3@%eax",
		"16@%rax",
		"4@%xmm0",
		"4@%st(0)",
		"4@",
		"@%eax",
		"4@$",
		"4@%",
		"4@%eaxx",
		"4@(%rax",
		"4@)",
		"4@(%rax,%rbx,3)",
		"4@8(%rip)",
		"4@%rip",
		"4@other(%rip)",
		"4@$counter",
		"4@counter",
		"4@%fs:8",
		"4@(%ah)",
		"4@(%rax,%rip)",
		"4@counter-counter(%rip)",
		"4@counter(%rip,%rax)",
		"4@--5",
		"99999999999999999999@%eax",
		"4@$99999999999999999999",
		"--4@%eax",
		"4@5 5",
		"4@5",
		"8@140737488355327",
		"4@0x10",
		"4@%fs:0x10",
		"4@%fs:counter@tpoff",
		"4@%fs:counter@tpoff+4",
		"4@%fs:counter@tpoff(%rax)",
		"4@%gs:8(%rax)",
		"4@DWORD PTR -4[rbp]",
		"8@QWORD PTR counter[rip+8]",
		"4@eax",
	};
	struct usdt_argument seen[USDT_ARGUMENTS_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		size_t count = usdt_arguments_parse(texts[i], &movable, seen);

		if (count != 1 || seen[0].kind != USDT_UNREADABLE)
			UNIT_FAIL("%s: %zu arguments, understood as kind %u", texts[i], count,
				  seen[0].kind);
		if (count && seen[0].size_bytes != 1 && seen[0].size_bytes != 2 &&
		    seen[0].size_bytes != 4 && seen[0].size_bytes != 8)
			UNIT_FAIL("%s: size %u", texts[i], seen[0].size_bytes);
	}
}

TEST(many_arguments)
{
	struct usdt_argument seen[USDT_ARGUMENTS_MAX];
	struct text text _cleanup_text_ = {0};

	CHECK_U64(usdt_arguments_parse("", &movable, seen), 0);
	CHECK_U64(usdt_arguments_parse("   ", &movable, seen), 0);
	CHECK_U64(usdt_arguments_parse(" -4@%edi  8@-8(%rbp, %rax) 8f@%xmm0 ", &movable, seen), 3);
	usdt_arguments_append(seen, 3, &text);
	CHECK_STRING(text_string(&text), "s32 u64 f64?");
	CHECK_U64(usdt_arguments_parse(
			  "4@$1 4@$2 4@$3 4@$4 4@$5 4@$6 4@$7 4@$8 4@$9 4@$10 4@$11 4@$12 "
			  "4@$13",
			  &movable, seen),
		  13);
	CHECK_U64((u64)seen[11].value, 12);
	/* Blanks in operands that are not understood move no argument to another place. */
	CHECK_U64(usdt_arguments_parse("-4@DWORD PTR -4[rbp]  8f@%xmm0 -4@%edi", &movable, seen),
		  3);
	CHECK_U64(seen[2].kind, USDT_REGISTER);
	CHECK_U64(usdt_arguments_parse("%rdi %rsi", &movable, seen), 2);
}

/* Every cut and every changed byte of something that is right. */
TEST(damaged_arguments)
{
	static const char right[] = "-4@%edi 8@-8(%rbp,%rax,4) 4@counter+8(%rip) 8@$-5 8f@%xmm0";
	struct usdt_argument seen[USDT_ARGUMENTS_MAX];

	for (size_t i = 0; i < strlen(right); i++) {
		char *damaged = strdup(right);

		damaged[i] = 0;
		usdt_arguments_parse(damaged, &movable, seen);
		free(damaged);
		for (unsigned byte = 1; byte < 256; byte++) {
			damaged = strdup(right);
			damaged[i] = (char)byte;
			usdt_arguments_parse(damaged, &movable, seen);
			free(damaged);
		}
	}
}

/* ---- notes ---- */

/* NOTE(place, base, semaphore, strings): as <sys/sdt.h> writes it. */
static const char source[] =
	"#define NOTE(place, base, semaphore, strings) __asm__(\".pushsection "
	".note.stapsdt,\\\"\\\",\\\"note\\\"\\n\" \\\n"
	"  \".balign 4\\n.4byte 8, 2f-1f, 3\\n.asciz \\\"stapsdt\\\"\\n1: .8byte \" place \", \" "
	"base \", \" semaphore \"\\n\" \\\n"
	"  strings \"\\n2: .balign 4\\n.popsection\\n\");\n"
	"__asm__(\".pushsection "
	".stapsdt.base,\\\"aG\\\",\\\"progbits\\\",.stapsdt.base,comdat\\n.weak "
	"_.stapsdt.base\\n\"\n"
	"  \"_.stapsdt.base: .space 1\\n.size _.stapsdt.base, 1\\n.popsection\\n\");\n"
	"unsigned short counter __attribute__((section(\".probes\"))) = 7;\n"
	"static int twice = 1;\n"
	"int *one_of_two(void) { return &twice; }\n"
	"void place(void);\n"
	"__asm__(\".text\\n.globl place\\n.type place,@function\\nplace: nop\\nnop\\nret\\n.size "
	"place,3\\n\");\n"
	"NOTE(\"place\", \"_.stapsdt.base\", \"counter\", \".asciz \\\"one\\\", \\\"first\\\", "
	"\\\"4@%eax\\\"\")\n"
	"NOTE(\"place+1\", \"_.stapsdt.base\", \"0\", \".asciz \\\"one\\\", \\\"second\\\", "
	"\\\"\\\"\")\n"
	"/* Moved by prelink since. */\n"
	"NOTE(\"place+0x5000\", \"_.stapsdt.base+0x5000\", \"counter+0x5000\", \".asciz "
	"\\\"one\\\", \\\"moved\\\", \\\"\\\"\")\n"
	"#ifdef DAMAGED\n"
	"NOTE(\"0x7fffffff0000\", \"_.stapsdt.base\", \"0\", \".asciz \\\"one\\\", "
	"\\\"outside\\\", \\\"\\\"\")\n"
	"NOTE(\"place\", \"_.stapsdt.base\", \"0x7fffffff0000\", \".asciz \\\"one\\\", "
	"\\\"semaphore\\\", \\\"\\\"\")\n"
	"NOTE(\"place\", \"_.stapsdt.base\", \"0\", \".asciz \\\"\\\", \\\"nameless\\\", "
	"\\\"\\\"\")\n"
	"NOTE(\"place\", \"_.stapsdt.base\", \"0\", \".ascii \\\"endless\\\"\")\n"
	"NOTE(\"place\", \"_.stapsdt.base\", \"0\", \"\")\n"
	"#endif\n"
	"int main(void) { place(); return counter; }\n";

static bool build(void)
{
	if (system("gcc --version >/dev/null 2>&1"))
		return false;
	write_file("notes.c", source);
	return shell("echo 'static int twice = 2; int *other_of_two(void) { return &twice; }' "
		     ">other.c && gcc -w -no-pie -o right notes.c other.c && "
		     "gcc -w -no-pie -DDAMAGED -o damaged notes.c other.c && "
		     "strip -o stripped right");
}

struct seen {
	struct text text;
	u64 first_offset, semaphore;
};

static int note_seen(void *data, const struct elf_usdt_note *note)
{
	struct seen *seen = data;

	if (!seen->first_offset) {
		seen->first_offset = note->file_offset;
		seen->semaphore = note->semaphore_file_offset;
	}
	text_appendf(&seen->text, "%s:%s(%s)+%llu%s ", note->provider, note->name, note->arguments,
		     (unsigned long long)(note->file_offset - seen->first_offset),
		     note->semaphore_file_offset ? "s" : "");
	return 0;
}

static int open_built(const char *name, struct elf_file **ret_file)
{
	struct err err = {0};
	char path[SCRATCH_PATH_BYTES];
	int fd = open(in_folder(path, name), O_RDONLY | O_CLOEXEC);

	CHECK_OK(elf_file_open(fd, path, ret_file, &err), err);
	return fd;
}

static void check_notes(const char *name, size_t expected_damaged)
{
	static const char expected[] = "one:first(4@%eax)+0s one:second()+1 one:moved()+0s ";
	struct elf_file *file = NULL;
	_cleanup_close_ int fd = open_built(name, &file);
	struct seen seen = {0};
	size_t damaged = 99;
	u16 counter = 0;

	CHECK_U64(elf_usdt_visit(file, note_seen, &seen, &damaged), 0);
	CHECK_STRING(text_string(&seen.text), expected);
	CHECK_U64(damaged, expected_damaged);
	CHECK(elf_file_read(file, seen.semaphore, &counter, sizeof(counter)) == sizeof(counter));
	CHECK_U64(counter, 7);
	text_free(&seen.text);
	elf_file_free(file);
}

TEST(notes_of_a_file)
{
	struct elf_variables variables = {0};
	struct elf_file *file = NULL;
	u64 address = 0;

	if (!build())
		SKIP("no gcc or binutils");
	check_notes("right", 0);
	check_notes("stripped", 0);
	check_notes("damaged", 5);
	_cleanup_close_ int fd = open_built("right", &file);

	CHECK_U64(elf_variables_load(file, &variables), 0);
	CHECK_U64(elf_variables_find(&variables, "counter", 7, &address), 0);
	CHECK(address);
	CHECK(elf_variables_find(&variables, "count", 5, &address) == -ENOENT);
	CHECK(elf_variables_find(&variables, "twice", 5, &address) == -ENOTUNIQ);
	elf_variables_free(&variables);
	elf_file_free(file);
}

static int stop_at_once(void *data, const struct elf_usdt_note *note)
{
	(*(unsigned *)data)++;
	return -ECANCELED;
}

TEST(a_visit_can_be_ended)
{
	struct elf_file *file = NULL;
	unsigned count = 0;

	if (!build())
		SKIP("no gcc or binutils");
	_cleanup_close_ int fd = open_built("right", &file);

	CHECK(elf_usdt_visit(file, stop_at_once, &count, NULL) == -ECANCELED);
	CHECK_U64(count, 1);
	elf_file_free(file);
}

/* ---- -U ---- */

TEST(patterns)
{
	static const struct {
		const char *text, *provider, *name, *binary;
		u32 strings;
		bool all, exclude;
	} rows[] = {
		{"a:b", "a", "b", NULL, 0, false, false},
		{"!a*:b?", "a*", "b?", NULL, 0, false, true},
		{"a:b@libc.so.6", "a", "b", "libc.so.6", 0, false, false},
		{"a:b:s@/usr/lib/x:y", "a", "b", "/usr/lib/x:y", 0, true, false},
		{"a:b:s0,11", "a", "b", NULL, 1 | 1 << 11, false, false},
		{"*:*:s3", "*", "*", NULL, 8, false, false},
	};
	static const char *const wrong[] = {
		"",	   "a",	      ":b",	"a:",	     "a:b@", "a:b:", "a:b:x",	"a:b:s12",
		"a:b:s0,", "a:b:s,0", "!a:b:s", "a:b:s0:s1", "@x",   "a@x",  "a:b:s999"};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct usdt_pattern pattern = {0};
		struct err err = {0};

		CHECK_OK(usdt_pattern_parse(rows[i].text, &pattern, &err), err);
		CHECK_STRING(pattern.provider, rows[i].provider);
		CHECK_STRING(pattern.name, rows[i].name);
		CHECK(!pattern.binary.binary == !rows[i].binary);
		if (rows[i].binary)
			CHECK_STRING(pattern.binary.binary, rows[i].binary);
		CHECK_U64(pattern.strings, rows[i].strings);
		CHECK(pattern.all_strings == rows[i].all && pattern.exclude == rows[i].exclude);
		usdt_pattern_free(&pattern);
	}
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct usdt_pattern pattern = {0};
		struct err err = {0};

		if (usdt_pattern_parse(wrong[i], &pattern, &err) != -EINVAL || !err.message[0])
			UNIT_FAIL("\"%s\" was taken", wrong[i]);
	}
}

/* ---- arguments of records ---- */

static struct record_header *point_new(void)
{
	struct record_header *record = calloc(1, RECORD_SIZE_MAX_BYTES);

	schema_record_clear(schema_kind(KIND_usdt_point), record);
	return record;
}

TEST(arguments_of_a_record)
{
	const struct schema_kind *kind = schema_kind(KIND_usdt_point);
	_cleanup_free_ struct record_header *record = point_new();
	static const struct record_arg_value values[] = {
		{.type = RECORD_ARG_SIGNED, .place = 0, .number = (u64)-5},
		{.type = RECORD_ARG_STRING, .place = 1, .string = "text \"x\"", .length_bytes = 8},
		{.type = RECORD_ARG_STRING_CUT, .place = 2, .string = "a", .length_bytes = 1},
		{.type = RECORD_ARG_UNREADABLE, .place = 3},
		{.type = RECORD_ARG_UNSIGNED, .place = 15, .number = 7, .group = RECORD_ARG_OF_END},
	};
	struct text text _cleanup_text_ = {0};
	struct record_arg_value value;
	struct record_args args;

	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		CHECK(record_args_add(kind, record, &values[i]));
	CHECK(record_args_valid(kind, record));
	CHECK_U64(record->size_bytes % 8, 0);
	args = record_args_begin(kind, record);
	while (record_args_next(&args, &value)) {
		text_append_char(&text, ' ');
		args_append_json(&text, &value);
	}
	CHECK_STRING(text_string(&text),
		     " \"arg0\":-5 \"arg1\":\"text \\\"x\\\"\" \"arg2\":\"a...\" \"arg3\":null "
		     "\"end.arg15\":7");
}

TEST(damaged_arguments_of_a_record)
{
	const struct schema_kind *kind = schema_kind(KIND_usdt_point);
	const struct record_arg_value value = {
		.type = RECORD_ARG_STRING, .string = "abc", .length_bytes = 3};
	size_t size = kind->size_bytes + sizeof(struct record_arg) + 8;

	for (size_t i = kind->size_bytes; i < size; i++)
		for (unsigned byte = 0; byte < 256; byte++) {
			_cleanup_free_ struct record_header *whole = point_new();
			struct record_arg_value seen;
			struct record_args args;

			record_args_add(kind, whole, &value);
			/* In memory of its own size, so that what reads beyond is found. */
			_cleanup_free_ u8 *record = malloc(size);

			memcpy(record, whole, size);
			record[i] = (u8)byte;
			args = record_args_begin(kind, (void *)record);
			while (record_args_next(&args, &seen))
				if (seen.string && seen.length_bytes &&
				    seen.string[seen.length_bytes - 1] == 1)
					CHECK(seen.length_bytes <= 8);
		}
}

TEST(too_many_arguments_of_a_record)
{
	const struct schema_kind *kind = schema_kind(KIND_usdt_point);
	_cleanup_free_ struct record_header *record = point_new();
	_cleanup_free_ char *string = calloc(1, 60000);
	const struct record_arg_value value = {
		.type = RECORD_ARG_STRING, .string = string, .length_bytes = 60000};

	CHECK(record_args_add(kind, record, &value));
	CHECK(!record_args_add(kind, record, &value));
	CHECK(record_args_valid(kind, record));
}

TEST(names_of_arguments)
{
	static const char *const wrong[] = {"",	    "arg",     "arg16", "arg-1", "arg1x",
					    "end.", "end.arg", "Arg1",	"arg 1"};
	struct record_arg_value value = {0};
	char name[RECORD_ARG_NAME_BYTES];

	CHECK(record_arg_parse_name("end.arg15", &value));
	CHECK_U64(value.place, 15);
	record_arg_name(&value, name);
	CHECK_STRING(name, "end.arg15");
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		CHECK(!record_arg_parse_name(wrong[i], &value));
}

static void check_key_values(const char *text, const char *expected)
{
	const struct record_arg_value value = {
		.type = RECORD_ARG_STRING, .string = text, .length_bytes = strlen(text)};
	struct text json _cleanup_text_ = {0};

	CHECK(args_append_key_values(&json, &value) == (expected != NULL));
	CHECK_STRING(text_string(&json), expected ? expected : "");
}

TEST(keys_and_values)
{
	check_key_values("step=3 phase=warm up", "\"step\":3,\"phase\":\"warm up\"");
	check_key_values("a=", "\"a\":\"\"");
	check_key_values("a= b=-12", "\"a\":\"\",\"b\":-12");
	check_key_values("a=01 b=- c=1.5", "\"a\":\"01\",\"b\":\"-\",\"c\":\"1.5\"");
	check_key_values("a=1 2 b=99999999999999999999",
			 "\"a\":\"1 2\",\"b\":\"99999999999999999999\"");
	check_key_values("a.b-c=\"q\"", "\"a.b-c\":\"\\\"q\\\"\"");
	check_key_values("no keys", NULL);
	check_key_values("", NULL);
	check_key_values("=1", NULL);
	check_key_values(" a=1", NULL);
}

UNIT_MAIN()
