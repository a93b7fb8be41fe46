/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/stop.h"

#include <signal.h>
#include <string.h>

static volatile sig_atomic_t stop_flag;

static void on_signal(int number)
{
	stop_flag = 1;
}

void stop_install(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND | SA_RESTART};

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		sigaction(numbers[i], &action, NULL);
}

bool stop_requested(void)
{
	return stop_flag != 0;
}
