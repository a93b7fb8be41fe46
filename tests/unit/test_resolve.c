/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of addresses: our own functions, and files that lie. */
#include "resolve/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "resolve/answers.h"
#include "resolve/function_names.h"
#include "resolve/jit_map.h"
#include "resolve/places.h"
#include "../bpf/record.h"
#include "unit.h"

static const struct resolve_limits limits = {60000000000ULL, 1ULL << 40, 1ULL << 30, {0}};

/* ---- symbols ---- */

static struct elf_symbol symbol(const char *name, u64 address, u64 size_bytes, bool global)
{
	return (struct elf_symbol){
		.name = name, .address = address, .size_bytes = size_bytes, .global = global};
}

static const char *name_at(const struct elf_symbols *symbols, u64 address)
{
	const struct elf_symbol *found = function_names_find(symbols, address);

	return found ? found->name : "none";
}

TEST(an_address_belongs_to_the_symbol_that_covers_it)
{
	struct elf_symbol items[] = {
		symbol("first", 0x1000, 0x10, true),	 symbol("outer", 0x2000, 0x100, true),
		symbol("inner", 0x2040, 0x10, false),	 symbol("sizeless", 0x3000, 0, true),
		symbol("far_sizeless", 0x4000, 0, true), symbol("last", 0x900000, 0, true),
	};
	const struct elf_symbols symbols = {.items = items, .count = ARRAY_SIZE(items)};

	CHECK_STRING(name_at(&symbols, 0xfff), "none");
	CHECK_STRING(name_at(&symbols, 0x1000), "first");
	CHECK_STRING(name_at(&symbols, 0x100f), "first");
	CHECK_STRING(name_at(&symbols, 0x1010), "none");
	CHECK_STRING(name_at(&symbols, 0x2045), "inner");
	CHECK_STRING(name_at(&symbols, 0x2050), "outer");
	CHECK_STRING(name_at(&symbols, 0x20ff), "outer");
	CHECK_STRING(name_at(&symbols, 0x2100), "none");
	CHECK_STRING(name_at(&symbols, 0x3fff), "sizeless");
	CHECK_STRING(name_at(&symbols, 0x4fff), "far_sizeless");
	CHECK_STRING(name_at(&symbols, 0x5000), "none");
	CHECK_STRING(name_at(&symbols, 0x900001), "none");
	CHECK_STRING(name_at(&symbols, ~0ULL), "none");
	CHECK_STRING(name_at(&(struct elf_symbols){0}, 0x1000), "none");
}

TEST(of_aliases_the_one_that_people_know)
{
	struct elf_symbol items[] = {
		symbol("__GI_read", 0x1000, 0x10, false),
		symbol("__read", 0x1000, 0x10, true),
		symbol("read", 0x1000, 0x10, true),
		symbol("read_again", 0x1000, 0x10, true),
	};
	const struct elf_symbols symbols = {.items = items, .count = ARRAY_SIZE(items)};

	CHECK_STRING(name_at(&symbols, 0x1008), "read");
}

TEST(a_size_that_overflows)
{
	struct elf_symbol items[] = {symbol("huge", 0x1000, ~0ULL, true),
				     symbol("end", ~0ULL, ~0ULL, true)};
	const struct elf_symbols symbols = {.items = items, .count = ARRAY_SIZE(items)};

	CHECK_STRING(name_at(&symbols, 0x5000), "huge");
	CHECK_STRING(name_at(&symbols, ~0ULL), "end");
}

/* ---- mappings ---- */

static struct resolve_mapping mapping(u32 id, u64 start, u64 end, int fd, u64 first_ns, u64 last_ns)
{
	return (struct resolve_mapping){.pid = 1,
					.id = id,
					.start = start,
					.end = end,
					.fd = fd,
					.first_seen_ns = first_ns,
					.last_seen_ns = last_ns,
					.path = fd == 7 ? "/a" : "/b"};
}

