// SPDX-License-Identifier: GPL-2.0-or-later
// A picture of a flame graph in speedscope: node screenshot_speedscope.mjs RELEASE FILE.folded PICTURE.png; RELEASE: the folder dist/release of speedscope's npm package.
import {createServer} from 'node:http';
import {readFileSync} from 'node:fs';
import {basename, extname, join} from 'node:path';
import {open, sleep} from './browser.mjs';

const [release, profile, picture] = process.argv.slice(2);
const types = {'.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css'};
const server = createServer((request, response) => {
	const name = basename(new URL(request.url, 'http://localhost').pathname);

	try {
		const data = readFileSync(name === 'profile' ? profile : join(release, name));

		response.writeHead(200, {'Content-Type': types[extname(name)] ?? 'application/octet-stream'}).end(data);
	} catch {
		response.writeHead(404).end();
	}
}).listen(0, '127.0.0.1');

await new Promise((done) => server.once('listening', done));
const address = `http://127.0.0.1:${server.address().port}`;
const page = await open();

await page.send('Emulation.setDeviceMetricsOverride', {width: 1300, height: 860, deviceScaleFactor: 1, mobile: false});
await page.send('Page.navigate', {url: `${address}/index.html#profileURL=${encodeURIComponent(`${address}/profile`)}&title=${basename(profile)}`});
const drawn = await page.until(`document.body.innerText.includes('${basename(profile)}')`, 20);
// "Left Heavy": the same stacks side by side, the largest first.
await page.send('Input.dispatchKeyEvent', {type: 'keyDown', key: '2', code: 'Digit2', text: '2', windowsVirtualKeyCode: 50});
await page.send('Input.dispatchKeyEvent', {type: 'keyUp', key: '2', code: 'Digit2', windowsVirtualKeyCode: 50});
await sleep(2000);
await page.picture(picture);
await page.close();
server.close();
if (!drawn)
	throw new Error(`speedscope did not show ${profile}`);
