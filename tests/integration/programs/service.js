// SPDX-License-Identifier: GPL-2.0-or-later
// A server and its client in one: HTTP, JSON, compression in the pool of threads, compiled code.
const http = require('http');
const zlib = require('zlib');

function answer(number) {
	const rows = [];
	for (let i = 0; i < 500; i++)
		rows.push({number: i, text: `row ${i} of ${number}`.replace(/o/g, '0'), hash: (i * 7919) ^ number});
	return JSON.stringify(rows.sort((a, b) => a.hash - b.hash));
}

const server = http.createServer((request, response) => {
	zlib.gzip(answer(Number(request.url.slice(1))), (error, packed) => response.end(packed));
});

server.listen(0, '127.0.0.1', () => {
	const agent = new http.Agent({keepAlive: true, maxSockets: 4});
	let number = 0;
	const ask = () => http.get({host: '127.0.0.1', port: server.address().port, agent, path: '/' + number++}, response => {
		response.resume();
		response.on('end', () => setTimeout(ask, 1));
	});
	for (let i = 0; i < 4; i++)
		ask();
	console.log('ready');
});