static u32 place_at(const struct resolve_mapping *mappings, size_t count, u64 address, u64 ts)
{
	struct resolve_address addresses[] = {{address, ts, ts, 1}};
	struct resolve_input input = {.mappings = mappings,
				      .mapping_count = count,
				      .addresses = addresses,
				      .address_count = 1};
	const struct resolve_mapping **places = places_find(&input);
	u32 id = places[0] ? places[0]->id : 0;

	free(places);
	return id;
}

TEST(what_was_mapped_there_at_the_time)
{
	const struct resolve_mapping mappings[] = {
		mapping(1, 0x1000, 0x3000, 7, 100, 200),
		mapping(2, 0x2000, 0x4000, 8, 300, 400), /* where the first one was */
		mapping(3, 0x8000, 0x9000, 7, 100, 400),
	};
	size_t count = ARRAY_SIZE(mappings);

	CHECK_U64(place_at(mappings, count, 0xfff, 150), 0);
	CHECK_U64(place_at(mappings, count, 0x1fff, 150), 1);
	CHECK_U64(place_at(mappings, count, 0x1fff, 350), 1); /* nothing else was ever seen there */
	CHECK_U64(place_at(mappings, count, 0x2fff, 150), 1);
	CHECK_U64(place_at(mappings, count, 0x2fff, 350), 2);
	CHECK_U64(place_at(mappings, count, 0x2fff, 250), 0); /* one of them, who knows which */
	CHECK_U64(place_at(mappings, count, 0x3fff, 150), 2);
	CHECK_U64(place_at(mappings, count, 0x4000, 150), 0);
	CHECK_U64(place_at(mappings, count, 0x8fff, 1), 3);
	CHECK_U64(place_at(mappings, 0, 0x8fff, 1), 0);
}

/* ---- JIT maps ---- */

struct jit {
	char names[4][64];
};

static void on_jit(void *data, size_t index, u64 start, const char *name, size_t length)
{
	snprintf(((struct jit *)data)->names[index], 64, "%.*s", (int)length, name);
}

static struct jit read_jit(const char *text, size_t length, const u64 *addresses, size_t count)
{
	_cleanup_close_ int fd = memfd_create("map", MFD_CLOEXEC);
	struct jit jit = {0};

	CHECK(write(fd, text, length) == (ssize_t)length);
	CHECK_U64(jit_map_read(fd, addresses, count, on_jit, &jit), 0);
	return jit;
}

TEST(a_jit_map_names_code)
{
	static const char text[] = "1000 10 first function()\n0x2000 0x20 second\n2000 8 third: in "
				   "place of its half\n";
	const u64 addresses[] = {0x1000, 0x100f, 0x2007, 0x2008};
	struct jit jit = read_jit(text, sizeof(text) - 1, addresses, 4);

	CHECK_STRING(jit.names[0], "first function()");
	CHECK_STRING(jit.names[1], "first function()");
	CHECK_STRING(jit.names[2], "third: in place of its half");
	CHECK_STRING(jit.names[3], "second");
}

TEST(lines_of_jit_maps_that_are_none)
{
	static const char *const texts[] = {
		"",
		"\n\n\n",
		"1000",
		"1000 ",
		"1000 10",
		"1000 10 ",
		"1000 10 \n",
		"zz 10 name\n",
		"1000 zz name\n",
		" 1000 10 name\n",
		"10000000000001000 10 name\n",
		"1000 0 name\n",
		"1001 ffffffffffffffff later\n",
		"-1000 10 name\n",
		"1000 10 unfinished",
		"0x 0x name\n",
	};
	const u64 addresses[] = {0x1000};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct jit jit = read_jit(texts[i], strlen(texts[i]), addresses, 1);

		CHECK_STRING(jit.names[0], "");
	}
}

TEST(a_line_of_a_jit_map_that_never_ends)
{
	size_t length = 3 << 20;
	_cleanup_free_ char *text = malloc(length);
	const u64 addresses[] = {0x1000};
	struct jit jit;

	memset(text, 'x', length);
	memcpy(text, "1000 10 ", 8);
	memcpy(text + length - 20, "\n1000 10 after it..\n", 20);
	jit = read_jit(text, length, addresses, 1);
	CHECK_STRING(jit.names[0], "after it..");
}

