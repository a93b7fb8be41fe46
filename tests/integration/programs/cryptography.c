/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Works through much of OpenSSL's libcrypto at each line of its input, and prints a digest of what came out.
 * Declares what it uses, so that the headers need not be installed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct evp_cipher EVP_CIPHER;
typedef struct evp_cipher_ctx EVP_CIPHER_CTX;
typedef struct evp_pkey EVP_PKEY;
typedef struct evp_md_ctx EVP_MD_CTX;
typedef struct bignum BIGNUM;
typedef struct bn_ctx BN_CTX;
typedef struct ec_group EC_GROUP;
typedef struct ec_point EC_POINT;

int EVP_Q_digest(void *context, const char *name, const char *query, const void *data, size_t size,
		 unsigned char *digest, size_t *digest_size);
EVP_CIPHER *EVP_CIPHER_fetch(void *context, const char *name, const char *query);
void EVP_CIPHER_free(EVP_CIPHER *cipher);
EVP_CIPHER_CTX *EVP_CIPHER_CTX_new(void);
void EVP_CIPHER_CTX_free(EVP_CIPHER_CTX *context);
int EVP_CipherInit_ex(EVP_CIPHER_CTX *context, const EVP_CIPHER *cipher, void *engine,
		      const unsigned char *key, const unsigned char *iv, int encrypt);
int EVP_CipherUpdate(EVP_CIPHER_CTX *context, unsigned char *out, int *out_size,
		     const unsigned char *in, int in_size);
int EVP_CipherFinal_ex(EVP_CIPHER_CTX *context, unsigned char *out, int *out_size);
EVP_PKEY *EVP_PKEY_Q_keygen(void *context, const char *query, const char *type, ...);
void EVP_PKEY_free(EVP_PKEY *key);
EVP_MD_CTX *EVP_MD_CTX_new(void);
void EVP_MD_CTX_free(EVP_MD_CTX *context);
int EVP_DigestSignInit_ex(EVP_MD_CTX *context, void *key_context, const char *digest, void *library,
			  const char *query, EVP_PKEY *key, void *parameters);
int EVP_DigestSign(EVP_MD_CTX *context, unsigned char *signature, size_t *signature_size,
		   const unsigned char *data, size_t size);
int EVP_DigestVerifyInit_ex(EVP_MD_CTX *context, void *key_context, const char *digest,
			    void *library, const char *query, EVP_PKEY *key, void *parameters);
int EVP_DigestVerify(EVP_MD_CTX *context, const unsigned char *signature, size_t signature_size,
		     const unsigned char *data, size_t size);
BIGNUM *BN_new(void);
void BN_free(BIGNUM *number);
int BN_dec2bn(BIGNUM **number, const char *text);
char *BN_bn2hex(const BIGNUM *number);
BN_CTX *BN_CTX_new(void);
void BN_CTX_free(BN_CTX *context);
int BN_mod_exp(BIGNUM *result, const BIGNUM *base, const BIGNUM *power, const BIGNUM *modulus,
	       BN_CTX *context);
int BN_gcd(BIGNUM *result, const BIGNUM *a, const BIGNUM *b, BN_CTX *context);
int BN_check_prime(const BIGNUM *number, BN_CTX *context, void *callback);
EC_GROUP *EC_GROUP_new_by_curve_name(int number);
void EC_GROUP_free(EC_GROUP *group);
EC_POINT *EC_POINT_new(const EC_GROUP *group);
void EC_POINT_free(EC_POINT *point);
int EC_POINT_mul(const EC_GROUP *group, EC_POINT *result, const BIGNUM *factor,
		 const EC_POINT *point, const BIGNUM *other, BN_CTX *context);
char *EC_POINT_point2hex(const EC_GROUP *group, const EC_POINT *point, int form, BN_CTX *context);
int PKCS5_PBKDF2_HMAC(const char *password, int size, const unsigned char *salt, int salt_size,
		      int rounds, const void *digest, int key_size, unsigned char *key);
const void *EVP_sha512(void);
void CRYPTO_free(void *memory, const char *file, int line);

enum { DATA_BYTES = 4000, BLOCK_BYTES = 64 };

static unsigned char data[DATA_BYTES], encrypted[DATA_BYTES + BLOCK_BYTES],
	decrypted[DATA_BYTES + 2 * BLOCK_BYTES];

static void print_digest(FILE *out, const char *name, const void *bytes, size_t size)
{
	unsigned char digest[BLOCK_BYTES];
	size_t digest_size = sizeof(digest);

	fprintf(out, "%s %d ", name,
		EVP_Q_digest(NULL, name, NULL, bytes, size, digest, &digest_size));
	for (size_t i = 0; i < digest_size; i++)
		fprintf(out, "%02x", digest[i]);
	fputc('\n', out);
}

static int crypt_bytes(const EVP_CIPHER *cipher, int encrypt, const unsigned char *in, int size,
		       unsigned char *ret_out)
{
	EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
	int done = 0, rest = 0;

	/* data itself is key and initial vector. */
	EVP_CipherInit_ex(context, cipher, NULL, data, data + BLOCK_BYTES, encrypt);
	EVP_CipherUpdate(context, ret_out, &done, in, size);
	EVP_CipherFinal_ex(context, ret_out + done, &rest);
	EVP_CIPHER_CTX_free(context);
	return done + rest;
}

