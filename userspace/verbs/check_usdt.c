/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verbs/check_usdt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../bpf/record.h"
#include "plan/usdt_arguments.h"
#include "base/cleanup.h"
#include "elf/elf_usdt.h"

static void append_escaped(struct text *text, const char *string)
{
	text_append_terminal(text, string, strlen(string));
}

/* ---- those of the plan ---- */

static void append_usdt_probe(struct text *text, const struct plan *plan,
			      const struct plan_usdt *usdt)
{
	const struct plan_usdt_site *first = &usdt->sites[0];
	size_t long_nops = 0, semaphores = 0;
	char places[32];

	for (size_t i = 0; i < usdt->site_count; i++) {
		long_nops += usdt->sites[i].long_nop;
		semaphores += usdt->sites[i].semaphore_file_offset != 0;
	}
	snprintf(places, sizeof(places), "%zu place%s", usdt->site_count,
		 usdt->site_count == 1 ? "" : "s");
	text_appendf(text, "  0x%010llx  %-10s  %-9s  ", (unsigned long long)first->address, places,
		     semaphores ? "semaphore" : "");
	append_escaped(text, usdt->provider);
	text_append_char(text, ':');
	append_escaped(text, usdt->name);
	text_append_char(text, '(');
	usdt_arguments_append(first->arguments, first->argument_count, text);
	text_append_char(text, ')');
	if (usdt->role != VALUE_usdt_role_point) {
		text_append(text, usdt->role == VALUE_usdt_role_begin ? "  begins what "
								      : "  ends what ");
		append_escaped(text, plan->usdt[usdt->partner].name);
		text_append(text, usdt->role == VALUE_usdt_role_begin ? " ends" : " begins");
	}
	if (long_nops)
		text_appendf(text, "  (%zu on a nop of five bytes)", long_nops);
	text_append_char(text, '\n');
}

void check_append_usdt(struct text *text, const struct plan *plan)
{
	for (size_t i = 0; i < plan->usdt_count; i++) {
		size_t module = plan->usdt[i].module;

		if (i == 0 || plan->usdt[i - 1].module != module) {
			text_append(text, "\nUSDT probes of ");
			append_escaped(text, plan->modules[module].path);
			text_append_char(text, '\n');
		}
		append_usdt_probe(text, plan, &plan->usdt[i]);
	}
}

/* ---- what there is ---- */

struct provider {
	char *name;
	size_t places;
	char *example;
};

struct offers {
	struct provider *items;
	size_t count;
	bool failed; /* no memory */
};

static struct provider *provider_get(struct offers *offers, const struct elf_usdt_note *note)
{
	struct provider *items;

	for (size_t i = offers->count; i > 0; i--)
		if (!strcmp(offers->items[i - 1].name, note->provider))
			return &offers->items[i - 1];
	items = reallocarray(offers->items, offers->count + 1, sizeof(*items));
	if (!items)
		return NULL;
	offers->items = items;
	items[offers->count] = (struct provider){strdup(note->provider), 0, strdup(note->name)};
	if (!items[offers->count].name || !items[offers->count].example) {
		free(items[offers->count].name);
		free(items[offers->count].example);
		return NULL;
	}
	return &items[offers->count++];
}

static int count_note(void *data, const struct elf_usdt_note *note)
{
	struct offers *offers = data;
	struct provider *provider = provider_get(offers, note);

	if (provider)
		provider->places++;
	else
		offers->failed = true;
	return 0;
}

static void append_offers_of(struct text *text, const struct code_module *module, bool *any)
{
	struct offers offers = {0};
	struct elf_file *file;

	if (elf_file_open(module->fd, module->path, &file, NULL))
		return;
	elf_usdt_visit(file, count_note, &offers, NULL);
	elf_file_free(file);
	for (size_t i = 0; i < offers.count; i++) {
		const struct provider *provider = &offers.items[i];

		text_append(text, *any ? "" : "\nUSDT probes, which -U '*:*' lists:\n");
		*any = true;
		text_appendf(text, "%6zu place%s  ", provider->places,
			     provider->places == 1 ? " " : "s");
		append_escaped(text, provider->name);
		text_append_char(text, ':');
		append_escaped(text, provider->example);
		text_append(text, offers.items[i].places == 1 ? "  " : ", ...  ");
		append_escaped(text, module->path);
		text_append_char(text, '\n');
		free(provider->name);
		free(provider->example);
	}
	text->failed |= offers.failed;
	free(offers.items);
}

void check_append_usdt_offers(struct text *text, const struct plan *plan)
{
	bool any = false;

	for (size_t i = 0; i < plan->module_count; i++)
		append_offers_of(text, &plan->modules[i], &any);
}
