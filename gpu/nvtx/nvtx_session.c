/* SPDX-License-Identifier: MIT */
#include "nvtx_session.h"

#include "../../bpf/record.h"
#include "../base/system.h"
#include "../base/words.h"

#define THREADS_TIMEOUT_MS 2000
#define RETRIES_MAX	   100

_Static_assert(NVTX_WORDS == RESIDENT_NVTX_ENTRIES, "an entry for each word");

/* ---- begin ---- */

static void take_sites(struct nvtx_session *session)
{
	const struct agent_nvtx_sites *sites = &session->control->nvtx;
	u32 generation = __atomic_load_n(&sites->generation, __ATOMIC_ACQUIRE);
	u32 count = __atomic_load_n(&sites->count, __ATOMIC_RELAXED);
	struct agent_nvtx_facts *facts = &session->control->nvtx_facts;
	bool again = facts->starting && session->retries < RETRIES_MAX;

	if (generation == session->generation && !again)
		return;
	session->retries = generation == session->generation ? session->retries + 1 : 0;
	session->generation = generation;
	session->sites.tool_named = sites->tool_named;
	if (count > AGENT_NVTX_SITES)
		count = AGENT_NVTX_SITES;
	if (count)
		*facts = nvtx_sites_take(&session->sites, sites->addresses, count,
					 &session->initialised_count);
}

static void release(struct nvtx_session *session)
{
	nvtx_texts_close(session->texts);
	nvtx_ranges_close(session->ranges);
	system_unmap(session, sizeof(*session));
}

static struct nvtx_session *begin(struct nvtx_session *session, struct agent_control *control,
				  u64 now_ns, const char **why)
{
	session->control = control;
	session->pid = system_pid();
	/* Not an address, and another one in each session; ids of ranges go on where no earlier session was. */
	session->handle_mark = 0x6eULL << 56 | (now_ns >> 10 & 0xffffff) << 32;
	session->texts = nvtx_texts_open(control->cupti.texts_max, now_ns);
	session->ranges = nvtx_ranges_open(now_ns);
	for (u32 i = 0; i < NVTX_WORDS; i++)
		session->sites.words |= (u64)(nvtx_calls[i] != NULL) << i;
	session->sites.resident = &session->resident;
	if (!session->texts || !session->ranges || resident_open(&session->resident)) {
		*why = "no memory for it in the target";
		release(session);
		return NULL;
	}
	if (!resident_connect_nvtx(&session->resident, session, nvtx_calls, nvtx_results)) {
		*why = "another gpuprobe records it";
		release(session);
		return NULL;
	}
	take_sites(session);
	return session;
}

struct nvtx_session *nvtx_session_begin(struct agent_control *control, const struct ring *ring,
					const u32 *live)
{
	struct agent_feature *feature = &control->features[AGENT_FEATURE_NVTX];
	struct nvtx_session *session = system_map(sizeof(*session));
	const char *why = "no memory for it in the target";

	if (session) {
		session->ring = *ring;
		session->live = live;
		session = begin(session, control, system_now_ns(), &why);
	}
	if (!session)
		words_set(feature->hint, AGENT_HINT_BYTES, why);
	__atomic_store_n(&feature->state, session ? AGENT_FEATURE_READY : AGENT_FEATURE_FAILED,
			 __ATOMIC_RELEASE);
	return session;
}

/* ---- the agent's thread ---- */

struct sweep {
	struct nvtx_session *session;
	struct ring_writer writer;
	u64 now_ns;
};

static bool lives(void *data, u32 tid)
{
	const struct sweep *sweep = data;

	return system_thread_lives(sweep->session->pid, tid);
}

static void send_unended(void *data, const struct nvtx_range *range)
{
	struct sweep *sweep = data;

	nvtx_session_send(sweep->session, &sweep->writer, KIND_range, range,
			  sweep->now_ns - range->start_ns, VALUE_range_ended_thread_exit);
}

static void send_open(void *data, const struct nvtx_range *range, bool process_wide)
{
	struct sweep *sweep = data;

	nvtx_session_send(sweep->session, &sweep->writer,
			  process_wide ? KIND_process_range : KIND_range, range,
			  RECORD_DURATION_OPEN, VALUE_range_ended_open);
}

static struct sweep sweep_begin(struct nvtx_session *session)
{
	struct sweep sweep = {.session = session, .now_ns = system_now_ns()};

	ring_writer_open(&sweep.writer, &session->ring, system_tid());
	return sweep;
}

void nvtx_session_tick(struct nvtx_session *session)
{
	struct sweep sweep;

	if (!session)
		return;
	take_sites(session);
	sweep = sweep_begin(session);
	nvtx_ranges_sweep(session->ranges, lives, send_unended, &sweep);
	ring_release(&sweep.writer);
}

/* ---- the end ---- */

static void send_all_open(struct nvtx_session *session)
{
	struct sweep sweep = sweep_begin(session);

	nvtx_ranges_each(session->ranges, send_open, &sweep);
	ring_release(&sweep.writer);
}

static void say_initialised(u32 count, struct words *words)
{
	if (!count)
		return;
	words_add(words, "NVTX was not initialised yet in ");
	words_add_number(words, count);
	words_add(words, count == 1 ? " program or library" : " programs or libraries");
	words_add(words, ": it is now, to no tool");
}

enum nvtx_left nvtx_session_end(struct nvtx_session *session, char *hint)
{
	char nowhere[AGENT_HINT_BYTES];
	struct words words = words_begin(hint ? hint : nowhere, AGENT_HINT_BYTES);
	const struct agent_nvtx_sites *sites;
	u32 count;

	if (!session)
		return NVTX_LEFT_NOTHING;
	sites = &session->control->nvtx;
	count = __atomic_load_n(&sites->count, __ATOMIC_RELAXED);
	nvtx_sites_give_back(&session->sites, sites->addresses,
			     count < AGENT_NVTX_SITES ? count : AGENT_NVTX_SITES);
	say_initialised(session->initialised_count, &words);
	if (!resident_disconnect_nvtx(&session->resident, THREADS_TIMEOUT_MS)) {
		words_add(&words, words.length_bytes ? "; " : "");
		words_add(&words, "a thread of the target is still inside the agent");
		return NVTX_LEFT_THREAD;
	}
	send_all_open(session);
	release(session);
	return NVTX_LEFT_PAGES;
}
