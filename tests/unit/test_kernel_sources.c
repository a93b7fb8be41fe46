/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where kernels of Triton and inductor are written, by folders as these two make them. The files are made after their published sources (Triton 3.4,
 * PyTorch 2.5 to 2.13), none is a copy; tests/integration/test_kernel_sources has Triton itself make such.
 */
#include "resolve/kernel_sources.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/gpu_caches.h"
#include "resolve/inductor_code.h"
#include "resolve/triton_ir.h"
#include "scratch_folder.h"

#define TIME_NS	  (20 * NS_PER_SECOND)
#define FOUND_MAX 16

static const char scale[] = "#loc = loc(\"/srv/app/kernels.py\":12:0)\n"
			    "module {\n"
			    "  tt.func public @scale(%%arg0: !tt.ptr<f32> loc(\"/x.py\":1:0)) {\n"
			    "    tt.return loc(#loc1)\n"
			    "  } loc(%s)\n"
			    "} loc(#loc)\n"
			    "#loc1 = loc(unknown)\n"
			    "#loc2 = loc(\"/srv/app/\\22q\\\".py\":7:0)\n"
			    "#loc3 = loc(fused<\"x\">[#loc4, #loc])\n"
			    "#loc4 = loc(\"scale\"(#loc2))\n"
			    "#loc5 = loc(#loc5)\n";

/* Where the function is, said by such a location; "-": it does not say. */
static const struct {
	const char *location, *expected;
} locations[] = {
	{"#loc", "/srv/app/kernels.py:12"},
	{"#loc2", "/srv/app/\"q\".py:7"},
	{"#loc3", "/srv/app/\"q\".py:7"},
	{"\"scale\"(#loc)", "/srv/app/kernels.py:12"},
	{"\"/a.py\":3:1", "/a.py:3"},
	{"unknown", "-"},
	{"#loc1", "-"},
	{"#loc5", "-"},
	{"#loc9", "-"},
	{"\"/a.py\":0:0", "-"},
	{"\"/a.py\":99999999:0", "-"},
	{"\"\":3:0", "-"},
	{"\"/a.py", "-"},
	{"callsite(#loc at #loc2)", "-"},
};

TEST(a_location_leads_to_file_and_line)
{
	for (size_t i = 0; i < sizeof(locations) / sizeof(*locations); i++) {
		char text[2048], place[8192] = "-";
		struct triton_kernel kernel;

		snprintf(text, sizeof(text), scale, locations[i].location);
		if (triton_ir_read(text, strlen(text), &kernel)) {
			snprintf(place, sizeof(place), "%s:%u", kernel.file, kernel.line);
			CHECK_STRING(kernel.name, "scale");
		}
		CHECK_STRING(place, locations[i].expected);
	}
}

TEST(what_is_cut_off_says_nothing)
{
	char text[2048];
	struct triton_kernel kernel;
	size_t whole;

	snprintf(text, sizeof(text), scale, "#loc");
	whole = strstr(text, "} loc(#loc)") + strlen("} loc(#loc") - text;
	for (size_t size = 0; size < whole; size++)
		CHECK(!triton_ir_read(text, size, &kernel));
}

/* ---- folders ---- */

static struct found {
	size_t process;
	u32 line;
	bool confirmed;
	char what[512];
} found[FOUND_MAX];
static size_t found_count;

static int note(void *data, const struct kernel_source *source)
{
	struct found *item = &found[found_count];

	(void)data;
	if (found_count == FOUND_MAX)
		return 0;
	found_count++;
	item->process = source->process;
	item->line = source->line;
	item->confirmed = source->confirmed;
	snprintf(item->what, sizeof(item->what), "%s %s:%u %s [%s] [%s]%s", source->name,
		 source->file, source->line, source->launcher, source->nodes, source->operations,
		 source->confirmed ? " there" : "");
	return 0;
}

