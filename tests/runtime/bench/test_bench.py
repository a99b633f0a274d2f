"""Workers of a benchmark: their results and their errors."""

import sys

import pytest

from tfport.errors import Error
from tfport.runtime.bench.bench import run_worker

JOB = {"contender": "tensorflow"}


def worker(code):
    return [sys.executable, "-c", code]


def test_the_result_is_the_last_line(tmp_path):
    assert run_worker(worker("print('loading'); print('{\"first\": 1}')"), JOB, tmp_path) == {"first": 1}


@pytest.mark.parametrize(
    ("stderr", "message"),
    [
        ("Traceback\na.WrongError: no\n\nOriginal stack trace for 'x':\n", "a.WrongError: no"),
        ("Traceback\ntfport.errors.RunFailed: device: none\n", "device: none"),
        ("unknown input x\n", "unknown input x"),
        ("", "1"),
    ],
)
def test_an_error_is_the_line_that_names_it(tmp_path, stderr, message):
    code = f"import sys; sys.stderr.write({stderr!r}); sys.exit(1)"
    with pytest.raises(Error) as error:
        run_worker(worker(code), JOB, tmp_path)
    assert str(error.value) == f"tensorflow failed: {message}"
