/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Places of probes in libraries: placement_judge.h. */
#include "placement_judge.h"

#define LIBRARIES "/usr/lib/x86_64-linux-gnu/"

TEST(the_c_library)
{
	check_file(LIBRARIES "libc.so.6");
}

TEST(the_cxx_library)
{
	check_file(LIBRARIES "libstdc++.so.6");
}

TEST(cryptography)
{
	check_file(LIBRARIES "libcrypto.so.3");
}

TEST(python_as_a_library)
{
	check_file(LIBRARIES "libpython3.*.so.1.0");
}

UNIT_MAIN()
