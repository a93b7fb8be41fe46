/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/xplane/xplane_hlo_module.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "hlo.pb-c.h"

#define COMPUTATION_ID	 1
#define TOKEN_NAME	 "start.token"
#define DIMENSIONS_MAX	 3
#define TARGET_BYTES_MAX 1000
#define NO_NAMESPACE	 "(anonymous namespace)"

/* Types without elements. */
#define TYPE_TUPLE 13
#define TYPE_TOKEN 17

struct array {
	Hlo__Shape shape;
	Hlo__Layout layout;
	s64 sizes[DIMENSIONS_MAX], order[DIMENSIONS_MAX];
};

/* An instruction while it is put together. */
struct parts {
	Hlo__Instruction message;
	Hlo__Metadata metadata;
	struct array array; /* its shape, or the first part of it */
	Hlo__Shape tuple, token, *tuple_parts[2];
	s64 operands[2];
	Hlo__DotDimensions dot;
	s64 dot_left, dot_right, dot_batch;
};

/* ---- packing ---- */

struct text_buffer {
	ProtobufCBuffer base;
	struct text *text;
};

static void append_to_text(ProtobufCBuffer *base, size_t length, const u8 *bytes)
{
	text_append_bytes(((struct text_buffer *)base)->text, bytes, length);
}

void xplane_hlo_append_packed(struct text *text, const struct ProtobufCMessage *message)
{
	struct text_buffer buffer = {{append_to_text}, text};

	protobuf_c_message_pack_to_buffer(message, &buffer.base);
}

static int append_instruction(struct xplane_hlo_module *module, Hlo__Instruction *instruction)
{
	Hlo__Computation computation = HLO__COMPUTATION__INIT;

	computation.n_instructions = 1;
	computation.instructions = &instruction;
	xplane_hlo_append_packed(&module->computation, &computation.base);
	return module->computation.failed ? -ENOMEM : 0;
}

/* ---- shapes ---- */

static void make_array(struct array *array, u32 type, const u64 *sizes, size_t count)
{
	hlo__shape__init(&array->shape);
	hlo__layout__init(&array->layout);
	for (size_t i = 0; i < count; i++) {
		array->sizes[i] = (s64)sizes[i];
		array->order[i] = (s64)(count - 1 - i);
	}
	array->shape.element_type = (s32)type;
	array->shape.n_dimensions = count;
	array->shape.dimensions = array->sizes;
	array->shape.layout = &array->layout;
	array->layout.n_minor_to_major = count;
	array->layout.minor_to_major = array->order;
}

/* The shape of an instruction that gives memory and something that others can wait for. */
static void make_tuple(struct parts *parts, size_t part_count)
{
	hlo__shape__init(&parts->tuple);
	hlo__shape__init(&parts->token);
	parts->tuple.element_type = TYPE_TUPLE;
	parts->token.element_type = TYPE_TOKEN;
	parts->tuple_parts[0] = &parts->array.shape;
	parts->tuple_parts[1] = &parts->token;
	parts->tuple.n_tuple_shapes = part_count;
	parts->tuple.tuple_shapes = parts->tuple_parts;
	parts->message.shape = &parts->tuple;
}

/* ---- operands ---- */

/* Memory that somebody else made. */
static int add_operand(struct xplane_hlo_module *module, struct parts *parts, const char *suffix,
		       u32 type, const u64 *sizes, size_t count)
{
	Hlo__Instruction operand = HLO__INSTRUCTION__INIT;
	struct text name _cleanup_text_ = {0};
	struct array array;

	make_array(&array, type, sizes, count);
	text_append(&name, parts->message.name);
	text_append(&name, suffix);
	if (name.failed)
		return -ENOMEM;
	operand.name = name.data;
	operand.opcode = "custom-call";
	operand.shape = &array.shape;
	operand.id = ++module->last_id;
	parts->operands[parts->message.n_operand_ids++] = operand.id;
	return append_instruction(module, &operand);
}

