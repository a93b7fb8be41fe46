/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What gpuprobe says about itself: help, completion, version. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/nearest.h"
#include "base/version.h"
#include "store/schema_document.h"
#include "verbs/page.h"
#include "verbs/verbs.h"

/* What "gpuprobe help" knows beside the verbs. */
static const struct {
	const char *name;
	void (*print)(FILE *file);
} documents[] = {
	{"levels", options_print_levels},
	{"markdown", options_print_markdown},
	{"records", schema_print_markdown},
};

static int out_of_memory(void)
{
	log_error("out of memory");
	return EXIT_FAILURE;
}

static int no_such_verb(struct page *page, const char *name)
{
	struct nearest nearest = {.word = name};
	struct err err = {0};

	page_discard(page);
	if (options_verb_absent(name, &err)) {
		log_error("%s", err.message);
		return EXIT_USAGE;
	}
	for (unsigned verb = 1; verb & VERB_ALL; verb <<= 1)
		nearest_offer(&nearest, options_verb_name(verb));
	log_error("help \"%.100s\": there is no such verb%s", name,
		  nearest.best ? nearest_hint(&nearest, "") : ". gpuprobe --help lists them");
	return EXIT_USAGE;
}

/* "gpuprobe help man" and "gpuprobe help man stats". */
static int manual(struct page *page, const char *name)
{
	enum options_verb verb = name ? options_verb_find(name) : VERB_ALL;

	if (!verb)
		return no_such_verb(page, name);
	options_print_man(page->file, verb, version_text());
	return page_write(page);
}

/* What stands behind "gpuprobe help". */
static int about(struct page *page, const struct options_list *arguments)
{
	const char *name = arguments->count ? arguments->items[0] : NULL;
	const char *behind = arguments->count > 1 ? arguments->items[1] : NULL;
	enum options_verb verb;

	if (name && strcmp(name, "man") == 0)
		return manual(page, behind);
	if (behind) {
		page_discard(page);
		log_error("help \"%.100s\": nothing may stand behind \"%.100s\"", behind, name);
		return EXIT_USAGE;
	}
	for (size_t i = 0; name && i < ARRAY_SIZE(documents); i++) {
		if (strcmp(name, documents[i].name) != 0)
			continue;
		documents[i].print(page->file);
		return page_write(page);
	}
	verb = name ? options_verb_find(name) : VERB_ALL;
	if (!verb)
		return no_such_verb(page, name);
	options_print_help(page->file, verb);
	return page_write(page);
}

/* "gpuprobe help stats" and "gpuprobe stats --help". */
int verb_help(const struct options *options)
{
	struct page page;

	if (page_open(&page) < 0)
		return out_of_memory();
	if (options->help_levels && !options->help) {
		options_print_levels(page.file);
		return page_write(&page);
	}
	if (options->verb_given && options->verb == VERB_HELP && !options->help)
		return about(&page, &options->arguments);
	options_print_help(page.file, options->verb_given ? options->verb : VERB_ALL);
	return page_write(&page);
}

int verb_version(const struct options *options)
{
	struct page page;

	if (page_open(&page) < 0)
		return out_of_memory();
	fprintf(page.file, "gpuprobe %s\n", version_text());
	return page_write(&page);
}

int verb_completion(const struct options *options)
{
	struct err err = {0};
	struct page page;

	if (page_open(&page) < 0)
		return out_of_memory();
	if (options_print_completion(page.file, options->arguments.items[0], &err) < 0) {
		page_discard(&page);
		log_error("%s", err.message);
		return EXIT_USAGE;
	}
	return page_write(&page);
}
