/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of agents, while the drain thread still runs. */
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/agent/agents_parts.h"
#include "unit.h"

static int ignore(void *data, const struct record_header *record, size_t size_bytes)
{
	return 0;
}

/* At the end gpuprobe itself takes the rings of a command to which no process came: the drain thread has nobody to meet there. */
TEST(a_ring_that_nobody_took_is_not_met)
{
	struct agents agents = {.chunk_count = 1};
	struct agent_launch launch = {.ring_fd = -1, .lock_fd = -1};
	struct target target = {0};
	struct agent agent = {.launch = &launch, .target = &target, .answered = true};
	struct agent_control *control = calloc(1, agents_ring_bytes(&agents));

	CHECK(!target_open(getpid(), false, &target, NULL));
	agent_threads_init(&agent.threads, &target);
	agent.control = control;
	agents_launched_end(&agents, &agent);
	CHECK_U64(control->fixed.state, AGENT_STATE_GONE);
	CHECK_U64(agent.report.outcome, AGENT_NOT_CUDA);
	CHECK_U64(agents_late_look(&agents, &agent, ignore, NULL), 0);
	CHECK(!agent.ring);
	CHECK_U64(control->met, 0);
	agent_ring_free(agent.ring);
	agent_threads_free(&agent.threads);
	target_close(&target);
	free(control);
}

static struct agent_control *began(struct agents *agents, struct agent *agent,
				   struct target *target)
{
	struct agent_control *control = calloc(1, agents_ring_bytes(agents));

	CHECK(!target_open(getpid(), false, target, NULL));
	agent_threads_init(&agent->threads, target);
	agent->control = control;
	control->fixed.agent_tid = (u32)getpid();
	control->fixed.state = AGENT_STATE_DRAINED;
	return control;
}

/* Each of 32 short processes that ended together was watched for other users of CUPTI before the next one was met: 0.1 s each on a busy
 * machine, and exit() waits for 5 s at most. */
TEST(a_process_that_ends_is_met_and_not_watched)
{
	struct cupti_watch *watch = malloc(1);
	struct agent_launch launch = {.ring_fd = -1, .lock_fd = -1};
	struct target target = {0};
	struct agent agent = {.launch = &launch, .target = &target, .answered = true};
	struct agents agents = {.chunk_count = 1, .agents = &agent, .count = 1, .watch = watch};
	struct agent_control *control = began(&agents, &agent, &target);

	CHECK_U64(agents_late_look(&agents, &agent, ignore, NULL), 0);
	CHECK_U64(control->met, 1);
	CHECK(agent.to_watch);
	agents_late_watch(&agents);
	CHECK(!agent.to_watch);
	agent_ring_free(agent.ring);
	agent_threads_free(&agent.threads);
	map_free(&agent.tasks);
	nvtx_watch_free(&agent.nvtx_watch);
	target_close(&target);
	free(control);
	free(watch);
}

/* It meets agents until it ends, and tells who watches for other users of CUPTI of them. */
TEST(who_watches_for_others_is_there_until_the_drain_thread_has_ended)
{
	struct cupti_watch *watch = malloc(1);
	struct agents agents = {.watch = watch};

	agents_leave(&agents, 0);
	CHECK(agents.watch == watch);
	free(watch);
}

/* What the drain thread adds now and then, and who ends the recording once more, counts once by its place. */
TEST(losses_of_an_agent_are_added_when_it_has_a_place)
{
	struct agent agent = {.report.outcome = AGENT_REFUSED};
	struct agents agents = {.agents = &agent, .count = 1};
	struct batch *batch;

	CHECK(!batch_create(&batch));
	CHECK(!agents_add_losses(&agents, batch));
	CHECK_U64(batch_size_bytes(batch), 0);
	agent.place = 7;
	CHECK(!agents_add_losses(&agents, batch));
	CHECK_U64(batch_size_bytes(batch), sizeof(struct record_loss));
	batch_free(batch);
}

/* The guardian lets go of its copies whenever it gets to run: of a short recording the rings were empty then before they were read. */
TEST(a_fork_that_lets_go_leaves_the_rings_as_they_are)
{
	struct agents *agents = calloc(1, sizeof(*agents));
	struct agent *agent = calloc(1, sizeof(*agent));
	struct target target = {0};
	struct agent_control *control;
	size_t bytes;
	pid_t child;
	int fd = memfd_create("ring", MFD_CLOEXEC), status = 0;

	CHECK(!target_open(getpid(), false, &target, NULL));
	*agents = (struct agents){.agents = agent, .count = 1, .chunk_count = 1, .pid = getpid()};
	*agent = (struct agent){.target = &target, .injection.ring_fd = fd};
	bytes = agents_ring_bytes(agents);
	CHECK(!ftruncate(fd, (off_t)bytes));
	CHECK(!agents_map_control(agents, agent, NULL));
	agent->control->fixed.state = AGENT_STATE_GONE;
	strcpy(agent->control->hint, "what it says at last");
	control = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	CHECK(control != MAP_FAILED);
	child = fork();
	if (!child) {
		agents_free(agents);
		_exit(0);
	}
	CHECK_U64(waitpid(child, &status, 0), child);
	CHECK_U64(status, 0);
	CHECK_STRING(control->hint, "what it says at last");
	agents_free(agents);
	CHECK_STRING(control->hint, "");
	munmap(control, bytes);
	target_close(&target);
}

/* It has the line of all that were there too briefly, not one of its own. */
TEST(a_child_without_a_thread_to_borrow_that_ended_before_the_next_try_was_there_too_briefly)
{
	struct target target = {0};
	struct agent_report report = {
		.target = &target, .outcome = AGENT_REFUSED, .late = true, .no_thread = true};
	pid_t child = fork();

	if (!child) {
		pause();
		_exit(0);
	}
	CHECK(!target_open((u32)child, false, &target, NULL));
	CHECK(!agent_report_ended_first(&report));
	kill(child, SIGKILL);
	CHECK_U64(waitpid(child, NULL, 0), child);
	CHECK(agent_report_ended_first(&report));
	report.tries = 1;
	CHECK(!agent_report_ended_first(&report));
	report = (struct agent_report){.target = &target, .outcome = AGENT_REFUSED, .late = true};
	CHECK(!agent_report_ended_first(&report));
	target_close(&target);
}

UNIT_MAIN()
