/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A capture as ordered events: THE iterator that every exporter and every report uses. It goes over the
 * capture twice: the survey (rows, lanes, time range, ledger), then the events in time order with their
 * names, lane and cause already computed, so that all formats agree.
 */
#ifndef GPUPROBE_VIEW_VIEW_H
#define GPUPROBE_VIEW_VIEW_H

#include "base/err.h"
#include "base/text.h"
#include "store/capture_reader.h"
#include "store/record_args.h"

struct view;

/* A row of a time line: a thread, a process, or a stream of a GPU. */
struct view_row {
	enum record_row type;
	u32 pid;
	u32 tid;    /* ROW_THREAD */
	u32 device; /* ROW_STREAM, ROW_SYNC, ROW_DEVICE: renumbered ids of the facts */
	u32 stream; /* 0: none */
	u32 device_number; /* as its process and other tools number it; the id where that is not known */
	u32 stream_number;
	u32 source; /* of what came first; tells the sessions of streams and GPUs apart */
	const char *name;	  /* of the thread or stream; never NULL */
	const char *process_name; /* never NULL ("" when unknown) */
	unsigned lane_count;	  /* 1, or more where spans overlap without nesting; 4,096 at most */
	u64 event_count;
	u64 span_count; /* of them */
	u64 work_count; /* of event_count what is no wait off a CPU */
};

/* Of a stream, of the waits for one, of a GPU as a whole. */
bool view_row_is_of_gpu(enum record_row type);

/* The place of entries of the ledger that reading the capture added. */
#define VIEW_PLACE_OF_READING "capture"

/* What ranges are called that have no name. */
#define VIEW_UNNAMED_RANGE "(unnamed range)"

/* One entry of the loss ledger, of the recording and of the reading alike. */
struct view_loss {
	u32 reason;	     /* enum loss_reason */
	const char *tag;     /* its tag and words for people */
	const char *meaning;
	const char *place; /* never NULL */
	u64 count;	   /* never 0 */
	u64 at_ns;	   /* when, of what happened at a moment, or since when; 0: not known */
};

/* A thing known of the recording: option, host, target, tool, result. */
struct view_attribute {
	const char *group; /* tag of enum attribute_group */
	const char *key;
	const char *value;
};

struct view_survey {
	const struct view_row *rows; /* sorted: processes by pid, threads main thread first then by tid */
	size_t row_count;
	const struct view_loss *losses;
	size_t loss_count;
	const struct view_attribute *attributes;
	size_t attribute_count;
	u64 window_start_ns; /* CLOCK_MONOTONIC; the window fact, else first event */
	u64 window_end_ns;   /* the same, else last time seen */
	u64 first_ns, last_ns; /* of the events themselves (starts and known ends); 0 without events */
	u64 realtime_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC at the first clock fact; 0: unknown */
	u64 event_count;
	u64 span_count, point_count, counter_count, total_count;
	u64 wait_count; /* what was too short to be recorded included */
	bool cut; /* recording was cut */
};

/* What a thread was in: a user range or a function, in what was around it. Numbers hold during a run. */
struct view_path {
	u32 parent; /* 0: nothing */
	u16 kind;
	u32 domain; /* of a range of NVTX: id of the text; 0: the default one */
	const char *name;
	const char *whole; /* the view's: NULL up to the first view_path_text() */
};

/* Products of matrices C = A B that a library was called for, as its arguments had them: all sizes are known, and such
 * that a GPU can have done it. */
struct view_matmul {
	u64 m, n, k; /* A has m rows and k columns, B k and n, C m and n */
	u64 batch;   /* how many of these, 1 or more */
	u8 type_a, type_b, type_c; /* VALUE_data_type_*; 0: not known */
};

/* How it is known in what a launch was made. */
enum view_within_by {
	VIEW_WITHIN_NOTHING, /* it was in nothing that is known */
	VIEW_WITHIN_OWN,     /* ranges and functions of its own thread */
	VIEW_WITHIN_BY_WAIT, /* around these, those of the thread that waited for its thread */
	VIEW_WITHIN_BY_TIME, /* around these, those of the only thread that has such: by the time alone, which is a guess */
};

