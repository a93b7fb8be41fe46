/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which function of a stack is the program's own: the innermost one of the best sort that the stack has. A function of Python goes before native
 * ones, since these are what it was written with.
 */
#include <ctype.h>
#include <string.h>

#include "base/array.h"
#include "base/path.h"
#include "store/stack_addresses.h"
#include "view/view_parts.h"

#define AUTOGRAD       "torch::autograd::"
#define AUTOGRAD_APPLY "::apply"
/* A file of inductor's: 'c', and so many letters of a hash in base 32, in a folder that is called as the first two. */
#define INDUCTOR_LETTERS 52

/* From what says least of who wanted it. */
enum sort {
	SORT_NOTHING, /* nothing is known of it */
	SORT_SYSTEM,
	SORT_FRAMEWORK,
	SORT_PYTHON_STANDARD, /* Python's own library */
	SORT_PYTHON_FRAMEWORK,
	SORT_NATIVE,	       /* the program's own */
	SORT_PYTHON_LIBRARY,   /* models, loops of training */
	SORT_PYTHON_INSTALLED, /* a package that is no framework: most programs of Python are one */
	SORT_PYTHON
};

static const char *const libraries[] = {
#define LIBRARY(name) name,
#include "view/library_code.def"
};
static const char *const packages[] = {
#define PACKAGE(name) name,
#include "view/library_code.def"
};
static const char *const frameworks[] = {
#define FRAMEWORK(prefix) prefix,
#include "view/library_code.def"
};
static const char *const systems[] = {
#define SYSTEM(prefix) prefix,
#include "view/library_code.def"
};
static const char *const functions[] = {
#define FUNCTION(prefix) prefix,
#include "view/library_code.def"
};
static const char *const sources[] = {
#define SOURCE(prefix) prefix,
#include "view/library_code.def"
};
static const char *const source_parts[] = {
#define SOURCE_BELOW(part) part,
#include "view/library_code.def"
};
static const char *const package_parts[] = {
#define SOURCE_PACKAGE(part) part,
#include "view/library_code.def"
};

/* What somebody typed in: it is the program. Of IPython, and of notebooks of Databricks. */
static const char *const typed_in[] = {"<stdin>", "<ipython-input-", "<command-"};

static bool begins_with_one(const char *string, const char *const *prefixes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strncmp(string, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

static bool has_one(const char *string, const char *const *parts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strstr(string, parts[i]))
			return true;
	return false;
}

/* What stands behind the folder in which packages are installed; NULL: it is in none. */
static const char *package_of(const char *path)
{
	static const char *const folders[] = {"/site-packages/", "/dist-packages/"};

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		const char *found = strstr(path, folders[i]);

		if (found)
			return found + strlen(folders[i]);
	}
	return NULL;
}

/* What inductor made of the program, in whatever folder TORCHINDUCTOR_CACHE_DIR says: who called that is of more use. */
static bool is_inductors(const char *path)
{
	const char *base = path_base_name(path);
	size_t letters = strspn(base, "abcdefghijklmnopqrstuvwxyz234567");

	if (strstr(path, "/torchinductor_"))
		return true;
	return *base == 'c' && letters == INDUCTOR_LETTERS && base[letters] == '.' &&
	       base - path >= 4 && base[-4] == '/' && !memcmp(base - 3, base + 1, 2);
}

/* path: from the folder of packages on. */
static bool is_one_of(const char *path, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t length = strlen(names[i]);

		if (!strncmp(path, names[i], length) &&
		    (path[length] == '/' || path[length] == '.'))
			return true;
	}
	return false;
}

/* What pip, pipx and uv write for a command of a package (bin/vllm, bin/uvicorn): it only calls that, at the latest in this line. */
#define COMMAND_LINES 10

static bool is_command(const char *function, const char *file, u32 line)
{
	const char *base = path_base_name(file);

	return line <= COMMAND_LINES && !strcmp(function, "<module>") && !strchr(base, '.') &&
	       base - file >= 5 && !memcmp(base - 5, "/bin/", 5);
}

static enum sort sort_of_python(const char *function, const char *file, u32 line)
{
	const char *package = package_of(file);

	if (package)
		return is_one_of(package, packages, ARRAY_SIZE(packages)) ? SORT_PYTHON_FRAMEWORK
		       : is_one_of(package, libraries, ARRAY_SIZE(libraries))
			       ? SORT_PYTHON_LIBRARY
			       : SORT_PYTHON_INSTALLED;
	/* So is what dynamo wrote. */
	if (is_inductors(file) || !strncmp(file, "<eval_with_key>", strlen("<eval_with_key>")))
		return SORT_PYTHON_FRAMEWORK;
	if (is_command(function, file, line))
		return SORT_PYTHON_LIBRARY;
	/* <string>, <template>: what somebody compiled, who is of more use, unless it is all that there is (python -c). */
	if (*file == '<' && strncmp(file, "<frozen ", strlen("<frozen ")))
		return begins_with_one(file, typed_in, ARRAY_SIZE(typed_in)) ? SORT_PYTHON
									     : SORT_PYTHON_LIBRARY;
	/* .../lib/python3.12/threading.py, <frozen runpy> */
	if (strstr(file, "/lib/python3.") || !strncmp(file, "<frozen ", strlen("<frozen ")))
		return SORT_PYTHON_STANDARD;
	return SORT_PYTHON;
}