/* The root folder is the scratch folder: paths in files begin there. */
static struct kernel_sources_status look(struct kernel_cache_process *processes, size_t count,
					 const char *const *names)
{
	struct string_table table = {0};
	struct kernel_sources_status status = {0};
	int root = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (; *names; names++)
		CHECK(string_table_add(&table, *names, strlen(*names)) >= 0);
	for (size_t i = 0; i < count; i++) {
		processes[i].root_fd = root;
		processes[i].uid = getuid();
	}
	found_count = 0;
	memset(found, 0, sizeof(found));
	CHECK(kernel_sources_find(processes, count, &table, TIME_NS, note, NULL, &status) == 0);
	CHECK(!status.cut);
	string_table_free(&table);
	close(root);
	return status;
}

static bool has_found(const char *what)
{
	for (size_t i = 0; i < found_count; i++)
		if (!strcmp(found[i].what, what))
			return true;
	for (size_t i = 0; i < found_count; i++)
		printf("# found: %s\n", found[i].what);
	return false;
}

static void write_kernel(const char *hash, const char *name, const char *file, int line)
{
	char path[64], text[1024];

	if (!shell("mkdir -p cache/%s", hash))
		return;
	snprintf(path, sizeof(path), "cache/%s/%s.ttir", hash, name);
	snprintf(text, sizeof(text),
		 "#loc = loc(\"%s\":%d:0)\nmodule {\n  tt.func public @%s() {\n"
		 "    tt.return loc(#loc)\n  } loc(#loc)\n} loc(#loc)\n",
		 file, line, name);
	write_file(path, text);
}

static void make_folder_app(void)
{
	shell("rm -rf cache app tmp");
	shell("mkdir -p app cache tmp");
	write_file("app/kernels.py", "import triton\n\n@triton.jit\ndef scale(x):\n    pass\n");
}

TEST(kernels_that_were_recorded_are_found)
{
	struct kernel_cache_process process = {.triton_folder = "/cache"};

	make_folder_app();
	write_kernel("AAA", "scale", "/app/kernels.py", 3);
	write_kernel("BBB", "scale", "/app/kernels.py", 3); /* of other sizes */
	write_kernel("CCC", "scale", "/app/kernels.py", 9); /* it stood there once */
	write_kernel("DDD", "other", "/app/kernels.py", 1);
	look(&process, 1, (const char *[]){"scale", "gemm", NULL});
	CHECK_U64(found_count, 2);
	CHECK(has_found("scale /app/kernels.py:3  [] [] there"));
	CHECK(has_found("scale /app/kernels.py:9  [] []"));
}

TEST(ranks_that_share_a_cache_have_each_all_of_it)
{
	struct kernel_cache_process processes[3] = {
		{.pid = 1, .triton_folder = "/cache"},
		{.pid = 2, .triton_folder = "/elsewhere"},
		{.pid = 3, .triton_folder = "/cache"},
	};

	make_folder_app();
	write_kernel("AAA", "scale", "/app/kernels.py", 3);
	CHECK_U64(look(processes, 3, (const char *[]){"scale", NULL}).count, 2);
	CHECK_U64(found_count, 2);
	CHECK_U64(found[0].process + found[1].process, 2);
}

TEST(nothing_but_plain_files_below_the_root_is_read)
{
	struct kernel_cache_process process = {.triton_folder = "/cache"};

	make_folder_app();
	write_kernel("AAA", "scale", "/app/kernels.py", 3);
	shell("mkdir cache/BBB cache/CCC cache/EEE; mv cache/AAA/scale.ttir secret.ttir;"
	      "ln -s %s/secret.ttir cache/BBB/scale.ttir; mkfifo cache/CCC/scale.ttir;"
	      "ln -s EEE cache/DDD; truncate -s 9M cache/EEE/scale.ttir",
	      folder);
	look(&process, 1, (const char *[]){"scale", NULL});
	CHECK_U64(found_count, 0);
	shell("mv secret.ttir cache/AAA/scale.ttir");
	look(&process, 1, (const char *[]){"scale", NULL});
	CHECK_U64(found_count, 1);
	/* Out of the root: there is nothing of that name in it. */
	process.triton_folder = "/../../../../../../tmp";
	look(&process, 1, (const char *[]){"scale", NULL});
	CHECK_U64(found_count, 0);
}