/* ---- what the other process sends ---- */

static int read_answers(struct answers *answers, const void *bytes, size_t size)
{
	int ends[2], result;

	CHECK(!pipe2(ends, O_CLOEXEC));
	CHECK(write(ends[1], bytes, size) == (ssize_t)size);
	close(ends[1]);
	while ((result = answers_read(answers, ends[0])) > 0)
		;
	close(ends[0]);
	return result;
}

TEST(nonsense_from_the_other_process_is_refused)
{
	static const struct wire_message bad[] = {
		{.type = 0},
		{.type = 99},
		{.type = WIRE_GROUP, .index = 3},
		{.type = WIRE_CUT, .index = ~0U},
		{.type = WIRE_FRAME, .index = 5},
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct answers answers = {.address_count = 5, .group_count = 3};

		CHECK_U64(answers_init(&answers), 0);
		CHECK(read_answers(&answers, &bad[i], sizeof(bad[i])) == -EPROTO);
		answers_free(&answers);
	}
}

TEST(half_a_message_is_none)
{
	struct {
		struct wire_message message;
		char text[8];
	} sent = {.message = {.type = WIRE_FRAME, .index = 1, .name_bytes = 5, .file_bytes = 3},
		  .text = "name\0c.c"};

	for (size_t size = 0; size <= sizeof(sent); size++) {
		struct answers answers = {.address_count = 5, .group_count = 3};

		CHECK_U64(answers_init(&answers), 0);
		CHECK_U64(read_answers(&answers, &sent, size), 0);
		CHECK_U64(answers.count, size == sizeof(sent));
		if (answers.count) {
			CHECK_STRING(answers.strings.strings[answers.items[0].name], "name");
			CHECK_STRING(answers.strings.strings[answers.items[0].file], "c.c");
		}
		answers_free(&answers);
	}
}

/* ---- all of it, on ourselves ---- */

static __attribute__((noinline)) void *here(void)
{
	return __builtin_return_address(0);
}

static inline __attribute__((always_inline)) void *inlined_here(void)
{
	void *address = here();

	__asm__ volatile("" ::: "memory");
	return address;
}

static __attribute__((noinline)) void *known_function(int *ret_line)
{
	*ret_line = __LINE__ + 1;
	return inlined_here();
}

struct seen {
	char names[8][128], files[8][256];
	struct resolve_frame frames[8];
	size_t count;
};

static int on_frame(void *data, const struct resolve_frame *frame)
{
	struct seen *seen = data;

	if (seen->count == ARRAY_SIZE(seen->frames))
		return 0;
	snprintf(seen->names[seen->count], 128, "%s", frame->name);
	snprintf(seen->files[seen->count], 256, "%s", frame->file);
	seen->frames[seen->count++] = *frame;
	return 0;
}

struct own {
	u64 address;
	struct resolve_mapping mapping;
};

static int on_object(struct dl_phdr_info *info, size_t size, void *data)
{
	struct own *own = data;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		u64 start = info->dlpi_addr + header->p_vaddr;

		if (header->p_type == PT_LOAD && own->address >= start &&
		    own->address - start < header->p_filesz)
			own->mapping = (struct resolve_mapping){.pid = 1,
								.id = 4,
								.start = start,
								.end = start + header->p_filesz,
								.file_offset = header->p_offset,
								.last_seen_ns = ~0ULL,
								.path = "/proc/self/exe",
								.fd = -1};
	}
	return 0;
}

static struct seen resolve_own(u64 address, int fd, const struct resolve_limits *with,
			       struct resolve_status *ret_status)
{
	struct own own = {.address = address};
	struct resolve_address addresses[] = {{address, 1, 1, 1}};
	struct resolve_process process = {.pid = 1, .root_fd = -1};
	struct resolve_input input = {&own.mapping, 1, &process, 1, addresses, 1};
	struct seen seen = {0};