/* cuLaunchKernel, cudaLaunchKernel, and what they consist of where they are linked into the program. */
static bool is_function_of_cuda(const char *name)
{
	const char *behind = !strncmp(name, "cuda", 4) ? name + 4
			     : !strncmp(name, "cu", 2) ? name + 2
						       : NULL;

	return (behind && isupper((unsigned char)*behind)) ||
	       begins_with_one(name, functions, ARRAY_SIZE(functions));
}

/* std::vector<int>::operator[], core::num::wrapping_add: the program's is who uses it. */
static bool is_source_of_language(const char *file)
{
	return has_one(file, source_parts, ARRAY_SIZE(source_parts)) ||
	       begins_with_one(file, sources, ARRAY_SIZE(sources));
}

static enum sort sort_of_native(const struct view *view, const struct view_frame *frame,
				const char *kernel)
{
	const struct record_header *module = view_fact(view, KIND_module, frame->module_id);
	const char *path = module ? view_text(view, module->name) : NULL;

	if (!frame->name[0] && !frame->module[0])
		return SORT_NOTHING;
	if (!strcmp(frame->name, VIEW_FRAME_MISSING))
		return SORT_NOTHING;
	/* What was in the kernel of the system is the program's by who called it. nvcc makes a function of the kernel's name that launches it. */
	if (stack_address_is_kernel(frame->address) ||
	    begins_with_one(frame->module, systems, ARRAY_SIZE(systems)) ||
	    is_function_of_cuda(frame->name) || is_source_of_language(frame->file) ||
	    (kernel && !strcmp(frame->name, kernel)))
		return SORT_SYSTEM;
	if (begins_with_one(frame->module, frameworks, ARRAY_SIZE(frameworks)) ||
	    has_one(frame->file, package_parts, ARRAY_SIZE(package_parts)) ||
	    (path && (package_of(path) || is_inductors(path))))
		return SORT_FRAMEWORK;
	return SORT_NATIVE;
}

static enum sort sort_of(const struct view *view, const struct view_frame *frame,
			 const char *kernel)
{
	return frame->python ? sort_of_python(frame->name, frame->file, frame->line)
			     : sort_of_native(view, frame, kernel);
}

bool view_is_library_frame(const struct view *view, const struct view_frame *frame)
{
	enum sort sort = sort_of(view, frame, NULL);

	return sort != SORT_NOTHING && sort < SORT_NATIVE;
}

static enum sort own_frame(const struct view *view, u32 pid, u32 stack, const char *kernel,
			   struct view_frame *ret_frame)
{
	const struct view_frame *frames;
	const char *cut;
	size_t count = view_frames(view, pid, stack, &frames, &cut);
	enum sort best = SORT_NOTHING;

	for (size_t i = 0; i < count; i++) {
		enum sort sort = sort_of(view, &frames[i], kernel);

		if (sort <= best)
			continue;
		best = sort;
		*ret_frame = frames[i];
	}
	return best;
}

bool view_own_frame(const struct view *view, u32 pid, u32 stack, const char *kernel,
		    struct view_frame *ret_frame)
{
	return own_frame(view, pid, stack, kernel, ret_frame) != SORT_NOTHING;
}

/* One that calls itself is no caller of its own. */
static bool is_same_function(const struct view_frame *frame, const struct view_frame *other)
{
	if (!*frame->name && !*other->name)
		return true; /* that is not known */
	return frame->function_line == other->function_line && !strcmp(frame->name, other->name) &&
	       !strcmp(frame->module, other->module) &&
	       (!frame->python || !strcmp(frame->file, other->file));
}

bool view_own_caller(const struct view *view, u32 pid, u32 stack, struct view_frame *ret_frame)
{
	struct view_frame own;
	const struct view_frame *frames;
	const char *cut;
	enum sort sort = own_frame(view, pid, stack, NULL, &own);
	size_t count = view_frames(view, pid, stack, &frames, &cut), next = 0;

	if (sort < SORT_NATIVE || !*own.name)
		return false;
	while (next < count && sort_of(view, &frames[next], NULL) != sort)
		next++;
	while (next < count && (sort_of(view, &frames[next], NULL) != sort ||
				is_same_function(&frames[next], &own)))
		next++;
	if (next < count)
		*ret_frame = frames[next];
	return next < count;
}

bool view_is_foreign(const struct view *view, u32 pid, u32 stack)
{
	struct view_frame frame;
	enum sort sort = own_frame(view, pid, stack, NULL, &frame);

	return sort != SORT_NOTHING && sort < SORT_NATIVE;
}

/* ---- autograd ---- */

