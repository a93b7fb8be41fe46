/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of code: built here by the compiler, taken apart by objcopy, damaged on purpose. */
#include "elf/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "go_tables.h"
#include "scratch_folder.h"
#include "unit.h"

static bool tools; /* compiler and binutils are there */

static const char source_c[] =
	"int alpha(int a) { return a * 3; }\n"
	"static __attribute__((noinline, noclone, used)) int beta(int a) { return a * 5; }\n"
	"int gamma_alias(int) __attribute__((alias(\"alpha\")));\n"
	"static int (*resolve(void))(int) { return beta; }\n"
	"int chosen(int) __attribute__((ifunc(\"resolve\")));\n"
	"int data_object = 7;\n"
	"extern int elsewhere(int);\n"
	"int versioned_1(int a) { return a + data_object; }\n"
	"__asm__(\".symver versioned_1,versioned@@VERS_1\");\n";
static const char source_cleanup[] =
	"extern void other(void);\n"
	"static void done(int *x) { *x = 0; other(); }\n"
	"void guarded(void) { int x __attribute__((cleanup(done))) = 1; other(); }\n"
	"#ifdef PROGRAM\n__attribute__((weak)) void other(void) { __asm__ volatile(\"\"); }\n"
	"int main(void) { guarded(); return 0; }\n#endif\n";
static const char source_cpp[] = "struct guard { ~guard(); };\nvoid other();\n"
				 "void guarded() { guard g; other(); }\n";

TEST(fixtures_are_built)
{
	if (system("gcc --version >/dev/null 2>&1 && objcopy --version >/dev/null 2>&1"))
		SKIP("no gcc or binutils");
	write_file("plain.c", source_c);
	write_file("cleanup.c", source_cleanup);
	write_file("throws.cc", source_cpp);
	write_file("version.map", "VERS_1 { global: *; };\n");
	write_file("main.c", "int main(void) { return 0; }\n");
	tools = shell("gcc -O1 -fPIC -shared -Wl,--build-id,--version-script=version.map "
		      "-Wl,-soname,libplain.so.3 -o libplain.so plain.c && "
		      "strip -o libstripped.so libplain.so && "
		      "gcc -O1 -fexceptions -fPIC -shared -o libcleanup.so cleanup.c && "
		      "strip -o libcleanup-stripped.so libcleanup.so && "
		      "gcc -O1 -fexceptions -no-pie -fno-pic -DPROGRAM -o cleanup cleanup.c && "
		      "gcc -O1 -fexceptions -pie -fPIE -DPROGRAM -o cleanup-pie cleanup.c && "
		      "gcc -o dynamic main.c && gcc -static -o static main.c && "
		      "gcc -static-pie -o static-pie main.c");
}

