/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

struct output {
	struct text *text;
	jmp_buf too_long;
};

/*
 * A name of a few hundred bytes can, by references to its own parts, spell out gigabytes. The
 * demangler has no way to be stopped but to jump out of it; what it holds while it prints is on its
 * stack.
 */
static void output_append(const char *bytes, size_t length, void *data)
{
	struct output *output = data;

	if (output->text->length + length > DEMANGLE_LENGTH_MAX_BYTES)
		longjmp(output->too_long, 1);
	text_append_bytes(output->text, bytes, length);
}

bool demangle_is_mangled(const char *symbol)
{
	/* "_Z", "_R", and with the further underscores that some toolchains put in front. */
	return symbol[0] == '_' && (symbol[1] == 'Z' || symbol[1] == 'R' ||
				    (symbol[1] == '_' && (symbol[2] == 'Z' || symbol[2] == 'R')));
}

bool demangle(const char *symbol, enum demangle_form form, struct text *ret_name)
{
	int options = form == DEMANGLE_FULL ? DMGL_PARAMS | DMGL_ANSI : DMGL_ANSI;
	struct output output = {.text = ret_name};

	text_clear(ret_name);
	if (!demangle_is_mangled(symbol))
		return false;
	if (setjmp(output.too_long)) {
		text_clear(ret_name);
		return false;
	}
	/* Rust's legacy names are valid C++ names too, so Rust is asked first. */
	if (!rust_demangle_callback(symbol, options, output_append, &output)) {
		text_clear(ret_name);
		if (!cplus_demangle_v3_callback(symbol, options, output_append, &output))
			text_clear(ret_name);
	}
	return ret_name->length > 0 && !ret_name->failed;
}
