/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Completion scripts for bash and zsh, from the table. Both consist of the same small shell
 * functions that hold the table, and of one function each that asks them and offers the words to
 * its shell.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/text.h"
#include "options/options_table.h"

static bool is_file_name(const struct option_row *row)
{
	return strcmp(row->metavar, "FILE") == 0;
}

static const char *words_of(const char *member, unsigned verb)
{
	for (const struct words_row *words = words_rows; words->member; words++)
		if (strcmp(words->member, member) == 0 && words->verbs & verb)
			return words->words;
	return "";
}

/* "-d|--duration" for a case pattern */
static void append_pattern(struct text *text, const struct option_row *row)
{
	if (row->short_name)
		text_appendf(text, "-%c|", row->short_name);
	text_appendf(text, "--%s", row->long_name);
}

static void append_verb_names(struct text *text)
{
	for (const struct verb_row *row = verb_rows; row->name; row++)
		text_appendf(text, "%s%s", row == verb_rows ? "" : " ", row->name);
}

static void append_options_function(struct text *text)
{
	text_append(text, "# the options of verb $1\n_gpuprobe_options()\n{\n\tcase $1 in\n");
	for (const struct verb_row *verb = verb_rows; verb->name; verb++) {
		const char *before = "";

		text_appendf(text, "\t%s) echo \"", verb->name);
		for (const struct option_row *row = option_rows; row->member; row++) {
			if (!(row->verbs & verb->verb))
				continue;
			text_appendf(text, "%s--%s", before, row->long_name);
			if (row->short_name)
				text_appendf(text, " -%c", row->short_name);
			before = " ";
		}
		text_append(text, "\" ;;\n");
	}
	text_append(text, "\tesac\n}\n\n");
}

static const char *kind_of(const struct option_row *row)
{
	if (row->type == OPTION_PIDS)
		return "pid";
	if (is_file_name(row))
		return "file";
	if (row->type == OPTION_CHOICE || *words_of(row->member, VERB_ALL))
		return "word";
	return "value";
}

static void append_kind_function(struct text *text)
{
	text_append(
		text,
		"# what option $1 takes (pid, file, word, value; nothing: it is a flag) and its "
		"long name\n_gpuprobe_kind()\n{\n\tcase $1 in\n");
	for (const struct option_row *row = option_rows; row->member; row++) {
		if (row->type == OPTION_FLAG)
			continue;
		text_append(text, "\t");
		append_pattern(text, row);
		text_appendf(text, ") echo \"%s --%s\" ;;\n", kind_of(row), row->long_name);
	}
	text_append(text, "\tesac\n}\n\n");
}

static void append_words_case(struct text *text, const char *member, const char *name)
{
	for (const struct verb_row *verb = verb_rows; verb->name; verb++) {
		const char *words = words_of(member, verb->verb);

		if (*words)
			text_appendf(text, "\t\"%s %s\") echo \"%s\" ;;\n", verb->name, name,
				     words);
	}
}

static void append_words_function(struct text *text)
{
	text_append(text,
		    "# the words, or the endings of files, for $2 (--option, or arguments) of verb "
		    "$1\n_gpuprobe_words()\n{\n\tcase \"$1 $2\" in\n");
	append_words_case(text, "arguments", "arguments");
	for (const struct option_row *row = option_rows; row->member; row++) {
		char name[64];

		snprintf(name, sizeof(name), "--%s", row->long_name);
		append_words_case(text, row->member, name);
		if (row->type != OPTION_CHOICE)
			continue;
		text_appendf(text, "\t*\" %s\") echo \"", name);
		for (const struct choice_row *choice = choice_rows; choice->member; choice++)
			if (strcmp(choice->member, row->member) == 0)
				text_appendf(text, "%s%s", choice->number ? " " : "", choice->word);
		text_append(text, "\" ;;\n");
	}
	text_append(text, "\tesac\n}\n\n");
}