static int open_fixture(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static struct elf_file *open_elf(const char *name, int *ret_fd)
{
	struct elf_file *file = NULL;
	struct err err = {0};
	char path[256];

	*ret_fd = open_fixture(name);
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	CHECK_OK(elf_file_open(*ret_fd, path, &file, &err), err);
	return file;
}

static const struct elf_symbol *find(const struct elf_symbols *symbols, const char *name)
{
	for (size_t i = 0; i < symbols->count; i++) {
		if (strcmp(symbols->items[i].name, name) == 0)
			return &symbols->items[i];
	}
	return NULL;
}

/* Loads the symbols of a fixture; root: where its debug files are looked for. */
static struct elf_symbols load(const char *name, const char *root)
{
	struct elf_symbols symbols = {0};
	_cleanup_close_ int fd = -1;
	struct elf_file *file = open_elf(name, &fd);
	struct err err = {0};

	if (file)
		CHECK_OK(elf_symbols_load(file, root, &symbols, &err), err);
	elf_file_free(file);
	return symbols;
}

TEST(symbols_of_both_tables_are_merged)
{
	const struct elf_symbol *alpha, *beta, *alias, *chosen, *versioned;
	struct elf_symbols symbols;
	size_t alphas = 0;

	if (!tools)
		SKIP("no fixtures");
	symbols = load("libplain.so", "");
	alpha = find(&symbols, "alpha");
	beta = find(&symbols, "beta");
	alias = find(&symbols, "gamma_alias");
	chosen = find(&symbols, "chosen");
	versioned = find(&symbols, "versioned");
	CHECK(alpha && beta && alias && chosen && versioned);
	if (!alpha || !beta || !alias || !chosen)
		return;
	CHECK(alpha->global && !beta->global && alpha->size_bytes > 0 && !alpha->ifunc);
	CHECK_U64(alias->address, alpha->address);
	CHECK(chosen->ifunc);
	CHECK(!find(&symbols, "data_object") && !find(&symbols, "elsewhere"));
	CHECK(!symbols.stripped && !symbols.from_debug_file && !symbols.from_gnu_debugdata);
	for (size_t i = 0; i < symbols.count; i++) {
		alphas += strcmp(symbols.items[i].name, "alpha") == 0;
		CHECK(!strchr(symbols.items[i].name, '@'));
		CHECK(i == 0 || symbols.items[i - 1].address <= symbols.items[i].address);
	}
	CHECK_U64(alphas, 1);
	elf_symbols_free(&symbols);
}

TEST(a_stripped_file_has_its_exported_functions)
{
	struct elf_symbols symbols;

	if (!tools)
		SKIP("no fixtures");
	symbols = load("libstripped.so", "");
	CHECK(find(&symbols, "alpha") && find(&symbols, "versioned") && !find(&symbols, "beta"));
	CHECK(symbols.stripped);
	elf_symbols_free(&symbols);
}

/* ---- debug files ---- */

TEST(a_debug_file_is_found_by_link_and_checksum)
{
	struct elf_symbols symbols;

	if (!tools || !shell("mkdir -p link/.debug link-wrong && "
			     "objcopy --only-keep-debug libplain.so link/plain.debug && "
			     "objcopy -R .note.gnu.build-id libstripped.so link/lib.so && "
			     "cd link && objcopy --add-gnu-debuglink=plain.debug lib.so && "
			     "cp lib.so ../link-wrong/ && cp plain.debug ../link-wrong/ && "
			     "printf x >> ../link-wrong/plain.debug"))
		SKIP("no fixtures");
	symbols = load("link/lib.so", "");
	CHECK(symbols.from_debug_file && !symbols.stripped && find(&symbols, "beta"));
	elf_symbols_free(&symbols);
	/* beside it in .debug */
	CHECK(shell("mv link/plain.debug link/.debug/"));
	symbols = load("link/lib.so", "");
	CHECK(symbols.from_debug_file && find(&symbols, "beta"));
	elf_symbols_free(&symbols);
	symbols = load("link-wrong/lib.so", "");
	CHECK(!symbols.from_debug_file && symbols.stripped && !find(&symbols, "beta"));
	elf_symbols_free(&symbols);
}

/* Puts a debug file where ROOT/usr/lib/debug/.build-id has it: command gets its path in $D. */
static bool place_by_build_id(const char *root, const char *command)
{
	_cleanup_close_ int fd = -1;
	struct elf_file *file = open_elf("libplain.so", &fd);
	u8 id[ELF_BUILD_ID_MAX_BYTES];
	char hex[2 * ELF_BUILD_ID_MAX_BYTES + 1] = "";
	size_t size = file ? elf_file_build_id(file, id) : 0;

	elf_file_free(file);
	CHECK_U64(size, 20);
	for (size_t i = 0; i < size; i++)
		sprintf(hex + 2 * i, "%02x", id[i]);
	return size && shell("P=%s/usr/lib/debug/.build-id/%.2s; D=$P/%s.debug; rm -rf $P; "
			     "mkdir -p $P; %s",
			     root, hex, hex + 2, command);
}

TEST(a_debug_file_is_found_by_build_id_inside_the_root)
{
	struct elf_symbols symbols;
	char root[256];

	snprintf(root, sizeof(root), "%s/root", folder);
	if (!tools || !place_by_build_id("root", "objcopy --only-keep-debug libplain.so $D"))
		SKIP("no fixtures");
	symbols = load("libstripped.so", root);
	CHECK(symbols.from_debug_file && find(&symbols, "beta"));
	elf_symbols_free(&symbols);

	/* An absolute link means the target's root, not ours. */
	CHECK(place_by_build_id("root", "objcopy --only-keep-debug libplain.so root/real.debug; "
					"ln -s /real.debug $D"));
	symbols = load("libstripped.so", root);
	CHECK(symbols.from_debug_file);
	elf_symbols_free(&symbols);
	CHECK(place_by_build_id("root", "cp root/real.debug outside.debug; "
					"ln -s ../../../../../../../outside.debug $D"));
	symbols = load("libstripped.so", root);
	CHECK(!symbols.from_debug_file);
	elf_symbols_free(&symbols);
}

TEST(a_wrong_debug_file_is_not_used)
{
	static const char *const commands[] = {
		"cp dynamic $D",		/* another build id */
		"printf 'not an ELF file' >$D", /* no ELF */
		": >$D",			/* empty */
		"mkdir $D",			/* a folder */
		"mkfifo $D",			/* opening it would wait for ever */
		"ln -s $D $D",			/* leads nowhere */
	};
	char root[256];

	if (!tools)
		SKIP("no fixtures");
	snprintf(root, sizeof(root), "%s/wrong", folder);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		struct elf_symbols symbols;

		CHECK(place_by_build_id("wrong", commands[i]));
		symbols = load("libstripped.so", root);
		if (symbols.from_debug_file || !symbols.stripped || !find(&symbols, "alpha"))
			UNIT_FAIL("%s", commands[i]);
		elf_symbols_free(&symbols);
	}
}

