/* SPDX-License-Identifier: MIT */
#include "nvtx_sites.h"

#include <elf.h>
#include <link.h>

/* ---- one ---- */

static bool is_nobodys(const struct nvtx_sites_config *config, const struct nvtx_globals *globals)
{
	for (u32 i = 0; i < NVTX_WORDS; i++) {
		u64 word = __atomic_load_n(&globals->words[i], __ATOMIC_ACQUIRE);

		if (word && !resident_has_nvtx(config->resident, word))
			return false;
	}
	return true;
}

static u64 word_for(const struct nvtx_sites_config *config, u32 number)
{
	return config->words >> number & 1 ? resident_nvtx(config->resident, number) : 0;
}

/*
 * As the first call of NVTX would: whoever changes the state from FRESH to STARTED sets the words, all others wait for
 * COMPLETE. There is no way back: a thread may have seen it.
 */
static bool initialise(const struct nvtx_sites_config *config, struct nvtx_globals *globals)
{
	u32 fresh = NVTX_FRESH;

	if (!__atomic_compare_exchange_n(&globals->initialisation, &fresh, NVTX_STARTED, false,
					 __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		return false;
	for (u32 i = 0; i < NVTX_WORDS; i++)
		__atomic_store_n(&globals->words[i], word_for(config, i), __ATOMIC_SEQ_CST);
	__atomic_store_n(&globals->initialisation, NVTX_COMPLETE, __ATOMIC_SEQ_CST);
	return true;
}

enum nvtx_site nvtx_site_take(const struct nvtx_sites_config *config, struct nvtx_globals *globals,
			      bool *ret_initialised)
{
	u32 state = __atomic_load_n(&globals->initialisation, __ATOMIC_SEQ_CST);

	*ret_initialised = false;
	if (!nvtx_globals_match(globals, (u64)globals))
		return NVTX_SITE_GONE;
	if (state == NVTX_FRESH && config->tool_named)
		return NVTX_SITE_FOREIGN;
	if (state == NVTX_FRESH) {
		*ret_initialised = initialise(config, globals);
		return *ret_initialised ? NVTX_SITE_TAKEN : NVTX_SITE_STARTING;
	}
	if (state == NVTX_STARTED)
		return NVTX_SITE_STARTING;
	if (!is_nobodys(config, globals))
		return NVTX_SITE_FOREIGN;
	for (u32 i = 0; i < NVTX_WORDS; i++) {
		u64 nothing = 0;

		__atomic_compare_exchange_n(&globals->words[i], &nothing, word_for(config, i),
					    false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	}
	return NVTX_SITE_TAKEN;
}

void nvtx_site_give_back(const struct nvtx_sites_config *config, struct nvtx_globals *globals)
{
	if (!nvtx_globals_match(globals, (u64)globals))
		return;
	for (u32 i = 0; i < NVTX_WORDS; i++) {
		u64 word = __atomic_load_n(&globals->words[i], __ATOMIC_SEQ_CST);

		if (resident_has_nvtx(config->resident, word))
			__atomic_compare_exchange_n(&globals->words[i], &word, 0, false,
						    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	}
}

/* ---- all, under the lock of the loader: no library goes meanwhile ---- */

struct visit {
	const struct nvtx_sites_config *config;
	const u64 *addresses;
	u32 count;
	bool give_back;
	struct agent_nvtx_facts facts;
	u32 initialised_count;
};

static void visit_site(struct visit *visit, u64 address)
{
	struct nvtx_globals *globals = (struct nvtx_globals *)address;
	bool initialised;

	if (visit->give_back) {
		nvtx_site_give_back(visit->config, globals);
		return;
	}
	switch (nvtx_site_take(visit->config, globals, &initialised)) {
	case NVTX_SITE_TAKEN:
		visit->facts.taken++;
		break;
	case NVTX_SITE_FOREIGN:
		visit->facts.foreign++;
		break;
	case NVTX_SITE_STARTING:
		visit->facts.starting++;
		break;
	case NVTX_SITE_GONE:
		break;
	}
	visit->initialised_count += initialised;
}

static bool is_inside(u64 address, u64 begin, u64 bytes)
{
	return address >= begin && bytes >= NVTX_GLOBALS_BYTES &&
	       address - begin <= bytes - NVTX_GLOBALS_BYTES;
}

/* What the loader has made read-only after it had relocated it. */
static bool is_read_only(const struct dl_phdr_info *info, u64 address)
{
	for (u32 i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		u64 begin = info->dlpi_addr + header->p_vaddr;

		if (header->p_type == PT_GNU_RELRO && address < begin + header->p_memsz &&
		    address + NVTX_GLOBALS_BYTES > (begin & ~(PAGE_BYTES - 1)))
			return true;
	}
	return false;
}

static int look(struct dl_phdr_info *info, size_t info_bytes, void *data)
{
	struct visit *visit = data;

	for (u32 i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		u64 begin = info->dlpi_addr + header->p_vaddr;

		if (header->p_type != PT_LOAD || !(header->p_flags & PF_W))
			continue;
		for (u32 j = 0; j < visit->count; j++) {
			u64 address = visit->addresses[j];

			if (address % NVTX_GLOBALS_ALIGN_BYTES == 0 &&
			    is_inside(address, begin, header->p_filesz) &&
			    !is_read_only(info, address))
				visit_site(visit, address);
		}
	}
	return 0;
}

struct agent_nvtx_facts nvtx_sites_take(const struct nvtx_sites_config *config,
					const u64 *addresses, u32 count, u32 *initialised_count)
{
	struct visit visit = {.config = config, .addresses = addresses, .count = count};
	struct agent_nvtx_facts *facts = &visit.facts;

	dl_iterate_phdr(look, &visit);
	*initialised_count += visit.initialised_count;
	facts->gone = count - facts->taken - facts->foreign - facts->starting;
	return *facts;
}

void nvtx_sites_give_back(const struct nvtx_sites_config *config, const u64 *addresses, u32 count)
{
	struct visit visit = {
		.config = config, .addresses = addresses, .count = count, .give_back = true};

	dl_iterate_phdr(look, &visit);
}
