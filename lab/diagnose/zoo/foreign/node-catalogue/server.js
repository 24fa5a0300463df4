// Lists the articles of a category. Callers may change what they get: it is a copy.
const http = require('node:http');

const kinds = ['lamp', 'table', 'chair', 'shelf', 'carpet', 'mirror', 'desk', 'sofa'];
const catalogue = Array.from({ length: 4000 }, (_, i) => ({
  sku: `${kinds[i % kinds.length]}-${i}`,
  kind: kinds[i % kinds.length],
  title: `Article ${i} in several colours`,
  cents: 990 + ((i * 7919) % 90000),
  tags: ['new', 'sale', 'outlet'].slice(i % 3),
}));
const byKind = Map.groupBy ? Map.groupBy(catalogue, (a) => a.kind) : group(catalogue);

function group(all) {
  const groups = new Map();
  for (const a of all) {
    if (!groups.has(a.kind)) groups.set(a.kind, []);
    groups.get(a.kind).push(a);
  }
  return groups;
}

function copyAll(kind) {
  return JSON.parse(JSON.stringify(catalogue)).filter((a) => a.kind === kind);
}

function copySome(kind) {
  return (byKind.get(kind) ?? []).slice(0, 20).map((a) => ({ ...a }));
}

const list = process.env.ZOO_TWIN ? copySome : copyAll;

const server = http.createServer((req, res) => {
  if (req.url === '/healthz') {
    res.end('ok\n');
    return;
  }
  const articles = list(req.url.split('/').pop());
  articles.sort((a, b) => a.cents - b.cents);
  res.setHeader('Content-Type', 'application/json');
  res.end(JSON.stringify(articles.slice(0, 20)));
});

const here = process.env.HOST ?? '127.0.0.1';
server.listen(Number(process.env.PORT ?? 0), here, () => {
  console.log(`listening on ${here}:${server.address().port}`);
});
process.on('SIGTERM', () => {
  server.close(() => process.exit(0));
  server.closeAllConnections();
});