	dl_iterate_phdr(on_object, &own);
	own.mapping.fd = fd;
	CHECK_U64(resolve_frames(&input, with, on_frame, &seen, ret_status, NULL), 0);
	return seen;
}

TEST(a_function_of_our_own_with_what_is_inlined_in_it)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct resolve_status status;
	int line = 0;
	u64 address = (u64)known_function(&line) - 1;
	struct seen seen = resolve_own(address, fd, &limits, &status);

	CHECK_U64(seen.count, 2);
	CHECK_STRING(seen.names[0], "inlined_here");
	CHECK_STRING(seen.names[1], "known_function");
	CHECK(strstr(seen.files[0], "test_resolve.c") && strstr(seen.files[1], "test_resolve.c"));
	CHECK_U64(seen.frames[1].line, line);
	CHECK(seen.frames[0].inlined && !seen.frames[1].inlined);
	CHECK_U64(seen.frames[0].origin, VALUE_frame_origin_debug_info);
	CHECK_U64(seen.frames[1].origin, VALUE_frame_origin_symbols);
	CHECK_U64(seen.frames[1].mapping, 4);
	CHECK_U64(status.named_count, 1);
	CHECK_U64(status.cut_count, 0);
}

TEST(time_that_is_over_and_debug_information_that_is_too_much)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct resolve_limits no_time = limits, no_debug = limits;
	struct resolve_status status;
	int line;
	u64 address = (u64)known_function(&line) - 1;
	struct seen seen;

	no_time.time_ns = 0;
	seen = resolve_own(address, fd, &no_time, &status);
	CHECK_U64(seen.count, 1);
	CHECK_STRING(seen.names[0], "");
	CHECK_U64(status.cut_count, 1);
	no_debug.debug_max_bytes = 100;
	seen = resolve_own(address, fd, &no_debug, &status);
	CHECK_U64(seen.count, 1);
	CHECK_STRING(seen.names[0], "known_function");
	CHECK_STRING(seen.files[0], "");
	CHECK_U64(status.cut_count, 1);
}

/* A copy of ourselves with bytes changed: names may be wrong or missing, but nothing crashes, and all ends. */
TEST(damaged_files)
{
	_cleanup_close_ int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct resolve_limits short_time = limits;
	struct resolve_status status;
	struct stat info;
	int line;
	u64 address = (u64)known_function(&line) - 1;

	short_time.time_ns = 2000000000ULL;
	CHECK(!fstat(own, &info));
	for (unsigned round = 0; round < 12; round++) {
		_cleanup_close_ int copy = memfd_create("copy", MFD_CLOEXEC);
		loff_t from = 0;

		while (copy_file_range(own, &from, copy, NULL, 1 << 30, 0) > 0)
			;
		if (from != info.st_size) {
			char chunk[65536];
			ssize_t got;

			for (from = 0; (got = pread(own, chunk, sizeof(chunk), from)) > 0;
			     from += got)
				CHECK(pwrite(copy, chunk, (size_t)got, from) == got);
		}
		srand(round);
		for (unsigned i = 0; i < 2000; i++) {
			unsigned char byte = (unsigned char)rand();
			off_t at = 64 + (((off_t)rand() << 16) ^ rand()) % (info.st_size - 64);

			CHECK(pwrite(copy, &byte, 1, at) == 1);
		}
		if (round >= 8)
			CHECK(!ftruncate(copy, info.st_size * (round - 7) / 5));
		(void)resolve_own(address, copy, &short_time, &status);
	}
}

TEST(no_file_at_all)
{
	_cleanup_close_ int empty = memfd_create("empty", MFD_CLOEXEC);
	struct resolve_status status;
	int line;
	u64 address = (u64)known_function(&line) - 1;
	struct seen seen = resolve_own(address, empty, &limits, &status);

	CHECK_U64(seen.count, 1);
	CHECK_STRING(seen.names[0], "");
	seen = resolve_own(address, -1, &limits, &status);
	CHECK_U64(seen.count, 1);
	CHECK_STRING(seen.names[0], "");
	CHECK_U64(status.unnamed_count, 1);
}

UNIT_MAIN()
