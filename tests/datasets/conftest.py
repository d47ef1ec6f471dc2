"""A public server, as far as the tests are concerned: loopback answers for every https address."""

import http.server
import threading
import urllib.request

import pytest

from fewknots.datasets import cache


class Net:
    """What every https address answers: bytes, or a number to fail with; 404 if not listed.

    `cut_short` lists addresses whose next answer breaks off half-way. `asked` is all requests.
    """

    def __init__(self):
        self.answers = {}
        self.cut_short = []
        self.asked = []


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        net, address = self.server.net, "https:/" + self.path
        net.asked.append(address)
        answer = net.answers.get(address, 404)
        if isinstance(answer, int):
            self.send_error(answer)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        if address in net.cut_short:
            net.cut_short.remove(address)
            answer = answer[: len(answer) // 2]
        self.wfile.write(answer)

    def log_message(self, *arguments):
        pass


class _Detour(urllib.request.BaseHandler):
    """https://host/path is asked of http://127.0.0.1/host/path instead."""

    handler_order = 100  # before the real handler of https

    def __init__(self, port):
        self.base = f"http://127.0.0.1:{port}/"
        self.direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def https_open(self, request):
        address = request.full_url.replace("https://", self.base, 1)
        headers = dict(request.header_items())
        return self.direct.open(
            urllib.request.Request(address, headers=headers), timeout=request.timeout
        )


@pytest.fixture
def net(monkeypatch, tmp_path):
    """All https addresses answered here, an empty cache, and no local folder."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.net = Net()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), _Detour(server.server_port)
    )
    urllib.request.install_opener(opener)
    monkeypatch.setenv("FEWKNOTS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("FEWKNOTS_DATA", raising=False)
    monkeypatch.setattr("fewknots.datasets.cache._PAUSE", 0.0)
    monkeypatch.setitem(cache.RETRIES, "delay", 0.001)
    yield server.net
    urllib.request.install_opener(None)
    server.shutdown()
    server.server_close()
    thread.join()
