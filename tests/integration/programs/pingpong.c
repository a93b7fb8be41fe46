/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two threads that wait for each other all the time, from "go" to the next line of the input. */
#include <pthread.h>
#include <unistd.h>

#include "protocol.h"

static int to_other[2], from_other[2];

static void *play(void *argument)
{
	char ball;

	while (read(to_other[0], &ball, 1) == 1)
		if (write(from_other[1], &ball, 1) != 1)
			break;
	return argument;
}

static void *listen_for_end(void *argument)
{
	protocol_next();
	*(volatile int *)argument = 1;
	return NULL;
}

int main(void)
{
	volatile int end = 0;
	unsigned long turns = 0;
	pthread_t other, listener;
	char ball = 0;

	if (pipe(to_other) || pipe(from_other))
		return 1;
	protocol_begin();
	pthread_create(&other, NULL, play, NULL);
	pthread_create(&listener, NULL, listen_for_end, (void *)&end);
	for (; !end; turns++)
		if (write(to_other[1], &ball, 1) != 1 || read(from_other[0], &ball, 1) != 1)
			return 1;
	close(to_other[1]);
	pthread_join(other, NULL);
	pthread_join(listener, NULL);
	protocol_count("turns", turns);
	protocol_end();
	return 0;
}
