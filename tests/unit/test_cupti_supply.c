/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A target of files only: what a /proc folder and a root folder say. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cuda/cupti_supply.h"
#include "unit.h"

static char base[64];

static void remove_all(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", base);
	CHECK(!system(command));
}

/* Makes the file and its folders. */
static void put(const char *path, const char *content)
{
	char full[PATH_MAX];
	FILE *file;

	snprintf(full, sizeof(full), "%s/%s", base, path);
	for (char *slash = strchr(full + strlen(base) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(full, 0755);
		*slash = '/';
	}
	file = fopen(full, "w");
	CHECK(file && fputs(content, file) >= 0);
	if (file)
		fclose(file);
}

static void put_link(const char *path, const char *to)
{
	char full[PATH_MAX];

	snprintf(full, sizeof(full), "%s/%s", base, path);
	CHECK(!symlink(to, full));
}

static void begin(const char *maps)
{
	snprintf(base, sizeof(base), "/tmp/test_cupti_supply.XXXXXX");
	CHECK(mkdtemp(base));
	put("proc/maps", maps);
	put("proc/status", "Name:\tx\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\n");
	put("proc/root/usr/empty", "");
	put("host/usr/empty", "");
}

static int choose(const char *driver, const char *named, struct cupti_supply *ret_supply)
{
	struct target target = {.pid = 1, .comm = "x", .other_mount_namespace = true};
	struct gpu_target gpu = {.cuda = true};
	char proc[80], host[80];
	int result;

	snprintf(gpu.driver_version, sizeof(gpu.driver_version), "%s", driver);
	snprintf(gpu.driver_path, sizeof(gpu.driver_path), "/usr/lib/libcuda.so.%s", driver);
	snprintf(proc, sizeof(proc), "%s/proc", base);
	target.proc_fd = open(proc, O_PATH | O_DIRECTORY | O_CLOEXEC);
	snprintf(host, sizeof(host), "%s/host", base);
	result = cupti_supply_choose(&target, &gpu, named, host, ret_supply, NULL);
	close(target.proc_fd);
	return result;
}

static void check_choice(const char *driver, const char *path, u32 version)
{
	struct cupti_supply supply = {0};

	CHECK_U64(choose(driver, NULL, &supply), 0);
	CHECK_U64(supply.place, CUPTI_PLACE_TARGET);
	CHECK_STRING(supply.path, path);
	CHECK_U64(supply.version.version, version);
	CHECK(!supply.by_memfd);
}

TEST(drivers_speak_a_cuda)
{
	CHECK_U64(cupti_version_of_driver("580.65.06"), 13000);
	CHECK_U64(cupti_version_of_driver("579.1"), 12090);
	CHECK_U64(cupti_version_of_driver("520.61.05"), 11080);
	CHECK_U64(cupti_version_of_driver("9999.1"), 13040);
	CHECK_U64(cupti_version_of_driver("390.1"), 0);
	CHECK_U64(cupti_version_of_driver(""), 0);
}

TEST(the_newest_of_the_major_that_is_no_newer_than_the_driver)
{
	begin("");
	put("proc/root/usr/local/cuda-12.4/extras/CUPTI/lib64/libcupti.so.2024.1.1", "");
	put("proc/root/usr/local/cuda-12.6/extras/CUPTI/lib64/libcupti.so.2024.3.2", "");
	put("proc/root/usr/local/cuda-12.9/extras/CUPTI/lib64/libcupti.so.2025.2.1", "");
	put("proc/root/usr/local/cuda-13.0/extras/CUPTI/lib64/libcupti.so.2025.3.1", "");
	check_choice("560.35.03", "/usr/local/cuda-12.6/extras/CUPTI/lib64/libcupti.so.2024.3.2",
		     12060);
	check_choice("570.1", "/usr/local/cuda-12.6/extras/CUPTI/lib64/libcupti.so.2024.3.2",
		     12060);
	/* Of the same major number, but newer, the newest; of a lower one, the newest. */
	check_choice("525.60.13", "/usr/local/cuda-12.9/extras/CUPTI/lib64/libcupti.so.2025.2.1",
		     12090);
	remove_all();
	begin("");
	put("proc/root/usr/local/cuda-12.4/extras/CUPTI/lib64/libcupti.so.2024.1.1", "");
	put("proc/root/usr/lib/x86_64-linux-gnu/libcupti.so.11.8", "");
	check_choice("590.44.01", "/usr/local/cuda-12.4/extras/CUPTI/lib64/libcupti.so.2024.1.1",
		     12040);
	check_choice("470.57.02", "/usr/lib/x86_64-linux-gnu/libcupti.so.11.8", 11080);
	remove_all();
}

TEST(links_lead_to_files_of_the_target)
{
	begin("");
	put("proc/root/opt/toolkit/lib64/libcupti.so.2025.3.1", "");
	put("proc/root/usr/local/empty", "");
	put_link("proc/root/usr/local/cuda", "/opt/toolkit");
	put_link("proc/root/opt/toolkit/lib64/libcupti.so.13", "libcupti.so.2025.3.1");
	check_choice("580.65.06", "/opt/toolkit/lib64/libcupti.so.2025.3.1", 13000);
	remove_all();
}

TEST(wheels_tell_their_version_by_a_folder)
{
	begin("7f0000000000-7f0000001000 r--p 00000000 00:01 77 "
	      "/venv/lib/python3.12/site-packages/torch/lib/libtorch.so\n");
	put("proc/root/venv/lib/python3.12/site-packages/nvidia/cuda_cupti/lib/libcupti.so.12", "");
	put("proc/root/venv/lib/python3.12/site-packages/"
	    "nvidia_cuda_cupti_cu12-12.6.80.dist-info/METADATA",
	    "");
	check_choice("580.65.06",
		     "/venv/lib/python3.12/site-packages/nvidia/cuda_cupti/lib/libcupti.so.12",
		     12060);
	put("proc/root/venv/lib/python3.12/site-packages/nvidia/cu13/lib/libcupti.so.13", "");
	put("proc/root/venv/lib/python3.12/site-packages/"
	    "nvidia_cuda_cupti-13.0.85.dist-info/METADATA",
	    "");
	check_choice("580.65.06",
		     "/venv/lib/python3.12/site-packages/nvidia/cu13/lib/libcupti.so.13", 13000);
	remove_all();
}

TEST(a_toolkit_tells_its_version)
{
	begin("");
	put("proc/root/opt/cuda/lib64/libcupti.so.12", "");
	put("proc/root/opt/cuda/version.json",
	    "{\"cuda\" : {\"version\" : \"1.2.3\"}, \"cuda_cupti\" : {\n\"name\" : \"CUPTI\",\n"
	    "\"version\" : \"12.8.90\"}}");
	check_choice("570.26", "/opt/cuda/lib64/libcupti.so.12", 12080);
	remove_all();
}

TEST(a_newer_major_is_never_taken)
{
	struct cupti_supply supply = {0};

	begin("");
	put("proc/root/usr/local/cuda-99.0/lib64/libcupti.so.99", "");
	CHECK_U64(choose("470.57.02", NULL, &supply), 0);
	CHECK_U64(supply.place, CUPTI_PLACE_NONE);
	CHECK(strstr(supply.why, "only one of CUDA 99.0"));
	remove_all();
}

TEST(what_the_target_lacks_the_host_gives)
{
	struct cupti_supply supply = {0};

	begin("");
	put("host/usr/local/cuda-13.0/lib64/libcupti.so.2025.3.1", "");
	CHECK_U64(choose("580.65.06", NULL, &supply), 0);
	CHECK_U64(supply.place, CUPTI_PLACE_HOST);
	CHECK(supply.by_memfd);
	/* What fits as well and lies with the target goes first. */
	put("proc/root/usr/local/cuda-13.0/lib64/libcupti.so.2025.3.1", "");
	CHECK_U64(choose("580.65.06", NULL, &supply), 0);
	CHECK_U64(supply.place, CUPTI_PLACE_TARGET);
	remove_all();
}

TEST(a_named_file_is_the_targets_or_is_handed_over)
{
	struct cupti_supply supply = {0};
	char ours[PATH_MAX];

	begin("");
	put("proc/root/its/libcupti.so.13", "");
	put("our/libcupti.so.12", "");
	CHECK_U64(choose("580.1", "/its/libcupti.so.13", &supply), 0);
	CHECK_U64(supply.place, CUPTI_PLACE_NAMED);
	CHECK(!supply.by_memfd);
	CHECK_STRING(supply.path, "/its/libcupti.so.13");
	snprintf(ours, sizeof(ours), "%s/our/libcupti.so.12", base);
	CHECK_U64(choose("580.1", ours, &supply), 0);
	CHECK(supply.by_memfd);
	CHECK_STRING(supply.path, ours);
	CHECK_U64(supply.version.version, 12000);
	CHECK(!supply.version.minor_known);
	CHECK_U64(-choose("580.1", "/nowhere/libcupti.so.13", &supply), ENOENT);
	remove_all();
}

UNIT_MAIN()
