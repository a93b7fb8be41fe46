/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * USDT arguments of every size and sign from every kind of place that compilers have: registers, the stack, variables of
 * threads and of the file, elements, constants, no numbers. A line "NAME VALUE" for each ("?": no number of up to 8
 * bytes). usdt_forms_other.c has variables of the same names, with other values.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/sdt.h>

#include "usdt_forms.h"

enum colour { RED = -3, GREEN = 70000 };

struct fields {
	int8_t byte;
	int16_t half;
	int32_t word;
	int64_t whole;
	unsigned bits : 5;
	signed more_bits : 3;
};

static __thread int32_t of_thread = -77;
static __thread int64_t of_thread_too[3] = {1, -2, 3};
static volatile int32_t of_file = -4711;
static volatile int32_t same_name = 1111;
volatile int64_t exported = -8888;
static volatile int16_t elements[4] = {-1, 30000, -30000, 7};
static struct fields fields = {-5, -500, -50000, -5000000000, 21, -2};

#define SAY(name, value) printf(#name " %lld\n", (long long)(value))

/* In registers, with what the compiler leaves above them. */
#define IN_REGISTER(type, name)                              \
	PROBED void name(type value)                         \
	{                                                    \
		__asm__ volatile("" : "+r"(value));          \
		STAP_PROBE1(forms, name, value);             \
		printf(#name " %lld\n", (long long)(value)); \
	}
IN_REGISTER(int8_t, register_s8)
IN_REGISTER(uint8_t, register_u8)
IN_REGISTER(int16_t, register_s16)
IN_REGISTER(uint16_t, register_u16)
IN_REGISTER(int32_t, register_s32)
IN_REGISTER(uint32_t, register_u32)
IN_REGISTER(int64_t, register_s64)
IN_REGISTER(uint64_t, register_u64)
IN_REGISTER(bool, register_bool)
IN_REGISTER(char, register_char)
IN_REGISTER(enum colour, register_enum)

/* On the stack, between bytes that are no zeros. */
#define IN_MEMORY(type, name)                                                 \
	PROBED void name(type value)                                          \
	{                                                                     \
		volatile type places[3] = {(type)0x5a5a5a5a5a5a5a5aLL, value, \
					   (type)0xa5a5a5a5a5a5a5a5LL};       \
		__asm__ volatile("" : : "r"(places) : "memory");              \
		STAP_PROBE1(forms, name, places[1]);                          \
		printf(#name " %lld\n", (long long)places[1]);                \
	}
IN_MEMORY(int8_t, memory_s8)
IN_MEMORY(uint8_t, memory_u8)
IN_MEMORY(int16_t, memory_s16)
IN_MEMORY(uint16_t, memory_u16)
IN_MEMORY(int32_t, memory_s32)
IN_MEMORY(uint32_t, memory_u32)
IN_MEMORY(int64_t, memory_s64)
IN_MEMORY(uint64_t, memory_u64)

static void all_registers(int sign)
{
	register_s8((int8_t)(sign * 100));
	register_u8((uint8_t)(sign * 100));
	register_s16((int16_t)(sign * 30000));
	register_u16((uint16_t)(sign * 30000));
	register_s32(sign * 2000000000);
	register_u32((uint32_t)(sign * 2000000000));
	register_s64(sign * 9000000000000000000);
	register_u64((uint64_t)(sign * 9000000000000000000));
	register_bool(sign > 0);
	register_char((char)(sign * 65));
	register_enum(sign > 0 ? GREEN : RED);
	memory_s8((int8_t)(sign * 100));
	memory_u8((uint8_t)(sign * 100));
	memory_s16((int16_t)(sign * 30000));
	memory_u16((uint16_t)(sign * 30000));
	memory_s32(sign * 2000000000);
	memory_u32((uint32_t)(sign * 2000000000));
	memory_s64(sign * 9000000000000000000);
	memory_u64((uint64_t)(sign * 9000000000000000000));
}

PROBED void variables(int i)
{
	STAP_PROBE1(forms, thread_variable, of_thread);
	SAY(thread_variable, of_thread);
	STAP_PROBE1(forms, thread_element, of_thread_too[i & 1]);
	SAY(thread_element, of_thread_too[i & 1]);
	STAP_PROBE1(forms, file_variable, of_file);
	SAY(file_variable, of_file);
	STAP_PROBE1(forms, twice_there, same_name);
	SAY(twice_there, same_name);
	STAP_PROBE1(forms, exported_variable, exported);
	SAY(exported_variable, exported);
	STAP_PROBE1(forms, element, elements[i & 3]);
	SAY(element, elements[i & 3]);
	STAP_PROBE1(forms, constant_element, elements[2]);
	SAY(constant_element, elements[2]);
}

PROBED void members(struct fields *some)
{
	STAP_PROBE4(forms, member_byte, some->byte, some->half, some->word, some->whole);
	SAY(member_byte, some->byte);
	STAP_PROBE1(forms, member_half, some->half);
	SAY(member_half, some->half);
	STAP_PROBE1(forms, member_word, some->word);
	SAY(member_word, some->word);
	STAP_PROBE1(forms, member_whole, some->whole);
	SAY(member_whole, some->whole);
	STAP_PROBE1(forms, member_bits, (unsigned)some->bits);
	SAY(member_bits, some->bits);
	STAP_PROBE1(forms, member_more_bits, (int)some->more_bits);
	SAY(member_more_bits, some->more_bits);
}

PROBED void constants(void)
{
	STAP_PROBE1(forms, constant_small, 5);
	SAY(constant_small, 5);
	STAP_PROBE1(forms, constant_negative, -5);
	SAY(constant_negative, -5);
	STAP_PROBE1(forms, constant_char, (char)-1);
	SAY(constant_char, (char)-1);
	STAP_PROBE1(forms, constant_u32, 4294967295U);
	SAY(constant_u32, 4294967295U);
	STAP_PROBE1(forms, constant_s64, INT64_MIN);
	SAY(constant_s64, INT64_MIN);
	STAP_PROBE1(forms, constant_u64, UINT64_MAX);
	SAY(constant_u64, UINT64_MAX);
	STAP_PROBE1(forms, constant_address, (void *)&exported);
	SAY(constant_address, (intptr_t)&exported);
}

PROBED void no_numbers(double whole, float half)
{
	STAP_PROBE1(forms, number_double, whole);
	printf("number_double ?\n");
	STAP_PROBE1(forms, number_float, half);
	printf("number_float ?\n");
}

int main(void)
{
	protocol_begin();
	for (int i = 0; i < 2; i++) {
		all_registers(i ? 1 : -1);
		variables(i);
		members(&fields);
		constants();
		no_numbers(1.5, 2.5F);
		of_file++;
		same_name++;
		of_thread--;
		forms_other();
	}
	protocol_end();
	return 0;
}
