/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions of allocators are known by their names, with the prefixes that their libraries give them. */
#include "plan/heap_functions.h"

#include "unit.h"

static const struct allocator *found(const char *name)
{
	const struct allocator *row = heap_function_find(name);

	if (!row)
		UNIT_FAIL("%s is not known", name);
	return row;
}

static void check_unknown(const char *name)
{
	if (heap_function_find(name))
		UNIT_FAIL("%s is taken for an allocator", name);
}

TEST(prefixes_of_the_libraries)
{
	static const char *const names[] = {"malloc", "je_malloc", "tc_malloc", "mi_malloc",
					    "__libc_malloc"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		CHECK(found(names[i]) == found("malloc"));
	CHECK(found("mi_zalloc") && found("je_mallocx") && found("mallocx"));
}

TEST(names_that_are_no_allocators)
{
	static const char *const names[] = {
		"",
		"mall",
		"malloc_",
		"malloc_trim",
		"xmalloc",
		"je_",
		"je_je_malloc",
		"__libc_",
		"_malloc",
		"zalloc",
		"tc_mallocx",
		"mi_mallocx",
		"je_zalloc",
		"je__Znwm",
		"mi__ZdlPv",
		"freeaddrinfo",
		"mi_free_si",
		"__libc_freeres",
		"_ZnwmX",
		"_Zn",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		check_unknown(names[i]);
}

static void check_row(const char *name, u8 success, u8 released, u8 bytes, u8 factor)
{
	const struct allocator *row = found(name);

	if (!row)
		return;
	if (row->success != success || row->released != released || row->bytes != bytes ||
	    row->factors[0] != factor)
		UNIT_FAIL("%s: success %u, released %u, bytes %u, factor %u", name, row->success,
			  row->released, row->bytes, row->factors[0]);
}

/* By the declarations of the C library, jemalloc and mimalloc. */
TEST(where_they_have_what)
{
	check_row("malloc", ALLOCATOR_ADDRESS, 0, 1, 0);
	check_row("calloc", ALLOCATOR_ADDRESS, 0, 1, 2);
	check_row("realloc", ALLOCATOR_ADDRESS, 1, 2, 0);
	check_row("reallocarray", ALLOCATOR_ADDRESS, 1, 2, 3);
	check_row("memalign", ALLOCATOR_ADDRESS, 0, 2, 0);
	check_row("aligned_alloc", ALLOCATOR_ADDRESS, 0, 2, 0);
	check_row("posix_memalign", ALLOCATOR_ZERO, 0, 3, 0);
	check_row("free", ALLOCATOR_ALWAYS, 1, 0, 0);
	check_row("rallocx", ALLOCATOR_ADDRESS, 1, 2, 0);
	check_row("sdallocx", ALLOCATOR_ALWAYS, 1, 0, 0);
	check_row("mi_heap_malloc", ALLOCATOR_ADDRESS, 0, 2, 0);
	check_row("mi_heap_realloc", ALLOCATOR_ADDRESS, 2, 3, 0);
	check_row("mi_calloc_aligned", ALLOCATOR_ADDRESS, 0, 1, 2);
	check_row("_Znwm", ALLOCATOR_ADDRESS, 0, 1, 0);
	check_row("_ZdlPvm", ALLOCATOR_ALWAYS, 1, 0, 0);
	check_row("__interceptor_strdup", ALLOCATOR_ADDRESS, 0, 1, 0);
	CHECK_U64(found("___interceptor___strdup")->string, 1);
	CHECK_U64(found("posix_memalign")->address, 1);
	CHECK_U64(found("_ZnamSt11align_val_tRKSt9nothrow_t")->place, 1);
	CHECK_U64(found("mi_new")->place, 1);
	CHECK_U64(found("malloc")->place, 0);
}

TEST(operators)
{
	CHECK(heap_function_is_operator("_Znwm"));
	CHECK(heap_function_is_operator("_ZdaPv"));
	CHECK(!heap_function_is_operator("malloc"));
	CHECK(!heap_function_is_operator("_Z6mallocm"));
}

UNIT_MAIN()
