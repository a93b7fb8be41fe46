/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A library that this process has mapped is planned, then changed: in its file, then in memory alone. */
#include "plan/site_check.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "code/instruction.h"
#include "scratch_folder.h"
#include "unit.h"

#define PAGE 4096

static const char library_source[] =
	"__asm__(\".text\\n.globl one, two, three\\n"
	".balign 4096\\n.type one, @function\\none: push %rbx\\npop %rbx\\nret\\n.size one, . - "
	"one\\n"
	".balign 4096\\n.type two, @function\\ntwo: mov $2, %eax\\nret\\n.size two, . - two\\n"
	".balign 4096\\n.type three, @function\\nthree: mov $3, %eax\\nret\\n.size three, . - "
	"three\\n"
	".balign 4096\\n\");\n";

/* With exits: they are compared too. */
static const struct plan_limits limits = {.returns = PLAN_RETURNS_STEPPED, .max_functions = 10};

struct fixture {
	u8 *code; /* the whole file, mapped by no loader that would run some of it */
	size_t size_bytes;
	struct target target;
	struct plan *plan;
};

static bool build_library(const char *name)
{
	write_file("library.c", library_source);
	return shell("cc -shared -fPIC -o %s library.c", name);
}

static bool fixture_map(const char *name, struct fixture *ret_fixture)
{
	const char *patterns[] = {"libsites*.so:one", "libsites*.so:two", "libsites*.so:three"};
	char path[SCRATCH_PATH_BYTES];
	_cleanup_close_ int fd = -1;
	struct err err = {0};
	struct stat status;

	*ret_fixture = (struct fixture){NULL};
	fd = open(in_folder(path, name), O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0 && !fstat(fd, &status));
	ret_fixture->size_bytes = (size_t)status.st_size;
	ret_fixture->code =
		mmap(NULL, ret_fixture->size_bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	CHECK(ret_fixture->code != MAP_FAILED);
	CHECK_OK(target_open((u32)getpid(), false, &ret_fixture->target, &err), err);
	CHECK_OK(plan_build(&ret_fixture->target, 1, (char *const *)patterns, 3, &limits,
			    &ret_fixture->plan, &err),
		 err);
	return ret_fixture->plan;
}

static bool fixture_open(const char *name, struct fixture *ret_fixture)
{
	return build_library(name) && fixture_map(name, ret_fixture);
}

static void fixture_close(struct fixture *fixture)
{
	plan_free(fixture->plan);
	target_close(&fixture->target);
	munmap(fixture->code, fixture->size_bytes);
}

static struct plan_function *find(const struct fixture *fixture, const char *name)
{
	for (size_t i = 0; i < fixture->plan->function_count; i++)
		if (!strcmp(fixture->plan->functions[i].name, name))
			return &fixture->plan->functions[i];
	UNIT_FAIL("%s is not planned", name);
	exit(1);
}

/* Only this function is left out, and the words are said; NULL: none is. */
static void check_changed(const struct fixture *fixture, const char *name, const char *words)
{
	struct site_changes changes = {0};

	for (size_t i = 0; i < fixture->plan->function_count; i++)
		fixture->plan->functions[i].changed = false;
	CHECK_U64(site_check(fixture->plan, &fixture->target, 1, &changes), 0);
	CHECK_U64(changes.count, name != NULL);
	for (size_t i = 0; i < fixture->plan->function_count; i++)
		CHECK_U64(fixture->plan->functions[i].changed,
			  name && !strcmp(fixture->plan->functions[i].name, name));
	if (name && (strncmp(changes.first, name, strlen(name)) || !strstr(changes.first, words)))
		UNIT_FAIL("\"%s\" says not \"%s\" of %s", changes.first, words, name);
}

static void write_library(const char *name, u64 offset, u8 byte)
{
	char path[SCRATCH_PATH_BYTES];
	_cleanup_close_ int fd = open(in_folder(path, name), O_WRONLY | O_CLOEXEC);

	CHECK(fd >= 0 && pwrite(fd, &byte, 1, (off_t)offset) == 1);
}

static void write_memory(void *address, u8 byte)
{
	void *page = (void *)((uintptr_t)address & -(uintptr_t)PAGE);

	CHECK_U64(mprotect(page, PAGE, PROT_READ | PROT_WRITE), 0);
	*(u8 *)address = byte;
	CHECK_U64(mprotect(page, PAGE, PROT_READ | PROT_EXEC), 0);
}

TEST(what_is_as_it_was_is_left_in)
{
	struct fixture fixture;

	if (!fixture_open("libsites.so", &fixture))
		SKIP("no cc");
	CHECK_U64(fixture.plan->function_count, 3);
	for (size_t i = 0; i < fixture.plan->function_count; i++)
		CHECK_U64(fixture.plan->functions[i].site_count, 1);
	check_changed(&fixture, NULL, NULL);
	fixture_close(&fixture);
}

TEST(memory_that_takes_no_breakpoint)
{
	struct fixture fixture;
	void *page;

	if (!fixture_open("libsites_writable.so", &fixture))
		SKIP("no cc");
	page = fixture.code + find(&fixture, "two")->file_offset / PAGE * PAGE;
	CHECK_U64(mprotect(page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
	check_changed(&fixture, "two", "can write to the code there");
	CHECK(find(&fixture, "two")->unreached);
	CHECK_U64(mprotect(page, PAGE, PROT_READ | PROT_EXEC), 0);
	fixture_close(&fixture);
}

TEST(a_file_that_is_written_to_after_it_was_planned)
{
	struct fixture fixture;
	u64 exit_offset;

	if (!fixture_open("libsites_file.so", &fixture))
		SKIP("no cc");
	/* mov $2 -> mov $9 */
	write_library("libsites_file.so", find(&fixture, "two")->file_offset + 1, 9);
	check_changed(&fixture, "two", "the file was changed since the probes were planned");
	write_library("libsites_file.so", find(&fixture, "two")->file_offset + 1, 2);
	check_changed(&fixture, NULL, NULL);
	/* Its exit: ret -> nop */
	exit_offset = find(&fixture, "one")->sites[0].file_offset;
	write_library("libsites_file.so", exit_offset, 0x90);
	check_changed(&fixture, "one", "the file was changed since the probes were planned");
	/* In a file a breakpoint is what somebody has written. */
	write_library("libsites_file.so", exit_offset, 0xcc);
	check_changed(&fixture, "one", "the file was changed since the probes were planned");
	fixture_close(&fixture);
}

TEST(a_file_that_is_cut_off)
{
	struct fixture fixture;
	char path[SCRATCH_PATH_BYTES];

	if (!fixture_open("libsites_cut.so", &fixture))
		SKIP("no cc");
	CHECK_U64(truncate(in_folder(path, "libsites_cut.so"),
			   (off_t)find(&fixture, "three")->file_offset + 2),
		  0);
	check_changed(&fixture, "three", "the file was changed");
	fixture_close(&fixture);
}

TEST(memory_that_is_patched)
{
	struct fixture fixture;
	u8 *two, *three;

	if (!fixture_open("libsites_memory.so", &fixture))
		SKIP("no cc");
	two = fixture.code + find(&fixture, "two")->file_offset;
	three = fixture.code + find(&fixture, "three")->file_offset;
	write_memory(three + 1, 9);
	check_changed(&fixture, "three", "in the memory of process");
	/* Of several one is named. */
	write_memory(three + 1, 3);
	write_memory(two, 0xe9);
	check_changed(&fixture, "two", "it was patched");
	/* What the kernel puts there for a probe of somebody's. */
	write_memory(two, 0xcc);
	check_changed(&fixture, NULL, NULL);
	fixture_close(&fixture);
}

/* one: push; pop; ret, of which the pop is not probed. */
TEST(memory_that_is_patched_between_the_places)
{
	struct fixture fixture;
	u8 *one;

	if (!fixture_open("libsites_between.so", &fixture))
		SKIP("no cc");
	one = fixture.code + find(&fixture, "one")->file_offset;
	write_memory(one + 1, 0x90);
	check_changed(&fixture, "one", "it was patched");
	write_memory(one + 1, 0x5b);
	check_changed(&fixture, NULL, NULL);
	/* A breakpoint that the kernel has put over the first byte of a patch. */
	for (size_t i = 0; i < 5; i++)
		write_memory(one + i, i ? 0x11 : 0xcc);
	check_changed(&fixture, "one", "it was patched");
	fixture_close(&fixture);
}

TEST(memory_behind_the_function_is_not_its_own)
{
	struct fixture fixture;
	u8 *two;

	if (!fixture_open("libsites_behind.so", &fixture))
		SKIP("no cc");
	two = fixture.code + find(&fixture, "two")->file_offset;
	write_memory(two + 6, 0x11);
	check_changed(&fixture, NULL, NULL);
	fixture_close(&fixture);
}

TEST(memory_that_may_not_be_read)
{
	struct fixture fixture;
	u8 *two;

	if (!fixture_open("libsites_hidden.so", &fixture))
		SKIP("no cc");
	two = fixture.code + find(&fixture, "two")->file_offset;
	write_memory(two + 1, 9);
	CHECK_U64(mprotect((void *)((uintptr_t)two & -(uintptr_t)PAGE), PAGE, PROT_NONE), 0);
	CHECK_U64(mprotect((void *)((uintptr_t)two & -(uintptr_t)PAGE), PAGE, PROT_EXEC), 0);
	check_changed(&fixture, "two", "it was patched");
	fixture_close(&fixture);
}

TEST(offsets_beside_a_plan)
{
	struct site_changes changes = {0};
	struct fixture fixture;
	u64 places[3], cookies[3] = {1, 2, 3};
	struct site_offsets offsets = {.offsets = places, .cookies = cookies, .count = 3};
	const struct code_module *module;

	if (!fixture_open("libsites_offsets.so", &fixture))
		SKIP("no cc");
	places[0] = find(&fixture, "one")->file_offset;
	places[1] = find(&fixture, "two")->file_offset;
	places[2] = 1 << 30; /* behind the end of the file */
	module = &fixture.plan->modules[find(&fixture, "one")->module];
	offsets.path = module->path;
	offsets.fd = module->fd;
	offsets.maps_device = module->numbers.maps_device;
	offsets.maps_inode = module->numbers.maps_inode;
	CHECK_U64(site_check_offsets(&fixture.target, &offsets, &changes), 0);
	CHECK_U64(offsets.count, 2);
	CHECK_U64(changes.count, 1);
	write_memory(fixture.code + places[0], 0xe9);
	CHECK_U64(site_check_offsets(&fixture.target, &offsets, &changes), 0);
	CHECK_U64(offsets.count, 1);
	CHECK_U64(cookies[0], 2);
	CHECK_U64(places[0], find(&fixture, "two")->file_offset);
	fixture_close(&fixture);
}

#define OVERLAY_MADE                                                                             \
	"mount -t overlay overlay -o lowerdir=over/image,upperdir=over/upper,workdir=over/work " \
	"over/merged"

static bool try_shell(const char *command)
{
	char whole[1024];

	snprintf(whole, sizeof(whole), "cd %s && (%s) >>log 2>&1", folder, command);
	return !system(whole);
}

TEST(offsets_in_a_file_that_an_overlay_has_copied_since)
{
	struct site_changes changes = {0};
	struct fixture fixture;
	char path[SCRATCH_PATH_BYTES];
	u64 place, cookie = 1;
	struct site_offsets offsets = {
		.path = "libsites_up.so", .offsets = &place, .cookies = &cookie, .count = 1};
	const struct code_module *module;

	if (!try_shell("mkdir over && mount -t tmpfs none over && cd over && "
		       "mkdir image upper work merged"))
		SKIP("no tmpfs can be mounted here");
	if (!build_library("over/image/libsites_up.so"))
		SKIP("no cc");
	if (!try_shell(OVERLAY_MADE) || !fixture_map("over/merged/libsites_up.so", &fixture)) {
		(void)try_shell("umount over");
		SKIP("no overlay can be mounted here");
	}
	module = &fixture.plan->modules[find(&fixture, "one")->module];
	place = find(&fixture, "one")->file_offset;
	CHECK_U64(*(volatile u8 *)(fixture.code + place), 0x53); /* who runs it has its pages */
	offsets.maps_device = module->numbers.maps_device;
	offsets.maps_inode = module->numbers.maps_inode;
	in_folder(path, "over/merged/libsites_up.so");
	offsets.fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK_U64(site_check_offsets(&fixture.target, &offsets, &changes), 0);
	CHECK_U64(offsets.count, 1);
	close(offsets.fd);
	CHECK_U64(chmod(path, 0700), 0);
	offsets.fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK_U64(site_check_offsets(&fixture.target, &offsets, &changes), 0);
	CHECK_U64(offsets.count, 0);
	CHECK(strstr(changes.first, "overlayfs has made a copy"));
	close(offsets.fd);
	fixture_close(&fixture);
	CHECK(try_shell("umount over/merged && umount over"));
}

UNIT_MAIN()