TEST(mini_debug_info_is_unpacked)
{
	struct elf_symbols symbols;

	if (!tools || system("xz --version >/dev/null 2>&1"))
		SKIP("no fixtures, or no xz");
	CHECK(shell("objcopy --only-keep-debug libplain.so mini && xz -kf mini && "
		    "objcopy --add-section .gnu_debugdata=mini.xz libstripped.so libmini.so && "
		    "head -c 300 mini.xz >cut.xz && "
		    "objcopy --add-section .gnu_debugdata=cut.xz libstripped.so libcut.so && "
		    "head -c 140M /dev/zero | xz -0 >bomb.xz && "
		    "objcopy --add-section .gnu_debugdata=bomb.xz libstripped.so libbomb.so"));
	symbols = load("libmini.so", "");
	CHECK(symbols.from_gnu_debugdata && !symbols.stripped && find(&symbols, "beta"));
	elf_symbols_free(&symbols);
	symbols = load("libcut.so", "");
	CHECK(!symbols.from_gnu_debugdata && find(&symbols, "alpha"));
	elf_symbols_free(&symbols);
	symbols = load("libbomb.so", "");
	CHECK(!symbols.from_gnu_debugdata && find(&symbols, "alpha"));
	elf_symbols_free(&symbols);
}

/* ---- Go's own table ---- */

static void check_go_functions(const struct elf_symbols *symbols)
{
	const struct elf_symbol *first = find(symbols, "main.first");
	const struct elf_symbol *second = find(symbols, "main.(*T).second");

	CHECK(symbols->from_go_table && !symbols->stripped);
	CHECK(first && second);
	if (!first || !second)
		return;
	CHECK_U64(first->address % 32, 1);
	CHECK_U64(first->size_bytes, 3);
	CHECK_U64(second->address, first->address + 3);
	CHECK_U64(second->size_bytes, 2);
}

