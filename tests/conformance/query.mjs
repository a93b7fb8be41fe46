// SPDX-License-Identifier: GPL-2.0-or-later
// Loads a trace into the real Perfetto trace processor (the engine inside ui.perfetto.dev, built for
// WebAssembly) and runs SQL on it: node query.mjs ENGINE_FOLDER NAME=SQL... -- TRACE... prints one JSON object
// a trace, {NAME: [row, ...]} with 64-bit integers as plain numbers, or {"error": "..."}. The engine comes
// from an npm package, see fetch.
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {MessageChannel} from 'node:worker_threads';
import {pathToFileURL} from 'node:url';

const CHUNK_BYTES = 32 * 1024 * 1024;
console.warn = () => {}; // of result fields newer than the reader
const [folder, ...words] = process.argv.slice(2);
const queries = words.slice(0, words.indexOf('--'));
const traces = words.slice(words.indexOf('--') + 1);
const {EngineBase} = await import(pathToFileURL(join(folder, 'engine.mjs')));

// The bundle is written for a web worker: it wants to be told where its memory and its port are.
function startEngine() {
	const worker = {location: {href: 'http://localhost/'}};
	const bundle = readFileSync(join(folder, 'engine_bundle.node.js'), 'utf8')
		.replace('this.useMemory64 = hasMemory64Support()', 'this.useMemory64 = false')
		.replace('locateFile: (s) => s,', 'locateFile: (s) => s, wasmBinary: self.wasmBinary,');

	worker.wasmBinary = readFileSync(join(folder, 'trace_processor.wasm'));
	new Function('self', 'WorkerGlobalScope', 'location', 'console', bundle)(
		worker, class {}, worker.location, {log() {}, warn() {}, error: console.error});
	const {port1, port2} = new MessageChannel();
	worker.onmessage({data: port1});
	return port2;
}

class Engine extends EngineBase {
	mode = 'WASM';
	id = 'conformance';

	constructor(port) {
		super();
		this.port = port;
		port.on('message', (bytes) => this.onRpcResponseBytes(bytes));
	}

	rpcSendRequestBytes(bytes) {
		this.port.postMessage(bytes);
	}

	fail(reason) {
		throw new Error(reason);
	}
}

async function load(engine, path) {
	const bytes = readFileSync(path);

	for (let offset = 0; offset < bytes.length; offset += CHUNK_BYTES)
		await engine.parse(new Uint8Array(bytes.subarray(offset, offset + CHUNK_BYTES)));
	await engine.notifyEof();
}

async function rowsOf(engine, sql) {
	const result = await engine.query(sql);
	const columns = result.columns();
	const spec = Object.fromEntries(columns.map((column) => [column, null]));
	const rows = [];

	for (const row = result.iter(spec); row.valid(); row.next())
		rows.push(Object.fromEntries(columns.map((column) => [column, row.get(column)])));
	return rows;
}

// JSON.stringify refuses bigints; as strings with a mark they survive it.
function toJson(value) {
	const mark = '\u0000bigint:';
	const text = JSON.stringify(
		value, (key, item) => (typeof item === 'bigint' ? mark + item : item));

	return text.replace(/"\\u0000bigint:(-?\d+)"/g, '$1');
}

async function judge(engine, trace) {
	const results = {};

	await engine.resetTraceProcessor({
		cropTrackEvents: false,
		ingestFtraceInRawTable: false,
		analyzeTraceProtoContent: false,
		ftraceDropUntilAllCpusValid: false,
	});
	await load(engine, trace);
	for (const query of queries) {
		const [, name, sql] = query.match(/^(\w+)=(.*)$/s);

		results[name] = await rowsOf(engine, sql);
	}
	return results;
}

const port = startEngine();
const engine = new Engine(port);

for (const trace of traces) {
	try {
		console.log(toJson(await judge(engine, trace)));
	} catch (error) {
		console.log(toJson({error: `${trace}: ${error.message ?? error}`}));
	}
}
port.close();
