/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "import/ndjson.h"
#include "reports/statistics.h"

#define PLENTY (1 << 20)

/* Repeatable random numbers. */
static u64 random_next(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static int compare_u64(const void *a, const void *b)
{
	u64 left = *(const u64 *)a, right = *(const u64 *)b;

	return left < right ? -1 : left > right;
}

static bool nearly(double a, double b)
{
	return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b)) + 1e-9;
}

/* The same from all values at once, as a textbook has it. */
static void check_against_naive(const struct statistics_row *row, u64 *values, size_t count)
{
	long double sum = 0, squares = 0;
	double median;

	CHECK_U64(row->timed_count, count);
	qsort(values, count, sizeof(*values), compare_u64);
	for (size_t i = 0; i < count; i++)
		sum += values[i];
	for (size_t i = 0; i < count; i++)
		squares += (values[i] - sum / count) * (values[i] - sum / count);
	median = count % 2 ? values[count / 2]
			   : ((double)values[count / 2 - 1] + (double)values[count / 2]) / 2;
	CHECK_U64(row->total_ns, (u64)sum);
	CHECK_U64(row->minimum_ns, values[0]);
	CHECK_U64(row->maximum_ns, values[count - 1]);
	CHECK(nearly(row->average_ns, sum / count));
	CHECK(row->median_ns == median);
	CHECK(nearly(row->deviation_ns, count > 1 ? sqrtl(squares / (count - 1)) : 0));
}

#define FUNCTIONS 7

/* FUNCTIONS functions of different numbers of calls, all mixed. */
static void check_random(size_t memory_bytes, size_t calls, u64 range)
{
	struct statistics *statistics = NULL;
	const struct statistics_row *rows;
	u64 *values[FUNCTIONS], state = 88172645463325252ULL;
	size_t counts[FUNCTIONS] = {0}, row_count = 0;
	struct err err = {0};

	CHECK_OK(statistics_create(memory_bytes, &statistics, &err), err);
	for (size_t i = 0; i < FUNCTIONS; i++)
		values[i] = calloc(calls, sizeof(u64));
	for (size_t i = 0; i < calls; i++) {
		size_t which = random_next(&state) % (i % FUNCTIONS + 1);
		u64 value = random_next(&state) % range;
		char name[32];
		u32 function;

		snprintf(name, sizeof(name), "function_%zu", which);
		CHECK_OK(statistics_function(statistics, name, "/bin/a", &function, &err), err);
		CHECK_OK(statistics_add(statistics, function, value, &err), err);
		values[which][counts[which]++] = value;
	}
	CHECK_OK(statistics_finish(statistics, &rows, &row_count, &err), err);
	CHECK_U64(row_count, FUNCTIONS);
	for (size_t i = 0; i < row_count; i++) {
		size_t which = atoi(rows[i].name + strlen("function_"));

		check_against_naive(&rows[i], values[which], counts[which]);
	}
	for (size_t i = 0; i < FUNCTIONS; i++)
		free(values[i]);
	statistics_free(statistics);
}

TEST(random_calls_equal_the_naive_computation)
{
	check_random(PLENTY, 1000, 1000000);
	check_random(PLENTY, 997, 3);
	check_random(PLENTY, 1501, 1ULL << 46);
}

TEST(the_same_when_memory_is_too_small)
{
	check_random(4096, 200000, 1000000000);
	check_random(4096, 50001, 2);
}

static void add_all(struct statistics *statistics, const char *name, const u64 *values,
		    size_t count)
{
	struct err err = {0};
	u32 function;

	CHECK_OK(statistics_function(statistics, name, "/bin/a", &function, &err), err);
	for (size_t i = 0; i < count; i++)
		CHECK_OK(statistics_add(statistics, function, values[i], &err), err);
}

