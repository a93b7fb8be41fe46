#include "attach/instruction.h"

#include <capstone/capstone.h>
#include <errno.h>
#include <stdlib.h>

struct decoder {
	csh handle;
	cs_insn *instruction;
};

int decoder_create(struct decoder **ret_decoder, struct err *err)
{
	struct decoder *decoder = calloc(1, sizeof(*decoder));
	cs_err result;

	if (!decoder)
		return err_errno(err, -ENOMEM, "can't start the instruction decoder");
	result = cs_open(CS_ARCH_X86, CS_MODE_64, &decoder->handle);
	if (result == CS_ERR_OK)
		result = cs_option(decoder->handle, CS_OPT_DETAIL, CS_OPT_ON);
	if (result == CS_ERR_OK)
		decoder->instruction = cs_malloc(decoder->handle);
	if (!decoder->instruction) {
		decoder_free(decoder);
		return err_set(err, -EINVAL, "can't start the instruction decoder: %s",
			       cs_strerror(result));
	}
	*ret_decoder = decoder;
	return 0;
}

struct decoder *decoder_free(struct decoder *decoder)
{
	if (!decoder)
		return NULL;
	if (decoder->instruction)
		cs_free(decoder->instruction, 1);
	if (decoder->handle)
		cs_close(&decoder->handle);
	free(decoder);
	return NULL;
}

/* The kernel refuses these prefixes whatever follows; "notrack jmp" and "cs nopw" have one too. */
static const char *prefix_refused(const u8 *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		switch (bytes[i]) {
		case 0xf0:
			return "the kernel does not probe instructions with a lock prefix";
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
			return "the kernel does not probe instructions with a segment prefix";
		case 0x64:
		case 0x65:
		case 0x66:
		case 0x67:
		case 0xf2:
		case 0xf3:
			break;
		default:
			return NULL;
		}
	}
	return NULL;
}

static bool has_group(const cs_insn *instruction, u8 group)
{
	for (u8 i = 0; i < instruction->detail->groups_count; i++) {
		if (instruction->detail->groups[i] == group)
			return true;
	}
	return false;
}

static bool is_vector_encoded(u8 first)
{
	return first == 0xc4 || first == 0xc5 || first == 0x62;
}

/* Those that the kernel emulates instead of single-stepping them out of line. */
static bool is_emulated(const u8 *bytes, size_t length)
{
	size_t i = 0;

	/* push of a register, with at most a REX.B in front */
	if (length == 1 && bytes[0] >= 0x50 && bytes[0] <= 0x57)
		return true;
	if (length == 2 && bytes[0] == 0x41 && bytes[1] >= 0x50 && bytes[1] <= 0x57)
		return true;
	while (i < length && bytes[i] == 0x66)
		i++;
	if (i < length && bytes[i] == 0x90)
		return true;
	if (i)
		return false;
	if (bytes[0] == 0xe8 || bytes[0] == 0xe9 || bytes[0] == 0xeb)
		return true;
	if (bytes[0] >= 0x70 && bytes[0] <= 0x7f)
		return true;
	return bytes[0] == 0x0f && length > 1 && bytes[1] >= 0x80 && bytes[1] <= 0x8f;
}

const char *decoder_check(struct decoder *decoder, const u8 *bytes, size_t size, u64 address,
			  enum instruction_cost *ret_cost)
{
	const cs_insn *instruction = decoder->instruction;
	const u8 *code = bytes;
	const char *refused = prefix_refused(bytes, size);
	size_t left = size;
	u64 next = address;

	if (refused)
		return refused;
	if (!size || !cs_disasm_iter(decoder->handle, &code, &left, &next, decoder->instruction))
		return "its first bytes are no instruction that is known here";
	if (has_group(instruction, CS_GRP_PRIVILEGE) || has_group(instruction, CS_GRP_INT) ||
	    instruction->id == X86_INS_HLT || instruction->id == X86_INS_INT3)
		return "the kernel does not probe interrupts and privileged instructions";
	if (is_vector_encoded(bytes[0]))
		return "it starts with an AVX instruction, which some kernels take for another one";
	*ret_cost = is_emulated(bytes, instruction->size) ? COST_CHEAP : COST_STEPPED;
	return NULL;
}