TEST(stripped_go_programs_have_the_names_of_their_own_table)
{
	static const char *const layouts[] = {"12", "116", "118", "120", "126"};

	if (!tools)
		SKIP("no fixtures");
	write_file("go.S", go_source);
	for (size_t i = 0; i < 2 * ARRAY_SIZE(layouts); i++) {
		struct elf_symbols symbols;

		CHECK(shell("gcc %s -DGO=%s -o go go.S && cp go go%s && strip go",
			    i % 2 ? "-pie -fPIE" : "-no-pie", layouts[i / 2], layouts[i / 2]));
		symbols = load("go", "");
		check_go_functions(&symbols);
		elf_symbols_free(&symbols);
	}
	/* What has symbols is named by these. */
	struct elf_symbols symbols = load("go120", "");

	CHECK(!symbols.from_go_table && find(&symbols, "main"));
	elf_symbols_free(&symbols);
}

/* Go's linker is the judge: each function that a program's symbols name is named by the table of the same program stripped. */
TEST(the_table_of_a_real_go_program_names_what_its_symbols_name)
{
	static const char *const modes[] = {"exe", "pie"};

	if (!tools || system("go version >/dev/null 2>&1"))
		SKIP("no go");
	write_file("real.go", "package main\n\ntype T struct{ a int }\n\n//go:noinline\nfunc (t "
			      "*T) Work(n int) int { return t.a * n }\n\n"
			      "func main() { println((&T{3}).Work(4)) }\n");
	for (size_t m = 0; m < ARRAY_SIZE(modes); m++) {
		struct elf_symbols whole, stripped;
		size_t compared = 0, wrong = 0;

		CHECK(shell("HOME=$PWD GOFLAGS=-mod=mod CGO_ENABLED=0 go build -buildmode=%s -o "
			    "real real.go "
			    "&& strip -o real-stripped real",
			    modes[m]));
		whole = load("real", "");
		stripped = load("real-stripped", "");
		CHECK(!whole.from_go_table && stripped.from_go_table);
		CHECK(find(&stripped, "main.(*T).Work"));
		for (size_t i = 0; i < whole.count; i++) {
			const struct elf_symbol *symbol = &whole.items[i];
			size_t at = elf_symbols_up_to(&stripped, symbol->address);

			/* The linker's own marks (runtime.text) have no size. */
			if (!symbol->size_bytes)
				continue;
			compared++;
			wrong += !at || stripped.items[at - 1].address != symbol->address ||
				 stripped.items[at - 1].size_bytes < symbol->size_bytes;
		}
		CHECK(compared > 1000);
		CHECK_U64(wrong, 0);
		elf_symbols_free(&whole);
		elf_symbols_free(&stripped);
	}
}

/* ---- what a file is ---- */

static bool ask(const char *name, bool (*question)(struct elf_file *file))
{
	_cleanup_close_ int fd = -1;
	struct elf_file *file = open_elf(name, &fd);
	bool answer = file && question(file);

	elf_file_free(file);
	return answer;
}

static bool is_static(struct elf_file *file)
{
	return elf_file_is_static(file);
}

static bool is_go(struct elf_file *file)
{
	return elf_file_is_go(file);
}

TEST(personality_routines_are_told_apart)
{
	if (!tools)
		SKIP("no fixtures");
	CHECK(!ask("libplain.so", elf_file_has_personality));
	CHECK(!ask("dynamic", elf_file_has_personality));
	/* C's own, by relocation, by symbol, in position-dependent code. */
	CHECK(!ask("libcleanup.so", elf_file_has_personality));
	CHECK(!ask("libcleanup-stripped.so", elf_file_has_personality));
	CHECK(!ask("cleanup", elf_file_has_personality));
	CHECK(!ask("cleanup-pie", elf_file_has_personality));
	CHECK(shell("readelf --debug-dump=frames libcleanup.so | grep -q 'zP'"));
	CHECK(shell("readelf --debug-dump=frames cleanup | grep -q 'zP'"));
	/* No unwind tables: in doubt it can throw. */
	CHECK(shell("objcopy -R .eh_frame -R .eh_frame_hdr libplain.so libnoframe.so"));
	CHECK(ask("libnoframe.so", elf_file_has_personality));
	if (system("g++ --version >/dev/null 2>&1"))
		SKIP("no g++: C++ not tried");
	CHECK(shell("g++ -O1 -fPIC -shared -o libthrows.so throws.cc && "
		    "strip -o libthrows-stripped.so libthrows.so"));
	CHECK(ask("libthrows.so", elf_file_has_personality));
	CHECK(ask("libthrows-stripped.so", elf_file_has_personality));
}

