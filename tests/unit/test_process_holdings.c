/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a process has, by name, and what of it is new. */
#include "unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "process/process_audit.h"

static void add(struct process_holdings *holdings, enum holding_sort sort, u64 id, u64 bytes,
		const char *name)
{
	CHECK_U64(process_holdings_add(holdings, sort, id, bytes, name), 0);
}

static void check_new(const struct process_holdings *before, const struct process_holdings *after,
		      size_t items_max, const char *expected)
{
	_cleanup_text_ struct text text = {0};

	process_holdings_new(before, after, items_max, &text);
	CHECK_STRING(text_string(&text), expected);
}

TEST(what_is_new_is_named)
{
	struct process_holdings before = {0}, after = {0};

	add(&before, HOLDING_THREAD, 1, 0, "main");
	add(&before, HOLDING_DESCRIPTOR, 0, 0, "/dev/null");
	add(&before, HOLDING_DESCRIPTOR, 3, 0, "socket:[1]");
	add(&before, HOLDING_MAPPINGS, 0, 4096, "/a");
	add(&before, HOLDING_MAPPINGS, 0, 8192, "");
	check_new(&before, &before, 9, "");
	/* Named anew, or grown in place, is not new. */
	add(&after, HOLDING_THREAD, 1, 0, "other");
	add(&after, HOLDING_DESCRIPTOR, 0, 0, "/dev/null");
	add(&after, HOLDING_MAPPINGS, 0, 1 << 20, "/a");
	check_new(&before, &after, 9, "");
	add(&after, HOLDING_MAPPINGS, 0, 4096, "");
	add(&after, HOLDING_MAPPINGS, 0, 8192, "");
	add(&after, HOLDING_MAPPINGS, 0, 3 << 20, "");
	add(&after, HOLDING_MAPPINGS, 0, 4096, "/b\n");
	add(&after, HOLDING_DESCRIPTOR, 3, 0, "socket:[2]");
	add(&after, HOLDING_THREAD, 7, 0, "worker");
	add(&after, HOLDING_THREAD, 8, 0, "worker");
	add(&after, HOLDING_THREAD, 9, 0, "x");
	check_new(&before, &after, 9,
		  "2 threads worker, 1 thread x, descriptor 3 (socket:[2]), 2 mappings without a "
		  "file "
		  "(3 MB), 1 mapping of /b\\x0a (4 KB)");
	check_new(&before, &after, 2, "2 threads worker, 1 thread x and 3 more");
	process_holdings_free(&before);
	process_holdings_free(&after);
}

static void *wait_for_lock(void *lock)
{
	pthread_setname_np(pthread_self(), "a-new-one");
	pthread_mutex_unlock(&((pthread_mutex_t *)lock)[0]);
	pthread_mutex_lock(&((pthread_mutex_t *)lock)[1]);
	return NULL;
}

TEST(a_process_is_compared_with_what_it_was)
{
	pthread_mutex_t locks[] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
	_cleanup_process_audit_ struct process_audit before = {0}, after = {0};
	_cleanup_text_ struct text text = {0};
	struct err err = {0};
	pthread_t thread;
	int fd;

	pthread_mutex_lock(&locks[0]);
	pthread_mutex_lock(&locks[1]);
	CHECK_U64(process_audit_take(getpid(), NULL, &before, &err), 0);
	fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	CHECK_U64(pthread_create(&thread, NULL, wait_for_lock, locks), 0);
	pthread_mutex_lock(&locks[0]);
	CHECK_U64(process_audit_take(getpid(), NULL, &after, &err), 0);
	process_audit_compare(&before, &after, &text);
	CHECK(strstr(text_string(&text), "; new: 1 thread a-new-one, descriptor ") != NULL);
	CHECK(strstr(text_string(&text), " (/dev/zero)") != NULL);
	pthread_mutex_unlock(&locks[1]);
	pthread_join(thread, NULL);
	close(fd);
}

UNIT_MAIN()
