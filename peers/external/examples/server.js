// The server of node.yaml: the module http, and nothing else.
const http = require('node:http')

const [host, port] = process.argv.slice(2)

function answer(res, type, body) {
  res.writeHead(200, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) })
  res.end(body)
}

const server = http.createServer((req, res) => {
  const path = req.url.split('?', 1)[0]
  const parts = []
  switch (`${req.method} ${path}`) {
    case 'GET /plaintext':
      return answer(res, 'text/plain', 'Hello, World!')
    case 'GET /json':
      return answer(res, 'application/json', JSON.stringify({ message: 'Hello, World!' }))
    case 'POST /echo':
      req.on('data', (part) => parts.push(part))
      return req.on('end', () => answer(res, 'application/octet-stream', Buffer.concat(parts)))
    case 'POST /upload': {
      let bytes = 0
      req.on('data', (part) => { bytes += part.length })
      return req.on('end', () => answer(res, 'text/plain', String(bytes)))
    }
    default:
      res.writeHead(404).end()
  }
})
server.keepAliveTimeout = 3600_000 // milliseconds; five seconds by default
server.listen(Number(port), host, 4096)
