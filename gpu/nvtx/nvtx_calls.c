/* SPDX-License-Identifier: MIT */
/*
 * What the target's threads call instead of nothing: the functions of NVTX. They run in whatever thread, also in a
 * handler of a signal that interrupted one of them: no lock, no allocation, a writer of their own each time.
 */
#include "nvtx_session.h"

#include "../../bpf/record.h"
#include "../base/arch_x86_64.h"
#include "../base/system.h"

/* nvtxEventAttributes_t, as NVTX 2 and 3 have it. */
struct attributes {
	u16 version, size_bytes;
	u32 category;
	s32 color_type;
	u32 color;
	s32 payload_type, reserved;
	u64 payload;
	s32 message_type, pad;
	u64 message;
};

_Static_assert(sizeof(struct attributes) == 48, "attributes of an event");

enum { COLOR_ARGB = 1 };
enum { MESSAGE_ASCII = 1, MESSAGE_WIDE = 2, MESSAGE_REGISTERED = 3 };

#define HANDLE_MARK 0xffffffff00000000ULL

struct call {
	struct nvtx_session *session;
	struct ring_writer writer;
	u32 tid;
};

/* false: it is a fork()ed child. */
static bool call_begin(struct call *call, struct nvtx_session *session)
{
	if (!session || !__atomic_load_n(session->live, __ATOMIC_ACQUIRE))
		return false;
	call->session = session;
	call->tid = system_tid();
	ring_writer_open(&call->writer, &session->ring, call->tid);
	/* Threads begin to look for room at different places. */
	if (session->ring.chunk_count)
		call->writer.cursor = call->tid % session->ring.chunk_count;
	return true;
}

static void call_end(struct call *call)
{
	ring_release(&call->writer);
}

/* ---- what an event is ---- */

/* The text that a handle of this session stands for; 0: it is none of ours. */
static u32 text_of(const struct nvtx_session *session, u64 handle)
{
	return (handle & HANDLE_MARK) == session->handle_mark ? (u32)handle : 0;
}

static u64 handle_of(const struct nvtx_session *session, u32 text)
{
	return text ? session->handle_mark | text : 0;
}

static u32 category_at(u64 domain, u32 category)
{
	u32 hash = (u32)domain * 0x9e3779b1U ^ category * 0x85ebca6bU;

	return (hash ^ hash >> 15) % NVTX_CATEGORIES;
}

static u32 category_name(const struct nvtx_session *session, u64 domain, u32 category)
{
	u32 at = category_at(domain, category);

	if (!category || session->categories[at].domain != domain ||
	    session->categories[at].category != category)
		return 0;
	return __atomic_load_n(&session->categories[at].name, __ATOMIC_ACQUIRE);
}

/* Another category at the same place loses its name: numbers are shown then. */
static u64 name_category(struct nvtx_session *session, u64 domain, u32 category, u64 string,
			 bool wide)
{
	u32 at = category_at(domain, category), name;
	struct call call;

	if (!call_begin(&call, session))
		return 0;
	name = wide ? nvtx_texts_put_wide(session->texts, &call.writer, (const u32 *)string)
		    : nvtx_texts_put(session->texts, &call.writer, (const char *)string);
	session->categories[at].domain = domain;
	session->categories[at].category = category;
	__atomic_store_n(&session->categories[at].name, name, __ATOMIC_RELEASE);
	call_end(&call);
	return 0;
}

static u64 double_of_float(u32 bits)
{
	union {
		u32 bits;
		float value;
	} from = {bits};
	union {
		double value;
		u64 bits;
	} to = {from.value};

	return to.bits;
}

/* The types of nvtxPayloadType_t, from 1 on. */
static void set_payload(struct nvtx_range *range, const struct attributes *attributes)
{
	u64 bits = attributes->payload;

	switch (attributes->payload_type) {
	case 1:
		range->payload_type = NVTX_PAYLOAD_UNSIGNED;
		range->payload = bits;
		break;
	case 2:
		range->payload_type = NVTX_PAYLOAD_SIGNED;
		range->payload = bits;
		break;
	case 3:
		range->payload_type = NVTX_PAYLOAD_DOUBLE;
		range->payload = bits;
		break;
	case 4:
		range->payload_type = NVTX_PAYLOAD_UNSIGNED;
		range->payload = (u32)bits;
		break;
	case 5:
		range->payload_type = NVTX_PAYLOAD_SIGNED;
		range->payload = (s64)(s32)bits;
		break;
	case 6:
		range->payload_type = NVTX_PAYLOAD_DOUBLE;
		range->payload = double_of_float(bits);
		break;
	}
}

