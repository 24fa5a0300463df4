/* The native program of the tests. It ends with its input. */
#include <poll.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

volatile long sink;

__attribute__((noinline)) static void spin(long n) {
	for (long i = 0; i < n; i++)
		sink += i;
}

__attribute__((noinline)) void three(void) {
	spin(3000);
	sink++;
}

__attribute__((noinline)) void seven(void) {
	spin(7000);
	sink++;
}

__attribute__((noinline)) void rest(void) {
	struct timespec t = {0, 2000000};
	nanosleep(&t, 0);
	sink++;
}

int main(void) {
	puts("ready");
	fflush(stdout);
	for (;;) {
		struct pollfd in = {0, POLLIN, 0};
		if (poll(&in, 1, 0) > 0)
			return 0;
		/* Each turn is a small part of the interval of the samples, which would otherwise keep step. */
		for (int i = 0; i < 200; i++) {
			three();
			seven();
		}
		rest();
	}
}
