/* SPDX-License-Identifier: MIT */
#include "code_objects.h"

#include <string.h>

#include "../../bpf/record.h"

#define PLACES_TRIED 32U
#define BEING_SENT   2 /* hashes are odd */
#define MULTIPLIER   0x9e3779b97f4a7c15ULL

/* Texts and tables of lines, as CPython has them: count of references, type, length, hash; of a text its state. */
#define OBJECT_LENGTH	    16
#define TEXT_STATE	    32
#define BYTES_DATA	    32
#define TEXT_WIDTH(state)   ((state) >> 2 & 7)
#define TEXT_COMPACT(state) ((state) >> 5 & 1)
#define TEXT_ASCII(state)   ((state) >> 6 & 1)
/* A byte a character, compact, ASCII. */
#define TEXT_IS_ASCII(state) (((state)&0x7c) == 0x64)

/* What is sent of a table of lines, so that the record fits its header. */
#define LINES_BYTES_MAX 32768U

/* Bytes of the process. */
struct piece {
	u64 at;
	u32 bytes;
	u8 width; /* of a character; 0: ASCII, or no text */
};

/* A code object, read. */
struct code {
	u64 address;
	const u8 *bytes;
	const struct python_layout *layout;
};

/* ---- memory ---- */

/* Page by page. False: they can't be read. */
static bool copy_bytes(const struct python_reader *reader, u64 at, u32 bytes, u8 *to)
{
	for (u32 done = 0, part; done < bytes; done += part) {
		const void *from;

		part = PAGE_BYTES - (at + done) % PAGE_BYTES;
		if (part > bytes - done)
			part = bytes - done;
		from = stack_memory_at(reader->memory, reader->moment, at + done, part);
		if (!from)
			return false;
		memcpy(to + done, from, part);
	}
	return true;
}

/* Where they stand, or in the buffer if they lie in two pages; NULL: they can't be read. */
static const u8 *view(const struct python_reader *reader, u64 at, u32 bytes, u8 *buffer)
{
	const u8 *place = stack_memory_at(reader->memory, reader->moment, at, bytes);

	if (!place && at % PAGE_BYTES + bytes > PAGE_BYTES && copy_bytes(reader, at, bytes, buffer))
		place = buffer;
	return place;
}