TEST(known_values)
{
	struct statistics *statistics = NULL;
	const struct statistics_row *rows;
	struct err err = {0};
	size_t count = 0;

	CHECK_OK(statistics_create(PLENTY, &statistics, &err), err);
	add_all(statistics, "one", (u64[]){42}, 1);
	add_all(statistics, "even", (u64[]){10, 1, 4, 3}, 4);
	add_all(statistics, "odd", (u64[]){5, 5, 1}, 3);
	add_all(statistics, "zero", (u64[]){0, 0}, 2);
	CHECK_OK(statistics_finish(statistics, &rows, &count, &err), err);
	CHECK_U64(count, 4);
	CHECK_STRING(rows[0].name, "one");
	CHECK(rows[0].median_ns == 42 && rows[0].deviation_ns == 0 && rows[0].average_ns == 42);
	CHECK(rows[1].median_ns == 3.5);
	CHECK(rows[1].average_ns == 4.5);
	CHECK(nearly(rows[1].deviation_ns,
		     3.872983346207417)); /* statistics.stdev([10, 1, 4, 3]) */
	CHECK(rows[2].median_ns == 5);
	CHECK(rows[3].median_ns == 0 && rows[3].deviation_ns == 0 && rows[3].timed_count == 2);
	CHECK_U64(rows[3].minimum_ns, 0);
	statistics_free(statistics);
}

/* The naive sum of squares minus square of sums gives 0 or a negative variance here. */
TEST(deviation_of_long_calls_that_differ_little)
{
	struct statistics *statistics = NULL;
	const struct statistics_row *rows;
	const u64 base = 86400ULL * 1000000000;
	struct err err = {0};
	size_t count = 0;

	CHECK_OK(statistics_create(PLENTY, &statistics, &err), err);
	add_all(statistics, "long", (u64[]){base + 4, base + 7, base + 13, base + 16}, 4);
	CHECK_OK(statistics_finish(statistics, &rows, &count, &err), err);
	CHECK(nearly(rows[0].deviation_ns, sqrt(30)));
	CHECK(rows[0].median_ns == (double)(base + 10));
	statistics_free(statistics);
}

TEST(calls_without_end_count_only)
{
	struct statistics *statistics = NULL;
	const struct statistics_row *rows;
	struct err err = {0};
	size_t count = 0;
	u32 mixed, never;

	CHECK_OK(statistics_create(PLENTY, &statistics, &err), err);
	CHECK_OK(statistics_function(statistics, "mixed", "", &mixed, &err), err);
	CHECK_OK(statistics_function(statistics, "never", "", &never, &err), err);
	statistics_add_untimed(statistics, mixed);
	CHECK_OK(statistics_add(statistics, mixed, 7, &err), err);
	statistics_add_untimed(statistics, never);
	statistics_add_untimed(statistics, never);
	CHECK_OK(statistics_finish(statistics, &rows, &count, &err), err);
	CHECK_U64(rows[mixed].call_count, 2);
	CHECK_U64(rows[mixed].timed_count, 1);
	CHECK(rows[mixed].median_ns == 7);
	CHECK_U64(rows[never].call_count, 2);
	CHECK_U64(rows[never].timed_count, 0);
	CHECK_U64(rows[never].minimum_ns, 0);
	statistics_free(statistics);
}

TEST(the_same_name_in_two_binaries_is_two_functions)
{
	struct statistics *statistics = NULL;
	const struct statistics_row *rows;
	struct err err = {0};
	size_t count = 0;
	u32 a, b, again, tricky;

	CHECK_OK(statistics_create(PLENTY, &statistics, &err), err);
	CHECK_OK(statistics_function(statistics, "main", "/bin/a", &a, &err), err);
	CHECK_OK(statistics_function(statistics, "main", "/bin/b", &b, &err), err);
	CHECK_OK(statistics_function(statistics, "main", "/bin/a", &again, &err), err);
	CHECK_OK(statistics_function(statistics, "amain", "/bin/", &tricky, &err), err);
	CHECK(a != b && a == again && tricky != a);
	CHECK_OK(statistics_finish(statistics, &rows, &count, &err), err);
	CHECK_U64(count, 3);
	statistics_free(statistics);
}

TEST(nothing_at_all)
{
	struct statistics *statistics = NULL;
	const struct statistics_row *rows;
	struct err err = {0};
	size_t count = 1;

	CHECK_OK(statistics_create(PLENTY, &statistics, &err), err);
	CHECK_OK(statistics_finish(statistics, &rows, &count, &err), err);
	CHECK_U64(count, 0);
	statistics_free(statistics);
	CHECK(!statistics_free(NULL));
}

