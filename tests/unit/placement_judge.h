/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every function of a large file that is installed here: where its probe is placed, judged by what objdump says of
 * the file (another decoder, which reads all code from its start to its end), and how many are cheap thereby.
 * Takes seconds a file: test_placement.c has libraries, test_placement_programs.c programs.
 */
#ifndef GPUPROBE_TESTS_PLACEMENT_JUDGE_H
#define GPUPROBE_TESTS_PLACEMENT_JUDGE_H

#include <fcntl.h>
#include <glob.h>
#include <unistd.h>

#include "code/module_code.h"
#include "unit.h"

/* No probe is placed further behind a function's start. */
#define NEAR_BYTES ((1ULL << 8 * sizeof(((struct function_place *)NULL)->placed_bytes)) - 1)

/* What objdump says of each address. */
enum {
	BEGINS = 1,	 /* an instruction begins here */
	TARGET = 2,	 /* of a jump or call with a given target */
	TAKEN = 4,	 /* an address that an instruction computes */
	BLOCK_ENDS = 8,	 /* the instruction here is a jump, call, ret, trap or unknown */
	UNSAFE = 16,	 /* it may change sp, an argument register, memory */
	EMULATED = 32,	 /* the kernel emulates it */
	FIVE_BYTES = 64, /* nop of five bytes */
	FRAME = 128,	 /* sub $n,%rsp */
	OWN_FRAME = 256, /* mov to n(%rsp) */
	REGISTERS = 512, /* only registers, not sp, and flags change, and no memory is read */
};

struct listing {
	u64 start, end;
	u16 *flags;
	/* Sets of argument registers: those that an instruction mentions, but to replace them; those that it
	 * replaces; those that it changes. */
	u8 *mentioned, *replaced, *changed;
	bool *is_near; /* of a function's start: the words of the instruction are read, which takes most of the time */
	u64 last; /* address of the instruction before */
};

static inline void flag(struct listing *listing, u64 address, u16 flags)
{
	if (address >= listing->start && address < listing->end)
		listing->flags[address - listing->start] |= flags;
}

/* Not strncmp(), which the sanitizer looks after: most differ in their first byte. */
static inline bool begins(const char *text, const char *word)
{
	while (*word)
		if (*text++ != *word++)
			return false;
	return true;
}

static inline bool starts_with(const char *text, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (begins(text, words[i]))
			return true;
	}
	return false;
}

#define STARTS_WITH(text, ...)                                \
	starts_with(text, (const char *const[]){__VA_ARGS__}, \
		    ARRAY_SIZE(((const char *const[]){__VA_ARGS__})))

/* A bit each; whole, then what else mentions it. */
static const char *const argument_names[][6] = {
	{"%rdi", "%edi", "%di"},
	{"%rsi", "%esi", "%si"},
	{"%rdx", "%edx", "%dx", "%dl", "%dh"},
	{"%rcx", "%ecx", "%cx", "%cl", "%ch"},
	{"%r8", "%r8d"},
	{"%r9", "%r9d"},
};

static inline u8 arguments_mentioned(const char *text)
{
	u8 found = 0;

	if (!strchr(text, '%'))
		return 0;
	for (size_t a = 0; a < ARRAY_SIZE(argument_names); a++) {
		for (size_t n = 0; n < ARRAY_SIZE(argument_names[a]) && argument_names[a][n]; n++) {
			if (strstr(text, argument_names[a][n]))
				found |= (u8)(1 << a);
		}
	}
	return found;
}

/* The argument register that the last operand is as a whole, when nothing else mentions it or it is cleared. */
static inline u8 argument_replaced(const char *text)
{
	char words[256], *operand;

	snprintf(words, sizeof(words), "%s", text);
	words[strcspn(words, "#<\n")] = 0;
	for (size_t end = strlen(words); end && words[end - 1] == ' '; end--)
		words[end - 1] = 0;
	operand = strrchr(words, ',');
	if (!operand || strchr(operand, ')'))
		return 0;
	*operand++ = 0;
	for (size_t a = 0; a < ARRAY_SIZE(argument_names); a++) {
		u8 bit = (u8)(1 << a);

		if (strcmp(operand, argument_names[a][0]) && strcmp(operand, argument_names[a][1]))
			continue;
		if (STARTS_WITH(text, "xor ", "sub "))
			return strcmp(words + strcspn(words, "%"), operand) == 0 ? bit : 0;
		if (STARTS_WITH(text, "mov", "lea "))
			return arguments_mentioned(words) & bit ? 0 : bit;
	}
	return 0;
}

