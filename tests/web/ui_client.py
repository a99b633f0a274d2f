"""A running `tfport ui` for tests, and a client that speaks HTTP to it."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from tfport.web.options import UiOptions
from tfport.web.run import UiServer

TOKEN = "token-of-the-tests-0123456789"


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str:
        return self.json["error"]


class UiClient:
    def __init__(self, port: int, address: str = "") -> None:
        self.port = port
        self.address = address

    def request(
        self, method: str, path: str, body: Any = None, *, token: str | None = TOKEN, host=None, headers=()
    ) -> Answer:
        """A request; a body that is not bytes is sent as JSON."""
        sent = {"Host": host or f"127.0.0.1:{self.port}", **dict(headers)}
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, data, sent)
            response = connection.getresponse()
            return Answer(response.status, dict(response.getheaders()), response.read())
        finally:
            connection.close()

    def get(self, path: str, **options: Any) -> Answer:
        return self.request("GET", f"/api/v1{path}", **options)

    def post(self, path: str, body: Any, **options: Any) -> Answer:
        return self.request("POST", f"/api/v1{path}", body, **options)

    def put(self, path: str, body: bytes, **options: Any) -> Answer:
        return self.request("PUT", f"/api/v1{path}", body, **options)

    def delete(self, path: str, **options: Any) -> Answer:
        return self.request("DELETE", f"/api/v1{path}", **options)

    def open(self, path: object) -> str:
        """Open a model and return its id."""
        answer = self.post("/models", {"path": str(path)})
        assert answer.status == 200, answer.body
        return answer.json["id"]

    def graph(self, model: str, graph: str = "main") -> dict[str, Any]:
        return self.get(f"/models/{model}/graphs/{graph}").json

    def node(self, model: str, graph: str, name: str) -> dict[str, Any]:
        return self.get(f"/models/{model}/graphs/{graph}/node?name={quote(name, safe='')}").json


@contextmanager
def running(**options: Any):
    """A server in a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = UiServer(UiOptions(**{"remember": False, "token": TOKEN} | options))
    try:
        address = asyncio.run_coroutine_threadsafe(server.start(), loop).result(30)
        yield UiClient(urlsplit(address).port, address)
    finally:
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()
