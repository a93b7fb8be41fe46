// SPDX-License-Identifier: GPL-2.0-or-later
// What speedscope makes of profiles: node speedscope.mjs SPEEDSCOPE.js PROFILE... prints one JSON object a profile: the unit of its weights,
// their sum, and (self, total) by function and file. npm has the page's script only: it runs without a browser up to where it draws, and its
// importer is handed out on the way.
import {readFileSync} from 'node:fs';
import vm from 'node:vm';

const [page, ...profiles] = process.argv.slice(2);
const IMPORT = /async function (\w+)\((\w+,\w+)\)\{return\(await \w+\)\.importProfilesFromArrayBuffer\(\2\)\}/;
const script = readFileSync(page, 'utf8');

if (!IMPORT.test(script))
	throw new Error(`${page}: no importer is found in it`);

// Whatever of a page is asked for, it is there, and nothing happens.
const page_part = () => new Proxy(function () {}, {
	get: (target, key) => key === Symbol.toPrimitive ? () => '' : key === 'then' || key === Symbol.iterator ? undefined : page_part(),
	set: () => true,
	apply: () => page_part(),
	construct: () => page_part(),
});
const context = vm.createContext({
	console: {log() {}, warn() {}, error() {}},
	document: page_part(), localStorage: page_part(), location: {hash: '', protocol: 'file:', href: ''}, navigator: {userAgent: '', platform: ''},
	HTMLElement: class {}, HTMLCanvasElement: class {}, FileReader: class {}, setTimeout, clearTimeout, requestAnimationFrame() {},
	performance, TextDecoder, TextEncoder, URL, WebAssembly, ArrayBuffer, Uint8Array, matchMedia: () => page_part(),
	addEventListener() {}, removeEventListener() {},
});

context.window = context.self = context.global = context;
try {
	vm.runInContext(script.replace(IMPORT, (all, name) => `${all};globalThis.importProfiles=${name};`), context);
} catch {
	// It draws.
}

for (const path of profiles) {
	const bytes = readFileSync(path);
	const group = await context.importProfiles(path, bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));

	if (!group)
		throw new Error(`${path}: it is no profile to speedscope`);
	for (const profile of group.profiles) {
		const functions = {};

		profile.forEachFrame((frame) => {
			const key = `${frame.name} ${frame.file ?? ''}`;
			const [self, total] = functions[key] ?? [0, 0];

			functions[key] = [self + frame.getSelfWeight(), total + frame.getTotalWeight()];
		});
		console.log(JSON.stringify({name: profile.getName(), unit: profile.getWeightUnit(), total: profile.getTotalNonIdleWeight(), functions}));
	}
}