static u32 message_of(struct call *call, const struct attributes *attributes)
{
	struct nvtx_texts *texts = call->session->texts;

	switch (attributes->message_type) {
	case MESSAGE_ASCII:
		return nvtx_texts_put(texts, &call->writer, (const char *)attributes->message);
	case MESSAGE_WIDE:
		return nvtx_texts_put_wide(texts, &call->writer, (const u32 *)attributes->message);
	case MESSAGE_REGISTERED:
		return nvtx_texts_send(texts, &call->writer,
				       text_of(call->session, attributes->message));
	}
	return 0;
}

static struct nvtx_range range_of(struct call *call, u64 domain,
				  const struct attributes *attributes)
{
	struct nvtx_range range = {.domain = domain, .tid = call->tid};

	range.domain_name = text_of(call->session, domain);
	if (!attributes || attributes->size_bytes < sizeof(*attributes))
		return range;
	range.name = message_of(call, attributes);
	range.category = attributes->category;
	range.category_name = category_name(call->session, domain, range.category);
	if (attributes->color_type == COLOR_ARGB)
		range.color = attributes->color;
	set_payload(&range, attributes);
	return range;
}

static struct nvtx_range range_named(struct call *call, u64 string, bool wide)
{
	struct attributes attributes = {.size_bytes = sizeof(attributes),
					.message_type = wide ? MESSAGE_WIDE : MESSAGE_ASCII,
					.message = string};

	return range_of(call, 0, &attributes);
}

/* ---- what is done with it ---- */

static u64 mark(struct call *call, struct nvtx_range range, u64 now_ns)
{
	range.start_ns = now_ns;
	nvtx_session_send(call->session, &call->writer, KIND_mark, &range, 0, 0);
	call_end(call);
	return 0;
}

static u64 push(struct call *call, struct nvtx_range range)
{
	range.start_ns = system_now_ns();
	if (!nvtx_ranges_push(call->session->ranges, call->tid, arch_thread_self(), &range))
		ring_count(&call->session->ring, AGENT_COUNT_RANGE_LOST, 1);
	call_end(call);
	return NVTX_NO_LEVELS;
}

static u64 pop(struct nvtx_session *session, u64 domain)
{
	u64 now_ns = system_now_ns();
	struct nvtx_range range;
	struct call call;

	if (!call_begin(&call, session))
		return NVTX_NO_LEVELS;
	switch (nvtx_ranges_pop(session->ranges, call.tid, arch_thread_self(), domain, &range)) {
	case NVTX_POPPED:
		nvtx_session_send(session, &call.writer, KIND_range, &range,
				  now_ns - range.start_ns, VALUE_range_ended_ended);
		break;
	case NVTX_POPPED_UNKNOWN:
		ring_count(&session->ring, AGENT_COUNT_RANGE_UNMATCHED, 1);
		break;
	case NVTX_POPPED_LOST:
		break;
	}
	call_end(&call);
	return NVTX_NO_LEVELS;
}

static u64 start(struct call *call, struct nvtx_range range)
{
	bool kept;
	u64 id;

	range.start_ns = system_now_ns();
	id = nvtx_ranges_start(call->session->ranges, &range, &kept);
	if (!kept)
		ring_count(&call->session->ring, AGENT_COUNT_RANGE_LOST, 1);
	call_end(call);
	return id;
}

static u64 end(struct nvtx_session *session, u64 id)
{
	u64 now_ns = system_now_ns();
	struct nvtx_range range;
	struct call call;

	if (!call_begin(&call, session))
		return 0;
	if (nvtx_ranges_end(session->ranges, id, &range))
		nvtx_session_send(session, &call.writer, KIND_process_range, &range,
				  now_ns - range.start_ns, VALUE_range_ended_ended);
	else
		ring_count(&session->ring, AGENT_COUNT_RANGE_UNMATCHED, 1);
	call_end(&call);
	return 0;
}

