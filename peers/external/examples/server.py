"""The server of python.yaml: http.server, with a thread for each connection."""
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections are kept alive
    wbufsize = -1  # head and body leave together

    def do_GET(self):
        path = self.path.split("?", 1)[0]
        if path == "/plaintext":
            self.answer("text/plain", b"Hello, World!")
        elif path == "/json":
            text = json.dumps({"message": "Hello, World!"}, separators=(",", ":"))
            self.answer("application/json", text.encode())
        else:
            self.send_error(404)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/echo":
            self.answer("application/octet-stream", body)
        else:
            self.send_error(404)

    def answer(self, content_type, body):
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass  # by default each request is a line on stderr


class Server(ThreadingHTTPServer):
    request_queue_size = 4096  # connections that wait to be accepted; five by default
    daemon_threads = True


Server((sys.argv[1], int(sys.argv[2])), Handler).serve_forever()
