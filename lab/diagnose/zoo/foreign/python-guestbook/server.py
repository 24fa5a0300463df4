"""Keeps a guest book in a file of SQLite."""

import json
import os
import queue
import signal
import sqlite3
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer


class Book:
    """Entries in a database. The twin commits many of them at once."""

    def __init__(self, name, batched):
        self.lock = threading.Lock()
        self.db = sqlite3.connect(name, check_same_thread=False, isolation_level=None)
        self.db.execute("CREATE TABLE entries (visitor TEXT, text TEXT)")
        self.waiting = queue.SimpleQueue() if batched else None
        if batched:
            threading.Thread(target=self.store, daemon=True).start()

    def add(self, visitor, text):
        if self.waiting is not None:
            self.waiting.put((visitor, text))
            return
        with self.lock:
            self.db.execute("INSERT INTO entries VALUES (?, ?)", (visitor, text))

    def store(self):
        while True:
            rows = [self.waiting.get()]
            time.sleep(0.2)
            while not self.waiting.empty():
                rows.append(self.waiting.get())
            with self.lock:
                self.db.execute("BEGIN")
                self.db.executemany("INSERT INTO entries VALUES (?, ?)", rows)
                self.db.execute("COMMIT")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # the head and the body of an answer in one write
    disable_nagle_algorithm = True

    def do_GET(self):
        self.answer(b"ok\n", "text/plain")

    def do_POST(self):
        text = self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode()
        BOOK.add(self.client_address[0], text)
        self.answer(json.dumps({"kept": len(text)}).encode(), "application/json")

    def answer(self, body, kind):
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


BOOK = Book(os.path.join(os.path.dirname(os.path.abspath(__file__)), "book.db"), batched=bool(os.environ.get("ZOO_TWIN")))

if __name__ == "__main__":
    host = os.environ.get("HOST", "127.0.0.1")
    server = Server((host, int(os.environ.get("PORT", "0"))), Handler)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    print(f"listening on {host}:{server.server_address[1]}", flush=True)
    server.serve_forever()