static void append_verb_function(struct text *text)
{
	const char *before = "";

	text_append(text,
		    "# the verb among the words so far: none when there is none yet, -- behind --\n"
		    "_gpuprobe_verb()\n{\n\tlocal word skip=\n\tfor word in \"$@\"; do\n"
		    "\t\tif [ -n \"$skip\" ]; then\n"
		    "\t\t\t[ \"$word\" = \"=\" ] || skip=\n\t\t\tcontinue\n\t\tfi\n"
		    "\t\tcase $word in\n\t\t--) echo --; return ;;\n\t\t");
	for (const struct option_row *row = option_rows; row->member; row++) {
		if (row->type == OPTION_FLAG)
			continue;
		text_append(text, before);
		append_pattern(text, row);
		before = "|";
	}
	text_append(text, ") skip=yes ;;\n\t\t-*) ;;\n\t\t");
	for (const struct verb_row *row = verb_rows; row->name; row++)
		text_appendf(text, "%s%s", row == verb_rows ? "" : "|", row->name);
	text_append(text, ") echo \"$word\"; return ;;\n\t\tesac\n\tdone\n\techo none\n}\n\n");
}

static const char bash_function[] =
	"_gpuprobe_files()\n"
	"{\n"
	"\tlocal name ending\n"
	"\tcompopt -o filenames 2>/dev/null\n"
	"\twhile IFS= read -r name; do\n"
	"\t\tfor ending in $2; do\n"
	"\t\t\tif [[ -d $name || $name == *.$ending ]]; then COMPREPLY+=(\"$name\"); break; fi\n"
	"\t\tdone\n"
	"\tdone < <(compgen -f -- \"$1\")\n"
	"}\n\n"
	"_gpuprobe()\n"
	"{\n"
	"\tlocal current=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD-1]} verb kind\n"
	"\tCOMPREPLY=()\n"
	"\t# --option=value comes as three words\n"
	"\tif [[ $current == = ]]; then\n"
	"\t\tcurrent=\n"
	"\telif [[ $option == = ]]; then\n"
	"\t\toption=${COMP_WORDS[COMP_CWORD-2]}\n"
	"\tfi\n"
	"\tverb=$(_gpuprobe_verb \"${COMP_WORDS[@]:1:COMP_CWORD-1}\")\n"
	"\tif [[ $verb == -- ]]; then\n"
	"\t\tcompopt -o default 2>/dev/null\n"
	"\t\tCOMPREPLY=($(compgen -c -- \"$current\"))\n"
	"\t\treturn\n"
	"\tfi\n"
	"\tread -r kind option <<<\"$(_gpuprobe_kind \"$option\")\"\n"
	"\tcase $kind in\n"
	"\tpid)\n"
	"\t\tlocal before=\n"
	"\t\t[[ $current == *,* ]] && before=${current%,*},\n"
	"\t\tCOMPREPLY=($(cd /proc && compgen -P \"$before\" -W \"$(echo [1-9]*)\" -- "
	"\"${current##*,}\"))\n"
	"\t\treturn ;;\n"
	"\tfile) _gpuprobe_files \"$current\" \"$(_gpuprobe_words \"${verb/none/record}\" "
	"\"$option\")\"; "
	"return ;;\n"
	"\tword)\n"
	"\t\tCOMPREPLY=($(compgen -W \"$(_gpuprobe_words \"${verb/none/record}\" \"$option\")\" -- "
	"\"$current\"))\n"
	"\t\treturn ;;\n"
	"\tvalue) return ;;\n"
	"\tesac\n"
	"\tif [[ $current == -* ]]; then\n"
	"\t\tCOMPREPLY=($(compgen -W \"$(_gpuprobe_options \"${verb/none/record}\")\" -- "
	"\"$current\"))\n"
	"\telif [[ $verb == none ]]; then\n"
	"\t\tCOMPREPLY=($(compgen -W \"$(_gpuprobe_verbs)\" -- \"$current\"))\n"
	"\telif [[ $verb == export || $verb == stats ]]; then\n"
	"\t\t_gpuprobe_files \"$current\" \"$(_gpuprobe_words \"$verb\" arguments)\"\n"
	"\telse\n"
	"\t\tCOMPREPLY=($(compgen -W \"$(_gpuprobe_words \"$verb\" arguments)\" -- \"$current\"))\n"
	"\tfi\n"
	"}\n"
	"complete -F _gpuprobe gpuprobe\n";

