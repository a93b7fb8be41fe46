/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What follows from the release: docs/cupti.md, "Releases". */
#include <string.h>
#include "cupti_sim.h"
#include "names.h"

static const struct sim_version versions[] = {
	{"11.8", 11080, 18, 434, 677},	   {"12.0", 12000, 18, 445, 701},
	{"12.1", 12010, 18, 445, 712},	   {"12.2", 12020, 20, 451, 718},
	{"12.3", 12030, 21, 465, 733},	   {"12.4", 12040, 22, 468, 754},
	{"12.5", 12050, 23, 470, 761},	   {"12.6", 12060, 24, 480, 763},
	{"12.8", 12080, 26, 487, 782},	   {"12.9", 12090, 28, 487, 784},
	{"13.0", 13000, 130001, 523, 807}, {"13.1", 13010, 130101, 550, 846},
	{"13.2", 13020, 130202, 559, 846}, {"13.3", 13030, 130301, 559, 860},
	{"13.4", 13040, 130401, 566, 868}, {"13.5", 13050, 130500, 567, 877},
};

const struct sim_version *sim_version(void)
{
	static const struct sim_version *found;

	for (size_t i = 0; !found && i < sizeof(versions) / sizeof(versions[0]); i++)
		if (!strcmp(versions[i].release, sim_cupti_release))
			found = &versions[i];
	return found;
}

CUptiResult cuptiGetVersion(uint32_t *version)
{
	CUptiResult result = sim_gate_free(__func__);

	if (!result)
		*version = sim_version()->returned;
	return result;
}

/* Ids that are newer than the headers of the build have no name here. */
CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char **name)
{
	CUptiResult result = sim_gate_free(__func__);
	uint32_t limit;

	if (result)
		return result;
	limit = domain == CUPTI_CB_DOMAIN_DRIVER_API	? sim_version()->driver_cbids
		: domain == CUPTI_CB_DOMAIN_RUNTIME_API ? sim_version()->runtime_cbids
							: 0;
	if (!cbid || cbid >= limit)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (domain == CUPTI_CB_DOMAIN_DRIVER_API)
		*name = cbid < sim_driver_name_count ? sim_driver_names[cbid] : NULL;
	else
		*name = cbid < sim_runtime_name_count ? sim_runtime_names[cbid] : NULL;
	if (!*name)
		*name = "<unknown>";
	return CUPTI_SUCCESS;
}
