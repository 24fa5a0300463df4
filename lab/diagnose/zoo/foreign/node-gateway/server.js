// Shows an article with the number of pieces in stock, which the inventory knows.
const http = require('node:http');

const [host, port] = process.env.BACKEND.split(':');
const agent = new http.Agent(process.env.ZOO_TWIN ? { keepAlive: true, maxSockets: 64 } : { maxSockets: 64 });

function stock(sku) {
  return new Promise((resolve, reject) => {
    const req = http.get({ host, port, agent, path: `/stock/${sku}` }, (res) => {
      const chunks = [];
      res.on('data', (c) => chunks.push(c));
      res.on('end', () => {
        try {
          resolve(JSON.parse(Buffer.concat(chunks)));
        } catch (err) {
          reject(err);
        }
      });
      res.on('error', reject);
    });
    req.on('error', reject);
  });
}

const server = http.createServer(async (req, res) => {
  if (req.url === '/healthz') {
    res.end('ok\n');
    return;
  }
  const sku = req.url.split('/').pop();
  try {
    const found = await stock(sku);
    res.setHeader('Content-Type', 'application/json');
    res.end(JSON.stringify({ sku, title: 'Desk lamp', cents: found.cents, available: found.stock > 0 }));
  } catch (err) {
    res.statusCode = 502;
    res.end(`stock is not known: ${err.message}\n`);
  }
});

const here = process.env.HOST ?? '127.0.0.1';
server.listen(Number(process.env.PORT ?? 0), here, () => {
  console.log(`listening on ${here}:${server.address().port}`);
});
process.on('SIGTERM', () => {
  server.close(() => process.exit(0));
  server.closeAllConnections();
});
