"""The explorer's server: on this machine only, read-only, and only for whoever knows its token."""

from __future__ import annotations

import gzip
import hmac
import json
import secrets
import socketserver
import sys
import webbrowser
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import numpy as np

from bes.errors import InputError
from bes.explore.payload import Nodes
from bes.stored import StoredRun

HOST = "127.0.0.1"
STATIC = Path(__file__).parent / "static"
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
PLAIN, JSON, BINARY = "text/plain; charset=utf-8", "application/json", "application/octet-stream"

#: Sent with every answer: nothing from elsewhere is loaded, nothing is kept, no other page may look in.
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}

#: Text longer than this is compressed.
LARGE = 1_000_000

#: At once, also where the output is a pipe.
SAY = partial(print, flush=True)


class Server(ThreadingHTTPServer):
    """Holds what is shown; stopped by `shutdown` and `server_close`, as any of the standard library."""

    daemon_threads = True
    allow_reuse_port = False

    def __init__(self, nodes: Nodes, port: int) -> None:
        self.nodes = nodes
        self.token = secrets.token_urlsafe(24)
        super().__init__((HOST, port), Handler)
        self.files = {path.name: path.read_bytes() for path in STATIC.iterdir() if path.suffix in TYPES}
        self.files["index.html"] = self.files["index.html"].replace(b"TOKEN", self.token.encode())

    def server_bind(self) -> None:
        """Without the look-up of this machine's name that the standard one makes."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, self.server_address[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A page that is closed while it loads is no error."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.server_port}/?token={self.token}"


class Handler(BaseHTTPRequestHandler):
    """One request: host, token, then what was asked for."""

    server: Server
    protocol_version = "HTTP/1.1"
    timeout = 60  # a connection that says nothing is let go

    def do_GET(self) -> None:
        host = self.headers.get("Host", "")
        if host not in (f"{HOST}:{self.server.server_port}", f"localhost:{self.server.server_port}"):
            return self.send_error(HTTPStatus.FORBIDDEN, "This address does not belong to the explorer.")
        try:
            address = urlsplit(self.path)
        except ValueError:
            return self.send_error(HTTPStatus.BAD_REQUEST, "This is no address.")
        query = parse_qs(address.query)
        first, _, rest = address.path.removeprefix("/").partition("/")
        if self._knows(first):  # so that relative addresses within the page carry it along
            return self._answer(unquote(rest), query)
        if self._knows(query.get("token", [""])[0]):
            return self._answer(unquote(address.path.removeprefix("/")) or "index.html", query)
        return self.send_error(HTTPStatus.FORBIDDEN, "Wrong or missing token: open the address that bes explore shows.")

    def do_HEAD(self) -> None:
        self.do_GET()

    def _knows(self, token: str) -> bool:
        return hmac.compare_digest(token.encode("utf-8", "replace"), self.server.token.encode())

    def _answer(self, name: str, query: dict[str, list[str]]) -> None:
        nodes = self.server.nodes
        folder, _, leaf = name.partition("/")
        stem, _, kind = leaf.rpartition(".")
        if name in self.server.files:
            return self._send(self.server.files[name], f"{TYPES[Path(name).suffix]}; charset=utf-8")
        if name == "run.json":
            return self._send_json(nodes.about)
        if name == "ids.json":
            return self._send_json(nodes.ids)
        if folder == "arrays" and kind == "bin" and stem in nodes.arrays:
            return self._send(nodes.arrays[stem].tobytes(), BINARY)
        if folder == "nodes" and kind == "json" and (found := _numbers([stem], nodes.n_nodes)) is not None:
            return self._send_json(nodes.node(int(found[0])))
        if name == "prob.bin" and (found := _numbers(query.get("nodes", []), nodes.n_nodes)) is not None:
            return self._send(nodes.probabilities(found).astype("<f4").tobytes(), BINARY)
        return self.send_error(HTTPStatus.NOT_FOUND, "There is nothing under this address.")

    def _send_json(self, value: Any) -> None:
        self._send(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"), JSON)

    def _send(self, body: bytes, kind: str, status: HTTPStatus = HTTPStatus.OK) -> None:
        packed = kind == JSON and len(body) > LARGE and "gzip" in self.headers.get("Accept-Encoding", "")
        if packed:
            body = gzip.compress(body, 1)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if packed:
            self.send_header("Content-Encoding", "gzip")
        if status != HTTPStatus.OK:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """One line of text; a method that is not known is one that is not allowed."""
        if code == HTTPStatus.NOT_IMPLEMENTED:
            code, message = HTTPStatus.METHOD_NOT_ALLOWED, "The explorer only reads: use GET or HEAD."
        status = HTTPStatus(code)
        self._send(f"{message or status.phrase}\n".encode(), PLAIN, status)

    def end_headers(self) -> None:
        for name, value in HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def version_string(self) -> str:
        return "bes"

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the addresses hold the token."""


def _numbers(texts: list[str], limit: int) -> np.ndarray[Any, np.dtype[np.int64]] | None:
    """Node numbers from `["1,2,3"]`; None where they are no such thing."""
    words = ",".join(texts).split(",")
    if not all(word.isascii() and word.isdecimal() and len(word) < 19 for word in words):
        return None
    found = np.array(words, dtype=np.int64)
    return found if (found < limit).all() else None


def make_server(run: StoredRun, port: int = 0, seed: int | None = None) -> tuple[Server, str]:
    """A server that is bound but does not serve yet, and the address to open, with its token.

    Args:
        run: The run to explore.
        port: On which to listen; 0 lets the system choose.
        seed: Which seed; the run's first by default.
    """
    if not 0 <= port <= 65535:
        raise InputError(f"The port {port} is out of range: use 0 to 65535.")
    nodes = Nodes(run, seed)
    try:
        server = Server(nodes, port)
    except OSError as error:
        raise InputError(f"The port {port} cannot be used ({error.strerror}): choose another --port.") from error
    return server, server.url


def serve(
    run: StoredRun,
    *,
    port: int = 0,
    seed: int | None = None,
    open_browser: bool = False,
    say: Callable[[str], object] = SAY,
) -> None:
    """Serve until Ctrl-C; `say` is told the address first."""
    server, url = make_server(run, port, seed)
    with server:
        say(f"Exploring {run.name}, seed {server.nodes.seed}, until Ctrl-C: {url}")
        if open_browser:
            webbrowser.open(url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return