/* Damaged captures can hold any duration. */
TEST(the_largest_durations_do_not_wrap)
{
	struct statistics *statistics = NULL;
	const struct statistics_row *rows;
	struct err err = {0};
	size_t count = 0;

	CHECK_OK(statistics_create(PLENTY, &statistics, &err), err);
	add_all(statistics, "f", (u64[]){UINT64_MAX - 1, UINT64_MAX - 1, 2}, 3);
	CHECK_OK(statistics_finish(statistics, &rows, &count, &err), err);
	CHECK_U64(rows[0].total_ns, UINT64_MAX);
	CHECK_U64(rows[0].maximum_ns, UINT64_MAX - 1);
	CHECK(rows[0].deviation_ns > 0);
	statistics_free(statistics);
}

static const char recording[] =
	"{\"kind\":\"window\",\"ts\":0,\"dur\":1000}\n"
	"{\"kind\":\"probe\",\"id\":\"p1\",\"name\":\"main\",\"binary\":\"/bin/a\"}\n"
	"{\"kind\":\"probe\",\"id\":\"p2\",\"name\":\"main\",\"binary\":\"/bin/b\"}\n"
	"{\"kind\":\"probe\",\"id\":\"p3\",\"name\":\"main\",\"binary\":\"/bin/"
	"b\",\"address\":4096}\n"
	"{\"kind\":\"call\",\"ts\":10,\"dur\":7,\"pid\":1,\"tid\":1,\"probe\":\"p1\"}\n"
	"{\"kind\":\"call\",\"ts\":20,\"dur\":9,\"pid\":1,\"tid\":1,\"probe\":\"p1\"}\n"
	"{\"kind\":\"call\",\"ts\":30,\"pid\":1,\"tid\":1,\"probe\":\"p1\",\"ended\":\"open\"}\n"
	"{\"kind\":\"entry\",\"ts\":40,\"pid\":1,\"tid\":1,\"probe\":\"p1\"}\n"
	"{\"kind\":\"call\",\"ts\":50,\"dur\":1,\"pid\":1,\"tid\":1,\"probe\":\"p2\"}\n"
	"{\"kind\":\"call\",\"ts\":60,\"dur\":3,\"pid\":1,\"tid\":1,\"probe\":\"p3\"}\n"
	"{\"kind\":\"api\",\"ts\":70,\"dur\":3,\"pid\":1,\"tid\":1,\"name\":\"cuInit\"}\n";

TEST(calls_and_entries_of_a_view)
{
	struct statistics *statistics = NULL;
	struct capture_reader *reader = NULL;
	const struct statistics_row *rows;
	struct view *view = NULL;
	struct err err = {0};
	int fd = memfd_create("text", 0), capture_fd = -1;
	size_t count = 0;

	CHECK(write(fd, recording, strlen(recording)) == (ssize_t)strlen(recording));
	lseek(fd, 0, SEEK_SET);
	CHECK_OK(import_ndjson(fd, "text", &capture_fd, &err), err);
	CHECK_OK(capture_reader_open(capture_fd, &reader, &err), err);
	CHECK_OK(view_open(reader, &view, &err), err);
	CHECK_OK(statistics_create(PLENTY, &statistics, &err), err);
	CHECK_OK(view_run(view, &statistics_sink, statistics, &err), err);
	CHECK_OK(statistics_finish(statistics, &rows, &count, &err), err);
	CHECK_U64(count, 2);
	CHECK_STRING(rows[0].binary, "/bin/a");
	CHECK_U64(rows[0].call_count, 4);
	CHECK_U64(rows[0].timed_count, 2);
	CHECK_U64(rows[0].total_ns, 16);
	CHECK_STRING(rows[1].binary, "/bin/b");
	CHECK_STRING(rows[1].name, "main");
	CHECK_U64(rows[1].call_count, 2);
	CHECK(rows[1].median_ns == 2);
	statistics_free(statistics);
	view_free(view);
	capture_reader_free(reader);
	close(capture_fd);
	close(fd);
}

UNIT_MAIN()
