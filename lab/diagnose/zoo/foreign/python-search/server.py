"""Searches reviews for words, marks them, and keeps a journal of the searches."""

import json
import os
import re
import signal
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer

REVIEWS = [f"The lamp number {n} is bright, and the colour of its arm is black" for n in range(40)]
WORDS = re.compile(r"(?i)\b(lamps?|tables?|chairs?|mirrors?)\b")


class Journal:
    """A file with a line for each search."""

    def __init__(self, name, safe):
        self.file = open(name, "ab", buffering=0 if safe else 64 << 10)
        self.safe = safe
        self.lock = threading.Lock()
        if not safe:
            threading.Thread(target=self.flush, daemon=True).start()

    def add(self, line):
        with self.lock:
            self.file.write(line.encode() + b"\n")
            if self.safe:
                os.fsync(self.file.fileno())

    def flush(self):
        while True:
            time.sleep(1)
            with self.lock:
                self.file.flush()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # the head and the body of an answer in one write
    disable_nagle_algorithm = True

    def do_GET(self):
        if self.path == "/healthz":
            body, kind = b"ok\n", "text/plain"
        else:
            JOURNAL.add(f"{time.time():.3f} {self.client_address[0]} {self.path}")
            body, kind = json.dumps([WORDS.sub(r"<b>\1</b>", r) for r in REVIEWS[:5]]).encode(), "application/json"
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


JOURNAL = Journal(os.path.join(os.path.dirname(os.path.abspath(__file__)), "searches.log"), safe=not os.environ.get("ZOO_TWIN"))

if __name__ == "__main__":
    host = os.environ.get("HOST", "127.0.0.1")
    server = Server((host, int(os.environ.get("PORT", "0"))), Handler)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    print(f"listening on {host}:{server.server_address[1]}", flush=True)
    server.serve_forever()
