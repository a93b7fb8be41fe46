/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "inject/agent_library.h"

/* AGENT_LIBRARY_FILE: by the Makefile. */
__asm__(".pushsection .rodata\n"
	".balign 16\n"
	"agent_library_begin:\n"
	".incbin \"" AGENT_LIBRARY_FILE "\"\n"
	"agent_library_end:\n"
	".balign 8\n"
	"agent_library_bytes:\n"
	".quad agent_library_end - agent_library_begin\n"
	".popsection\n");

extern const u8 agent_library_begin[] __attribute__((visibility("hidden")));
extern const u64 agent_library_bytes __attribute__((visibility("hidden")));

const void *agent_library(size_t *ret_bytes)
{
	*ret_bytes = agent_library_bytes;
	return agent_library_begin;
}
