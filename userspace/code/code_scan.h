/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds out what refers to the code of a file, by reading all of its code and its tables. */
#ifndef GPUPROBE_CODE_CODE_SCAN_H
#define GPUPROBE_CODE_CODE_SCAN_H

#include "base/sha256.h"
#include "code/code_references.h"
#include "elf/elf_file.h"

/* Some of the addresses of a file. */
struct code_span {
	u64 first, last;
};

/* What is known by the bytes of the code alone. */
struct code_text {
	u8 digest[SHA256_BYTES]; /* of where they are and what they are */
	struct code_bases bases; /* addresses that it takes, in ascending order */
};

/*
 * symbols: all functions of the file that are known. keep: the code of which it is asked; NULL: all. Reads each byte of code
 * once and, behind each address that code takes, as far as there is a jump table; large files with as many threads as there are
 * processors, 16 at most: about a second of CPU time for a GB of code in the page cache. ret_text: NULL, or what is to be known of the very
 * bytes that were read; its bases are the caller's to free. 0, or -errno and no references.
 */
int code_scan(const struct elf_file *file, const struct elf_symbols *symbols,
	      const struct code_span *keep, size_t keep_count, struct code_text *ret_text,
	      struct code_references **ret_references);
/* The same digest, of the code as it is now. */
int code_text_digest(const struct elf_file *file, const struct elf_symbols *symbols,
		     u8 ret_digest[SHA256_BYTES]);
/* Adds what leads to the code, but code itself, where that takes these addresses. Empties bases. Of movable files. */
int code_scan_follow(const struct elf_file *file, const struct elf_symbols *symbols,
		     struct code_bases *bases, struct code_references *references);
/* Calls visit with all of the code, part by part: so many bytes, and how many can be read from there. Stops where it does not return 0, and
 * returns that; or -errno. */
int code_scan_parts(const struct elf_file *file, const struct elf_symbols *symbols,
		    int (*visit)(void *data, u64 address, const u8 *bytes, size_t size, size_t readable),
		    void *data);
/* References to the file's code, of which nothing is kept yet. */
int code_references_of_file(const struct elf_file *file, const struct elf_symbols *symbols,
			    struct code_references **ret_references);

#endif