TEST(static_and_go_programs_are_recognised)
{
	if (!tools)
		SKIP("no fixtures");
	CHECK(!ask("dynamic", is_static));
	CHECK(ask("static", is_static));
	CHECK(ask("static-pie", is_static));
	CHECK(!ask("dynamic", is_go));
	CHECK(shell("objcopy --add-section .gopclntab=main.c dynamic go1 && "
		    "objcopy --add-section .data.rel.ro.gopclntab=main.c dynamic go2 && "
		    "objcopy --add-section .go.buildinfo=main.c dynamic go3"));
	CHECK(ask("go1", is_go) && ask("go2", is_go) && ask("go3", is_go));
}

TEST(soname_is_read)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *soname = NULL;
	struct elf_file *file;

	if (!tools)
		SKIP("no fixtures");
	file = open_elf("libplain.so", &fd);
	soname = elf_file_soname(file);
	CHECK_STRING(soname, "libplain.so.3");
	elf_file_free(file);
}

/* Linked by, looked up by itself, at the seam of two pieces that are read, and only in its code or debug sections. */
TEST(words_of_a_file_are_found)
{
	static const struct {
		const char *source, *arguments;
		bool found;
	} files[] = {
		{"extern int plain_wanted(void); int f(void) { return plain_wanted(); }", "", true},
		{"const char *f(void) { return \"plain_wanted\"; }", "", true},
		{"const char *f(void) { return \"plain_wanted_too\"; }", "", false},
		{"const char *f(void) { return \"is_plain_wanted\"; }", "", true},
		{"char a[1048570] = {1}; __asm__(\".section .rodata; .skip 1048570; .asciz "
		 "\\\"plain_wanted\\\"\");",
		 "", true},
		{"int plain_wanted; __attribute__((visibility(\"hidden\"))) int plain_wanted;",
		 "-g", false},
	};

	if (!tools)
		SKIP("no fixtures");
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		_cleanup_close_ int fd = -1;
		struct elf_file *file;

		write_file("words.c", files[i].source);
		CHECK(shell("gcc -O1 -fPIC -shared %s -o words.so words.c", files[i].arguments));
		file = open_elf("words.so", &fd);
		if (elf_file_has_word(file, "plain_wanted") != files[i].found)
			UNIT_FAIL("%s", files[i].source);
		elf_file_free(file);
	}
}

__attribute__((noinline)) static int known_function(int a)
{
	__asm__ volatile("");
	return a * 77 + 1;
}

TEST(addresses_lead_to_the_bytes_that_run)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_symbols symbols = {0};
	const struct elf_symbol *symbol;
	struct elf_file *file;
	struct err err = {0};
	u8 bytes[16];
	u64 offset;

	CHECK_OK(elf_file_open(fd, "/proc/self/exe", &file, &err), err);
	CHECK_OK(elf_symbols_load(file, "", &symbols, &err), err);
	symbol = find(&symbols, "known_function");
	CHECK(symbol && known_function(1) == 78);
	if (symbol) {
		CHECK(elf_file_offset(file, symbol->address, &offset) == 0);
		CHECK_U64(elf_file_read(file, offset, bytes, sizeof(bytes)), sizeof(bytes));
		CHECK(memcmp(bytes, (void *)known_function, sizeof(bytes)) == 0);
	}
	CHECK(elf_file_offset(file, 0xffffffffffff0000, &offset) == -ENOENT);
	CHECK(elf_file_read(file, 1ULL << 62, bytes, sizeof(bytes)) == 0);
	elf_symbols_free(&symbols);
	elf_file_free(file);
}

