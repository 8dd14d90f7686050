/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `hog BURN_MS PAUSE_MS TIMES`: spins, sleeps, and so on; 0 times: without an end. */
#include <stdlib.h>
#include <time.h>

static long now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int main(int argc, char **argv)
{
	long burn_ms = atol(argv[1]), pause_ms = atol(argv[2]), times = atol(argv[3]);
	struct timespec pause = { pause_ms / 1000, pause_ms % 1000 * 1000000 };

	(void)argc;
	for (long round = 0; !times || round < times; round++) {
		long end = now_us() + 1000 * burn_ms;

		while (now_us() < end)
			;
		nanosleep(&pause, NULL);
	}
	return 0;
}