/* mov to memory that no frame is in */
static inline bool is_store(const char *text)
{
	const char *comma, *closed;
	char words[256];

	snprintf(words, sizeof(words), "%s", text);
	words[strcspn(words, "#<")] = 0; /* a symbol may be called anything */
	comma = strrchr(words, ',');
	closed = strrchr(words, ')');
	/* The last operand ends with the parenthesis. */
	return STARTS_WITH(words, "mov ", "movb ", "movw ", "movl ", "movq ") && comma && closed &&
	       strcspn(closed + 1, ",") == strlen(closed + 1) && !strstr(words, "%rsp") &&
	       !strstr(words, "%rbp") && !strstr(words, "%fs") && !strstr(words, "%gs") &&
	       !strstr(words, "mm");
}

/* By the words alone: what is written is the last operand. */
static inline bool is_unsafe(const char *text, u8 *ret_changed)
{
	static const char *const others[] = {"%rsp", "%esp", "%sp", "%xmm",
					     "%ymm", "%zmm", "%mm", "%st"};
	const char *comma, *operand;
	char last[256];

	if (STARTS_WITH(text, "nop", "endbr64", "test", "cmp ", "cmpb", "cmpw", "cmpl", "cmpq",
			"bt ", "comis", "ucomis", "vcomis", "vucomis", "xchg   %ax,%ax", "data16",
			"cs nop"))
		return false;
	if (argument_replaced(text) || is_store(text))
		return false;
	if (!STARTS_WITH(text, "mov", "lea", "xor ", "and ", "or ", "add ", "sub ", "neg", "not",
			 "inc", "dec", "shl", "shr", "sar", "set", "cmov"))
		return true;
	snprintf(last, sizeof(last), "%s", text);
	last[strcspn(last, "#<")] = 0;
	comma = strrchr(last, ',');
	operand = comma && !strchr(comma, ')') ? comma + 1 : strchr(last, ' ');
	if (!operand || strchr(operand, '('))
		return true;
	operand += strspn(operand, " ");
	*ret_changed = arguments_mentioned(operand);
	return operand[0] != '%' || starts_with(operand, others, ARRAY_SIZE(others));
}

/* More of it, by the words. */
static inline u16 kinds_of(const char *text)
{
	const char *address = strchr(text, '('), *stack = strstr(text, ",%rsp"), *last;
	u16 kinds = 0;

	if (STARTS_WITH(text, "sub    $0x") && stack && !address)
		kinds |= FRAME;
	last = strrchr(text, ',');
	while (last && strchr(last, ')') && !strchr(last, '('))
		for (last--; last > text && *last != ','; last--)
			;
	if (STARTS_WITH(text, "mov ", "movl ", "movq ", "movb ", "movw ", "movabs") && last &&
	    strstr(last, "(%rsp)") && last[1] != '-')
		kinds |= OWN_FRAME;
	if (STARTS_WITH(text, "nop", "endbr64", "xchg   %ax,%ax", "lea ") && !stack)
		kinds |= REGISTERS;
	if (STARTS_WITH(text, "mov ", "movs", "movz", "movabs", "add ", "sub ", "cmp ", "and ",
			"test ", "or ", "xor ") &&
	    !address && !strstr(text, "(%rip)") && !strchr(text, ':') &&
	    (!stack || STARTS_WITH(text, "cmp ", "test ")))
		kinds |= REGISTERS;
	return kinds;
}

