/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * How to find the caller of any instruction of a file: the same bytes for the BPF programs, the agent and userspace.
 *
 * A table has one row (u32) for each stretch of code with one rule, page by page of UNWIND_PAGE_BYTES of the file's own addresses:
 * the low UNWIND_ROW_ADDRESS_BITS bits of a row are where in its page it begins, the others the number of its rule. The rows of a
 * page are sorted, and the first begins with the page: who looks something up needs no other page. Rules are shared by many rows.
 *
 * The registers that are followed are rsp, rbp, rbx and the instruction: gcc keeps the frame of functions that realign their stack
 * in rbx, and so does the loader's lazy binding. What a rule takes from other registers is known in the innermost frame only, and
 * in the one that a signal interrupted.
 */
#ifndef GPUPROBE_BPF_UNWIND_TABLE_H
#define GPUPROBE_BPF_UNWIND_TABLE_H

#define UNWIND_GOROUTINE_STACK_END 8 /* in what Go's runtime keeps of a goroutine: the upper end of its stack */

#define UNWIND_PAGE_BYTES	4096
#define UNWIND_ROW_ADDRESS_BITS 12
#define UNWIND_RULES_MAX	65536

/* What the canonical frame address (CFA, what rsp was before the call) is. The return address lies right below it. */
enum unwind_cfa {
	UNWIND_CFA_NONE = 0, /* no table says */
	UNWIND_CFA_END, /* there is no caller: the first function of a thread or of a program */
	UNWIND_CFA_UNSUPPORTED, /* the table says it in a way that is not followed */
	UNWIND_CFA_RSP,		/* rsp + offset */
	UNWIND_CFA_RBP,		/* rbp + offset */
	UNWIND_CFA_RBX,		/* rbx + offset */
	UNWIND_CFA_RSP_POINTS,	/* what lies at rsp + offset, + 8 * words */
	UNWIND_CFA_RBP_POINTS,	/* what lies at rbp + offset, + 8 * words */
	UNWIND_CFA_PLT,		/* rsp + 8, and 8 more from byte `offset` of 16 on */
	UNWIND_CFA_SIGNAL, /* the kernel's frame of a signal (struct rt_sigframe) holds all registers */
	/* Of Go, whose functions may have been called on another stack: */
	UNWIND_CFA_RBP_ELSEWHERE, /* rbp + offset */
	/* What lies at rsp + offset below the upper end of the stack of the goroutine at rsp + 8 * words, + 8, or + 16 where the caller's rbp
	 * lies there too. */
	UNWIND_CFA_GOROUTINE,
	UNWIND_CFA_REGISTER =
		16, /* + number by DWARF (0 to 15: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8, ...), + offset */
	UNWIND_CFA_INDEXED = 32, /* + number: what lies at rsp + offset + 8 * register, + 8 * words */
};

/* Where the caller's value of rbp or rbx is. */
enum unwind_register {
	UNWIND_SAME = 0,
	UNWIND_AT_CFA, /* at CFA + offset */
	UNWIND_AT_RBP, /* at rbp + offset */
	UNWIND_LOST,
};

/* 12 bytes, as many as there are in a table. */
struct unwind_rule {
	u8 cfa;	  /* enum unwind_cfa */
	u8 words; /* of *_POINTS, *_INDEXED */
	u8 rbp;	  /* enum unwind_register */
	u8 rbx;	  /* enum unwind_register */
	s32 cfa_offset;
	s16 rbp_offset; /* in bytes */
	s16 rbx_offset;
};

#define UNWIND_ROW(address, rule) \
	((u32)((address) & (UNWIND_PAGE_BYTES - 1)) | (u32)(rule) << UNWIND_ROW_ADDRESS_BITS)
#define UNWIND_ROW_ADDRESS(row) ((row) & (UNWIND_PAGE_BYTES - 1))
#define UNWIND_ROW_RULE(row)	((row) >> UNWIND_ROW_ADDRESS_BITS)

/* ---- the tables of a recording ---- */

/* Rules of several files share their numbers; the first ones mean no code of any table. */
enum unwind_fixed_rule {
	UNWIND_RULE_NONE = 0,	/* of a file that has a table, which does not say */
	UNWIND_RULE_NO_MAPPING, /* no file is mapped there */
	UNWIND_RULE_NOT_READY,	/* of a file whose table is not there yet, or that was mapped a moment ago */
	UNWIND_RULE_UNSUPPORTED,
	UNWIND_RULE_SEARCHED, /* no table says, nor do the instructions */
	UNWIND_RULES_FIXED,
};

/*
 * The words of a file: the number of its first page, how many pages there are, for each of them the index of its first row and how
 * many they are, then the rows. The rows of a page lie in one chunk. Where those of a page are replaced, others are put behind all
 * that there are, and the two words of the page are written as one.
 */
#define UNWIND_FIRST_PAGE  0
#define UNWIND_PAGE_COUNT  1
#define UNWIND_PAGE(index) (2 + 2 * (index))
#define UNWIND_CHUNK_WORDS 16384
struct unwind_chunk {
	u32 words[UNWIND_CHUNK_WORDS];
};

#define UNWIND_FILES_MAX    8194
#define UNWIND_FILE_SPARE   (UNWIND_FILES_MAX - 1) /* no mapping is of it */
#define UNWIND_MAPPINGS_MAX 65536 /* of all processes */
#define UNWIND_PROCESS_MAX  4096  /* of one process */

/* What a process maps of a file as code. */
struct unwind_mapping {
	u64 start, end;
	u64 bias; /* an address in the file is one in the process less this */
	u64 file; /* or UNWIND_NO_TABLE */
};

/* A file that can have no table: what compilers at run time map of a memfd, a program of another system. */
#define UNWIND_NO_TABLE 0xffffffff

/* Where the mappings of a process are, sorted by address: behind one of which `start` is the salt and `end` the count, as long as the places are not another process's. */
struct unwind_space {
	u32 first, count;
	u64 salt; /* another one whenever they change; never 0 */
	u64 told; /* that there seems to be more */
};

#endif
