/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Links that are taken off: any descriptors, as far as a set of them is concerned. */
#include "probe/uprobe.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "unit.h"

#define LINKS  7
#define SINGLE 3 /* of them, the first ones */

static struct uprobe_set make_set(void)
{
	struct uprobe_set set = {.links = calloc(LINKS, sizeof(*set.links)), .link_count = LINKS};

	for (size_t i = 0; i < LINKS; i++)
		set.links[i] = (struct uprobe_link){.fd = open("/dev/null", O_RDONLY | O_CLOEXEC),
						    .single = i < SINGLE};
	return set;
}

/* At the end of a recording, of children that ended: else it waits for hundreds. */
TEST(what_was_not_begun_when_it_is_told_to_stop_stays)
{
	struct uprobe_set set = make_set();
	size_t single_count = 0;
	atomic_bool stop = true;

	uprobe_detach_until(&set, &stop);
	CHECK_U64(set.link_count, LINKS);
	for (size_t i = 0; i < set.link_count; i++) {
		CHECK(fcntl(set.links[i].fd, F_GETFD) >= 0);
		single_count += set.links[i].single;
	}
	CHECK_U64(single_count, SINGLE);
	atomic_store(&stop, false);
	uprobe_detach_until(&set, &stop);
	CHECK_U64(set.link_count, 0);
	CHECK(!set.links);
}

UNIT_MAIN()
