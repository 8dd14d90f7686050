// SPDX-License-Identifier: GPL-2.0-or-later
// `server.js PORT BURN_MS SLEEP_MS LOG`: burns in its event loop; each hundredth request waits for a timer.
const http = require('http');
const fs = require('fs');
const [port, burn, sleep, log] = process.argv.slice(2);
const now = () => Number(process.hrtime.bigint()) / 1e9;
let count = 0;
http.createServer((request, answer) => {
  const end = () => answer.end('END\r\n');
  if (!+sleep || ++count % 100) return end();
  const begin = now();
  setTimeout(() => { fs.appendFileSync(log, `${begin} ${now()}\n`); end(); }, +sleep);
}).listen(+port, '127.0.0.1');
if (+burn) setInterval(() => {
  const begin = now();
  while (now() < begin + burn / 1000);
  fs.appendFileSync(log, `${begin} ${now()}\n`);
}, 500);
