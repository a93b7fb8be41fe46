/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/sha256.h"

#include <cpuid.h>
#include <immintrin.h>
#include <string.h>

#define SHA_NI_BIT (1U << 29) /* of leaf 7, ebx */

enum asked { ASKED_NOT, ASKED_HAS_NOT, ASKED_HAS };

static const u32 round_constants[64] __attribute__((aligned(16))) = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2};

/* Asked once: in a virtual machine each cpuid goes to its host, some 30 us. (clang 14 has no __builtin_cpu_supports for it.) */
bool sha256_is_fast(void)
{
	static enum asked asked;
	unsigned eax, ebx, ecx, edx;
	enum asked answer = __atomic_load_n(&asked, __ATOMIC_RELAXED);

	if (answer == ASKED_NOT) {
		answer = __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && ebx & SHA_NI_BIT
				 ? ASKED_HAS
				 : ASKED_HAS_NOT;
		__atomic_store_n(&asked, answer, __ATOMIC_RELAXED);
	}
	return answer == ASKED_HAS;
}

static u32 rotate(u32 value, unsigned bits)
{
	return value >> bits | value << (32 - bits);
}

static u32 read_big_endian(const u8 *bytes)
{
	return (u32)bytes[0] << 24 | (u32)bytes[1] << 16 | (u32)bytes[2] << 8 | bytes[3];
}

static void block_add(u32 state[8], const u8 *block)
{
	u32 words[64], now[8];

	for (size_t i = 0; i < 16; i++)
		words[i] = read_big_endian(block + i * 4);
	for (size_t i = 16; i < 64; i++) {
		u32 low = words[i - 15], high = words[i - 2];

		words[i] = words[i - 16] + (rotate(low, 7) ^ rotate(low, 18) ^ low >> 3) +
			   words[i - 7] + (rotate(high, 17) ^ rotate(high, 19) ^ high >> 10);
	}
	memcpy(now, state, sizeof(now));
	for (size_t i = 0; i < 64; i++) {
		u32 e = now[4], a = now[0];
		u32 first = now[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
			    ((e & now[5]) ^ (~e & now[6])) + round_constants[i] + words[i];
		u32 second = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
			     ((a & now[1]) ^ (a & now[2]) ^ (now[1] & now[2]));

		memmove(now + 1, now, 7 * sizeof(*now));
		now[4] += first;
		now[0] = first + second;
	}
	for (size_t i = 0; i < 8; i++)
		state[i] += now[i];
}

/* Four rounds each; the instructions want the state as abef and cdgh. */
__attribute__((target("sha,sse4.1"))) static void blocks_add_fast(u32 state[8], const u8 *bytes,
								  size_t count)
{
	const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
	__m128i low = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0xb1);
	__m128i high = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(state + 4)), 0x1b);
	__m128i abef = _mm_alignr_epi8(low, high, 8), cdgh = _mm_blend_epi16(high, low, 0xf0);

	for (; count; count--, bytes += SHA256_BLOCK_BYTES) {
		__m128i abef_before = abef, cdgh_before = cdgh, words[4];

		for (size_t i = 0; i < 16; i++) {
			__m128i *now = &words[i % 4], sum;

			if (i < 4)
				*now = _mm_shuffle_epi8(
					_mm_loadu_si128((const __m128i *)(bytes + i * 16)), swap);
			else
				*now = _mm_sha256msg2_epu32(
					_mm_add_epi32(
						_mm_sha256msg1_epu32(*now, words[(i + 1) % 4]),
						_mm_alignr_epi8(words[(i + 3) % 4],
								words[(i + 2) % 4], 4)),
					words[(i + 3) % 4]);
			sum = _mm_add_epi32(
				*now, _mm_load_si128((const __m128i *)(round_constants + i * 4)));
			cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
			abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
		}
		abef = _mm_add_epi32(abef, abef_before);
		cdgh = _mm_add_epi32(cdgh, cdgh_before);
	}
	low = _mm_shuffle_epi32(abef, 0x1b);
	high = _mm_shuffle_epi32(cdgh, 0xb1);
	_mm_storeu_si128((__m128i *)state, _mm_blend_epi16(low, high, 0xf0));
	_mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(high, low, 8));
}

void sha256_blocks(u32 state[8], const u8 *bytes, size_t count, bool fast)
{
	if (fast)
		blocks_add_fast(state, bytes, count);
	for (; !fast && count; count--, bytes += SHA256_BLOCK_BYTES)
		block_add(state, bytes);
}

void sha256_begin(struct sha256 *sha)
{
	*sha = (struct sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
					 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void sha256_add(struct sha256 *sha, const void *bytes, size_t size)
{
	size_t held = sha->size_bytes % SHA256_BLOCK_BYTES, part = SHA256_BLOCK_BYTES - held;
	bool fast = sha256_is_fast();
	const u8 *from = bytes;

	sha->size_bytes += size;
	if (held && size >= part) {
		memcpy(sha->block + held, from, part);
		sha256_blocks(sha->state, sha->block, 1, fast);
		from += part;
		size -= part;
		held = 0;
	}
	if (!held) {
		sha256_blocks(sha->state, from, size / SHA256_BLOCK_BYTES, fast);
		from += size - size % SHA256_BLOCK_BYTES;
		size %= SHA256_BLOCK_BYTES;
	}
	memcpy(sha->block + held, from, size);
}

void sha256_end(struct sha256 *sha, u8 ret_digest[SHA256_BYTES])
{
	u64 bits = sha->size_bytes * 8;
	u8 padding[SHA256_BLOCK_BYTES * 2] = {0x80}, length[8];
	size_t held = sha->size_bytes % SHA256_BLOCK_BYTES;
	size_t zeros = (held < 56 ? 56 : 120) - held;

	for (size_t i = 0; i < 8; i++)
		length[i] = (u8)(bits >> (56 - i * 8));
	sha256_add(sha, padding, zeros);
	sha256_add(sha, length, sizeof(length));
	for (size_t i = 0; i < SHA256_BYTES; i++)
		ret_digest[i] = (u8)(sha->state[i / 4] >> (24 - i % 4 * 8));
}