/* What the work of a launch belongs to. */
struct view_within {
	u32 path; /* view_path(); 0: nothing */
	enum view_within_by by;
	size_t row_index; /* of the thread whose ranges are the outermost */
	u64 range;	  /* the innermost on the launching thread, of view_range(); 0: it has none open */
	u64 outer_range;  /* the same of the other thread; 0: there is no other, or it has none open */
	u32 waiter_stack; /* of the process: where the only thread waits that waits for this one; 0: not known, or several wait */
	u32 forward_stack; /* of the process: of a launch of the operation of which this is the backward pass (view_forwards.c); 0: not known */
	const char *forward_node; /* what it begins with is called so: "MmBackward0, seq = 12"; NULL: not known */
	u32 origin; /* one number for both; 0: neither is known */
};

/* By what code a launch was made. */
struct view_launch_stack {
	u32 stack;    /* id, of the process of the launch; 0: it could not be taken */
	u32 launches; /* for how many launches this one stands; 0: its stack is not known */
};

/* What launched an effect. */
struct view_cause {
	u64 number; /* unique in the capture, from 1; also the launch's own view_event.launch */
	u64 ts, dur; /* dur of a launch that is open: up to the end of the window */
	u32 pid, tid;
	size_t row_index; /* where it is drawn */
	unsigned lane;
	bool open;
	const char *name;
	u32 path; /* of the launch, on its thread: view_path(); 0: it was in nothing */
	struct view_launch_stack stack;
	struct view_within within; /* what it belongs to: path, or that in the ranges of another thread (view_contexts.c) */
	/* What the library call does in which the launch was made: of ONE kernel of each call, the first that ran of those
	 * launched in it, so that what is computed from it counts once. NULL for its other kernels, for work that is no
	 * kernel, and where no sizes are known. Of library calls in each other the outermost counts. */
	const struct view_matmul *matmul;
};

struct view_event {
	const struct record_header *record; /* layout of this build, ids renumbered */
	const struct schema_kind *kind;
	u64 ts;
	u64 dur; /* open spans: up to the end of the window, or to when they were recorded no more */
	u64 end; /* ts + dur */
	bool open;	  /* a span that had not ended */
	const char *name; /* for people: demangled, of nameless records made from their fields; never NULL */
	const struct view_row *row;
	size_t row_index;
	unsigned lane; /* 0 .. row->lane_count - 1: where it can be drawn without overlap */
	unsigned depth; /* number of enclosing spans in its lane */
	u64 launch;	/* number that effects name as their cause, 0: it launched nothing */
	u64 effect_count; /* how many name that launch */
	struct view_launch_stack stack; /* of a call of CUDA, whether it launched something or not; of an effect its cause has it */
	const struct view_cause *cause; /* NULL: none */
	bool has_sizes; /* a kernel of a library call whose sizes are known: see view_cause.matmul */
	bool inner_call; /* a call inside another one with its correlation id: the same work, seen again */
	u64 weight_ns; /* of a sample: how long it stands for, see view_samples.c; else 0 */
	bool computed; /* made by the view from other events, so not one of the capture (counters only) */
};

/* Some kinds, such as those that a row of a table is of: KIND_*, up to the first 0. */
#define VIEW_ROW_KINDS_MAX 8
#define VIEW_GPU_WORK KIND_kernel, KIND_copy, KIND_set, KIND_graph_launch
#define VIEW_RANGES KIND_range, KIND_process_range

static inline bool view_row_is_of(const u16 kinds[VIEW_ROW_KINDS_MAX], u16 kind)
{
	for (unsigned i = 0; i < VIEW_ROW_KINDS_MAX && kinds[i]; i++)
		if (kinds[i] == kind)
			return true;
	return false;
}

/* What an exporter implements. NULL members are skipped (without `end` no ends are computed). Every
 * function returns 0 or -errno with err set, which ends the run. Events come in time order; `end` comes in
 * time order among them too, before starts at the same moment. */
struct view_sink {
	int (*open)(void *data, const struct view *view, const struct view_survey *survey,
		    struct err *err);
	int (*span)(void *data, const struct view_event *event, struct err *err);
	int (*end)(void *data, const struct view_event *event, struct err *err);
	int (*point)(void *data, const struct view_event *event, struct err *err);
	int (*counter)(void *data, const struct view_event *event, struct err *err);
	int (*total)(void *data, const struct view_event *event, struct err *err);
	int (*close)(void *data, struct err *err);
	bool only_recorded; /* counters of the capture, and none that the view makes of other events */
	u16 end_kinds[VIEW_ROW_KINDS_MAX]; /* of whose spans `end` is wanted: KIND_*, up to the first 0; none: of all */
};

