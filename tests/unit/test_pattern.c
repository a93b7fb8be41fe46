/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -F patterns: where BINARY ends, which names a glob fits. */
#include "plan/pattern.h"

#include "unit.h"

static void check_parse(const char *text, bool exclude, const char *binary, const char *glob)
{
	struct pattern pattern;
	struct err err = {0};

	CHECK_OK(pattern_parse(text, &pattern, &err), err);
	CHECK(pattern.exclude == exclude);
	CHECK(!pattern.binary == !binary);
	if (binary)
		CHECK_STRING(pattern.binary, binary);
	CHECK_STRING(pattern.glob, glob);
	pattern_free(&pattern);
}

TEST(only_a_single_colon_ends_the_binary)
{
	check_parse("getCommand", false, NULL, "getCommand");
	check_parse("redis-server:*Command", false, "redis-server", "*Command");
	check_parse("!redis-server:*Command", true, "redis-server", "*Command");
	check_parse("std::foo", false, NULL, "std::foo");
	check_parse("!std::foo::~foo()", true, NULL, "std::foo::~foo()");
	check_parse("libx.so.1:ns::f", false, "libx.so.1", "ns::f");
	check_parse("libx.so.1:a::b::c", false, "libx.so.1", "a::b::c");
	/* of the global namespace */
	check_parse("libx.so:::f", false, "libx.so", "f");
	check_parse("::f", false, NULL, "f");
	check_parse("/opt/a b/lib.so:f", false, "/opt/a b/lib.so", "f");
	check_parse("libtorch*.so*:at::*", false, "libtorch*.so*", "at::*");
	check_parse("libx.so:ns::operator[](int)", false, "libx.so", "ns::operator[](int)");
	check_parse("f[abi:cxx11](int)", false, NULL, "f[abi:cxx11](int)");
	check_parse("[[:alpha:]]x", false, NULL, "[[:alpha:]]x");
	check_parse("lib[[:digit:]].so:[[:alpha:]]*", false, "lib[[:digit:]].so", "[[:alpha:]]*");
	check_parse("a[b:c", false, "a[b", "c");
	check_parse(":f", false, NULL, "f");
	check_parse("*", false, NULL, "*");
}

TEST(a_pattern_without_function_is_refused)
{
	static const char *const texts[] = {"", "!", "libc.so.6:", "!libc.so.6:"};
	struct pattern pattern;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct err err = {0};

		CHECK(pattern_parse(texts[i], &pattern, &err) < 0);
		CHECK(strstr(err.message, "names no function") != NULL);
	}
}

static bool matches(const char *glob, const char *mangled)
{
	struct pattern_name name = {0};
	struct pattern pattern;
	bool result;

	if (pattern_parse(glob, &pattern, NULL))
		return false;
	pattern_name_set(&name, mangled);
	result = pattern_matches_name(&pattern, &name);
	pattern_name_free(&name);
	pattern_free(&pattern);
	return result;
}

TEST(globs_fit_whole_plain_names)
{
	CHECK(matches("getCommand", "getCommand"));
	CHECK(!matches("getCommand", "mgetCommand"));
	CHECK(!matches("getCommand", "getCommandX"));
	CHECK(matches("*Command", "getCommand"));
	CHECK(matches("get*", "getCommand"));
	CHECK(matches("*etComman*", "getCommand"));
	CHECK(matches("?etCommand", "getCommand"));
	CHECK(!matches("?getCommand", "getCommand"));
	CHECK(matches("[gs]etCommand", "setCommand"));
	CHECK(!matches("[!gs]etCommand", "setCommand"));
	CHECK(!matches("getcommand", "getCommand"));
	CHECK(matches("*", "x"));
	CHECK(matches("foo\\*", "foo*"));
	CHECK(!matches("foo\\*", "foox"));
}

TEST(globs_fit_mangled_and_demangled_names)
{
	const char *method = "_ZN2ns3Foo3barEiRKSs";	/* ns::Foo::bar(int, std::string const&) */
	const char *generic = "_ZN2ns3addIiEET_S1_S1_"; /* int ns::add<int>(int, int) */

	CHECK(matches("_ZN2ns3Foo3barEiRKSs", method));
	CHECK(matches("*3Foo3bar*", method));
	CHECK(matches("ns::Foo::bar", method));
	CHECK(matches("ns::Foo::bar(int, std::*)", method));
	CHECK(matches("ns::Foo::*", method));
	CHECK(matches("*Foo*string*", method));
	CHECK(matches("*std::string const&)", method));
	CHECK(!matches("Foo::bar", method));
	CHECK(!matches("ns::Foo", method));
	CHECK(matches("ns::add<int>", generic));
	CHECK(matches("int ns::add<int>(int, int)", generic));
	CHECK(matches("ns::add*", generic));
	CHECK(!matches("add*", generic));
}

