/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SHA-256 as FIPS 180-4 has it, with the processor's instructions and without. */
#include "base/sha256.h"

#include "unit.h"

static void check_digest(const char *bytes, size_t size, size_t piece, const char *expected)
{
	u8 digest[SHA256_BYTES];
	struct sha256 sha;
	char text[2 * SHA256_BYTES + 1];

	sha256_begin(&sha);
	for (size_t done = 0; done < size; done += piece)
		sha256_add(&sha, bytes + done, size - done < piece ? size - done : piece);
	sha256_end(&sha, digest);
	for (size_t i = 0; i < SHA256_BYTES; i++)
		snprintf(text + 2 * i, 3, "%02x", digest[i]);
	CHECK_STRING(text, expected);
}

/* Examples of NIST (FIPS 180-4 examples, SHA256.pdf). */
TEST(known_digests)
{
	check_digest("", 0, 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	check_digest("abc", 3, 1,
		     "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	check_digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, 56,
		     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(pieces_add_up)
{
	static char bytes[1000000];

	memset(bytes, 'a', sizeof(bytes));
	for (size_t piece = 1; piece < 100000; piece = piece * 3 + 1)
		check_digest(bytes, sizeof(bytes), piece,
			     "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(with_instructions_of_the_processor_and_without)
{
	u8 bytes[SHA256_BLOCK_BYTES * 20];
	u32 fast[8] = {1, 2, 3, 4, 5, 6, 7, 8}, slow[8] = {1, 2, 3, 4, 5, 6, 7, 8};

	if (!sha256_is_fast())
		SKIP("this processor has none");
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (u8)(i * i * 7 + i);
	sha256_blocks(fast, bytes, 20, true);
	sha256_blocks(slow, bytes, 20, false);
	CHECK(!memcmp(fast, slow, sizeof(fast)));
}

UNIT_MAIN()
