/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unit test framework: a test program is one file tests/unit/test_MODULE.c with
 *	TEST(what_it_shows) { ...; CHECK(condition); CHECK_U64(a, b); CHECK_STRING(a, b); }
 *	UNIT_MAIN()
 * It prints one line "ok NAME" / "not ok NAME: ..." a test (TAP-like) and exits 1 when one failed. A test
 * that cannot run here calls SKIP("reason"). With names as arguments only those tests run; an unknown one is
 * refused before any runs (exit status 2).
 */
#ifndef GPUPROBE_TESTS_UNIT_H
#define GPUPROBE_TESTS_UNIT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unit_test {
	const char *name;
	void (*run)(void);
	struct unit_test *next;
};

static struct unit_test *unit_tests, **unit_tests_end = &unit_tests;
static int unit_failures;
static const char *unit_skip;

#define TEST(test)                                                                                 \
	static void test(void);                                                                    \
	static struct unit_test unit_##test = {#test, test, NULL};                                 \
	__attribute__((constructor)) static void unit_register_##test(void)                        \
	{                                                                                          \
		*unit_tests_end = &unit_##test;                                                    \
		unit_tests_end = &unit_##test.next;                                                \
	}                                                                                          \
	static void test(void)

#define UNIT_FAIL(...)                                                                             \
	do {                                                                                       \
		unit_failures++;                                                                   \
		printf("# %s:%d: ", __FILE__, __LINE__);                                           \
		printf(__VA_ARGS__);                                                               \
		printf("\n");                                                                      \
	} while (0)

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			UNIT_FAIL("%s", #condition);                                               \
	} while (0)

#define CHECK_U64(actual, expected)                                                                \
	do {                                                                                       \
		unsigned long long actual_ = (actual), expected_ = (expected);                     \
		if (actual_ != expected_)                                                          \
			UNIT_FAIL("%s is %llu (%#llx), expected %llu", #actual, actual_, actual_,  \
				  expected_);                                                      \
	} while (0)

#define CHECK_STRING(actual, expected)                                                             \
	do {                                                                                       \
		const char *actual_ = (actual), *expected_ = (expected);                           \
		if (!actual_ || strcmp(actual_, expected_) != 0)                                   \
			UNIT_FAIL("%s is \"%s\", expected \"%s\"", #actual,                        \
				  actual_ ? actual_ : "(null)", expected_);                        \
	} while (0)

/* For results of functions with a struct err. */
#define CHECK_OK(call, err)                                                                        \
	do {                                                                                       \
		long result_ = (call);                                                             \
		if (result_ < 0)                                                                   \
			UNIT_FAIL("%s: %ld: %s", #call, result_, (err).message);                   \
	} while (0)

#define SKIP(reason)                                                                               \
	do {                                                                                       \
		unit_skip = (reason);                                                              \
		return;                                                                            \
	} while (0)

/* Is it wanted? All are without names. */
static int unit_wants(const struct unit_test *test, char *const *names)
{
	if (!*names)
		return 1;
	for (; *names; names++)
		if (strcmp(*names, test->name) == 0)
			return 1;
	return 0;
}

/* 0, or 2 and a message: a name is no test's. */
static int unit_check_names(char *const *names)
{
	for (; *names; names++) {
		const struct unit_test *test = unit_tests;

		while (test && strcmp(*names, test->name))
			test = test->next;
		if (test)
			continue;
		fprintf(stderr, "there is no test \"%s\" here. There are:", *names);
		for (test = unit_tests; test; test = test->next)
			fprintf(stderr, " %s", test->name);
		fprintf(stderr, "\n");
		return 2;
	}
	return 0;
}

static int unit_run(const struct unit_test *test)
{
	unit_failures = 0;
	unit_skip = NULL;
	test->run();
	if (unit_failures)
		printf("not ok %s\n", test->name);
	else if (unit_skip)
		printf("skip %s: %s\n", test->name, unit_skip);
	else
		printf("ok %s\n", test->name);
	return unit_failures != 0;
}

static int unit_run_all(char *const *names)
{
	int failed = unit_check_names(names);

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (struct unit_test *test = unit_tests; test && failed != 2; test = test->next)
		if (unit_wants(test, names))
			failed |= unit_run(test);
	return failed;
}

#define UNIT_MAIN()                                                                                \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		return unit_run_all(argv + (argc > 0));                                            \
	}

#endif
