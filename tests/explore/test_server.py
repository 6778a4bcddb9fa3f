import gzip
import json
import re
import socket
import sys
import threading
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pytest

from bes.errors import InputError
from bes.explore import server as server_module
from bes.explore.payload import Nodes
from bes.explore.server import STATIC, Server, make_server, serve
from bes.stored import StoredRun


class Answer:
    """A response that has been read."""

    def __init__(self, response: HTTPResponse) -> None:
        self.status, self.headers, self.body = response.status, response.headers, response.read()


def ask(server: Server, path: str, method: str = "GET", host: str | None = None, **headers: str) -> Answer:
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        connection.putheader("Host", f"127.0.0.1:{server.server_port}" if host is None else host)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders()
        return Answer(connection.getresponse())
    finally:
        connection.close()


def test_the_page_and_all_it_names_come_with_the_token(server: Server) -> None:
    page = ask(server, f"/?token={server.token}")
    assert page.status == 200
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    named = re.findall(r'(?:href|src)="(/[^"]+)"', page.body.decode())
    assert f"/{server.token}/app.js" in named
    for path in named:
        assert ask(server, path).status == 200, path
    imports = {name for file in STATIC.glob("*.js") for name in re.findall(r'from "\./([^"]+)"', file.read_text())}
    for name in imports:
        answer = ask(server, f"/{server.token}/{name}")
        assert (answer.status, answer.headers["Content-Type"]) == (200, "text/javascript; charset=utf-8"), name


@pytest.mark.parametrize("name", ["", "app.js", "run.json", "ids.json", "nodes/0.json", "arrays/stage0.bin"])
@pytest.mark.parametrize("token", [None, "", "wrong", "TOKEN", "%C3%A9"])
def test_nothing_without_the_token(server: Server, name: str, token: str | None) -> None:
    given = token or ""
    for path in (f"/{name}" + ("" if token is None else f"?token={given}"), f"/{given}/{name}"):
        answer = ask(server, path)
        assert answer.status == 403
        assert answer.body.count(b"\n") == 1
        assert answer.headers["Content-Type"].startswith("text/plain")
        assert server.token.encode() not in answer.body


def test_tokens_are_long_and_never_the_same(made: StoredRun) -> None:
    tokens = set()
    for _ in range(3):
        server, url = make_server(made)
        server.server_close()
        assert url == f"http://127.0.0.1:{server.server_port}/?token={server.token}"
        tokens.add(server.token)
    assert len(tokens) == 3
    assert all(len(token) >= 32 for token in tokens)


@pytest.mark.parametrize("host", ["evil.example", "", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example"])
def test_another_host_is_refused_even_with_the_token(server: Server, host: str) -> None:
    assert ask(server, f"/?token={server.token}", host=host).status == 403
    assert ask(server, f"/?token={server.token}", host=f"localhost:{server.server_port}").status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "MADE-UP"])
def test_it_only_reads(server: Server, method: str) -> None:
    answer = ask(server, f"/?token={server.token}", method, Content_Length="0")
    assert answer.status == 405
    assert answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    "path",
    [
        "../server.py",
        "..%2fserver.py",
        "%2e%2e/%2e%2e/config.py",
        "/etc/passwd",
        "static/../../../errors.py",
        "arrays/../run.json",
        "arrays/none.bin",
        "nodes/90.json",
        "nodes/-1.json",
        "nodes/1e1.json",
        "nodes/" + 30 * "9" + ".json",
        "prob.bin",
        "prob.bin?nodes=1,90",
        "prob.bin?nodes=1,x",
        "favicon.ico",
    ],
)
def test_what_is_not_there_is_not_found(server: Server, path: str) -> None:
    for asked in (f"/{server.token}/{path}", f"/{path}{'&' if '?' in path else '?'}token={server.token}"):
        answer = ask(server, asked)
        assert answer.status == 404, asked
        assert b"import" not in answer.body


def test_every_answer_forbids_what_is_foreign(server: Server) -> None:
    for path in (f"/?token={server.token}", "/", f"/{server.token}/none", f"/{server.token}/run.json"):
        headers = ask(server, path).headers
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none';")
        assert not re.search(r"https?:|\*|unsafe", policy)
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"
        assert headers["Referrer-Policy"] == "no-referrer"


