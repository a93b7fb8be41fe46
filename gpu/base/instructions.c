/* SPDX-License-Identifier: MIT */
#include "instructions.h"

#include "../../bpf/record.h"
#include "system.h"

#define INSTRUCTION_SLOTS 4096U /* a power of two, of which 3/4 are used at most */

struct instruction {
	u64 address;
	u32 id; /* 0: the slot is empty */
	bool sent;
};

struct instructions {
	u32 pid;
	u64 fact_ns;
	u32 count;
	struct instruction slots[INSTRUCTION_SLOTS];
};

struct instructions *instructions_open(u32 pid, u64 fact_ns)
{
	struct instructions *instructions = system_map(sizeof(*instructions));

	if (instructions) {
		instructions->pid = pid;
		instructions->fact_ns = fact_ns;
	}
	return instructions;
}

void instructions_close(struct instructions *instructions)
{
	system_unmap(instructions, sizeof(*instructions));
}

static void send(struct instructions *instructions, struct ring_writer *writer,
		 struct instruction *instruction)
{
	struct {
		struct record_stack stack;
		u64 addresses[1];
	} *record = ring_reserve(writer, sizeof(*record));

	if (!record)
		return;
	*record = (typeof(*record)){
		.stack = {.header = {.size_bytes = sizeof(*record),
				     .kind = KIND_stack,
				     .ts = instructions->fact_ns,
				     .pid = instructions->pid},
			  .id = instruction->id,
			  .depth = 1},
		.addresses = {instruction->address},
	};
	ring_commit(writer, sizeof(*record));
	instruction->sent = true;
}

u32 instructions_put(struct instructions *instructions, struct ring_writer *writer, u64 address)
{
	u32 slot = (address * 0x9e3779b97f4a7c15ULL) >> 40;
	struct instruction *instruction;

	if (!address)
		return 0;
	for (;; slot++) {
		instruction = &instructions->slots[slot % INSTRUCTION_SLOTS];
		if (!instruction->id || instruction->address == address)
			break;
	}
	if (!instruction->id) {
		if (instructions->count == INSTRUCTION_SLOTS / 4 * 3) {
			ring_count(writer->ring, AGENT_COUNT_FACTS_CAPPED, 1);
			return 0;
		}
		*instruction = (struct instruction){address, ++instructions->count, false};
	}
	if (!instruction->sent)
		send(instructions, writer, instruction);
	return instruction->id;
}
