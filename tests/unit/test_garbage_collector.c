/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What collects CPython's garbage, found in files without names, against those that have them. */
#include "code/garbage_collector.h"

#include <glob.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "code/instruction.h"
#include "code_file.h"
#include "elf/elf_usdt.h"
#include "scratch_folder.h"
#include "unit.h"

/* ---- by hand ---- */

/* Each function does what the compiler does not see through; `main_part` is the truth, where it keeps its name. */
static const char source[] =
	"#define OTHER __attribute__((noinline, noclone)) static\n"
	"#define SEEN __attribute__((noinline, noclone, visibility(\"default\")))\n"
	"#define LINE \"gc: collecting generation %d...\\n\"\n"
	"extern int PySys_WriteStderr(const char *, ...) __attribute__((cold));\n"
	"extern int work(int *), debug;\n"
	"SEEN int make(int *a) { return work(a) + 2; }\n"
	"#ifdef SAYS_MORE\n"
	"#undef LINE\n"
	"#define LINE \"gc: collecting generation %d...\\n\" \"?\"\n"
	"#endif\n"
	"#ifdef MAIN_SEEN\n"
	"#define MAIN SEEN\n"
	"#else\n"
	"#define MAIN OTHER\n"
	"#endif\n"
	"MAIN int main_part(int *a) { int n = work(a); if (debug) PySys_WriteStderr(LINE, n); "
	"return n + work(a + 1); }\n"
	"#ifdef TWO\n"
	"OTHER int second(int *a) { int n = work(a + 7); if (debug) PySys_WriteStderr(LINE, n); "
	"return n * work(a + 2); }\n"
	"#endif\n"
	"OTHER int with_callback(int *a) { work(a); int n = main_part(a); work(a + n);\n"
	"#ifdef TWO\n"
	"	n += second(a);\n"
	"#endif\n"
	"	return n; }\n"
	"OTHER int deep(int *a) { work(a + 2); return with_callback(a) + work(a + 3); }\n"
	"OTHER int without(int *a) { return work(a) - make(a); }\n"
	"SEEN int by_itself(int *a) { return deep(a) + 1; }\n"
	"SEEN int NAME(int *a) {\n"
	"#if defined(TAIL)\n"
	"	return main_part(a + 1);\n"
	"#elif defined(NEXT)\n"
	"	return without(a) + main_part(a);\n"
	"#elif defined(DEEP)\n"
	"	return deep(a) + 2;\n"
	"#elif defined(ELSEWHERE)\n"
	"	return without(a) + 3;\n"
	"#else\n"
	"	return without(a) + with_callback(a);\n"
	"#endif\n"
	"}\n";

static const struct {
	const char *flags;
	bool found;
} cases[] = {
	{"-O2 -DNAME=PyGC_Collect", true},
	{"-O2 -DNAME=PyGC_Collect -DNEXT", true},
	{"-O2 -DNAME=PyGC_Collect -DTAIL", true},
	/* The line is in a part of its own, or not. */
	{"-O2 -DNAME=PyGC_Collect -fno-reorder-blocks-and-partition", true},
	{"-O0 -DNAME=PyGC_Collect", true},
	/* An executable that lies where it says, whose line is a number. */
	{"-O2 -DNAME=PyGC_Collect -DPROGRAM", true},
	/* It does not call it; too deep; there are two; nothing says the line; it has a name; none is exported. */
	{"-O2 -DNAME=PyGC_Collect -DELSEWHERE", false},
	{"-O2 -DNAME=PyGC_Collect -DDEEP", false},
	{"-O2 -DNAME=PyGC_Collect -DTWO", false},
	{"-O2 -DNAME=PyGC_Collect -DSAYS_MORE", false},
	{"-O2 -DNAME=PyGC_Collect -DMAIN_SEEN", false},
	{"-O2 -DNAME=PyGC_Other", false},
};

static bool build(const char *flags)
{
	bool program = strstr(flags, "PROGRAM");

	return shell("gcc %s %s -g0 -fno-ipa-icf -o with program.c %s && strip -o without with",
		     flags,
		     program ? "-fno-pie -no-pie -rdynamic -fvisibility=hidden"
			     : "-fPIC -shared -fvisibility=hidden",
		     program ? "rest.c" : "");
}

