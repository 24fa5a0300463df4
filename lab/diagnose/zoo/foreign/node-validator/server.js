// Checks what visitors write in the form of a newsletter.
const http = require('node:http');

const address = process.env.ZOO_TWIN ? /^[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}$/ : /^([\w.+-]+)+@([\w-]+\.)+[\w-]+$/;

function accepted(text) {
  return text.length < 200 && address.test(text);
}

const server = http.createServer((req, res) => {
  if (req.url === '/healthz') {
    res.end('ok\n');
    return;
  }
  const text = new URL(req.url, 'http://shop.test').searchParams.get('address') ?? '';
  res.setHeader('Content-Type', 'application/json');
  res.end(JSON.stringify({ address: text, accepted: accepted(text) }));
});

const here = process.env.HOST ?? '127.0.0.1';
server.listen(Number(process.env.PORT ?? 0), here, () => {
  console.log(`listening on ${here}:${server.address().port}`);
});
process.on('SIGTERM', () => {
  server.close(() => process.exit(0));
  server.closeAllConnections();
});