/* ---- damage ---- */

TEST(what_is_no_64_bit_elf_file_is_refused)
{
	static const char *const commands[] = {
		": >bad",
		"printf hello >bad",
		"printf '\\177ELF' >bad",
		"cp libplain.so bad && printf '\\001' | dd of=bad bs=1 seek=4 "
		"conv=notrunc", /* 32-bit
				 */
		"cp libplain.so bad && printf '\\002' | dd of=bad bs=1 seek=5 "
		"conv=notrunc", /* MSB
				 */
		"cp libplain.so bad && printf '\\267' | dd of=bad bs=1 seek=18 "
		"conv=notrunc", /* ARM
				 */
		"rm -f bad && printf '!<arch>\\n' >bad",
	};

	if (!tools)
		SKIP("no fixtures");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		_cleanup_close_ int fd = -1;
		struct elf_file *file = NULL;
		struct err err = {0};

		CHECK(shell("%s", commands[i]));
		fd = open_fixture("bad");
		if (elf_file_open(fd, "bad", &file, &err) != -ENOEXEC || !err.message[0])
			UNIT_FAIL("%s", commands[i]);
		elf_file_free(file);
	}
}

static void read_all(int fd)
{
	struct elf_binding binding;
	struct elf_symbols symbols;
	struct elf_file *file;
	u8 id[ELF_BUILD_ID_MAX_BYTES];
	u64 offset;

	if (elf_file_open(fd, "damaged", &file, NULL))
		return;
	elf_file_build_id(file, id);
	elf_file_is_go(file);
	elf_file_is_static(file);
	free(elf_file_soname(file));
	elf_file_has_word(file, "cuptiSubscribe_v2");
	elf_file_has_personality(file);
	for (u64 slot = 0x3e00; slot < 0x4100; slot += 8)
		if (!elf_file_binding(file, slot, &binding))
			CHECK(strlen(binding.name) < sizeof(binding.name));
	if (!elf_symbols_load(file, "", &symbols, NULL)) {
		for (size_t i = 0; i < symbols.count; i++) {
			CHECK(strlen(symbols.items[i].name) > 0);
			CHECK(!elf_file_offset(file, symbols.items[i].address, &offset));
		}
		elf_symbols_free(&symbols);
	}
	elf_file_free(file);
}

/* The sanitizers are the judges. */
TEST(a_damaged_file_does_no_harm)
{
	static const char *const names[] = {"libplain.so", "libcleanup.so", "libmini.so", "go"};
	unsigned seed = 1;

	if (!tools)
		SKIP("no fixtures");
	for (size_t n = 0; n < ARRAY_SIZE(names); n++) {
		_cleanup_close_ int source = open_fixture(names[n]);
		_cleanup_close_ int fd = memfd_create("damaged", MFD_CLOEXEC);
		static u8 content[65536], damaged[65536];
		ssize_t size = source < 0 ? 0 : pread(source, content, sizeof(content), 0);

		for (int round = 0; round < 400 && size > 0; round++) {
			size_t length = (size_t)size;

			memcpy(damaged, content, length);
			for (int i = 0; i < 1 + round % 8; i++) {
				/* Most of the meaning is in the first and last part. */
				size_t at = (size_t)rand_r(&seed) % (round % 2 ? length : 1024);

				if (round % 3 == 0)
					at = length - 1 - at % 2048;
				damaged[at % length] =
					(u8)(rand_r(&seed) % 3 ? rand_r(&seed) : 0xff);
			}
			if (round % 5 == 0)
				length = (size_t)rand_r(&seed) % length;
			if (ftruncate(fd, 0) || pwrite(fd, damaged, length, 0) != (ssize_t)length)
				abort();
			read_all(fd);
		}
	}
}

UNIT_MAIN()
