"""The server's log: a line for each load, unload, error and request.

    with open_logger(log_format="json") as logger:
        logs = Logs(logger)
        logs.loaded("half_plus_two", 123, 0.8)
        logs.request("half_plus_two", 123, "Predict", "GRPC", StatusCode.OK, 0.002, peer="127.0.0.1:4711")

A successful request is logged at DEBUG, a rejected one at INFO, a failure of the server at ERROR; the
content of requests is never logged. Records of other modules are included (`capture_module_logs`). Lines
are text, or JSON objects with `time`, `level`, `event` and the fields. They go through a bounded queue, so
that a terminal that does not read cannot block requests.
"""

from __future__ import annotations

import asyncio
import json
import logging
import logging.handlers
import queue
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from tfport.serve.status import FAULTS, SAFE_CODES, StatusCode, StatusError

TEXT, JSON = "text", "json"
LONGEST = 2048
"""Maximum characters of a value; the rest is cut off."""
MOST_WAITING = 10_000
FIELDS = "tfport_fields"
Value = str | int | float | None


class Logs:
    """Logs the events of a server, each with its fields."""

    def __init__(self, logger: logging.Logger) -> None:
        self.logger = logger

    def request(
        self,
        model: str,
        version: int | None,
        api: str,
        entrypoint: str,
        code: StatusCode,
        seconds: float,
        *,
        peer: str = "",
        error: BaseException | None = None,
    ) -> None:
        """Log a completed request; an error is logged only if it cannot quote the client's data."""
        level = logging.DEBUG if code is StatusCode.OK else logging.ERROR if code in FAULTS else logging.INFO
        if self.logger.isEnabledFor(level):
            fields: dict[str, Value] = {
                "model": model, "version": version, "api": api, "entrypoint": entrypoint,
                "code": code.name, "milliseconds": round(seconds * 1e3, 3), "peer": peer or None,
            }  # fmt: skip
            self._log(level, "request", {**fields, "error": _cause(code, error)})

    def loaded(self, model: str, version: int, seconds: float, path: str = "") -> None:
        self._log(
            logging.INFO,
            "loaded",
            {"model": model, "version": version, "seconds": round(seconds, 3), "path": path or None},
        )

    def unloaded(self, model: str, version: int) -> None:
        self._log(logging.INFO, "unloaded", {"model": model, "version": version})

    def failed(self, event: str, message: str, model: str = "", version: int | None = None) -> None:
        """Log a failure outside of requests: of a load or a configuration file."""
        self._log(logging.ERROR, event, {"model": model or None, "version": version, "message": message})

    def info(self, event: str, **fields: Value) -> None:
        """Log any other event."""
        self._log(logging.INFO, event, fields)

    def warn(self, event: str, **fields: Value) -> None:
        self._log(logging.WARNING, event, fields)

    def _log(self, level: int, event: str, fields: dict[str, Value]) -> None:
        present = {name: value for name, value in fields.items() if value is not None}
        self.logger.log(level, "%s", event, extra={FIELDS: present})


@contextmanager
def open_logger(
    log_format: str = TEXT, level: str = "INFO", stream: TextIO | None = None
) -> Iterator[logging.Logger]:
    """Open a logger that writes to a stream (default: standard error) from its own thread."""
    logger = logging.Logger("tfport.serve", level.upper())
    logger.propagate = False
    target = logging.StreamHandler(stream or sys.stderr)
    target.setFormatter(JsonFormatter() if log_format == JSON else TextFormatter())
    waiting: queue.Queue[logging.LogRecord] = queue.Queue(MOST_WAITING)
    writer = logging.handlers.QueueListener(waiting, target)
    logger.addHandler(_Waiting(waiting))
    writer.start()
    try:
        yield logger
    finally:
        writer.stop()


@contextmanager
def capture_module_logs(logger: logging.Logger) -> Iterator[None]:
    """Also write the records that the server's modules log to `logging` themselves."""
    modules, handler = logging.getLogger("tfport.serve"), _FromModules(logger)
    level, propagate = modules.level, modules.propagate
    modules.addHandler(handler)
    modules.setLevel(logger.level)
    modules.propagate = False
    try:
        yield
    finally:
        modules.removeHandler(handler)
        modules.setLevel(level)
        modules.propagate = propagate


class _FromModules(logging.Handler):
    """Converts a record of a module to an event with the module's name."""

    def __init__(self, logger: logging.Logger) -> None:
        super().__init__()
        self.logger = logger

    def emit(self, record: logging.LogRecord) -> None:
        fields: dict[str, Value] = {"message": record.getMessage()}
        if record.exc_info and record.exc_info[1] is not None:
            fields["error"] = _error_location(record.exc_info[1])
        self.logger.log(record.levelno, "%s", record.name.rpartition(".")[2], extra={FIELDS: fields})


class _Waiting(logging.handlers.QueueHandler):
    """Passes records on; drops them if too many are waiting."""

    def enqueue(self, record: logging.LogRecord) -> None:
        with suppress(queue.Full):
            self.queue.put_nowait(record)

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        return record


class JsonFormatter(logging.Formatter):
    """Writes one JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        head = {"time": _time(record), "level": record.levelname, "event": record.getMessage()}
        return json.dumps({**head, **{k: _short(v) for k, v in _fields(record).items()}})


class TextFormatter(logging.Formatter):
    """Writes `2026-01-31T12:00:00.000Z INFO loaded model=half_plus_two version=123`."""

    def format(self, record: logging.LogRecord) -> str:
        pairs = [f"{name}={_word(_short(value))}" for name, value in _fields(record).items()]
        return " ".join([_time(record), record.levelname, record.getMessage(), *pairs])


def _cause(code: StatusCode, error: BaseException | None) -> str | None:
    """Return the error's message, or for an internal error where it was raised."""
    if error is None or (code not in SAFE_CODES and code not in FAULTS):
        return None
    if isinstance(error, StatusError) and code in SAFE_CODES:
        return error.message
    return _error_location(error)


def _error_location(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    location = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{location}"


def _fields(record: logging.LogRecord) -> dict[str, Value]:
    return dict(getattr(record, FIELDS, {}))


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def _short(value: Value) -> Value:
    return f"{value[:LONGEST]}…" if isinstance(value, str) and len(value) > LONGEST else value


def _word(value: Value) -> str:
    """Return a value unchanged, or quoted if it is not a single printable word."""
    text = str(value)
    plain = text.isprintable() and text and not any(c in text for c in ' "=')
    return text if plain else json.dumps(text)


# Limits

MOST = 10
SECONDS = 10.0


class LimitedLines:
    """Limits how many similar lines are logged: clients that are refused must not be able to fill a disk.

    Of each kind of line, `MOST` are logged in `SECONDS`; then one line has the number of those left out.
    """

    def __init__(self, report: Callable[[str, int], None], *, seconds: float = SECONDS) -> None:
        """`report` logs how many lines of a kind were left out."""
        self._report, self._seconds = report, seconds
        self._counts: dict[str, int] = {}

    def allows(self, kind: str) -> bool:
        """Whether a line may be logged; must be called in the event loop."""
        count = self._counts.get(kind, 0)
        if count == 0:
            asyncio.get_running_loop().call_later(self._seconds, self._end_of_interval, kind)
        self._counts[kind] = count + 1
        return count < MOST

    def flush(self) -> None:
        """Report everything that was left out until now."""
        for kind in list(self._counts):
            self._end_of_interval(kind)

    def _end_of_interval(self, kind: str) -> None:
        if (left_out := self._counts.pop(kind, 0) - MOST) > 0:
            self._report(kind, left_out)
