/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process whose leader exits while its threads go on: leader THREADS. The process is then named
 * by a thread that is gone, and must still end as the last of them does.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROUNDS = 3, SPINS = 20000, NAP_US = 300 };

static void *work(void *unused)
{
	(void)unused;
	for (int round = 0; round < ROUNDS; round++) {
		for (volatile int spin = 0; spin < SPINS; spin++)
			;
		usleep(NAP_US);
	}
	return NULL;
}

int main(int count, char **words)
{
	int threads = count > 1 ? atoi(words[1]) : 1;
	pthread_t thread;

	while (threads-- > 0)
		if (pthread_create(&thread, NULL, work, NULL) != 0)
			return 1;
	pthread_exit(NULL);
}
