/* SPDX-License-Identifier: GPL-2.0-or-later */
/* 4,096 functions named many_ and four octal digits, to attach to. Waits for the end of its input.
 */
#include <stdio.h>

#define FUNCTION(name)                                                       \
	__attribute__((noinline, noclone, used)) int many_##name(int number) \
	{                                                                    \
		__asm__ volatile("" ::: "rbx");                              \
		return number + __LINE__;                                    \
	}
#define EIGHT(name)       \
	FUNCTION(name##0) \
	FUNCTION(name##1) \
	FUNCTION(name##2) \
	FUNCTION(name##3) \
	FUNCTION(name##4) \
	FUNCTION(name##5) \
	FUNCTION(name##6) \
	FUNCTION(name##7)
#define SIXTY_FOUR(name) \
	EIGHT(name##0)   \
	EIGHT(name##1)   \
	EIGHT(name##2) EIGHT(name##3) EIGHT(name##4) EIGHT(name##5) EIGHT(name##6) EIGHT(name##7)
#define FIVE_HUNDRED_TWELVE(name) \
	SIXTY_FOUR(name##0)       \
	SIXTY_FOUR(name##1)       \
	SIXTY_FOUR(name##2)       \
	SIXTY_FOUR(name##3)       \
	SIXTY_FOUR(name##4) SIXTY_FOUR(name##5) SIXTY_FOUR(name##6) SIXTY_FOUR(name##7)

FIVE_HUNDRED_TWELVE(0)
FIVE_HUNDRED_TWELVE(1)
FIVE_HUNDRED_TWELVE(2)
FIVE_HUNDRED_TWELVE(3)
FIVE_HUNDRED_TWELVE(4)
FIVE_HUNDRED_TWELVE(5)
FIVE_HUNDRED_TWELVE(6)
FIVE_HUNDRED_TWELVE(7)

int main(void)
{
	printf("ready\n");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