def test_head_is_get_without_its_body(server: Server) -> None:
    got, head = (ask(server, f"/{server.token}/run.json", method) for method in ("GET", "HEAD"))
    assert head.status == 200
    assert head.body == b""
    assert head.headers["Content-Length"] == str(len(got.body))


def test_a_request_that_is_none_does_no_harm(server: Server) -> None:
    for sent in (b"\x00\xff\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /" + 70_000 * b"a"):
        with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as raw:
            raw.sendall(sent)
            raw.shutdown(socket.SHUT_WR)
            assert b" 200 " not in raw.makefile("rb").readline()
    assert ask(server, f"/?token={server.token}").status == 200


def test_an_address_that_is_none_is_a_bad_request(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    answer = ask(server, "http://[")
    assert (answer.status, answer.body.count(b"\n")) == (400, 1)
    assert capsys.readouterr().err == ""


def test_only_this_machine_is_listened_to(server: Server) -> None:
    assert server.socket.getsockname()[0] == "127.0.0.1"
    with pytest.raises(OSError, match=r"refused|reach|assign|timed out"):
        socket.create_connection(("127.0.0.2", server.server_port), timeout=2)


def test_arrays_and_nodes_travel_unchanged(server: Server) -> None:
    nodes = server.nodes
    about = json.loads(ask(server, f"/{server.token}/run.json").body)
    assert about == nodes.about
    for name, kind in about["arrays"].items():
        body = ask(server, f"/{server.token}/arrays/{name}.bin").body
        assert np.array_equal(np.frombuffer(body, "<" + kind), nodes.arrays[name].ravel()), name
    assert json.loads(ask(server, f"/{server.token}/nodes/7.json").body) == nodes.node(7)
    assert json.loads(ask(server, f"/{server.token}/ids.json").body) == nodes.ids
    body = ask(server, f"/{server.token}/prob.bin?nodes=5,2,5").body
    assert np.array_equal(np.frombuffer(body, "<f4").reshape(3, -1), nodes.probabilities(np.array([5, 2, 5])))


def test_long_text_is_compressed_for_those_who_can_read_it(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "LARGE", 10)
    path = f"/{server.token}/ids.json"
    plain, packed = ask(server, path), ask(server, path, Accept_Encoding="gzip, br")
    assert plain.headers["Content-Encoding"] is None
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body


@pytest.mark.parametrize("port", [-1, 65536, "taken"])
def test_a_port_that_cannot_be_is_one_sentence(server: Server, made: StoredRun, port: int | str) -> None:
    asked = server.server_port if isinstance(port, str) else port
    with pytest.raises(InputError, match=f"The port {asked} .*: .*"):
        make_server(made, asked)


def test_it_serves_until_ctrl_c(made: StoredRun, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    opened: list[str] = []
    seen: list[bytes] = []
    serving = Server.serve_forever

    def interrupted(self: Server) -> None:
        def visit() -> None:
            with urlopen(self.url) as page:
                seen.append(page.read())
            self.shutdown()

        threading.Thread(target=visit).start()
        serving(self, 0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr(Server, "serve_forever", interrupted)
    monkeypatch.setattr(server_module.webbrowser, "open", opened.append)
    serve(made, seed=3, open_browser=True, say=said.append)
    assert b"<!doctype html>" in seen[0]
    assert len(said) == 1
    assert "seed 3" in said[0]
    assert said[0].endswith(opened[0])
    port = int(opened[0].split(":")[2].split("/")[0])
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=2)


def test_a_closed_page_is_no_error_and_others_are(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    for error, shown in ((BrokenPipeError(), False), (KeyError("x"), True)):
        try:
            raise error
        except (BrokenPipeError, KeyError):
            assert sys.exception() is error
            server.handle_error(None, ("127.0.0.1", 1))
        assert ("KeyError" in capsys.readouterr().err) is shown


def test_nothing_is_written_to_the_run(made: StoredRun) -> None:
    def state() -> dict[Path, tuple[int, int]]:
        return {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in made.path.rglob("*")}

    before = state()
    Nodes(made).node(0)
    assert state() == before