static inline void line_read(struct listing *listing, char *line)
{
	char *colon = strchr(line, ':'), *end, *text, *comment;
	u64 address = strtoull(line, &end, 16), target;
	bool relative;
	u8 changed = 0;

	if (!colon || end != colon || line[0] != ' ')
		return;
	text = colon + 1 + strspn(colon + 1, " \t");
	if (listing->last && address - listing->last == 5 && listing->last >= listing->start &&
	    listing->flags[listing->last - listing->start] & FIVE_BYTES)
		listing->flags[listing->last - listing->start] |= FIVE_BYTES;
	else if (listing->last >= listing->start && listing->last < listing->end)
		listing->flags[listing->last - listing->start] &= (u16)~FIVE_BYTES;
	listing->last = address;
	flag(listing, address, BEGINS);
	if (address >= listing->start && address < listing->end &&
	    listing->is_near[address - listing->start]) {
		u8 replaced = argument_replaced(text);

		flag(listing, address,
		     (u16)((is_unsafe(text, &changed) ? UNSAFE : 0) | kinds_of(text)));
		listing->replaced[address - listing->start] = replaced;
		listing->changed[address - listing->start] = changed;
		listing->mentioned[address - listing->start] =
			arguments_mentioned(text) & (u8)~replaced;
	}
	if (STARTS_WITH(text, "nop", "data16", "xchg   %ax,%ax", "cs nop"))
		flag(listing, address, FIVE_BYTES);
	relative =
		text[0] == 'j' || STARTS_WITH(text, "call", "loop", "xbegin", "bnd j", "bnd call");
	if (relative || STARTS_WITH(text, "ret", "rep", "bnd", "notrack", "ud", "hlt", "int", "sys",
				    "(bad)", "iret"))
		flag(listing, address, BLOCK_ENDS);
	if ((text[0] == 'j' && strncmp(text, "jrcxz", 5) && strncmp(text, "jecxz", 5)) ||
	    STARTS_WITH(text, "call", "push   %r", "nop\n", "xchg   %ax,%ax"))
		flag(listing, address, EMULATED);
	target = strtoull(text + strcspn(text, " "), &end, 16);
	if (relative && (*end == ' ' || *end == '\n') && strchr(text, '<'))
		flag(listing, target, TARGET);
	comment = strchr(text, '#');
	if (comment)
		flag(listing, strtoull(comment + 1, NULL, 16), TAKEN);
}

static inline void mark_near(struct listing *listing, const struct elf_symbols *symbols)
{
	for (size_t i = 0; i < symbols->count; i++) {
		u64 start = symbols->items[i].address;

		for (u64 at = start; at <= start + NEAR_BYTES && at < listing->end; at++)
			if (at >= listing->start)
				listing->is_near[at - listing->start] = true;
	}
}

static inline bool listing_read(struct listing *listing, const char *path)
{
	char command[512], *line = NULL;
	size_t capacity = 0;
	FILE *file;

	snprintf(command, sizeof(command), "objdump -d -w --no-show-raw-insn %s 2>/dev/null", path);
	file = popen(command, "r");
	while (file && getline(&line, &capacity, file) > 0)
		line_read(listing, line);
	free(line);
	return file && pclose(file) == 0 && listing->last;
}

/* The rules, once more and in another way. */
static inline const char *judge(const struct listing *listing, const struct module_code *code,
			 const struct function_place *place, unsigned allowed, u64 start)
{
	const struct elf_symbols *symbols = module_code_symbols(code);
	bool displaced = place->displaced.operation != DISPLACED_NONE;
	size_t frames = 0;
	const u16 *flags = listing->flags - listing->start;
	u8 used = 0, overwritten = 0;

	if (!(flags[place->address] & BEGINS))
		return "in the middle of an instruction";
	if (!(flags[place->address] & (displaced ? REGISTERS : EMULATED)))
		return displaced ? "not for a program to do" : "not cheap";
	if ((displaced && !(allowed & PLACE_DISPLACED)) ||
	    (place->stack_bytes && !(allowed & PLACE_STACK_MOVED)))
		return "not allowed";
	if (flags[place->address] & FIVE_BYTES)
		return "a nop of five bytes";
	for (u64 at = start; at < place->address; at++) {
		if (flags[at] & FRAME && place->stack_bytes && !frames++)
			continue;
		if (flags[at] & (BLOCK_ENDS | UNSAFE) && !(flags[at] & OWN_FRAME && frames))
			return flags[at] & UNSAFE ? "behind a change" : "behind the entry block";
		used |= listing->mentioned[at - listing->start] & (u8)~overwritten;
		if (used & listing->replaced[at - listing->start] ||
		    (listing->changed[at - listing->start] & ~overwritten))
			return "behind an argument's change";
		overwritten |= listing->replaced[at - listing->start];
	}
	for (u64 at = start + 1; at <= place->address; at++) {
		if (flags[at] & (TARGET | TAKEN))
			return "referred to";
	}
	for (size_t i = 0; i < symbols->count; i++) {
		if (symbols->items[i].address > start &&
		    symbols->items[i].address <= place->address)
			return "behind a symbol";
	}
	return NULL;
}

