// SPDX-License-Identifier: GPL-2.0-or-later
// What catapult (chrome://tracing) makes of traces: node catapult.mjs TRACE_VIEWER.html TRACE... prints one JSON object a trace: how many
// arrows it has, its warnings, and its counters with all values. The importer is in trace_viewer_full.html, as PyPI's
// torch-tb-profiler ships it; its scripts run without a browser, but for those that draw.
import {readFileSync} from 'node:fs';
import vm from 'node:vm';

const [page, ...traces] = process.argv.slice(2);
const html = readFileSync(page, 'utf8');
const begin = html.indexOf("'use strict';const global=this.window||this.global;this.tr=");
// One file of catapult's after the other, all in one script.
const files = html.slice(begin, html.lastIndexOf('</script>')).split(/(?<=[;})])'use strict';(?=tr\.|const |\()/);
const context = vm.createContext({
	console: {log() {}, warn() {}, error: console.error},
	performance, setTimeout, oboe: {}, process: {versions: {node: process.versions.node}},
});

context.global = context;
for (const file of files) {
	try {
		vm.runInContext(file, context);
	} catch {
		// It draws.
	}
}

const READ = `(text) => {
	const model = new tr.Model(), options = new tr.importer.ImportOptions();

	options.trackDetailedModelStats = false;
	options.showImportWarnings = false;
	options.shiftWorldToZero = false;
	new tr.importer.Import(model, options).importTraces([text]);
	return JSON.stringify({
		arrows: model.flowEvents.length,
		warnings: model.importWarnings.map((warning) => warning.type + ': ' + warning.message),
		counters: Object.values(model.processes).flatMap((process) => Object.values(process.counters).flatMap(
			(counter) => counter.series.map((series) => ({
				pid: process.pid, name: counter.name, series: series.name,
				values: series.samples.map((sample) => [sample.timestamp, sample.value]),
			})))),
	});
}`;
const read = vm.runInContext(READ, context);

for (const trace of traces)
	console.log(read(readFileSync(trace, 'utf8')));