/* Letters that only the demangler writes must not be looked for in the mangled name. */
TEST(words_of_the_demangler_are_found)
{
	CHECK(matches("*unsigned*", "_Z1fj"));
	CHECK(matches("f(unsigned int)", "_Z1fj"));
	CHECK(matches("*allocator*", "_Z1fSaIcE"));
	CHECK(matches("*basic_string*", "_ZNSsC1Ev"));
	CHECK(matches("*operator*", "_ZN1AplERKS_"));
	CHECK(matches("vtable for A", "_ZTV1A"));
	CHECK(matches("*anonymous namespace*", "_ZN12_GLOBAL__N_11fEv"));
	CHECK(matches("*lambda*", "_ZZ1fvENKUlvE_clEv"));
	CHECK(matches("f?abi?cxx11?", "_Z1fB5cxx11v"));
	CHECK(matches("*<1024ul>", "_ZN2ns1fILm1024EEEvv"));
	CHECK(matches("*nullptr*", "_Z1fDn"));
	CHECK(matches("*virtual thunk*", "_ZThn16_N1A1fEv"));
}

TEST(rust_names_are_demangled)
{
	const char *legacy = "_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE";
	const char *v0 = "_RNvCs15kBYyAo9fc_7mycrate7example";

	CHECK(matches("core::fmt::Formatter::write_str", legacy));
	CHECK(matches("*write_str*", legacy));
	CHECK(matches("mycrate::example", v0));
}

TEST(a_module_is_named_by_base_name_path_soname_or_start)
{
	char *names[] = {"redis-check-rdb", "redis-server"};
	size_t targets[] = {0};
	struct target target = {.root_path = ""};
	struct code_module executable = {.path = "/usr/bin/redis-check-rdb",
					 .names = names,
					 .name_count = 2,
					 .main_executable = true,
					 .targets = targets,
					 .target_count = 1};
	char *library_names[] = {"libcuda.so.535.104", "libcuda.so.1"};
	struct code_module library = {
		.path = "/usr/lib/libcuda.so.535.104", .names = library_names, .name_count = 2};
	static const struct {
		const char *pattern;
		bool executable, library;
	} rows[] = {
		{"*", true, false},
		{"redis-server:*", true, false},
		{"redis-check-rdb:*", true, false},
		{"redis-*:*", true, false},
		{"server:*", false, false},
		{"/usr/bin/redis-check-rdb:*", true, false},
		{"*/bin/redis*:*", true, false},
		{"/usr/bin/redis:*", false, false},
		{"libcuda.so.1:*", false, true},
		{"libcuda.so.*:*", false, true},
		{"libcuda:*", false, false},
		{"/usr/lib/*:*", false, true},
		{"*:*", true, true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pattern pattern;

		CHECK(!pattern_parse(rows[i].pattern, &pattern, NULL));
		if (pattern_matches_module(&pattern, &executable, &target) != rows[i].executable ||
		    pattern_matches_module(&pattern, &library, &target) != rows[i].library)
			UNIT_FAIL("%s", rows[i].pattern);
		pattern_free(&pattern);
	}
}

/* Untrusted names: what would spell out gigabytes, and what is no name at all. */
TEST(hostile_names_stay_mangled)
{
	struct text text = {0};

	/* Each argument names the one before it twice: 2^35 ints. */
	text_append(&text, "_Z1f1AIiiE");
	for (int i = 0; i < 35; i++) {
		char previous = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i];

		text_appendf(&text, "S_IS%c_S%c_E", previous, previous);
	}
	CHECK(matches("f", text_string(&text)));
	CHECK(!matches("f(*", text_string(&text)));
	text_clear(&text);
	text_append(&text, "_Z");
	for (int i = 0; i < 20000; i++)
		text_append(&text, "PK");
	CHECK(!matches("nothing", text_string(&text)));
	CHECK(!matches("nothing", "_Z"));
	CHECK(!matches("nothing", "_R"));
	CHECK(!matches("nothing", "_ZN"));
	CHECK(matches("_Z\xff\xfe*", "_Z\xff\xfeqq"));
	text_free(&text);
}

UNIT_MAIN()