/* Runs the survey. reader stays the caller's and must outlive the view. */
int view_open(struct capture_reader *reader, struct view **ret_view, struct err *err);
const struct view_survey *view_survey(const struct view *view);
/* What people read of a moment behind a loss's place, ", at 1.234 s" (since the window opened); nothing where none is known, or the place says it. */
void view_loss_append_moment(const struct view_survey *survey, const struct view_loss *loss, struct text *text);
/* False when anything is missing that the recording should have held. */
bool view_is_complete(const struct view_survey *survey);
/* From when to when it is: the window, and what lies before and behind it of the events. */
void view_time_range(const struct view_survey *survey, u64 *ret_start_ns, u64 *ret_end_ns);
/* The value of one of its attributes; NULL: it has none such. */
const char *view_attribute(const struct view *view, const char *group, const char *key);
/* The version of CUDA that the driver of a process has, as CUDA writes it: 13000 for 13.0. pid 0: of any process, since all have one
 * driver. 0: not known. */
u32 view_cuda_driver_version(const struct view *view, u32 pid);

/* ---- what was recorded up to a moment only (view_recorded.c) ---- */

/* Inside the window records of a sort were taken no more. */
struct view_recording_end {
	u8 sort;     /* VALUE_recorded_sort_* */
	u8 why;	     /* VALUE_recording_end_why_*; 0: not known */
	u32 pid;     /* 0: of all processes */
	u64 at_ns;   /* when */
	u64 until_ns; /* up to when all of them are there: not after at_ns */
};

/* By their time; none: all was recorded to the end of the window. */
const struct view_recording_end *view_recording_ends(const struct view *view, size_t *ret_count);
/* From the start of the window up to this moment all records of a sort are there, of a process: what is not there did not happen. */
u64 view_recorded_until(const struct view *view, u8 sort, u32 pid);
/* The same of the work of a GPU, of all processes that gave it some. */
u64 view_gpu_recorded_until(const struct view *view, u32 device);
/* The latest one, of the processes that gave GPUs work; the end of the window where there is none such. */
u64 view_recorded_until_by_any(const struct view *view, u8 sort);

/* How many events of a kind there are. */
u64 view_kind_count(const struct view *view, u16 kind);
/* Runs the events through one sink; may be called again for another one. */
int view_run(struct view *view, const struct view_sink *sink, void *data, struct err *err);

/* One of several sinks that need nothing of each other, so that one run is enough for all. */
struct view_part {
	const struct view_sink *sink;
	void *data;
};

#define VIEW_PARTS_MAX 24
/* Each event goes to all of them, in their order; the first that fails ends the run. No run for none. */
int view_run_together(struct view *view, const struct view_part *parts, size_t count, struct err *err);
struct view *view_free(struct view *view);

/* What is computed from a view in a folder above this one, and lives as long as the view. Each type is one constant. */
struct view_companion_type {
	void *(*make)(void); /* NULL without memory */
	void (*free)(void *state); /* not of NULL */
};
/* The view's only state of this type, made at the first call; NULL without memory, at no later call. */
void *view_companion(const struct view *view, const struct view_companion_type *type);
/* A copy that lives as long as the view; NULL without memory. */
const char *view_intern(const struct view *view, const char *string, size_t length);
/* Adds to the ledger what such a one could not do; place is copied. A reason and place that it does not have yet. 0 or -ENOMEM. */
int view_note_loss(struct view *view, u32 reason, const char *place, u64 count);

/* Floating-point operations of all its products: one multiplication and one addition for each element of A and column
 * of B, of complex numbers four of each. */
u64 view_matmul_flops(const struct view_matmul *matmul);

/* ---- facts, for exporters (ids as in records of events) --------------------------------------------- */

const char *view_text(const struct view *view, u32 id); /* NULL for 0 */
/* The fact with this id, NULL for 0: e.g. (const struct record_probe *)view_fact(view, KIND_probe, id). */
const struct record_header *view_fact(const struct view *view, u16 kind, u32 id);
/* All facts of a kind in their order. */
const struct record_header *const *view_facts(const struct view *view, u16 kind, size_t *ret_count);
/* What an id stands for, as text that is unique among the facts of its kind: its name, "#n" behind it
 * where several have that name. */
const char *view_label(const struct view *view, u16 kind, u32 id);
/* Is the field of a record that a view gave absent? (schema_field_absent() is for records before their ids
 * were renumbered: a device that is not known reads as 0 here.) */
