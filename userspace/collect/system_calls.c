#include "collect/system_calls.h"

/* Rows [number] = "name", made out of <asm/unistd.h> by the Makefile. */
static const char *const names[SYSTEM_CALL_NUMBERS] = {
#include "system_calls.inc"
};

const char *system_call_name(u32 number)
{
	return number < SYSTEM_CALL_NUMBERS ? names[number] : NULL;
}
