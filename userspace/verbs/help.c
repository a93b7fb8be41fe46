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

/* "gpuprobe help stats" and "gpuprobe stats --help". */
int verb_help(const struct options *options)
{
	enum options_verb verb = options->verb_given ? options->verb : VERB_ALL;
	struct page page;

	if (page_open(&page) < 0)
		return out_of_memory();
	if (options->help_levels && !options->help) {
		options_print_levels(page.file);
		return page_write(&page);
	}
	if (verb == VERB_HELP && !options->help) {
		const char *about = options->arguments.count ? options->arguments.items[0] : NULL;

		if (about && strcmp(about, "levels") == 0) {
			options_print_levels(page.file);
			return page_write(&page);
		}
		if (about && strcmp(about, "markdown") == 0) {
			options_print_markdown(page.file);
			return page_write(&page);
		}
		if (about && strcmp(about, "records") == 0) {
			schema_print_markdown(page.file);
			return page_write(&page);
		}
		verb = about ? options_verb_find(about) : VERB_ALL;
		if (!verb)
			return no_such_verb(&page, about);
	}
	options_print_help(page.file, verb);
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
