// SPDX-License-Identifier: GPL-2.0-or-later
// A browser without a window that is told what to do: open() a page, go to an address, run expressions in it, take pictures.
import {spawn} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

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

export const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

// A page: send(METHOD, PARAMETERS) of the DevTools protocol, run(EXPRESSION), until(EXPRESSION, SECONDS), picture(FILE), close().
export async function open() {
	const profile = mkdtempSync(join(tmpdir(), 'gpuprobe-screenshot-'));
	const browser = new Browser(profile);
	const {targetId} = await browser.send('Target.createTarget', {url: 'about:blank'});
	const {sessionId} = await browser.send('Target.attachToTarget', {targetId, flatten: true});
	const send = (method, params) => browser.send(method, params, sessionId);
	const run = (expression) => send('Runtime.evaluate', {expression, awaitPromise: true, returnByValue: true});

	return {
		send, run,
		async until(expression, seconds) {
			for (let tries = Number(seconds) * 2; tries > 0; tries--) {
				if ((await run(expression)).result?.value === true)
					return true;
				await sleep(500);
			}
			return false;
		},
		async picture(file) {
			const {data} = await send('Page.captureScreenshot', {format: 'png'});

			writeFileSync(file, Buffer.from(data, 'base64'));
		},
		async close() {
			browser.process.kill();
			await sleep(500);
			rmSync(profile, {recursive: true, force: true, maxRetries: 5});
		},
	};
}