bool view_field_absent(const struct schema_field *field, const struct record_header *record);
size_t view_stack(const struct view *view, u32 id, const u64 **ret_addresses);

/* A function of a stack. */
struct view_frame {
	const char *name;   /* "": no symbol covers it */
	const char *module; /* base name of the file that it is mapped from, "" where that is not known */
	const char *file;   /* source file, "": unknown */
	u32 line;	    /* in it; 0: unknown */
	u32 module_id;	    /* of the fact of that file, 0: unknown */
	u64 address;	    /* of an instruction in it; as in the stack, where nothing is known of it */
	u64 file_address;   /* the same in the module, ~0: unknown */
	bool inlined;	    /* into the next one */
	bool guessed;	    /* that it called the one before: of code that no unwind table tells of */
	bool python;	     /* a frame of Python; its module is that of the source, as far as its name goes */
	u32 function_line;   /* of such a one: where its function begins; 0: unknown */
};

#define VIEW_FRAME_MISSING "[missing]" /* the name of a frame that stands for one or more that the chain left out */
#define VIEW_FRAME_GUESSED "?" /* behind the name of a frame that is guessed */
/* For people, in front of all else that is said of a recording that was cut. */
#define VIEW_CUT_SHORT "The recording was cut short: the file ends in the middle, what came later is missing."
#define VIEW_FRAME_CUT "[cut]" /* what outputs put where the callers would stand of a stack that code without frame pointers cut */

/* The functions of a stack of process pid, innermost first, as many as can be trusted. Where it has frames of Python the interpreter's own
 * functions are left out, but those with a name that the innermost of them called; ret_cut: what outputs put where their callers
 * would stand, "[cut]" or with the reason, "[cut: no table]"; NULL: none is missing. Valid until the next call. */
size_t view_frames(const struct view *view, u32 pid, u32 stack, const struct view_frame **ret_frames, const char **ret_cut);
/* "ns::f<int>", "libfoo.so+0x1234" where it has no name, "consumer work.py:9" of Python, by where the function begins; behind it
 * VIEW_FRAME_GUESSED where it is guessed. */
void view_frame_append_name(const struct view_frame *frame, struct text *text);
/* The same with its source line or module: "ns::f<int> (foo.cc:12)". */
void view_frame_append(const struct view_frame *frame, struct text *text);
/* Of what calls or waits: of Python with the line that it is at, "consumer (work.py:12)"; else its name. */
void view_frame_append_call(const struct view_frame *frame, struct text *text);
/* The functions of a stack, a line each by one of these two, the mark of a cut last. How many functions they are. */
size_t view_frames_append_lines(const struct view *view, u32 pid, u32 stack,
				void (*append)(const struct view_frame *frame, struct text *text), struct text *text);

/* The function of such a stack that is the program's own and launched a kernel (NULL: something else), by library_code.def: the innermost one that
 * is no library's, of Python if it has such, else what comes nearest to that. False: nothing is known of any. Its strings live as long as the view. */
bool view_own_frame(const struct view *view, u32 pid, u32 stack, const char *kernel, struct view_frame *ret_frame);
/* The program's own function that called that one, through whatever libraries: of the same sort, and another one. False: there is none that is known,
 * or that one is a library's. */
bool view_own_caller(const struct view *view, u32 pid, u32 stack, struct view_frame *ret_frame);
/* Is a function known to be no program's own, by library_code.def? */
bool view_is_library_frame(const struct view *view, const struct view_frame *frame);
/* Is something known of a stack, and nothing of it the program's own? */
bool view_is_foreign(const struct view *view, u32 pid, u32 stack);

/* The code of the program that work of a GPU goes back to. */
#define VIEW_AUTOGRAD_NODE_MAX 128
struct view_launch_code {
	struct view_frame frame;
	/* It launched nothing itself: nothing of the thread that did is the program's own, and there the one thread waits that waits for it. */
	bool waits_here;
	bool replays; /* a graph: it says who replayed it; the code that captured its nodes ran before */
	char autograd_node[VIEW_AUTOGRAD_NODE_MAX]; /* "AddmmBackward0", of PyTorch's C++ frames; "": it was launched by none */
	bool has_forward;	   /* emit_nvtx() tells which operation autograd does the backward pass of, */
	struct view_frame forward; /* and that was the program's own function in which it was */
};
/* Of an effect's cause (NULL: false) that has a stack; kernel: as above. */
bool view_launch_code(const struct view *view, const struct view_cause *cause, const char *kernel, struct view_launch_code *ret_code);
/* "step train.py:9 [waits here: AddmmBackward0 of forward (train.py:30)]", with view_frame_append_name() or view_frame_append(). */
void view_launch_code_append(const struct view_launch_code *code, void (*append)(const struct view_frame *frame, struct text *text), struct text *text);

