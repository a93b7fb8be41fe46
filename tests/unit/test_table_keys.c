/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of exporters and reports name fields and values by text: what is misspelt there is said by name when a
 * table is looked up, and the tables that are shipped are right. */
#include <errno.h>

#include "capture_fixture.h"
#include "exporters/chrome/chrome_args.h"
#include "exporters/exporter.h"
#include "exporters/nsys/nsys_values.h"
#include "exporters/xplane/xplane_values.h"
#include "reports/reports.h"
#include "view/view_parts.h"

static void check_refused(int result, const struct err *err, const char *words)
{
	CHECK_U64(-result, EINVAL);
	CHECK_STRING(err->message, words);
}

/* ---- the view: what all tables are looked up with ---- */

static int look_up(struct fixture *fixture, u16 kind, const char *name, const char *word,
		   struct err *ret_err)
{
	const struct view_key *key;

	*ret_err = (struct err){0};
	return view_key_with_value(fixture->view, "chrome", schema_kind(kind), name, word, &key,
				   ret_err);
}

TEST(a_misspelt_key_is_named)
{
	struct fixture fixture _fixture_ = fixture_open("");
	struct err err;

	check_refused(look_up(&fixture, KIND_kernel, "strem", NULL, &err), &err,
		      "chrome: kernel has no field 'strem'");
	/* Neither the field that leads to a fact, nor the fact's own. */
	check_refused(look_up(&fixture, KIND_call, "prob.address", NULL, &err), &err,
		      "chrome: call has no field 'prob.address'");
	check_refused(look_up(&fixture, KIND_call, "probe.adress", NULL, &err), &err,
		      "chrome: call has no field 'probe.adress'");
	check_refused(look_up(&fixture, KIND_call, "ended.address", NULL, &err), &err,
		      "chrome: call has no field 'ended.address'");
	/* Padding is none, and what is computed of other kinds neither. */
	check_refused(look_up(&fixture, KIND_call, "pad", NULL, &err), &err,
		      "chrome: call has no field 'pad'");
	check_refused(look_up(&fixture, KIND_call, "occupancy", NULL, &err), &err,
		      "chrome: call has no field 'occupancy'");
	check_refused(look_up(&fixture, KIND_device, "number", NULL, &err), &err,
		      "chrome: no event is a device, which is a fact: 'number' of it");
	CHECK_OK(look_up(&fixture, KIND_kernel, "stream", NULL, &err), err);
	CHECK_OK(look_up(&fixture, KIND_kernel, "occupancy", NULL, &err), err);
	CHECK_OK(look_up(&fixture, KIND_call, "probe.address", NULL, &err), err);
}

TEST(a_misspelt_value_is_named)
{
	struct fixture fixture _fixture_ = fixture_open("");
	struct err err;

	check_refused(look_up(&fixture, KIND_call, "ended", "retruned", &err), &err,
		      "chrome: 'ended' of call is never 'retruned'");
	check_refused(look_up(&fixture, KIND_api, "result", "success", &err), &err,
		      "chrome: 'result' of api is never 'success'");
	CHECK_OK(look_up(&fixture, KIND_call, "ended", "returned", &err), err);
	CHECK_OK(look_up(&fixture, KIND_api, "result", "0", &err), err);
	/* Any text can be a name. */
	CHECK_OK(look_up(&fixture, KIND_api, "name", "cudaFree", &err), err);
}

/* ---- the exporters ---- */

TEST(chrome)
{
	const struct chrome_arg_row misspelt = {{KIND_kernel}, "strem", "stream", NULL};
	const struct chrome_arg_row never = {{KIND_usdt_span}, "ended", "ended", "endet"};
	const struct chrome_arg_row second = {{KIND_kernel, KIND_copy}, "grid", "grid", NULL};
	const struct chrome_category_row third = {{KIND_api}, NULL, NULL, "x"};
	struct fixture fixture _fixture_ = fixture_open("");
	struct chrome_args args = {0};
	struct err err = {0};

	CHECK_OK(chrome_args_find(&args, fixture.view, &err), err);
	check_refused(chrome_args_add(&args, &misspelt, &err), &err,
		      "chrome: kernel has no field 'strem'");
	check_refused(chrome_args_add(&args, &never, &err), &err,
		      "chrome: 'ended' of usdt_span is never 'endet'");
	check_refused(chrome_args_add(&args, &second, &err), &err,
		      "chrome: copy has no field 'grid'");
	check_refused(chrome_args_add_category(&args, &third, &err), &err,
		      "chrome: api has more than 2 categories");
	chrome_args_free(&args);
}

TEST(chrome_categories)
{
	const struct chrome_category_row key = {{KIND_kernel}, "lanch", "regular", "x"};
	const struct chrome_category_row value = {{KIND_kernel}, "channel_type", "computer", "x"};
	struct fixture fixture _fixture_ = fixture_open("");
	struct chrome_args args = {0};
	struct err err = {0};

	CHECK_OK(chrome_args_find(&args, fixture.view, &err), err);
	check_refused(chrome_args_add_category(&args, &key, &err), &err,
		      "chrome: kernel has no field 'lanch'");
	check_refused(chrome_args_add_category(&args, &value, &err), &err,
		      "chrome: 'channel_type' of kernel is never 'computer'");
	chrome_args_free(&args);
}