static struct garbage_collector collector_of(const char *path)
{
	struct code_file file = code_file_open(path);
	struct garbage_collector collector;

	CHECK_U64(garbage_collector_find(file.file, &file.symbols, &collector), 0);
	code_file_close(&file);
	return collector;
}

/* The symbol that the address is in, "": none. */
static const char *name_at(const struct code_file *file, u64 address)
{
	for (size_t i = 0; i < file->symbols.count; i++) {
		const struct elf_symbol *symbol = &file->symbols.items[i];

		if (address - symbol->address < symbol->size_bytes)
			return symbol->name;
	}
	return "";
}

/* Each part begins in a function of this name, or in what a compiler made of it. */
static void check_parts(const struct garbage_collector *collector, const char *path,
			const char *const *names, size_t name_count)
{
	struct code_file file = code_file_open(path);

	for (size_t i = 0; i < collector->count; i++) {
		const char *name = name_at(&file, collector->parts[i].address);
		size_t length = strcspn(name, "."), known = 0;

		for (size_t n = 0; n < name_count; n++)
			known += strlen(names[n]) == length && !strncmp(name, names[n], length);
		if (known != 1)
			UNIT_FAIL("%s: part %zu is of %s", path, i, name);
	}
	code_file_close(&file);
}

TEST(by_what_is_called_and_said)
{
	static const char *const names[] = {"main_part"};
	char with[SCRATCH_PATH_BYTES], without[SCRATCH_PATH_BYTES];

	if (system("gcc --version >/dev/null 2>&1"))
		SKIP("no gcc");
	write_file("program.c", source);
	write_file("rest.c", "int debug; int PySys_WriteStderr(const char *a, ...) { return !a; } "
			     "int work(int *a) { return *a; }\n"
			     "int main(void) { return 0; }\n");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct garbage_collector collector;

		if (!build(cases[i].flags))
			continue;
		collector = collector_of(in_folder(without, "without"));
		if ((collector.count > 0) != cases[i].found)
			UNIT_FAIL("%s: %zu parts", cases[i].flags, collector.count);
		check_parts(&collector, in_folder(with, "with"), names, ARRAY_SIZE(names));
	}
}

/* ---- what a file may cost ---- */

/* PyGC_Collect calls the collector and as many others, each of which calls as many more; each is what `body` makes of it. */
static void write_many(const char *path_name, size_t others, size_t more, const char *body)
{
	char path[SCRATCH_PATH_BYTES];
	FILE *file = fopen(in_folder(path, path_name), "w");

	CHECK(file != NULL);
	fprintf(file, "%s\n#define BODY %s\n", source, body);
	for (size_t i = 0; i < more; i++)
		fprintf(file, "OTHER int more%zu(int *a) { BODY return work(a + %zu) * %zu; }\n", i,
			i, i + 3);
	for (size_t i = 0; i < others; i++) {
		fprintf(file, "OTHER int other%zu(int *a) { int n = work(a + %zu);", i, i);
		for (size_t m = i; m < more; m += others)
			fprintf(file, " n += more%zu(a);", m);
		fprintf(file, " return n; }\n");
	}
	fprintf(file, "SEEN int PyGC_Collect(int *a) { int n = main_part(a);\n");
	for (size_t i = 0; i < others; i++)
		fprintf(file, "	n += other%zu(a);\n", i);
	fprintf(file, "	return n; }\n");
	fclose(file);
}

TEST(no_more_work_than_an_interpreter_takes)
{
	static const struct {
		size_t others, more;
		const char *body;
		bool found;
	} files[] = {
		{4, 8, "", true},
		{60, 0, "", true},
		/* More functions, by themselves or by what they call; more callees of one. */
		{8, 60, "", false},
		{60, 20, "", false},
		{80, 0, "", false},
		/* As few, of more instructions: each has 14,000. */
		{4, 8, "__asm__(\".rept 14000; inc %%eax; .endr\" ::: \"eax\");", true},
		{4, 24, "__asm__(\".rept 14000; inc %%eax; .endr\" ::: \"eax\");", false},
	};
	char without[SCRATCH_PATH_BYTES];

	if (system("gcc --version >/dev/null 2>&1"))
		SKIP("no gcc");
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct garbage_collector collector;

		write_many("program.c", files[i].others, files[i].more, files[i].body);
		if (!build("-O1 -DNAME=PyGC_Other"))
			continue;
		collector = collector_of(in_folder(without, "without"));
		if ((collector.count > 0) != files[i].found)
			UNIT_FAIL("file %zu: %zu parts", i, collector.count);
	}
}