/* What a call that launched something, or work of a GPU, goes back to, from the outermost on: where the one thread waits that waits for it, and
 * "[waits here]"; the stack of the launch, or VIEW_NO_STACK; "[replays a graph]"; what it is, but of a call that has a stack, which ends in it. */
#define VIEW_LAUNCH_PARTS_MAX 5
struct view_launch_part {
	const char *name; /* NULL: the functions of the stack */
	u32 pid, stack;	  /* of that process */
	bool is_event;	  /* the event itself, by its name */
};
/* How many; ret_code (may be NULL): as of view_launch_code(), all 0 of a call. The names live as long as the event's. */
size_t view_launch_parts(const struct view *view, const struct view_event *event, struct view_launch_part ret_parts[VIEW_LAUNCH_PARTS_MAX],
			 struct view_launch_code *ret_code);

/* Where a kernel is written that Triton or PyTorch's inductor compiled while the program ran, as far as that is certain. */
struct view_kernel_source {
	const char *file;	/* as Python had it; "": not known */
	u32 line;		/* of its def; 0: not known */
	const char *nodes;	/* variables and calls of the program that inductor made it of: "linear, relu"; "" */
	const char *operations; /* "aten.addmm, aten.relu"; "" */
};
/* False: nothing is known of it, or several may be it that have nothing in common. */
bool view_kernel_source(const struct view *view, const struct view_event *kernel, struct view_kernel_source *ret_source);
/* "/srv/kernels.py:12" */
void view_kernel_source_append(const struct view_kernel_source *source, struct text *text);
bool view_has_kernel_sources(const struct view *view);

/* NULL for 0. */
const struct view_path *view_path(const struct view *view, u32 path);
/* A range as it came, where a path is all of its name. Numbers count up from 1 in a run. */
struct view_range {
	u64 number;
	u64 parent; /* the one around it on its thread, 0: none */
	const char *name; /* as long as the run */
};
/* NULL for 0, and where very many have come since. */
const struct view_range *view_range(const struct view *view, u64 number);
/* "step/backward": the names in it, outermost first; lives as long as the view. NULL for 0, and without memory. */
const char *view_path_text(const struct view *view, u32 path);

/* "GPU 0: NVIDIA H200", as far as it is known; NULL without memory. */
const char *view_device_name(const struct view *view, u32 device);
/* Are two devices one GPU, by the uuid? Processes know it by facts of their own. NULL, or without uuid: no. */
bool view_is_same_gpu(const struct record_header *device, const struct record_header *other);
/* Where the device with this id is, and what of its memory was in use when the recording began; NULL: not known. */
const struct record_gpu_at_attach *view_gpu_at_attach(const struct view *view, u32 device);
/* "python3 (77), train (78)": processes that had a context on it and were not recorded there: what it did for them is not known. Whether there are any. */
bool view_append_gpu_users(const struct view *view, u32 device, struct text *text);
/* How many records of CUDA were lost, of the processes that use it, whatever GPU they were of: work, calls, ranges. 0: not one for each
 * thousand operations that it has. */
u64 view_gpu_records_lost(const struct view *view, u32 device);
/* Why it may have had work where none is recorded: "python3 (77) uses it too, not recorded; 863514 records of its processes were lost
 * (work, calls, ranges), and its 227156 operations were not". Whether there is a reason. */
bool view_append_gpu_doubts(const struct view *view, u32 device, struct text *text);
/* VALUE_usdt_annotation_* of an event of gpuprobe.h, whose argument 0 is its name already; else 0. */
u8 view_annotation(const struct view *view, const struct view_event *event);
/* Is it of a probed function of the C library (libc, libpthread, ...), which nsys has as OS runtime? */
bool view_is_os_runtime(const struct view *view, const struct view_event *event);
/* How much of the time that a thread ran its samples stand for. */
u64 view_thread_sampled_ns(const struct record_thread_time *time);
/* The last known name of a thread; of one that nobody named that of its process, by its first thread. NULL when unknown. */
const char *view_task_name(const struct view *view, u32 pid, u32 tid);
/* Its priority; false: not known. */
bool view_task_priority(const struct view *view, u32 pid, u32 tid, s64 *ret_priority);
/* The last known name of a process, "" when unknown. */
const char *view_process_name(const struct view *view, u32 pid);

