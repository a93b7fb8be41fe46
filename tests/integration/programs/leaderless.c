/* Its first thread ends, another one goes on. */
#include <pthread.h>
#include <unistd.h>

static void *go_on(void *unused)
{
	for (;;)
		pause();
	return NULL;
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, go_on, NULL);
	pthread_exit(NULL);
}