static u64 text_handle(struct nvtx_session *session, u64 string, bool wide)
{
	struct call call;
	u32 text;

	if (!call_begin(&call, session))
		return 0;
	text = wide ? nvtx_texts_put_wide(session->texts, &call.writer, (const u32 *)string)
		    : nvtx_texts_put(session->texts, &call.writer, (const char *)string);
	call_end(&call);
	return handle_of(session, text);
}

/* ---- NVTX's functions ---- */

#define CALL(name) \
	static u64 call_##name(u64 first, u64 second, u64 third, struct nvtx_session *session)

CALL(MarkEx)
{
	u64 now_ns = system_now_ns();
	struct call call;

	if (!call_begin(&call, session))
		return 0;
	return mark(&call, range_of(&call, 0, (const struct attributes *)first), now_ns);
}

CALL(MarkA)
{
	u64 now_ns = system_now_ns();
	struct call call;

	if (!call_begin(&call, session))
		return 0;
	return mark(&call, range_named(&call, first, false), now_ns);
}

CALL(MarkW)
{
	u64 now_ns = system_now_ns();
	struct call call;

	if (!call_begin(&call, session))
		return 0;
	return mark(&call, range_named(&call, first, true), now_ns);
}

CALL(DomainMarkEx)
{
	u64 now_ns = system_now_ns();
	struct call call;

	if (!call_begin(&call, session))
		return 0;
	return mark(&call, range_of(&call, first, (const struct attributes *)second), now_ns);
}

CALL(RangeStartEx)
{
	struct call call;

	if (!call_begin(&call, session))
		return 0;
	return start(&call, range_of(&call, 0, (const struct attributes *)first));
}

CALL(RangeStartA)
{
	struct call call;

	if (!call_begin(&call, session))
		return 0;
	return start(&call, range_named(&call, first, false));
}

CALL(RangeStartW)
{
	struct call call;

	if (!call_begin(&call, session))
		return 0;
	return start(&call, range_named(&call, first, true));
}

CALL(DomainRangeStartEx)
{
	struct call call;

	if (!call_begin(&call, session))
		return 0;
	return start(&call, range_of(&call, first, (const struct attributes *)second));
}

CALL(RangePushEx)
{
	struct call call;

	if (!call_begin(&call, session))
		return NVTX_NO_LEVELS;
	return push(&call, range_of(&call, 0, (const struct attributes *)first));
}

CALL(RangePushA)
{
	struct call call;

	if (!call_begin(&call, session))
		return NVTX_NO_LEVELS;
	return push(&call, range_named(&call, first, false));
}

CALL(RangePushW)
{
	struct call call;

	if (!call_begin(&call, session))
		return NVTX_NO_LEVELS;
	return push(&call, range_named(&call, first, true));
}

CALL(DomainRangePushEx)
{
	struct call call;

	if (!call_begin(&call, session))
		return NVTX_NO_LEVELS;
	return push(&call, range_of(&call, first, (const struct attributes *)second));
}

CALL(RangePop)
{
	return pop(session, 0);
}

CALL(DomainRangePop)
{
	return pop(session, first);
}

CALL(RangeEnd)
{
	return end(session, first);
}

CALL(DomainRangeEnd)
{
	return end(session, second);
}

CALL(NameCategoryA)
{
	return name_category(session, 0, first, second, false);
}

CALL(NameCategoryW)
{
	return name_category(session, 0, first, second, true);
}

CALL(DomainNameCategoryA)
{
	return name_category(session, first, second, third, false);
}

CALL(DomainNameCategoryW)
{
	return name_category(session, first, second, third, true);
}

CALL(DomainRegisterStringA)
{
	return text_handle(session, second, false);
}

CALL(DomainRegisterStringW)
{
	return text_handle(session, second, true);
}

CALL(DomainCreateA)
{
	return text_handle(session, first, false);
}

CALL(DomainCreateW)
{
	return text_handle(session, first, true);
}

const nvtx_slot nvtx_calls[NVTX_WORDS] = {
#define NVTX_FUNCTION(number, name, result) [number] = call_##name,
#include "nvtx_functions.def"
#undef NVTX_FUNCTION
};

const u64 nvtx_results[NVTX_WORDS] = {
#define NVTX_FUNCTION(number, name, result) [number] = result,
#include "nvtx_functions.def"
#undef NVTX_FUNCTION
};