/* ---- where the time of threads went (view_wall.c) ---- */

enum view_wall_state {
	VIEW_WALL_RUNNING,
	VIEW_WALL_READY, /* why is not known */
	VIEW_WALL_WAITING,
	VIEW_WALL_PREEMPTED,
	VIEW_WALL_THROTTLED,
	VIEW_WALL_WOKEN,  /* and not running yet */
	VIEW_WALL_BEYOND, /* no time of a thread: what all else tells of more than the thread lived, to be taken off */
	VIEW_WALL_STATES
};

/* What has no stack, and why. */
#define VIEW_WALL_UNSAMPLED  "[ran too short to be sampled]"
#define VIEW_WALL_SHORT	     "[each too short to be recorded]"
#define VIEW_WALL_UNRECORDED "[not recorded]"
#define VIEW_WALL_TWICE	     "[told of twice]"
#define VIEW_NO_STACK	     "[no stack]"

/* A part of the time of the event's thread, in one state: at the event's stack where why is NULL. */
struct view_wall_piece {
	enum view_wall_state state;
	u64 ns;
	const char *why;
};

#define VIEW_WALL_PIECES_MAX 5

/* Of an event of a run, how many: those of all events of a thread, less what is VIEW_WALL_BEYOND, add up to how long it lived in the window. */
size_t view_wall_pieces(const struct view *view, const struct view_event *event,
			struct view_wall_piece ret_pieces[VIEW_WALL_PIECES_MAX]);
/* "running", "ready: woken" */
const char *view_wall_word(enum view_wall_state state);

/* ---- fields and computed values by key: the columns of tables in exporters --------------------------
 * Looks up once, reads often. Keys: a field of the kind or of the header; or "field.field" through an ID
 * ("probe.address", "probe.binary"); or a computed value ("launch_delay_ns"). */
enum view_value_type {
	VALUE_ABSENT, VALUE_U64, VALUE_S64, VALUE_HEX, VALUE_STRING, VALUE_DECIMAL, VALUE_ARRAY,
};

#define VALUE_ARRAY_MAX 4 /* longer ones are strings */

struct view_value {
	enum view_value_type type;
	u64 number; /* VALUE_S64: cast it */
	double decimal;	    /* finite */
	const char *string; /* enum tags, texts; valid as long as the view */
	unsigned count;	    /* VALUE_ARRAY */
	u64 numbers[VALUE_ARRAY_MAX];
};

/* Has the capture anything of such kinds? */
static inline bool view_has_any(const struct view *view, const u16 kinds[VIEW_ROW_KINDS_MAX])
{
	for (unsigned i = 0; i < VIEW_ROW_KINDS_MAX && kinds[i]; i++)
		if (view_kind_count(view, kinds[i]))
			return true;
	return false;
}

struct view_key; /* constant, owned by the view */

bool view_has_key(const struct schema_kind *kind, const char *key);
/* 0, -ENOMEM, or -EINVAL, which names who has it in a table: "chrome: kernel has no field 'strem'". */
int view_key(const struct view *view, const char *user, const struct schema_kind *kind, const char *key,
	     const struct view_key **ret_key, struct err *err);
/* The same of a key whose values a table compares with a word (NULL: with none), which must be one that such values have:
 * "chrome: 'ended' of call is never 'retruned'". */
int view_key_with_value(const struct view *view, const char *user, const struct schema_kind *kind, const char *key,
			const char *word, const struct view_key **ret_key, struct err *err);
struct view_value view_value(const struct view *view, const struct view_key *key,
			     const struct view_event *event);
/* The correlation id of a launch or an effect, with the number of its source as the upper half: readers of other formats know no
 * sources, and would take the launches of one process for those of another. The same as long as ids of a source do not come again. */
u64 view_unique_correlation(const struct view *view, const struct view_event *event);
/* Where the CUDA event was recorded that a sync event waits for: id of the stream, and what view_unique_correlation() says of the call. False: not
 * known. */
bool view_event_recorded(const struct view *view, const struct view_event *wait, u32 *ret_stream, u64 *ret_correlation);

#endif
