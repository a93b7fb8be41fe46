// SPDX-License-Identifier: GPL-2.0-or-later
// Opens a page of a running xprof in a browser without a window, prints its text and takes a picture:
//	node screenshot_xprof.mjs ADDRESS TOOL HOST RUN OUT.png [WORDS]...
// What ends with WORDS is clicked at before, one after the other, and the pointer stays on the last (rows of the op profile).
// The charts of the overview come from a server of Google's: where there is no way to it their places stay empty.
import {open, sleep} from './browser.mjs';

const [address, tool, host, name, picture, ...clicks] = process.argv.slice(2);
const page = await open();
const isTrace = tool.startsWith('trace_viewer');

// The page, or in a trace the page in its frame.
const root = `(document.querySelector('iframe')?.contentDocument ?? document)`;
const text = async () => (await page.run(`document.body.innerText + '\\n' + ${root}.body.innerText`)).result?.value ?? '';
if (isTrace) {
	// Processes of more than 20 rows are closed at first, unless somebody opened them before.
	const opened = Object.fromEntries([0, 1, 2, 3].map((gpu) => [`processes.${host} /device:GPU:${gpu}`, {expanded: true}]));
	await page.send('Page.navigate', {url: `${address}/runs`});
	await page.until(`document.readyState === 'complete' && location.origin === '${address}'`, 20);
	await page.run(`localStorage.setItem('trace-viewertrace_model_settings', '${JSON.stringify({value: opened})}')`);
}
await page.send('Page.navigate', {url: `${address}/data/plugin/profile/${tool}?run=${name}&tag=${tool}&host=${host}`});
await page.until(isTrace ? `${root}.body.innerText.includes('/host:CPU')` : `['Device type', 'HLO OP NAME'].some((words) => document.body.innerText.includes(words))`, 40);
await sleep(2000);
if (isTrace) {
	// Arrows are hidden at first.
	await page.run(`[...${root}.querySelectorAll('*')].flatMap((one) => [...(one.shadowRoot?.querySelectorAll('*') ?? [])])
		.find((one) => one.textContent.trim() === 'Flow events')?.click()`);
	await sleep(1500);
}
for (const words of clicks) {
	const place = (await page.run(`(() => {
		const found = [...document.querySelectorAll('*')].find((one) => one.checkVisibility() && one.textContent.trim().endsWith(${JSON.stringify(words)}) && ![...one.children].some((part) => part.textContent.includes(${JSON.stringify(words)})));
		const box = found?.getBoundingClientRect();
		return box && {x: box.x + box.width / 2, y: box.y + box.height / 2};
	})()`)).result?.value;

	if (!place) {
		console.log(`nothing is called ${words}`);
		break;
	}
	for (const type of ['mouseMoved', 'mousePressed', 'mouseReleased'])
		await page.send('Input.dispatchMouseEvent', {type, ...place, button: type === 'mouseMoved' ? 'none' : 'left', clickCount: 1});
	await sleep(1500);
}
// Where an operation comes from stands at the end of what is said of it.
if (clicks.length)
	await page.run(`[...document.querySelectorAll('*')].findLast((one) => one.checkVisibility() && one.textContent.trim() === 'Source:')?.nextElementSibling?.scrollIntoView({block: 'end'})`);
await sleep(500);
console.log(await text());
await page.picture(picture);
await page.close();