TEST(xplane)
{
	const struct xplane_stat_row stat = {{KIND_copy}, "grpah", "graph", XPLANE_STAT_U64, NULL};
	const struct xplane_stat_row never = {
		{KIND_call}, "ended", "ended", XPLANE_STAT_ANY, "return"};
	const struct xplane_name_row name = {KIND_copy, "direction", "host_to_devize", "x"};
	struct fixture fixture _fixture_ = fixture_open("");
	struct xplane_values values = {0};
	struct err err = {0};

	CHECK_OK(xplane_values_find(&values, fixture.view, &err), err);
	check_refused(xplane_values_add_stat(&values, &stat, &err), &err,
		      "xplane: copy has no field 'grpah'");
	check_refused(xplane_values_add_stat(&values, &never, &err), &err,
		      "xplane: 'ended' of call is never 'return'");
	check_refused(xplane_values_add_name(&values, &name, &err), &err,
		      "xplane: 'direction' of copy is never 'host_to_devize'");
	xplane_values_free(&values);
}

static void check_column(enum nsys_source source, const char *key, const char *words)
{
	const struct nsys_column column = {"x", NSYS_INTEGER, source, key, NSYS_NONE};
	const struct nsys_table table = {"X", KIND_call, NULL, &column, 1};
	struct fixture fixture _fixture_ = fixture_open("");
	struct nsys_values values = {.view = fixture.view};
	struct nsys_bound_column *columns = NULL;
	struct err err = {0};

	check_refused(nsys_values_prepare(&values, &table, &columns, &err), &err, words);
	CHECK(!columns);
}

TEST(sqlite)
{
	check_column(NSYS_KEY, "strem", "sqlite: call has no field 'strem'");
	check_column(NSYS_KEY, "grit[1]", "sqlite: call has no field 'grit'");
	check_column(NSYS_ENUM, "endet", "sqlite: call has no field 'endet'");
	check_column(NSYS_ENUM, "probe", "sqlite: 'probe' of call is no enum");
	check_column(NSYS_DOMAIN, NULL, "sqlite: call has no field 'domain'");
	check_column(NSYS_CATEGORY, NULL, "sqlite: call has no field 'category'");
	check_column(NSYS_SHORT_NAME, NULL, "sqlite: call has no field 'short_name'");
}

/* ---- what is shipped ---- */

TEST(all_exporters_open)
{
	size_t count;
	const struct exporter *all = exporters(&count);

	for (size_t i = 0; i < count; i++) {
		struct fixture fixture _fixture_ = fixture_open("");
		char folder[] = "/tmp/gpuprobe-test-XXXXXX", path[64];
		struct err err = {0};
		void *data = NULL;

		CHECK(mkdtemp(folder) != NULL);
		snprintf(path, sizeof(path), "%s/x.xplane.pb", folder);
		CHECK_OK(all[i].create(path, false, &data, &err), err);
		CHECK_OK(all[i].sink->open(data, fixture.view, view_survey(fixture.view), &err),
			 err);
		CHECK_OK(all[i].finish(data, false, NULL, &err), err);
		CHECK(rmdir(folder) == 0);
	}
}

TEST(all_reports_open)
{
	size_t count;
	const struct report *all = reports(&count);
	const struct report_style style = {.format = REPORT_CSV, .file = fopen("/dev/null", "w")};

	CHECK(count > 30);
	for (size_t i = 0; i < count; i++) {
		struct fixture fixture _fixture_ = fixture_open("");
		struct report_request request;
		struct err err = {0};

		CHECK_OK(report_parse(all[i].name, &request, &err), err);
		CHECK_OK(report_print(&request, fixture.view, &style, NULL, &err), err);
	}
	fclose(style.file);
}

/* What is computed hides no field that another table means. Of the header both mean the same. */
TEST(no_computed_value_is_called_like_a_field)
{
	size_t count;
	const struct schema_kind *kinds = schema_kinds(&count);

	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < kinds[i].field_count; j++)
			if (kinds[i].shape != SHAPE_FACT &&
			    view_computed(&kinds[i], kinds[i].fields[j].name))
				UNIT_FAIL("%s of %s is computed, and a field",
					  kinds[i].fields[j].name, kinds[i].tag);
}

/* Each {} of what nameless records are called has its field. */
TEST(patterns_of_names)
{
	struct view_kinds kinds = {0};
	size_t patterns = 0;

	CHECK(view_kinds_init(&kinds) == 0);
	for (size_t i = 0; i < kinds.count; i++) {
		const struct view_kind *kind = &kinds.kinds[i];
		unsigned places = 0;

		if (!kind->name_pattern)
			continue;
		patterns++;
		for (const char *at = kind->name_pattern; (at = strstr(at, "{}")); at++)
			places++;
		CHECK_U64(kind->name_field_count, places);
		for (unsigned j = 0; j < kind->name_field_count; j++)
			CHECK(kind->name_fields[j] != NULL);
	}
	CHECK(patterns > 10);
	free(kinds.kinds);
}

UNIT_MAIN()
