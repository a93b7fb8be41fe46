/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/pythons.h"

#include <errno.h>

#include "base/clock.h"
#include "base/log.h"

/* Of an interpreter that does not run yet, or whose frames are none. */
#define PATIENCE_NS   (10 * NS_PER_SECOND) /* then it is refused, if its frames are none */
#define PROBES_A_LOOK 4			   /* where code objects end */
#define LOOKS_PER_AGE \
	8 /* it is looked at again after so much of the time for which it was looked at: the more rarely, the longer */

/* What is known of a process, by fields of one map. */
enum field {
	FIELD_MAPPED, /* how much, when it was looked at last */
	FIELD_FIRST,  /* and since when it has been looked at without an answer; or STATE_* */
	FIELD_NEXT,   /* when it is to be looked at next */
	FIELD_WRONG,  /* the last answer: its frames are none */
	FIELD_REFUSED,
	FIELD_SECOND,  /* of several interpreters one is not read */
	FIELD_COUNTED, /* its code objects that end are, or can't be */
};

enum { STATE_READ = 1, STATE_NONE };

static u64 get(const struct pythons *pythons, u32 pid, enum field field)
{
	const u64 *value = map_find(&pythons->known, pid, field);

	return value ? *value : 0;
}

/* What there is no memory for is asked again. */
static void set(struct pythons *pythons, u32 pid, enum field field, u64 value)
{
	(void)map_set(&pythons->known, pid, field, value);
}

/* Whether it is to be looked at. */
static bool is_open(struct pythons *pythons, const struct bpf_source *source,
		    const struct code_process *process, u64 now_ns)
{
	u32 pid = process->pid;
	u64 first = get(pythons, pid, FIELD_FIRST);

	/* A child has its parent's. */
	if ((first == STATE_READ || !first) && bpf_source_has_python(source, pid))
		return false;
	/* It has mapped something since, or executed another program, which may map as much. */
	if (first <= STATE_READ || get(pythons, pid, FIELD_MAPPED) != process->executable_kb) {
		set(pythons, pid, FIELD_MAPPED, process->executable_kb);
		set(pythons, pid, FIELD_FIRST, now_ns);
		return true;
	}
	return first != STATE_NONE && now_ns >= get(pythons, pid, FIELD_NEXT);
}

/* Each process once: one that maps more later is looked at again. */
static void refuse(struct pythons *pythons, u32 pid, const char *version, const struct err *why)
{
	if (get(pythons, pid, FIELD_REFUSED))
		return;
	set(pythons, pid, FIELD_REFUSED, 1);
	if (!pythons->refused_count++)
		err_set(&pythons->refused_first, 0, "process %u%s%s: %s", pid,
			version[0] ? ", Python " : "", version, why->message);
}

/* Of several interpreters. */
static void refuse_second(struct pythons *pythons, const struct code_map *map, u32 pid)
{
	const char *path;

	if (get(pythons, pid, FIELD_SECOND) || python_find_second(&pythons->files, map, pid, &path))
		return;
	set(pythons, pid, FIELD_SECOND, 1);
	if (!pythons->refused_count++)
		err_set(&pythons->refused_first, 0,
			"the second interpreter in process %u, %s: the one counts that was loaded "
			"first",
			pid, path);
}

static void settle(struct pythons *pythons, u32 pid, int result, u64 now_ns)
{
	u64 first_ns = get(pythons, pid, FIELD_FIRST);
	bool is_over = now_ns - first_ns >= PATIENCE_NS;

	set(pythons, pid, FIELD_WRONG, result == -EILSEQ);
	set(pythons, pid, FIELD_NEXT, now_ns + (now_ns - first_ns) / LOOKS_PER_AGE);
	if (!result)
		set(pythons, pid, FIELD_FIRST, STATE_READ);
	else if (result != -EAGAIN && (result != -EILSEQ || is_over))
		set(pythons, pid, FIELD_FIRST, STATE_NONE);
}

static void look_at(struct pythons *pythons, const struct bpf_source *source,
		    const struct code_map *map, u32 pid, u64 now_ns)
{
	char version[PYTHON_VERSION_BYTES];
	struct python_process process = {0};
	struct err err = {0};
	int result = python_find(&pythons->files, map, pid, version, &process, &err);

	if ((!result || result == -EAGAIN) && bpf_source_refuses_python(source))
		result = err_set(&err, -ENOTSUP,
				 "this kernel refuses the programs that read its frames (-v shows "
				 "why)");
	/* One that runs no code now is read as soon as it does, and judged then. */
	if (!result || (result == -EAGAIN && process.code_type)) {
		int put = bpf_source_put_python(source, pid, &process, &err);

		set(pythons, pid, FIELD_COUNTED, 0);
		result = put ? put : result;
	}
	if (!result)
		log_debug("process %u: Python %s, its frames are in stacks", pid, version);
	else if (result != -ENOENT)
		log_debug("process %u: no frames of Python%s%s in stacks: %s", pid,
			  version[0] ? " " : "", version, err.message);
	settle(pythons, pid, result, now_ns);
	if (!result)
		refuse_second(pythons, map, pid);
	if (result == -EILSEQ)
		pythons->wrong = err;
	if (result == -ENOENT || get(pythons, pid, FIELD_FIRST) != STATE_NONE)
		return;
	bpf_source_drop_python(source, pid);
	refuse(pythons, pid, version, &err);
}

/* left: so many more in this look, which takes some ms for each. Of one whose frames are read, a child that has its parent's interpreter included. */
static void count_ends(struct pythons *pythons, const struct bpf_source *source,
		       const struct code_map *map, u32 pid, unsigned *left)
{
	u64 first = get(pythons, pid, FIELD_FIRST);

	if (get(pythons, pid, FIELD_COUNTED) || (first && first != STATE_READ) || !*left ||
	    !python_ends_has_room(&pythons->ends, source) || !bpf_source_has_python(source, pid))
		return;
	--*left;
	set(pythons, pid, FIELD_COUNTED, 1);
	python_ends_count(&pythons->ends, source, map, &pythons->files, pid);
}

void pythons_look(struct pythons *pythons, const struct bpf_source *source,
		  const struct code_map *map)
{
	u64 now_ns = clock_monotonic_ns();
	unsigned left = PROBES_A_LOOK;

	if (!bpf_source_reads_python(source) && !bpf_source_refuses_python(source))
		return;
	for (size_t i = 0; i < map->process_count; i++) {
		if (is_open(pythons, source, &map->processes[i], now_ns))
			look_at(pythons, source, map, map->processes[i].pid, now_ns);
		count_ends(pythons, source, map, map->processes[i].pid, &left);
	}
	python_ends_look(&pythons->ends, source, now_ns);
}

void pythons_hand_over(struct pythons *pythons, const struct bpf_source *source,
		       struct uprobe_set *to)
{
	python_ends_hand_over(&pythons->ends, source, to);
}

void pythons_end(struct pythons *pythons, const struct code_map *map)
{
	for (size_t i = 0; i < map->process_count; i++) {
		u32 pid = map->processes[i].pid;
		u64 first = get(pythons, pid, FIELD_FIRST);

		if (get(pythons, pid, FIELD_WRONG))
			refuse(pythons, pid, "", &pythons->wrong);
		/* Behind the last look, too. */
		if (first && first != STATE_NONE)
			refuse_second(pythons, map, pid);
	}
}

void pythons_free(struct pythons *pythons)
{
	python_ends_free(&pythons->ends);
	python_files_free(&pythons->files);
	python_codes_free(&pythons->codes);
	map_free(&pythons->known);
}