/* torch::autograd::generated::AddmmBackward0::apply(...): the part before "::apply". */
static bool read_node(const char *function, char *ret_node)
{
	const char *end = strstr(function, AUTOGRAD_APPLY), *begin = end;

	if (strncmp(function, AUTOGRAD, strlen(AUTOGRAD)) || !end ||
	    (end[strlen(AUTOGRAD_APPLY)] && end[strlen(AUTOGRAD_APPLY)] != '('))
		return false;
	while (begin > function && (isalnum((unsigned char)begin[-1]) || begin[-1] == '_'))
		begin--;
	if (begin == end || begin[-1] != ':' || end - begin >= VIEW_AUTOGRAD_NODE_MAX)
		return false;
	memcpy(ret_node, begin, end - begin);
	ret_node[end - begin] = '\0';
	return true;
}

/* The innermost one. */
static void find_node(const struct view *view, u32 pid, u32 stack, char *ret_node)
{
	const struct view_frame *frames;
	const char *cut;
	size_t count = view_frames(view, pid, stack, &frames, &cut);

	ret_node[0] = '\0';
	for (size_t i = 0; i < count; i++)
		if (!frames[i].python && read_node(frames[i].name, ret_node))
			return;
}

/* "" begins each. */
static bool begins_with_name(const char *string, const char *name)
{
	size_t length = strlen(name);

	return !length || (!strncmp(string, name, length) && string[length] == ',');
}

bool view_launch_code(const struct view *view, const struct view_cause *cause, const char *kernel,
		      struct view_launch_code *ret_code)
{
	u32 stack = cause ? cause->stack.stack : 0, waiter = cause ? cause->within.waiter_stack : 0;
	u32 forward = cause ? cause->within.forward_stack : 0;
	struct view_frame frame;
	enum sort sort;

	*ret_code = (struct view_launch_code){0};
	if (!stack)
		return false;
	ret_code->replays = strstr(cause->name, "GraphLaunch") != NULL;
	sort = own_frame(view, cause->pid, stack, kernel, &ret_code->frame);
	find_node(view, cause->pid, stack, ret_code->autograd_node);
	/* Both tell which node it is. Of native code the innermost function may be a kernel's stub. */
	ret_code->has_forward =
		forward && begins_with_name(cause->within.forward_node, ret_code->autograd_node) &&
		own_frame(view, cause->pid, forward, NULL, &ret_code->forward) > SORT_NATIVE;
	if (sort < SORT_NATIVE && waiter &&
	    own_frame(view, cause->pid, waiter, NULL, &frame) >= SORT_NATIVE) {
		ret_code->frame = frame;
		ret_code->waits_here = true;
		return true;
	}
	return sort != SORT_NOTHING;
}

/* "waits here: AddmmBackward0 of forward (train.py:30)", as far as it is known: of the forward pass the line, since that is what differs. */
static void append_autograd(const struct view_launch_code *code, struct text *text)
{
	const char *node = code->autograd_node;

	if (code->waits_here)
		text_append(text, *node || code->has_forward ? "waits here: " : "waits here");
	if (!code->has_forward) {
		text_append(text, node);
		return;
	}
	text_appendf(text, "%s of ", *node ? node : "backward");
	view_frame_append(&code->forward, text);
}

void view_launch_code_append(const struct view_launch_code *code,
			     void (*append)(const struct view_frame *frame, struct text *text),
			     struct text *text)
{
	append(&code->frame, text);
	if (code->waits_here || code->has_forward) {
		text_append(text, " [");
		append_autograd(code, text);
		text_append_char(text, ']');
	}
	if (code->replays)
		text_append(text, " [replays a graph]");
}

size_t view_launch_parts(const struct view *view, const struct view_event *event,
			 struct view_launch_part ret_parts[VIEW_LAUNCH_PARTS_MAX],
			 struct view_launch_code *ret_code)
{
	bool is_call = event->kind->number == KIND_api;
	const struct view_cause *cause = is_call ? NULL : event->cause;
	const char *kernel = event->kind->number == KIND_kernel ? event->name : NULL;
	u32 pid = cause ? cause->pid : event->record->pid;
	u32 stack = is_call ? event->stack.stack : cause ? cause->stack.stack : 0;
	struct view_launch_code code;
	size_t count = 0;

	if (view_launch_code(view, cause, kernel, &code) && code.waits_here) {
		ret_parts[count++] =
			(struct view_launch_part){NULL, pid, cause->within.waiter_stack, false};
		ret_parts[count++] = (struct view_launch_part){.name = "[waits here]"};
	}
	ret_parts[count++] =
		(struct view_launch_part){stack ? NULL : VIEW_NO_STACK, pid, stack, false};
	if (code.replays)
		ret_parts[count++] = (struct view_launch_part){.name = "[replays a graph]"};
	if (!is_call || !stack)
		ret_parts[count++] =
			(struct view_launch_part){.name = event->name, .is_event = true};
	if (ret_code)
		*ret_code = code;
	return count;
}