#define MADE(path, name)                                                                    \
	"# kernel path: " path "\n"                                                         \
	"# Topologically Sorted Source Nodes: [linear, relu], Original ATen: [aten.addmm, " \
	"aten.relu]\n"                                                                      \
	"# Source node to ATen node mapping:\n"                                             \
	"#   relu => relu\n" name " = async_compile.triton('" name "', '''\n"               \
	"import triton\n''', device_str='cuda')\n\n"

TEST(inductor_says_what_its_kernels_are_made_of)
{
	struct kernel_cache_process process = {.inductor_parent = "/tmp"};

	make_folder_app();
	shell("mkdir -p tmp/torchinductor_me/ab tmp/torchinductor_me/cd "
	      "tmp/torchinductor_me/triton/0"
	      " tmp/other/ab");
	write_kernel("AAA", "triton_poi_0", "/tmp/torchinductor_me/ab/cabk.py", 12);
	shell("mv cache/AAA tmp/torchinductor_me/triton/0/");
	write_file("tmp/torchinductor_me/cd/ccdcall.py",
		   "import torch\n\n" MADE("/tmp/torchinductor_me/ab/cabk.py", "triton_poi_0")
			   MADE("/tmp/torchinductor_me/ab/cabl.py", "triton_red_1")
				   MADE("/tmp/torchinductor_me/ab/cabm.py", "not_recorded"));
	write_file("tmp/other/ab/x.py", MADE("/elsewhere.py", "triton_poi_0"));
	look(&process, 1, (const char *[]){"triton_poi_0", "triton_red_1", NULL});
	CHECK_U64(found_count, 2);
	CHECK(has_found(
		"triton_poi_0 /tmp/torchinductor_me/ab/cabk.py:12 "
		"/tmp/torchinductor_me/cd/ccdcall.py [linear, relu] [aten.addmm, aten.relu]"));
	CHECK(has_found(
		"triton_red_1 /tmp/torchinductor_me/ab/cabl.py:0 "
		"/tmp/torchinductor_me/cd/ccdcall.py [linear, relu] [aten.addmm, aten.relu]"));
	process = (struct kernel_cache_process){.inductor_folder = "/tmp/torchinductor_me/"};
	look(&process, 1, (const char *[]){"triton_poi_0", NULL});
	CHECK_U64(found_count, 1);
}

/* ---- the environment ---- */

static void check_caches(const char *environment, size_t size, const char *triton,
			 const char *inductor, const char *parent)
{
	struct gpu_caches caches;

	gpu_caches_find(environment, size, &caches);
	CHECK_STRING(caches.triton ? caches.triton : "-", triton);
	CHECK_STRING(caches.inductor ? caches.inductor : "-", inductor);
	CHECK_STRING(caches.inductor_parent ? caches.inductor_parent : "-", parent);
	gpu_caches_free(&caches);
}

TEST(the_environment_says_where_caches_are)
{
#define CACHES(environment, ...) check_caches(environment, sizeof(environment), __VA_ARGS__)
	CACHES("HOME=/root", "/root/.triton/cache", "-", "/tmp");
	CACHES("A=1\0HOME=/root\0TRITON_CACHE_DIR=/c\0TMPDIR=/scratch", "/c", "-", "/scratch");
	CACHES("TRITON_HOME=/big\0HOME=/root\0TORCHINDUCTOR_CACHE_DIR=/i", "/big/.triton/cache",
	       "/i", "-");
	CACHES("XTRITON_CACHE_DIR=/c\0TRITON_CACHE_DIRX=/c\0TRITON_CACHE_DIR=", "-", "-", "/tmp");
	CACHES("TRITON_CACHE_DIR=relative\0HOME=/root", "-", "-", "/tmp");
	CACHES("", "-", "-", "/tmp");
}

UNIT_MAIN()