static int add_token(struct xplane_hlo_module *module, struct parts *parts)
{
	Hlo__Instruction token = HLO__INSTRUCTION__INIT;
	Hlo__Shape shape = HLO__SHAPE__INIT;
	int result = 0;

	if (!module->token_id) {
		shape.element_type = TYPE_TOKEN;
		token.name = TOKEN_NAME;
		token.opcode = "after-all";
		token.shape = &shape;
		token.id = module->token_id = ++module->last_id;
		result = append_instruction(module, &token);
	}
	parts->operands[parts->message.n_operand_ids++] = module->token_id;
	return result;
}

/* ---- forms ---- */

static int make_opaque(struct xplane_hlo_module *module, struct parts *parts,
		       const struct xplane_hlo_cost *cost)
{
	make_tuple(parts, 0);
	return 0;
}

static int make_memory(struct xplane_hlo_module *module, struct parts *parts,
		       const struct xplane_hlo_cost *cost)
{
	make_array(&parts->array, XPLANE_HLO_U8, &cost->bytes, 1);
	parts->message.shape = &parts->array.shape;
	return 0;
}

static int make_infeed(struct xplane_hlo_module *module, struct parts *parts,
		       const struct xplane_hlo_cost *cost)
{
	make_memory(module, parts, cost);
	make_tuple(parts, 2);
	return add_token(module, parts);
}

static int make_outfeed(struct xplane_hlo_module *module, struct parts *parts,
			const struct xplane_hlo_cost *cost)
{
	int result = add_operand(module, parts, ".source", XPLANE_HLO_U8, &cost->bytes, 1);

	if (result == 0)
		result = add_token(module, parts);
	make_memory(module, parts, cost);
	make_tuple(parts, 2);
	parts->message.outfeed_shape = &parts->array.shape;
	parts->message.shape = &parts->token;
	return result;
}

static int make_copy(struct xplane_hlo_module *module, struct parts *parts,
		     const struct xplane_hlo_cost *cost)
{
	make_memory(module, parts, cost);
	return add_operand(module, parts, ".source", XPLANE_HLO_U8, &cost->bytes, 1);
}

static int make_fill(struct xplane_hlo_module *module, struct parts *parts,
		     const struct xplane_hlo_cost *cost)
{
	make_memory(module, parts, cost);
	return add_operand(module, parts, ".value", XPLANE_HLO_U8, NULL, 0);
}

static int make_matmul(struct xplane_hlo_module *module, struct parts *parts,
		       const struct xplane_hlo_cost *cost)
{
	/* Without a batch the sizes begin with the second. */
	size_t skipped = cost->batch == 1, count = DIMENSIONS_MAX - skipped;
	u64 left[] = {cost->batch, cost->m, cost->k}, right[] = {cost->batch, cost->k, cost->n};
	u64 product[] = {cost->batch, cost->m, cost->n};
	int result = add_operand(module, parts, ".left", cost->left_type, left + skipped, count);

	if (result == 0)
		result = add_operand(module, parts, ".right", cost->right_type, right + skipped,
				     count);
	make_array(&parts->array, cost->result_type, product + skipped, count);
	parts->message.shape = &parts->array.shape;
	hlo__dot_dimensions__init(&parts->dot);
	parts->dot_left = (s64)count - 1;
	parts->dot_right = (s64)count - 2;
	parts->dot_batch = 0;
	parts->dot.n_lhs_contracting = parts->dot.n_rhs_contracting = 1;
	parts->dot.lhs_contracting = &parts->dot_left;
	parts->dot.rhs_contracting = &parts->dot_right;
	parts->dot.n_lhs_batch = parts->dot.n_rhs_batch = !skipped;
	parts->dot.lhs_batch = parts->dot.rhs_batch = &parts->dot_batch;
	parts->message.dot_dimension_numbers = &parts->dot;
	return result;
}

static const struct {
	const char *opcode;
	int (*make)(struct xplane_hlo_module *module, struct parts *parts,
		    const struct xplane_hlo_cost *cost);
} forms[] = {
	[XPLANE_HLO_OPAQUE] = {"custom-call", make_opaque},
	[XPLANE_HLO_INFEED] = {"infeed", make_infeed},
	[XPLANE_HLO_OUTFEED] = {"outfeed", make_outfeed},
	[XPLANE_HLO_COPY] = {"copy", make_copy},
	[XPLANE_HLO_FILL] = {"broadcast", make_fill},
	[XPLANE_HLO_MATMUL] = {"dot", make_matmul},
	[XPLANE_HLO_COUNTED] = {"custom-call", make_opaque},
	[XPLANE_HLO_MEMORY] = {"custom-call", make_memory},
};