/* Of one function, all places that it may have. */
static inline void places_judge(const struct module_code *code, const struct listing *listing,
			 const struct function_place *places, const struct elf_symbol *symbol)
{
	for (unsigned allowed = 0; allowed < PLACE_ALLOWED_MAX; allowed++) {
		const struct function_place *place = &places[allowed];
		const char *wrong = NULL;

		if (place->placed_bytes || place->displaced.operation)
			wrong = judge(listing, code, place, allowed, symbol->address);
		if (wrong)
			UNIT_FAIL("%s +%u (%u) is %s", symbol->name, place->placed_bytes, allowed,
				  wrong);
		CHECK(!allowed || place->cost == COST_CHEAP ||
		      places[allowed & (allowed - 1)].cost == COST_STEPPED);
	}
}

static inline void functions_judge(struct module_code *code, const struct listing *listing,
			    const char *path)
{
	const struct elf_symbols *symbols = module_code_symbols(code);
	size_t count = 0, cheap_before = 0, cheap[PLACE_ALLOWED_MAX] = {0}, skipped = 0, lost = 0;

	for (size_t i = 0; i < symbols->count; i++) {
		u64 start = symbols->items[i].address;
		struct function_place places[PLACE_ALLOWED_MAX];

		if (symbols->items[i].ifunc || (i && symbols->items[i - 1].address == start))
			continue;
		count++;
		if (module_code_place(code, start, 0, &places[0])) {
			skipped++;
			continue;
		}
		for (unsigned allowed = 0; allowed < PLACE_ALLOWED_MAX; allowed++) {
			places[allowed] = places[0];
			if (allowed && places[0].cost == COST_STEPPED)
				CHECK(!module_code_place(code, start, allowed, &places[allowed]));
			cheap[allowed] += places[allowed].cost == COST_CHEAP;
		}
		cheap_before += places[0].cost == COST_CHEAP && !places[0].placed_bytes;
		if (listing->flags[start - listing->start] & BEGINS)
			places_judge(code, listing, places, &symbols->items[i]);
		else
			lost++; /* data in the code: objdump has lost its step */
	}
	printf("# %s: %zu functions, %zu refused, cheap at the start %.1f %%, as placed %.1f %%, "
	       "also behind the frame %.1f %%, done by a program too %.1f %%, both %.1f %%\n",
	       path, count, skipped, 100.0 * cheap_before / count, 100.0 * cheap[0] / count,
	       100.0 * cheap[PLACE_STACK_MOVED] / count, 100.0 * cheap[PLACE_DISPLACED] / count,
	       100.0 * cheap[PLACE_STACK_MOVED | PLACE_DISPLACED] / count);
	CHECK(count > 500);
	CHECK(lost <= count / 100);
	CHECK(cheap[0] > cheap_before);
	CHECK(cheap[PLACE_DISPLACED] > cheap[0]);
}

static inline void check_path(const char *path)
{
	struct listing listing = {.start = UINT64_MAX};
	const struct elf_segment *segments;
	struct module_code *code;
	struct err err = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t count;

	if (fd < 0)
		SKIP("it is not installed");
	CHECK_OK(module_code_open(fd, path, "", &code, &err), err);
	count = elf_file_segments(module_code_file(code), true, &segments);
	for (size_t i = 0; i < count; i++) {
		u64 end = segments[i].address + segments[i].file_size_bytes;

		listing.start =
			segments[i].address < listing.start ? segments[i].address : listing.start;
		listing.end = end > listing.end ? end : listing.end;
	}
	listing.flags = calloc(listing.end - listing.start, sizeof(*listing.flags));
	listing.mentioned = calloc(listing.end - listing.start, 1);
	listing.replaced = calloc(listing.end - listing.start, 1);
	listing.changed = calloc(listing.end - listing.start, 1);
	listing.is_near = calloc(listing.end - listing.start, sizeof(*listing.is_near));
	mark_near(&listing, module_code_symbols(code));
	if (listing_read(&listing, path))
		functions_judge(code, &listing, path);
	else
		unit_skip = "objdump is not installed";
	free(listing.flags);
	free(listing.mentioned);
	free(listing.replaced);
	free(listing.changed);
	free(listing.is_near);
	module_code_free(code);
	close(fd);
}

/* The first file of a pattern: versions differ. */
static inline void check_file(const char *pattern)
{
	glob_t found = {0};

	if (glob(pattern, 0, NULL, &found) == 0)
		check_path(found.gl_pathv[0]);
	else
		unit_skip = "it is not installed";
	globfree(&found);
}

#endif
