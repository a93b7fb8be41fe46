#include "attach/proc_file.h"

#include "unit.h"

TEST(id_in_the_innermost_namespace)
{
	CHECK_U64(proc_status_id_in_namespace("Name:\tx\nNSpid:\t4242\nNSpgid:\t1\n"), 4242);
	CHECK_U64(proc_status_id_in_namespace("Name:\tx\nNSpid:\t4242\t17\t3\nNSpgid:\t1\n"), 3);
	CHECK_U64(proc_status_id_in_namespace("Name:\tx\nNSpid:\t4242\t17"), 17);
	CHECK_U64(proc_status_id_in_namespace("Name:\tx\nNSpid:\nNSpgid:\t1\n"), 0);
	CHECK_U64(proc_status_id_in_namespace("Name:\tNSpid:\t9\nNSpgid:\t1\n"), 0);
	CHECK_U64(proc_status_id_in_namespace(""), 0);
}

UNIT_MAIN()
