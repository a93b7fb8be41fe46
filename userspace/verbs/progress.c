/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verbs/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "probe/uprobe.h"
#include "base/log.h"
#include "base/price.h"
#include "base/text.h"

#define BAR_COLUMNS 12

void progress_init(struct progress *progress, const char *what, bool single_probes)
{
	*progress = (struct progress){.what = what,
				      .single_probes = single_probes,
				      .on_terminal =
					      isatty(STDERR_FILENO) && log_level() >= LOG_NORMAL};
}

static void clear_line(struct progress *progress)
{
	if (progress->line_shown)
		fputs("\r\033[K", stderr);
	progress->line_shown = false;
}

void progress_window_open(void *data, const struct session_status *status)
{
	struct progress *progress = data;

	if (status->duration_ns)
		log_info("recording %s for %.1f s (Ctrl-C ends early and keeps everything)",
			 progress->what, status->duration_ns / 1e9);
	else
		log_info("recording %s until it ends (Ctrl-C ends early and keeps everything)",
			 progress->what);
}

/* 573 k/s, 1.2 M/s */
static void format_rate(char *buffer, size_t size, double per_second)
{
	if (per_second >= 1e6)
		snprintf(buffer, size, "%.1f M/s", per_second / 1e6);
	else if (per_second >= 1e3)
		snprintf(buffer, size, "%.0f k/s", per_second / 1e3);
	else
		snprintf(buffer, size, "%.0f /s", per_second);
}

/* 1204332 -> 1,204,332 */
static void format_count(char *buffer, size_t size, u64 count)
{
	char digits[32];
	int length = snprintf(digits, sizeof(digits), "%" PRIu64, count);
	size_t used = 0;

	for (int i = 0; i < length && used + 2 < size; i++) {
		if (i && (length - i) % 3 == 0)
			buffer[used++] = ',';
		buffer[used++] = digits[i];
	}
	buffer[used] = 0;
}

static void format_bar(char *bar, const struct session_status *status)
{
	unsigned filled =
		status->duration_ns ? status->elapsed_ns * BAR_COLUMNS / status->duration_ns : 0;

	if (filled > BAR_COLUMNS)
		filled = BAR_COLUMNS;
	for (unsigned i = 0; i < BAR_COLUMNS; i++)
		bar[i] = i < filled ? '=' : i == filled ? '>' : ' ';
	bar[BAR_COLUMNS] = 0;
}

static void format_overhead(char *overhead, size_t size, const struct session_status *status)
{
	double of_one_cpu =
		price_of_one_cpu_percent((double)status->overhead_ns, (double)status->elapsed_ns);
	bool of_little = price_is_of_little(status->overhead_percent, of_one_cpu);

	if (status->overhead_percent >= 0)
		snprintf(overhead, size, "  overhead about %.1f %%%s%s",
			 of_little ? of_one_cpu : status->overhead_percent,
			 of_little ? " of one CPU" : "",
			 status->switched_off_count ? ", some switched off" : "");
}

void progress_tick(void *data, const struct session_status *status)
{
	struct progress *progress = data;
	char bar[BAR_COLUMNS + 1], events[40], lost[40], rate[32], time_left[64],
		overhead[128] = "", line[320];
	u64 elapsed = status->elapsed_ns - progress->last_elapsed_ns;

	if (!progress->on_terminal || !elapsed)
		return;
	format_rate(rate, sizeof(rate),
		    (status->event_count - progress->last_events) * 1e9 / elapsed);
	format_count(events, sizeof(events), status->event_count);
	format_count(lost, sizeof(lost), status->lost_count);
	format_bar(bar, status);
	if (status->duration_ns > status->elapsed_ns)
		snprintf(time_left, sizeof(time_left), "[%s] %.1f s left", bar,
			 (status->duration_ns - status->elapsed_ns) / 1e9);
	else
		snprintf(time_left, sizeof(time_left), "%.1f s", status->elapsed_ns / 1e9);
	format_overhead(overhead, sizeof(overhead), status);
	snprintf(line, sizeof(line), "%s  %s events  %s  %s lost%s", time_left, events, rate, lost,
		 overhead);
	/* A longer one could not be written over. */
	fprintf(stderr, "\r\033[K%.*s", (int)text_skip_columns(line, log_columns() - 1), line);
	fflush(stderr);
	progress->line_shown = true;
	progress->last_events = status->event_count;
	progress->last_elapsed_ns = status->elapsed_ns;
}

/* Only single probes take long enough to be worth a line. */
void progress_detach(void *data, size_t links_left)
{
	struct progress *progress = data;

	if (!progress->on_terminal || !progress->single_probes)
		return;
	fprintf(stderr, "\r\033[Ktaking probes out: %zu left, about %.1f s", links_left,
		links_left * UPROBE_SINGLE_DETACH_SECONDS);
	fflush(stderr);
	progress->line_shown = true;
}

void progress_end(struct progress *progress)
{
	clear_line(progress);
	fflush(stderr);
}
