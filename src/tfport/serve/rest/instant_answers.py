"""Answer short predict requests in the moment they arrive, without aiohttp.

    answers = InstantAnswers(catalog, options, headers, has_room)
    answers.answer(head, body)          the bytes of the response, or None

aiohttp makes two tasks, a request, a response and a route for each request; a small model runs in a fraction
of that time. Only calls that the event loop would run itself are answered here (`light_calls`). For other
calls, for those that are traced or may be logged, for every error and for every limit that is reached the
result is None: aiohttp then handles the request as if nothing had happened.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from email.utils import formatdate
from functools import lru_cache
from time import perf_counter

from tfport.serve.model_catalog import ModelCatalog
from tfport.serve.request_metrics import REST
from tfport.serve.rest.decode import decode
from tfport.serve.rest.encode import encode
from tfport.serve.rest.options import RestOptions
from tfport.serve.rest.request_head import ParsedPath, RequestHead
from tfport.serve.servable import Servable
from tfport.serve.status import StatusCode, StatusError

MOST_BODY = 2**14
"""Bytes of a body; larger ones take so long to read that little is gained."""


class InstantAnswers:
    """Answers requests of one server."""

    def __init__(
        self,
        catalog: ModelCatalog,
        options: RestOptions,
        headers: Mapping[str, str],
        has_room: Callable[[], bool],
    ) -> None:
        """`headers` are those of all responses; `has_room` is whether one more request may be answered."""
        self._catalog, self._options, self._has_room = catalog, options, has_room
        lines = {"Content-Type": "application/json", **headers}
        self._head = "".join(
            ["HTTP/1.1 200 OK\r\n", *(f"{name}: {value}\r\n" for name, value in lines.items())]
        ).encode()
        self._with_long_answers: set[tuple[str, int]] = set()  # models and versions; aiohttp compresses them

    def may_answer(self, head: RequestHead) -> bool:
        """Whether a request is worth waiting for the rest of its body."""
        return head.path is not None and head.length <= MOST_BODY and self._servable(head) is not None

    def answer(self, head: RequestHead, body: bytes) -> bytes | None:
        """Return the response to a request; None if aiohttp must handle it."""
        if head.path is None or head.length > MOST_BODY:
            return None
        started = perf_counter()
        if (servable := self._servable(head)) is None:
            return None
        try:
            text = self._predict(servable, body)
        except Exception:  # the other way reports it
            return None
        if text is None:
            return None
        if self._options.metrics:
            took = perf_counter() - started
            self._options.metrics.request(head.path.model, head.path.verb, REST, StatusCode.OK, took)
        date = _date(int(time.time()))
        return b"%sContent-Length: %d\r\nDate: %s\r\n\r\n%s" % (self._head, len(text), date, text)

    def _servable(self, head: RequestHead) -> Servable | None:
        """Return the servable of a request, if it has calls that can be answered here."""
        tokens, budget = self._options.tokens, self._options.body_budget
        if tokens is not None and not tokens.allow(head.authorization):
            return None
        if self._options.tracer is not None:
            return None
        if not self._has_room() or head.length > self._options.most_bytes:
            return None
        if budget.in_use + head.length > budget.most:
            return None
        servable = self._found(head.path) if head.path else None
        if servable is None or not servable.has_light_calls:
            return None
        if (log := self._options.request_log) is not None and log.logs(servable.name):
            return None
        return None if (servable.name, servable.version) in self._with_long_answers else servable

    def _found(self, path: ParsedPath) -> Servable | None:
        try:
            return self._catalog.get(path.model, path.version, path.label)
        except StatusError:
            return None

    def _predict(self, servable: Servable, body: bytes) -> bytes | None:
        started = perf_counter()
        request = decode(body, servable.interface.signature)
        decoded = perf_counter()
        outputs = servable.predict_at_once(request.signature, request.inputs)
        if outputs is None:
            return None
        ran = perf_counter()
        text = encode(outputs, request.signature.outputs, request.layout)
        if 0 < self._options.gzip_from <= len(text):
            self._with_long_answers.add((servable.name, servable.version))
            return None
        if metrics := self._options.metrics:
            where = servable.name, servable.version, request.signature.name
            metrics.coded(*where, decoded - started, perf_counter() - ran)
        return text


@lru_cache(1)
def _date(second: int) -> bytes:
    return formatdate(second, usegmt=True).encode()