static u64 word_in(const u8 *bytes, u32 offset)
{
	u64 word;

	__builtin_memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

static s32 int_in(const u8 *bytes, u32 offset)
{
	s32 number;

	__builtin_memcpy(&number, bytes + offset, sizeof(number));
	return number;
}

/* ---- what a code object refers to ---- */

static bool find_text(const struct python_reader *reader, u64 text, u32 bytes_max,
		      struct piece *ret_piece)
{
	const struct python_layout *layout = &reader->process->layout;
	u8 buffer[TEXT_STATE + sizeof(u64)];
	const u8 *head = view(reader, text, sizeof(buffer), buffer);
	u64 length, bytes;
	u32 width, state;

	if (!head)
		return false;
	length = word_in(head, OBJECT_LENGTH);
	state = (u32)int_in(head, TEXT_STATE);
	width = TEXT_WIDTH(state);
	if (!TEXT_COMPACT(state) || (width != 1 && width != 2 && width != 4) || length >> 32)
		return false;
	bytes = length * width;
	*ret_piece = (struct piece){
		.at = text + (TEXT_ASCII(state) ? layout->text_data : layout->wide_text_data),
		.bytes = bytes < bytes_max ? bytes : bytes_max,
		.width = TEXT_ASCII(state) ? 0 : width,
	};
	return true;
}

static bool find_lines(const struct python_reader *reader, u64 lines, struct piece *ret_piece)
{
	u64 length;

	if (!stack_memory_read(reader->memory, reader->moment, lines + OBJECT_LENGTH, &length))
		return false;
	*ret_piece = (struct piece){
		.at = lines + BYTES_DATA,
		.bytes = length < LINES_BYTES_MAX ? length : LINES_BYTES_MAX,
	};
	return true;
}

/* Name, file, lines. False: it is no code object, or can't be read. */
static bool find_pieces(const struct python_reader *reader, const struct code *code,
			struct piece pieces[3])
{
	const struct python_layout *layout = code->layout;

	return find_text(reader, word_in(code->bytes, layout->code_name), PYTHON_NAME_BYTES - 4,
			 &pieces[0]) &&
	       find_text(reader, word_in(code->bytes, layout->code_file), PYTHON_FILE_BYTES - 4,
			 &pieces[1]) &&
	       find_lines(reader, word_in(code->bytes, layout->code_lines), &pieces[2]);
}

/* ---- which one it is ---- */

/* What no two code objects have in common, be it that one came to lie where the other was: where it is, how large, what it refers to, lines,
 * and, where it has one, its number (co_version). What changes while it lives is left out: in all versions words 0 and 1, in some 6, 7, 16 and 17. */
static void read_words(const struct code *code, u64 words[CODE_PAST_WORDS])
{
	static const u8 places[] = {2, 3, 4, 5, 8, 9, 11, 12};
	const struct python_layout *layout = code->layout;

	for (u32 i = 0; i < ARRAY_SIZE(places); i++)
		words[i] = word_in(code->bytes, places[i] * 8U);
	words[8] = word_in(code->bytes, layout->code_file);
	words[9] = word_in(code->bytes, layout->code_name);
	words[10] = word_in(code->bytes, layout->code_lines);
}

/* Of those that are numbered the words up to the number, which is the last of these, tell: the lines of the cache that the others are in need not be there. The
 * number alone does not, another interpreter counts from the same on. Written out: it is done for each frame. */
#define NUMBERED_LAST 6U

static inline bool has_same_words(const struct code *code, const u64 words[CODE_PAST_WORDS])
{
	const struct python_layout *layout = code->layout;
	const u8 *bytes = code->bytes;
	u64 different = (word_in(bytes, 16) ^ words[0]) | (word_in(bytes, 24) ^ words[1]) |
			(word_in(bytes, 32) ^ words[2]) | (word_in(bytes, 40) ^ words[3]) |
			(word_in(bytes, 64) ^ words[4]) | (word_in(bytes, 72) ^ words[5]) |
			(word_in(bytes, 88) ^ words[NUMBERED_LAST]);

	/* Where numbers have run out it is 0. */
	if (!layout->code_numbered || !(words[NUMBERED_LAST] >> 32))
		different |= (word_in(bytes, 96) ^ words[7]) |
			     (word_in(bytes, layout->code_file) ^ words[8]) |
			     (word_in(bytes, layout->code_name) ^ words[9]) |
			     (word_in(bytes, layout->code_lines) ^ words[10]);
	return !different;
}

static u64 hash_words(u64 address, const u64 words[CODE_PAST_WORDS])
{
	/* Odd, and none a sum or difference of others. */
	static const u64 factors[CODE_PAST_WORDS] = {
		0x94d049bb133111eb, 0xd6e8feb86659fd93, 0xff51afd7ed558ccd, 0xc4ceb9fe1a85ec53,
		0x2545f4914f6cdd1d, 0x5851f42d4c957f2d, 0xda942042e4dd58b5, 0xaef17502108ef2d9,
		0x8ebc6af09c88c6e3, 0x589965cc75374cc3, 0x1d8e4e27c47d124f,
	};
	u64 hash = address * MULTIPLIER;

	/* A sum of products, so that they can be made side by side. */
	for (u32 i = 0; i < CODE_PAST_WORDS; i++)
		hash += words[i] * factors[i];
	hash = (hash ^ hash >> 32) * MULTIPLIER;
	return (hash ^ hash >> 29) | 1;
}

static u64 mix_word(u64 sum, u64 word)
{
	sum = (sum ^ word) * MULTIPLIER;
	return sum ^ sum >> 31;
}

static u64 fold(u64 left, u64 right)
{
	unsigned __int128 product = (unsigned __int128)left * right;

	return (u64)product ^ (u64)(product >> 64);
}

/* Of bytes that lie in one page and begin with a word: the last word is read whole, and what is behind them left out. In two lanes, since each
 * step waits for the one before. */
static u64 sum_of(const u8 *bytes, u32 count, u64 seed)
{
	const u64 first = 0xd6e8feb86659fd93, second = 0xff51afd7ed558ccd;
	u64 lanes[] = {seed ^ count * MULTIPLIER, MULTIPLIER};

	for (; count >= 32; count -= 32, bytes += 32) {
		lanes[0] = fold(word_in(bytes, 0) ^ first, word_in(bytes, 8) ^ lanes[0]);
		lanes[1] = fold(word_in(bytes, 16) ^ second, word_in(bytes, 24) ^ lanes[1]);
	}
	if (count >= 16) {
		lanes[0] = fold(word_in(bytes, 0) ^ first, word_in(bytes, 8) ^ lanes[0]);
		count -= 16;
		bytes += 16;
	}
	if (count >= 8) {
		lanes[1] = fold(word_in(bytes, 0) ^ second, lanes[1]);
		count -= 8;
		bytes += 8;
	}
	if (count)
		lanes[0] = fold(word_in(bytes, 0) << (64 - 8 * count) ^ first, lanes[0]);
	return fold(lanes[0] ^ second, lanes[1] ^ first);
}

/* Of what a code object refers to. 0: it can't be read. */
static u64 sum_of_piece(const struct python_reader *reader, const struct piece *piece)
{
	u64 sum = 0;

	if (piece->at % 8)
		return 0;
	for (u32 done = 0, part; done < piece->bytes; done += part) {
		u64 at = piece->at + done;
		const u8 *bytes;

		part = PAGE_BYTES - at % PAGE_BYTES;
		if (part > piece->bytes - done)
			part = piece->bytes - done;
		bytes = stack_memory_at(reader->memory, reader->moment, at, part);
		if (!bytes)
			return 0;
		sum = sum_of(bytes, part, sum * MULTIPLIER);
	}
	return sum | 1;
}

/* The same of bytes in an object whose head was read, which are in the same page mostly. */
static inline u64 sum_behind(const struct python_reader *reader, u64 object, u32 offset, u32 bytes)
{
	const struct piece piece = {.at = object + offset, .bytes = bytes};

	if (object % PAGE_BYTES + offset + bytes > PAGE_BYTES || piece.at % 8 || !bytes)
		return sum_of_piece(reader, &piece);
	return sum_of((const u8 *)piece.at, bytes, 0) | 1;
}

static inline u64 sum_of_text(const struct python_reader *reader, u64 text, u32 bytes_max)
{
	const u8 *head =
		stack_memory_at(reader->memory, reader->moment, text, TEXT_STATE + sizeof(u64));
	struct piece piece;

	/* Nearly all are ASCII. */
	if (head && TEXT_IS_ASCII((u32)int_in(head, TEXT_STATE)) &&
	    word_in(head, OBJECT_LENGTH) <= bytes_max)
		return sum_behind(reader, text, reader->process->layout.text_data,
				  word_in(head, OBJECT_LENGTH));
	return find_text(reader, text, bytes_max, &piece) ? sum_of_piece(reader, &piece) : 0;
}

/* Most code of a stack is of few files, whose names are read once a walk: while code is run that refers to one it stays as it is. */
static u64 sum_of_file(const struct python_reader *reader, u64 text)
{
	struct code_past *past = reader->past;

	if (past->file != text)
		past->file_sum = sum_of_text(reader, text, PYTHON_FILE_BYTES - 4);
	past->file = text;
	return past->file_sum;
}

static inline u64 sum_of_lines(const struct python_reader *reader, u64 lines)
{
	u64 length;

	if (!stack_memory_read(reader->memory, reader->moment, lines + OBJECT_LENGTH, &length))
		return 0;
	return sum_behind(reader, lines, BYTES_DATA,
			  length < LINES_BYTES_MAX ? length : LINES_BYTES_MAX);
}

/* Another one may lie here with all that it refers to where this one had its own: names, files and lines tell. 0: they can't be read. */
static u64 mix_referred(const struct python_reader *reader, const struct code *code, u64 hash)
{
	const struct python_layout *layout = code->layout;
	u64 name =
		sum_of_text(reader, word_in(code->bytes, layout->code_name), PYTHON_NAME_BYTES - 4);
	u64 file = sum_of_file(reader, word_in(code->bytes, layout->code_file));
	u64 lines = sum_of_lines(reader, word_in(code->bytes, layout->code_lines));

	return name && file && lines ? mix_word(mix_word(mix_word(hash, name), file), lines) | 1
				     : 0;
}

/* ---- telling of it ---- */

static bool fill(const struct python_reader *reader, const struct code *code, u32 id,
		 const struct piece pieces[3], struct python_code *told)
{
	/* There is room for as many lines as it has. */
	memset(told, 0, offsetof(struct python_code, lines));
	told->id = id;
	told->pid = reader->pid;
	told->first_line = int_in(code->bytes, code->layout->code_first_line);
	told->lines_bytes = pieces[2].bytes;
	told->lines_form = code->layout->lines;
	told->name = (struct python_text){.bytes = pieces[0].bytes, .width = pieces[0].width};
	told->file = (struct python_text){.bytes = pieces[1].bytes, .width = pieces[1].width};
	return copy_bytes(reader, pieces[0].at, pieces[0].bytes, told->name_bytes) &&
	       copy_bytes(reader, pieces[1].at, pieces[1].bytes, told->file_bytes) &&
	       copy_bytes(reader, pieces[2].at, pieces[2].bytes, told->lines);
}

static bool send(const struct python_reader *reader, const struct code *code, u32 id)
{
	struct record_header *record;
	struct piece pieces[3];
	u32 bytes;

	if (!find_pieces(reader, code, pieces))
		return false;
	bytes = sizeof(*record) + offsetof(struct python_code, lines) + pieces[2].bytes;
	bytes = (bytes + 7) & ~7U;
	record = ring_reserve(reader->writer, bytes);
	if (!record)
		return false;
	*record = (struct record_header){.size_bytes = bytes, .kind = AGENT_KIND_PYTHON_CODE};
	if (!fill(reader, code, id, pieces, (void *)(record + 1)))
		return false;
	ring_commit(reader->writer, bytes);
	return true;
}

static u32 number_of(const struct python_reader *reader, u64 hash, const struct code *code)
{
	for (u32 i = 0; i < PLACES_TRIED; i++) {
		u32 place = ((hash >> 40) + i) % AGENT_PYTHON_CODES;
		u64 *slot = &reader->codes->hashes[place];
		u64 known = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
		bool sent;

		if (known == hash)
			return reader->first_number + place;
		/* What another thread is about to send has another place here. */
		if (known || !__atomic_compare_exchange_n(slot, &known, BEING_SENT, false,
							  __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			continue;
		sent = send(reader, code, reader->first_number + place);
		__atomic_store_n(slot, sent ? hash : 0, __ATOMIC_RELEASE);
		return sent ? reader->first_number + place : 0;
	}
	return 0;
}

/* So much of a code object is read; 0: what tells of it lies behind that. */
static u32 bytes_of_code(const struct python_layout *layout)
{
	u32 bytes =
		PYTHON_FRAMES_ARE_OBJECTS(layout) ? PYTHON_CODE_OBJECT_BYTES : PYTHON_CODE_BYTES;
	const u16 offsets[] = {layout->code_file, layout->code_name, layout->code_lines,
			       layout->code_first_line, layout->code_first_traced};

	for (u32 i = 0; i < ARRAY_SIZE(offsets); i++)
		if (offsets[i] > bytes - sizeof(u64))
			return 0;
	return bytes;
}

bool code_past_begin(struct code_past *past, u32 filled, const struct python_process *process)
{
	past->file = past->file_sum = 0;
	past->changed = false;
	if (past->filled == filled)
		return true;
	past->filled = filled;
	past->process = *process;
	past->code_bytes = bytes_of_code(&past->process.layout);
	memset(past->addresses, 0, sizeof(past->addresses));
	return false;
}

/* In the place of another one. */
static struct code_seen *see(struct code_past *past, const struct code *code, u32 set, u32 way)
{
	struct code_seen *seen = &past->codes[set * CODE_PAST_WAYS + way];

	past->changed = true;
	/* Who leaves here in its middle (a signal handler that ends the thread) leaves none. */
	past->addresses[set][way] = seen->address = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	read_words(code, seen->words);
	seen->hash = hash_words(code->address, seen->words);
	seen->id = 0;
	seen->first_traced = int_in(code->bytes, code->layout->code_first_traced);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	past->addresses[set][way] = seen->address = code->address;
	return seen;
}

/* What the thread has kept of it, with its words as they are now. */
static struct code_seen *look_up(struct code_past *past, const struct code *code)
{
	u32 set = code->address * MULTIPLIER >> 58, way = 0;

	_Static_assert(CODE_PAST_SETS == 1 << (64 - 58), "as many bits tell the set");
	while (way < CODE_PAST_WAYS && past->addresses[set][way] != code->address)
		way++;
	if (way == CODE_PAST_WAYS)
		return see(past, code, set, past->next++ % CODE_PAST_WAYS);
	if (!has_same_words(code, past->codes[set * CODE_PAST_WAYS + way].words))
		return see(past, code, set, way);
	return &past->codes[set * CODE_PAST_WAYS + way];
}

struct code_object_seen code_objects_get(const struct python_reader *reader, u64 address)
{
	const struct python_layout *layout = &reader->process->layout;
	u32 bytes = reader->past->code_bytes;
	u8 buffer[PYTHON_CODE_BYTES];
	struct code code = {
		.address = address,
		.layout = layout,
		.bytes = view(reader, address, bytes, buffer),
	};
	struct code_seen *seen;
	u64 whole;

	if (!bytes || !code.bytes ||
	    word_in(code.bytes, PYTHON_TYPE_OFFSET) != reader->process->code_type)
		return (struct code_object_seen){0};
	seen = look_up(reader->past, &code);
	whole = layout->code_numbered ? seen->hash : mix_referred(reader, &code, seen->hash);
	if (!seen->id || whole != seen->whole) {
		seen->id = whole ? number_of(reader, whole, &code) : 0;
		seen->whole = whole;
		reader->past->changed = true;
		seen->first_traced = int_in(code.bytes, layout->code_first_traced);
	}
	return (struct code_object_seen){seen->id, seen->first_traced, seen - reader->past->codes};
}

static inline bool can_read(const struct python_reader *reader, u64 address, u32 bytes)
{
	struct stack_memory_range range = {0};

	return stack_memory_at(reader->memory, reader->moment, address, bytes) ||
	       stack_memory_cover(reader->memory, reader->moment, &range, address, bytes);
}

/* seen was kept of what is at this address. */
static inline bool is_same(const struct python_reader *reader, u64 address,
			   const struct code_seen *seen)
{
	const u32 bytes = reader->past->code_bytes;
	const struct code code = {
		.address = address,
		.layout = &reader->process->layout,
		.bytes = (const u8 *)address,
	};

	return seen->address == address && can_read(reader, address, bytes) &&
	       word_in(code.bytes, PYTHON_TYPE_OFFSET) == reader->process->code_type &&
	       has_same_words(&code, seen->words) &&
	       (code.layout->code_numbered ||
		mix_referred(reader, &code, seen->hash) == seen->whole);
}

u32 code_objects_same_until(const struct python_reader *reader, const struct python_step *steps,
			    u32 from, u32 to)
{
	u64 last = 0;

	/* What came of a step may be of another one that was kept there before. */
	if (reader->past->changed)
		return from;
	for (u32 i = from; i < to; i++) {
		u64 code = PYTHON_CODE_OF_FRAME(steps[i].code);

		if (steps[i].slot == PYTHON_STEP_NO_CODE || code == last)
			continue;
		if (steps[i].slot == PYTHON_STEP_UNKNOWN ||
		    !is_same(reader, code, &reader->past->codes[steps[i].slot]))
			return i;
		last = code;
	}
	return to;
}