static void ciphers(FILE *out)
{
	static const char *const names[] = {"AES-128-CBC",	 "AES-256-CTR",	 "AES-256-GCM",
					    "AES-128-OFB",	 "AES-192-ECB",	 "CAMELLIA-256-CBC",
					    "ARIA-128-CBC",	 "DES-EDE3-CBC", "ChaCha20",
					    "ChaCha20-Poly1305", "SM4-CBC"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, names[i], NULL);
		int size;

		if (!cipher)
			continue;
		size = crypt_bytes(cipher, 1, data, DATA_BYTES, encrypted);
		print_digest(out, "SHA256", encrypted, size);
		size = crypt_bytes(cipher, 0, encrypted, size, decrypted);
		fprintf(out, "%s %d\n", names[i], memcmp(decrypted, data, DATA_BYTES));
		EVP_CIPHER_free(cipher);
	}
}

static void print_number(FILE *out, const BIGNUM *number)
{
	char *text = BN_bn2hex(number);

	fprintf(out, "%s\n", text);
	CRYPTO_free(text, __FILE__, __LINE__);
}

static void numbers(FILE *out)
{
	static const int curves[] = {415, 714, 715};
	BN_CTX *context = BN_CTX_new();
	BIGNUM *base = NULL, *power = NULL, *modulus = NULL, *result = BN_new();

	BN_dec2bn(&base, "123456789012345678901234567890123456789012345678901234567890");
	BN_dec2bn(&power, "987654321098765432109876543210987654321098765432109876543211");
	BN_dec2bn(&modulus, "170141183460469231731687303715884105727");
	BN_mod_exp(result, base, power, modulus, context);
	print_number(out, result);
	BN_gcd(result, base, power, context);
	print_number(out, result);
	fprintf(out, "%d %d\n", BN_check_prime(modulus, context, NULL),
		BN_check_prime(base, context, NULL));
	for (size_t i = 0; i < sizeof(curves) / sizeof(curves[0]); i++) {
		EC_GROUP *group = EC_GROUP_new_by_curve_name(curves[i]);
		EC_POINT *point = EC_POINT_new(group);
		char *text;

		EC_POINT_mul(group, point, modulus, NULL, NULL, context);
		text = EC_POINT_point2hex(group, point, 4, context);
		fprintf(out, "%s\n", text);
		CRYPTO_free(text, __FILE__, __LINE__);
		EC_POINT_free(point);
		EC_GROUP_free(group);
	}
	BN_free(base);
	BN_free(power);
	BN_free(modulus);
	BN_free(result);
	BN_CTX_free(context);
}

static void signature(FILE *out, EVP_PKEY *key, const char *digest)
{
	unsigned char bytes[1024];
	size_t size = sizeof(bytes);
	EVP_MD_CTX *context = EVP_MD_CTX_new();

	fprintf(out, "%d", EVP_DigestSignInit_ex(context, NULL, digest, NULL, NULL, key, NULL));
	fprintf(out, "%d", EVP_DigestSign(context, bytes, &size, data, DATA_BYTES));
	EVP_MD_CTX_free(context);
	for (int wrong = 0; wrong < 2; wrong++) {
		context = EVP_MD_CTX_new();
		EVP_DigestVerifyInit_ex(context, NULL, digest, NULL, NULL, key, NULL);
		fprintf(out, " %d",
			EVP_DigestVerify(context, bytes, size, data, DATA_BYTES - wrong) == 1);
		EVP_MD_CTX_free(context);
	}
	fputc('\n', out);
	EVP_PKEY_free(key);
}

static void work(FILE *out)
{
	static const char *const digests[] = {"SHA1",	  "SHA224",	 "SHA256",	"SHA384",
					      "SHA512",	  "SHA3-256",	 "SHA3-512",	"SHAKE128",
					      "MD5",	  "BLAKE2B-512", "BLAKE2S-256", "SM3",
					      "RIPEMD160"};
	unsigned char key[BLOCK_BYTES];

	for (size_t i = 0; i < sizeof(digests) / sizeof(digests[0]); i++)
		print_digest(out, digests[i], data, DATA_BYTES);
	ciphers(out);
	numbers(out);
	signature(out, EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256"), "SHA256");
	signature(out, EVP_PKEY_Q_keygen(NULL, NULL, "ED25519"), NULL);
	signature(out, EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)512), "SHA256");
	PKCS5_PBKDF2_HMAC("password", 8, data, 16, 20, EVP_sha512(), sizeof(key), key);
	print_digest(out, "SHA256", key, sizeof(key));
}

int main(void)
{
	char line[64];

	for (size_t i = 0; i < DATA_BYTES; i++)
		data[i] = (unsigned char)(i * i % 251);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		char *text = NULL;
		size_t size = 0;
		FILE *out = open_memstream(&text, &size);

		work(out);
		fclose(out);
		print_digest(stdout, "SHA256", text, size);
		fflush(stdout);
		if (getenv("SHOW"))
			fputs(text, stderr);
		free(text);
	}
	return 0;
}