static bool is_product_sane(u64 batch, u64 rows, u64 columns)
{
	return rows && columns && batch && rows <= XPLANE_HLO_BYTES_MAX / columns &&
	       batch <= XPLANE_HLO_BYTES_MAX / (rows * columns);
}

static u32 form_of(const struct xplane_hlo_cost *cost)
{
	bool is_sane = true;

	if (cost->form == XPLANE_HLO_MATMUL)
		is_sane = is_product_sane(cost->batch, cost->m, cost->k) &&
			  is_product_sane(cost->batch, cost->k, cost->n) &&
			  is_product_sane(cost->batch, cost->m, cost->n);
	else
		is_sane = cost->bytes <= XPLANE_HLO_BYTES_MAX;
	return is_sane ? cost->form : XPLANE_HLO_OPAQUE;
}

/* ---- the instruction ---- */

static void describe_source(struct parts *parts, const char *source, struct text *scratch)
{
	const char *line = source ? strrchr(source, ':') : NULL;

	if (!line)
		return;
	text_append_bytes(scratch, source, (size_t)(line - source));
	parts->metadata.source_file = (char *)text_string(scratch);
	parts->metadata.source_line = atoi(line + 1);
}

static void describe(struct parts *parts, const struct xplane_hlo_instruction *instruction,
		     struct text *scratch, struct text *file)
{
	const char *operation = instruction->operation;
	const char *type = operation ? strrchr(operation, ':') : NULL;

	hlo__metadata__init(&parts->metadata);
	if (type) {
		text_append_bytes(scratch, operation, (size_t)(type - operation));
		parts->metadata.op_name = (char *)text_string(scratch);
		parts->metadata.op_type = (char *)type + 1;
	}
	describe_source(parts, instruction->source, file);
	if (instruction->same_as)
		parts->metadata.deduplicated_name = (char *)instruction->same_as;
	parts->message.metadata = &parts->metadata;
}

/* Some targets mean something to XLA: none has parentheses. */
static void append_target(struct text *text, const char *target)
{
	size_t length = strnlen(target, TARGET_BYTES_MAX);

	while (length && target[length] && ((u8)target[length] & 0xc0) == 0x80)
		length--;
	text_append_bytes(text, target, length);
	if (!strchr(text_string(text), '('))
		text_append(text, "()");
}

int xplane_hlo_module_add(struct xplane_hlo_module *module,
			  const struct xplane_hlo_instruction *instruction, s64 *ret_id)
{
	struct text operation _cleanup_text_ = {0}, target _cleanup_text_ = {0},
			      file _cleanup_text_ = {0};
	u32 form = form_of(&instruction->cost);
	struct parts parts;
	int result;

	hlo__instruction__init(&parts.message);
	parts.message.name = (char *)instruction->name;
	parts.message.opcode = (char *)forms[form].opcode;
	parts.message.operand_ids = parts.operands;
	result = forms[form].make(module, &parts, &instruction->cost);
	if (result < 0)
		return result;
	if (instruction->target && forms[form].make == make_opaque) {
		append_target(&target, instruction->target);
		parts.message.custom_call_target = (char *)text_string(&target);
	}
	describe(&parts, instruction, &operation, &file);
	if (operation.failed || target.failed || file.failed)
		return -ENOMEM;
	parts.message.id = *ret_id = module->root_id = ++module->last_id;
	return append_instruction(module, &parts.message);
}

/* ---- the whole ---- */

