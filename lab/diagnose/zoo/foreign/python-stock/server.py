"""Answers how many pieces of an article are in stock, which the inventory knows."""

import json
import os
import signal
import socketserver
import sys
import threading
import time
import urllib.request
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

INVENTORY = "http://" + os.environ["BACKEND"] + "/stock/"


class Stock:
    """Asks the inventory for articles."""

    def __init__(self):
        self.lock = threading.Lock()
        self.known = {}

    def ask(self, sku):
        with urllib.request.urlopen(INVENTORY + sku, timeout=5) as answer:
            return json.load(answer)

    def remembered(self, sku):
        with self.lock:
            found, until = self.known.get(sku, (None, 0.0))
            if time.monotonic() > until:
                found = self.ask(sku)
                self.known[sku] = (found, time.monotonic() + 5)
            return found


class Plain(WSGIServer):
    request_queue_size = 128


class Threads(socketserver.ThreadingMixIn, Plain):
    daemon_threads = True


class Quiet(WSGIRequestHandler):
    timeout = 1  # seconds that a client may take

    def log_message(self, *_):
        pass


def main():
    stock = Stock()
    twin = bool(os.environ.get("ZOO_TWIN"))
    find = stock.remembered if twin else stock.ask

    def app(environ, start_response):
        path = environ["PATH_INFO"]
        if path == "/healthz":
            start_response("200 OK", [("Content-Type", "text/plain")])
            return [b"ok\n"]
        found = find(path.rsplit("/", 1)[-1])
        body = json.dumps({"sku": found["sku"], "pieces": found["stock"]}).encode()
        start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
        return [body]

    server = make_server(
        "127.0.0.1", int(os.environ.get("PORT", "0")), app,
        server_class=Threads if twin else Plain, handler_class=Quiet,
    )
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    print(f"listening on 127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    sys.exit(main())
