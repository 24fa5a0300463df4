"""Answers how many pieces of an article are in stock, which the inventory knows."""

import http.client
import json
import os
import signal
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer

INVENTORY = os.environ["BACKEND"]
HOLD = 5  # seconds for which the twin remembers an answer


class Stock:
    """Asks the inventory for articles, over a connection for each thread."""

    def __init__(self, remember):
        self.remember = remember
        self.lock = threading.Lock()
        self.known = {}
        self.local = threading.local()

    def ask(self, sku):
        if not hasattr(self.local, "inventory"):
            self.local.inventory = http.client.HTTPConnection(INVENTORY, timeout=5)
        self.local.inventory.request("GET", "/stock/" + sku)
        return json.load(self.local.inventory.getresponse())

    def find(self, sku):
        if not self.remember:
            return self.ask(sku)
        with self.lock:
            found, until = self.known.get(sku, (None, 0.0))
            if time.monotonic() > until:
                found = self.ask(sku)
                self.known[sku] = (found, time.monotonic() + HOLD)
            return found


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # the head and the body of an answer in one write
    disable_nagle_algorithm = True

    def do_GET(self):
        if self.path == "/healthz":
            body, kind = b"ok\n", "text/plain"
        else:
            found = STOCK.find(self.path.rsplit("/", 1)[-1])
            body, kind = json.dumps({"sku": found["sku"], "pieces": found["stock"]}).encode(), "application/json"
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def server_bind(self):
        TCPServer.server_bind(self)  # that of HTTPServer asks the DNS for a name


STOCK = Stock(remember=bool(os.environ.get("ZOO_TWIN")))

if __name__ == "__main__":
    host = os.environ.get("HOST", "127.0.0.1")
    server = Server((host, int(os.environ.get("PORT", "0"))), Handler)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    print(f"listening on {host}:{server.server_address[1]}", flush=True)
    server.serve_forever()
