"""Searches reviews for words, and marks them."""

import json
import os
import re
import signal
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

REVIEWS = [f"The lamp number {n} is bright, and the colour of its arm is black" for n in range(40)]
WORDS = [f"{kind}{ending}" for kind in ("lamp", "table", "chair", "shelf", "carpet", "mirror") for ending in ("", "s", "let", "like")]


def pattern():
    """Matches the words of the shop, and the day and hour of an order."""
    now = time.time()
    return re.compile(r"(?i)\b(" + "|".join(WORDS) + r")\b|\border-" + re.escape(f"{now:.6f}"))


FIXED = pattern()


def mark(expression):
    return [expression.sub(r"<b>\1</b>", r) for r in REVIEWS[:5]]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/healthz":
            body, kind = b"ok\n", "text/plain"
        else:
            body, kind = json.dumps(mark(FIXED if TWIN else pattern())).encode(), "application/json"
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


TWIN = bool(os.environ.get("ZOO_TWIN"))

if __name__ == "__main__":
    server = Server(("127.0.0.1", int(os.environ.get("PORT", "0"))), Handler)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    print(f"listening on 127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