int xplane_hlo_module_pack(const struct xplane_hlo_module *module, const char *name, s64 id,
			   const struct text *buffers, struct text *ret_program)
{
	struct text computation _cleanup_text_ = {0}, packed _cleanup_text_ = {0};
	Hlo__Computation rest = HLO__COMPUTATION__INIT;
	Hlo__Module message = HLO__MODULE__INIT;
	Hlo__ProgramShape shape = HLO__PROGRAM_SHAPE__INIT;
	Hlo__Shape result = HLO__SHAPE__INIT;
	Hlo__Program program = HLO__PROGRAM__INIT;
	ProtobufCBinaryData body;

	rest.name = XPLANE_HLO_COMPUTATION_NAME;
	rest.id = COMPUTATION_ID;
	rest.root_id = module->root_id;
	text_append_bytes(&computation, module->computation.data, module->computation.length);
	xplane_hlo_append_packed(&computation, &rest.base);
	result.element_type = TYPE_TUPLE;
	shape.result = &result;
	message.name = (char *)name;
	message.entry_name = XPLANE_HLO_COMPUTATION_NAME;
	message.entry_id = COMPUTATION_ID;
	message.id = id;
	message.host_program_shape = &shape;
	body = (ProtobufCBinaryData){computation.length, (u8 *)computation.data};
	message.n_computations = 1;
	message.computations = &body;
	xplane_hlo_append_packed(&packed, &message.base);
	program.module = (ProtobufCBinaryData){packed.length, (u8 *)packed.data};
	if (buffers)
		program.buffers = (ProtobufCBinaryData){buffers->length, (u8 *)buffers->data};
	if (!computation.failed && !packed.failed)
		xplane_hlo_append_packed(ret_program, &program.base);
	return computation.failed || packed.failed || ret_program->failed ? -ENOMEM : 0;
}

void xplane_hlo_module_free(struct xplane_hlo_module *module)
{
	text_free(&module->computation);
	*module = (struct xplane_hlo_module){0};
}

/* ---- names ---- */

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* The words of XLA for types of numbers. It takes none of them for a name: behind each it puts what this does. */
static bool is_type(const char *name)
{
	static const char *const types[] = {
		"bf16",
		"buffer",
		"c128",
		"c64",
		"f16",
		"f32",
		"f4e2m1fn",
		"f64",
		"f8e3m4",
		"f8e4m3",
		"f8e4m3b11fnuz",
		"f8e4m3fn",
		"f8e4m3fnuz",
		"f8e5m2",
		"f8e5m2fnuz",
		"f8e8m0fnu",
		"opaque",
		"pred",
		"s1",
		"s16",
		"s2",
		"s32",
		"s4",
		"s64",
		"s8",
		"token",
		"u1",
		"u16",
		"u2",
		"u32",
		"u4",
		"u64",
		"u8",
	};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (strcmp(types[i], name) == 0)
			return true;
	return false;
}

/* Its return type and scopes without a name say nothing. */
static const char *without_prefixes(const char *name)
{
	static const char *const prefixes[] = {"void ", NO_NAMESPACE "::"};

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			name += strlen(prefixes[i]);
	return name;
}

void xplane_hlo_append_name(struct text *text, const char *name)
{
	size_t before = text->length;
	bool is_whole;

	name = without_prefixes(name);
	/* "<lambda>", "(f)": else it ends in front of its template arguments or parameters. */
	is_whole = strchr("<(", *name) != NULL;
	for (; *name && text->length - before < XPLANE_HLO_NAME_BYTES_MAX; name++) {
		bool is_first = text->length == before;

		if (!strncmp(name, NO_NAMESPACE "::", sizeof(NO_NAMESPACE "::") - 1))
			name += sizeof(NO_NAMESPACE "::") - 1;
		if (!*name || (!is_whole && strchr("<(", *name)))
			break;
		if (is_first && *name >= '0' && *name <= '9')
			text_append_char(text, '_');
		if (is_plain(*name) || (*name == '-' && !is_first))
			text_append_char(text, *name);
		else if (!is_first && text_string(text)[text->length - 1] != '_')
			text_append_char(text, '_');
	}
	if (text->length > before && text->data[text->length - 1] == '_')
		text->data[--text->length] = '\0';
	if (text->length == before)
		text_append(text, "unnamed");
	else if (is_type(text_string(text) + before))
		text_append_char(text, '_');
}