TEST(a_decoder_reads_no_more_than_its_limit)
{
	static const u8 code[] = {0x90, 0x90, 0x90};
	struct instruction instruction;
	struct decoder *decoder;

	CHECK_U64(decoder_create(&decoder, NULL), 0);
	CHECK(!decoder_is_spent(decoder));
	decoder_limit(decoder, 2);
	CHECK(decoder_read(decoder, code, sizeof(code), 0, &instruction));
	CHECK(!decoder_is_spent(decoder));
	CHECK(decoder_read(decoder, code, sizeof(code), 0, &instruction));
	CHECK(decoder_is_spent(decoder));
	CHECK(!decoder_read(decoder, code, sizeof(code), 0, &instruction));
	decoder_free(decoder);
}

/* ---- of CPython ---- */

static const char *const collectors[] = {"gc_collect_main", "collect", "_PyGC_Collect"};

/* With its own names, and without them the same. */
static void check_stripped(const char *path)
{
	char without[SCRATCH_PATH_BYTES];
	struct garbage_collector collector;

	if (!shell("strip -o without %s", path))
		return;
	collector = collector_of(in_folder(without, "without"));
	check_parts(&collector, path, collectors, ARRAY_SIZE(collectors));
	if (!collector.count)
		UNIT_FAIL("%s: not found", path);
	else
		printf("# %s: %zu parts, %llu bytes\n", path, collector.count,
		       (unsigned long long)collector.parts[0].size_bytes);
}

struct starts {
	const struct garbage_collector *collector;
	size_t inside, outside;
};

/* What USDT calls the start and the end of a collection. */
static int start_note(void *data, const struct elf_usdt_note *note)
{
	struct starts *starts = data;

	if (strcmp(note->provider, "python") || strncmp(note->name, "gc__", 4))
		return 0;
	if (garbage_collector_holds(starts->collector, note->address))
		starts->inside++;
	else
		starts->outside++;
	return 0;
}

/* A program that is stripped has the places of its probes. */
static void check_probes(const char *path)
{
	struct code_file file = code_file_open(path);
	struct garbage_collector collector = {0};
	struct starts starts = {.collector = &collector};

	CHECK_U64(garbage_collector_find(file.file, &file.symbols, &collector), 0);
	CHECK_U64(elf_usdt_visit(file.file, start_note, &starts, NULL), 0);
	if (starts.inside + starts.outside) {
		CHECK(collector.count > 0);
		CHECK_U64(starts.outside, 0);
		printf("# %s: %zu parts from %#llx on, %zu probes in them\n", path, collector.count,
		       (unsigned long long)collector.parts[0].address, starts.inside);
	}
	code_file_close(&file);
}

static size_t each(const char *pattern, void (*check)(const char *path))
{
	glob_t paths = {0};
	size_t count = glob(pattern, 0, NULL, &paths) ? 0 : paths.gl_pathc;

	for (size_t i = 0; i < count; i++)
		check(paths.gl_pathv[i]);
	globfree(&paths);
	return count;
}

TEST(of_interpreters_without_their_names)
{
	if (system("strip --version >/dev/null 2>&1"))
		SKIP("no strip");
	if (!each("/root/.pyenv/versions/3.*/lib/libpython3.*[0-9].so.1.0", check_stripped))
		SKIP("no Python with its names here");
}

/* GPUPROBE_TEST_FILE=FILE: of this one too. */
TEST(of_interpreters_with_probes)
{
	const char *another = getenv("GPUPROBE_TEST_FILE");

	if (another)
		check_probes(another);
	if (!each("/usr/bin/python3.[0-9]*[0-9]", check_probes))
		SKIP("no Python of Debian here");
}

UNIT_MAIN()