static const char zsh_function[] =
	"_gpuprobe_files()\n"
	"{\n"
	"\tlocal endings=${(j:|:)${=1}}\n"
	"\t_files -g \"*.($endings)\"\n"
	"}\n\n"
	"_gpuprobe()\n"
	"{\n"
	"\tlocal option=${words[CURRENT-1]} verb kind\n"
	"\tverb=$(_gpuprobe_verb \"${(@)words[2,CURRENT-1]}\")\n"
	"\tif [[ $verb == -- ]]; then\n"
	"\t\tlocal place=${words[(i)--]}\n"
	"\t\tshift $place words\n"
	"\t\t(( CURRENT -= place ))\n"
	"\t\t_normal\n"
	"\t\treturn\n"
	"\tfi\n"
	"\tif [[ $PREFIX == --*=* ]]; then\n"
	"\t\toption=${PREFIX%%=*}\n"
	"\t\tcompset -P '*='\n"
	"\tfi\n"
	"\tread -r kind option <<<\"$(_gpuprobe_kind \"$option\")\"\n"
	"\tcase $kind in\n"
	"\tpid) compset -P '*,'; _pids; return ;;\n"
	"\tfile) _gpuprobe_files \"$(_gpuprobe_words \"${verb/none/record}\" \"$option\")\"; "
	"return ;;\n"
	"\tword) compadd -- ${=$(_gpuprobe_words \"${verb/none/record}\" \"$option\")}; return ;;\n"
	"\tvalue) _message value; return ;;\n"
	"\tesac\n"
	"\tif [[ $PREFIX == -* ]]; then\n"
	"\t\tcompadd -- ${=$(_gpuprobe_options \"${verb/none/record}\")}\n"
	"\telif [[ $verb == none ]]; then\n"
	"\t\tcompadd -- ${=$(_gpuprobe_verbs)}\n"
	"\telif [[ $verb == export || $verb == stats ]]; then\n"
	"\t\t_gpuprobe_files \"$(_gpuprobe_words \"$verb\" arguments)\"\n"
	"\telse\n"
	"\t\tcompadd -- ${=$(_gpuprobe_words \"$verb\" arguments)}\n"
	"\tfi\n"
	"}\n\n"
	"if [[ $funcstack[1] == _gpuprobe ]]; then\n"
	"\t_gpuprobe \"$@\"\n"
	"else\n"
	"\tcompdef _gpuprobe gpuprobe\n"
	"fi\n";

static const struct shell_row {
	const char *name;
	const char *first_lines;
	const char *function;
} shell_rows[] = {
	{"bash", "# Completion of gpuprobe for bash. Made by: gpuprobe completion bash\n\n",
	 bash_function},
	{"zsh", "#compdef gpuprobe\n# Made by: gpuprobe completion zsh\n\n", zsh_function},
};

int options_print_completion(FILE *file, const char *shell, struct err *err)
{
	_cleanup_text_ struct text text = {0};
	struct nearest nearest = {.word = shell};
	const struct shell_row *row = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(shell_rows); i++) {
		if (strcmp(shell_rows[i].name, shell) == 0)
			row = &shell_rows[i];
		nearest_offer(&nearest, shell_rows[i].name);
	}
	if (!row)
		return err_set(err, -EINVAL,
			       "completion \"%.100s\": there are scripts for bash and zsh%s", shell,
			       nearest_hint(&nearest, ""));
	text_append(&text, row->first_lines);
	text_append(&text, "_gpuprobe_verbs()\n{\n\techo \"");
	append_verb_names(&text);
	text_append(&text, "\"\n}\n\n");
	append_options_function(&text);
	append_kind_function(&text);
	append_words_function(&text);
	append_verb_function(&text);
	text_append(&text, row->function);
	if (text.failed)
		return err_errno(err, -ENOMEM, "can't make the script");
	fputs(text_string(&text), file);
	return 0;
}
