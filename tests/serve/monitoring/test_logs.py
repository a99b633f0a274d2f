"""Log lines: levels and fields, and no content of requests."""

import io
import json
import logging
import re

import pytest

from tfport.serve.monitoring.logs import LONGEST, Logs, open_logger
from tfport.serve.status import StatusCode, StatusError

SECRET = "what the client sent"


def lines(happens, **options):
    stream = io.StringIO()
    with open_logger(stream=stream, **options) as logger:
        happens(Logs(logger))
    return stream.getvalue().splitlines()


def raised(error):
    try:
        raise error
    except Exception as found:
        return found


ANSWERED = ("half_plus_two", 123, "Predict", "GRPC", StatusCode.OK, 0.0015)
EVENTS = [  # event, its line
    (
        lambda logs: logs.loaded("half_plus_two", 123, 0.5, "/models/half plus two/123"),
        'INFO loaded model=half_plus_two version=123 seconds=0.5 path="/models/half plus two/123"',
    ),
    (lambda logs: logs.unloaded("m", 1), "INFO unloaded model=m version=1"),
    (
        lambda logs: logs.failed("load", "no variables\nat all", "m", 2),
        'ERROR load model=m version=2 message="no variables\\nat all"',
    ),
    (lambda logs: logs.info("listening", port=8500), "INFO listening port=8500"),
    (lambda logs: logs.warn("flag", name=""), 'WARNING flag name=""'),
    (
        lambda logs: logs.request(*ANSWERED, peer="127.0.0.1:1"),
        "DEBUG request model=half_plus_two version=123 api=Predict entrypoint=GRPC code=OK "
        "milliseconds=1.5 peer=127.0.0.1:1",
    ),
    (
        lambda logs: logs.request(
            "m", None, "predict", "REST", StatusCode.INVALID_ARGUMENT, 0.001,
            error=StatusError(StatusCode.INVALID_ARGUMENT, SECRET),
        ),
        "INFO request model=m api=predict entrypoint=REST code=INVALID_ARGUMENT milliseconds=1.0",
    ),
    (
        lambda logs: logs.request(
            "m", None, "predict", "REST", StatusCode.UNAVAILABLE, 0.001,
            error=StatusError(StatusCode.UNAVAILABLE, "full"),
        ),
        "INFO request model=m api=predict entrypoint=REST code=UNAVAILABLE milliseconds=1.0 error=full",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("happens", "line"), EVENTS)
def test_each_event_is_one_line(happens, line):
    (entry,) = lines(happens, level="debug")
    stamp, _, rest = entry.partition(" ")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", stamp)
    assert rest == line


@pytest.mark.parametrize("happens", [event for event, _ in EVENTS])
def test_each_event_is_one_object(happens):
    (line,) = lines(happens, level="debug", log_format="json")
    assert {"time", "level", "event"} < json.loads(line).keys()


def test_an_internal_error_is_logged_with_its_place():
    error = raised(ValueError(SECRET))
    (line,) = lines(lambda logs: logs.request("m", 1, "p", "REST", StatusCode.INTERNAL, 0, error=error))
    assert re.search(r'ERROR .* error="ValueError at test_logs\.py:\d+"$', line)


def test_the_content_of_a_request_is_never_logged():
    errors = [
        (code, raised(StatusError(code, SECRET)))
        for code in (StatusCode.INVALID_ARGUMENT, StatusCode.INTERNAL)
    ]
    for code, error in errors:
        for log_format in ("text", "json"):
            logged = lines(
                lambda logs, code=code, error=error: logs.request("m", 1, "p", "REST", code, 0, error=error),
                level="debug",
                log_format=log_format,
            )
            assert len(logged) == 1
            assert SECRET not in logged[0]


def test_successful_requests_are_logged_at_debug_only():
    assert lines(lambda logs: logs.request(*ANSWERED)) == []


def test_long_values_are_cut():
    (line,) = lines(lambda logs: logs.info("long", name="x" * 100000))
    assert len(line) < LONGEST + 100


def test_loggers_of_others_stay_as_they_are():
    before = list(logging.getLogger().handlers), logging.getLogger().level
    lines(lambda logs: logs.info("x"))
    assert (list(logging.getLogger().handlers), logging.getLogger().level) == before


def test_a_broken_stream_does_not_stop_the_server():
    class Broken(io.StringIO):
        def write(self, text):
            raise OSError("gone")

    logging_errors, logging.raiseExceptions = logging.raiseExceptions, False
    try:
        with open_logger(stream=Broken()) as logger:
            Logs(logger).info("x")
    finally:
        logging.raiseExceptions = logging_errors
